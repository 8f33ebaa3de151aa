"""The main path on the reference engine: notebook, bundle, failure, resume, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from lab.endpoint import Endpoint
from lab.engines import ENGINES
from lab.errors import EngineDied, LabError, ParamsError
from lab.evidence import EvidenceStore
from lab.plan import RunPlan, load_plan
from lab.publish.projection import project
from lab.records import Effective, Outcome, RunState
from lab.run import ITEM_LIMIT_S, PROGRESS_VARIABLE, RunEvent, limit_s, open_run, run_one, run_plan
from tests.conftest import SMALL_PLAN

BUNDLE = {
    "spec.json", "status.json", "environment.json", "launch.json", "limits.json", "preparation.json", "load.json",
    "requests.parquet",
    "server_metrics.parquet", "host.parquet", "isolation.json", "emissions.jsonl", "engine.log", "manifest.json",
}  # fmt: skip


def engines_of(process: psutil.Process) -> list[psutil.Process]:
    lines = {child: " ".join(child.cmdline()) for child in process.children(recursive=True)}
    return [child for child, line in lines.items() if "lab.load.reference" in line and "leash" not in line]


def test_run_one_gives_a_whole_bundle(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    record = run_one(small_plan[0].runs[0], store)
    assert record.status.state is RunState.MEASURED
    assert store.verify(record.run_id) == ()
    assert {path.name for path in store.path(record.run_id).iterdir()} == BUNDLE
    assert record.levels[0].outcomes == {Outcome.SUCCESS: 4}
    assert record.levels[0].completion_tokens.min == record.levels[0].completion_tokens.max == 5
    preparation = record.preparation
    assert preparation is not None
    assert preparation.build_s is None
    assert [event.name for event in preparation.events] == ["launch", "ready", "first_request_sent", "first_token"]
    times = [event.at_s for event in preparation.events]
    assert times == sorted(times)
    assert preparation.startup_s == pytest.approx(times[1] - times[0])
    assert preparation.first_request_s >= 0.01  # the reference engine was told to take that long
    assert record.ceilings is not None
    assert record.ceilings.reason == "no-weights"
    assert engines_of(psutil.Process()) == []


def test_the_limit_of_a_run_holds_every_request_of_its_suite(plan_folder: Path) -> None:
    path = plan_folder / "quality-check.yaml"
    smoke = load_plan(path).runs[0]
    path.write_text(path.read_text(encoding="utf-8").replace("quality: smoke", "quality: smoke-mini"), encoding="utf-8")
    mini = load_plan(path).runs[0]
    assert limit_s(smoke) - limit_s(mini) == (228 - 28) * ITEM_LIMIT_S


def test_a_step_that_fails_ends_the_run_with_its_reason_and_stops_the_engine(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    run = open_run(small_plan[0].runs[0], store)
    run.prepare()
    (engine,) = engines_of(psutil.Process())
    engine.kill()
    with pytest.raises(LabError, match="signal 9"):
        run.throughput()
    assert store.status(run.run_id).state is RunState.FAILED
    assert "signal 9" in (store.status(run.run_id).reason or "")
    assert store.verify(run.run_id) == ()
    with pytest.raises(LabError, match="has ended"):
        run.quality()


def test_an_engine_that_dies_under_load_ends_the_run_and_no_finished_request_is_lost(
    store: EvidenceStore, plan_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, progress = plan_folder / "small.yaml", tmp_path / "progress"
    path.write_text(SMALL_PLAN.replace("requests_per_level: 4", "requests_per_level: 200"), encoding="utf-8")
    monkeypatch.setenv(PROGRESS_VARIABLE, str(progress))
    run = open_run(load_plan(path).runs[0], store)
    run.prepare()
    (engine,) = engines_of(psutil.Process())

    def kill_under_load() -> None:
        while '"done": 1' not in progress.read_text(encoding="utf-8"):  # ten and some requests are through
            time.sleep(0.05)
        engine.kill()

    threading.Thread(target=kill_under_load, daemon=True).start()
    with pytest.raises(EngineDied, match="ended under load"):
        run.throughput()
    outcomes = [record.outcome for record in store.requests(run.run_id)]
    assert Outcome.SUCCESS in outcomes
    assert store.verify(run.run_id) == ()
    assert "signal 9" in (store.status(run.run_id).reason or "")


def test_what_a_launch_starts_from_is_asked_arranged_and_recorded(store: EvidenceStore, plan_folder: Path) -> None:
    path = plan_folder / "small.yaml"
    path.write_text(SMALL_PLAN + "cache_tier: warm\n", encoding="utf-8")
    preparation = run_one(load_plan(path).runs[0], store).preparation
    assert preparation is not None
    assert (preparation.cache_tier, preparation.cache_state, preparation.wiped) == ("warm", "none", ())
    path.write_text(SMALL_PLAN + "cache_tier: download\n", encoding="utf-8")
    with pytest.raises(ParamsError, match="none has no weights to fetch"):
        run_one(load_plan(path).runs[0], store)


def test_a_workload_that_the_engine_cannot_do_drives_no_load_and_gives_no_number(
    store: EvidenceStore, plan_folder: Path
) -> None:
    path = plan_folder / "small.yaml"
    known_timing = SMALL_PLAN.splitlines()[2]
    schemas = "workload: {use: structured-output, concurrency: [1], requests_per_level: 4}"
    path.write_text(SMALL_PLAN.replace(known_timing, schemas), encoding="utf-8")
    record = run_one(load_plan(path).runs[0], store)
    assert record.status.state is RunState.MEASURED
    assert (record.not_supported, record.levels) == ("json-schema", ())
    assert store.requests(record.run_id) == ()
    assert project(store, record.run_id).levels == ()


def test_an_engine_that_dies_in_preflight_ends_the_run_with_that_reason(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        engines_of(psutil.Process())[0].kill()
        return ()

    run = open_run(small_plan[0].runs[0], store)
    monkeypatch.setattr(ENGINES["reference"], "read_back", kill)  # the last thing before the first question
    with pytest.raises(EngineDied, match="ended during preflight"):
        run.prepare()
    assert store.status(run.run_id).state is RunState.FAILED
    assert "during preflight (signal 9)" in (store.status(run.run_id).reason or "")


def test_steps_out_of_order_get_a_sentence(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    with pytest.raises(LabError, match="not been prepared"):
        open_run(small_plan[0].runs[0], store).throughput()


def test_a_plan_runs_the_notebook_and_resume_does_only_what_is_missing(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    plan, path = small_plan
    events: list[RunEvent] = []
    (ended,) = run_plan(plan, path, store, events.append)
    assert (ended.state, ended.reason) == (RunState.MEASURED, None)
    assert store.verify(ended.run_id) == ()
    assert {file.name for file in store.path(ended.run_id).iterdir()} == BUNDLE | {"notebook.ipynb"}
    notebook = json.loads((store.path(ended.run_id) / "notebook.ipynb").read_bytes())
    assert any("injected-parameters" in cell["metadata"].get("tags", []) for cell in notebook["cells"])
    steps = list(dict.fromkeys(event.facts["step"] for event in events if event.kind == "step"))
    assert steps == ["prepare", "throughput", "quality", "done"]
    assert any("tok/s so far" in event.facts.get("detail", "") for event in events)

    (again,) = run_plan(plan, path, store, resume=True)
    assert again.run_id == ended.run_id
    (new,) = run_plan(plan, path, store)
    assert new.run_id != ended.run_id
    launches = store.launches(new.run_id)
    assert (launches.attempts, launches.successes) == (2, 2)
    assert launches.startup_min_s is not None
    assert launches.startup_min_s > 0


def test_a_run_that_fails_in_the_notebook_is_a_record_with_its_reason(store: EvidenceStore, plan_folder: Path) -> None:
    path = plan_folder / "small.yaml"
    # every request runs into its limit: the engine takes longer for a first token than a request may take
    slow = SMALL_PLAN.replace("ttft_s: 0.01", "ttft_s: 3").replace(
        "output_tokens: 5", "output_tokens: 5, timeout_s: 0.5"
    )
    path.write_text(slow, encoding="utf-8")
    (ended,) = run_plan(load_plan(path), path, store)
    assert ended.state is RunState.FAILED
    assert "the first request to reference failed (timeout)" in (ended.reason or "")
    assert store.verify(ended.run_id) == ()
    (repeated,) = run_plan(load_plan(path), path, store, resume=True)
    assert store.status(repeated.run_id).replaces == ended.run_id
    launches = store.launches(ended.run_id)
    assert (launches.attempts, launches.successes) == (2, 0)


def test_kill_9_leaves_no_engine_and_the_truth(store: EvidenceStore, plan_folder: Path) -> None:
    path = plan_folder / "small.yaml"
    path.write_text(SMALL_PLAN.replace("ttft_s: 0.01", "ttft_s: 2"), encoding="utf-8")
    lab = subprocess.Popen(
        [sys.executable, "-m", "lab.cli", "run", str(path), "--runs-dir", str(store.root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(plan_folder)},  # what kill -9 leaves behind goes with the test
    )
    deadline = time.monotonic() + 60
    while not (engines := engines_of(psutil.Process(lab.pid))):
        assert time.monotonic() < deadline, "the engine never started"
        time.sleep(0.05)
    family = [*psutil.Process(lab.pid).children(recursive=True), *engines]
    os.kill(lab.pid, signal.SIGKILL)
    lab.wait()
    _, alive = psutil.wait_procs(family, timeout=40)
    assert alive == []
    (run_id,) = store.run_ids()
    assert store.status(run_id).state is RunState.INTERRUPTED
