"""What the team states: a block for each workload, every fact with who said it and when.

A number that was counted in the team's own traffic stands here too, with its interval where there is one, and is
marked as measured where `lab traffic` counted it. What the lab measured of an engine never stands here: it comes from
the runs. Several files may speak of one workload; `lab.explain.merging` says which of them answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from lab.errors import ParamsError, UnknownKey
from lab.explain.claims import Absent, Load, NotApplicable
from lab.explain.decision import Decision, Gate, Question, Unit
from lab.params import parse, read_mapping, shown
from lab.records import RunId
from lab.roster import find
from lab.spec import Frozen, Name

Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Who = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^<>\x00-\x1f/\\@]*$")]
"""A role or a team. It is printed on the page, so no person's name belongs here."""


class Overruled(Frozen):
    """A fact that was stated or measured and did not answer."""

    value: bool | float | Literal["not-applicable"]
    source: Literal["declared", "traffic"]
    by: Who
    day: Day


class Entry(Frozen):
    """One fact: yes or no, a number with its unit, or that the question does not arise."""

    value: bool | float | Literal["not-applicable"]
    low: float | None = None
    high: float | None = None
    """Ends of the interval of a number that was counted; None: it is taken as it stands."""
    unit: Unit | None = None
    requests: int | None = Field(default=None, ge=1)
    """How many requests it was counted in."""
    by: Who | None = None
    day: Day | None = None
    """Who stated it and when, where that differs from the file's."""
    measured_from: Literal["traffic"] | None = None
    """`traffic`: `lab traffic` counted it in the team's requests; None: the team states it."""
    window_s: float | None = Field(default=None, gt=0)
    """Time between the first and the last request it was counted in; None: nothing says when they came."""
    counted_in: Literal["tokens", "blocks", "requests"] | None = None
    """What was counted; blocks: whole blocks of a trace, so that the interval reaches up to what a part may hold."""
    horizon_tokens: int | None = Field(default=None, ge=1)
    """Repeats further apart than so many different tokens were counted as new; None: all were seen."""
    overruled: Overruled | None = None
    """What another file says of the same fact and was not used; filled in where files are merged."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        number = None if isinstance(self.value, bool | str) else float(self.value)
        if number is not None and self.unit is None:
            raise ValueError("a number needs its unit")
        if number is None and (self.unit is not None or self.low is not None or self.high is not None):
            raise ValueError("unit, low and high go with a number")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends: low and high")
        if self.measured_from is None and (self.window_s or self.counted_in or self.horizon_tokens):
            raise ValueError("window_s, counted_in and horizon_tokens go with measured_from: traffic")
        ends = (self.low, number, self.high)
        if None not in ends and ends != tuple(sorted(end for end in ends if end is not None)):
            raise ValueError("the value lies outside its interval")
        return self


Facts = dict[Name, bool | Entry]


class WorkloadFacts(Frozen):
    """What is stated of one workload."""

    load: Load | None = None
    """The rung that measured questions are read at."""
    run_ids: tuple[RunId, ...] = ()
    """The runs whose measurements answer; none: every run that is given."""
    facts: Facts = Field(default_factory=dict)
    engines: dict[Name, Facts] = Field(default_factory=dict)
    """Engine → what is stated of it, for instance whether its licence allows this use."""


class TeamFacts(Frozen):
    """The facts file of a team."""

    by: Who
    day: Day
    workloads: dict[Name, WorkloadFacts] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_a_day(self) -> Self:
        for day in (self.day, *(one.day for _, one in self._entries() if one.day is not None)):
            date.fromisoformat(day)
        return self

    def _entries(self) -> Iterator[tuple[str, Entry]]:
        for name, workload in self.workloads.items():
            for block in (workload.facts, *workload.engines.values()):
                yield from ((f"{name}.{fact}", one) for fact, one in block.items() if isinstance(one, Entry))

    def review_by(self, days: int) -> Day:
        """The day on which the choice is looked at again."""
        return (date.fromisoformat(self.day) + timedelta(days=days)).isoformat()


class Stated(Frozen):
    """A fact as a question reads it."""

    kind: Literal["stated"] = "stated"
    source: Literal["declared", "traffic"]
    """Who answered, whoever is asked: `traffic` only where the lab counted it in the team's requests."""
    fact: Name
    flag: bool | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    requests: int | None = None
    by: Who
    day: Day
    window_s: float | None = None
    counted_in: Literal["tokens", "blocks", "requests"] | None = None
    horizon_tokens: int | None = None
    overruled: Overruled | None = None


