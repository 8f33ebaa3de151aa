"""One set of items asked free and under its schemas: what the constraint refuses, repairs, costs.

The suite `structured` asks three times with the same prompts: free, constrained, free again. The first asking
warms a prefix cache for both others, so time is compared between the second and the third.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from lab.errors import QualityError
from lab.quality.replies import QualityItem
from lab.quality.scoring import score_schema
from lab.quality.suite import Suite, Task
from lab.records import Unscored
from lab.spec import Frozen, Name


class Ending(StrEnum):
    """How one asking of one item ended."""

    VALID = "valid"
    """A complete answer that fits the schema."""
    INVALID = "invalid"
    """A complete answer that does not."""
    TRUNCATED = "truncated"
    """Cut at the token limit: a grammar that never lets go looks like this."""
    REFUSED = "refused"
    """The engine said that it cannot follow this schema."""
    FAILED = "failed"
    """No answer for another reason."""


class Arm(Frozen):
    """All items, asked in one way."""

    task: Name
    endings: dict[Ending, int]
    """How many items ended how; the counts add up to all items."""
    field_accuracy: float = Field(ge=0, le=1)
    """Share of right fields, averaged over all items; an item without a complete answer has none right."""


class ArmComparison(Frozen):
    """What a constraint does on one engine, item by item against the free asking after it."""

    free: Arm
    constrained: Arm
    free_again: Arm
    gained: tuple[str, ...]
    """Items with more right fields under the constraint, in the order of the suite."""
    lost: tuple[str, ...]
    """Items with fewer: the constraint bent an answer, or cost it."""
    repeats_differ: int = Field(ge=0)
    """Items whose two free answers differ in any character: what repeats do anyway."""
    timed: int = Field(ge=0)
    """Items that ended with a complete answer both times: those whose time is compared."""
    added_latency_s: float | None
    """Median over the timed items of constrained minus free again, negative where constrained answers are shorter; it
    holds the schema's compilation where it was new to the engine. None when no item is timed."""
    added_tokens: float | None
    """The same for completion tokens: what longer or shorter answers explain. None when the engine counts none."""
    added_s_per_token: float | None
    """The same for latency per completion token. Compilation and prompt weigh more on each token of a short answer, so
    a small one is told from none only where the answers are about as long. None when the engine counts none."""


def arms_of(suite: Suite, items: tuple[QualityItem, ...]) -> ArmComparison | None:
    """The comparison that a suite is made for: three tasks that ask the same, the middle one under its schemas.

    None when the suite has no three tasks in a row that differ in nothing but their name and `response_format`.
    """
    for free, bound, again in zip(suite.tasks, suite.tasks[1:], suite.tasks[2:], strict=False):
        plain = [
            task.config.model_dump(exclude={"task", "response_format"}) | {"data_sha256": task.data_sha256}
            for task in (free, bound, again)
        ]
        formats = tuple(task.config.response_format for task in (free, bound, again))
        if plain[0] == plain[1] == plain[2] and formats == (None, "json_schema", None):
            schemas = {item.id: item.answer_schema for item in free.items if item.answer_schema is not None}
            return compare_arms(schemas, *(_of(task, items) for task in (free, bound, again)))
    return None


def compare_arms(
    schemas: Mapping[str, dict[str, Any]],
    free: tuple[QualityItem, ...],
    constrained: tuple[QualityItem, ...],
    free_again: tuple[QualityItem, ...],
) -> ArmComparison:
    """Compare the three askings of one set of items.

    Args:
        schemas: the items' schemas by id, in the order of the suite.
        free: the first asking without a constraint.
        constrained: the asking with each item's own schema.
        free_again: the second asking without a constraint.

    Raises:
        QualityError: an asking does not hold exactly the items of `schemas`, each once.
    """
    first, bound, again = (_by_id(schemas, items) for items in (free, constrained, free_again))
    both = [name for name in schemas if _complete(bound[name]) and _complete(again[name])]
    seconds = [_difference(bound[name].latency_s, again[name].latency_s) for name in both]
    tokens = [_difference(bound[name].completion_tokens, again[name].completion_tokens) for name in both]
    return ArmComparison(
        free=_arm(schemas, first),
        constrained=_arm(schemas, bound),
        free_again=_arm(schemas, again),
        gained=tuple(name for name in schemas if _right(bound[name]) > _right(again[name])),
        lost=tuple(name for name in schemas if _right(bound[name]) < _right(again[name])),
        repeats_differ=sum(first[name].text != again[name].text for name in schemas),
        timed=len(both),
        added_latency_s=_median(seconds),
        added_tokens=_median(tokens),
        added_s_per_token=_median([_difference(_per_token(bound[name]), _per_token(again[name])) for name in both]),
    )


def ending(item: QualityItem, schema: dict[str, Any]) -> Ending:
    """How an item ended; whether it is valid is decided here anew, whatever its task's metric is."""
    match item.unscored:
        case None:
            return Ending.VALID if score_schema(item.text or "", schema) else Ending.INVALID
        case Unscored.TRUNCATED:
            return Ending.TRUNCATED
        case Unscored.NOT_SUPPORTED:
            return Ending.REFUSED
    return Ending.FAILED


def _arm(schemas: Mapping[str, dict[str, Any]], items: dict[str, QualityItem]) -> Arm:
    return Arm(
        task=next(iter(items.values())).task,
        endings=dict(Counter(ending(items[name], schema) for name, schema in schemas.items())),
        field_accuracy=statistics.fmean(_right(items[name]) for name in schemas),
    )


def _of(task: Task, items: tuple[QualityItem, ...]) -> tuple[QualityItem, ...]:
    return tuple(item for item in items if item.task == task.name)


def _by_id(schemas: Mapping[str, dict[str, Any]], items: tuple[QualityItem, ...]) -> dict[str, QualityItem]:
    found = {item.item_id: item for item in items}
    if not items or len(found) < len(items) or found.keys() != schemas.keys():
        odd = sorted(found.keys() ^ schemas.keys())
        what = f"'{odd[0]}' is only in one of them" if odd else f"{len(items)} answers to {len(found)} items"
        raise QualityError(f"Askings of one set of items can be compared when they hold the same items: {what}.")
    return found


def _complete(item: QualityItem) -> bool:
    return item.unscored is None


def _right(item: QualityItem) -> float:
    return item.score or 0.0


def _per_token(item: QualityItem) -> float | None:
    return item.latency_s / item.completion_tokens if item.latency_s is not None and item.completion_tokens else None


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
