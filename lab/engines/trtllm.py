"""TensorRT-LLM, both ways it serves: the PyTorch backend without a build, and up to 1.2 the engine backend with one.

Sources: the project's own stability reference of `trtllm-serve` and its JSON schema of the config file (both of
the 1.4 line), and the parsers of `trtllm-build` and of the Qwen example's `convert_checkpoint.py`. None of these
programs ran here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import yaml

from lab.conditions import Condition, Wanted, wanted
from lab.endpoint import Endpoint
from lab.engines.base import (
    HOST,
    Adapter,
    BuildStep,
    Command,
    Expressed,
    Failure,
    Place,
    by_argv,
    by_config,
    by_env,
    by_request,
    cannot,
    flag_value,
    imposed,
    left,
    on_off,
)
from lab.engines.parsers import parser_words
from lab.engines.process import child_environment
from lab.errors import ParamsError
from lab.records import Effective, How, Phase
from lab.spec import RunSpec

CONFIG_FILE = "trtllm.yaml"
START_REPORT = "startup.json"
"""Where the engine writes what its own start took, once the first request has been answered."""

EXAMPLES_VARIABLE = "LAB_TRTLLM_EXAMPLES"
EXAMPLES = Path("/app/tensorrt_llm/examples")
"""The examples folder of the release image; the wheel does not carry it."""

KV_FORMATS = {"FP8": "fp8", "NVFP4": "nvfp4"}
"""Formats of the KV cache that can be asked for; others are the checkpoint's (auto)."""


