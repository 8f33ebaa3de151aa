"""The way out: nothing is written to a report folder that holds something identifying.

What is looked for comes from the private bundles themselves (`lab.publish.private`), and from patterns that never
belong in what is published (`lab.publish.patterns`). A file is read in every way a reader could read it
(`lab.publish.readings`), and a page is searched for what a browser would run or fetch (`lab.publish.markup`).
Findings name the place and the kind and never print the value.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from lab.errors import EvidenceError, LeakFound, storage_step
from lab.publish.known import Known
from lab.publish.markup import NO_POLICY, active_in, active_in_style
from lab.publish.patterns import patterns_in
from lab.publish.private import PrivateFact, private_facts
from lab.publish.readings import MOST_BYTES, Reading, readings, readings_of_name
from lab.scratch import exchange, scratch, write_atomically
from lab.spec import Frozen

__all__ = ["Finding", "Known", "Looked", "PrivateFact", "inspect", "look_through", "private_facts", "release"]

REPORT_FILE = re.compile(r"(?:[a-z]{2}/(?:index\.html|handout\.pdf)|evidence/(?:r-[a-z2-7]{10}|contrasts|path)\.json)")
"""What a report folder holds; a folder with anything else in it is never replaced."""

INSIDE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,79}){0,7}")
"""Name of a file that stays in the folder it is written to."""

MOST_FILE_BYTES = MOST_BYTES
"""A larger file is not read, which is a finding."""

_PAGES = (".html", ".htm", ".xhtml")

BROKEN = ", broken over lines or elements"
"""Added to the kind of a value that shows only with markup or space taken out."""


class Finding(Frozen):
    """Something that would have got out. The value itself is not repeated."""

    file: str
    line: int
    """Line of the decoded text, from 1; 0 for the file's name."""
    kind: str
    place: str = ""
    """Part of the file it was found in, for instance `data URI 2: PNG text`; empty for the file as it stands."""

    def __str__(self) -> str:
        """Where and what, for a person."""
        where = f"line {self.line}" if self.line else "file name"
        return f"{self.file}, {f'{self.place}, ' if self.place else ''}{where}: {self.kind}"


class Looked(Frozen):
    """What `look_through` read and found."""

    files: int
    size_bytes: int
    read_s: float
    """Reading the files, CPU seconds."""
    looked_s: float
    """Decoding them and looking through everything that came out, CPU seconds."""
    findings: tuple[Finding, ...]


def inspect(name: str, payload: bytes, facts: Iterable[PrivateFact] | Known) -> tuple[Finding, ...]:
    """Everything identifying in one file that is about to be published, its name included.

    Args:
        name: as it will be published.
        payload: the whole file.
        facts: what is private, or the same arranged once for many files.
    """
    known = facts if isinstance(facts, Known) else Known(facts)
    findings = [Finding(file=_shown(name, known), line=0, kind=kind) for kind in _kinds_of_name(name, known)]
    name = _shown(name, known)
    try:
        for reading in readings(name, payload):
            findings += [
                Finding(file=name, line=line, kind=kind, place=reading.place)
                for kind, line in _found_in(reading, known)
            ]
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as problem:
        # whatever a file does to a parser, it has not been looked through to its end; its words stay here
        findings.append(Finding(file=name, line=0, kind=f"not read: {type(problem).__name__}"))
    # what one reading shows in the open is not told again for the readings made from it
    told: dict[tuple[str, str, int], Finding] = {}
    plain = {(finding.kind, finding.place) for finding in findings}
    for finding in findings:
        kind = finding.kind.removesuffix(BROKEN)
        if kind != finding.kind and (kind, finding.place) in plain:
            continue
        told.setdefault((finding.kind, finding.place, finding.line), finding)
    return tuple(told.values())


def look_through(paths: Iterable[Path], facts: Iterable[PrivateFact]) -> Looked:
    """Everything identifying in files and in all files below folders.

    Raises:
        EvidenceError: a path does not exist, or cannot be read.
    """
    known, findings, count, size, read_s = Known(facts), list[Finding](), 0, 0, 0.0
    began = time.process_time()
    for top in paths:
        if not top.exists() and not top.is_symlink():
            raise EvidenceError(f"{top} does not exist", "name a file or a folder that is about to be published")
        for path in [top, *sorted(top.rglob("*"))] if top.is_dir() else [top]:
            name = path.relative_to(top).as_posix() if path != top else path.resolve().name
            if path.is_symlink():
                findings.append(Finding(file=_shown(name, known), line=0, kind="a link, which may lead anywhere"))
                findings += inspect(name, os.fsencode(os.readlink(path)), known)
            elif path.is_dir():
                shown = _shown(name, known)
                findings += [Finding(file=shown, line=0, kind=kind) for kind in _kinds_of_name(name, known)]
            elif not path.is_file() or path.stat().st_size > MOST_FILE_BYTES:
                kind = "not read: too large, or no plain file"
                findings.append(Finding(file=_shown(name, known), line=0, kind=kind))
            else:
                opened = time.process_time()
                try:
                    payload = path.read_bytes()
                except OSError as problem:
                    raise EvidenceError(f"{path} cannot be read: {problem.strerror}") from None
                read_s += time.process_time() - opened
                count, size = count + 1, size + len(payload)
                findings += inspect(name, payload, known)
    return Looked(
        files=count,
        size_bytes=size,
        read_s=read_s,
        looked_s=time.process_time() - began - read_s,
        findings=tuple(dict.fromkeys(findings)),
    )


