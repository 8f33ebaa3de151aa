"""Where a decision reads runs: private bundles, projected, or a folder of public evidence."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lab.errors import EvidenceDamaged, EvidenceError, RunNotFound
from lab.evidence import EvidenceStore
from lab.params import shown
from lab.publish.contrasts import contrasts
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.identity import open_namer
from lab.publish.projection import project

Read = tuple[tuple[PublicRun, ...], tuple[PublicContrast, ...]]

_CONTRASTS = TypeAdapter(tuple[PublicContrast, ...])


def of_store(store: EvidenceStore, run_ids: tuple[str, ...]) -> Read:
    """What may be said of these private runs, and of their answers side by side."""
    namer = open_namer()
    runs = tuple(project(store, run_id, namer=namer) for run_id in run_ids)
    return runs, contrasts(store, runs)


def read_public(folder: Path, run_ids: tuple[str, ...] = ()) -> Read:
    """The public evidence of a report.

    Args:
        folder: `evidence/` of a report.
        run_ids: which runs; none: every run that lies there.

    Raises:
        EvidenceError: there is no run, or a file is no public evidence.
    """
    if not folder.is_dir():
        raise EvidenceError(f"{shown(folder)} is no folder of public evidence", "lab report")
    files = sorted(folder.glob("r-*.json"))
    missing = set(run_ids) - {file.stem for file in files}
    if missing:
        raise RunNotFound(f"{shown(folder)} holds no {', '.join(sorted(missing))}")
    if not files:
        raise EvidenceError(f"{shown(folder)} holds no run", "lab report")
    try:
        runs = tuple(
            PublicRun.model_validate_json(file.read_bytes()) for file in files if not run_ids or file.stem in run_ids
        )
        beside = folder / "contrasts.json"
        compared = _CONTRASTS.validate_json(beside.read_bytes()) if beside.is_file() else ()
    except ValidationError as problem:
        raise EvidenceDamaged(f"{shown(folder)} holds a file that is no public evidence: {problem.title}") from None
    known = {run.run_id for run in runs}
    return runs, tuple(one for one in compared if {one.first, one.second} <= known)
