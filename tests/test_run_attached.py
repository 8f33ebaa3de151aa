"""The main path on an engine that runs already: the whole plan, its evidence, and what stays out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.engines import adapter_for
from lab.engines.base import Launch
from lab.engines.process import EngineProcess, free_port
from lab.engines.reference import PROGRAM
from lab.evidence import EvidenceStore
from lab.plan import find_problems, load_plan
from lab.publish.gate import inspect, private_facts
from lab.publish.projection import project
from lab.records import How, Outcome, RunState
from lab.run import run_plan
from tests.conftest import SMALL_PLAN
from tests.engines.imitations.engines import LlamaServer

KEY = "sk-the-key-of-the-team-0123456789"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineProcess]:
    """A reference engine that somebody else started."""
    port = free_port()
    argv = (*PROGRAM, "--port", str(port), "--model", "team-model", "--context-limit", "1024")
    with EngineProcess(adapter_for("reference"), Launch(argv, {}, argv), port, tmp_path / "log") as running:
        running.wait_ready()
        yield running


@pytest.mark.conformance("reference", "real")
def test_a_plan_with_an_attached_engine_is_measured_and_the_engine_stays_up(
    engine: EngineProcess, plan_folder: Path, store: EvidenceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    head = SMALL_PLAN.partition("instrument_check")[0]
    line = f"{{engine: reference, url: '{engine.endpoint.url}/v1', served_as: team-model, set: {{max_num_seqs: 3}}}}"
    path = plan_folder / "attached.yaml"
    path.write_text(f"{head}instrument_check:\n  runs:\n    - {line}\n", encoding="utf-8")
    plan = load_plan(path)
    assert find_problems(plan) == ()
    (ended,) = run_plan(plan, path, store)
    assert (ended.state, ended.reason) == (RunState.MEASURED, None)
    engine.check_alive("after the run")  # whoever started it stops it

    record = store.read(ended.run_id)
    assert record.levels[0].outcomes == {Outcome.SUCCESS: 4}
    preparation, launch = record.preparation, record.launch
    assert preparation is not None and launch is not None
    assert (preparation.startup_s, preparation.total_s, preparation.cache_state) == (None, None, "unknown")
    assert "launch" not in {event.name for event in preparation.events}
    assert (launch.attached_to, launch.argv) == ("this-machine", (engine.endpoint.url, "team-model"))
    how = {setting.condition: setting.how for setting in launch.settings}
    assert how["max_num_seqs"] is How.DECLARED
    assert any(warning.startswith("the weights are as declared") for warning in launch.warnings)

    holding = [file.name for file in store.path(ended.run_id).iterdir() if KEY.encode() in file.read_bytes()]
    assert holding == []
    public = project(store, ended.run_id)
    assert (public.attached, public.command, public.preparation.startup_s) == (True, ("attached", "<url>"), None)
    payload = public.model_dump_json().encode()
    assert str(engine.endpoint.url).encode() not in payload
    assert inspect("evidence.json", payload, private_facts(store, [ended.run_id])) == ()


@pytest.mark.conformance("llama.cpp", "imitation")
def test_the_key_of_the_environment_goes_with_every_request_of_a_supervised_run(
    plan_folder: Path, store: EvidenceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    head = SMALL_PLAN.partition("instrument_check")[0].replace("model: none", "model: smollm2-135m-instruct-q4_1")
    path = plan_folder / "attached.yaml"
    with LlamaServer("m") as server:
        line = f"{{engine: llama.cpp, url: '{server.url}', served_as: m}}"
        path.write_text(f"{head}pipeline_check:\n  runs:\n    - {line}\n", encoding="utf-8")
        (ended,) = run_plan(load_plan(path), path, store)
    assert (ended.state, ended.reason) == (RunState.MEASURED, None)
    assert {asked.key for asked in server.asked} == {f"Bearer {KEY}"}
    assert store.read(ended.run_id).levels[0].outcomes == {Outcome.SUCCESS: 4}
