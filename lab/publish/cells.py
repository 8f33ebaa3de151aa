"""The cells of a weekly edition: which launches stand in them, and what is missing where none may.

planned → measured → re-measured (three fresh launches of one spec, whole) → published. Results play no part in
which launches are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from lab.errors import EvidenceError
from lab.evidence import EvidenceStore, Status
from lab.publish.evidence import PublicRun
from lab.publish.identity import Namer, open_namer
from lab.publish.projection import project
from lab.publish.schedule import MatchId, WantedMatch
from lab.records import EvidenceGrade, RunId, RunState
from lab.spec import Frozen, LaunchProfile, Name, RunSpec, Table

FRESH_LAUNCHES = 3
"""Launches of one spec that a published cell needs."""


class CellState(StrEnum):
    """How far a cell has come."""

    PLANNED = "planned"
    MEASURED = "measured"
    RE_MEASURED = "re-measured"
    """Enough launches, and something in them may not be published as it is."""
    PUBLISHED = "published"


class LeftOut(StrEnum):
    """Why a launch does not stand in its cell."""

    NOT_MEASURED = "not-measured"
    """It failed or was interrupted."""
    DAMAGED = "damaged"
    """Its bundle does not match its manifest."""
    WITHDRAWN = "withdrawn"
    CLOCK = "clock"
    """The clock of its machine was set, and so far that nobody knows on which side of the cut-off it ended."""
    OTHER = "other"
    """It is of another week than the launches that stand in the cell, or of an earlier version of the engine."""


class PublicCell(Frozen):
    """One cell of a match in one edition."""

    engine: Name
    profile: LaunchProfile
    spec_digest: str = Field(pattern=r"^s-[0-9a-f]{16}$")
    state: CellState
    launches: int
    """Whole, measured launches that count."""
    attached: bool = False
    """True: it was reached by URL, and without a fresh launch it cannot be measured again."""
    grade: EvidenceGrade | None = None
    """Of the runs that stand in it; None when none does."""
    run_ids: tuple[RunId, ...] = ()
    """The runs that stand in it; only a published cell has some."""
    left_out: dict[LeftOut, int] = Field(default_factory=dict)


class PublicMatch(Frozen):
    """One match of an edition."""

    match_id: MatchId
    plan: Name | None
    table: Table | None
    """None: it has neither a plan nor a run."""
    cells: tuple[PublicCell, ...]


class ChosenMatch(Frozen):
    """A match, and the public evidence of its published cells."""

    match: PublicMatch
    runs: tuple[PublicRun, ...]
    stored_as: MatchId | None = None
    """Private: the match_id of the store, where pages have another one because the model is hidden."""

    @property
    def wanted_as(self) -> str:
        """The match_id by which plans and params/publish.yaml mean it."""
        return self.stored_as or self.match.match_id


def choose(
    store: EvidenceStore, wanted: Iterable[WantedMatch], until: datetime, withdrawn: Iterable[str] = ()
) -> tuple[ChosenMatch, ...]:
    """The cells of each match, as they stood at a moment.

    Args:
        store: where the private bundles are.
        wanted: the matches of the edition.
        until: runs that ended later belong to a later edition; so do runs that may have, because their clock was set.
        withdrawn: run_ids that count no more.
    """
    wanted, withdrawn = tuple(wanted), frozenset(withdrawn)
    ended: dict[str, list[tuple[Status, RunSpec]]] = {one.match_id: [] for one in wanted}
    for run_id in store.run_ids():
        try:
            status = store.status(run_id)
            if status.match_id in ended and status.ended_at is not None and status.ended_at <= until:
                ended[status.match_id].append((status, store.spec(run_id)))
        except EvidenceError:
            continue  # neither its match nor its time can be read
    namer = open_namer()
    return tuple(_match(store, one, ended[one.match_id], until, withdrawn, namer) for one in wanted)


def _match(
    store: EvidenceStore,
    wanted: WantedMatch,
    ended: Sequence[tuple[Status, RunSpec]],
    until: datetime,
    withdrawn: frozenset[str],
    namer: Namer,
) -> ChosenMatch:
    specs = {spec.spec_digest: spec for spec in (*wanted.planned, *(spec for _, spec in ended))}
    cells, runs = [], []
    for spec_digest, spec in specs.items():
        launches = [status for status, own in ended if own.spec_digest == spec_digest]
        cell, found = _cell(store, spec, launches, until, withdrawn, namer)
        cells.append(cell)
        runs += found
    tables = {spec.table for spec in specs.values()}
    models = [spec.model for spec in specs.values()]
    match_id = namer.digest_of(models[0], wanted.match_id) if models else wanted.match_id
    return ChosenMatch(
        match=PublicMatch(
            match_id=match_id,
            plan=wanted.plan,
            table=wanted.table or (min(tables) if tables else None),
            cells=tuple(cells),
        ),
        runs=tuple(runs),
        stored_as=wanted.match_id if wanted.match_id != match_id else None,
    )


def _cell(
    store: EvidenceStore,
    spec: RunSpec,
    ended: Sequence[Status],
    until: datetime,
    withdrawn: frozenset[str],
    namer: Namer,
) -> tuple[PublicCell, list[PublicRun]]:
    left: dict[LeftOut, int] = {}

    def leave(reason: LeftOut, n: int = 1) -> None:
        left[reason] = left.get(reason, 0) + n

    whole: list[tuple[Status, str | None]] = []
    for status in ended:
        if status.run_id in withdrawn:
            leave(LeftOut.WITHDRAWN)
        elif status.state is not RunState.MEASURED:
            leave(LeftOut.NOT_MEASURED)
        elif status.ended_at is None or status.ended_at + status.unsure > until:
            leave(LeftOut.CLOCK)
        elif store.verify(status.run_id):
            leave(LeftOut.DAMAGED)
        else:
            launch = store.launch(status.run_id)
            whole.append((status, launch.engine_version if launch else None))
    taken = _newest(whole)
    if len(taken) < len(whole):
        leave(LeftOut.OTHER, len(whole) - len(taken))
    state, runs = CellState.MEASURED if taken else CellState.PLANNED, []
    if len(taken) >= FRESH_LAUNCHES and not spec.attached:
        try:
            # every count looks at the whole store, and launches of one plan share it
            plans = {status.plan_digest: status.run_id for status in taken}
            tallies = {plan: store.launches(one, until) for plan, one in plans.items()}
            runs = [
                project(store, status.run_id, until, namer, launches=tallies[status.plan_digest]) for status in taken
            ]
            state = CellState.PUBLISHED
        except EvidenceError:
            state = CellState.RE_MEASURED
    cell = PublicCell(
        engine=spec.engine,
        profile=spec.profile,
        spec_digest=namer.digest_of(spec.model, spec.spec_digest),
        state=state,
        launches=len(taken),
        attached=spec.attached,
        grade=min((run.grade for run in runs), default=None, key=list(EvidenceGrade).index),
        run_ids=tuple(run.run_id for run in runs),
        left_out=left,
    )
    return cell, runs


def _newest(launches: Sequence[tuple[Status, str | None]]) -> list[Status]:
    """The launches that stand in a cell: of the newest version of its engine, those of the newest ISO week that has
    enough of them; where no week has, all of that version."""
    if not launches:
        return []
    version = launches[-1][1]
    own = [status for status, one in launches if one == version]
    weeks: dict[tuple[int, int], list[Status]] = {}
    for status in own:
        year, week, _ = status.started_at.isocalendar()
        weeks.setdefault((year, week), []).append(status)
    enough = [found for found in weeks.values() if len(found) >= FRESH_LAUNCHES]
    return enough[-1] if enough else own
