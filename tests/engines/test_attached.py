"""What the lab knows of engines that run already, tried on imitations of each dialect over real HTTP."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.endpoint import Endpoint
from lab.engines import GATEWAYS, Adapter, adapter_for
from lab.engines.attached import declare, disagreements, unseen
from lab.engines.attachment import EngineAttachment, find_fault, is_here
from lab.errors import EndpointError, EngineDied, EngineError, ParamsError
from lab.load.answer import error_words
from lab.load.driver import LevelJob, LoadJob, run_load
from lab.load.ladder import build_levels
from lab.plan import load_plan
from lab.records import ChunkKind, How, Outcome, RequestRecord
from lab.spec import RunSpec, Workload
from lab.watch import read_metrics
from tests.engines.imitations import engines, gateways
from tests.engines.imitations.base import BREAK, NATURAL_END, THINK, Imitation

IMITATIONS: tuple[type[Imitation], ...] = (
    engines.Vllm,
    engines.TrtLlm,
    engines.TrtLlmEngine,
    engines.Sglang,
    engines.Atlas,
    engines.LlamaServer,
    engines.Ollama,
    engines.Tgi,
    engines.Nim,
    gateways.Litellm,
    gateways.Triton,
    gateways.RayServe,
    gateways.Kserve,
    gateways.Bentoml,
)
VERSIONS = {
    "vllm": "0.32.0",
    "trtllm": "1.4.0rc4",
    "trtllm-engine": "1.2.1",
    "sglang": "0.5.23",
    "llama.cpp": "b11434-g515e85511",
    "ollama": "0.33.0",
    "tgi": "3.3.7",
    "nim": "2.1.6",
}
GATEWAY_VERSIONS = {"litellm": "1.80.0", "kserve": "0.21.0"}
TOKENS = 8


def adapter_of(key: str) -> Adapter:
    """The adapter of an imitation: an engine's own, or llama.cpp behind a gateway."""
    if key in GATEWAYS:
        return adapter_for("llama.cpp", attached=True, gateway=key)
    return adapter_for(key, attached=True, behind="vllm" if key == "nim" else None)


def speaking(needs: str = "") -> pytest.MarkDecorator:
    """One case for each imitation that has what is needed; what passes is what `lab engines` says."""
    cases = [
        pytest.param(imitation, id=imitation.key, marks=pytest.mark.conformance(imitation.key, "imitation"))
        for imitation in IMITATIONS
        if not needs or getattr(imitation, needs)
    ]
    return pytest.mark.parametrize("imitation", cases)


@pytest.fixture
def spec(plan_folder: Path) -> RunSpec:
    """A run of an engine that serves the model as `m`."""
    planned = load_plan(plan_folder / "harness-check.yaml").pick("llama.cpp", "prefix-cache-on")
    return planned.spec.model_copy(update={"attached": True, "served_as": "m"})


@speaking()
def test_it_is_ready_when_its_own_readiness_says_so(imitation: type[Imitation]) -> None:
    adapter = adapter_of(imitation.key)
    with imitation(loading=True) as server:
        early = adapter.is_ready(Endpoint(server.url))
        server.become_ready()
        with EngineAttachment(adapter, server.url) as engine:
            assert engine.wait_ready() >= engine.launched_s
        assert early == (imitation is engines.Ollama)  # which loads a model only when it is asked


@speaking()
def test_it_says_its_version_and_behind_a_gateway_only_the_gateway_does(imitation: type[Imitation]) -> None:
    adapter = adapter_of(imitation.key)
    with imitation() as server:
        assert adapter.version(Endpoint(server.url)) == VERSIONS.get(imitation.key)
        assert adapter.gateway_version(Endpoint(server.url)) == GATEWAY_VERSIONS.get(imitation.key)


