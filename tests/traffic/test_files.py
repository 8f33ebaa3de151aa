"""Files of traffic: lines and arrays, plain and gzip; a broken line costs one line and is named by its number."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lab.errors import TrafficError
from lab.traffic.files import looks_like, open_traffic
from lab.traffic.reading import measure
from tests.traffic.logs import MOONCAKE, chat, written

SECRET = "Fujimori-4711"


def read(path: Path) -> list[tuple[int, object]]:
    with open_traffic(path) as file:
        return [(one.line, one.fault or one.value) for one in file.values()]


def file(folder: Path, content: str | bytes) -> Path:
    path = folder / "x"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_lines_keep_their_numbers_and_a_broken_one_is_only_itself(tmp_path: Path) -> None:
    assert read(file(tmp_path, '{"a": 1}\n\n{"a": \n{"a": 3}')) == [(1, {"a": 1}), (3, "not-json"), (4, {"a": 3})]
    assert read(file(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n{"a": "\xff"}\r\n')) == [(1, {"a": 1}), (2, "not-utf-8")]
    assert read(file(tmp_path, "[" * 100_000 + "\n")) == [(1, "array-broken")]
    assert read(file(tmp_path, '{"a": ' * 100_000 + "\n")) == [(1, "not-json")]


def test_an_array_is_read_element_by_element_and_ends_where_it_breaks(tmp_path: Path) -> None:
    assert read(file(tmp_path, '[\n{"a": 1},\n 22\n]\n')) == [(2, {"a": 1}), (3, 22)]
    assert read(file(tmp_path, '[{"a": 1}, {"a": 2}')) == [(1, {"a": 1}), (1, {"a": 2}), (1, "array-broken")]
    assert read(file(tmp_path, '[{"a": 1}\n {"a": 2}]')) == [(1, {"a": 1}), (2, "array-broken")]
    many = [{"a": "x" * 100, "n": i} for i in range(5000)]  # several pieces
    assert [value for _, value in read(file(tmp_path, json.dumps(many)))] == many


def test_gzip_is_read_as_it_is_and_a_cut_one_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 10_000)
    assert len(read(file(tmp_path, packed))) == 10_000
    with pytest.raises(TrafficError, match="gzip and broken"):
        read(file(tmp_path, packed[:-20]))


@pytest.mark.parametrize(("content", "words"), [
    (b"", "an empty file"), (b"PAR1....", "a Parquet file"), (b"PK\x03\x04..", "a zip archive"),
    (b"\x28\xb5\x2f\xfd..", "zstd"), (b"<html>", "HTML"), (b"a,b,c\n1,2,3\n", "CSV"), (b"---\na: 1\n", "YAML"),
    (b'{\n "a": 1\n}\n', "one JSON object over many lines"), (b'{"a": 1}\n', "JSON without requests"),
    (b"once upon a time\n", "text that is not JSON"), (b"\x01\x00\x00", "a binary file"),
])  # fmt: skip
def test_a_file_of_another_kind_is_called_what_it_looks_like(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in looks_like(content)
    with pytest.raises(TrafficError, match=words.split()[0]):
        measure(file(tmp_path, content))


def test_a_file_of_two_kinds_asks_which_one_is_meant(tmp_path: Path) -> None:
    path = written(tmp_path, [*MOONCAKE, chat("hello"), chat(SECRET)])
    with pytest.raises(TrafficError, match="4 like mooncake, 2 like openai") as refused:
        measure(path)
    assert "--as" in str(refused.value) and SECRET not in str(refused.value)
    found = measure(path, kind="mooncake").shape
    assert (found.requests, [(one.why, one.n, one.lines) for one in found.bad]) == (4, [("no-request", 2, (5, 6))])


def test_a_file_of_another_kind_than_was_said_is_called_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(TrafficError, match=r"no request of kind sharegpt .* it looks like mooncake"):
        measure(written(tmp_path, MOONCAKE), kind="sharegpt")


def test_a_file_that_is_not_there_is_not_named(tmp_path: Path) -> None:
    for path in (tmp_path / SECRET, tmp_path):
        with pytest.raises(TrafficError) as refused:
            measure(path)
        assert SECRET not in str(refused.value) and str(tmp_path) not in str(refused.value)
