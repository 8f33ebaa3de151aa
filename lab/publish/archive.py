"""Published editions as they lie in reports/: immutable, each with a manifest, read back before they are built upon.

reports/<week>/r<N>/<lang>/index.html          what the week has to tell
reports/<week>/r<N>/evidence/edition.json      the same as data
reports/<week>/r<N>/<match_id>/…               the report of each match, with the evidence of its runs
reports/<week>/r<N>/manifest.json              a SHA-256 for each file
reports/<week>/index.html, reports/latest/index.html, reports/<lang>/index.html, reports/index.html
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from lab.errors import EvidenceDamaged
from lab.publish.cells import PublicMatch
from lab.publish.changes import CellName, EditionName, News
from lab.publish.decisions import DecisionHistory, PublicDecision, Spoken
from lab.publish.evidence import PublicRun, Week
from lab.publish.schedule import MatchId, Said
from lab.records import RunId
from lab.spec import Frozen, Name, Sha256

MANIFEST = "manifest.json"
EDITION = "evidence/edition.json"

_WEEK = re.compile(r"\d{4}-W\d{2}")
_REVISION = re.compile(r"r([1-9]\d*)")


class PublicWithdrawal(Frozen):
    """A run that is no longer stood behind."""

    run_id: RunId
    reason: Said
    cell: CellName
    """Where it stood, or would have stood."""


class Correction(Frozen):
    """Why there is a further revision of a week."""

    added: tuple[RunId, ...] = ()
    """Runs that the revision before did not have."""
    removed: tuple[RunId, ...] = ()
    """Runs that it had and that stand here no more."""
    paths: tuple[Name, ...] = ()
    """Workloads whose path, or what it rests on, is not as it was."""
    said: Said | None = None
    """The team's own words."""


class Edition(Frozen):
    """One edition of one week: everything on its front page."""

    edition_version: Literal[1, 2] = 2
    """1: it has no decisions."""
    week: Week
    revision: int = Field(ge=1)
    correction: Correction | None
    """None for the first revision."""
    matches: tuple[PublicMatch, ...]
    withdrawn: tuple[PublicWithdrawal, ...]
    news: News
    match_news: dict[MatchId, News] = Field(default_factory=dict)
    """The same for each match that this edition and the one before have."""
    decisions: tuple[PublicDecision, ...] = ()
    """The path of each workload; one workload has one path."""
    history: tuple[DecisionHistory, ...] = ()
    """Decisions so far, this edition's too, as earlier editions published them."""
    inputs: Sha256
    """Digest of what it was made from: the same inputs make no new revision."""

    @property
    def name(self) -> EditionName:
        """Which one it is."""
        return EditionName(week=self.week, revision=self.revision)

    @property
    def spoken(self) -> Spoken:
        """What it said of the workloads, for the history of later editions."""
        return Spoken(self.name, self.decisions, {one.run_id: one.reason for one in self.withdrawn})

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs behind its numbers."""
        return tuple(run_id for match in self.matches for cell in match.cells for run_id in cell.run_ids)


class EditionManifest(Frozen):
    """Digests of a published edition."""

    manifest_version: Literal[1] = 1
    week: Week
    revision: int
    lab_version: Name
    inputs: Sha256
    files: dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._/-]{1,200}$")], Sha256]
    """Path in the edition to SHA-256; every file besides this one."""


def path_of(name: EditionName) -> str:
    """Where an edition lies below reports/."""
    return f"{name.week}/r{name.revision}"


def editions(folder: Path) -> tuple[Edition, ...]:
    """Every published edition, newest week first and newest revision first within a week; each checked.

    Raises:
        EvidenceDamaged: an edition is not as it was published.
    """
    found = [
        EditionName(week=week.name, revision=int(match.group(1)))
        for week in (folder.iterdir() if folder.is_dir() else ())
        if _WEEK.fullmatch(week.name) and week.is_dir()
        for one in week.iterdir()
        if (match := _REVISION.fullmatch(one.name)) and one.is_dir()
    ]
    found.sort(key=lambda name: (name.week, name.revision), reverse=True)
    return tuple(_read(folder, name) for name in found)


def runs_of(folder: Path, edition: Edition) -> tuple[PublicRun, ...]:
    """The public evidence of a published edition, in the order of its cells.

    Raises:
        EvidenceDamaged: a file is missing, or was written by a lab whose evidence this one cannot read.
    """
    at, runs = folder / path_of(edition.name), []
    for match in edition.matches:
        for cell in match.cells:
            for run_id in cell.run_ids:
                path = at / match.match_id / "evidence" / f"{run_id}.json"
                try:
                    runs.append(PublicRun.model_validate_json(path.read_bytes()))
                except (OSError, ValidationError) as problem:
                    raise EvidenceDamaged(f"{path} cannot be read: {_words(problem)}") from None
    return tuple(runs)


def newest(found: tuple[Edition, ...], week: str) -> Edition | None:
    """The newest revision of a week."""
    return next((one for one in found if one.week == week), None)


def before(found: tuple[Edition, ...], week: str) -> Edition | None:
    """The newest revision of the newest week before `week`."""
    return next((one for one in found if one.week < week), None)


def up_to(found: tuple[Edition, ...], name: EditionName) -> tuple[Edition, ...]:
    """The editions that came before one, the oldest first; a correction comes after what it corrects."""
    key = (name.week, name.revision)
    return tuple(one for one in reversed(found) if (one.week, one.revision) < key)


def manifest_of(edition: Edition, files: dict[str, bytes], lab_version: str) -> bytes:
    """The manifest of an edition that is about to be published."""
    manifest = EditionManifest(
        week=edition.week,
        revision=edition.revision,
        lab_version=lab_version,
        inputs=edition.inputs,
        files={name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    )
    return manifest.model_dump_json(indent=1).encode() + b"\n"


def _read(folder: Path, name: EditionName) -> Edition:
    at = folder / path_of(name)
    try:
        manifest = EditionManifest.model_validate_json((at / MANIFEST).read_bytes())
        edition = Edition.model_validate_json((at / EDITION).read_bytes())
    except (OSError, ValidationError) as problem:
        raise EvidenceDamaged(f"{at} is not a whole edition: {_words(problem)}", _restore(at)) from None
    there = {path.relative_to(at).as_posix() for path in at.rglob("*") if path.is_symlink() or not path.is_dir()} - {
        MANIFEST
    }
    wrong = sorted(there ^ set(manifest.files)) + [
        file
        for file, expected in manifest.files.items()
        if file in there and hashlib.sha256((at / file).read_bytes()).hexdigest() != expected
    ]
    if wrong or edition.name != name:
        what = ", ".join(wrong[:5]) or "its name"
        raise EvidenceDamaged(f"{at} is not as it was published: {what}", _restore(at))
    return edition


def _restore(at: Path) -> str:
    return f"bring {at} back from where it was published, or move the folder away; nothing is built on it as it is"


def _words(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return getattr(problem, "strerror", None) or str(problem)
