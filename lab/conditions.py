"""Equal conditions: everything that has to be the same on every engine, what is wanted of each, and why.

One place. An adapter answers each of these once; it cannot leave one out. What the run was launched with is
only half of it: what counts is the value read back from the running engine.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from lab.spec import Frozen, RunSpec

Value = bool | int | float | str
"""One setting's value, as plain data."""


class Condition(StrEnum):
    """A setting that changes speed, memory or text, and that engines default differently."""

    COMPUTE_DTYPE = "compute_dtype"
    KV_CACHE_DTYPE = "kv_cache_dtype"
    CONTEXT_LIMIT = "context_limit"
    KV_CACHE_TOKENS = "kv_cache_tokens"
    MEMORY_FRACTION = "memory_fraction"
    MAX_NUM_SEQS = "max_num_seqs"
    MAX_BATCHED_TOKENS = "max_batched_tokens"
    PREFIX_CACHING = "prefix_caching"
    CHUNKED_PREFILL = "chunked_prefill"
    SPECULATIVE = "speculative"
    CUDA_GRAPHS = "cuda_graphs"
    TORCH_COMPILE = "torch_compile"
    TENSOR_PARALLEL = "tensor_parallel"
    PIPELINE_PARALLEL = "pipeline_parallel"
    SAMPLING_DEFAULTS = "sampling_defaults"
    SEED = "seed"
    CHAT_TEMPLATE = "chat_template"
    CHAT_TEMPLATE_KWARGS = "chat_template_kwargs"
    TOOL_PARSER = "tool_parser"
    REASONING_PARSER = "reasoning_parser"
    GRAMMAR_BACKEND = "grammar_backend"
    METRICS = "metrics"
    REQUEST_LOG = "request_log"
    TELEMETRY = "telemetry"


WHY: dict[Condition, str] = {
    Condition.COMPUTE_DTYPE: "another number format is another speed and another text",
    Condition.KV_CACHE_DTYPE: "a smaller KV format fits more sequences and changes the text; engines default to F16, "
    "to the model's, or to FP8",
    Condition.CONTEXT_LIMIT: "it decides how much memory a sequence may claim; engines take the model's or cap it",
    Condition.KV_CACHE_TOKENS: "an absolute budget: one share of memory is another number of tokens on each engine",
    Condition.MEMORY_FRACTION: "engines take the share of all memory, or of what the weights left free",
    Condition.MAX_NUM_SEQS: "it caps the batch; defaults go from 1 to 2048",
    Condition.MAX_BATCHED_TOKENS: "it sets the size of a prefill step, and with it the wait of everybody else",
    Condition.PREFIX_CACHING: "a cached prompt is not computed; on by default on most engines, off on some",
    Condition.CHUNKED_PREFILL: "it trades the first token of one against the next tokens of others",
    Condition.SPECULATIVE: "several tokens a step are another method; off unless a plan is about it",
    Condition.CUDA_GRAPHS: "replayed launches hide the CPU's part",
    Condition.TORCH_COMPILE: "compiled and eager kernels are two programs",
    Condition.TENSOR_PARALLEL: "the number of GPUs is part of the hardware",
    Condition.PIPELINE_PARALLEL: "the number of GPUs is part of the hardware",
    Condition.SAMPLING_DEFAULTS: "defaults of the checkpoint or the engine change what a request leaves open",
    Condition.SEED: "where the engine draws numbers, it draws the same ones",
    Condition.CHAT_TEMPLATE: "the template decides what the model reads and how long a prompt is",
    Condition.CHAT_TEMPLATE_KWARGS: "thinking on or off is another answer",
    Condition.TOOL_PARSER: "the parser decides whether a tool call is seen; its name differs from engine to engine",
    Condition.REASONING_PARSER: "the parser decides what counts as the answer",
    Condition.GRAMMAR_BACKEND: "the library decides which schemas are taken and what they cost",
    Condition.METRICS: "without its own counters an engine cannot be watched",
    Condition.REQUEST_LOG: "writing every request to a log costs time",
    Condition.TELEMETRY: "nothing calls home",
}
"""Why each has to be the same."""


