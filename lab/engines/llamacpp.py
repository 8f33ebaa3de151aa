"""llama.cpp: its llama-server, inside the `xllamacpp` wheel or as a program. Off the table: pipeline checks."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lab.conditions import Condition, Wanted
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
    flag_value,
    imposed,
    left,
    on_off,
)
from lab.errors import ParamsError
from lab.records import Effective, How, Phase
from lab.spec import RunSpec

PROGRAM_VARIABLE = "LAB_LLAMA_SERVER"
"""Names a llama-server program to launch in the place of the wheel's."""


def program() -> str | None:
    """The llama-server program to launch; None: the server inside the wheel.

    A program that is named is taken; one that merely lies on the PATH only where the wheel is not installed.
    """
    named = os.environ.get(PROGRAM_VARIABLE)
    if named:
        return named
    return None if _has_wheel() else shutil.which("llama-server")


LOG_LINE = re.compile(r"^(\d+)\.(\d{2})\.(\d{3})\.(\d{3}) .*init: (loading model|model loaded)$", re.M)
"""A line of its log that begins or ends a phase."""


class LlamaCpp(Adapter):
    """Launches `lab.engines.xllamacpp_server` or a llama-server program; the flags are the same."""

    key = "llama.cpp"
    default_port = 8080
    weights_formats = ("gguf",)
    metrics_path = "/metrics"
    metric_names: ClassVar[Mapping[str, str]] = {
        "running": "llamacpp:requests_processing",
        "waiting": "llamacpp:requests_deferred",
        "prompt_tokens": "llamacpp:prompt_tokens_total",
        "generated_tokens": "llamacpp:tokens_predicted_total",
    }
    start_limit_s = 120.0
    uses_gpu = False
    only_with = frozenset({"threads"})
    sampling_names: ClassVar[Mapping[str, str]] = {**Adapter.sampling_names, "repetition_penalty": "repeat_penalty"}

    def installed(self) -> str | None:
        native = program()
        if native is None and not _has_wheel():
            return (
                "llama.cpp is not installed here: neither the Python package xllamacpp nor a llama-server on the PATH; "
                "run: pip install xllamacpp"
            )
        if native is not None and shutil.which(native) is None:
            return f"{PROGRAM_VARIABLE} names {native}, which is no program here; correct it, or unset it"
        return None

    def computes_on_cpu(self) -> bool:
        return not self.is_native()

    def is_native(self) -> bool:
        """Whether the server is a build of its own, which may use GPUs; the wheel's runs on the CPU."""
        return program() is not None

    def refuse(self, spec: RunSpec) -> None:
        super().refuse(spec)
        slots, kv_tokens = _slots(spec), _kv_tokens(spec)
        if kv_tokens < spec.context_limit * slots:
            raise ParamsError(
                f"profile {spec.profile.name}: {kv_tokens} KV tokens over {slots} sequences give {kv_tokens // slots} "
                f"each, less than the context limit {spec.context_limit}"
            )

    def base(self, spec: RunSpec, place: Place) -> Command:
        native = program()
        wheel = ("-m", "lab.engines.xllamacpp_server")
        command = (
            Command().add(sys.executable, *wheel, shown=("python", *wheel))
            if native is None
            else Command().add(native, shown=("llama-server",))
        )
        return (
            command.add("-m", place.weights, shown=("-m", "<model>"))
            .add("--alias", self.served_name(spec))
            .add("--host", HOST)
            .add("--port", place.port, shown=("--port", "<port>"))
            .flag("-t", spec.profile.threads)
            .add("--fit", "off")  # would shrink what is not set, by what is free
            .add("--cache-ram", 0)  # no second cache behind the slots
        )

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        match want.condition:
            case Condition.COMPUTE_DTYPE:
                return imposed("ggml's kernels decide it by the format of the weights")
            case Condition.KV_CACHE_DTYPE:
                kind = spec.quantization.kv_cache.lower()
                return by_argv("-ctk", kind, "-ctv", kind)
            case Condition.CONTEXT_LIMIT:
                each = _kv_tokens(spec) // _slots(spec)
                return Expressed(How.SET, note=f"{each} tokens each: -c divided evenly over -np")
            case Condition.KV_CACHE_TOKENS:
                return by_argv("-c", _kv_tokens(spec))
            case Condition.MEMORY_FRACTION:
                return cannot("it takes tokens (-c), no share") if want.value is not None else left("-c is absolute")
            case Condition.MAX_NUM_SEQS:
                return by_argv("-np", _slots(spec))
            case Condition.MAX_BATCHED_TOKENS:
                return flag_value(want, "-b", "2048")
            case Condition.PREFIX_CACHING:
                return on_off(want, ("--cache-prompt",), ("--no-cache-prompt",), "on, for each slot")
            case Condition.CHUNKED_PREFILL:
                return imposed("prompts are always read in steps of -b tokens")
            case Condition.SPECULATIVE:
                return left("off without --spec-type") if want.value == "off" else cannot("no drafting is written here")
            case Condition.CUDA_GRAPHS if self.is_native():
                if want.value is False:
                    return by_env(GGML_CUDA_DISABLE_GRAPHS="1")
                return left("on where the build has CUDA")
            case Condition.CUDA_GRAPHS:
                return imposed("off: the wheel runs on the CPU")
            case Condition.TORCH_COMPILE:
                return imposed("off: it compiles nothing at start")
            case Condition.TENSOR_PARALLEL | Condition.PIPELINE_PARALLEL:
                if want.value != 1:
                    return cannot("it splits layers over the GPUs it sees, not ranks")
                return left("every GPU it sees holds some layers") if self.is_native() else imposed("1")
            case Condition.SAMPLING_DEFAULTS:
                return by_request(
                    "its own defaults (temperature 0.8, top_k 40, min_p 0.05) are overridden field by field"
                )
            case Condition.SEED:
                return by_request()
            case Condition.CHAT_TEMPLATE:
                if place.chat_template is not None:
                    return by_argv("--chat-template-file", place.chat_template)
                return left("the template inside the weights")
            case Condition.CHAT_TEMPLATE_KWARGS:
                return by_request()
            case Condition.TOOL_PARSER | Condition.REASONING_PARSER:
                return imposed("derived from the chat template")
            case Condition.GRAMMAR_BACKEND:
                return imposed("its own grammars (GBNF)")
            case Condition.METRICS:
                return by_argv("--metrics")
            case Condition.REQUEST_LOG:
                return left("off")
            case Condition.TELEMETRY:
                return imposed("off: it has none")

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        props = endpoint.get("/props").json()
        if not isinstance(props, dict):
            return ()
        generation = props.get("default_generation_settings")
        each = generation.get("n_ctx") if isinstance(generation, dict) else None
        slots = props.get("total_slots")
        found = []
        if isinstance(each, int):
            found.append(Effective(condition=Condition.CONTEXT_LIMIT, value=each, source="/props n_ctx"))
        if isinstance(slots, int):
            found.append(Effective(condition=Condition.MAX_NUM_SEQS, value=slots, source="/props total_slots"))
        if isinstance(each, int) and isinstance(slots, int):
            both = Effective(
                condition=Condition.KV_CACHE_TOKENS, value=each * slots, source="/props n_ctx × total_slots"
            )
            found.append(both)
        return tuple(found)

    def phases(self, endpoint: Endpoint, log: str) -> tuple[Phase, ...]:
        """Loading, between two of its own log lines; each begins with minutes, seconds, milli- and microseconds."""
        at: dict[str, float] = {}
        for minutes, seconds, milli, micro, words in LOG_LINE.findall(log):
            at.setdefault(words, int(minutes) * 60 + int(seconds) + int(milli) / 1e3 + int(micro) / 1e6)
        if "loading model" not in at or "model loaded" not in at:
            return ()
        return (Phase(name="load_model", seconds=at["model loaded"] - at["loading model"], source="log"),)

    def version(self, endpoint: Endpoint) -> str | None:
        build = _build(endpoint)
        if self.is_native():
            return build
        wheel = f"xllamacpp {importlib.metadata.version('xllamacpp')}"
        return wheel if build is None else f"{wheel} ({build})"

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        tokens = endpoint.post("/tokenize", {"content": text, "add_special": False}).json()
        return len(tokens["tokens"]) if isinstance(tokens, dict) and isinstance(tokens.get("tokens"), list) else None

    def chat_token_ids(
        self, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], spec: RunSpec
    ) -> tuple[int, ...] | None:
        body = {"messages": list(messages), **self.template_fields(spec).body}
        rendered = endpoint.post("/apply-template", body).json()
        prompt = rendered.get("prompt") if isinstance(rendered, dict) else None
        if not isinstance(prompt, str):
            return None
        answer = endpoint.post("/tokenize", {"content": prompt, "add_special": True, "parse_special": True}).json()
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        return tuple(tokens) if isinstance(tokens, list) and all(isinstance(token, int) for token in tokens) else None


class LlamaServer(LlamaCpp):
    """A llama-server that runs already: nothing on this machine says which, it has to say so itself."""

    def is_native(self) -> bool:
        return True


def _has_wheel() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def _build(endpoint: Endpoint) -> str | None:
    """Build number and commit as the server states them; None when it does not know."""
    props = endpoint.get("/props").json()
    build = props.get("build_info") if isinstance(props, dict) else None
    return build if isinstance(build, str) and build and "unknown" not in build else None


def _slots(spec: RunSpec) -> int:
    return spec.profile.max_num_seqs or 1


def _kv_tokens(spec: RunSpec) -> int:
    """-c is the KV budget of the whole server, divided evenly over its slots."""
    return spec.profile.kv_cache_tokens or spec.context_limit * _slots(spec)
