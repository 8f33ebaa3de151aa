"""Files are read in pieces: whatever the pieces, the same values come out, and a cut is seen wherever it falls."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import ImportRefused
from lab.imports import stream as stream_module
from lab.imports.stream import Each, Keys, Shape, Skip, Stream, not_a_number

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4)


def read(text: str | bytes, shape: Shape | None = None, chunk: int = 2**20) -> list[Any]:
    """Every document of a text that is read in pieces of `chunk` bytes."""
    payload = text.encode() if isinstance(text, str) else text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "CHUNK_BYTES", chunk)
        return list(Stream(Path("a.json"), io.BytesIO(payload)).documents(shape))


@given(value=OBJECTS, chunk=st.integers(1, 9), indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_document_comes_out_as_it_was_written_whatever_the_pieces(
    value: Any, chunk: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read(text, chunk=chunk) == [value]
    assert read(f"{text}\n {text}", chunk=chunk) == [value, value]
    assert read(f"[{text}, {text}]", chunk=chunk) == [value, value]
    assert [list(keys) for keys in read(text, Keys(), chunk)] == [list(value)]


@given(value=OBJECTS, data=st.data())
def test_a_document_that_is_cut_anywhere_is_refused_as_cut(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    for shape in (None, Keys(), {"a": Skip()}):
        with pytest.raises(ImportRefused, match="cut off"):
            read(cut, shape, chunk=3)


def test_of_a_list_only_what_is_kept_of_each_element_is_built() -> None:
    text = json.dumps({"n": 1, "rows": [{"a": 1, "b": "long"}, {"a": 2, "b": "long"}], "texts": ["x", "y"]})
    shape: Shape = {"rows": Each(keep=lambda row: row["a"]), "texts": Skip()}
    assert read(text, shape) == [{"n": 1, "rows": [1, 2]}]
    assert read(text, {"texts": Each(keep=lambda _: None, shape=Skip())})[0]["texts"] == [None, None]


def test_a_value_of_another_kind_than_the_shape_expects_is_built_whole() -> None:
    assert read('{"rows": 3, "part": [1]}', {"rows": Each(keep=str), "part": {"a": Skip()}}) == [
        {"rows": 3, "part": [1]}
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1]', "has to stand here"),
        ('{"a": [1}]}', "closes what was not opened"),
        ('{"a": ,}', "a value has to stand where ',' does"),
        ('{"a" 1}', "':' has to follow the key 'a'"),
        ("{a: 1}", "a key has to stand here"),
        ('{"a": NaN}', "NaN stands where a number should"),
        ('{"a": nul}', "Expecting value"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested more than 200 deep"),
        (b'{"a": "\xff"}', "not text in UTF-8"),
    ],
)
def test_what_is_no_json_is_said(text: str | bytes, said: str) -> None:
    for chunk in (1, 2**20):
        with pytest.raises(ImportRefused, match=said):
            read(text, {}, chunk)


def test_a_value_that_is_larger_than_a_result_can_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "VALUE_BYTES", 50)
    long = "x" * 200
    with pytest.raises(ImportRefused, match="holds one value of more than"):
        read(json.dumps({"a": long}), chunk=10)
    assert read(json.dumps({"a": long, "b": 1}), {"a": Skip()}, chunk=10) == [{"b": 1}]


@given(rows=st.lists(OBJECTS, max_size=5), chunk=st.integers(1, 9), end=st.sampled_from(["", "\n", "\n\n"]))
def test_lines_come_out_one_by_one_whatever_the_pieces(rows: list[Any], chunk: int, end: str) -> None:
    text = "\n".join(json.dumps(row) for row in rows) + end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "CHUNK_BYTES", chunk)
        stream = Stream(Path("a.jsonl"), io.BytesIO(text.encode()))
        assert list(stream.lines()) == rows
        assert stream.size == len(text.encode())


def test_a_last_line_that_is_cut_is_refused_as_cut_and_another_as_no_json() -> None:
    for text, said in (('{"a": 1}\n{"a": ', "cut off"), ('{"a": \n{"a": 1}\n', "is not JSON")):
        with pytest.raises(ImportRefused, match=said):
            list(Stream(Path("a.jsonl"), io.BytesIO(text.encode())).lines())


def test_what_a_tool_writes_where_a_number_is_missing_is_missing() -> None:
    stream = Stream(Path("a.jsonl"), io.BytesIO(b'{"a": NaN, "b": -Infinity}'), not_a_number)
    assert list(stream.documents(None)) == [{"a": None, "b": None}]
