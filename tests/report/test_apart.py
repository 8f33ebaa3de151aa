"""Pages are built where nothing private can be seen: not the runs, not the variables, not another program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.errors import EvidenceError
from lab.report.apart import apart, kernel_refuses, run_apart
from lab.report.build import build_pages
from tests.report.report_examples import contrasts, open_edition

TRIES = {
    "a file of a run": "open({runs!r} + '/r-a2b3c4d5e6/spec.json')",
    "its folder": "import os; os.listdir({runs!r})",
    "its folder, otherwise": "import os; list(os.scandir({runs!r}))",
    "a path through the evidence": "open('evidence/../' + __import__('os').path.relpath({runs!r}) + '/x')",
    "a link": "import os; os.symlink({runs!r}, 'x')",
    "another folder": "import os; os.chdir({runs!r})",
    "a table, by a library that never asks Python": "import pyarrow.parquet as pq; "
    "pq.read_table({runs!r} + '/r-a2b3c4d5e6/requests.parquet')",
    "a file, by the C library": "import ctypes; f = ctypes.CDLL(None).open(({runs!r} + '/x').encode(), 0); "
    "assert f >= 0, 'Permission denied'",
    "another program": "import subprocess; subprocess.run(['cat', {runs!r} + '/x'])",
    "a shell": "import os; os.system('cat ' + {runs!r})",
    "a connection": "import socket; socket.create_connection(('127.0.0.1', 9))",
    "the name of the host": "import socket; print(socket.gethostname())",
    "a datagram": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "a database": "import sqlite3; sqlite3.connect({runs!r} + '/x')",
    "a module": "import runpy; runpy.run_path({runs!r} + '/x')",
    "memory": "import numpy; numpy.memmap({runs!r} + '/x')",
    "a folder that is open": "import os; os.open('../' + os.path.basename({runs!r}) + '/x', 0, dir_fd=os.open('.', 0))",
    "its own root": "open('/proc/self/root' + {runs!r} + '/x')",
    "its mounts": "print(open('/proc/self/mountinfo').read())",
    "its container": "print(open('/proc/self/cgroup').read())",
    "whoever started it": "import os; print(open('/proc/' + str(os.getppid()) + '/environ').read())",
    "a signal": "import os; os.kill(os.getppid(), 0)",
    "fences taken down": "import lab.report.apart as a; a.REFUSED = a.PATHS = frozenset(); a._below = lambda *_: True; "
    "open({runs!r} + '/x')",
    "a file beside the libraries": "import os, lab; open(os.path.dirname(lab.__file__) + '/../params/publish.yaml')",
    "writing into the package": "import os, lab; open(os.path.dirname(lab.__file__) + '/x', 'w')",
    "writing elsewhere": "open({runs!r} + '/x', 'w')",
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A store with one run's files."""
    folder = tmp_path / "runs" / "r-a2b3c4d5e6"
    folder.mkdir(parents=True)
    for name in ("spec.json", "requests.parquet"):
        (folder / name).write_text("secret of the run")
    (tmp_path / "runs" / "x").write_text("secret of the run")
    return tmp_path / "runs"


NEEDS_KERNEL = frozenset({"a table, by a library that never asks Python", "a file, by the C library"})


@pytest.mark.parametrize("name", TRIES)
def test_what_builds_pages_cannot_see_the_runs(name: str, runs: Path, tmp_path: Path) -> None:
    if name in NEEDS_KERNEL and not kernel_refuses():
        pytest.skip("this kernel has no Landlock: program code that never asks Python is not held there")
    code = TRIES[name]
    own = tmp_path / "own"
    (own / "evidence").mkdir(parents=True)
    done = run_apart(own, code.format(runs=str(runs)))
    assert done.returncode != 0
    assert "outside the evidence" in done.stderr or "not for building" in done.stderr or "ermission" in done.stderr
    assert "secret of the run" not in done.stdout + done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="a name of its own takes root, or a kernel that gives it to users")
def test_it_does_not_know_the_name_of_the_host(tmp_path: Path) -> None:
    done = run_apart(tmp_path, "import os, platform; print({os.uname().nodename, platform.node()})")
    if "lab" not in done.stdout:
        pytest.skip("this kernel gives no process a name of its own")
    assert done.stdout.strip() == "{'lab'}"


def test_it_is_told_nothing_of_whoever_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", "/srv/elsewhere")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    done = run_apart(tmp_path, "import os; print(sorted(os.environ))")
    assert done.stdout.strip() == str(["HOME", "LC_ALL", "PATH", "TMPDIR", "TZ"])


def test_the_same_pages_come_out() -> None:
    edition = tuple(open_edition())
    there = apart("lab.report.build:build_pages")(edition, langs=("en",), contrasts=tuple(contrasts()))
    assert there == build_pages(edition, ("en",), contrasts())


def test_a_page_that_cannot_be_built_is_an_error_with_its_reason() -> None:
    with pytest.raises(EvidenceError, match=r"could not be built: .*catalogue.*'xx'"):
        apart("lab.report.build:build_pages")((), ("xx",))
