"""Launched engines: ready, dying while they start, and ports that are taken."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest

from lab.engines import adapter_for
from lab.engines.base import Failure, Launch
from lab.engines.process import EngineProcess, child_environment, free_port
from lab.engines.reference import Reference
from lab.errors import EngineDied, EngineError, EngineNotInstalled, PortInUse

ADAPTER = adapter_for("reference")


def python(code: str) -> Launch:
    return Launch((sys.executable, "-c", code), {}, ("python",))


def test_an_engine_that_dies_while_starting_shows_its_last_words(tmp_path: Path) -> None:
    launch = python("print('loading'); raise SystemExit('out of memory: 3 of 7 layers')")
    with EngineProcess(ADAPTER, launch, free_port(), tmp_path / "log") as engine, pytest.raises(EngineDied) as death:
        engine.wait_ready()
    assert "ended while starting (exit code 1)" in death.value.what
    assert "out of memory: 3 of 7 layers" in death.value.what


def test_the_error_further_up_is_shown_with_the_last_lines(tmp_path: Path) -> None:
    code = "print('ValueError: the head size 7 is odd'); print('noise\\n' * 40, end=''); raise SystemExit('failed')"
    with (
        EngineProcess(ADAPTER, python(code), free_port(), tmp_path / "log") as engine,
        pytest.raises(EngineDied) as end,
    ):
        engine.wait_ready()
    lines = [line.strip() for line in end.value.what.splitlines()]
    assert lines[1:4] == ["ValueError: the head size 7 is odd", "…", "noise"]
    assert lines[-1] == "failed"


class Quiet(Reference):
    start_idle_limit_s = 0.3


def test_an_engine_that_says_nothing_while_it_starts_is_given_up_with_what_was_waited_for(tmp_path: Path) -> None:
    launch = python("import time; print('loading layer 3 of 7', flush=True); time.sleep(60)")
    with EngineProcess(Quiet(), launch, free_port(), tmp_path / "log") as engine, pytest.raises(EngineError) as end:
        engine.wait_ready()
    assert "printed nothing for 0.3 s and was not ready; waited for HTTP 200 from /health" in end.value.what
    assert "loading layer 3 of 7" in end.value.what


class Explaining(Reference):
    failures = (Failure(re.compile("out of memory"), "the GPU has not enough memory", "lower kv_cache_tokens"),)


def test_an_end_the_adapter_knows_is_explained_with_the_setting_to_change(tmp_path: Path) -> None:
    launch = python("raise SystemExit('CUDA out of memory')")
    with EngineProcess(Explaining(), launch, free_port(), tmp_path / "log") as engine, pytest.raises(EngineDied) as end:
        engine.wait_ready()
    assert "(exit code 1): the GPU has not enough memory; its log ends with" in end.value.what
    assert end.value.next_step == "lower kv_cache_tokens"


class Versioned(Reference):
    versions = ("0.9", "0.11")


def test_a_version_the_adapter_was_not_written_for_is_said() -> None:
    notes = {
        version: Versioned().version_note(version) for version in ("0.9.0", "0.10.2", "v0.10", "0.11.0", "1.2", None)
    }
    assert [version for version, note in notes.items() if note is None] == ["0.9.0", "0.10.2", "v0.10"]
    assert notes["0.11.0"] == "reference 0.11.0 runs; the adapter was written for 0.9 up to, not including, 0.11"
    assert str(notes[None]).startswith("reference does not say its version")


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
