"""A few of the rounds that `python -m tests.no_room` does in bulk, in a process that may mount where Linux lets it."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import CHECKOUT


def test_without_room_nothing_finished_is_lost_and_what_to_do_is_said() -> None:
    words = [sys.executable, "-m", "tests.no_room", "--rounds", "3", "--seed", "8"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken laws: 0" in done.stdout
