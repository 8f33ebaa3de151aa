"""Three askings of three items, small enough to be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from lab.errors import QualityError
from lab.params import PARAMS_FOLDER
from lab.quality.arms import Ending, arms_of, compare_arms, ending
from lab.quality.replies import QualityItem
from lab.quality.suite import load_suite
from lab.records import Outcome, Unscored

SCHEMA: dict[str, Any] = {"type": "object", "required": ["n"]}
SCHEMAS = {"a": SCHEMA, "b": SCHEMA, "c": SCHEMA}


def item(name: str, text: str | None = '{"n": 1}', score: float | None = 1, **changes: Any) -> QualityItem:
    """An answer to item `name`: complete, right, after 1 s with 10 tokens, unless said otherwise."""
    facts: dict[str, Any] = {"outcome": Outcome.SUCCESS, "latency_s": 1.0, "completion_tokens": 10, "task": "asked"}
    facts |= {"run_id": "r-aaaaaaaaaa", "suite": "s", "version": "1.0.0", "item_id": name}
    return QualityItem(**(facts | {"text": text, "score": score} | changes))


def unscored(name: str, why: Unscored) -> QualityItem:
    return item(name, None, None, unscored=why, outcome=Outcome.HTTP_ERROR)


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        (item("a"), Ending.VALID),
        (item("a", '{"n": 2}', 0), Ending.VALID),
        (item("a", "{}", 0), Ending.INVALID),
        (item("a", "no JSON", 0), Ending.INVALID),
        (unscored("a", Unscored.TRUNCATED), Ending.TRUNCATED),
        (unscored("a", Unscored.NOT_SUPPORTED), Ending.REFUSED),
        (unscored("a", Unscored.EMPTY), Ending.FAILED),
        (unscored("a", Unscored.REQUEST_FAILED), Ending.FAILED),
    ],
)
def test_every_asking_ends_in_one_way(answer: QualityItem, how: Ending) -> None:
    assert ending(answer, SCHEMA) is how


def test_a_constraint_that_repairs_one_item_loses_one_and_adds_two_seconds() -> None:
    free = (item("a"), item("b", "Here: 1", 0, task="free"), item("c"))
    constrained = (
        item("a", latency_s=3.0, completion_tokens=10),
        item("b", latency_s=4.0, completion_tokens=20),
        unscored("c", Unscored.NOT_SUPPORTED),
    )
    again = (item("a"), item("b", "There: 1", 0, latency_s=2.0), item("c"))
    found = compare_arms(SCHEMAS, free, constrained, again)
    assert found.free.endings == {Ending.VALID: 2, Ending.INVALID: 1}
    assert found.constrained.endings == {Ending.VALID: 2, Ending.REFUSED: 1}
    assert (found.free.field_accuracy, found.constrained.field_accuracy) == (2 / 3, 2 / 3)
    assert (found.gained, found.lost, found.repeats_differ) == (("b",), ("c",), 1)
    assert (found.timed, found.added_latency_s, found.added_tokens) == (2, 2.0, 5.0)
    assert found.added_s_per_token == pytest.approx(0.1)  # 3/10 - 1/10 and 4/20 - 2/10


def test_a_suite_that_asks_free_constrained_and_free_again_is_compared() -> None:
    suite = load_suite(PARAMS_FOLDER / "quality" / "structured")
    items = tuple(
        item(one.id, "{}", 0, task=task.name, latency_s=2.0 if task.name == "constrained" else 1.0)
        for task in suite.tasks
        for one in task.items
    )
    found = arms_of(suite, items)
    assert found is not None
    assert (found.constrained.task, found.timed, found.added_latency_s) == ("constrained", 41, 1.0)
    assert arms_of(load_suite(PARAMS_FOLDER / "quality" / "smoke-mini"), ()) is None


def test_nothing_timed_and_nothing_counted_is_none_and_not_zero() -> None:
    whole = tuple(item(name, completion_tokens=None) for name in SCHEMAS)
    refused = tuple(unscored(name, Unscored.NOT_SUPPORTED) for name in SCHEMAS)
    found = compare_arms(SCHEMAS, whole, refused, whole)
    assert (found.timed, found.added_latency_s, found.added_tokens) == (0, None, None)
    found = compare_arms(SCHEMAS, whole, whole, whole)
    assert (found.timed, found.added_latency_s, found.added_tokens) == (3, 0.0, None)
    assert found.added_s_per_token is None


@pytest.mark.parametrize("names", ["ab", "abcd", "abd", "aabc", ""])
def test_askings_of_other_items_are_refused(names: str) -> None:
    whole = tuple(item(name) for name in "abc")
    with pytest.raises(QualityError, match="hold the same items"):
        compare_arms(SCHEMAS, whole, tuple(item(name) for name in names), whole)