class Wanted(Frozen):
    """One condition of one run."""

    condition: Condition
    value: Value | None
    """None: left to the engine, and read back."""
    decided_by: Literal["plan", "lab"]
    """`lab`: a neutral value that the lab gives every engine."""


def wanted(spec: RunSpec) -> tuple[Wanted, ...]:
    """Every condition of a run with the value that is wanted, in the order of `Condition`."""
    profile = spec.profile
    dtypes = {"BF16": "bfloat16", "F16": "float16", "FP16": "float16", "F32": "float32"}
    plan: dict[Condition, Value | None] = {
        Condition.COMPUTE_DTYPE: dtypes.get(spec.quantization.activations.upper()),
        Condition.KV_CACHE_DTYPE: spec.quantization.kv_cache,
        Condition.CONTEXT_LIMIT: spec.context_limit,
        Condition.KV_CACHE_TOKENS: profile.kv_cache_tokens,
        Condition.MEMORY_FRACTION: profile.memory_fraction,
        Condition.MAX_NUM_SEQS: profile.max_num_seqs,
        Condition.MAX_BATCHED_TOKENS: profile.max_batched_tokens,
        Condition.PREFIX_CACHING: profile.prefix_caching,
        Condition.CHUNKED_PREFILL: profile.chunked_prefill,
        Condition.SPECULATIVE: profile.speculative,
        Condition.CUDA_GRAPHS: profile.cuda_graphs,
        Condition.TORCH_COMPILE: profile.torch_compile,
        Condition.TENSOR_PARALLEL: profile.tensor_parallel,
        Condition.PIPELINE_PARALLEL: profile.pipeline_parallel,
        Condition.CHAT_TEMPLATE: spec.model.chat_template,
        Condition.CHAT_TEMPLATE_KWARGS: ", ".join(f"{k}={v}" for k, v in sorted(spec.chat_template_kwargs.items()))
        or None,
        Condition.GRAMMAR_BACKEND: profile.grammar_backend,
    }
    lab: dict[Condition, Value | None] = {
        Condition.SAMPLING_DEFAULTS: "neutral",
        Condition.SEED: spec.sampling.seed,
        Condition.TOOL_PARSER: spec.model.family,
        Condition.REASONING_PARSER: spec.model.family,
        Condition.METRICS: True,
        Condition.REQUEST_LOG: False,
        Condition.TELEMETRY: False,
    }
    return tuple(
        Wanted(
            condition=condition,
            value=(plan | lab)[condition],
            decided_by="plan" if condition in plan else "lab",
        )
        for condition in Condition
    )


DECIDE = (
    Condition.KV_CACHE_TOKENS,
    Condition.MAX_NUM_SEQS,
    Condition.MAX_BATCHED_TOKENS,
    Condition.PREFIX_CACHING,
    Condition.CHUNKED_PREFILL,
)
"""Conditions without a neutral value: a comparison of engines has to decide them, because defaults differ."""

KV_ROUNDING = 0.02
"""Engines keep their KV budget in whole blocks: budgets within this share of each other are one."""

_ONE_FORMAT = {
    "float16": "f16",
    "fp16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "fp32": "f32",
    "fp8_e4m3": "fp8",
    "float8_e4m3": "fp8",
    "float8_e4m3fn": "fp8",
}
"""Spellings of one number format."""


def agree(condition: Condition, one: Value, other: Value) -> bool:
    """Whether two values of a condition mean the same on two engines."""
    if condition is Condition.KV_CACHE_TOKENS and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= KV_ROUNDING * max(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return _format(one) == _format(other)
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    return one == other


def _format(word: str) -> str:
    folded = word.strip().lower().removeprefix("torch.")
    return _ONE_FORMAT.get(folded, folded)
