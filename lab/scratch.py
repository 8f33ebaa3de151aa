"""What is half written lies in temporary folders and files, each held by its maker with a lock of the kernel.

The lock ends with its holder, kill -9 included, whatever process ids, containers and the clock say. So whoever makes
the next one can tell what a dead process left from what a living one needs, and removes it. What another user left,
or what lies on a disk that knows no locks, is let be.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import EvidenceError, storage_step

_FOLDER = re.compile(r"\.?lab-[a-z]+\.[a-z0-9_]{8}")
"""What `scratch` makes; the dot before the random part tells it from folders that nothing holds."""


@contextmanager
def scratch(kind: str, where: Path | None = None) -> Iterator[Path]:
    """A temporary folder that goes when the block ends, or when the next one is made after its maker was killed.

    Args:
        kind: a word for whoever finds it, for instance `run`.
        where: None: where temporary files go; another folder: there, hidden.

    Raises:
        EvidenceError: no folder can be made.
    """
    with contextlib.ExitStack() as held:
        try:
            place = Path(tempfile.gettempdir()) if where is None else where
            sweep(place)
            folder = _held_folder(place, f"{'' if where is None else '.'}lab-{kind}.", held)
        except OSError as problem:
            what = "no temporary folder can be made" if where is None else f"{where} cannot be written"
            step = storage_step(problem, "TMPDIR" if where is None else str(where))
            raise EvidenceError(f"{what}: {problem.strerror or problem}", step) from None
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def sweep(place: Path) -> None:
    """Remove the temporary folders in `place` whose makers are gone."""
    for folder in place.iterdir():
        if _FOLDER.fullmatch(folder.name):
            with contextlib.suppress(OSError), _taken(folder, os.O_DIRECTORY):
                shutil.rmtree(folder, ignore_errors=True)


def write_atomically(path: Path, payload: bytes) -> None:
    """Replace `path` by `payload`: the old bytes or the new ones, never a part. Raises OSError."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(OSError), _taken(leftover):
            leftover.unlink()
    while True:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        with contextlib.suppress(OSError):  # a disk that knows no locks: then nobody sweeps either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # not swept between being made and being held
            break
        os.close(handle)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(payload)
            out.flush()
            os.fsync(out.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def exchange(one: Path, other: Path) -> bool:
    """Let two names of one disk change places in one step; False where the system cannot."""
    at_cwd, both = -100, 2  # linux/fcntl.h AT_FDCWD, linux/fs.h RENAME_EXCHANGE
    with contextlib.suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None).renameat2
        return bool(rename(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), both) == 0)
    return False


def sync_folder(folder: Path) -> None:
    """Have a folder's names on the disk; some systems cannot, and then the files themselves are safe all the same."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_held(path: Path) -> bool | None:
    """Whether a living process holds a file; None when there is no such file or it cannot be told."""
    try:
        with _taken(path, shared=True):
            return False
    except BlockingIOError:
        return True
    except OSError:
        return None


_HANDLES: set[int] = set()


def held_handles() -> tuple[int, ...]:
    """What `hold` has given and nobody has let go: a child that gets these holds the same files until it ends."""
    return tuple(sorted(_HANDLES))


def let_go(handle: int) -> None:
    """Hold a file no longer."""
    _HANDLES.discard(handle)
    os.close(handle)


def hold(path: Path) -> int:
    """Make a file and hold it as long as this process lives, or until it is let go.

    Raises:
        BlockingIOError: another process holds it.
        OSError: it cannot be made or locked.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    _HANDLES.add(handle)
    return handle


def _held_folder(place: Path, prefix: str, held: contextlib.ExitStack) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(dir=place, prefix=prefix))
        with contextlib.suppress(FileNotFoundError):  # swept between being made and being held: once more
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, handle)
            with contextlib.suppress(OSError):  # a disk that knows no locks: then nobody sweeps either
                fcntl.flock(handle, fcntl.LOCK_SH)  # shared: a leash that outlives its holder holds it too
            if os.path.samestat(os.fstat(handle), os.stat(folder)):
                return folder


@contextmanager
def _taken(path: Path, flags: int = 0, *, shared: bool = False) -> Iterator[None]:
    """Hold a file or folder of ours that nobody holds. Raises OSError: it is another's, or it is held."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | flags)
    try:
        if not shared and os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(f"{path} belongs to another user")
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
