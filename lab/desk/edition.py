"""Pages of an edition out of a notebook that can see the public evidence of that edition, and nothing else.

`confine` copies the evidence into the folder of the pages and puts the fences of `lab.report.apart` around the kernel,
for good: from then on no cell reads a bundle, starts a program, opens a connection or writes anywhere else.
"""

from __future__ import annotations

import ctypes
import html
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lab.desk.sheet import Sheet, sheet
from lab.errors import EvidenceDamaged, EvidenceError, LeakFound
from lab.explain.flips import Explanation
from lab.explain.hypotheses import Hypotheses, judge, read_hypotheses
from lab.explain.public import read_public
from lab.params import PARAMS_FOLDER, shown
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.gate import REPORT_FILE, inspect
from lab.report.apart import clean_environment, fence
from lab.report.build import build_pages
from lab.report.cells import badge, table
from lab.report.checklist import answers
from lab.report.grid import Cell, Row, words
from lab.report.handout import build_handout
from lab.report.messages import messages
from lab.report.path import path_json
from lab.report.series import in_order, series_label
from lab.report.tables import checklist_table

_EXPLANATIONS = TypeAdapter(tuple[Explanation, ...])
_PATH = "path.json"
_SCRATCH = ".scratch"
_confined: list[tuple[Path, Path, tuple[str, ...], Hypotheses]] = []
"""What this process was confined to; a fence is put up once."""


