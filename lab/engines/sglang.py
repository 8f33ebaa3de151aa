"""SGLang: `sglang serve`.

Written for 0.5.23: options by its own parser, messages and endpoints by its source.
Not covered: it has not been launched through this adapter; its wheels need a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from lab.conditions import Condition, Value, Wanted, wanted
from lab.endpoint import Endpoint
from lab.engines.base import (
    HOST,
    Adapter,
    Command,
    Expressed,
    Fields,
    Place,
    by_argv,
    by_request,
    failure,
    flag_value,
    left,
)
from lab.engines.parsers import parser_words
from lab.errors import EndpointError, ParamsError
from lab.programs import find_program, missing_program
from lab.records import Effective, Phase
from lab.spec import RunSpec, Sampling

VARIABLE = "LAB_SGLANG"
INSTALLATIONS = ("sglang",)

KV_FORMATS = {
    "BF16": "bfloat16",
    "FP8": "fp8_e4m3",
    "FP8_E4M3": "fp8_e4m3",
    "FP8_E5M2": "fp8_e5m2",
    "NVFP4": "nvfp4",
}
"""The lab's name of a KV format → SGLang's. F16 has none: it is `auto` with float16 activations."""
KV_NAMES = {"bfloat16": "BF16", "bf16": "BF16", "float16": "F16", "float32": "F32", "nvfp4": "NVFP4"} | {
    "fp8_e4m3": "FP8",
    "float8_e4m3fn": "FP8",
    "fp8_e5m2": "FP8_E5M2",
    "float8_e5m2": "FP8_E5M2",
}
"""SGLang's and torch's names of a KV format → the lab's."""

LOG_LIMITS = re.compile(
    r"max_total_num_tokens=(\d+), chunked_prefill_size=(\S+), max_prefill_tokens=(\d+), "
    r"max_running_requests=(\d+), context_len=(\d+)"
)


