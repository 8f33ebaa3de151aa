"""TensorRT-LLM: exact commands, what its config file says, and its dialect against an imitation (grade synthetic)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import yaml

from lab.conditions import Condition
from lab.engines import adapter_for
from lab.engines.base import Launch, Place
from lab.engines.contract import read_contract
from lab.engines.parsers import PARSERS
from lab.engines.trtllm import CONFIG_FILE, EXAMPLES_VARIABLE, START_REPORT
from lab.errors import ParamsError
from lab.load.prompts import PATHS
from lab.records import How, Outcome
from lab.spec import Quantization, RunSpec
from lab.watch import read_metrics
from tests.engines.imitations.trtllm import FIELDS, TrtLlmImitation
from tests.engines.load_once import once
from tests.engines.qwen3 import MODEL, qwen3

PYTORCH = (
    "trtllm-serve <model> --served_model_name Qwen3-8B --host 127.0.0.1 --port <port> --config <config> "
    "--max_seq_len 4096 --max_batch_size 64 --max_num_tokens 8192 --enable_chunked_prefill --tp_size 1 --pp_size 1 "
    "--generation-config trtllm --tool_parser qwen3 --reasoning_parser qwen3 --no-telemetry"
)
PYTORCH_CONFIG = """
cuda_graph_config: {}
dtype: bfloat16
enable_iter_perf_stats: true
guided_decoding_backend: xgrammar
kv_cache_config: {dtype: auto, enable_block_reuse: false, max_tokens: 65536}
max_input_len: 4096
return_perf_metrics: true
speculative_config: null
torch_compile_config: null
"""
ENGINE = (
    "trtllm-serve <artefact> --tokenizer <model> --backend tensorrt --served_model_name Qwen3-8B --host 127.0.0.1 "
    "--port <port> --extra_llm_api_options <config>"
)
STEPS = (
    "python convert_checkpoint.py --model_dir <model> --output_dir <checkpoint> --dtype bfloat16 --tp_size 1 "
    "--pp_size 1",
    "trtllm-build --checkpoint_dir <checkpoint> --output_dir <artefact> --max_batch_size 64 --max_input_len 4096 "
    "--max_seq_len 4096 --max_num_tokens 8192 --max_beam_width 1 --workers 1",
)
PLACE = Place(Path("/models/qwen"), 8123, Path("/bundle"), artefact=Path("/cache/a"))


def rendered(engine: str, spec: RunSpec) -> Launch:
    return adapter_for(engine).render(spec, PLACE)


def dotted(tree: object, path: str = "") -> Iterator[str]:
    if not isinstance(tree, dict) or not tree:
        yield path
    else:
        for name, inner in tree.items():
            yield from dotted(inner, f"{path}.{name}" if path else str(name))


def test_the_pytorch_backend_is_launched_without_a_build() -> None:
    adapter, launch = adapter_for("trtllm"), rendered("trtllm", qwen3("trtllm"))
    assert " ".join(launch.shown) == PYTORCH
    assert yaml.safe_load(launch.files[CONFIG_FILE]) == yaml.safe_load(PYTORCH_CONFIG)
    assert launch.env["TRTLLM_STARTUP_PROFILE_OUTPUT"] == f"/bundle/{START_REPORT}"
    assert not adapter.has_build and adapter.build_steps(qwen3("trtllm"), PLACE) == ()


def test_the_engine_backend_serves_what_was_built() -> None:
    adapter, launch = adapter_for("trtllm-engine"), rendered("trtllm-engine", qwen3("trtllm-engine"))
    assert " ".join(launch.shown) == ENGINE
    assert launch.argv[1] == "/cache/a"
    assert launch.env == {"TRTLLM_NO_USAGE_STATS": "1"}
    assert adapter.has_build
    steps = adapter.build_steps(qwen3("trtllm-engine"), PLACE)
    assert tuple(" ".join(step.shown) for step in steps) == STEPS
    assert [step.makes for step in steps] == [
        (Path("/bundle/checkpoint"), ("config.json", "rank*.safetensors")),
        (Path("/cache/a"), ("config.json", "rank*.engine")),
    ]


SWITCHES = (None, True, False)


@pytest.mark.parametrize("engine", ["trtllm", "trtllm-engine"])
def test_every_option_and_every_config_path_is_one_the_transcription_names(engine: str) -> None:
    adapter = adapter_for(engine)
    assert adapter.surface == "unverified" and adapter.contract is not None
    contract = read_contract(adapter.contract)
    assert contract.read_from
    values: list[dict[str, object]] = [
        {"prefix_caching": cached, "chunked_prefill": chunked, "cuda_graphs": graphs, "torch_compile": compiled}
        for cached, chunked, graphs, compiled in product(SWITCHES, repeat=4)
    ]
    values += [
        {"memory_fraction": 0.5, "grammar_backend": "llguidance", "tensor_parallel": 2, "pipeline_parallel": 2},
        {"kv_cache_tokens": None, "max_num_seqs": None, "max_batched_tokens": None},
    ]
    if engine == "trtllm":
        values.append({"speculative": "ngram", "speculative_tokens": 4})
    for profile in values:
        launch = rendered(engine, qwen3(engine, profile))
        assert contract.problems(launch.argv[2:]) == (), profile
        assert set(dotted(yaml.safe_load(launch.files[CONFIG_FILE]))) <= set(contract.config), profile


def test_every_option_of_the_build_is_one_its_parsers_take() -> None:
    convert, build = adapter_for("trtllm-engine").build_steps(qwen3("trtllm-engine"), PLACE)
    assert read_contract("convert_checkpoint-1.2").problems(convert.argv[2:]) == ()
    assert read_contract("trtllm-build-1.2").problems(build.argv[1:]) == ()


def test_every_parser_name_of_the_table_is_one_of_its_command_line() -> None:
    contract = read_contract("trtllm-1.4")
    for engines in PARSERS.values():
        if parsers := engines.get("trtllm"):
            words = [] if parsers.tool is None else ["--tool_parser", parsers.tool]
            words += [] if parsers.reasoning is None else ["--reasoning_parser", parsers.reasoning]
            assert contract.problems(words) == ()


def test_one_switch_changes_one_place_of_the_config_file() -> None:
    on, off = (
        yaml.safe_load(rendered("trtllm", qwen3("trtllm", {"prefix_caching": value})).files[CONFIG_FILE])
        for value in (True, False)
    )
    assert on.pop("kv_cache_config") == off.pop("kv_cache_config") | {"enable_block_reuse": True}
    assert on == off


def test_a_kv_format_is_asked_for_or_said_to_be_out_of_reach() -> None:
    def kv(name: str) -> tuple[How, tuple[str, ...]]:
        quantization = Quantization(weights="BF16", activations="BF16", kv_cache=name)
        settings = rendered("trtllm", qwen3("trtllm", quantization=quantization)).settings
        found = next(setting for setting in settings if setting.condition is Condition.KV_CACHE_DTYPE)
        return found.how, found.words

    assert kv("FP8") == (How.SET, ('kv_cache_config.dtype="fp8"',))
    assert kv("BF16") == (How.SET, ('kv_cache_config.dtype="auto"',))
    assert kv("F32") == (How.NOT_EXPRESSIBLE, ())


def test_what_cannot_be_built_is_refused_with_a_reason() -> None:
    def refused(match: str, profile: dict[str, object] | None = None, **changes: object) -> None:
        with pytest.raises(ParamsError, match=match):
            rendered("trtllm-engine", qwen3("trtllm-engine", profile, **changes))

    refused("ModelOpt", quantization=Quantization(weights="FP8", activations="BF16", kv_cache="BF16"))
    refused(
        "compute format BF16, got FP8", quantization=Quantization(weights="BF16", activations="BF16", kv_cache="FP8")
    )
    refused("drafts", {"speculative": "ngram", "speculative_tokens": 4})
    with pytest.raises(ParamsError, match="speculative_tokens"):
        rendered("trtllm", qwen3("trtllm", {"speculative": "ngram"}))
    unknown = qwen3("trtllm-engine", model=MODEL.model_copy(update={"family": "gemma4"}))
    with pytest.raises(ParamsError, match="no conversion script is known for the parser family 'gemma4'"):
        adapter_for("trtllm-engine").build_steps(unknown, PLACE)


def test_the_conversion_script_is_looked_for_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXAMPLES_VARIABLE, "/opt/examples")
    step = adapter_for("trtllm-engine").build_steps(qwen3("trtllm-engine"), PLACE)[0]
    assert step.argv[1] == "/opt/examples/models/core/qwen/convert_checkpoint.py"


def test_the_version_of_what_builds_is_read_from_the_python_of_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = adapter_for("trtllm-engine")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "trtllm-serve and trtllm-build not found" in (adapter.installed() or "")
    metadata = tmp_path / "tensorrt_llm-1.2.1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: tensorrt_llm\nVersion: 1.2.1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for program in ("trtllm-serve", "trtllm-build"):
        (tmp_path / program).write_text(f"#!{sys.executable}\n")
        (tmp_path / program).chmod(0o755)
    assert adapter.installed() is None
    assert adapter.build_version() == "1.2.1"


def test_a_start_is_told_by_the_report_the_engine_wrote(tmp_path: Path) -> None:
    adapter = adapter_for("trtllm")
    assert adapter.phases_in(tmp_path) == ()  # an older release writes none

    def step(name: str, seconds: float, *children: dict[str, object]) -> dict[str, object]:
        return {"name": name, "start_offset_s": 0, "duration_s": seconds, "metadata": {}, "children": list(children)}

    warmup = step("executor.warmup.main_model", 6.0, step("executor.warmup.cuda_graphs", 2.5))
    report = {
        "schema_version": 1,
        "records": [step("serve.create_llm", 20.0, step("llm.load_tokenizer", 0.5))],
        "attached_profiles": {"executor": {"ranks": [{"records": [warmup, warmup]}, {"records": [warmup]}]}},
    }
    (tmp_path / START_REPORT).write_text(json.dumps(report))
    phases = adapter.phases_in(tmp_path)
    assert {phase.name: phase.seconds for phase in phases} == {
        "serve.create_llm": 20.0,
        "llm.load_tokenizer": 0.5,
        "executor.warmup.main_model": 12.0,  # twice on the first worker; the second one ran beside it
        "executor.warmup.cuda_graphs": 5.0,
    }
    assert {phase.source for phase in phases} == {"file"}
    (tmp_path / START_REPORT).write_text('{"records": [{"name": "cut"')
    assert adapter.phases_in(tmp_path) == ()


LOG = """
[TensorRT-LLM][INFO] KV cache block reuse is disabled
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.52 GiB for max tokens in paged KV cache (4224).
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache (220480).
[02/14/2025-09:38:53] [TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192
"""


def test_effective_values_are_read_from_its_log() -> None:
    with TrtLlmImitation() as imitation:
        found = {one.condition: one.value for one in adapter_for("trtllm").read_back(imitation.endpoint, LOG)}
    assert found == {
        Condition.KV_CACHE_TOKENS: 220480,  # the last: the first is an estimate's
        Condition.CONTEXT_LIMIT: 131072,
        Condition.MAX_NUM_SEQS: 2048,
        Condition.MAX_BATCHED_TOKENS: 8192,
        Condition.PREFIX_CACHING: False,
    }


@pytest.mark.parametrize(
    "line",
    [
        "[TRT-LLM] [RANK 1] [E] Failed to initialize executor on rank 1: "
        "Executor creation failed due to insufficient GPU memory.",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB.",
        "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory",
    ],
)
def test_too_little_memory_is_recognised_in_its_own_words(line: str) -> None:
    failure = adapter_for("trtllm").explain_end(f"loading\n{line}\nbye")
    assert failure is not None and "memory does not suffice" in failure.what


def test_it_is_ready_when_health_says_so_and_tells_its_version() -> None:
    adapter = adapter_for("trtllm")
    with TrtLlmImitation(ready=False) as imitation:
        assert not adapter.is_ready(imitation.endpoint)  # the port is open, every route answers 503
        assert adapter.version(imitation.endpoint) is None
        imitation.ready = True
        assert adapter.is_ready(imitation.endpoint)
        assert adapter.version(imitation.endpoint) == "1.4.0rc4"
        assert adapter.count_tokens(imitation.endpoint, "three plain words") == 3  # without the special token


def test_only_the_page_that_does_not_empty_is_scraped() -> None:
    adapter = adapter_for("trtllm")
    with TrtLlmImitation() as imitation:
        record = once(adapter, imitation, qwen3("trtllm"))
        assert record.outcome is Outcome.SUCCESS
        assert adapter.metrics_path == "/prometheus/metrics"
        pages = [imitation.endpoint.get(adapter.metrics_path).body.decode() for _ in range(2)]
        assert pages[0] == pages[1]
        names = {sample.name for sample in read_metrics(pages[0], 0.0)}
        assert {adapter.metric_names["running"], adapter.metric_names["prompt_tokens"]} <= names
        assert len(imitation.endpoint.get("/metrics").json()) == 1
        assert imitation.endpoint.get("/metrics").json() == []  # the first reader took it


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_request_carries_only_fields_its_protocol_knows(endpoint: str) -> None:
    spec = qwen3("trtllm", chat_template_kwargs={"enable_thinking": False})
    spec = spec.model_copy(update={"workload": spec.workload.model_copy(update={"endpoint": endpoint})})
    with TrtLlmImitation() as imitation:
        record = once(adapter_for("trtllm"), imitation, spec)
        assert (record.outcome, record.completion_tokens) == (Outcome.SUCCESS, record.asked_tokens)
        assert ("chat_template_kwargs" in imitation.asked[0]) == (endpoint == "chat")
        refused = imitation.endpoint.post(f"/v1{PATHS[endpoint]}", imitation.asked[0] | {"guided_json": {}})
        assert (refused.status, refused.json()["object"]) == (400, "error")
    assert "guided_json" not in FIELDS[f"/v1{PATHS[endpoint]}"]


def test_an_error_inside_a_stream_is_an_error() -> None:
    with TrtLlmImitation() as imitation:
        imitation.in_band_error = True
        record = once(adapter_for("trtllm"), imitation, qwen3("trtllm"))
    assert record.outcome is Outcome.IN_BAND_ERROR
