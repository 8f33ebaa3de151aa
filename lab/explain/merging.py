"""Several facts files as one: what the team states, and what `lab traffic` counted in its requests.

The rule: a question that the traffic answers (`source: traffic`) takes the measured fact, whatever is stated. A need
(`needs_…`) and every other yes or no is taken as yes when either says yes: what the traffic did is needed, and what it
did not do may be needed all the same. What was not used is kept with the fact and printed beside it. Two statements
that differ, or two measurements, are refused: one of them has to go.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.errors import ParamsError
from lab.explain.decision import Decision
from lab.explain.facts import Entry, Facts, Overruled, TeamFacts, WorkloadFacts


def merge(files: Sequence[tuple[str, TeamFacts]], decision: Decision) -> TeamFacts:
    """The facts of several files.

    Args:
        files: name and content; at least one. Who stated it and when are the first one's.
        decision: knows which questions the traffic answers.

    Raises:
        ParamsError: two files state, or measured, one fact differently, or read measurements at two loads.
    """
    first = files[0][1]
    if len(files) == 1:
        return first
    by_traffic = {one.fact for _, one in decision.asked() if one.source == "traffic" and one.fact}
    workloads: dict[str, WorkloadFacts] = {}
    came_from: dict[str, str] = {}
    for where, facts in files:
        for name, own in facts.workloads.items():
            stamped = own.model_copy(
                update={
                    "facts": _stamped(own.facts, facts),
                    "engines": {engine: _stamped(block, facts) for engine, block in own.engines.items()},
                }
            )
            if name not in workloads:
                workloads[name], came_from[name] = stamped, where
                continue
            place = f"{came_from[name]} and {where}: workloads.{name}"
            workloads[name] = _together(workloads[name], stamped, by_traffic, place)
    return first.model_copy(update={"workloads": workloads})


def _stamped(block: Facts, facts: TeamFacts) -> Facts:
    """The facts of a block, each with who said it and when."""
    found: Facts = {}
    for name, fact in block.items():
        one = fact if isinstance(fact, Entry) else Entry(value=fact)
        found[name] = one.model_copy(update={"by": one.by or facts.by, "day": one.day or facts.day})
    return found


def _together(one: WorkloadFacts, two: WorkloadFacts, by_traffic: set[str], place: str) -> WorkloadFacts:
    if one.load is not None and two.load is not None and one.load != two.load:
        raise ParamsError(f"{place}.load: measured questions cannot be read at two loads", "take one of them out")
    engines = {
        name: _blocks(one.engines.get(name, {}), two.engines.get(name, {}), by_traffic, f"{place}.engines.{name}")
        for name in dict.fromkeys((*one.engines, *two.engines))
    }
    return WorkloadFacts(
        load=one.load or two.load,
        run_ids=tuple(dict.fromkeys((*one.run_ids, *two.run_ids))),
        facts=_blocks(one.facts, two.facts, by_traffic, f"{place}.facts"),
        engines=engines,
    )


def _blocks(one: Facts, two: Facts, by_traffic: set[str], place: str) -> Facts:
    merged = dict(one)
    for name, fact in two.items():
        if name not in merged:
            merged[name] = fact
            continue
        before = merged[name]
        assert isinstance(before, Entry) and isinstance(fact, Entry)  # they were stamped
        merged[name] = _choose(name, before, fact, by_traffic, f"{place}.{name}")
    return merged


def _choose(name: str, one: Entry, two: Entry, by_traffic: set[str], place: str) -> Entry:
    if one.measured_from == two.measured_from:
        if one.model_dump(exclude={"by", "day"}) == two.model_dump(exclude={"by", "day"}):
            return one
        verb = "measured" if one.measured_from else "stated"
        raise ParamsError(
            f"{place}: it is {verb} twice and differs: {one.value} and {two.value}", "take one of them out"
        )
    measured, said = (one, two) if one.measured_from else (two, one)
    used, other = measured, said
    if name not in by_traffic and said.value is True:
        used, other = said, measured
    if used.value == other.value:
        return measured
    assert other.by is not None and other.day is not None  # they were stamped
    overruled = Overruled(value=other.value, source=other.measured_from or "declared", by=other.by, day=other.day)
    return used.model_copy(update={"overruled": overruled})


def measured_alone(facts: TeamFacts) -> tuple[str, ...]:
    """Workloads of which nothing is stated: what was measured may stand under another name than the team's."""
    return tuple(
        name
        for name, workload in facts.workloads.items()
        if workload.facts
        and not workload.engines
        and all(isinstance(fact, Entry) and fact.measured_from for fact in workload.facts.values())
    )