@speaking()
def test_a_small_run_is_read_as_its_dialect_means_it(imitation: type[Imitation], spec: RunSpec) -> None:
    adapter = adapter_of(imitation.key)
    exact = not adapter.length_fields(TOKENS, exact=True).not_expressible
    with imitation() as server:
        plain, broken, thinking = small_run(adapter, server, spec, exact)
        assert not [asked.path for asked in server.asked if asked.path == "/health"]
    assert {record.outcome for record in plain} == {Outcome.SUCCESS}
    assert {record.completion_tokens for record in plain} == {TOKENS if exact else NATURAL_END}
    assert {record.finish_reason for record in plain} == {"length" if exact else "stop"}
    tokens = [kind for kind in plain[0].chunk_kind if kind.bears_token]
    assert tokens == [ChunkKind.CONTENT] * len(tokens)
    assert (plain[0].chunk_kind[0] is ChunkKind.ROLE) == (imitation.role is not None)
    # Ollama masks an error: the missing end is the only sign
    assert broken.outcome is (Outcome.TRUNCATED if imitation is engines.Ollama else Outcome.IN_BAND_ERROR)
    if imitation.reasoning_field is not None:
        thought = [kind for kind in thinking.chunk_kind if kind.bears_token][:3]
        assert thought == [ChunkKind.REASONING, ChunkKind.REASONING, ChunkKind.CONTENT]


@speaking()
def test_what_it_is_sent_it_takes_and_what_it_lacks_is_said(imitation: type[Imitation], spec: RunSpec) -> None:
    adapter = adapter_of(imitation.key)
    sent = {**adapter.sampling_fields(spec.sampling).body, **adapter.length_fields(TOKENS, exact=True).body}
    unsaid = adapter.sampling_fields(spec.sampling).not_expressible + adapter.length_fields(4, True).not_expressible
    with imitation() as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **sent}
        assert Endpoint(server.url).post(adapter.api_path + "/chat/completions", body).status == 200
    if imitation.key in ("ollama", "tgi"):
        assert set(unsaid) == {"top_k", "min_p", "repetition_penalty", "exact_output"}
        assert not {"max_completion_tokens", "ignore_eos", "min_tokens"} & set(sent)


@speaking("metrics_path")
def test_its_metrics_page_holds_what_the_adapter_looks_for(imitation: type[Imitation]) -> None:
    adapter = adapter_of(imitation.key)
    assert adapter.metrics_path == imitation.metrics_path
    with imitation() as server:
        page = Endpoint(server.url).get(imitation.metrics_path or "").body.decode()
    assert {sample.name for sample in read_metrics(page, 0.0)} >= set(adapter.metric_names.values())


@speaking()
def test_its_tokenizer_counts_where_it_has_one(imitation: type[Imitation]) -> None:
    adapter = adapter_of(imitation.key)
    with imitation() as server:
        count = adapter.count_tokens(Endpoint(server.url), "one two three")
    assert count == (None if imitation.key in {"ollama", *GATEWAYS} else 3)


@speaking()
def test_the_context_limit_is_read_back_where_it_is_shown(imitation: type[Imitation]) -> None:
    adapter = adapter_of(imitation.key)
    with imitation() as server:
        ask(server, adapter)  # Ollama has nothing to show before
        shown = {fact.condition: fact.value for fact in adapter.read_back(Endpoint(server.url), "")}
    silent = {"trtllm", "trtllm-engine", "atlas", *GATEWAYS}  # some tell it in their log, which others have
    assert shown.get("context_limit") == (None if imitation.key in silent else 4096)


@speaking()
def test_the_right_server_has_no_fault_and_another_model_is_named(imitation: type[Imitation], spec: RunSpec) -> None:
    adapter = adapter_of(imitation.key)
    gateway = imitation.key if imitation.key in GATEWAYS else None
    behind = {"nim": "vllm", "ollama": "llama.cpp"}.get(imitation.key)
    engine = "llama.cpp" if gateway else imitation.key
    run = spec.model_copy(update={"engine": engine, "gateway": gateway, "behind": behind})
    with imitation() as server:
        assert find_fault(adapter, Endpoint(server.url), run) is None
        fault = find_fault(adapter, Endpoint(server.url), run.model_copy(update={"served_as": "other"}))
    assert fault is not None
    assert "does not serve 'other'; it serves: m" in fault.what
    assert "served_as: m" in (fault.next_step or "")


def test_a_field_that_a_strict_engine_does_not_know_is_refused_in_words_the_lab_can_read() -> None:
    with engines.TrtLlm() as server:
        body = {"model": "m", "messages": [], "frobnicate": 1}
        answer = Endpoint(server.url).post("/v1/chat/completions", body)
    assert answer.status == 400
    assert error_words(answer.body) == "Extra inputs are not permitted: frobnicate"


