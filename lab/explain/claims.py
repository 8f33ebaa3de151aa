"""What runs may say to a decision: a `Claim` from evidence that may carry one, an `Observation` from all other.

No rule takes an `Observation`: `lab.explain.path.answer` has no place for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from lab.match import own_reasons, refusals
from lab.metrics.stats import interval_over_launches
from lab.publish.beside import match_runs
from lab.publish.contrasts import IN_BITS
from lab.publish.evidence import PublicContrast, PublicLevel, PublicRun, PublicTask
from lab.quality.coverage import NoVerdict
from lab.records import EvidenceGrade, RunId
from lab.roster import find
from lab.spec import Frozen, Name

MetricName = Literal[
    "output_tok_per_s",
    "goodput_rps",
    "ttft_p50_s",
    "ttft_p99_s",
    "tpot_p50_s",
    "throughput_gain",
    "break_even_h",
    "build_s",
    "preparation_s",
    "quality_loss",
    "support",
    "tool-call",
    "json-schema",
]
"""What a question may ask of the lab."""

UNITS: dict[MetricName, str | None] = {
    "output_tok_per_s": "tok/s",
    "goodput_rps": "req/s",
    "ttft_p50_s": "s",
    "ttft_p99_s": "s",
    "tpot_p50_s": "s",
    "throughput_gain": "%",
    "break_even_h": "h",
    "build_s": "s",
    "preparation_s": "s",
    "quality_loss": "points",
    "support": None,
    "tool-call": None,
    "json-schema": None,
}
"""The unit of each metric; None: yes or no."""

SPEED: frozenset[MetricName] = frozenset(
    {"output_tok_per_s", "goodput_rps", "ttft_p50_s", "ttft_p99_s", "tpot_p50_s", "throughput_gain", "break_even_h"}
)
"""Metrics of speed: no path concludes on them without quality and preparation."""

PAIRS: frozenset[MetricName] = frozenset({"throughput_gain", "break_even_h", "quality_loss"})
"""Metrics that set one engine against another."""

AT_LOAD: frozenset[MetricName] = SPEED
"""Metrics that are read at one load."""

HOUR_S = 3600.0

Runs = Sequence[PublicRun]
Why = Literal[
    "not-stated",
    "no-run",
    "only-observations",
    "several-profiles",
    "not-comparable",
    "no-level",
    "no-value",
    "attached",
    "preparation-undecided",
    "no-contrast",
    "no-verdict",
    "support-unknown",
    "not-exposed",
]
WhyNot = Literal["no-build-step", "excluded-by-team", "itself", "not-needed", "stated-not-applicable"]


class Load(Frozen):
    """The load a question is about: one rung of a closed or an open loop."""

    concurrency: int | None = Field(default=None, ge=1)
    rate_rps: float | None = Field(default=None, gt=0)

    def level(self, run: PublicRun) -> PublicLevel | None:
        """The rung of a run under this load; None when it has none, or one that must not be read."""
        found = (
            one for one in run.levels if (one.concurrency, one.rate_rps) == (self.concurrency, self.rate_rps)
        )  # fmt: skip
        return next((one for one in found if one.valid), None)


class Interval(Frozen):
    """Two ends; an end that is None lies beyond every bound."""

    low: float | None
    high: float | None


class Claim(Frozen):
    """A number that may carry a decision, with its interval and the runs it came from."""

    kind: Literal["claim"] = "claim"
    metric: MetricName
    engine: Name
    against: Name | None = None
    load: Load | None = None
    flag: bool | None = None
    """The answer of a metric without a unit."""
    value: float | None = None
    """None for a flag, and for a break-even that never comes."""
    interval: Interval | None = None
    """None: one launch has no interval."""
    launches: int
    """The fewest launches of the engines it is about."""
    run_ids: tuple[RunId, ...]
    grade: Literal[EvidenceGrade.REAL_GPU, EvidenceGrade.SYNTHETIC]
    task: Name | None = None
    """`quality_loss`: the task that lost most."""
    extra_preparation_s: float | None = None
    """`break_even_h`: by how much preparation takes longer, mean over launches."""
    gain: float | None = None
    """`break_even_h`: output per second above the other engine's, in per cent."""


