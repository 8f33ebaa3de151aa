"""Two labs never measure on one GPU, and a lock never outlives its holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import MachineBusy
from lab.machine_lock import hold

HOLDER = """
import time
from lab.machine_lock import hold
with hold(["GPU-1"], "lab run r-aaaaaaaaaa"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_LOCKS", str(tmp_path))


def test_a_gpu_in_use_is_refused_with_who_uses_it_until_that_one_is_gone() -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, env=os.environ.copy())
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(MachineBusy, match="GPU-1 is in use by lab run r-aaaaaaaaaa"), hold(["GPU-0", "GPU-1"], "other"):
        pass
    with hold(["GPU-0"], "other"):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with hold(["GPU-0", "GPU-1"], "other"):
        pass


def test_a_machine_without_a_gpu_locks_nothing(tmp_path: Path) -> None:
    with hold([], "lab"):
        assert list(tmp_path.iterdir()) == []
