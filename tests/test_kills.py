"""A few of the kills that `python -m tests.kills` does in bulk."""

from __future__ import annotations

from pathlib import Path

from tests.kills import kill_many


def test_whatever_is_killed_the_store_tells_the_truth_and_nothing_is_left(tmp_path: Path) -> None:
    tally = kill_many(3, tmp_path, seed=7)
    assert tally.broken == [], tally.lines()
    assert sum(tally.killed.values()) == 3
