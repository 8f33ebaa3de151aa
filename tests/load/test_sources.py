"""Sources: two layouts of conversations and one of schemas, read in pieces, never quoted."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from lab.errors import ParamsError
from lab.load.sources import Source, read_source
from lab.params import PARAMS_FOLDER

SECRET = "Fujimori-4711"


def own(folder: Path, text: str, **options: Any) -> Source:
    path = folder / "own.jsonl"
    path.write_text(text, encoding="utf-8")
    return read_source("own-traffic", path, **options)


def asked(*contents: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]


def sharegpt(*values: str) -> dict[str, Any]:
    turns = [{"from": ("human", "gpt")[i % 2], "value": value} for i, value in enumerate(values)]
    return {"id": "x", "conversations": turns}


def test_the_schemas_of_the_lab_are_read_and_checked() -> None:
    path = PARAMS_FOLDER / "workloads" / "structured-output.jsonl"
    source = read_source("structured-output", path)
    assert len(source.items) == len(source.schemas) == 12
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source.items[0].name == "flag"


def test_request_bodies_are_read_line_by_line_and_the_last_answer_is_dropped(tmp_path: Path) -> None:
    lines = [
        {"messages": asked("a", "b", "c", "d"), "max_tokens": 9, "model": "m", "tools": []},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "e"}, {"type": "text", "text": "f"}]}]},
    ]
    source = own(tmp_path, "\ufeff" + "\r\n\r\n".join(map(json.dumps, lines)) + "\r\n")
    first, second = source.items
    assert [message["content"] for message in first.messages] == ["a", "b", "c"]
    assert (first.name, first.output_tokens) == ("line-1", 9)
    assert second.messages == ({"role": "user", "content": "e\nf"},)
    assert (second.name, second.output_tokens) == ("line-3", None)
    assert source.not_sent == ("model", "tools")


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("layout", ["array", "lines"])
def test_sharegpt_is_read_as_array_and_as_lines(tmp_path: Path, layout: str, indent: int | None) -> None:
    documents = [sharegpt("a", "b"), sharegpt("c\u2028d", "e", "f"), {"id": "empty", "conversations": []}]
    if layout == "array":
        text = json.dumps(documents, indent=indent, ensure_ascii=False)
    else:
        text = "\n".join(json.dumps(document, ensure_ascii=False) for document in documents)
    source = own(tmp_path, text)
    assert [[m["content"] for m in item.messages] for item in source.items] == [["a"], ["c\u2028d", "e", "f"]]
    assert [item.messages[-1]["role"] for item in source.items] == ["user", "user"]
    assert [item.output_tokens for item in source.items] == [None, None]
    assert source.skipped == 1
    assert len({item.name for item in source.items}) == 2


def test_a_big_array_is_read_in_pieces_and_only_as_far_as_needed(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_text("[" + ",\n".join([json.dumps(sharegpt("x" * 3000, "y" * 3000))] * 4000) + "]")
    tracemalloc.start()
    source = read_source("own-traffic", path, most_items=50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(source.items) == 50
    assert source.more
    assert peak < path.stat().st_size / 10
    assert len(read_source("own-traffic", path).items) == 4000


def test_an_element_longer_than_a_piece_is_read_whole(tmp_path: Path) -> None:
    source = own(tmp_path, json.dumps([sharegpt("x" * 300_000), sharegpt("short")]))
    assert [len(item.messages[0]["content"]) for item in source.items] == [300_000, 5]
    assert not source.more


def test_nothing_that_is_printed_holds_what_users_wrote(tmp_path: Path) -> None:
    source = own(tmp_path, json.dumps({"messages": asked(SECRET)}))
    assert SECRET not in repr(source)
    assert SECRET not in repr(source.items)
    assert SECRET not in str(source.items[0])


GOOD = json.dumps({"messages": asked(SECRET)})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "own.jsonl holds nothing; expected one object a line"),
        ("[]", "holds nothing"),
        ("\n \n", "holds nothing"),
        (json.dumps(sharegpt()), "holds 1 conversations in which nobody asks anything"),
        (GOOD + "\n{\"messages\": \"" + SECRET, "own.jsonl:2: not JSON"),
        (GOOD + f"\n\n{SECRET}", "own.jsonl:3: not JSON"),
        ("[" + GOOD + ",\n " + GOOD[:-2] + "]", "own.jsonl:2: not JSON"),
        ("[" + GOOD + "\n", "own.jsonl:2: the file ends before its array does"),
        ("[" + GOOD + "\n" + GOOD + "]", "own.jsonl:2: expected ',' or ']'"),
        (json.dumps({"prompt": SECRET}), "own.jsonl:1: expected {\"messages\".*got an object with prompt"),
        (json.dumps(SECRET), "own.jsonl:1: .*got a text"),
        (json.dumps({"messages": SECRET}), "messages has to be a list of turns, got a text"),
        (json.dumps({"messages": [SECRET]}), "turn 1 of messages has to be an object, got a text"),
        (json.dumps({"messages": [{"role": "tool", "content": SECRET}]}), "role has to be one of .* got 'tool'"),
        (json.dumps({"messages": [{"role": SECRET, "content": "a"}]}), "got something else"),
        (
            json.dumps({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": SECRET}]}]}),
            r"turn 1 of messages: the content has to be text, got a list \(image_url\)",
        ),
        (
            json.dumps({"messages": [{"role": "assistant", "content": None, "tool_calls": [SECRET]}]}),
            "got null with tool calls, which this workload does not send",
        ),
        (json.dumps({"messages": asked("a"), "max_tokens": 0}), "max_tokens has to be a whole number of at least 1"),
        ('{"messages": [{"role": "user", "content": "\\ud800"}]}', "the content has to be text"),
        ("[" * 100_000, "not JSON"),
    ],
)  # fmt: skip
def test_a_bad_file_gets_one_sentence_with_its_line_and_none_of_its_text(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(ParamsError, match=sentence) as caught:
        own(tmp_path, text)
    assert SECRET not in str(caught.value)


def test_a_file_that_is_missing_or_not_text_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match=r"nowhere\.jsonl does not exist"):
        read_source("own-traffic", tmp_path / "nowhere.jsonl")
    with pytest.raises(ParamsError, match="cannot be read: Is a directory"):
        read_source("own-traffic", tmp_path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ParamsError, match="is not UTF-8 text"):
        read_source("own-traffic", binary)
    with pytest.raises(ParamsError, match="content words has no source"):
        read_source("words", binary)


QUESTION = {"name": "n", "question": "q", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "two words"}, "name has to be 1 to 64 letters"),
        ({"question": " "}, "question has to be a text that is not empty"),
        ({"schema": "x"}, r"schema has to be a JSON schema \(an object\), got a text"),
        ({"schema": {"type": "objekt"}}, r"schema of n is not a JSON schema: .*\(at type\)"),
        ({"schema": {"$ref": "https://example.org/s"}}, "leaves the schema"),
        ({"schema": {"$ref": "#/$defs/a"}}, "points to nothing in the schema"),
        ({"more": 1}, "expected {\"name\".* got an object with more, name, question, schema"),
    ],
)  # fmt: skip
def test_a_bad_schema_is_refused_when_it_is_loaded(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(QUESTION | changes))
    with pytest.raises(ParamsError, match=sentence):
        read_source("structured-output", path)


def test_a_schema_name_stands_once(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(QUESTION) + "\n" + json.dumps(QUESTION))
    with pytest.raises(ParamsError, match=r"s\.jsonl:2: the name 'n' stands twice"):
        read_source("structured-output", path)
