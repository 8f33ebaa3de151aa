"""Artefacts of engines that build before they serve: made once for each key, kept, never taken for another key.

An artefact is a folder `artefacts/<engine>/<key>/` with the built files in `files/` and a manifest that names what
they depend on, how long each step took and the digest of every file. It is built in a folder of its own and
renamed when it is whole, so that what has its final name is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import psutil
from pydantic import Field, ValidationError

from lab.engines.base import Adapter, BuildStep, Place
from lab.engines.process import child_environment
from lab.errors import EngineError, EngineNotInstalled
from lab.leash import Leashed
from lab.records import Build, Event, Phase
from lab.spec import Frozen, Name, Quantization, RunSpec, Sha256, digest

MANIFEST = "artefact.json"
FILES = "files"
POLL_EVERY_S = 0.02
LOG_LINES = 12

Say = Callable[[str], None]
"""Told in words what is being done."""


class ArtefactKey(Frozen):
    """Everything an artefact depends on; another value of any field is another artefact."""

    engine: Name
    engine_version: Name
    gpu_architecture: Name
    """For instance sm_90: what was built for one does not run on another."""
    model: str
    revision: Name
    weights_sha256: Sha256
    quantization: Quantization
    limits: dict[Name, int]
    """Sizes that were built in, the number of GPUs among them."""

    @property
    def id(self) -> str:
        """`a-` and 16 hexadecimal digits."""
        return "a-" + digest(self.model_dump(mode="json"))[:16]

    def differences(self, other: ArtefactKey) -> tuple[str, ...]:
        """What an artefact of this key was built for, where `other` asks for something else."""
        mine, theirs = _flat(self), _flat(other)
        return tuple(
            f"built for {name} {mine.get(name, 'unknown')}, this one is {theirs.get(name, 'unknown')}"
            for name in dict.fromkeys((*mine, *theirs))
            if mine.get(name) != theirs.get(name)
        )


class FileDigest(Frozen):
    """One built file."""

    bytes: int
    sha256: Sha256


class Manifest(Frozen):
    """What is known of an artefact."""

    key: ArtefactKey
    steps: tuple[Phase, ...]
    """What each step of the build took, timed by the lab."""
    commands: tuple[tuple[str, ...], ...]
    """The command of each step, paths replaced."""
    files: dict[str, FileDigest] = Field(min_length=1)
    """By path below `files/`."""

    def build(self, *, reused: bool) -> Build:
        """As a run records it."""
        seconds = sum(step.seconds for step in self.steps)
        return Build(key=self.key.id, seconds=seconds, steps=self.steps, reused=reused)


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """An artefact, ready to be served.

    Attributes:
        folder: of the built files.
        build: for `Preparation.build`.
        events: `build_start` and `build_end` of this run; empty when the artefact was reused.
        build_s: between them; None when the artefact was reused: this run built nothing.
    """

    folder: Path
    build: Build
    events: tuple[Event, ...] = ()
    build_s: float | None = None


def build_artefact(
    adapter: Adapter,
    spec: RunSpec,
    place: Place,
    *,
    root: Path,
    gpu_architecture: str | None,
    log_path: Path,
    rebuild: bool = False,
    say: Say = lambda _: None,
) -> BuildOutcome:
    """The artefact a run is served from: the one that was built for exactly this key, or a new one.

    Args:
        adapter: of an engine with a build step.
        spec: what is to be served.
        place: where the weights are; its folder and artefact are chosen here.
        root: the lab's cache folder.
        gpu_architecture: of this machine's GPUs, for instance sm_90; None: not known.
        log_path: receives the output of the build's programs.
        rebuild: build anew even when there is one.
        say: told what is being done.

    Raises:
        EngineNotInstalled: the programs that build are not here.
        EngineError: the architecture is not known, a step failed or took too long, or the artefact is damaged.
    """
    key = artefact_key(adapter, spec, gpu_architecture)
    shelf = root / "artefacts" / adapter.key
    target = shelf / key.id
    if target.exists() and not rebuild:
        say(f"checking the artefact {key.id}")
        manifest = open_artefact(target, key)
        return BuildOutcome(target / FILES, manifest.build(reused=True))
    for other in others(shelf, key):
        say(f"the artefact {other.id} does not fit: {'; '.join(other.differences(key))}")
    shelf.mkdir(parents=True, exist_ok=True)
    _sweep(shelf)
    with tempfile.TemporaryDirectory(dir=shelf, prefix=f".building-{os.getpid()}-", ignore_cleanup_errors=True) as name:
        scratch, whole = Path(name) / "scratch", Path(name) / "whole"
        (whole / FILES).mkdir(parents=True)
        scratch.mkdir()
        steps = adapter.build_steps(spec, changed(place, folder=scratch, artefact=whole / FILES))
        started_s = time.perf_counter()
        timed = []
        try:
            with log_path.open("wb") as log:
                for step in steps:
                    timed.append(_run(step, scratch, log, log_path, adapter, say))
            ended_s = time.perf_counter()
            say("keeping the artefact and its digests")
            manifest = Manifest(
                key=key, steps=tuple(timed), commands=tuple(step.shown for step in steps), files=_digests(whole / FILES)
            )
            _keep(manifest, whole, target, replace=rebuild)
        except OSError as problem:
            raise EngineError(
                f"the artefact {key.id} cannot be kept in {shelf}: {problem.strerror}",
                "set LAB_CACHE to a folder with room",
            ) from None
    events = (Event(name="build_start", at_s=started_s), Event(name="build_end", at_s=ended_s))
    return BuildOutcome(target / FILES, manifest.build(reused=False), events, ended_s - started_s)


def artefact_key(adapter: Adapter, spec: RunSpec, gpu_architecture: str | None) -> ArtefactKey:
    """What the artefact of a run depends on.

    Raises:
        EngineNotInstalled: the version of the programs that build cannot be found out.
        EngineError: the GPU's architecture or the digest of the weights is not known.
    """
    if gpu_architecture is None:
        raise EngineError(
            f"{adapter.key} builds for one GPU architecture, and that of this machine is not known: "
            "nvidia-smi tells no compute capability, or different ones",
            "build on the machine that will serve, with its driver tools on the PATH",
        )
    version = adapter.build_version()
    if version is None:
        raise EngineNotInstalled(
            adapter.installed() or f"{adapter.key}: the version of what builds cannot be found out; nothing was built"
        )
    if spec.model.weights_sha256 is None:
        raise EngineError(f"{adapter.key}: nothing can be built from {spec.model.series}, which has no weights")
    return ArtefactKey(
        engine=adapter.key,
        engine_version=version,
        gpu_architecture=gpu_architecture,
        model=spec.model.series,
        revision=spec.model.revision,
        weights_sha256=spec.model.weights_sha256,
        quantization=spec.quantization,
        limits=dict(adapter.build_limits(spec)),
    )


def open_artefact(folder: Path, key: ArtefactKey) -> Manifest:
    """The manifest of an artefact that is whole and was built for exactly `key`.

    Raises:
        EngineError: it is damaged, or was built for something else; the sentence names what.
    """
    manifest = _manifest(folder)
    different = manifest.key.differences(key)
    if different:
        raise EngineError(
            f"the artefact in {folder} does not fit: {'; '.join(different)}",
            "let the lab build one, or correct the plan",
        )
    found = _digests(folder / FILES)
    for name in sorted(manifest.files.keys() | found.keys()):
        if found.get(name) != manifest.files.get(name):
            what = (
                "is missing" if name not in found else "was not there when it was built" if name not in manifest.files
                else "has another digest"
            )  # fmt: skip
            raise _damaged(folder, f"{name} {what}")
    return manifest


def others(shelf: Path, key: ArtefactKey) -> tuple[ArtefactKey, ...]:
    """Keys of the artefacts of the same model that are here and are not `key`."""
    found = []
    for path in sorted(shelf.glob("a-*")):
        with contextlib.suppress(EngineError):
            other = _manifest(path).key
            if other != key and (other.model, other.revision) == (key.model, key.revision):
                found.append(other)
    return tuple(found)


def _run(step: BuildStep, scratch: Path, log: Any, log_path: Path, adapter: Adapter, say: Say) -> Phase:
    """Run one step to its end. Raises EngineError when it fails, takes too long or leaves nothing."""
    try:
        leashed = Leashed(list(step.argv), child_environment(**step.env), log, cwd=str(scratch))
    except FileNotFoundError as problem:
        raise EngineNotInstalled(f"{adapter.key}, step {step.name}: {problem}") from None
    try:
        told_s = 0.0
        while (code := leashed.poll()) is None:
            waited_s = time.perf_counter() - leashed.started_s
            if waited_s > step.limit_s:
                raise _failed(adapter, step, f"was not finished within its limit of {step.limit_s:g} s", log_path)
            if waited_s - told_s >= 1.0:
                told_s = waited_s
                say(f"building: {step.name}, {waited_s:.0f} s")
            time.sleep(POLL_EVERY_S)
        took_s = time.perf_counter() - leashed.started_s
    finally:
        leashed.stop()
    if code != 0:
        how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
        raise _failed(adapter, step, f"ended with {how}", log_path)
    folder, patterns = step.makes
    missing = [pattern for pattern in patterns if not any(folder.glob(pattern))]
    if missing:
        raise _failed(adapter, step, f"ended well but left no {' and no '.join(missing)}", log_path)
    return Phase(name=step.name, seconds=took_s, source="lab")


def _failed(adapter: Adapter, step: BuildStep, what: str, log_path: Path) -> EngineError:
    """The sentence of a step that failed: what, why where the log is understood, and the last lines."""
    try:
        text = log_path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    known = adapter.explain_end(text)
    lines = text[-20_000:].splitlines()[-LOG_LINES:]
    last = "\n".join(f"  {line[:300]}" for line in lines) or "  (the log is empty)"
    why = f": {known.what}" if known else ""
    return EngineError(
        f"building for {adapter.key}, the step '{step.name}' {what}{why}; nothing was kept; its log ends with:\n{last}",
        known.next_step if known else None,
    )


def _keep(manifest: Manifest, whole: Path, target: Path, *, replace: bool) -> None:
    """Give a finished artefact its name; one that somebody finished meanwhile may be in use and stays."""
    with (whole / MANIFEST).open("w", encoding="utf-8") as out:
        out.write(manifest.model_dump_json(indent=1))
        out.flush()
        os.fsync(out.fileno())
    if target.exists():
        if not replace:
            return
        os.rename(target, whole.parent / "replaced")  # goes with the temporary folder
    os.rename(whole, target)


def _manifest(folder: Path) -> Manifest:
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except OSError:
        raise _damaged(folder, f"{MANIFEST} cannot be read") from None
    except ValidationError:
        raise _damaged(folder, f"{MANIFEST} does not say what was built") from None


def _damaged(folder: Path, what: str) -> EngineError:
    return EngineError(
        f"the artefact {folder.name} is damaged: {what}; it is not used", f"remove {folder} to build it anew"
    )


def _digests(folder: Path) -> dict[str, FileDigest]:
    """Size and digest of every file below a folder, by its path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as handle:
                sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
            found[path.relative_to(folder).as_posix()] = FileDigest(bytes=path.stat().st_size, sha256=sha256)
    return found


def _sweep(shelf: Path) -> None:
    """Remove what builds of processes that are gone have left."""
    for path in shelf.glob(".building-*"):
        pid = path.name.split("-")[1]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


def _flat(key: ArtefactKey) -> dict[str, object]:
    """Fields in words, those of quantization and limits by their own names."""
    plain = key.model_dump(mode="json")
    formats: dict[str, str] = plain.pop("quantization")
    inner = {f"quantization of the {part}": value for part, value in formats.items()} | plain.pop("limits")
    names = {
        "gpu_architecture": "GPU architecture",
        "engine_version": f"{key.engine} version",
        "weights_sha256": "weights",
    }
    return {names.get(name, name): value for name, value in (plain | inner).items()}
