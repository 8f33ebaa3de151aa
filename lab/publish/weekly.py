"""The weekly edition: choose, compare with the week before, build, gate, put in place. One at a time, whole or not.

An edition is never changed. What has to be corrected becomes a further revision that says why; the same inputs
make none.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from lab.errors import EvidenceError, ParamsError, storage_step
from lab.evidence import EvidenceStore
from lab.publish import archive
from lab.publish.archive import Correction, Edition, PublicWithdrawal
from lab.publish.cells import ChosenMatch, PublicMatch, choose
from lab.publish.changes import CellName, EditionName, News, news
from lab.publish.contrasts import contrasts
from lab.publish.decisions import PublicDecision, histories
from lab.publish.edition import keep_apart
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.gate import PrivateFact, private_facts, release
from lab.publish.identity import open_namer
from lab.publish.schedule import PublishFile, WantedMatch, cut_off
from lab.rules import subject
from lab.scratch import scratch, sync_folder, write_atomically
from lab.spec import Frozen, digest
from lab.version import __version__

Runs = tuple[PublicRun, ...]
Contrasts = tuple[PublicContrast, ...]

_CONTRASTS = TypeAdapter(tuple[PublicContrast, ...])


@dataclass(frozen=True)
class Decided:
    """The paths that were walked with one match."""

    decisions: tuple[PublicDecision, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The same in full, as files beside the match's evidence; paths relative to the match."""


def undecided(_match: ChosenMatch, _beside: Contrasts) -> Decided:
    """Nobody stated facts, so no path is walked."""
    return Decided()


@dataclass(frozen=True)
class Pages:
    """What builds pages out of public facts; it sees nothing private. Paths are relative to where the pages go."""

    match: Callable[[Edition, Runs, Contrasts], Mapping[str, bytes]]
    """The report of one match of an edition."""
    front: Callable[[Edition, Runs], Mapping[str, bytes]]
    """What an edition has to tell, with the runs of all its matches."""
    archive: Callable[[tuple[Edition, ...], frozenset[str]], Mapping[str, bytes]]
    """Index pages over all editions, newest first; withdrawn run_ids."""
    decide: Callable[[ChosenMatch, Contrasts], Decided] = undecided
    """The paths of the workloads that a match answers."""


class Published(Frozen):
    """What became of one call."""

    edition: Edition
    fresh: bool
    """False: this edition stood already, and nothing was written."""
    stale: tuple[EditionName, ...]
    """Newest revisions of earlier weeks that hold a run withdrawn since."""


def publish_week(
    store: EvidenceStore,
    found: PublishFile,
    wanted: tuple[WantedMatch, ...],
    week: str,
    folder: Path,
    pages: Pages,
    now: datetime,
    *,
    dry_run: bool = False,
) -> Published:
    """Publish one week out of private bundles.

    Args:
        store: where the bundles are.
        found: `params/publish.yaml`.
        wanted: its matches.
        week: ISO week.
        folder: reports/.
        pages: builds the pages.
        now: the cut-off has to lie before it.
        dry_run: build and gate everything, write nothing.

    Raises:
        ParamsError: the cut-off lies ahead, or a withdrawn run is unknown.
        TooManyVaried: runs of a match are not one match.
        LeakFound: a page would identify this site; nothing was written.
        EvidenceDamaged: an earlier edition is not as it was published.
    """
    until = cut_off(week, found)
    if until > now:
        at = f"{found.cut_off.weekday} {found.cut_off.time} {found.time_zone}"
        raise ParamsError(f"the cut-off of {week} ({at}) lies ahead", "lab publish, which takes the newest week due")
    chosen = choose(store, wanted, until, (one.run_id for one in found.withdrawn))
    for one in chosen:
        if one.runs:
            subject([store.spec(run.run_id) for run in one.runs])  # refuses unlike runs and names why
            keep_apart(store, one.runs)
    compared = {one.match.match_id: contrasts(store, one.runs) for one in chosen}
    facts = private_facts(store, [run.run_id for one in chosen for run in one.runs])
    return publish_chosen(
        chosen, found, week, folder, pages, facts, compared, known=_cells_of(store, found, until), dry_run=dry_run
    )