@dataclass(frozen=True)
class Edition:
    """Public evidence, read from inside the fences.

    Attributes:
        runs: in their printed order.
        contrasts: their answers side by side.
        explanations: the paths that were walked when the evidence was published; empty where none was.
        hypotheses: the texts' claims, to be held against the runs.
        folder: where the pages go; the one folder this process can write to.
    """

    runs: tuple[PublicRun, ...]
    contrasts: tuple[PublicContrast, ...]
    explanations: tuple[Explanation, ...]
    hypotheses: Hypotheses
    folder: Path

    def overview(self, lang: str = "en") -> Sheet:
        """The runs it holds and how each is labelled."""
        t = messages(lang)
        rows = [
            Row(
                cells=(
                    words(run.run_id),
                    words(series_label(run)),
                    Cell(lines=(badge(run, t),)),
                    words(t(f"table-{run.table}")),
                    words(run.week),
                )
            )
            for run in self.runs
        ]
        titles = map(t, ("run", "column-engine", "grade", "card-table", "week"))
        return sheet((table("overview", t("desk-edition"), titles, rows, style="prose"),), t)

    def checklist(self, lang: str = "en") -> Sheet:
        """The six questions before the match, as the evidence answers them."""
        t = messages(lang)
        return sheet((checklist_table(answers(self.runs), t),), t)

    def report(self, langs: Sequence[str] = ("en", "ja")) -> dict[str, bytes]:
        """The report in each language, written after everything in it has passed the patterns of the leak gate."""
        with _scratch(self.folder):
            judged = judge(self.hypotheses, self.runs, self.contrasts)
            pages = build_pages(self.runs, tuple(langs), self.contrasts, self.explanations, judged=judged)
        return self._write({**pages, **path_json(self.explanations)})

    def handout(self, langs: Sequence[str] = ("en", "ja"), *, pdf: bool = False) -> dict[str, bytes]:
        """The handout in each language, as PDF too where it is wanted; written after the same look."""
        with _scratch(self.folder):
            built = build_handout(self.runs, tuple(langs), paper=pdf)
        readable = {name: data for name, data in built.items() if name.startswith("readable/")}
        _look(readable)
        files = {name.removeprefix("files/"): data for name, data in built.items() if name not in readable}
        return self._write(files)

    def _write(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        _look(files)
        for name, data in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return dict(files)


def confine(evidence: str, out: str, run_ids: Sequence[str] = ()) -> Edition:
    """Take the public evidence of an edition, and put the fences around this process, for good.

    Args:
        evidence: a report, one match of a weekly edition, or its `evidence/`; from the checkout's folder.
        out: where pages go, likewise. It holds the evidence they were built from beside them.
        run_ids: which runs; empty: all of them.

    Raises:
        EvidenceError: there is no such evidence, the folder cannot be taken, or this process is confined to another.
    """
    source, target, wanted = _folder(evidence), _folder(out), tuple(dict.fromkeys(run_ids))
    if _confined:
        if _confined[0][:3] != (source, target, wanted):
            raise EvidenceError("this kernel is confined to another edition, for good", "restart the kernel")
        return _read(wanted, _confined[0][3])
    asked, source = source, source if source.name == "evidence" else source / "evidence"
    if not source.is_dir():
        raise EvidenceError(f"{shown(source)} is no folder of public evidence", _editions_below(source.parent))
    if target == source.parent or target in source.parents or source.parent in target.parents:
        raise EvidenceError(f"{shown(target)} is a published report; it is never changed", "name another folder in out")
    runs, _ = read_public(source, wanted)
    names = [f"{run.run_id}.json" for run in runs] + ["contrasts.json", _PATH]
    _take(target)
    kept = target / "evidence"
    kept.mkdir(parents=True, exist_ok=True)
    for name in names:
        if (source / name).is_file():
            (kept / name).write_bytes((source / name).read_bytes())
    hypotheses = read_hypotheses()
    _put_fences(target)
    _confined.append((asked, target, wanted, hypotheses))
    return _read(wanted, hypotheses)


def page(files: Mapping[str, bytes], name: str, height: int = 900) -> Sheet:
    """One of the pages, as a reader sees it.

    Args:
        files: from `Edition.report` or `Edition.handout`.
        name: for instance `en/index.html`.
        height: pixels of the frame.
    """
    if name not in files:
        raise EvidenceError(f"there is no page {name}; there are: {', '.join(files)}")
    inside = html.escape(files[name].decode(), quote=True)
    frame = f'<iframe sandbox="" style="width:100%;height:{height}px;border:1px solid" srcdoc="{inside}"></iframe>'
    return Sheet(frame, f"{name}: {len(files[name]):,} bytes")


def _read(wanted: tuple[str, ...], hypotheses: Hypotheses) -> Edition:
    folder = Path.cwd() / "evidence"
    runs, contrasts = read_public(folder, wanted)
    known = {run.run_id for run in runs}
    try:
        told = (folder / _PATH).read_bytes() if (folder / _PATH).is_file() else b"[]"
        explanations = _EXPLANATIONS.validate_json(told)
    except ValidationError as problem:
        raise EvidenceDamaged(f"evidence/{_PATH} is no path of a decision: {problem.title}") from None
    beside = tuple(one for one in contrasts if {one.first, one.second} <= known)
    return Edition(in_order(runs), beside, explanations, hypotheses, Path.cwd())


def _folder(name: str) -> Path:
    path = Path(name).expanduser()
    return (path if path.is_absolute() else PARAMS_FOLDER.parent / path).resolve()


def _editions_below(folder: Path) -> str:
    """What to name instead: the reports that lie below a folder, such as the matches of a weekly edition."""
    found = sorted(one.parent for one in folder.glob("*/evidence") if any(one.glob("r-*.json")))
    return f"name one of: {', '.join(map(shown, found[:8]))}" if found else "lab report, or lab publish"


def _take(folder: Path) -> None:
    """Empty the folder where it is an earlier report; leave anything else alone."""
    try:
        there = [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()]
        names = {path.relative_to(folder).as_posix() for path in there} - {f"evidence/{_PATH}"}
        if folder.is_file() or not all(map(REPORT_FILE.fullmatch, names)):
            raise EvidenceError(f"{shown(folder)} holds something that is not a report", "name another folder in out")
        for path in there:
            path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise EvidenceError(f"{shown(folder)} cannot be written: {problem.strerror}") from None


def _look(files: Mapping[str, bytes]) -> None:
    """Refuse what no published page may hold; private values of bundles are unknown in here, `lab gate` knows them."""
    findings = [finding for name, data in files.items() for finding in inspect(name, data, ())]
    if findings:
        lines = "\n".join(f"  {finding}" for finding in findings[:20])
        raise LeakFound(f"{len(findings)} places would identify this site; nothing was written:\n{lines}")


def _put_fences(folder: Path) -> None:
    """From here on this process sees the folder, the package and its libraries."""
    _end_history()
    os.chdir(folder)
    os.environ.clear()
    _wipe_first_environment()
    os.environ.update(clean_environment(folder / _SCRATCH))
    tempfile.tempdir = None
    fence()


def _wipe_first_environment() -> None:
    """Write over what the process was started with: Linux shows that memory as a file, whatever became of it since."""
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start and env_end, fields 50 and 51 of proc_pid_stat(5)
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)


@contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    """Where libraries put what they need for a while; a kernel may be ended before they tidy up."""
    (folder / _SCRATCH).mkdir(exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(folder / _SCRATCH, ignore_errors=True)


def _end_history() -> None:
    """A kernel keeps what was typed in a file outside the fences; it stops doing so."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    history = getattr(shell, "history_manager", None)
    if history is not None:
        history.writeout_cache()
        history.enabled = False
