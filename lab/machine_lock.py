"""One lab at a time on a GPU: a lock file a host, held as long as the process lives.

Two measurements on one GPU measure each other. The lock is the kernel's (flock): it ends with its holder,
kill -9 included, and nothing has to be cleaned up.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.errors import MachineBusy

PLACES = ("/run/lock", "/var/tmp")  # noqa: S108  what is shared by every user of a host has to lie where all may write
"""Where lock files lie: the first of these that can be written; $LAB_LOCKS before them."""


@contextmanager
def hold(names: Sequence[str], who: str) -> Iterator[None]:
    """Hold one lock for each name until the block ends.

    Args:
        names: for instance GPU UUIDs; lock files stay on the host.
        who: written into the lock for the person who finds it held.

    Raises:
        MachineBusy: another process holds one of them.
    """
    with contextlib.ExitStack() as stack:
        for name in sorted(set(names)):
            stack.enter_context(_one(name, who))
        yield


@contextmanager
def _one(name: str, who: str) -> Iterator[None]:
    path = _folder() / f"engine-lab-{re.sub(r'[^A-Za-z0-9-]', '-', name)}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 200).decode("utf-8", "replace").strip() or "another process"
            raise MachineBusy(
                f"GPU {name} is in use by {holder}; two measurements on one GPU measure each other",
                "wait for it, or choose another GPU with CUDA_VISIBLE_DEVICES",
            ) from None
        with contextlib.suppress(PermissionError):
            os.fchmod(handle, 0o666)
        os.ftruncate(handle, 0)
        os.write(handle, who.encode())
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _folder() -> Path:
    for place in (os.environ.get("LAB_LOCKS"), *PLACES):
        if place and os.access(place, os.W_OK):
            return Path(place)
    raise MachineBusy(f"no folder for lock files can be written: {', '.join(PLACES)}", "set LAB_LOCKS to a folder")