def publish_chosen(
    chosen: Sequence[ChosenMatch],
    found: PublishFile,
    week: str,
    folder: Path,
    pages: Pages,
    facts: Iterable[PrivateFact] = (),
    compared: Mapping[str, Contrasts] | None = None,
    *,
    known: Mapping[str, CellName | None] | None = None,
    dry_run: bool = False,
) -> Published:
    """Publish one week out of public evidence; see `publish_week`.

    Args:
        chosen: matches with the runs of their published cells.
        found: `params/publish.yaml`.
        week: ISO week.
        folder: reports/.
        pages: builds the pages.
        facts: what no page may say.
        compared: match_id to the contrasts of its runs.
        known: the cell of each withdrawn run that the store has; None for one that belongs to a later week.
        dry_run: build and gate everything, write nothing.
    """
    earlier, compared = archive.editions(folder), compared or {}
    decided = {one.match.match_id: pages.decide(one, compared.get(one.match.match_id, ())) for one in chosen}
    edition = _edition(chosen, found, week, folder, earlier, compared, known or {}, decided)
    standing = archive.newest(earlier, week)
    fresh = standing is None or standing.inputs != edition.inputs
    if standing is not None and not fresh:
        edition = standing
    files = _files(edition, chosen, pages, compared, decided) if fresh else {}
    everything = tuple(
        sorted((*earlier, *((edition,) if fresh else ())), key=lambda one: (one.week, one.revision), reverse=True)
    )
    withdrawn = frozenset(one.run_id for one in found.withdrawn)
    indexes = dict(pages.archive(everything, withdrawn))
    at = archive.path_of(edition.name)
    _put({f"{at}/{name}": payload for name, payload in files.items()}, indexes, at, folder, facts, dry_run)
    last = {one.week: one for one in reversed(everything)}
    stale = tuple(one.name for one in last.values() if one.week != week and withdrawn & set(one.run_ids))
    return Published(edition=edition, fresh=fresh, stale=stale)


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[bool]:
    """Whether this process is the only one that publishes into `folder`; the kernel's lock ends with its holder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".publish.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as problem:
        raise EvidenceError(f"{folder} cannot be written: {problem.strerror}", "name another folder: --out") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)


def _edition(
    chosen: Sequence[ChosenMatch],
    found: PublishFile,
    week: str,
    folder: Path,
    earlier: tuple[Edition, ...],
    compared: Mapping[str, Contrasts],
    known: Mapping[str, CellName | None],
    decided: Mapping[str, Decided],
) -> Edition:
    runs = tuple(run for one in chosen for run in one.runs)
    matches = tuple(one.match for one in chosen)
    standing, since = archive.newest(earlier, week), archive.before(earlier, week)
    published = _published_cells(folder, earlier, {one.run_id for one in found.withdrawn})
    cells: dict[str, CellName | None] = {**known, **published}
    here = {match.match_id for match in matches}
    withdrawn = tuple(
        PublicWithdrawal(run_id=one.run_id, reason=one.reason, cell=cell)
        for one in found.withdrawn
        if (cell := _cell_of(one.run_id, cells)) is not None and cell.match_id in here
    )
    said = found.corrections.get(week)
    content: dict[str, object] = {
        "matches": [match.model_dump(mode="json") for match in matches],
        "runs": [run.model_dump(mode="json") for run in runs],
        "contrasts": [one.model_dump(mode="json") for some in compared.values() for one in some],
        "withdrawn": [one.model_dump(mode="json") for one in withdrawn],
        "said": said.model_dump() if said else None,
    }
    decisions = tuple(one for own in decided.values() for one in own.decisions)
    if decisions:
        content["paths"] = [
            hashlib.sha256(payload).hexdigest() for own in decided.values() for _, payload in sorted(own.files.items())
        ]
    correction = None
    if standing is not None:
        had, has = standing.run_ids, tuple(run.run_id for run in runs)
        correction = Correction(
            added=tuple(run_id for run_id in has if run_id not in had),
            removed=tuple(run_id for run_id in had if run_id not in has),
            paths=_other_paths(standing.decisions, decisions),
            said=said,
        )
    plain = Edition(
        week=week,
        revision=standing.revision + 1 if standing else 1,
        correction=correction,
        matches=matches,
        withdrawn=withdrawn,
        news=News(since=None),
        decisions=decisions,
        inputs=digest(content),
    )
    before = archive.up_to(earlier, plain.name)
    return plain.model_copy(
        update={
            "history": histories([one.spoken for one in (*before, plain)]),
            **_news(since, folder, matches, runs, [one.run_id for one in found.withdrawn]),
        }
    )


def _news(
    since: Edition | None, folder: Path, matches: Sequence[PublicMatch], runs: Runs, withdrawn: Sequence[str]
) -> dict[str, News | dict[str, News]]:
    """What is new in the edition, and in each of its matches that the edition before had too."""
    if since is None:
        return {"news": News(since=None)}
    old, known = archive.runs_of(folder, since), {one.match_id for one in since.matches}
    of_match = {
        match.match_id: news(
            since.name,
            [run for run in old if run.match_id == match.match_id],
            [match],
            [run for run in runs if run.match_id == match.match_id],
            withdrawn,
        )
        for match in matches
        if match.match_id in known
    }
    return {"news": news(since.name, old, matches, runs, withdrawn), "match_news": of_match}


def _other_paths(before: tuple[PublicDecision, ...], after: tuple[PublicDecision, ...]) -> tuple[str, ...]:
    """Workloads of which two revisions say different things."""
    old, new = ({one.workload: one for one in side} for side in (before, after))
    return tuple(name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


def _cell_of(run_id: str, cells: Mapping[str, CellName | None]) -> CellName | None:
    if run_id not in cells:
        raise ParamsError(
            f"publish.yaml withdraws {run_id}, which is neither in the store nor in a published edition", "lab runs"
        )
    return cells[run_id]


def _published_cells(folder: Path, earlier: Iterable[Edition], run_ids: set[str]) -> dict[str, CellName]:
    """The cell in which each of these runs was published; one that never was is not there."""
    return {
        run_id: CellName(
            match_id=match.match_id,
            engine=cell.engine,
            profile=cell.profile.name,
            spec_digest=cell.spec_digest,
        )
        for edition in earlier
        for match in edition.matches
        for cell in match.cells
        for run_id in cell.run_ids
        if run_id in run_ids
    }


def _cells_of(store: EvidenceStore, found: PublishFile, until: datetime) -> dict[str, CellName | None]:
    """The cell of each withdrawn run that the store has; None for one that did not end before the cut-off."""
    cells: dict[str, CellName | None] = {}
    there, namer = set(store.run_ids()), open_namer()
    for one in found.withdrawn:
        if one.run_id not in there:
            continue
        with contextlib.suppress(EvidenceError):  # a damaged one may have been published all the same
            spec, status = store.spec(one.run_id), store.status(one.run_id)
            name = CellName(
                match_id=namer.digest_of(spec.model, status.match_id),
                engine=spec.engine,
                profile=spec.profile.name,
                spec_digest=namer.digest_of(spec.model, spec.spec_digest),
            )
            cells[one.run_id] = name if status.ended_at is not None and status.ended_at <= until else None
    return cells


def _files(
    edition: Edition,
    chosen: Sequence[ChosenMatch],
    pages: Pages,
    compared: Mapping[str, Contrasts],
    decided: Mapping[str, Decided],
) -> dict[str, bytes]:
    """Every file of an edition, its manifest last."""
    runs = tuple(run for one in chosen for run in one.runs)
    files = {**pages.front(edition, runs), archive.EDITION: edition.model_dump_json(indent=1).encode() + b"\n"}
    for one in chosen:
        own, beside = one.match.match_id, compared.get(one.match.match_id, ())
        files |= {f"{own}/{name}": payload for name, payload in decided[own].files.items()}
        if not one.runs:
            continue  # the front page says what is missing
        files |= {f"{own}/{name}": payload for name, payload in pages.match(edition, one.runs, beside).items()}
        for run in one.runs:
            files[f"{own}/evidence/{run.run_id}.json"] = run.model_dump_json(indent=1).encode() + b"\n"
        if beside:
            files[f"{own}/evidence/contrasts.json"] = _CONTRASTS.dump_json(beside, indent=1) + b"\n"
    return {**files, archive.MANIFEST: archive.manifest_of(edition, files, __version__)}


def _put(
    files: Mapping[str, bytes],
    indexes: Mapping[str, bytes],
    at: str,
    folder: Path,
    facts: Iterable[PrivateFact],
    dry_run: bool,
) -> None:
    """Take everything new through the gate, then put the edition in place as a whole and the indexes after it.

    An index that lies there byte for byte is neither written nor looked at again: it gives nothing new away, and there
    is one for each week of the archive.
    """
    indexes = {name: payload for name, payload in indexes.items() if not _lies(folder / name, payload)}
    where = None if dry_run else folder
    try:
        if where is not None:
            where.mkdir(parents=True, exist_ok=True)
        with scratch("publish", where) as stage:
            staged = stage / "report"
            release({**files, **indexes}, staged, facts)
            if dry_run:
                return
            if files:
                (folder / at).parent.mkdir(exist_ok=True)
                (staged / at).rename(folder / at)
                sync_folder((folder / at).parent)
            for name, payload in indexes.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, payload)
    except OSError as problem:
        step = storage_step(problem, str(folder))
        raise EvidenceError(f"{folder} could not be written: {problem.strerror}", step) from None


def _lies(path: Path, payload: bytes) -> bool:
    """Whether a file is there, byte for byte."""
    try:
        return path.read_bytes() == payload
    except OSError:
        return False
