"""Handouts on their way out: through the leak gate as pages, and as paper in a form in which it can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.evidence import EvidenceStore
from lab.publish.evidence import PublicRun
from lab.publish.gate import PrivateFact, release
from lab.publish.identity import open_namer
from lab.publish.projection import project
from lab.scratch import scratch


@dataclass(frozen=True)
class Papers:
    """What is handed out."""

    files: Mapping[str, bytes]
    """Path to bytes: pages, PDF files, the evidence behind them."""
    readable: Mapping[str, bytes]
    """What the PDF files were made from and what is inside them, with nothing compressed; looked at, not kept."""


def public_runs(store: EvidenceStore, run_ids: Iterable[str]) -> tuple[tuple[PublicRun, ...], dict[str, bytes]]:
    """The public evidence of runs, as data and as the files that lie beside a page.

    Raises:
        EvidenceError: a run cannot be shown.
    """
    namer = open_namer()
    runs = tuple(project(store, run_id, namer=namer) for run_id in run_ids)
    return runs, {f"evidence/{run.run_id}.json": run.model_dump_json(indent=1).encode() + b"\n" for run in runs}


def hand_out(papers: Papers, folder: Path, facts: Iterable[PrivateFact]) -> tuple[Path, ...]:
    """Write a handout, whole or not at all.

    Returns:
        The pages and PDF files written.

    Raises:
        LeakFound: something would identify this site; nothing was written.
    """
    facts = tuple(facts)
    with scratch("handout") as apart:
        release(papers.readable, apart / "readable", facts)
    release(papers.files, folder, facts)
    return tuple(folder / name for name in papers.files if not name.startswith("evidence/"))
