"""Launches are counted with their failures."""

from __future__ import annotations

from lab.metrics.launches import tally
from lab.records import LaunchTally


def test_a_launch_that_failed_counts_as_an_attempt() -> None:
    assert tally([2.0, None, 1.0, 4.0]) == LaunchTally(
        attempts=4, successes=3, startup_min_s=1.0, startup_median_s=2.0, startup_max_s=4.0
    )
    nothing = tally([None])
    assert (nothing.attempts, nothing.successes, nothing.startup_median_s) == (1, 0, None)
