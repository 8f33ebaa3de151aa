"""A real llama.cpp server that runs already: attached directly, and through a proxy that stands in for a gateway."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.engines import Adapter, adapter_for
from lab.engines.attached import declare, disagreements
from lab.engines.attachment import EngineAttachment, find_fault
from lab.engines.base import Place
from lab.engines.process import EngineProcess, free_port
from lab.load.driver import LoadJob, run_load
from lab.load.ladder import build_levels
from lab.params import PARAMS_FOLDER
from lab.plan import find_weights, load_plan
from lab.records import Outcome, RequestRecord
from lab.spec import RunSpec
from tests.engines.imitations.proxy import Proxy

PLANNED = load_plan(PARAMS_FOLDER / "harness-check.yaml").pick("llama.cpp", "prefix-cache-on")
SPEC = PLANNED.spec.model_copy(update={"attached": True})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a llama.cpp server with four slots of 1024 tokens."""
    adapter, port = adapter_for("llama.cpp"), free_port()
    folder = tmp_path_factory.mktemp("engine")
    launch = adapter.render(PLANNED.spec, Place(find_weights(PLANNED), port, folder))
    with EngineProcess(adapter, launch, port, folder / "engine.log") as engine:
        engine.wait_ready()
        yield engine.endpoint.url


def drive(adapter: Adapter, url: str, spec: RunSpec) -> tuple[RequestRecord, ...]:
    """Two short requests of an exact length through the lab's own load processes."""
    few = {"concurrency": (2,), "requests_per_level": 2, "warmup_requests": 0, "output_tokens": 5}
    workload = spec.workload.model_copy(update=few)
    fields = adapter.sampling_fields(spec.sampling).body | adapter.length_fields(5, exact=True).body
    (level,) = build_levels(workload, model=adapter.served_name(spec), fields=fields)
    return run_load(LoadJob(url=url + adapter.api_path, path="/chat/completions", levels=(level.job,))).records


@pytest.mark.conformance("llama.cpp", "real")
def test_a_running_llama_server_is_attached_read_back_and_driven(running: str) -> None:
    adapter = adapter_for("llama.cpp", attached=True)
    with EngineAttachment(adapter, running) as engine:
        engine.wait_ready()
        assert find_fault(adapter, engine.endpoint, SPEC) is None
        shown = {fact.condition: fact.value for fact in adapter.read_back(engine.endpoint, engine.log())}
        records = drive(adapter, engine.endpoint.url, SPEC)
        assert adapter.count_tokens(engine.endpoint, "one two three") == 3
    assert (shown["max_num_seqs"], shown["context_limit"]) == (4, 1024)
    assert [(record.outcome, record.completion_tokens) for record in records] == [(Outcome.SUCCESS, 5)] * 2


@pytest.mark.conformance("llama.cpp", "real")
def test_what_was_declared_is_held_against_what_the_real_server_shows(running: str) -> None:
    adapter = adapter_for("llama.cpp", attached=True)
    profile = SPEC.profile.model_copy(update={"max_num_seqs": 8})
    launch = declare(adapter, SPEC.model_copy(update={"profile": profile}), running)
    with EngineAttachment(adapter, running) as engine:
        said = disagreements(launch.settings, adapter.read_back(engine.endpoint, ""))
    assert said == ("max_num_seqs: declared 8, the running engine shows 4 (/props total_slots)",)


@pytest.mark.conformance("llama.cpp", "real")
def test_an_engine_of_another_name_is_found_out_by_the_real_servers_own_words(running: str) -> None:
    adapter = adapter_for("vllm", attached=True)
    spec = SPEC.model_copy(update={"engine": "vllm"})
    with EngineAttachment(adapter, running) as engine:
        fault = find_fault(adapter, engine.endpoint, spec)
    assert fault is not None
    assert "served by llama.cpp; the plan names vllm" in fault.what


@pytest.mark.conformance("litellm", "imitation")
def test_through_a_gateway_the_load_passes_and_the_rest_is_not_exposed(running: str) -> None:
    adapter = adapter_for("llama.cpp", attached=True, gateway="litellm")
    spec = SPEC.model_copy(update={"gateway": "litellm"})
    with Proxy(running) as proxy, EngineAttachment(adapter, proxy.url) as engine:
        engine.wait_ready()
        assert find_fault(adapter, engine.endpoint, spec) is None
        records = drive(adapter, engine.endpoint.url, spec)
        assert adapter.gateway_version(engine.endpoint) == "1.80.0"
        assert adapter.version(engine.endpoint) is None
        assert adapter.read_back(engine.endpoint, "") == ()
        assert adapter.count_tokens(engine.endpoint, "one two") is None
    assert adapter.metrics_path is None
    assert [(record.outcome, record.completion_tokens) for record in records] == [(Outcome.SUCCESS, 5)] * 2
    assert set(proxy.passed) == {"/v1/models", "/v1/chat/completions"}
