"""Launched engines: ready, dying while they start, and ports that are taken."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from lab.engines import adapter_for
from lab.engines.base import Launch
from lab.engines.process import EngineProcess, child_environment, free_port
from lab.errors import EngineDied, EngineNotInstalled, PortInUse

ADAPTER = adapter_for("reference")


def python(code: str) -> Launch:
    return Launch((sys.executable, "-c", code), {}, ("python",))


def test_an_engine_that_dies_while_starting_shows_its_last_words(tmp_path: Path) -> None:
    launch = python("print('loading'); raise SystemExit('out of memory: 3 of 7 layers')")
    with EngineProcess(ADAPTER, launch, free_port(), tmp_path / "log") as engine, pytest.raises(EngineDied) as death:
        engine.wait_ready()
    assert "ended while starting (exit code 1)" in death.value.what
    assert "out of memory: 3 of 7 layers" in death.value.what


def test_a_port_that_is_taken_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"port {port} "):
            EngineProcess(ADAPTER, python("pass"), port, tmp_path / "log")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineNotInstalled, match="no-such-engine"):
        EngineProcess(ADAPTER, Launch(("no-such-engine",), {}, ()), free_port(), tmp_path / "log")


def test_no_secret_of_the_shell_reaches_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-engines")
    environment = child_environment(EXTRA="1")
    assert "sk-not-for-engines" not in environment.values()
    assert (environment["HF_HUB_OFFLINE"], environment["DO_NOT_TRACK"], environment["EXTRA"]) == ("1", "1", "1")
