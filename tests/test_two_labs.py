"""Two of the pairs that `python -m tests.two_labs` starts at random."""

from __future__ import annotations

from pathlib import Path

from tests.two_labs import two_at_once


def test_two_labs_on_one_store_and_two_publishers_in_one_folder_do_not_harm_each_other(tmp_path: Path) -> None:
    tally = two_at_once([("run", "run"), ("publish", "publish")], tmp_path, seed=1)
    assert tally.broken == [], tally.lines()
