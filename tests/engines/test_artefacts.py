"""Artefacts: small real programs stand in for convert and build (grade synthetic); the store is the real one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.engines.artefacts import FILES, MANIFEST, BuildOutcome, artefact_key, build_artefact, open_artefact
from lab.engines.base import BuildStep, Place
from lab.engines.trtllm import EXAMPLES_VARIABLE, TrtLlmEngine
from lab.errors import EngineError, EngineNotInstalled
from lab.spec import RunSpec
from tests.engines.qwen3 import qwen3

PROGRAM = """#!{python}
import pathlib, shutil, sys, time
option = lambda name: pathlib.Path(sys.argv[sys.argv.index(name) + 1])
print("{name} of", len(sys.argv) - 1, "words", flush=True)
{body}
"""
CONVERT = """
out = option("--output_dir"); out.mkdir(exist_ok=True)
shutil.copy(option("--model_dir"), out / "rank0.safetensors")
(out / "config.json").write_text("{}")
"""
BUILD = """
out = option("--output_dir")
(out / "rank0.engine").write_bytes(b"engine of " + (option("--checkpoint_dir") / "rank0.safetensors").read_bytes())
(out / "config.json").write_text(" ".join(sys.argv[3:]))
"""


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrtLlmEngine:
    """The engine backend with programs of the test behind its names, on a PATH of its own."""
    programs = tmp_path / "programs"
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv(EXAMPLES_VARIABLE, str(programs / "examples"))
    monkeypatch.setenv("PYTHONPATH", f"{programs}:{os.environ.get('PYTHONPATH', '')}")
    install(tmp_path)
    return TrtLlmEngine()


def install(tmp_path: Path, *, convert: str = CONVERT, build: str = BUILD, version: str = "1.2.1") -> None:
    programs = tmp_path / "programs"
    shutil.rmtree(programs, ignore_errors=True)
    files = {
        "examples/models/core/qwen/convert_checkpoint.py": PROGRAM.format(
            python=sys.executable, name="convert", body=convert
        ),
        "trtllm-build": PROGRAM.format(python=sys.executable, name="build", body=build),
        "trtllm-serve": "#!/bin/sh\n",
        "tensorrt_llm.dist-info/METADATA": f"Metadata-Version: 2.1\nName: tensorrt_llm\nVersion: {version}\n",
    }
    for name, text in files.items():
        path = programs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


Build = Callable[..., BuildOutcome]


@pytest.fixture
def build(adapter: TrtLlmEngine, tmp_path: Path) -> Build:
    (tmp_path / "weights").write_bytes(b"weights")
    (tmp_path / "cache").mkdir()

    def run(spec: RunSpec | None = None, **changes: Any) -> BuildOutcome:
        wanted: dict[str, Any] = {
            "root": tmp_path / "cache",
            "gpu_architecture": "sm_90",
            "log_path": tmp_path / "build.log",
        }
        place = Place(tmp_path / "weights", 8000, tmp_path)
        return build_artefact(adapter, spec or qwen3("trtllm-engine"), place, **(wanted | changes))

    return run


def shelf(tmp_path: Path) -> list[str]:
    """What is kept, temporary folders too."""
    folder = tmp_path / "cache" / "artefacts" / "trtllm-engine"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_two_steps_make_an_artefact_and_the_next_run_reuses_it(build: Build, tmp_path: Path) -> None:
    first = build()
    assert (first.folder / "rank0.engine").read_bytes() == b"engine of weights"
    assert not first.build.reused
    assert [step.name for step in first.build.steps] == ["convert", "build"]
    assert first.build.seconds == sum(step.seconds for step in first.build.steps) > 0
    start, end = first.events
    assert (start.name, end.name) == ("build_start", "build_end")
    assert first.build_s == end.at_s - start.at_s >= first.build.seconds
    assert (tmp_path / "build.log").read_text() == "convert of 10 words\nbuild of 16 words\n"
    assert shelf(tmp_path) == [first.build.key]

    (tmp_path / "build.log").unlink()
    again = build()
    assert again.folder == first.folder
    assert again.build.reused and again.build_s is None and again.events == ()
    assert (again.build.seconds, again.build.steps) == (first.build.seconds, first.build.steps)
    assert not (tmp_path / "build.log").exists()  # nothing ran


def test_what_is_kept_names_what_it_depends_on_and_no_path(build: Build, tmp_path: Path) -> None:
    outcome = build()
    text = (outcome.folder.parent / MANIFEST).read_text()
    manifest = json.loads(text)
    assert manifest["key"] | {"quantization": {}, "weights_sha256": ""} == {
        "engine": "trtllm-engine",
        "engine_version": "1.2.1",
        "gpu_architecture": "sm_90",
        "model": "Qwen3-8B",
        "revision": "main-2026-10",
        "weights_sha256": "",
        "quantization": {},
        "limits": {
            "max_batch_size": 64,
            "max_input_len": 4096,
            "max_seq_len": 4096,
            "max_num_tokens": 8192,
            "tp_size": 1,
            "pp_size": 1,
        },
    }
    assert set(manifest["files"]) == {"rank0.engine", "config.json"}
    assert str(tmp_path) not in text


def test_another_shape_or_architecture_is_another_artefact(build: Build, tmp_path: Path) -> None:
    said: list[str] = []
    outcomes = (
        build(),
        build(qwen3("trtllm-engine", {"max_num_seqs": 8}), say=said.append),
        build(gpu_architecture="sm_100", say=said.append),
    )
    assert not any(outcome.build.reused for outcome in outcomes)
    assert shelf(tmp_path) == sorted({outcome.build.key for outcome in outcomes})
    assert any("built for max_batch_size 64, this one is 8" in line for line in said)
    assert any("built for GPU architecture sm_90, this one is sm_100" in line for line in said)


@pytest.mark.parametrize(
    "changes",
    [{"tensor_parallel": 2}, {"pipeline_parallel": 2}, {"max_batched_tokens": 4096}, {"max_num_seqs": 8}],
)
def test_what_is_built_in_is_part_of_the_key(adapter: TrtLlmEngine, changes: dict[str, int]) -> None:
    plain = artefact_key(adapter, qwen3("trtllm-engine"), "sm_90")
    assert artefact_key(adapter, qwen3("trtllm-engine", changes), "sm_90").id != plain.id
    assert artefact_key(adapter, qwen3("trtllm-engine", context_limit=8192), "sm_90").id != plain.id
    assert artefact_key(adapter, qwen3("trtllm-engine", {"prefix_caching": True}), "sm_90").id == plain.id


def test_a_setting_that_is_not_built_in_takes_the_same_artefact(build: Build) -> None:
    build()
    assert build(qwen3("trtllm-engine", {"prefix_caching": True, "kv_cache_tokens": 4096})).build.reused


def test_another_release_is_another_artefact(build: Build, tmp_path: Path) -> None:
    first = build()
    install(tmp_path, version="1.1.0")
    said: list[str] = []
    assert build(say=said.append).build.key != first.build.key
    assert any("built for trtllm-engine version 1.2.1, this one is 1.1.0" in line for line in said)


def test_an_artefact_of_another_key_is_refused_by_name(build: Build, adapter: TrtLlmEngine, tmp_path: Path) -> None:
    folder = build().folder.parent
    wanted = artefact_key(adapter, qwen3("trtllm-engine"), "sm_100")
    with pytest.raises(EngineError, match="built for GPU architecture sm_90, this one is sm_100"):
        open_artefact(folder, wanted)
    shutil.copytree(folder, folder.with_name(wanted.id))  # as somebody does who thinks that it will do
    with pytest.raises(EngineError, match="built for GPU architecture sm_90, this one is sm_100"):
        build(gpu_architecture="sm_100")


HARMS: dict[str, Callable[[Path], object]] = {
    "rank0.engine has another digest": lambda folder: (folder / FILES / "rank0.engine").write_bytes(b"other bytes"),
    "config.json is missing": lambda folder: (folder / FILES / "config.json").unlink(),
    "more was not there when it was built": lambda folder: (folder / FILES / "more").write_text(""),
    "artefact.json does not say what was built": lambda folder: (folder / MANIFEST).write_text("{"),
    "artefact.json cannot be read": lambda folder: (folder / MANIFEST).unlink(),
}


def test_a_damaged_artefact_is_named_and_built_anew_only_when_asked(build: Build, tmp_path: Path) -> None:
    folder = build().folder.parent
    whole = shutil.copytree(folder, tmp_path / "whole")
    for named, harm in HARMS.items():
        shutil.rmtree(folder)
        shutil.copytree(whole, folder)
        harm(folder)
        for _ in range(2):  # looking at it repairs nothing
            with pytest.raises(EngineError, match=named):
                build()
    assert not build(rebuild=True).build.reused
    assert build().build.reused


def test_a_step_that_fails_is_named_with_its_last_words_and_nothing_is_kept(build: Build, tmp_path: Path) -> None:
    install(tmp_path, build='print("torch.OutOfMemoryError: CUDA out of memory"); raise SystemExit(3)')
    with pytest.raises(EngineError, match=r"the step 'build' ended with exit code 3: the GPU's memory") as failure:
        build()
    assert "CUDA out of memory" in failure.value.what.splitlines()[-1]
    assert "lower kv_cache_tokens" in (failure.value.next_step or "")
    assert shelf(tmp_path) == []


def test_a_step_that_leaves_nothing_has_failed(build: Build, tmp_path: Path) -> None:
    install(tmp_path, convert="")
    with pytest.raises(EngineError, match=r"'convert' ended well but left no config.json and no rank\*.safetensors"):
        build()
    assert shelf(tmp_path) == []


def test_a_step_has_a_limit(
    build: Build, adapter: TrtLlmEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, convert="time.sleep(600)")

    def hurried(spec: RunSpec, place: Place) -> tuple[BuildStep, ...]:
        return tuple(replace(step, limit_s=0.3) for step in TrtLlmEngine.build_steps(adapter, spec, place))

    monkeypatch.setattr(adapter, "build_steps", hurried)
    with pytest.raises(EngineError, match=r"'convert' was not finished within its limit of 0.3 s"):
        build()
    assert shelf(tmp_path) == []


def test_nothing_is_built_for_an_unknown_architecture_or_by_unknown_programs(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError, match="GPU architecture, and that of this machine is not known"):
        build(gpu_architecture=None)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(EngineNotInstalled, match="trtllm-build"):
        build()
    assert shelf(tmp_path) == []


def test_what_a_killed_build_left_is_swept_and_a_running_one_is_let_be(build: Build, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folder = tmp_path / "cache" / "artefacts" / "trtllm-engine"
    for pid in (ended.pid, os.getpid()):
        (folder / f".building-{pid}-x" / "scratch").mkdir(parents=True)
    key = build().build.key
    assert shelf(tmp_path) == [f".building-{os.getpid()}-x", key]
