"""A suite is read whole or refused with a sentence, and its digest notices what its version hides."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from lab.errors import LabError, QualityError, UnknownKey
from lab.quality import load_suite
from lab.quality.suite import Output
from lab.records import Lane

from .small_suite import SUMS, Write

SMOKE_MINI = Path(__file__).parents[2] / "params" / "quality" / "smoke-mini"


def test_smoke_mini_is_sound() -> None:
    suite = load_suite(SMOKE_MINI)
    assert (suite.name, [task.name for task in suite.tasks]) == (
        "smoke-mini",
        ["arithmetic", "facts", "json-schema"],
    )
    for item in suite.tasks[0].items:  # the key of every sum, computed
        left, sign, right = item.question.removeprefix("What is ").removesuffix("?").split()
        worth = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign](int(left), int(right))
        assert item.accept == (str(worth),)
    asked = {item.question for task in suite.tasks for item in task.items}
    shown = {example.question for task in suite.tasks for example in task.config.examples}
    assert not asked & shown


def test_smoke_is_sound() -> None:
    tasks = {task.name: task for task in load_suite(SMOKE_MINI.with_name("smoke")).tasks}
    assert {task.config.output for task in tasks.values()} == set(get_args(Output))
    for item in tasks["arithmetic"].items:  # the key of every sum, computed
        left, sign, right = item.question.removeprefix("What is ").removesuffix("?").split()
        worth = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign](int(left), int(right))
        assert item.accept == (str(worth),)
    for item in tasks["needle"].items:  # the number stands in the text once, and nowhere else
        assert item.question.count(f"number {item.accept[0]}.") == item.question.count(item.accept[0]) == 1
    for item in tasks["echo"].items:
        assert item.question == f"Input: {item.accept[0]}\nOutput:"
    places = Counter(item.choices.index(item.accept[0]) for item in tasks["choice"].items)
    assert max(places.values()) - min(places.values()) <= 1
    for task in tasks.values():
        shown = {example.question for example in task.config.examples}
        assert not shown & {item.question for item in task.items}


def test_a_task_knows_its_lane_and_a_suite_how_much_it_asks() -> None:
    smoke = load_suite(SMOKE_MINI.with_name("smoke"))
    assert {task.name: task.config.lane for task in smoke.tasks} == {
        "arithmetic": Lane.CHAT, "json-schema": Lane.GRAMMAR, "needle": Lane.CHAT, "echo": Lane.TEXT,
        "choice": Lane.TOKENS, "continuation": Lane.TOKENS, "perplexity": Lane.TOKENS,
    }  # fmt: skip
    assert smoke.requests == 50 + 10 + 6 + 20 + 30 * 4 + 8 + 14
    assert smoke.needs_context == 2048
    assert load_suite(SMOKE_MINI).needs_context == 161  # the longest answer, and at least a token of prompt


def _line(**changes: Any) -> list[Any]:
    return [{key: value for key, value in (SUMS[0] | changes).items() if value is not None}]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"sums": [SUMS[0], SUMS[1], SUMS[0]]}, "two items have the id 'sum-1'"),
        ({"sums": []}, "no items"),
        ({"sums": ["text"]}, "line 1: input should be a mapping"),
        ({"sums": _line(accept=None)}, "has no 'accept', which metric 'number_match' needs"),
        ({"sums": _line(id="two words")}, "line 1: id: string should match pattern"),
        ({"sums": _line(), "task": {"response_format": "json_schema"}}, "has no 'answer_schema'"),
        (
            {"sums": _line(answer_schema={"type": "objekt"})},
            "'objekt' is not valid under any of the given schemas",
        ),
        ({"sums": _line(answer_schema={"pattern": "("})}, "'(' is not a 'regex'"),
        ({"sums": _line(answer_schema={"$ref": "#/$defs/x"})}, "'#/$defs/x' leads nowhere"),
        ({"sums": _line(answer_schema={"allOf": [{"$ref": "https://example.org/s"}]})}, "nothing is fetched"),
        ({"task": {"data": "nowhere.jsonl"}}, "nowhere.jsonl: cannot be read: No such file"),
        ({"task": {"data": "../sums.jsonl"}}, "tasks[0]: data: string should match pattern"),
        ({"task": {"metric": "exact_mach"}}, "no metric is called 'exact_mach'. Did you mean 'exact_match'?"),
        ({"task": {"metric": "f1"}}, "Known: exact_match, number_match, schema_valid, field_accuracy, "),
        ({"task": {"max_tokens": 0}}, "max_tokens: input should be greater than or equal to 1, got 0"),
        ({"task": {"stop": ["a", "b", "c", "d", "e"]}}, "stop: tuple should have at most 4 items"),
        ({"task": {"examples": 5}}, "examples: input should be a list, got 5"),
        ({"task": {"metric": "acc"}}, "metric 'acc' cannot score output 'chat', which has: exact_match"),
        ({"task": {"output": "chatt"}}, "tasks[0]: output: input should be 'chat', 'completion'"),
        ({"task": {"max_tokens": None}}, "max_tokens is missing: output 'chat' is an answer that needs a limit"),
        ({"task": {"target_delimiter": ""}}, "'target_delimiter' means nothing for output 'chat'"),
        ({"task": {"output": "perplexity", "metric": "bits_per_byte"}}, "'max_tokens' means nothing for output"),
        ({"task": {"extract": "(("}}, "'extract' is no regular expression"),
        ({"task": {"extract": "(a)(b)"}}, "'extract' has 2 groups"),
        ({"sums": _line(choices=["1", "2"])}, "has 'choices', which output 'chat' does not read"),
        ({"head": {"version": "1.0"}}, "version: string should match pattern"),
        ({"head": {"tasks": []}}, "tasks: tuple should have at least 1 item"),
        ({"head": {"tasks": ["sums"]}}, "tasks.0: input should be a mapping"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_bad_suite_gets_a_sentence(write_suite: Write, parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(QualityError) as caught:
        load_suite(write_suite(**parts))
    assert sentence in caught.value.what
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("parts", "key", "near"),
    [
        ({"head": {"verison": "1.0.0"}}, "verison", "version"),
        ({"task": {"max_token": 5}}, "max_token", "max_tokens"),
        ({"task": {"examples": [{"question": "?", "anwser": "!"}]}}, "anwser", "answer"),
        ({"sums": _line(acept=["2"])}, "acept", "accept"),
    ],
    ids=["suite", "task", "example", "item"],
)
def test_unknown_key_is_named_with_the_nearest(write_suite: Write, parts: dict[str, Any], key: str, near: str) -> None:
    with pytest.raises(UnknownKey, match=f"unknown key '{key}'. Did you mean '{near}'"):
        load_suite(write_suite(**parts))


def test_two_tasks_of_one_name(write_suite: Write) -> None:
    task = {"task": "sums", "metric": "exact_match", "data": "sums.jsonl", "max_tokens": 1}
    with pytest.raises(QualityError, match="two tasks are named 'sums'"):
        load_suite(write_suite(head={"tasks": [task, task]}))


@pytest.mark.parametrize("text", ["", "suite: [", "- a\n", "\x00", "suite: \xe9"], ids=repr)
def test_file_that_is_no_suite(tmp_path: Path, text: str) -> None:
    (tmp_path / "suite.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(LabError, match=r"suite\.yaml"):
        load_suite(tmp_path)


CHOICE = {"output": "choice", "metric": "acc"}


@pytest.mark.parametrize(
    ("settings", "item", "sentence"),
    [
        (CHOICE, {"choices": ["1"], "accept": ["1"]}, "needs two or more different 'choices'"),
        (CHOICE, {"choices": ["1", "1"], "accept": ["1"]}, "needs two or more different 'choices'"),
        (CHOICE, {"choices": ["1", "2"], "accept": ["3"]}, "'accept' has to hold one of its 'choices'"),
        (CHOICE, {"choices": ["1", "2"], "accept": ["1", "2"]}, "'accept' has to hold one of its 'choices'"),
        (CHOICE | {"output": "continuation"}, {}, "'accept' has to hold the one text that follows"),
        (
            {"output": "perplexity", "metric": "bits_per_byte"},
            {"accept": ["1"]},
            "has 'accept', which output 'perplexity' does not read",
        ),
    ],
)
def test_item_that_does_not_fit_its_output(
    write_suite: Write, settings: dict[str, Any], item: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(QualityError) as caught:
        load_suite(write_suite(more={"odd": (settings, [{"id": "one", "question": "q"} | item])}))
    assert sentence in caught.value.what


def test_two_tasks_may_ask_one_file(write_suite: Write) -> None:
    task = {"task": "sums", "metric": "exact_match", "data": "sums.jsonl", "max_tokens": 1}
    first, again = load_suite(write_suite(head={"tasks": [task, task | {"task": "again"}]})).tasks
    assert first.items == again.items


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ({"also": ["field_accuracy"]}, "has no 'expected', which metric 'field_accuracy' needs"),
        ({"also": ["acc"]}, "also.0: input should be"),
        ({"show_schema": True}, "has no 'answer_schema', which task 'sums' needs"),
        ({"show_schema": True, "output": "completion"}, "'show_schema' means nothing for output 'completion'"),
    ],
    ids=["also", "likelihood", "schema", "output"],
)
def test_further_metrics_and_shown_schemas_need_what_they_read(
    write_suite: Write, task: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(QualityError) as caught:
        load_suite(write_suite(task=task))
    assert sentence in caught.value.what


def test_line_that_is_no_json(write_suite: Write) -> None:
    folder = write_suite()
    (folder / "sums.jsonl").write_text(json.dumps(SUMS[0]) + "\n\n{'id': 1}\n")
    with pytest.raises(QualityError, match="line 3: not JSON"):
        load_suite(folder)


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QualityError, match="does not exist"):
        load_suite(tmp_path / "nowhere")
