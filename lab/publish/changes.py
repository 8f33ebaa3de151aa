"""What changed since the edition before: two sets of public evidence in, a list of news out.

A value is news when the 95 % interval of its difference, over the launches of the two weeks, leaves zero out.
Values within noise are counted, never listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Literal

from pydantic import StringConstraints

from lab.metrics.stats import interval_of_difference
from lab.publish.cells import CellState, LeftOut, PublicMatch
from lab.publish.evidence import EngineVersion, PublicLevel, PublicRun, Week
from lab.publish.projection import rounded
from lab.publish.schedule import MatchId
from lab.records import RunId
from lab.spec import Frozen, Name

Key = tuple[str, str]
"""match_id and spec_digest: what stays the same over the weeks."""

MetricName = Literal["output_tok_per_s", "goodput_rps", "ttft_s", "tpot_s", "startup_s", "score"]
"""What is compared from week to week: rates, p50 of latencies, start-up, and each task of the quality suite."""


SPEED: frozenset[MetricName] = frozenset({"output_tok_per_s", "goodput_rps", "ttft_s", "tpot_s"})
"""What is told only with the start and the quality of the same cell beside it."""


class EditionName(Frozen):
    """One edition of one week."""

    week: Week
    revision: int


class CellName(Frozen):
    """A cell, as a reader meets it."""

    match_id: MatchId
    engine: Name
    profile: Name
    spec_digest: Annotated[str, StringConstraints(pattern=r"^s-[0-9a-f]{16}$")]


class ChangedValue(Frozen):
    """One value that moved further than its launches scatter."""

    cell: CellName
    metric: MetricName
    task: Name | None = None
    """The task, for a score."""
    concurrency: int | None = None
    rate_rps: float | None = None
    before: float
    """Mean over the launches of the edition before."""
    after: float
    low: float
    """Ends of the 95 % interval of the difference."""
    high: float


How = Literal["changed", "within", "incomparable"]
"""A value of two weeks: it moved further than its launches scatter, it did not, or there is nothing to say."""


class Beside(Frozen):
    """Start and quality of a cell whose speed moved."""

    cell: CellName
    startup: How
    quality: How
    """Of its tasks: one that changed, else one that cannot be compared, else all are within noise."""


class ChangedVersion(Frozen):
    """A cell whose engine states another version of itself."""

    cell: CellName
    before: EngineVersion | None
    after: EngineVersion | None


class GoneCell(Frozen):
    """A cell that was published and is not any more."""

    cell: CellName
    state: CellState | None
    """What it is now; None: the edition does not take its match any more."""
    left_out: dict[LeftOut, int]


class News(Frozen):
    """What an edition tells that the one before did not."""

    since: EditionName | None
    """None: it is the first one."""
    new: tuple[CellName, ...] = ()
    gone: tuple[GoneCell, ...] = ()
    withdrawn: tuple[RunId, ...] = ()
    """Runs of the edition before that have been withdrawn."""
    versions: tuple[ChangedVersion, ...] = ()
    changed: tuple[ChangedValue, ...] = ()
    beside: tuple[Beside, ...] = ()
    """For each cell of `changed` whose speed moved."""
    within: int = 0
    """Values whose difference is within noise."""
    incomparable: int = 0
    """Values that only one of the two editions has, or that have no interval."""
    same: int = 0
    """Cells that hold the same runs as before."""

    @property
    def quiet(self) -> bool:
        """True when nothing is to be told."""
        return not (self.new or self.gone or self.withdrawn or self.versions or self.changed)


def news(
    since: EditionName | None,
    before: Sequence[PublicRun],
    matches: Iterable[PublicMatch],
    after: Sequence[PublicRun],
    withdrawn: Iterable[str],
) -> News:
    """Compare two editions.

    Args:
        since: name of the edition before; None when there is none.
        before: its public runs.
        matches: cells of the new edition.
        after: public runs of the new edition.
        withdrawn: every run_id that has been withdrawn.
    """
    if since is None:
        return News(since=None)
    old, new = _cells(before), _cells(after)
    states = {(match.match_id, cell.spec_digest): cell for match in matches for cell in match.cells}
    changed: list[ChangedValue] = []
    beside: list[Beside] = []
    within = incomparable = 0
    both = [key for key in new if key in old and _ids(old[key]) != _ids(new[key])]
    for key in both:
        hows: dict[str, list[How]] = {}
        for metric, found in _values(old[key], new[key]):
            how: How = "incomparable" if found is None else "within" if found.low <= 0 <= found.high else "changed"
            hows.setdefault(metric, []).append(how)
            incomparable += how == "incomparable"
            within += how == "within"
            if found is not None and how == "changed":
                changed.append(found)
        if any("changed" in hows.get(metric, ()) for metric in SPEED):
            starts, scores = (_together(hows.get(metric, [])) for metric in ("startup_s", "score"))
            beside.append(Beside(cell=_name(new[key]), startup=starts, quality=scores))
    gone_ids = {run.run_id for run in before} & set(withdrawn)
    return News(
        since=since,
        new=tuple(_name(new[key]) for key in new if key not in old),
        gone=tuple(
            GoneCell(
                cell=_name(old[key]),
                state=states[key].state if key in states else None,
                left_out=states[key].left_out if key in states else {},
            )
            for key in old
            if key not in new
        ),
        withdrawn=tuple(run.run_id for run in before if run.run_id in gone_ids),
        versions=tuple(
            ChangedVersion(cell=_name(new[key]), before=old[key][-1].engine_version, after=new[key][-1].engine_version)
            for key in both
            if old[key][-1].engine_version != new[key][-1].engine_version
        ),
        changed=tuple(changed),
        beside=tuple(beside),
        within=within,
        incomparable=incomparable,
        same=sum(_ids(old[key]) == _ids(new[key]) for key in new if key in old),
    )


def _together(found: Sequence[How]) -> How:
    """Several values in one word; none at all has nothing to be compared."""
    if "changed" in found:
        return "changed"
    return "within" if found and "incomparable" not in found else "incomparable"


def _cells(runs: Iterable[PublicRun]) -> dict[Key, list[PublicRun]]:
    found: dict[Key, list[PublicRun]] = {}
    for run in runs:
        found.setdefault((run.match_id, run.spec_digest), []).append(run)
    return found


def _ids(runs: Iterable[PublicRun]) -> set[str]:
    return {run.run_id for run in runs}


def _name(runs: Sequence[PublicRun]) -> CellName:
    one = runs[0]
    return CellName(match_id=one.match_id, engine=one.engine, profile=one.profile.name, spec_digest=one.spec_digest)


Reading = tuple[MetricName, Name | None, int | None, float | None]
"""What is read: metric, task, concurrency, rate."""


def _values(
    before: Sequence[PublicRun], after: Sequence[PublicRun]
) -> Iterator[tuple[MetricName, ChangedValue | None]]:
    """Each value of a cell with its difference; None where only one side has it or there is no interval."""
    readings = dict.fromkeys(reading for run in (*before, *after) for reading in _read(run))
    for reading in readings:
        one, other = ([found[reading] for run in side if reading in (found := _read(run))] for side in (before, after))
        shared = _ids(before) & _ids(after)
        interval = None if shared else interval_of_difference(one, other)
        if interval is None or len(one) < len(before) or len(other) < len(after):
            yield reading[0], None
            continue
        metric, task, concurrency, rate_rps = reading
        yield (
            metric,
            ChangedValue(
                cell=_name(after),
                metric=metric,
                task=task,
                concurrency=concurrency,
                rate_rps=rate_rps,
                before=rounded(fmean(one)),
                after=rounded(fmean(other)),
                low=rounded(interval[0]),
                high=rounded(interval[1]),
            ),
        )


def _read(run: PublicRun) -> Mapping[Reading, float]:
    """The values of a run that are there and may be read."""
    found: dict[Reading, float] = {}
    rates: tuple[MetricName, ...] = ("output_tok_per_s", "goodput_rps")
    latencies: tuple[MetricName, ...] = ("ttft_s", "tpot_s")
    ways: tuple[tuple[tuple[MetricName, ...], Callable[[PublicLevel, str], float | None]], ...] = (
        (rates, lambda level, name: level.scalars.get(name)),
        (latencies, lambda level, name: level.metrics[name].p50 if name in level.metrics else None),
    )
    for level in run.levels:
        for names, way in ways:
            for name in names:
                if level.valid and (value := way(level, name)) is not None:
                    found[name, None, level.concurrency, level.rate_rps] = value
    if run.preparation is not None and run.preparation.startup_s is not None:
        found["startup_s", None, None, None] = run.preparation.startup_s
    for task in run.quality.tasks if run.quality else ():
        if task.score is not None:
            found["score", task.task, None, None] = task.score
    return found