class Observation(Frozen):
    """A run that shows the pipeline at work; it says nothing to a decision."""

    run_id: RunId
    engine: Name
    grade: Literal[EvidenceGrade.HARNESS_CHECK, EvidenceGrade.IMPORTED]


class Absent(Frozen):
    """Nothing answers the question, and why."""

    kind: Literal["absent"] = "absent"
    why: Why
    engine: Name | None = None
    """The engine that something is missing of."""


class NotApplicable(Frozen):
    """The question does not arise, and why."""

    kind: Literal["not-applicable"] = "not-applicable"
    why: WhyNot


Measured = Claim | Absent | NotApplicable


def observations(runs: Runs) -> tuple[Observation, ...]:
    """The runs of the four columns' questions that no rule can read."""
    return tuple(
        Observation(run_id=run.run_id, engine=run.engine, grade=run.grade)
        for run in runs
        if run.grade is EvidenceGrade.HARNESS_CHECK or run.grade is EvidenceGrade.IMPORTED
    )


def measure(
    metric: MetricName,
    engine: str,
    against: str | None,
    load: Load | None,
    runs: Runs,
    contrasts: Sequence[PublicContrast] = (),
    *,
    excluded_too: bool = False,
) -> Measured:
    """What the runs say of one metric.

    Args:
        metric: what is asked.
        engine: key in the roster.
        against: the engine it is set against, where the metric takes two.
        load: the rung, where the metric has one.
        runs: public evidence of one match.
        contrasts: answers of those runs side by side.
        excluded_too: give the break-even even where the team decided that preparation does not count.
    """
    if against is not None and find(engine) == find(against):
        return NotApplicable(why="itself")
    names = (engine,) if against is None else (engine, against)
    groups: list[list[PublicRun]] = []
    for name in names:
        found = launches(name, runs)
        if isinstance(found, Absent):
            return found
        groups.append(found)
    if against is not None and refusals(match_runs([one for group in groups for one in group])):
        return Absent(why="not-comparable", engine=engine)
    if metric == "quality_loss":
        return _quality_loss(groups[0], groups[1], contrasts)
    if metric in ("support", "tool-call", "json-schema"):
        return _flag(metric, groups[0])
    if metric in ("break_even_h", "build_s") and all(_build(run) is None for run in groups[0]):
        return NotApplicable(why="no-build-step")
    if metric == "break_even_h" and not excluded_too:
        counts = {run.preparation_counts for group in groups for run in group}
        if counts == {False}:
            return NotApplicable(why="excluded-by-team")
        if counts != {True}:
            return Absent(why="preparation-undecided")
    if metric in AT_LOAD:
        for group in groups:
            if any(load is None or load.level(run) is None for run in group):
                return Absent(why="no-level", engine=group[0].engine)
    if metric in ("break_even_h", "preparation_s", "build_s"):
        for group in groups:
            if any(preparation_of(run) is None for run in group):
                return Absent(why="attached", engine=group[0].engine)
    return _number(metric, groups, load)


def launches(engine: str, runs: Runs) -> list[PublicRun] | Absent:
    """The fresh launches of the one spec of an engine that may carry a decision."""
    entry = find(engine)
    own = [run for run in runs if run.table != "instrument-check" and find(run.engine) == entry]
    able = [run for run in own if may_claim(run)]
    if not able:
        return Absent(why="only-observations" if own else "no-run", engine=engine)
    if len({run.spec_digest for run in able}) > 1:
        return Absent(why="several-profiles", engine=engine)
    if any(refusals(own_reasons(run.side)) for run in able):
        return Absent(why="not-comparable", engine=engine)
    return able


def may_claim(run: PublicRun) -> bool:
    """True for `real-gpu`, and for generated numbers under a stand-in's name: never beside a real engine's."""
    entry = find(run.engine)
    invented = entry is not None and entry.seat == "synthetic"
    return run.grade is (EvidenceGrade.SYNTHETIC if invented else EvidenceGrade.REAL_GPU)