def test_another_engine_than_the_plan_names_is_found_out_by_its_own_words(spec: RunSpec) -> None:
    with engines.Sglang() as server:
        adapter = adapter_for("llama.cpp", attached=True)
        answers = Endpoint(server.url)
        fault = find_fault(adapter, answers, spec)
    assert fault is not None
    assert "served by sglang; the plan names llama.cpp" in fault.what


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (401, "it wants an API key"),
        (404, "which is not how llama.cpp says that it is ready"),
    ],
)
def test_a_server_that_is_not_the_one_gets_a_sentence(reply: int, words: str, spec: RunSpec) -> None:
    class Other(engines.LlamaServer):
        ready = replace(engines.LlamaServer.ready, status=reply)

    with Other() as server:
        fault = find_fault(adapter_for("llama.cpp", attached=True), Endpoint(server.url), spec)
    assert fault is not None
    assert words in fault.what


def test_nobody_at_the_url_gets_a_sentence_with_the_next_step(spec: RunSpec) -> None:
    server = engines.Vllm(loading=True)  # which has a port and does not listen yet
    fault = find_fault(adapter_for("llama.cpp", attached=True), Endpoint(server.url), spec)
    assert fault is not None
    assert "nothing answers for llama.cpp" in fault.what
    assert "connection refused" in fault.what
    assert "correct its url" in (fault.next_step or "")


def test_an_engine_that_goes_away_is_noticed_and_none_is_ever_stopped() -> None:
    adapter = adapter_for("llama.cpp", attached=True)
    with engines.LlamaServer() as server:
        with EngineAttachment(adapter, server.url + "/v1/") as engine:
            engine.check_alive("while idle")
        assert adapter.is_ready(engine.endpoint)  # leaving it stopped nothing
    with pytest.raises(EngineDied, match=r"was not ready under load: .*connection refused"):
        engine.check_alive("under load")
    assert (engine.log(), engine.pid) == ("", None)


def test_the_process_behind_a_local_url_is_found_so_that_it_can_be_watched() -> None:
    with engines.LlamaServer() as server:
        assert EngineAttachment(adapter_for("llama.cpp", attached=True), server.url).pid == os.getpid()
        through = adapter_for("llama.cpp", attached=True, gateway="litellm")
        assert EngineAttachment(through, server.url).pid is None  # it would be the gateway's


def test_an_engine_that_is_never_ready_ends_the_wait_with_what_it_answers() -> None:
    class Hasty(type(adapter_for("llama.cpp", attached=True))):  # type: ignore[misc]  # a class of a table entry
        start_limit_s = 0.05

    with engines.LlamaServer(loading=True) as server:
        engine = EngineAttachment(Hasty(), server.url)
        with pytest.raises(EngineError, match=r"not ready within 0\.05 s: /health answers HTTP 503"):
            engine.wait_ready()


def test_the_key_of_the_environment_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-the-team")
    adapter = adapter_for("llama.cpp", attached=True)
    with engines.LlamaServer() as server, EngineAttachment(adapter, server.url) as engine:
        engine.wait_ready()
        assert server.asked[-1].key == "Bearer sk-a-secret-of-the-team"
    with pytest.raises(EngineDied) as death:
        engine.check_alive("afterwards")
    assert "secret" not in str(death.value)


@pytest.mark.parametrize("url", ["http://user:word@host:8000", "http://host:8000/v1?api_key=abc", "host:8000"])
def test_a_url_holds_an_address_and_nothing_else(url: str) -> None:
    with pytest.raises(EndpointError):
        EngineAttachment(adapter_for("llama.cpp", attached=True), url)


def test_the_base_path_belongs_to_the_gateway_however_the_url_was_typed() -> None:
    adapter = adapter_for("llama.cpp", attached=True, gateway="kserve")
    for typed in ("http://h:1", "http://h:1/", "http://h:1/openai/v1", "http://h:1/openai/v1/"):
        assert EngineAttachment(adapter, typed).endpoint.url == "http://h:1"
    assert EngineAttachment(adapter, "http://h:1/team/openai/v1").endpoint.url == "http://h:1/team"


@pytest.mark.parametrize(
    ("url", "here"), [("http://127.0.0.1:1", True), ("http://[::1]:1", True), ("http://h:1", False)]
)
def test_only_the_loopback_interface_is_here(url: str, here: bool) -> None:
    assert is_here(url) is here


