"""Memory bandwidth of this machine's CPUs: passes that read and passes that copy, every core at once, best of several.

The arrays are several times larger than the processor's cache. `measure_apart` does it in a process of its own, so
that neither the arrays nor numpy's threads stay behind; `python -m lab.membandwidth` is that process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from pydantic import ValidationError

from lab.limits import MemoryBandwidth

LEAST_BYTES = 256 * 2**20
MOST_BYTES = 4 * 2**30
TIMES_CACHE = 4
"""An array is this many times the cache, so that next to nothing of it is left there from the pass before."""
SPAN_S = 0.25
"""How long each kind of pass is repeated."""
LIMIT_S = 60.0
CACHES = Path("/sys/devices/system/cpu")


def measure_apart() -> MemoryBandwidth | None:
    """The bandwidth, measured in a process of its own; None when it could not be."""
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "lab.membandwidth"], env=env, capture_output=True, timeout=LIMIT_S, check=True
        )
        return MemoryBandwidth.model_validate_json(done.stdout)
    except (OSError, subprocess.SubprocessError, ValidationError):
        return None


def measure(size: int | None = None, span_s: float = SPAN_S) -> MemoryBandwidth:
    """The bandwidth, measured in this process.

    Args:
        size: bytes of the two arrays together; None: by the cache and the free memory.
        span_s: how long each kind of pass is repeated, at least once.
    """
    import numpy as np

    cores = _cores()
    cache = cache_bytes(cores)
    if size is None:
        size = min(max(LEAST_BYTES, 2 * TIMES_CACHE * cache), MOST_BYTES, psutil.virtual_memory().available // 4)
    each = max(size // (8 * len(cores)), 1)  # two arrays of 4 bytes a number, one part of each for every core
    with ThreadPoolExecutor(len(cores)) as pool:
        parts = list(pool.map(lambda _: (np.ones(each, np.float32), np.ones(each, np.float32)), cores))

        def read(part: tuple[np.ndarray, np.ndarray]) -> None:
            np.dot(part[0], part[1])

        def copy(part: tuple[np.ndarray, np.ndarray]) -> None:
            np.copyto(part[1], part[0])

        moved = 8 * each * len(cores)
        best = []
        for kernel in (read, copy):
            fastest, until = float("inf"), time.perf_counter() + span_s
            while True:
                begin = time.perf_counter()
                list(pool.map(kernel, parts))
                end = time.perf_counter()
                fastest = min(fastest, end - begin)
                if end >= until:
                    break
            best.append(moved / fastest / 1e9)
    return MemoryBandwidth(read_gb_s=best[0], copy_gb_s=best[1], threads=len(cores), cache_bytes=cache)


def cache_bytes(cores: frozenset[int], root: Path = CACHES) -> int:
    """Last-level cache of these cores together, each cache once; 0 where the system does not tell.

    Source: https://docs.kernel.org/admin-guide/abi-testing.html, /sys/devices/system/cpu/cpu*/cache/index*
    """
    found: dict[str, int] = {}
    for core in cores:
        last = max((root / f"cpu{core}" / "cache").glob("index[0-9]*"), default=None)
        if last is None:
            continue
        try:
            shared, size = ((last / name).read_text(encoding="ascii").strip() for name in ("shared_cpu_list", "size"))
            found[shared] = int(size.rstrip("K")) * 1024
        except (OSError, ValueError):
            continue
    return sum(found.values())


def _cores() -> frozenset[int]:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


if __name__ == "__main__":
    print(measure().model_dump_json())