def point(metric: MetricName, groups: Sequence[Runs], load: Load | None) -> float | None:
    """The value of a number over these launches: of their means, where two engines are set side by side.

    Returns:
        None for a break-even that never comes, because nothing is gained.
    """
    if metric == "throughput_gain":
        return _mean_gain(groups, load)
    if metric == "break_even_h":
        return _pays_back_h(_extra_s(groups), _mean_gain(groups, load))
    return fmean(_values(metric, groups[0], load))


def _number(metric: MetricName, groups: Sequence[Runs], load: Load | None) -> Measured:
    for group in groups:
        read: MetricName = "output_tok_per_s" if metric in PAIRS else metric
        if not _values(read, group, load):
            return Absent(why="no-value", engine=group[0].engine)
    several = min(len(group) for group in groups)
    runs = [run for group in groups for run in group]
    pays = metric == "break_even_h"
    return Claim(
        metric=metric,
        engine=groups[0][0].engine,
        against=groups[1][0].engine if len(groups) > 1 else None,
        load=load if metric in AT_LOAD else None,
        value=point(metric, groups, load),
        interval=_interval(metric, groups, load),
        launches=several,
        run_ids=tuple(run.run_id for run in runs),
        grade=_grade(runs),
        extra_preparation_s=_extra_s(groups) if pays else None,
        gain=_mean_gain(groups, load) if pays else None,
    )


def _interval(metric: MetricName, groups: Sequence[Runs], load: Load | None) -> Interval | None:
    """95 % interval over launches.

    Of two engines set side by side each mean gets an interval of 97.5 %, so that both hold together with at least
    95 %; the ends come from their outer corners. Of a break-even only the gain carries an interval: preparation
    enters as its mean.
    """
    if metric not in PAIRS:
        found = interval_over_launches(_values(metric, groups[0], load))
        return None if found is None else Interval(low=found[0], high=found[1])
    ends = [interval_over_launches(_of(group, load), 0.975) for group in groups]
    if ends[0] is None or ends[1] is None:
        return None
    (own_low, own_high), (other_low, other_high) = ends[0], ends[1]
    low = _gain(own_low, other_high)
    high = _gain(own_high, other_low) if other_low > 0 else None
    if metric == "throughput_gain":
        return Interval(low=low, high=high)
    extra = _extra_s(groups)
    return Interval(low=0.0 if high is None else _pays_back_h(extra, high), high=_pays_back_h(extra, low))


def _gain(own: float, other: float) -> float:
    """By how many per cent `own` lies above `other`."""
    return 100 * (own / other - 1)


def _mean_gain(groups: Sequence[Runs], load: Load | None) -> float:
    return _gain(fmean(_of(groups[0], load)), fmean(_of(groups[1], load)))


def _pays_back_h(extra_s: float, gain: float) -> float | None:
    """Hours of this load after which a longer preparation is made up for; None: never.

    While one engine still prepares, the other serves: `extra_s` seconds of its output are missing. Every second
    of load afterwards makes up for `gain` per cent of one.
    """
    if extra_s <= 0:
        return 0.0
    return extra_s / (gain / 100) / HOUR_S if gain > 0 else None


def _extra_s(groups: Sequence[Runs]) -> float:
    own, other = (fmean(_values("preparation_s", group, None)) for group in groups)
    return own - other


def _of(runs: Runs, load: Load | None) -> list[float]:
    return _values("output_tok_per_s", runs, load)


def _values(metric: MetricName, runs: Runs, load: Load | None) -> list[float]:
    """One value for each launch; empty as soon as one launch has none."""
    read: dict[str, Callable[[PublicRun], float | None]] = {
        "output_tok_per_s": lambda run: _scalar(run, load, "output_tok_per_s"),
        "goodput_rps": lambda run: _scalar(run, load, "goodput_rps"),
        "ttft_p50_s": lambda run: _quantile(run, load, "ttft_s", "p50"),
        "ttft_p99_s": lambda run: _quantile(run, load, "ttft_s", "p99"),
        "tpot_p50_s": lambda run: _quantile(run, load, "tpot_s", "p50"),
        "build_s": _build,
        "preparation_s": preparation_of,
    }
    values = [read[metric](run) for run in runs]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _scalar(run: PublicRun, load: Load | None, name: str) -> float | None:
    level = load.level(run) if load else None
    return level.scalars.get(name) if level else None


