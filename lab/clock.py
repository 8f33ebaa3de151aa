"""Two clocks: the one on the wall, which people and time servers set, and the one that runs since the machine started.

Durations come from the second. A moment is a time on the wall, and how far the wall clock was moved meanwhile is the
difference of the two.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

MOVED_S = 2.0
"""A smaller difference is how clocks are kept right, not set."""


def now() -> datetime:
    """The time on the wall, UTC."""
    return datetime.fromtimestamp(time.time(), UTC)


def since_start_s() -> float:
    """Seconds on a clock nobody sets, the same in every process of the machine, also while the machine sleeps."""
    # Linux only; elsewhere the steady clock of the process, which may stop while the machine sleeps
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def moved_s(began: datetime, began_s: float, ended: datetime, ended_s: float) -> float | None:
    """How far the wall clock was set between two moments, seconds; negative: back. None: it was not.

    Args:
        began: first moment, on the wall.
        began_s: the same, since the start of the machine.
        ended: second moment, on the wall.
        ended_s: the same, since the start of the machine.
    """
    moved = (ended - began).total_seconds() - (ended_s - began_s)
    return round(moved, 3) if abs(moved) > MOVED_S else None
