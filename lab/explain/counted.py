"""Answers to the questions of a decision out of a traffic shape: only what the file can say, each with its count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import yaml

from lab.explain.decision import Decision, Gate
from lab.explain.facts import Entry
from lab.spec import Frozen, Name
from lab.traffic.shape import Shape

WhyNot = Literal[
    "characters", "few-requests", "no-prompts", "no-bodies", "few-bodies", "no-moments", "unit-open", "few-moments",
    "no-durations", "few-durations", "no-span", "no-hour", "no-blocks", "other-unit", "not-counted",
]  # fmt: skip
"""Why the traffic gives no answer."""

LEAST_BODIES = 300
"""Bodies without a thing before it counts as not used: then fewer than 1 in 100 use it, with 95 % confidence."""


class Unanswered(Frozen):
    """A question that stays open."""

    fact: Name
    why: WhyNot


class Answers(Frozen):
    """What a file of traffic says to a decision."""

    facts: dict[Name, Entry]
    open: tuple[Unanswered, ...]


def answers(shape: Shape, decision: Decision) -> Answers:
    """What a shape says to each question of a decision that traffic can answer."""
    units: dict[str, str | None] = {
        one.fact: one.unit for _, one in decision.asked() if one.fact and not isinstance(one, Gate)
    }
    traffic = {one.fact for _, one in decision.asked() if one.source == "traffic"}
    units |= {gate.needed_if: None for gate in decision.gates.values() if gate.needed_if}
    facts: dict[str, Entry] = {}
    left: list[Unanswered] = []
    for fact, unit in units.items():
        known = _KNOWN.get(fact)
        if known is None:
            if fact in traffic:
                left.append(Unanswered(fact=fact, why="not-counted"))
            continue
        counted, count = known
        found: Entry | WhyNot = count(shape) if unit == counted else "other-unit"
        if isinstance(found, Entry):
            facts[fact] = found
        else:
            left.append(Unanswered(fact=fact, why=found))
    return Answers(facts=facts, open=tuple(left))


def _window_s(shape: Shape) -> float | None:
    return None if shape.arrivals is None else round(shape.arrivals.span_s, 3)


def _shared_prefix(shape: Shape) -> Entry | WhyNot:
    found = shape.prefixes
    if found is None:
        return "no-blocks" if shape.kind == "mooncake" else "no-prompts"
    if found.level == "characters":
        return "characters"
    if found.low is None or found.high is None:
        return "few-requests"
    value, low, high = (round(100 * one, 2) for one in (found.share, found.low, found.high))
    return Entry(
        value=value,
        low=min(low, value),
        high=max(high, value),
        unit="%",
        requests=found.requests,
        measured_from="traffic",
        window_s=_window_s(shape),
        counted_in="blocks" if found.level == "blocks" else "tokens",
        horizon_tokens=found.horizon,
    )


def _busy_hour(shape: Shape) -> Entry | WhyNot:
    found = shape.in_flight
    if found is None:
        assert shape.no_in_flight is not None
        return shape.no_in_flight
    if found.hour_mean is None or found.low is None or found.high is None:
        return "no-hour"
    value, low, high = (round(one, 2) for one in (found.hour_mean, found.low, found.high))
    return Entry(
        value=value,
        low=min(low, value),
        high=max(high, value),
        unit="requests in flight",
        requests=found.n,
        measured_from="traffic",
        window_s=_window_s(shape),
        counted_in="requests",
    )


def _need(uses: Callable[[Shape], int]) -> Callable[[Shape], Entry | WhyNot]:
    def count(shape: Shape) -> Entry | WhyNot:
        if shape.use is None:
            return "no-bodies"
        used = uses(shape) > 0
        if not used and shape.use.n < LEAST_BODIES:
            return "few-bodies"
        return Entry(
            value=used,
            requests=shape.use.n,
            measured_from="traffic",
            window_s=_window_s(shape),
            counted_in="requests",
        )

    return count


def _tools(shape: Shape) -> int:
    return max(shape.use.offers_tools, shape.use.uses_tools) if shape.use else 0


def _schemas(shape: Shape) -> int:
    return shape.use.json_schema if shape.use else 0


_KNOWN: dict[str, tuple[str | None, Callable[[Shape], Entry | WhyNot]]] = {
    "shared_prefix_share": ("%", _shared_prefix),
    "busy_hour_in_flight": ("requests in flight", _busy_hour),
    "needs_tool_calls": (None, _need(_tools)),
    "needs_json_schema": (None, _need(_schemas)),
}
"""Fact → the unit the lab counts it in, and how."""


def facts_yaml(found: Answers, workload: str, day: str) -> str:
    """The answers as a facts file of one workload.

    Args:
        found: the answers.
        workload: name of the workload in the team's own facts file.
        day: when they were counted.
    """
    block = {name: one.model_dump(exclude_none=True) for name, one in found.facts.items()}
    head = (
        "# What `lab traffic` counted in the team's requests: numbers, yes and no, nothing that was written in them.\n"
        "# Use it beside what the team states, under the same name of the workload:\n"
        "#   lab explain --facts team.yaml --facts THIS\n"
    )
    open_ = "".join(f"# not answered: {one.fact} ({one.why})\n" for one in found.open)
    data = {"by": "lab traffic", "day": day, "workloads": {workload: {"facts": block}}}
    return head + open_ + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=False)
