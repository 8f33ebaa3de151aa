"""What would change the end of a path: every threshold and every stated fact over a grid, and launches drawn again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from lab.errors import ParamsError
from lab.explain.claims import Claim, Interval, Load, Measured, measure, point
from lab.explain.decision import Both, Decision, Question
from lab.explain.facts import Stated, TeamFacts
from lab.explain.path import Answer, Answers, End, Evidence, Path, answer, collect, path_of, walk
from lab.publish.evidence import PublicContrast, PublicRun
from lab.spec import Frozen, Name

GRID = 100
"""Values tried on each side of a number."""

DRAWS = 1000
"""How often launches are drawn again."""


class Flip(Frozen):
    """One thing that is changed by itself, and where the path would end then."""

    what: Literal["threshold", "fact"]
    at: str
    """Place of the question."""
    asked: Question
    engine: Name | None = None
    """For a gate: the engine it is about."""
    now: float | bool
    then: float | bool
    """The nearest value tried that changes the end."""
    clause: Both | None = None
    """What would hold then, as a clause of the decision; None where it is a threshold."""
    end: End


class Share(Frozen):
    """How the launches that were drawn again answer one question."""

    at: str
    asked: Question
    answer: Answer
    """As it stands now."""
    yes: float
    no: float
    """Shares of the draws, 0 to 1."""


class Drawn(Frozen):
    """One place where draws end."""

    end: End
    share: float
    """Of all draws, 0 to 1."""
    as_now: bool
    """True where the path itself ends."""


class Resampled(Frozen):
    """Launches drawn again with replacement, within each engine; every draw is walked to its end."""

    draws: int
    ends: tuple[Drawn, ...]
    """Where the draws end, by name. A draw has no interval, so it does not stop at one that crosses a threshold."""
    shares: tuple[Share, ...]
    """The measured questions on the path."""


class BreakEven(Frozen):
    """After how many hours of this load a longer preparation is made up for."""

    engine: Name
    against: Name
    found: Measured
    counts: bool | None
    """Whether the team decided that preparation counts; None: nobody decided it."""


class Explanation(Frozen):
    """One path, and what would change it."""

    path: Path
    flips: tuple[Flip, ...]
    unmoved: int
    """Thresholds and facts that change nothing by themselves, as far as the grid goes."""
    resampled: Resampled | None
    """None: no measured question on the path has two launches of an engine."""
    break_evens: tuple[BreakEven, ...]


def explain(
    decision: Decision,
    facts: TeamFacts,
    runs: Sequence[PublicRun] = (),
    contrasts: Sequence[PublicContrast] = (),
) -> tuple[Explanation, ...]:
    """One explanation for each workload of the facts, in the order of the file.

    Raises:
        ParamsError: the facts name a run that is not among `runs`.
    """
    found = []
    for name, workload in facts.workloads.items():
        absent = sorted(set(workload.run_ids) - {run.run_id for run in runs})
        if absent:
            raise ParamsError(
                f"the facts of {name} name runs that are not among those given: {', '.join(absent)}",
                "name them on the command line, or leave run_ids out of the facts",
            )
        own = [run for run in runs if not workload.run_ids or run.run_id in workload.run_ids]
        answers = collect(decision, facts, workload, own, contrasts)
        path = path_of(decision, facts, name, answers, own)
        tried = tuple(_tried(decision, answers, path.end))
        found.append(
            Explanation(
                path=path,
                flips=tuple(flip for _, flips in tried for flip in flips),
                unmoved=sum(not flips for _, flips in tried),
                resampled=_resample(decision, answers, path, own),
                break_evens=tuple(_break_evens(decision, workload.load, own)),
            )
        )
    return tuple(found)


def grid(value: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Values below and above `value`, nearest first, in steps of a tenth of its power of ten.

    For 50: 49, 48 … and 51, 52 … A number that is not negative is not tried below 0.
    """
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 1) if value else 0.1
    below = (value - step * k for k in range(1, GRID + 1))
    above = (value + step * k for k in range(1, GRID + 1))
    return (
        tuple(_clean(one) for one in below if value < 0 or one >= 0),
        tuple(_clean(one) for one in above),
    )


def _clean(value: float) -> float:
    return float(f"{value:.12g}")


def _tried(decision: Decision, answers: Answers, end: End) -> Iterator[tuple[str, tuple[Flip, ...]]]:
    """Every threshold and fact, and the changes of the end that it brings by itself."""
    for part in ("nodes", "gates"):
        for name, question in getattr(decision, part).items():
            if question.threshold is not None:
                yield f"{part}.{name}", tuple(_thresholds(decision, answers, part, name, question, end))
    done: set[tuple[str, str]] = set()
    for at, evidence in answers.items():
        if not isinstance(evidence, Stated) or at.startswith("columns."):
            continue
        engine = at.partition(":")[2]
        if (evidence.fact, engine) not in done:
            done.add((evidence.fact, engine))
            yield at, tuple(_facts(decision, answers, at, evidence, end))


def _thresholds(
    decision: Decision, answers: Answers, part: str, name: str, question: Question, end: End
) -> Iterator[Flip]:
    limit = question.threshold
    assert limit is not None
    place = f"{part}.{name}"
    if not any(isinstance(one, Stated | Claim) for at, one in answers.items() if at.partition(":")[0] == place):
        return  # there is no number for it to be held against
    field = "at_most" if question.at_least is None else "at_least"
    for side in grid(limit):
        for then, other in _changes(
            side, end, lambda tried: walk(_with(decision, part, name, {field: tried}), answers)[1]
        ):
            yield Flip(what="threshold", at=place, asked=question, now=limit, then=then, end=other)


