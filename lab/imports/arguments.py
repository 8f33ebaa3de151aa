"""Launch arguments of the engines whose records are read, and which condition each decides.

The same words as the adapters in `lab.engines` use; an argument that is not here keeps its own name and is not
compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lab.conditions import Condition, Value
from lab.imports.record import FromNote, Setting, Speculation

ARGUMENTS: dict[str, dict[str, Condition]] = {
    "vllm": {
        "dtype": Condition.COMPUTE_DTYPE,
        "kv-cache-dtype": Condition.KV_CACHE_DTYPE,
        "max-model-len": Condition.CONTEXT_LIMIT,
        "max-num-seqs": Condition.MAX_NUM_SEQS,
        "max-num-batched-tokens": Condition.MAX_BATCHED_TOKENS,
        "gpu-memory-utilization": Condition.MEMORY_FRACTION,
        "enable-prefix-caching": Condition.PREFIX_CACHING,
        "enable-chunked-prefill": Condition.CHUNKED_PREFILL,
        "tensor-parallel-size": Condition.TENSOR_PARALLEL,
        "pipeline-parallel-size": Condition.PIPELINE_PARALLEL,
        "tool-call-parser": Condition.TOOL_PARSER,
        "reasoning-parser": Condition.REASONING_PARSER,
    },
    "sglang": {
        "dtype": Condition.COMPUTE_DTYPE,
        "kv-cache-dtype": Condition.KV_CACHE_DTYPE,
        "context-length": Condition.CONTEXT_LIMIT,
        "max-total-tokens": Condition.KV_CACHE_TOKENS,
        "max-running-requests": Condition.MAX_NUM_SEQS,
        "max-prefill-tokens": Condition.MAX_BATCHED_TOKENS,
        "mem-fraction-static": Condition.MEMORY_FRACTION,
        "tp-size": Condition.TENSOR_PARALLEL,
        "pp-size": Condition.PIPELINE_PARALLEL,
        "grammar-backend": Condition.GRAMMAR_BACKEND,
        "tool-call-parser": Condition.TOOL_PARSER,
        "reasoning-parser": Condition.REASONING_PARSER,
    },
    "atlas": {
        "kv-cache-dtype": Condition.KV_CACHE_DTYPE,
        "max-seq-len": Condition.CONTEXT_LIMIT,
        "max-num-seqs": Condition.MAX_NUM_SEQS,
        "max-batch-size": Condition.MAX_NUM_SEQS,
        "gpu-memory-utilization": Condition.MEMORY_FRACTION,
        "enable-prefix-caching": Condition.PREFIX_CACHING,
        "tool-call-parser": Condition.TOOL_PARSER,
    },
}
"""Engine → its argument → the condition that the argument gives a value."""

NEGATED: dict[str, dict[str, Condition]] = {
    "vllm": {"no-enable-prefix-caching": Condition.PREFIX_CACHING, "enforce-eager": Condition.CUDA_GRAPHS},
    "sglang": {"disable-radix-cache": Condition.PREFIX_CACHING, "disable-cuda-graph": Condition.CUDA_GRAPHS},
    "atlas": {},
}
"""Arguments that turn a condition off when they are there."""

KV_NOTE = re.compile(r"kv[ -]?cache dtype\b.*?\bresolved (?:to )?([A-Za-z0-9_]+)", re.IGNORECASE | re.DOTALL)
KV_TOKENS_NOTE = re.compile(r"\b(\d{1,3}(?:,\d{3})+|\d+) KV tokens\b")
THINKING_OFF_NOTE = re.compile(r"\b(?:force|turn|switch)\w* thinking off\b", re.IGNORECASE)


def settings_of(engine: str | None, arguments: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Every argument with the condition it decides, in the order of the file."""
    known, negated = ARGUMENTS.get(engine or "", {}), NEGATED.get(engine or "", {})
    found = []
    for name, value in arguments.items():
        folded = name.strip().lstrip("-").replace("_", "-")
        if folded == "chunked-prefill-size" and engine == "sglang" and isinstance(value, int):
            found.append(Setting(name=name, value=value > 0, condition=Condition.CHUNKED_PREFILL))
        elif folded in negated and isinstance(value, bool):
            found.append(Setting(name=name, value=not value, condition=negated[folded]))
        else:
            found.append(Setting(name=name, value=_plain(value), condition=known.get(folded)))
    return tuple(found)


def speculation_of(engine: str | None, arguments: Mapping[str, Any]) -> Speculation | None:
    """How tokens are drafted ahead; None where the engine is unknown or no argument speaks of it.

    An engine's default is not taken from here: it belongs to a version, and a record may be of a branch.
    """
    said = {
        name: value
        for name, value in arguments.items()
        if any(word in name for word in ("speculative", "num-drafts", "mtp"))
    }
    if not said or engine not in ARGUMENTS:
        return None
    detail = ", ".join(f"{name} {_plain(value)}" for name, value in said.items())
    if engine == "vllm":
        config = said.get("speculative-config")
        if not isinstance(config, dict):
            return None
        return Speculation(
            method=str(config.get("method", "not named")).lower(),
            tokens=_count(config.get("num_speculative_tokens")),
            detail=detail,
            arguments=tuple(said),
        )
    if engine == "sglang":
        method = said.get("speculative-algorithm")
        if method is None:
            return None
        tokens = _count(said.get("speculative-num-draft-tokens"))
        return Speculation(method=str(method).lower(), tokens=tokens, detail=detail, arguments=tuple(said))
    if said.get("speculative") is False:
        return Speculation(method="off", arguments=tuple(said))
    heads = any(name.startswith("mtp") for name in said)
    return Speculation(
        method="mtp" if heads else "not named",
        tokens=_count(said.get("num-drafts")),
        detail=detail,
        arguments=tuple(said),
    )


def thinking_of(arguments: Mapping[str, Any], notes: Iterable[str]) -> bool | None:
    """Whether the model thought first: False where an argument or a note turns it off; None: nobody says."""
    if arguments.get("disable-thinking") is True:
        return False
    return False if any(THINKING_OFF_NOTE.search(note) for note in notes) else None


def notes_of(notes: Iterable[str]) -> tuple[FromNote, ...]:
    """What a person wrote down of the running engine: its KV format and how many tokens fit."""
    found = []
    for note in notes:
        if (kv := KV_NOTE.search(note)) is not None:
            found.append(FromNote(condition=Condition.KV_CACHE_DTYPE, value=kv[1], note=note))
        if (tokens := KV_TOKENS_NOTE.search(note)) is not None:
            count = int(tokens[1].replace(",", ""))
            found.append(FromNote(condition=Condition.KV_CACHE_TOKENS, value=count, note=note))
    return tuple(found)


def _plain(value: Any) -> Value | None:
    return value if value is None or isinstance(value, bool | int | float | str) else json.dumps(value, sort_keys=True)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