@pytest.mark.parametrize(
    ("name", "more", "words", "next_step"),
    [
        ("litellm", {"attached": True}, "the engine behind has to be named", "engine: vllm, gateway: litellm, url:"),
        ("ollama", {}, "no launcher for Ollama", "engine: ollama, url: http"),
        ("nim", {"attached": True}, "does not say which", "engine: nim, behind: vllm, url: http"),
        ("nim", {"attached": True, "behind": "tgi"}, "the plan says tgi", "behind: vllm"),
        ("tgi", {"attached": True, "behind": "vllm"}, "tgi is not a packaging of vllm", "take 'behind' out"),
    ],
)
def test_what_cannot_be_attached_is_refused_with_the_right_form(
    name: str, more: dict[str, Any], words: str, next_step: str
) -> None:
    with pytest.raises(ParamsError, match=words) as refusal:
        adapter_for(name, **more)
    assert next_step in (refusal.value.next_step or "")


def test_an_attached_run_declares_what_the_plan_says_and_nothing_else(spec: RunSpec) -> None:
    adapter = adapter_for("llama.cpp", attached=True)
    launch = declare(adapter, spec, "http://127.0.0.1:1")
    how = {setting.condition: setting.how for setting in launch.settings}
    assert launch.shown == ("attached", "<url>")
    assert how["max_num_seqs"] is How.DECLARED
    assert how["max_batched_tokens"] is How.LEFT  # nobody says it
    assert how["tensor_parallel"] is How.LEFT  # a profile's default is said by nobody
    assert how["metrics"] is How.LEFT  # the lab wants it, whoever launched it decided it
    assert how["seed"] is How.REQUEST
    assert not [setting.words for setting in launch.settings if setting.words]


def test_what_a_launch_would_refuse_is_no_reason_not_to_look_at_a_running_engine(spec: RunSpec) -> None:
    odd = spec.quantization.model_copy(update={"kv_cache": "Q3_K"})
    launch = declare(adapter_for("vllm", attached=True), spec.model_copy(update={"quantization": odd}), "http://h:1")
    (kv,) = [setting for setting in launch.settings if setting.condition == "kv_cache_dtype"]
    assert kv.how is How.NOT_EXPRESSIBLE
    assert "no KV cache format Q3_K" in (kv.note or "")


def test_a_declared_value_that_the_engine_contradicts_is_said(spec: RunSpec) -> None:
    adapter = adapter_for("llama.cpp", attached=True)
    profile = spec.profile.model_copy(update={"max_num_seqs": 2})
    with engines.LlamaServer() as server:
        effective = adapter.read_back(Endpoint(server.url), "")
    settings = declare(adapter, spec.model_copy(update={"profile": profile}), server.url).settings
    assert "max_num_seqs: declared 2, the running engine shows 4 (/props total_slots)" in disagreements(
        settings, effective
    )


def test_the_quantization_that_ollama_states_is_held_against_the_plan(spec: RunSpec) -> None:
    with engines.Ollama() as server:
        said = unseen(adapter_for("ollama", attached=True), Endpoint(server.url), spec)
    assert said[1] == "weights: declared Q4_1, the running engine says Q4_K_M"


# --- helpers of this file ----------------------------------------------------------------------------------


def ask(server: Imitation, adapter: Adapter) -> None:
    """One request, as short as it gets."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
    assert Endpoint(server.url).post(adapter.api_path + "/chat/completions", body).status == 200


def small_run(
    adapter: Adapter, server: Imitation, spec: RunSpec, exact: bool
) -> tuple[list[RequestRecord], RequestRecord, RequestRecord]:
    """Two plain requests, one that breaks and one that thinks, through the lab's own load processes."""
    workload = Workload(
        name="small", endpoint="chat", input_tokens=8, output_tokens=TOKENS, exact_output=exact, concurrency=(2,),
        requests_per_level=2, warmup_requests=0, timeout_s=30, seed=1,
    )  # fmt: skip
    fields = adapter.sampling_fields(spec.sampling).body | adapter.length_fields(TOKENS, exact).body
    (plain,) = build_levels(workload, model="m", fields=fields)
    whole = json.loads(plain.job.bodies[0])
    marked = []
    for mark in (BREAK, THINK):
        whole["messages"] = [{"role": "user", "content": mark}]
        marked.append(json.dumps(whole).encode())
    special = LevelJob(concurrency=1, bodies=tuple(marked), asked_tokens=TOKENS, exact=exact)
    url = EngineAttachment(adapter, server.url).endpoint.url + adapter.api_path
    result = run_load(LoadJob(url=url, path="/chat/completions", levels=(plain.job, special), timeout_s=30))
    return list(result.records[:2]), result.records[2], result.records[3]
