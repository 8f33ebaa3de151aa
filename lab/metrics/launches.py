"""How reproducible a launch is: how many of how many attempts started, and how far their start-up times lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from lab.records import LaunchTally


def tally(attempts: Sequence[float | None]) -> LaunchTally:
    """Count launches of one spec.

    Args:
        attempts: start-up seconds of each attempt; None for one that did not get ready.
    """
    started = [seconds for seconds in attempts if seconds is not None]
    return LaunchTally(
        attempts=len(attempts),
        successes=len(started),
        startup_min_s=min(started, default=None),
        startup_median_s=median(started) if started else None,
        startup_max_s=max(started, default=None),
    )