class TrtLlm(Adapter):
    """`trtllm-serve` with its PyTorch backend: a checkpoint is served as it is, nothing is built."""

    key = "trtllm"
    default_port = 8000
    versions = ("1.4.0rc0", "1.5")
    contract = "trtllm-1.4"
    metrics_path = "/prometheus/metrics"  # /metrics is JSON and empties when it is read
    metric_names: ClassVar[Mapping[str, str]] = {
        "running": "trtllm_num_requests_running",
        "waiting": "trtllm_num_requests_waiting",
        "kv_use": "trtllm_kv_cache_utilization",
        "prefix_hits": "trtllm_prompt_cached_tokens_total",
        "prefix_queries": "trtllm_prompt_tokens_total",
        "preemptions": "trtllm_num_paused_requests",
        "prompt_tokens": "trtllm_prompt_tokens_total",
    }
    start_limit_s = 1800.0
    start_idle_limit_s = 900.0
    cache_variables: ClassVar[Mapping[str, str]] = {
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "CUDA_CACHE_PATH": "cuda",
    }
    failures = (
        Failure(
            re.compile(r"Executor creation failed due to insufficient GPU memory|CUDA (?:error: )?out of memory"),
            "the GPU's memory does not suffice",
            "lower kv_cache_tokens, max_num_seqs or max_batched_tokens, or share the model over more GPUs",
        ),
        Failure(
            re.compile(r"CUDA runtime error in .*: out of memory"),
            "the GPU's memory does not suffice",
            "lower kv_cache_tokens or max_num_seqs; with the engine backend that is another build",
        ),
    )
    programs: tuple[str, ...] = ("trtllm-serve",)
    config_flag = "--config"

    def installed(self) -> str | None:
        missing = [program for program in self.programs if shutil.which(program) is None]
        if not missing:
            return None
        return (
            f"TensorRT-LLM is not installed here: {' and '.join(missing)} not found on the PATH; "
            "run the lab inside nvcr.io/nvidia/tensorrt-llm/release:<tag>, or: pip install tensorrt-llm"
        )

    def refuse(self, spec: RunSpec) -> None:
        super().refuse(spec)
        if spec.profile.speculative == "ngram" and spec.profile.speculative_tokens is None:
            raise ParamsError(
                f"profile {spec.profile.name}: {self.key} has no default number of drafted tokens",
                "set speculative_tokens",
            )

    def base(self, spec: RunSpec, place: Place) -> Command:
        command = Command().add("trtllm-serve").add(place.weights, shown=("<model>",))
        command.put("TRTLLM_PROFILE_STARTUP", 1)
        command.put("TRTLLM_STARTUP_PROFILE_OUTPUT", place.folder / START_REPORT)
        return self._address(command, spec, place)

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        match want.condition:
            case Condition.COMPUTE_DTYPE:
                return left("auto: the checkpoint's") if want.value is None else by_config("dtype", want.value)
            case Condition.KV_CACHE_DTYPE:
                return _kv_format(spec)
            case Condition.CONTEXT_LIMIT:
                return Expressed(
                    How.SET,
                    argv=("--max_seq_len", str(want.value)),
                    config={"max_input_len": want.value},
                    note="the config file's own limit of a prompt alone is 1024 tokens",
                )
            case Condition.KV_CACHE_TOKENS:
                if want.value is None:
                    return left("none: 0.9 of the memory that is free after the weights")
                return by_config(
                    "kv_cache_config.max_tokens", want.value, "the smaller of it and of the memory share holds"
                )
            case Condition.MEMORY_FRACTION:
                default = "0.9 of what is free after the weights"
                return flag_value(want, "--kv_cache_free_gpu_memory_fraction", default)
            case Condition.MAX_NUM_SEQS:
                return flag_value(want, "--max_batch_size", "2048")
            case Condition.MAX_BATCHED_TOKENS:
                return flag_value(want, "--max_num_tokens", "8192")
            case Condition.PREFIX_CACHING:
                if want.value is None:
                    return left("on, in blocks of 32 tokens; partly matching blocks are reused too")
                return by_config(
                    "kv_cache_config.enable_block_reuse",
                    want.value,
                    "in blocks of 32 tokens; partly matching blocks are reused too" if want.value else None,
                )
            case Condition.CHUNKED_PREFILL:
                if want.value is False:
                    return by_config("enable_chunked_prefill", False)
                return on_off(want, ("--enable_chunked_prefill",), (), "off")
            case Condition.SPECULATIVE:
                return _drafts(spec)
            case Condition.CUDA_GRAPHS:
                if want.value is None:
                    return left("on for decoding, up to a batch it chooses")
                return by_config("cuda_graph_config", {} if want.value else None)
            case Condition.TORCH_COMPILE:
                if want.value is None:
                    return left("off; kernels are tuned at start all the same (enable_autotuner)")
                return by_config(
                    "torch_compile_config",
                    {} if want.value else None,
                    "kernels are tuned at start all the same (enable_autotuner)",
                )
            case Condition.TENSOR_PARALLEL:
                return by_argv("--tp_size", want.value)
            case Condition.PIPELINE_PARALLEL:
                return by_argv("--pp_size", want.value)
            case Condition.SAMPLING_DEFAULTS:
                return by_argv("--generation-config", "trtllm", note="the checkpoint's own defaults are ignored")
            case Condition.SEED:
                return by_request("the engine has no seed of its own")
            case Condition.CHAT_TEMPLATE:
                if place.chat_template is not None:
                    return by_argv("--chat_template", place.chat_template)
                return left("the checkpoint's")
            case Condition.CHAT_TEMPLATE_KWARGS:
                return by_request()
            case Condition.TOOL_PARSER:
                parser = parser_words(want, TrtLlm.key, "tool", "--tool_parser")
                return replace(parser, note=parser.note or "a request without tool_choice calls no tool")
            case Condition.REASONING_PARSER:
                return parser_words(want, TrtLlm.key, "reasoning", "--reasoning_parser")
            case Condition.GRAMMAR_BACKEND:
                note = None if want.value else "its own default is none, and every schema would be refused"
                return by_config("guided_decoding_backend", want.value or "xgrammar", note)
            case Condition.METRICS:
                return Expressed(
                    How.SET,
                    config={"return_perf_metrics": True, "enable_iter_perf_stats": True},
                    note="its page of iterations empties when it is read, so only its Prometheus page is",
                )
            case Condition.REQUEST_LOG:
                return left("log level info; no flag for requests was found")
            case Condition.TELEMETRY:
                return by_argv("--no-telemetry")

    def config_file(self, config: Mapping[str, Any]) -> tuple[str, str] | None:
        return CONFIG_FILE, yaml.safe_dump(_nested(config), sort_keys=True)

    def version(self, endpoint: Endpoint) -> str | None:
        answer = endpoint.get("/version").json()
        version = answer.get("version") if isinstance(answer, dict) else None
        return str(version) if version else None

    def build_version(self) -> str | None:
        return _installed_version()

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        """From its log, in the words of NVIDIA's own model guides; the last line of a kind counts."""
        found = []
        if blocks := re.findall(r"for max tokens in paged KV cache \((\d+)\)", log):
            found.append(_read(Condition.KV_CACHE_TOKENS, int(blocks[-1]), "log: max tokens in paged KV cache"))
        if sizes := re.findall(r"max_seq_len=(\d+), max_num_requests=(\d+), max_num_tokens=(\d+)", log):
            context, sequences, tokens = map(int, sizes[-1])
            found += [
                _read(Condition.CONTEXT_LIMIT, context, "log: max_seq_len"),
                _read(Condition.MAX_NUM_SEQS, sequences, "log: max_num_requests"),
                _read(Condition.MAX_BATCHED_TOKENS, tokens, "log: max_num_tokens"),
            ]
        if re.search(r"KV cache block reuse is disabled", log):
            found.append(_read(Condition.PREFIX_CACHING, False, "log: block reuse is disabled"))
        return tuple(found)

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        """Of `/_internal/tokenize`, which adds special tokens: what an empty text has is taken off."""
        counts = [endpoint.post("/_internal/tokenize", {"prompt": prompt}).json() for prompt in (text, "")]
        whole, special = (count.get("count") if isinstance(count, dict) else None for count in counts)
        return whole - special if isinstance(whole, int) and isinstance(special, int) else None

    def phases_in(self, folder: Path) -> tuple[Phase, ...]:
        """From the report it was told to write: its own steps, then those of its first worker; they contain each other.

        An older release writes none.
        """
        try:
            report = json.loads((folder / START_REPORT).read_text(encoding="utf-8"))
            workers = report.get("attached_profiles", {}).get("executor", {}).get("ranks", [])
            records = [*report["records"], *(workers[0]["records"] if workers else ())]
            seconds: dict[str, float] = {}
            for name, took_s in _steps(records):
                seconds[name] = seconds.get(name, 0.0) + took_s
            return tuple(Phase(name=name, seconds=took_s, source="file") for name, took_s in seconds.items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return ()

    def _address(self, command: Command, spec: RunSpec, place: Place) -> Command:
        config = place.folder / CONFIG_FILE
        return (
            command.add("--served_model_name", self.served_name(spec))
            .add("--host", HOST)
            .add("--port", place.port, shown=("--port", "<port>"))
            .add(self.config_flag, config, shown=(self.config_flag, "<config>"))
        )


class TrtLlmEngine(TrtLlm):
    """The engine backend of TensorRT-LLM up to 1.2: convert, build, serve. Its main branch has none since July 2026."""

    key = "trtllm-engine"
    versions = ("1.0", "1.3")
    contract = "trtllm-engine-1.2"
    has_build = True
    programs = ("trtllm-serve", "trtllm-build")
    config_flag = "--extra_llm_api_options"
    built_in = "built into the engine: "

    def refuse(self, spec: RunSpec) -> None:
        super().refuse(spec)
        quantization = spec.quantization
        if quantization.weights.upper() not in ("BF16", "F16", "FP16", "F32"):
            raise ParamsError(
                f"{self.key} converts BF16, F16 and F32 weights here, got {quantization.weights}: "
                "a quantized engine begins with a ModelOpt checkpoint, which this lab does not make",
                "take the unquantized weights, or the engine trtllm",
            )
        if quantization.kv_cache.upper() not in ("AUTO", quantization.activations.upper()):
            raise ParamsError(
                f"{self.key} builds the KV cache in the compute format {quantization.activations}, "
                f"got {quantization.kv_cache}",
                f"set kv_cache: {quantization.activations}, or take the engine trtllm",
            )
        if spec.profile.speculative != "off":
            raise ParamsError(f"{self.key} drafts with a model of its own at build time; this lab builds without one")
        if self._dtype(spec) is None:
            raise ParamsError(f"{self.key} needs activations BF16, F16 or F32, got {quantization.activations}")

    def base(self, spec: RunSpec, place: Place) -> Command:
        command = Command().add("trtllm-serve").add(place.artefact or "<artefact>", shown=("<artefact>",))
        command.add("--tokenizer", place.weights, shown=("--tokenizer", "<model>")).add("--backend", "tensorrt")
        return self._address(command, spec, place)

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        limits = self.build_limits(spec)
        match want.condition:
            case Condition.COMPUTE_DTYPE:
                return Expressed(How.SET, note=f"{self.built_in}--dtype {self._dtype(spec)}")
            case Condition.KV_CACHE_DTYPE:
                return Expressed(How.SET, note=f"{self.built_in}the compute format")
            case Condition.CONTEXT_LIMIT:
                return Expressed(How.SET, note=f"{self.built_in}--max_seq_len {limits['max_seq_len']}")
            case Condition.MAX_NUM_SEQS:
                return Expressed(How.SET, note=f"{self.built_in}--max_batch_size {limits['max_batch_size']}")
            case Condition.MAX_BATCHED_TOKENS:
                return Expressed(How.SET, note=f"{self.built_in}--max_num_tokens {limits['max_num_tokens']}")
            case Condition.TENSOR_PARALLEL | Condition.PIPELINE_PARALLEL:
                return Expressed(How.SET, note=f"{self.built_in}tp {limits['tp_size']}, pp {limits['pp_size']}")
            case Condition.SPECULATIVE:
                return imposed("off: built without a draft model")
            case Condition.CHUNKED_PREFILL:
                return left("off") if want.value is None else by_config("enable_chunked_prefill", want.value)
            case Condition.CUDA_GRAPHS:
                note = "a TensorRT engine schedules its own kernels; no switch was read for this release"
                return cannot(note) if want.value is True else imposed(note)
            case Condition.TORCH_COMPILE:
                note = "no torch graph is left in the engine"
                return cannot(note) if want.value is True else imposed(note)
            case Condition.SAMPLING_DEFAULTS:
                return by_request("no flag of this release; every request carries every value")
            case Condition.CHAT_TEMPLATE:
                return (
                    cannot("no flag of this release: the checkpoint's is used")
                    if place.chat_template
                    else left("the checkpoint's")
                )
            case Condition.TOOL_PARSER | Condition.REASONING_PARSER:
                if want.value is None:
                    return left("none: the model names no parser family")
                return cannot("the names of this release's parsers were not read")
            case Condition.TELEMETRY:
                return by_env("no flag of this release", TRTLLM_NO_USAGE_STATS="1")
            case _:
                return super().express(want, spec, place)

    def build_limits(self, spec: RunSpec) -> Mapping[str, int]:
        """Sizes of the engine; an undecided one takes `trtllm-serve`'s default of that size."""
        profile = spec.profile
        return {
            "max_batch_size": profile.max_num_seqs or 2048,
            "max_input_len": spec.context_limit,
            "max_seq_len": spec.context_limit,
            "max_num_tokens": profile.max_batched_tokens or 8192,
            "tp_size": profile.tensor_parallel,
            "pp_size": profile.pipeline_parallel,
        }

    def build_steps(self, spec: RunSpec, place: Place) -> tuple[BuildStep, ...]:
        """`convert_checkpoint.py` of the model's example, then `trtllm-build`.

        Raises:
            ParamsError: no example is known for the family.
        """
        assert place.artefact is not None and place.weights is not None, "a build needs weights and a folder to fill"
        limits = self.build_limits(spec)
        checkpoint = place.folder / "checkpoint"
        ranks = limits["tp_size"] * limits["pp_size"]
        convert = Command().add(_interpreter(), _converter(spec), shown=("python", "convert_checkpoint.py"))
        convert.add("--model_dir", place.weights, shown=("--model_dir", "<model>"))
        convert.add("--output_dir", checkpoint, shown=("--output_dir", "<checkpoint>"))
        convert.add("--dtype", self._dtype(spec)).add("--tp_size", limits["tp_size"], "--pp_size", limits["pp_size"])
        build = Command().add("trtllm-build", "--checkpoint_dir", checkpoint)
        build.shown[-1] = "<checkpoint>"
        build.add("--output_dir", place.artefact, shown=("--output_dir", "<artefact>"))
        for name in ("max_batch_size", "max_input_len", "max_seq_len", "max_num_tokens"):
            build.add(f"--{name}", limits[name])
        build.add("--max_beam_width", 1, "--workers", ranks)
        return (
            BuildStep(
                "convert", tuple(convert.argv), tuple(convert.shown), (checkpoint, ("config.json", "rank*.safetensors"))
            ),
            BuildStep(
                "build", tuple(build.argv), tuple(build.shown), (place.artefact, ("config.json", "rank*.engine"))
            ),
        )

    def _dtype(self, spec: RunSpec) -> str | None:
        """The compute format, in the words of `convert_checkpoint.py`."""
        value = next(want.value for want in wanted(spec) if want.condition is Condition.COMPUTE_DTYPE)
        return None if value is None else str(value)


def _kv_format(spec: RunSpec) -> Expressed:
    asked = spec.quantization.kv_cache
    if asked.upper() in KV_FORMATS:
        return by_config("kv_cache_config.dtype", KV_FORMATS[asked.upper()])
    note = "the checkpoint's own, else the compute format"
    if asked.upper() in ("AUTO", spec.quantization.activations.upper()):
        return by_config("kv_cache_config.dtype", "auto", note)
    return cannot(f"it can be asked for fp8 and nvfp4; otherwise it is {note}")


def _drafts(spec: RunSpec) -> Expressed:
    if spec.profile.speculative == "off":
        return by_config("speculative_config", None)
    return Expressed(
        How.SET,
        config={
            "speculative_config.decoding_type": "NGram",
            "speculative_config.max_draft_len": spec.profile.speculative_tokens,
        },
    )


def _read(condition: Condition, value: bool | int, source: str) -> Effective:
    return Effective(condition=condition, value=value, source=source)


def _nested(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted paths as nested mappings."""
    whole: dict[str, Any] = {}
    for path, value in config.items():
        *outer, last = path.split(".")
        inner = whole
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return whole


def _steps(records: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Every timed step, outer before inner."""
    for record in records:
        yield record["name"], float(record["duration_s"])
        yield from _steps(record.get("children", []))


def _converter(spec: RunSpec) -> Path:
    """The conversion script of the model's family."""
    folders = {"qwen": "qwen", "llama": "llama"}
    family = spec.model.family or ""
    folder = next((folders[name] for name in folders if family.startswith(name)), None)
    if folder is None:
        raise ParamsError(
            f"no conversion script is known for the parser family '{family or 'none'}' of {spec.model.series}; "
            f"known: {', '.join(folders)}",
            "name the family in the model's file, or take the engine trtllm, which converts nothing",
        )
    examples = Path(os.environ.get(EXAMPLES_VARIABLE, str(EXAMPLES)))
    return examples / "models" / "core" / folder / "convert_checkpoint.py"


def _installed_version() -> str | None:
    """Version of the package behind `trtllm-build`, read from its metadata: importing it would need a GPU."""
    command = [_interpreter(), "-c", "import importlib.metadata as m; print(m.version('tensorrt_llm'))"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=child_environment())
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _interpreter() -> str:
    """The Python that `trtllm-build` runs in, by the first line of that script."""
    program = shutil.which("trtllm-build")
    if program is not None:
        with contextlib.suppress(OSError):
            first = Path(program).read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
            words = first.removeprefix("#!").split()
            if first.startswith("#!") and words:
                return words[-1] if Path(words[0]).name == "env" else words[0]
    return "python3"
