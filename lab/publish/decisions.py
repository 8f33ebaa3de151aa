"""What an edition said of each workload's path, as public data, and how two editions of it differ.

The history of a decision is told from what earlier editions published and from nothing else: a path then, a path
now, and the question at which they part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lab.publish.changes import EditionName
from lab.publish.schedule import MatchId, Said
from lab.records import RunId
from lab.spec import Frozen, Name

Place = Annotated[str, StringConstraints(max_length=170, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+:\-]*$")]
"""Where a question stands in its decision: `nodes.NAME`, or `gates.NAME:ENGINE`."""
Phrase = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^<>\x00-\x1f]*$")]
Unit = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[^<>\x00-\x1f]*$")]
Role = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^<>\x00-\x1f/\\@]*$")]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Revision = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class PublicPhrase(Frozen):
    """One text of a decision file in every language of the report."""

    en: Phrase
    ja: Phrase


class PublicAnswer(Frozen):
    """One question of a path as an edition answered it."""

    at: Place
    part: Literal["node", "gate"]
    question: PublicPhrase
    engine: Name | None = None
    """Gates: the engine it is about."""
    source: Literal["declared", "traffic", "lab"]
    at_least: float | None = None
    at_most: float | None = None
    unit: Unit | None = None
    answer: Literal["yes", "no", "undecided", "not-measured", "not-applicable"]
    flag: bool | None = None
    value: float | None = None
    """None for a flag, for an answer that is missing, and for a break-even that never comes."""
    low: float | None = None
    high: float | None = None
    """Ends of the interval; None: it has none, or one beyond every bound."""
    why: Name | None = None
    """Why nothing answers it, or why it does not arise."""
    missing: Name | None = None
    """The engine that something is missing of."""
    by: Role | None = None
    day: Day | None = None
    """Who stated it, and when."""
    run_ids: tuple[RunId, ...] = ()
    """The runs it was measured in."""

    @property
    def asked(self) -> tuple[float | None, float | None, str | None]:
        """The threshold."""
        return self.at_least, self.at_most, self.unit

    @property
    def shown(self) -> tuple[bool | None, float | None, float | None, float | None, str | None]:
        """What answers it."""
        return self.flag, self.value, self.low, self.high, self.why


class PublicEnd(Frozen):
    """Where a path ends: at an engine, or at a question that is open."""

    kind: Literal["engine", "off-table", "stopped", "closed"]
    engine: Name | None = None
    at: Place | None = None
    question: PublicPhrase | None = None

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """Two paths with the same key end at the same place."""
        return self.kind, self.engine, self.at if self.kind == "stopped" else None


class PublicDecision(Frozen):
    """The path of one workload in one edition."""

    match_id: MatchId
    """The match whose runs answer what the lab measures."""
    workload: Name
    decision: Name
    decision_digest: Revision
    """Any edit of the decision file gives another one."""
    stated_by: Role
    stated_on: Day
    review_by: Day
    end: PublicEnd
    answers: tuple[PublicAnswer, ...]
    """The questions of the path, in its order."""
    generated: bool = False
    """True when a claim on it comes from generated numbers: a demonstration, no decision."""


class Change(Frozen):
    """One reason why a path is not what it was."""

    kind: Literal["answer", "threshold", "closed", "withdrawn", "tree", "beyond", "match", "restated"]
    """`closed`: a gate that the path comes by only now closed its branch; `beyond`: the questions are answered as
    before, and what lies behind an open one changed."""
    decisive: bool = False
    """True for the question at which the two paths part."""
    before: PublicAnswer | None = None
    after: PublicAnswer | None = None
    """`answer` and `threshold`: the question then and now; `closed`: only now."""
    run_id: RunId | None = None
    why: Said | None = None
    """`withdrawn`: a run that the path rested on, and why it was withdrawn."""
    was: Place | None = None
    now: Place | None = None
    """`tree`: revisions of the decision file; `match`: match_ids; `restated`: days on which facts were stated."""


class DecisionEntry(Frozen):
    """What one edition said of a workload that the edition before it did not."""

    edition: EditionName
    before: PublicEnd | None = None
    """None: no earlier edition had this workload, or the one before had no path of it."""
    end: PublicEnd | None = None
    """None: this edition has no path of this workload any more."""
    review_by: Day | None = None
    decision: Name | None = None
    decision_digest: Revision | None = None
    changes: tuple[Change, ...] = ()
    """The decisive ones first."""
    until: EditionName | None = None
    """The newest edition that says the same; None: no further edition says so."""
    generated: bool = False

    @property
    def moved(self) -> bool:
        """True when the path ends elsewhere than before."""
        return self.before is not None and self.end is not None and self.before.key != self.end.key


class DecisionHistory(Frozen):
    """The decisions of one workload so far, the oldest first."""

    workload: Name
    match_id: MatchId
    """The match that answered last."""
    entries: tuple[DecisionEntry, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Spoken:
    """What one published edition said."""

    edition: EditionName
    decisions: tuple[PublicDecision, ...]
    withdrawn: Mapping[str, Said]
    """Runs that were no longer stood behind, with the reason."""


def histories(spoken: Sequence[Spoken]) -> tuple[DecisionHistory, ...]:
    """The decisions of each workload, by the name of the workload.

    Args:
        spoken: editions, the oldest first; a correction follows what it corrects.
    """
    workloads = sorted({one.workload for said in spoken for one in said.decisions})
    return tuple(_history(workload, spoken) for workload in workloads)


def changes(before: PublicDecision, after: PublicDecision, withdrawn: Mapping[str, Said]) -> tuple[Change, ...]:
    """Why the path of a workload is not what it was, the question at which the two part first.

    A measured number that moved and answers as before is no reason: the report of its match prints it.

    Args:
        before: as an earlier edition published it.
        after: as it is now.
        withdrawn: runs that are no longer stood behind now.
    """
    turn = _turn(before, after)
    found = [*_of_answers(before, after, turn, withdrawn), *_newly_closed(before, after)]
    unexplained = before.end.key != after.end.key and not any(one.decisive for one in found)
    edited = _file(before) != _file(after)
    if edited:
        found.append(Change(kind="tree", decisive=unexplained, was=_file(before), now=_file(after)))
    elif unexplained:
        found.append(Change(kind="beyond", decisive=True))
    if before.match_id != after.match_id:
        found.append(Change(kind="match", was=before.match_id, now=after.match_id))
    if before.stated_on != after.stated_on:
        found.append(Change(kind="restated", was=before.stated_on, now=after.stated_on))
    return tuple(sorted(found, key=lambda one: not one.decisive))


def _history(workload: str, spoken: Sequence[Spoken]) -> DecisionHistory:
    entries: list[DecisionEntry] = []
    last: PublicDecision | None = None
    match_id = ""
    for said in spoken:
        now = next((one for one in said.decisions if one.workload == workload), None)
        if now is None and last is None:
            if entries:  # it is still without a path
                entries[-1] = entries[-1].model_copy(update={"until": said.edition})
            continue
        if now is None:
            assert last is not None
            entries.append(DecisionEntry(edition=said.edition, before=last.end, generated=last.generated))
            last = None
            continue
        match_id = now.match_id
        found = () if last is None else changes(last, now, said.withdrawn)
        if last is not None and not found and last.end.key == now.end.key:
            entries[-1] = entries[-1].model_copy(update={"until": said.edition})
        else:
            entries.append(
                DecisionEntry(
                    edition=said.edition,
                    before=None if last is None else last.end,
                    end=now.end,
                    review_by=now.review_by,
                    decision=now.decision,
                    decision_digest=now.decision_digest,
                    changes=found,
                    generated=now.generated,
                )
            )
        last = now
    return DecisionHistory(workload=workload, match_id=match_id, entries=tuple(entries))


def _turn(before: PublicDecision, after: PublicDecision) -> str | None:
    """The first question that the two paths do not answer alike; None: they answer all alike."""
    for one, other in zip(before.answers, after.answers, strict=False):
        if (one.at, one.answer) != (other.at, other.answer):
            return other.at if one.at == other.at else None
    return None


def _of_answers(
    before: PublicDecision, after: PublicDecision, turn: str | None, withdrawn: Mapping[str, Said]
) -> Iterator[Change]:
    """What changed at the questions that both paths come by."""
    now = {one.at: one for one in after.answers}
    for one in before.answers:
        other = now.get(one.at)
        if other is None:
            continue
        decisive = one.at == turn
        if one.asked != other.asked:
            yield Change(kind="threshold", decisive=decisive, before=one, after=other)
        measured = "lab" in (one.source, other.source)
        if one.shown != other.shown and (one.answer != other.answer or not measured):
            yield Change(kind="answer", decisive=decisive, before=one, after=other)
        for run_id in one.run_ids:
            if run_id in withdrawn and run_id not in other.run_ids:
                lost = decisive and one.answer != other.answer
                yield Change(kind="withdrawn", decisive=lost, run_id=run_id, why=withdrawn[run_id])


def _newly_closed(before: PublicDecision, after: PublicDecision) -> Iterator[Change]:
    """Gates that close a branch of the path now and that it did not come by before."""
    known = {one.at for one in before.answers}
    for one in after.answers:
        if one.part == "gate" and one.answer == "no" and one.at not in known:
            yield Change(kind="closed", decisive=before.end.key != after.end.key, after=one)


def _file(decision: PublicDecision) -> str:
    return f"{decision.decision}:{decision.decision_digest}"