class Sglang(Adapter):
    """Serve-centred; no build step."""

    key = "sglang"
    default_port = 30000
    surface = "parser"
    contract = "sglang-0.5.23"
    versions = ("0.5.23", "0.5.24")
    ready_path = "/ready"  # /health generates a token and takes a second
    metrics_path = "/metrics"
    metric_names: ClassVar[Mapping[str, str]] = {
        "running": "sglang:num_running_reqs",
        "waiting": "sglang:num_queue_reqs",
        "kv_use": "sglang:token_usage",
        "prefix_hits": "sglang:cached_tokens_total",
        "prefix_queries": "sglang:prompt_tokens_total",
        "preemptions": "sglang:num_retracted_requests_total",
        "generated_tokens": "sglang:generation_tokens_total",
        "prompt_tokens": "sglang:prompt_tokens_total",
    }
    start_limit_s = 1800.0
    start_idle_limit_s = 600.0  # it builds kernels without a word
    sampling_names: ClassVar[Mapping[str, str]] = {
        # a request's seed is taken and has no effect without --enable-deterministic-inference
        name: name
        for name in Adapter.sampling_names
        if name != "seed"
    }
    cache_variables: ClassVar[Mapping[str, str]] = {
        "SGLANG_CACHE_DIR": "sglang",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "CUDA_CACHE_PATH": "cuda",
        "TILELANG_CACHE_DIR": "tilelang",
        "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    }
    failures = (
        failure(
            r"Loaded weights leave no GPU memory for the KV cache|Not enough memory\. Please try to increase "
            r"--mem-fraction-static",
            "the weights leave no GPU memory for the KV cache",
            "raise memory_fraction or tensor_parallel, or take smaller weights",
        ),
        failure(
            r"Capture (prefill )?cuda graph failed",
            "it could not record its CUDA graphs, usually because the GPU ran out of memory",
            "lower memory_fraction or max_num_seqs; cuda_graphs: false records none",
        ),
        failure(
            r"CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory|(Prefill|Decode) out of memory",
            "the GPU ran out of memory",
            "lower memory_fraction, kv_cache_tokens, max_num_seqs or max_batched_tokens",
        ),
        failure(
            r"context_length \(\d+\) is greater than the derived context_length",
            "the model is not made for sequences as long as context_limit",
            "lower context_limit",
        ),
        failure(
            r"address already in use|Port is already in use",
            "the port is taken by another program",
            "choose another port, or stop that program",
        ),
        failure(
            r"Repo id must be in the form",
            "SGLang finds no model at the path it was given",
            "the folder needs a config.json, a tokenizer and safetensors: correct 'path' in the model file",
        ),
        failure(
            r"Invalid quantization method|Invalid quantization choice",
            "this SGLang cannot serve this quantization on this hardware",
            "take weights of another quantization, or another GPU",
        ),
        failure(
            r"error: unrecognized arguments|error: argument .*: invalid choice",
            "this SGLang does not know an option or a value that the lab gives it",
            "it is another version than the lab was written for: install one that `lab engines sglang` names",
        ),
    )

    def installed(self) -> str | None:
        if find_program(VARIABLE, INSTALLATIONS, "sglang") is not None:
            return None
        return missing_program(
            "SGLang", VARIABLE, "sglang", "with a GPU: pip install sglang, in an environment of its own"
        )

    def refuse(self, spec: RunSpec) -> None:
        super().refuse(spec)
        profile = spec.profile
        where = f"profile {profile.name}"
        if profile.kv_cache_tokens is not None and profile.kv_cache_tokens < spec.context_limit:
            raise ParamsError(
                f"{where}: {profile.kv_cache_tokens} kv_cache_tokens cannot hold one sequence of context_limit "
                f"{spec.context_limit}"
            )
        if profile.speculative == "ngram" and profile.speculative_tokens is None:
            raise ParamsError(f"{where}: SGLang needs speculative_tokens with speculative: ngram")

    def base(self, spec: RunSpec, place: Place) -> Command:
        program = find_program(VARIABLE, INSTALLATIONS, "sglang") or "sglang"
        return (
            Command()
            .add(program, "serve", shown=("sglang", "serve"))
            .add("--model-path", place.weights, shown=("--model-path", "<model>"))
            .add("--served-model-name", self.served_name(spec))
            .add("--host", HOST)
            .add("--port", place.port, shown=("--port", "<port>"))
        )

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        profile = spec.profile
        match want.condition:
            case Condition.COMPUTE_DTYPE:
                return flag_value(want, "--dtype", "that of the checkpoint")
            case Condition.KV_CACHE_DTYPE:
                return _kv_format(want, spec)
            case Condition.CONTEXT_LIMIT:
                return by_argv("--context-length", want.value)
            case Condition.KV_CACHE_TOKENS:
                if want.value is None:
                    return left("what memory_fraction leaves behind the weights")
                return by_argv("--max-total-tokens", want.value, note="a cap: where memory holds less, it takes less")
            case Condition.MEMORY_FRACTION:
                return flag_value(want, "--mem-fraction-static", "computed; weights and KV cache together")
            case Condition.MAX_NUM_SEQS:
                return flag_value(want, "--max-running-requests", "derived from the KV cache")
            case Condition.MAX_BATCHED_TOKENS:
                if want.value is None:
                    return left("16384, and chunks by the GPU's memory")
                chunk = () if profile.chunked_prefill is False else ("--chunked-prefill-size", want.value)
                return by_argv(
                    "--max-prefill-tokens",
                    want.value,
                    *chunk,
                    note="counts prompts only: its decode steps are batches of their own",
                )
            case Condition.CHUNKED_PREFILL:
                if want.value is False:
                    return by_argv("--chunked-prefill-size", -1)
                if profile.max_batched_tokens is not None:
                    return left("on: max_batched_tokens sets the size of a chunk")
                return left("on, chunks of 2048 to 16384 tokens by the GPU's memory")
            case Condition.PREFIX_CACHING:
                return by_argv("--disable-radix-cache") if want.value is False else left("on")
            case Condition.SPECULATIVE:
                if want.value == "off":
                    return left("off: it drafts only when it is told how")
                drafted = profile.speculative_tokens
                return by_argv("--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", drafted)
            case Condition.CUDA_GRAPHS:
                if want.value is None:
                    return left("on, for batches up to a size it takes from the GPU's memory")
                if want.value:
                    return by_argv("--cuda-graph-backend-decode", "full")
                return by_argv("--cuda-graph-backend-decode", "disabled", "--cuda-graph-backend-prefill", "disabled")
            case Condition.TORCH_COMPILE:
                return by_argv("--enable-torch-compile") if want.value else left("off")
            case Condition.TENSOR_PARALLEL:
                return by_argv("--tp-size", want.value)
            case Condition.PIPELINE_PARALLEL:
                return by_argv("--pp-size", want.value)
            case Condition.SAMPLING_DEFAULTS:
                return by_argv("--sampling-defaults", "openai")
            case Condition.SEED:
                return by_argv("--random-seed", want.value, note="a request's own seed has no effect on it")
            case Condition.CHAT_TEMPLATE:
                if place.chat_template is not None:
                    return by_argv("--chat-template", place.chat_template)
                return left("the template inside the weights")
            case Condition.CHAT_TEMPLATE_KWARGS:
                return by_request()
            case Condition.TOOL_PARSER:
                return parser_words(want, self.key, "tool", "--tool-call-parser")
            case Condition.REASONING_PARSER:
                return parser_words(want, self.key, "reasoning", "--reasoning-parser")
            case Condition.GRAMMAR_BACKEND:
                return flag_value(want, "--grammar-backend", "xgrammar")
            case Condition.METRICS:
                return by_argv(
                    "--enable-metrics", "--enable-cache-report", note="the second has usage tell the cached tokens"
                )
            case Condition.REQUEST_LOG:
                return by_argv("--log-level-http", "warning", note="requests themselves are not logged unless asked")
            case Condition.TELEMETRY:
                return left("its source was searched and reports to nobody; DO_NOT_TRACK=1 is set all the same")

    def is_ready(self, endpoint: Endpoint) -> bool:
        """One look; a server without /ready answers on /health, which generates one token."""
        try:
            status = endpoint.get(self.ready_path, timeout_s=2.0).status
            if status == 404:
                status = endpoint.get("/health", timeout_s=10.0).status
        except EndpointError:
            return False
        return status == 200

    def sampling_fields(self, sampling: Sampling) -> Fields:
        """Its top_k is off at −1 and refuses 0, which is how the lab writes off."""
        fields = super().sampling_fields(sampling)
        return Fields(fields.body | {"top_k": sampling.top_k or -1}, fields.not_expressible)

    def phases(self, endpoint: Endpoint, log: str) -> tuple[Phase, ...]:
        """What /server_info tells of the start, durations of the slowest rank."""
        told = _info(endpoint).get("startup_time")
        if not isinstance(told, dict):
            return ()
        graphs = told.get("cuda_graph")
        each = {
            "load_weights": told.get("load_weight"),
            "allocate_kv_cache": told.get("kv_cache_allocation"),
            **{f"capture_graphs.{name}": seconds for name, seconds in (graphs or {}).items()},
            "scheduler": told.get("scheduler_e2e"),
            "tokenizer": told.get("tokenizer_e2e"),
        }
        return tuple(
            Phase(name=name, seconds=seconds, source="endpoint")
            for name, seconds in each.items()
            if isinstance(seconds, int | float) and seconds > 0  # it writes 0 for what it did not do
        )

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        found: dict[Condition, Effective] = {}
        for condition, value, source in (*_from_info(_info(endpoint)), *_from_log(log)):
            if value is not None:
                found.setdefault(condition, Effective(condition=condition, value=value, source=source))
        return tuple(found[condition] for condition in Condition if condition in found)

    def attention_backend(self, endpoint: Endpoint, log: str) -> str | None:
        found = _info(endpoint).get("attention_backend")
        return found if isinstance(found, str) else None

    def reset_cache(self, endpoint: Endpoint) -> bool | None:
        """True when it did; it refuses while requests are running or waiting."""
        return endpoint.post("/flush_cache", {}).status == 200

    def version(self, endpoint: Endpoint) -> str | None:
        version = _info(endpoint).get("version")
        return None if version is None else str(version)

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        answer = endpoint.post("/tokenize", {"prompt": text, "add_special_tokens": False}).json()
        count = answer.get("count") if isinstance(answer, dict) else None
        return count if isinstance(count, int) else None


Found = Iterator[tuple[Condition, Value | None, str]]
"""Condition, its value in the lab's words or None where it is not told, and where it was read."""


def _kv_format(want: Wanted, spec: RunSpec) -> Expressed:
    """The KV format in SGLang's word; one it has no word for is refused."""
    name = {"FP16": "F16"}.get(str(want.value).upper(), str(want.value).upper())
    dtype = next((w.value for w in wanted(spec) if w.condition is Condition.COMPUTE_DTYPE), None)
    if name == "F16" and dtype == "float16":
        return by_argv("--kv-cache-dtype", "auto", note="auto is the format of --dtype")
    if name not in KV_FORMATS:
        raise ParamsError(
            f"SGLang has no KV cache format {want.value} for activations in {spec.quantization.activations}; "
            f"it has: {', '.join(KV_FORMATS)}, and F16 with activations in F16"
        )
    return by_argv("--kv-cache-dtype", KV_FORMATS[name])


def _info(endpoint: Endpoint) -> dict[str, Any]:
    """/server_info, empty where the server does not give it."""
    try:
        answer = endpoint.get("/server_info", timeout_s=30.0)
    except EndpointError:
        return {}
    document = answer.json()
    return document if answer.status == 200 and isinstance(document, dict) else {}


def _from_info(info: dict[str, Any]) -> Found:
    """What /server_info tells: every resolved setting, and the state of the first scheduler."""
    if not info:
        return
    source = "/server_info"
    states = info.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    dtype = info.get("dtype")
    yield Condition.COMPUTE_DTYPE, dtype if dtype in ("bfloat16", "float16", "float32") else None, source
    yield Condition.KV_CACHE_DTYPE, KV_NAMES.get(str(info.get("kv_cache_dtype"))), source
    yield Condition.CONTEXT_LIMIT, info.get("context_length"), source
    yield Condition.KV_CACHE_TOKENS, info.get("max_total_num_tokens"), f"{source} max_total_num_tokens"
    yield Condition.MEMORY_FRACTION, info.get("mem_fraction_static"), source
    running = state.get("effective_max_running_requests_per_dp")
    yield Condition.MAX_NUM_SEQS, running, f"{source} effective_max_running_requests_per_dp"
    chunk = info.get("chunked_prefill_size")
    if isinstance(chunk, int):
        yield Condition.CHUNKED_PREFILL, chunk > 0, source
        step = chunk if chunk > 0 else info.get("max_prefill_tokens")
        yield Condition.MAX_BATCHED_TOKENS, step, f"{source}, prompts only"
    if isinstance(info.get("disable_radix_cache"), bool):
        yield Condition.PREFIX_CACHING, not info["disable_radix_cache"], source
    if "speculative_algorithm" in info:
        yield Condition.SPECULATIVE, str(info["speculative_algorithm"] or "off").lower(), source
    graphs = info.get("cuda_graph_config")
    if isinstance(graphs, dict) and isinstance(graphs.get("decode"), dict):
        yield Condition.CUDA_GRAPHS, graphs["decode"].get("backend") != "disabled", f"{source} cuda_graph_config"
    yield Condition.TORCH_COMPILE, info.get("enable_torch_compile"), source
    yield Condition.TENSOR_PARALLEL, info.get("tp_size"), source
    yield Condition.PIPELINE_PARALLEL, info.get("pp_size"), source
    if "sampling_defaults" in info:
        neutral = info["sampling_defaults"] == "openai"
        yield Condition.SAMPLING_DEFAULTS, "neutral" if neutral else "of the checkpoint", source
    yield Condition.SEED, info.get("random_seed"), source
    backend = info.get("grammar_backend")
    yield Condition.GRAMMAR_BACKEND, backend if backend in ("xgrammar", "llguidance") else None, source
    yield Condition.METRICS, info.get("enable_metrics"), source
    yield Condition.REQUEST_LOG, info.get("log_requests"), source


def _from_log(log: str) -> Found:
    """What it printed: the KV format it took where `auto` was asked, and its limits."""
    formats = re.findall(r"KV Cache (?:is allocated|VA upper bound)\. dtype: torch\.(\w+)", log)
    if formats:
        yield Condition.KV_CACHE_DTYPE, KV_NAMES.get(formats[0]), "log: KV Cache is allocated"
    limits = LOG_LIMITS.search(log)
    if limits:
        yield Condition.KV_CACHE_TOKENS, int(limits.group(1)), "log: max_total_num_tokens"
        yield Condition.MAX_NUM_SEQS, int(limits.group(4)), "log: max_running_requests"
        yield Condition.CONTEXT_LIMIT, int(limits.group(5)), "log: context_len"