def release(files: Mapping[str, bytes], folder: Path, facts: Iterable[PrivateFact]) -> None:
    """Write a report folder, whole or not at all, after every file has passed.

    Args:
        files: relative path to bytes; the folder holds exactly these afterwards.
        folder: replaced when it is a report, made when it is not there.
        facts: from `private_facts`.

    Raises:
        LeakFound: at least one finding; nothing was written.
        EvidenceError: the folder holds something that is no report, or cannot be written.
    """
    for name in files:
        if not INSIDE.fullmatch(name):
            raise EvidenceError(f"'{name[:80]}' is no file of a report; nothing was written")
    known = Known(facts)
    findings = [finding for name, payload in files.items() for finding in inspect(name, payload, known)]
    findings += [
        Finding(file=name, line=1, kind=NO_POLICY) for name, payload in files.items() if _without_policy(name, payload)
    ]
    findings += [Finding(file="(the folder)", line=0, kind=kind) for kind in _kinds_of_name(folder.name, known)]
    if findings:
        lines = [f"  {finding}" for finding in findings[:20]]
        more = f"\n  and {len(findings) - 20} more" if len(findings) > 20 else ""
        raise LeakFound(
            f"{len(findings)} places would identify this site; nothing was written:\n" + "\n".join(lines) + more
        )
    if folder.exists() and not folder.is_dir():
        raise EvidenceError(f"{folder} is a file, not a folder", "name another folder")
    if folder.exists() and not _is_report(folder):
        raise EvidenceError(f"{folder} holds something that is not a report; it was left alone", "name another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch("report", folder.parent) as own:
            staged = own / "new"
            staged.mkdir()
            for name, payload in files.items():
                path = staged / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, payload)
            _swap(staged, folder, own / "old")
    except OSError as problem:
        step = storage_step(problem, str(folder.parent))
        raise EvidenceError(f"{folder} could not be written: {problem.strerror}; it is as it was", step) from None


def _is_report(folder: Path) -> bool:
    """Whether a folder holds pages and their evidence and nothing else, so that it may be replaced."""
    files = [
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    ]
    return all(REPORT_FILE.fullmatch(name) for name in files)


def _swap(staged: Path, folder: Path, old: Path) -> None:
    """Put a report in place; what stood there goes to `old`. At every moment a whole one stands, where Linux can."""
    if not folder.exists():
        with contextlib.suppress(OSError):  # another lab may have put one there since
            staged.rename(folder)
            return
    if not exchange(staged, folder):
        folder.rename(old)
        try:
            staged.rename(folder)
        except OSError:
            old.rename(folder)
            raise


def _without_policy(name: str, payload: bytes) -> bool:
    """Whether a page is about to be published that a browser would hold to nothing, a piece of one too."""
    return name.endswith(_PAGES) and any(
        kind == NO_POLICY for kind, _ in active_in(payload.decode("utf-8", "replace"), whole=True)
    )


def _found_in(reading: Reading, known: Known) -> Iterator[tuple[str, int]]:
    """Kind and line of everything in one reading."""
    if reading.problem is not None:
        yield f"not read: {reading.problem}", 1
        return
    if reading.markup is not None:
        yield from active_in(reading.markup)
    if reading.style is not None:
        yield from active_in_style(reading.style)
    broken = BROKEN if reading.form in ("split", "tight") else ""
    for kind, line in known.found_in(reading):
        yield kind + broken, line
    if reading.form in ("plain", "split"):
        for kind, at in patterns_in(reading.text, joined=reading.form == "split"):
            yield kind + broken, reading.text.count("\n", 0, at) + 1


def _kinds_of_name(name: str, known: Known) -> Iterator[str]:
    kinds = (kind for reading in readings_of_name(name) for kind, _ in _found_in(reading, known))
    yield from dict.fromkeys(kind.removesuffix(BROKEN) for kind in kinds)


def _shown(name: str, known: Known) -> str:
    """A file's name for a finding; one that is a finding itself is not repeated."""
    if not any(_kinds_of_name(name, known)):
        return name
    return f"(a name that is withheld){PurePosixPath(name).suffix if len(PurePosixPath(name).suffix) < 6 else ''}"