class Conflict(Frozen):
    """A fact of which two files say different things."""

    fact: Name
    value: bool | float | Literal["not-applicable"]
    """What was used."""
    unit: Unit | None
    source: Literal["declared", "traffic"]
    by: Who
    day: Day
    other: Overruled


def conflicts(facts: TeamFacts, workload: WorkloadFacts) -> tuple[Conflict, ...]:
    """Every fact of a workload, its engines' left out, of which something else was said and not used."""
    return tuple(
        Conflict(
            fact=name,
            value=one.value,
            unit=one.unit,
            source=one.measured_from or "declared",
            by=one.by or facts.by,
            day=one.day or facts.day,
            other=one.overruled,
        )
        for name, one in workload.facts.items()
        if isinstance(one, Entry) and one.overruled is not None
    )


def read_facts(path: Path, decision: Decision) -> TeamFacts:
    """The facts of a file, held against the questions they are to answer.

    Raises:
        ParamsError: a fact nobody asks for, another unit than the threshold's, a number where yes or no is asked.
    """
    where = shown(path)
    facts = parse(TeamFacts, read_mapping(path), where)
    of_workload: dict[str, Question | None] = {
        one.fact: one for _, one in decision.asked() if one.fact and not isinstance(one, Gate)
    }
    of_workload |= {gate.needed_if: None for gate in decision.gates.values() if gate.needed_if}
    of_engine: dict[str, Question | None] = {gate.fact: gate for gate in decision.gates.values() if gate.fact}
    for name, workload in facts.workloads.items():
        place = f"{where}: workloads.{name}"
        _check(workload.facts, of_workload, f"{place}.facts")
        for engine, stated in workload.engines.items():
            if find(engine) is None:
                raise ParamsError(f"{place}.engines: nobody has listed the engine '{engine}'", "lab engines")
            _check(stated, of_engine, f"{place}.engines.{engine}")
    return facts


def _check(facts: Facts, asked: dict[str, Question | None], place: str) -> None:
    for name, fact in facts.items():
        if name not in asked:
            raise UnknownKey(name, asked, place)
        question, value = asked[name], fact.value if isinstance(fact, Entry) else fact
        unit = question.unit if question else None
        if value == "not-applicable" and not isinstance(value, bool):
            continue
        if isinstance(value, bool) != (unit is None):
            wanted = "yes or no (true or false)" if unit is None else f"a number in {unit}"
            raise ParamsError(f"{place}.{name}: {wanted} is asked, got {value!r}")
        if isinstance(fact, Entry) and fact.unit != unit:
            raise ParamsError(f"{place}.{name}: the threshold is in {unit}, the fact in {fact.unit}")


def stated(
    question: Question, facts: TeamFacts, workload: WorkloadFacts, engine: str | None = None
) -> Stated | Absent | NotApplicable:
    """What the team says to a question.

    Args:
        question: one that asks for a fact.
        facts: the file, for who and when.
        workload: the block of the workload.
        engine: for a gate: the engine it is about.
    """
    assert question.fact is not None and question.source != "lab"
    entry = find(engine) if engine else None
    block = workload.facts
    if engine is not None:
        block = next((own for name, own in workload.engines.items() if find(name) == entry), {})
    fact = block.get(question.fact)
    if fact is None:
        return Absent(why="not-stated", engine=engine)
    one = fact if isinstance(fact, Entry) else Entry(value=fact)
    if not isinstance(one.value, bool | float):
        return NotApplicable(why="stated-not-applicable")
    flag = one.value if isinstance(one.value, bool) else None
    return Stated(
        source=one.measured_from or "declared",
        fact=question.fact,
        flag=flag,
        value=None if flag is not None else float(one.value),
        low=one.low,
        high=one.high,
        requests=one.requests,
        by=one.by or facts.by,
        day=one.day or facts.day,
        window_s=one.window_s,
        counted_in=one.counted_in,
        horizon_tokens=one.horizon_tokens,
        overruled=one.overruled,
    )
