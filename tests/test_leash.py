"""When the holder goes, the command and all its descendants go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from lab.leash import Leashed

FAMILY = "setsid sleep 300 & sleep 301 & echo $$ $! > {file}; wait"
HOLDER = """
import os, sys, time
from lab.leash import Leashed
Leashed(["bash", "-c", sys.argv[1]], dict(os.environ), open(os.devnull, "wb"))
time.sleep(300)
"""


def eventually(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def family_of(file: Path) -> list[int]:
    eventually(lambda: file.exists() and len(file.read_text().split()) == 2, "the command never ran")
    shell = int(file.read_text().split()[0])
    return [shell, *(child.pid for child in psutil.Process(shell).children(recursive=True))]


def gone(pids: list[int]) -> bool:
    def lives(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return not any(lives(pid) for pid in pids)


def test_stop_ends_every_descendant_those_of_another_session_too(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    with open(os.devnull, "wb") as nowhere:
        leashed = Leashed(["bash", "-c", FAMILY.format(file=file)], dict(os.environ), nowhere)
    pids = family_of(file)
    assert len(pids) >= 3
    leashed.stop()
    assert gone(pids)


def test_kill_9_of_the_holder_ends_every_descendant(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, FAMILY.format(file=file)])
    pids = family_of(file)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    eventually(lambda: gone(pids), "a descendant outlived its holder")


def test_what_a_dead_holder_leaves_in_its_scratch_folder_goes_too(tmp_path: Path) -> None:
    scratch, file = tmp_path / "scratch", tmp_path / "pids"
    (scratch / "deep").mkdir(parents=True)
    code = HOLDER.replace('open(os.devnull, "wb"))', f'open(os.devnull, "wb"), scratch={str(scratch)!r})')
    holder = subprocess.Popen([sys.executable, "-c", code, FAMILY.format(file=file)])
    family_of(file)
    assert scratch.is_dir()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    eventually(lambda: not scratch.exists(), "the scratch folder stayed")


def test_a_holder_that_stops_its_command_keeps_its_scratch_folder(tmp_path: Path) -> None:
    with open(os.devnull, "wb") as nowhere:
        leashed = Leashed(["sleep", "300"], dict(os.environ), nowhere, scratch=str(tmp_path))
    leashed.stop()
    assert tmp_path.is_dir()


def test_the_exit_code_is_the_commands(tmp_path: Path) -> None:
    with open(os.devnull, "wb") as nowhere:
        leashed = Leashed(["bash", "-c", "exit 7"], dict(os.environ), nowhere)
        eventually(lambda: leashed.poll() is not None, "the command never ended")
        assert leashed.stop() == 7
        killed = Leashed(["bash", "-c", "kill -9 $$"], dict(os.environ), nowhere)
        eventually(lambda: killed.poll() is not None, "the command never ended")
        assert killed.stop() == 128 + 9


def test_a_program_that_does_not_exist_is_said_at_once(tmp_path: Path) -> None:
    with open(os.devnull, "wb") as nowhere, pytest.raises(FileNotFoundError, match="no-such-program"):
        Leashed(["no-such-program"], dict(os.environ), nowhere)
