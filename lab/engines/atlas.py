"""Atlas (`spark serve`): its flags as its sources declare them; the program itself never ran here.

Sources: `serve_args.rs`, `chat_request.rs`, `completions.rs`, `misc_handlers.rs`, the KV sizing of its model
factory and its GB10 guide, from several commits of a very active repository: pin an image digest, and compare with
`spark dump-serve-options` on first contact.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from lab.conditions import Condition, Wanted
from lab.endpoint import Endpoint
from lab.engines.base import (
    HOST,
    Adapter,
    Command,
    Expressed,
    Failure,
    Fields,
    Place,
    by_argv,
    by_request,
    cannot,
    flag_value,
    imposed,
    left,
)
from lab.engines.parsers import parser_words
from lab.engines.process import child_environment
from lab.records import Effective, How, Phase
from lab.spec import RunSpec

KV_FORMATS = {"BF16": "bf16", "FP8": "fp8", "NVFP4": "nvfp4"}
TEMPLATE_VARIABLES = frozenset({"enable_thinking", "thinking_budget"})
"""Variables of `chat_template_kwargs` that it reads; it ignores the others without a word."""

PRESETS = (
    "presets of the model's MODEL.toml stay: a prompt that looks like code picks another one, presence, LZ and DRY "
    "penalties of a preset cannot be overridden by a request, and a watchdog ends an answer that repeats itself"
)
MARKS = (
    ("config-and-kernels", re.compile(r"Port: |Avarok|Atlas"), re.compile(r"Selected kernel target")),
    ("weights-and-model", re.compile(r"OOM watchdog started"), re.compile(r"max KV tokens")),
    ("kv-cache-to-listening", re.compile(r"max KV tokens"), re.compile(r"Listening on")),
)
"""Phase → the log lines it lies between, where they carry a time."""


class Atlas(Adapter):
    """`spark serve`, one process on one GPU, plain logs."""

    key = "atlas"
    default_port = 8888
    versions = ("1.0.0-beta", "1.1")
    contract = "atlas-1.0.0-beta"
    metrics_path = "/metrics"
    metric_names: ClassVar[Mapping[str, str]] = {
        "running": "atlas_requests_active",
        "prefix_hits": "atlas_prefix_cache_hit_tokens_total",
        "prompt_tokens": "atlas_prompt_tokens_total",
        "generated_tokens": "atlas_generation_tokens_total",
    }
    start_limit_s = 1800.0
    start_idle_limit_s = 600.0
    exact_field: ClassVar[Mapping[str, Any] | None] = {}  # min_tokens has to say the length: see length_fields
    cache_variables: ClassVar[Mapping[str, str]] = {"CUDA_CACHE_PATH": "cuda"}
    failures = (
        Failure(
            re.compile(r"No memory left for KV cache"),
            "the memory share leaves nothing for the KV cache",
            "raise memory_fraction (0.85 is the proven ceiling of a GB10), or take a smaller model",
        ),
        Failure(
            re.compile(r"Kernel/model QUANT MISMATCH"),
            "this build has no kernels for the model's quantization",
            "take an image that was built for it, or weights in another format",
        ),
        Failure(
            re.compile(r"No compiled kernel target matches model_type"),
            "this build has no kernels for the model: only listed families are served",
            "take a model of its list, or another engine",
        ),
    )

    def installed(self) -> str | None:
        if shutil.which("spark") is None:
            return (
                "Atlas is not installed here: spark is not found on the PATH; it ships as the image "
                "avarok/atlas-gb10 (run the lab inside it, or attach by URL)"
            )
        return None

    def base(self, spec: RunSpec, place: Place) -> Command:
        return (
            Command()
            .add("spark", "serve")
            .add(place.weights, shown=("<model>",))
            .add("--model-name", self.served_name(spec))
            .add("--bind", HOST)
            .add("--port", place.port, shown=("--port", "<port>"))
            .add("--no-tui")  # plain logs
            .add("--no-auto-swap")  # a request cannot change the model
            .add("--request-timeout", 0)  # its 300 s would cut an answer short; the workload has its own limit
        )

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        match want.condition:
            case Condition.COMPUTE_DTYPE:
                return imposed("the checkpoint and the kernels built for it decide")
            case Condition.KV_CACHE_DTYPE:
                name = KV_FORMATS.get(str(want.value).upper())
                if name is None:
                    return cannot(
                        "it knows bf16, fp8, nvfp4 and its own turbo formats; unset it is MODEL.toml's or fp8"
                    )
                return by_argv("--kv-cache-dtype", name, note="unset it is what MODEL.toml says, else fp8")
            case Condition.CONTEXT_LIMIT:
                return by_argv("--max-seq-len", want.value)
            case Condition.KV_CACHE_TOKENS:
                note = "what the memory share leaves; beyond it sequences are swapped to disk (3 GB)"
                return left(note) if want.value is None else cannot(f"no flag: {note}")
            case Condition.MEMORY_FRACTION:
                return flag_value(
                    want, "--gpu-memory-utilization", "0.90 of all memory; 0.85 is the proven ceiling of a GB10"
                )
            case Condition.MAX_NUM_SEQS:
                if want.value is None:
                    return left("128 sequences, of which 8 decode together")
                words = ("--max-num-seqs", want.value, "--max-batch-size", want.value)
                return by_argv(*words, note="how many decode together is capped by a flag of its own, 8 by default")
            case Condition.MAX_BATCHED_TOKENS:
                if spec.profile.chunked_prefill is False:
                    note = "--max-prefill-tokens 0 turns chunks off: a prompt is read whole"
                    return left(note) if want.value is None else cannot(note)
                return flag_value(want, "--max-prefill-tokens", "8192")
            case Condition.CHUNKED_PREFILL:
                if want.value is False:
                    return by_argv("--max-prefill-tokens", 0)
                note = "on, in chunks of --max-prefill-tokens"
                return left(note) if want.value is None else Expressed(How.SET, note=note)
            case Condition.PREFIX_CACHING:
                if want.value:
                    return by_argv("--enable-prefix-caching")
                return left("off") if want.value is None else Expressed(How.SET, note="off without its flag")
            case Condition.SPECULATIVE:
                return _drafts(spec)
            case Condition.CUDA_GRAPHS:
                note = "captured by the first requests, so a start ends with the first answer"
                return cannot("no switch was found in its sources") if want.value is False else imposed(note)
            case Condition.TORCH_COMPILE:
                note = "nothing is compiled at start: kernels come with the program, the driver translates them"
                return cannot(note) if want.value is True else imposed(note)
            case Condition.TENSOR_PARALLEL:
                if want.value == 1:
                    return by_argv("--tp-size", 1)
                return cannot("one process for each rank (--world-size, --rank); the lab starts one")
            case Condition.PIPELINE_PARALLEL:
                return imposed("1: it has none") if want.value == 1 else cannot("it has none")
            case Condition.SAMPLING_DEFAULTS:
                return by_argv("--default-min-p", 0, "--default-top-n-sigma", 0, note=PRESETS)
            case Condition.SEED:
                return by_request("the engine has no seed of its own")
            case Condition.CHAT_TEMPLATE:
                return _template(place)
            case Condition.CHAT_TEMPLATE_KWARGS:
                return _template_kwargs(spec)
            case Condition.TOOL_PARSER:
                return _tool_parser(want, spec)
            case Condition.REASONING_PARSER:
                return imposed("built in: reasoning arrives as reasoning_content")
            case Condition.GRAMMAR_BACKEND:
                note = "xgrammar, built in; a request with tools loses its response_format"
                return imposed(note) if want.value in (None, "xgrammar") else cannot(note)
            case Condition.METRICS:
                return imposed("on")
            case Condition.REQUEST_LOG:
                return left("off without --dump")
            case Condition.TELEMETRY:
                return imposed("none was found in its sources")

    def template_fields(self, spec: RunSpec) -> Fields:
        fields = super().template_fields(spec)
        asked = fields.body.get("chat_template_kwargs", {})
        unread = tuple(sorted(f"chat_template_kwargs.{name}" for name in set(asked) - TEMPLATE_VARIABLES))
        return Fields(fields.body, (*fields.not_expressible, *unread))

    def length_fields(self, tokens: int, exact: bool) -> Fields:
        """It has no ignore_eos: the shortest length is the longest one."""
        return Fields({"max_tokens": tokens, "min_tokens": tokens} if exact else {"max_tokens": tokens})

    def version(self, endpoint: Endpoint) -> str | None:
        """Of the `spark` on this machine's PATH: no endpoint tells it. None when there is none."""
        program = shutil.which("spark")
        if program is None:
            return None
        try:
            done = subprocess.run(
                [program, "--version"],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
                env=child_environment(),
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip().removeprefix("spark ") or None

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        """The KV budget, from the line that sizes it."""
        tokens = re.findall(r"= (\d+) max KV tokens", log)
        if not tokens:
            return ()
        return (
            Effective(
                condition=Condition.KV_CACHE_TOKENS, value=int(tokens[-1]), source="log: blocks × tokens a block"
            ),
        )

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        """Of `/tokenize`; what an empty text has, special tokens, is taken off."""
        counts = [endpoint.post("/tokenize", {"prompt": prompt}).json() for prompt in (text, "")]
        whole, special = (count.get("count") if isinstance(count, dict) else None for count in counts)
        return whole - special if isinstance(whole, int) and isinstance(special, int) else None

    def phases(self, endpoint: Endpoint, log: str) -> tuple[Phase, ...]:
        """Between log lines that carry a time; a log without times tells no phase."""
        found = []
        for name, begin, end in MARKS:
            begun, ended = _first_time(begin, log), _first_time(end, log)
            if begun is not None and ended is not None and ended >= begun:
                found.append(Phase(name=name, seconds=(ended - begun).total_seconds(), source="log"))
        return tuple(found)


def _drafts(spec: RunSpec) -> Expressed:
    if spec.profile.speculative == "off":
        return Expressed(How.SET, note="off without --speculative, --dflash, --ngram-speculative or --self-speculative")
    tokens = spec.profile.speculative_tokens
    return by_argv("--ngram-speculative", *(() if tokens is None else ("--num-drafts", tokens)))


def _template(place: Place) -> Expressed:
    words = ("--disable-template-overrides",)
    if place.chat_template is None:
        return by_argv(*words, note="the checkpoint's, instead of the templates it ships for some models")
    note = "no flag takes a file: the checkpoint's own template is used, not the one that was given"
    return Expressed(How.NOT_EXPRESSIBLE, argv=words, note=note)


def _template_kwargs(spec: RunSpec) -> Expressed:
    if not spec.chat_template_kwargs:
        return left("thinking as MODEL.toml says, usually on with at most 512 tokens")
    unread = sorted(set(spec.chat_template_kwargs) - TEMPLATE_VARIABLES)
    if unread:
        return cannot(f"it reads {' and '.join(sorted(TEMPLATE_VARIABLES))} and ignores {', '.join(unread)}")
    return by_request("thinking that is switched on gets a budget of 256 tokens unless one is asked for")


def _tool_parser(want: Wanted, spec: RunSpec) -> Expressed:
    # its own cap of answers with tools, 8192 tokens, would hide behind max_tokens
    cap = ("--tool-max-tokens", str(spec.context_limit))
    if want.value is None:
        return Expressed(How.LEFT, argv=cap, note="by model, from its own table; the model file names no family")
    parser = parser_words(want, Atlas.key, "tool", "--tool-call-parser")
    note = parser.note or "a request with tools loses its response_format"
    return replace(parser, argv=(*parser.argv, *cap), note=note)


def _first_time(mark: re.Pattern[str], log: str) -> datetime | None:
    """Time of the first log line with a mark; None when no such line carries one."""
    for line in log.splitlines():
        if mark.search(line) and (stamp := re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?", line)):
            return datetime.fromisoformat(stamp.group())
    return None