def _facts(decision: Decision, answers: Answers, at: str, evidence: Stated, end: End) -> Iterator[Flip]:
    question = _question(decision, at)
    engine = at.partition(":")[2] or None

    def changed(update: Mapping[str, object]) -> dict[str, Evidence]:
        new = evidence.model_copy(update=dict(update))
        return {
            **answers,
            **{
                place: new
                for place, one in answers.items()
                if isinstance(one, Stated) and one.fact == evidence.fact and place.partition(":")[2] == (engine or "")
            },
        }

    if evidence.flag is not None:
        other = changed({"flag": not evidence.flag})
        reached = walk(decision, other)[1]
        if reached.key != end.key:
            yield Flip(what="fact", at=at, asked=question, engine=engine, now=evidence.flag,
                       then=not evidence.flag, clause=_clause(decision, at, other), end=reached)  # fmt: skip
        return
    now = evidence.value
    assert now is not None

    def moved(tried: float) -> dict[str, Evidence]:
        shift = tried - now
        low, high = (None if one is None else one + shift for one in (evidence.low, evidence.high))
        return changed({"value": tried, "low": low, "high": high})

    for side in grid(now):
        for then, reached in _changes(side, end, lambda tried: walk(decision, moved(tried))[1]):
            yield Flip(what="fact", at=at, asked=question, engine=engine, now=now, then=then,
                       clause=_clause(decision, at, moved(then)), end=reached)  # fmt: skip


def _changes(values: Sequence[float], end: End, ends_at: Callable[[float], End]) -> Iterator[tuple[float, End]]:
    """The nearest value at which the path ends elsewhere; if it only stops there, also the nearest that leads on."""
    stopped = False
    for value in values:
        found = ends_at(value)
        if found.key == end.key:
            continue
        if found.kind != "stopped":
            yield value, found
            return
        if not stopped:
            stopped = True
            yield value, found


def _clause(decision: Decision, at: str, answers: Answers) -> Both | None:
    """What a node says under these answers."""
    node = decision.nodes.get(at.removeprefix("nodes."))
    said = answer(node, answers[at]) if node else None
    if node is None or said not in ("yes", "no"):
        return None
    return node.says.then if said == "yes" else node.says.otherwise


def _with(decision: Decision, part: str, name: str, update: Mapping[str, object]) -> Decision:
    questions = getattr(decision, part)
    changed = questions[name].model_copy(update=dict(update))
    return decision.model_copy(update={part: {**questions, name: changed}})


def _question(decision: Decision, at: str) -> Question:
    part, _, name = at.partition(".")
    found: Question = getattr(decision, part)[name.partition(":")[0]]
    return found


def _resample(decision: Decision, answers: Answers, path: Path, runs: Sequence[PublicRun]) -> Resampled | None:
    """Draw launches again, within each engine. A draw has no interval: its mean decides.

    Quality is measured over items, not over launches, so it stays as it is; so does what has one launch.
    """
    known = {run.run_id: run for run in runs}
    drawn = {at: one for at, one in answers.items()
             if isinstance(one, Claim) and one.interval is not None and one.metric != "quality_loss"}  # fmt: skip
    on_path = [step for step in path.steps if step.at in drawn]
    if not on_path:
        return None
    specs: dict[str, list[PublicRun]] = {}
    for run_id in dict.fromkeys(run_id for one in drawn.values() for run_id in one.run_ids):
        specs.setdefault(known[run_id].spec_digest, []).append(known[run_id])
    order = {at: tuple(dict.fromkeys(known[run_id].spec_digest for run_id in one.run_ids))
             for at, one in drawn.items()}  # fmt: skip
    rng = np.random.default_rng(0)
    reached: dict[tuple[str, str, str], tuple[End, int]] = {}
    tally = {step.at: {"yes": 0, "no": 0} for step in on_path}
    for _ in range(DRAWS):
        sample = {spec: [own[int(k)] for k in rng.integers(len(own), size=len(own))] for spec, own in specs.items()}
        redrawn = dict(answers)
        for at, one in drawn.items():
            value = point(one.metric, [sample[spec] for spec in order[at]], path.load)
            redrawn[at] = one.model_copy(update={"value": value, "interval": Interval(low=value, high=value)})
        for step in on_path:
            said = answer(step.asked, redrawn[step.at])
            assert said in ("yes", "no")
            tally[step.at][said] += 1
        end = walk(decision, redrawn)[1]
        name = (end.kind, end.engine or "", end.at or "")
        reached[name] = (end, reached[name][1] + 1 if name in reached else 1)
    return Resampled(
        draws=DRAWS,
        ends=tuple(
            Drawn(end=end, share=times / DRAWS, as_now=end.key == path.end.key)
            for _, (end, times) in sorted(reached.items())
        ),
        shares=tuple(
            Share(at=step.at, asked=step.asked, answer=step.answer,
                  yes=tally[step.at]["yes"] / DRAWS, no=tally[step.at]["no"] / DRAWS)
            for step in on_path
        ),
    )  # fmt: skip


def _break_evens(decision: Decision, load: Load | None, runs: Sequence[PublicRun]) -> Iterator[BreakEven]:
    """The break-even of every pair that the decision asks about, counted or not."""
    pairs = dict.fromkeys(
        (node.engine, node.against) for node in decision.nodes.values() if node.metric == "break_even_h"
    )
    for engine, against in pairs:
        assert engine is not None and against is not None
        found = measure("break_even_h", engine, against, load, runs, excluded_too=True)
        counts = {run.preparation_counts for run in runs if isinstance(found, Claim) and run.run_id in found.run_ids}
        yield BreakEven(engine=engine, against=against, found=found, counts=counts.pop() if len(counts) == 1 else None)