def _quantile(run: PublicRun, load: Load | None, name: str, q: str) -> float | None:
    level = load.level(run) if load else None
    summary = level.metrics.get(name) if level else None
    return None if summary is None else getattr(summary, q)


def _build(run: PublicRun) -> float | None:
    return run.preparation.build_took_s if run.preparation else None


def preparation_of(run: PublicRun) -> float | None:
    """Build, where there is one, start and first request; None: the engine ran already, or nobody recorded it."""
    prepared = run.preparation
    if prepared is None or prepared.startup_s is None:
        return None
    built = prepared.build_took_s
    parts = (prepared.startup_s, prepared.first_request_s) if built is None else (
        built, prepared.startup_s, prepared.first_request_s)  # fmt: skip
    return sum(parts)


def _flag(metric: MetricName, runs: Runs) -> Measured:
    """Yes or no, as every launch shows it; one that shows otherwise makes it no."""
    if metric == "support":
        seen = [None if run.support in (None, "unknown") else run.support in ("supported", "beta", "plugin")
                for run in runs]  # fmt: skip
        unknown: Why = "support-unknown"
    else:
        results = [{str(check.name): check.result for check in run.checks}.get(metric) for run in runs]
        seen = [None if result in (None, "not-exposed") else result == "pass" for result in results]
        unknown = "not-exposed"
    if any(one is None for one in seen):
        return Absent(why=unknown, engine=runs[0].engine)
    return Claim(metric=metric, engine=runs[0].engine, flag=all(seen), launches=len(runs),
                 run_ids=tuple(run.run_id for run in runs), grade=_grade(runs))  # fmt: skip


def _quality_loss(own: Runs, other: Runs, contrasts: Sequence[PublicContrast]) -> Measured:
    """The largest loss of any task against the other engine, in points; its interval is over items."""
    known = {run.run_id: run for run in (*own, *other)}
    owned = {run.run_id for run in own}
    found = [
        one
        for one in contrasts
        if {one.first, one.second} <= known.keys() and (one.first in owned) != (one.second in owned)
    ]
    losses: list[tuple[float, float, float, str]] = []
    for one in found:
        lower = {task.task for task in _tasks(known[one.first]) if task.better == "lower"}
        for pair in one.tasks:
            if pair.metric == IN_BITS:
                continue  # bits per byte are no points; they stand in the table of quality
            paired = pair.paired
            value, low, high = paired.difference, paired.low, paired.high
            uncovered = paired.no_verdict in (NoVerdict.COVERAGE_LOW, NoVerdict.COVERAGE_APART)
            if uncovered or value is None or low is None or high is None:
                return Absent(why="no-verdict", engine=own[0].engine)
            # a loss is the other engine's score minus the own one
            sign = -100 if (one.second in owned) != (pair.task in lower) else 100
            ends = sorted((sign * low, sign * high))
            losses.append((sign * value, ends[0], ends[1], pair.task))
    if not losses:
        return Absent(why="no-contrast", engine=own[0].engine)
    run_ids = tuple(dict.fromkeys(run_id for one in found for run_id in (one.first, one.second)))
    worst = max(losses)
    return Claim(
        metric="quality_loss",
        engine=own[0].engine,
        against=other[0].engine,
        value=worst[0] or 0.0,
        interval=Interval(low=max(loss[1] for loss in losses), high=max(loss[2] for loss in losses)),
        launches=min(len(own), len(other)),
        run_ids=run_ids,
        grade=_grade([known[run_id] for run_id in run_ids]),
        task=worst[3],
    )


def _tasks(run: PublicRun) -> tuple[PublicTask, ...]:
    return run.quality.tasks if run.quality else ()


def _grade(runs: Runs) -> Literal[EvidenceGrade.REAL_GPU, EvidenceGrade.SYNTHETIC]:
    """The grade of a claim: one generated run makes all of it generated."""
    if any(run.grade is EvidenceGrade.SYNTHETIC for run in runs):
        return EvidenceGrade.SYNTHETIC
    return EvidenceGrade.REAL_GPU
