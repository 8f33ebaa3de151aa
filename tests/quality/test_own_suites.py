"""The data of `structured` and `japanese`: every key is right by its own metric, and nothing is given away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.quality.japanese import foreign_letters, japanese_form
from lab.quality.scoring import KEYS, METRICS, schema_fault

SUITES = Path(__file__).parents[2] / "params" / "quality"


def _tasks(suite: str) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = yaml.safe_load((SUITES / suite / "suite.yaml").read_text("utf-8"))["tasks"]
    return tasks


def _items(suite: str, data: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SUITES / suite / data).read_text("utf-8").splitlines()]


STRUCTURED = _items("structured", "extract.jsonl")
JAPANESE = [
    pytest.param(task, item, id=item["id"]) for task in _tasks("japanese") for item in _items("japanese", task["data"])
]


@pytest.mark.parametrize("item", STRUCTURED, ids=lambda item: str(item["id"]))
def test_expected_value_fits_its_schema_and_has_every_field_right(item: dict[str, Any]) -> None:
    assert schema_fault(item["answer_schema"]) is None
    answer = json.dumps(item["expected"])
    assert METRICS["schema_valid"](answer, item["answer_schema"]) == 1
    assert METRICS["field_accuracy"](answer, item["expected"]) == 1


@pytest.mark.parametrize("item", STRUCTURED, ids=lambda item: str(item["id"]))
def test_schema_refuses_something(item: dict[str, Any]) -> None:
    for wrong in ("[]", '"x"', '{"not a field": 0.5}'):
        assert METRICS["schema_valid"](wrong, item["answer_schema"]) == 0


def test_the_three_askings_differ_only_in_name_and_response_format() -> None:
    free, constrained, again = _tasks("structured")
    assert constrained.pop("response_format") == "json_schema"
    assert [task.pop("task") for task in (free, constrained, again)] == ["free", "constrained", "free-again"]
    assert free == constrained == again


def test_longest_right_answer_is_far_from_the_token_limit() -> None:
    longest = max(len(json.dumps(item["expected"], indent=2).encode()) for item in STRUCTURED)
    assert longest / 3 < _tasks("structured")[0]["max_tokens"]  # three bytes a token is few for English and JSON


def test_schemas_hold_what_the_suite_says_of_them() -> None:
    text = json.dumps([item["answer_schema"] for item in STRUCTURED], ensure_ascii=False)
    words = "$ref $defs anyOf oneOf const enum pattern patternProperties prefixItems multipleOf uniqueItems minItems if"
    words += " exclusiveMinimum maxLength minLength format additionalProperties minProperties 名前 Straße 絵文字"
    assert [word for word in words.split() if f'"{word}"' not in text] == []


@pytest.mark.parametrize(("task", "item"), JAPANESE)
def test_accepted_spellings_are_accepted_and_japanese(task: dict[str, Any], item: dict[str, Any]) -> None:
    for accepted in item["accept"]:
        assert METRICS[task["metric"]](accepted, item["accept"]) == 1
        assert [METRICS[metric](accepted, None) for metric in task["also"]] == [0, 0]
    assert foreign_letters(item["question"]) == ()


@pytest.mark.parametrize("suite", ["structured", "japanese"])
def test_ids_are_unique_and_no_example_is_asked(suite: str) -> None:
    tasks = _tasks(suite)
    by_file = {task["data"]: _items(suite, task["data"]) for task in tasks}
    ids = [item["id"] for items in by_file.values() for item in items]
    assert len(ids) == len(set(ids))
    asked = {japanese_form(item["question"]) for items in by_file.values() for item in items}
    shown = {japanese_form(example["question"]) for task in tasks for example in task.get("examples", ())}
    assert not asked & shown


@pytest.mark.parametrize("suite", ["structured", "japanese"])
def test_every_task_has_the_keys_its_metrics_read(suite: str) -> None:
    for task in _tasks(suite):
        read = {KEYS[metric] for metric in (task["metric"], *task["also"])} - {None}
        for item in _items(suite, task["data"]):
            assert item.keys() - {"id", "question"} >= read


def test_japanese_has_sixty_items() -> None:
    assert len(JAPANESE) == 60
