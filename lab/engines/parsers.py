"""Tool and reasoning parsers by model family: one table for all engines, because every engine spells them its own way.

The names are those of each engine's own registry: vLLM 0.32.0 and SGLang 0.5.23 were read in their source,
TensorRT-LLM's and Atlas's are transcribed, and a test holds them against the contracts. Atlas reads reasoning without
a parser being named. That a parser fits a family is what the engines' documents say; the tool
probe of preflight is what shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lab.conditions import Wanted
from lab.engines.base import Expressed, by_argv, cannot, left
from lab.errors import ParamsError, nearest


@dataclass(frozen=True, slots=True)
class Parsers:
    """The parsers of one family on one engine.

    Attributes:
        tool: name of the tool-call parser; None when the family's models call no tools that the engine can read.
        reasoning: name of the reasoning parser; None when the family's models do not reason in marks of their own.
    """

    tool: str | None
    reasoning: str | None


PARSERS: Mapping[str, Mapping[str, Parsers]] = {
    "qwen3": {
        "vllm": Parsers("hermes", "qwen3"),
        "trtllm": Parsers("qwen3", "qwen3"),
        "sglang": Parsers("qwen", "qwen3"),
        "atlas": Parsers("hermes", None),
    },
    "qwen3-coder": {
        "vllm": Parsers("qwen3_coder", None),
        "trtllm": Parsers("qwen3_coder", None),
        "sglang": Parsers("qwen3_coder", None),
        "atlas": Parsers("qwen3_coder", None),
    },
    "qwen2.5": {
        "vllm": Parsers("hermes", None),
        "sglang": Parsers("qwen", None),
    },
    "llama3": {
        "vllm": Parsers("llama3_json", None),
        "sglang": Parsers("llama3", None),
    },
    "llama4": {
        "vllm": Parsers("llama4_pythonic", None),
        "sglang": Parsers("pythonic", None),
    },
    "deepseek-v3": {
        "vllm": Parsers("deepseek_v3", None),
        "trtllm": Parsers("deepseek_v3", None),
        "sglang": Parsers("deepseekv3", None),
    },
    "deepseek-v3.1": {
        "vllm": Parsers("deepseek_v31", "deepseek_v3"),
        "sglang": Parsers("deepseekv31", "deepseek-v3"),
    },
    "deepseek-v3.2": {
        "vllm": Parsers("deepseek_v32", "deepseek_v3"),
        "sglang": Parsers("deepseekv32", "deepseek-v3"),
    },
    "deepseek-r1": {
        "vllm": Parsers("deepseek_v3", "deepseek_r1"),
        "trtllm": Parsers("deepseek_v3", "deepseek-r1"),
        "sglang": Parsers("deepseekv3", "deepseek-r1"),
    },
    "gpt-oss": {
        "vllm": Parsers("openai", "openai_gptoss"),
        "sglang": Parsers("gpt-oss", "gpt-oss"),
    },
    "glm45": {
        "vllm": Parsers("glm45", "glm45"),
        "sglang": Parsers("glm", "glm45"),
    },
    "glm47": {
        "vllm": Parsers("glm47", "glm47"),
        "sglang": Parsers("glm47", "glm45"),
    },
    "kimi-k2": {
        "vllm": Parsers("kimi_k2", None),
        "trtllm": Parsers("kimi_k2", None),
        "sglang": Parsers("kimi_k2", None),
    },
    "kimi-k2-thinking": {
        "vllm": Parsers("kimi_k2", "kimi_k2"),
        "trtllm": Parsers("kimi_k2", "kimi_k2"),
        "sglang": Parsers("kimi_k2", "kimi_k2"),
    },
    "minimax-m2": {
        "vllm": Parsers("minimax_m2", "minimax_m2"),
        "trtllm": Parsers("minimax_m2", "minimax_m2"),
        "sglang": Parsers("minimax-m2", "minimax"),
        "atlas": Parsers("minimax_xml", None),
    },
    "mistral": {
        "vllm": Parsers("mistral", None),
        "sglang": Parsers("mistral", None),
        "atlas": Parsers("mistral", None),
    },
    "gemma4": {
        "vllm": Parsers("gemma4", "gemma4"),
        "trtllm": Parsers("gemma4", "gemma4"),
        "sglang": Parsers("gemma4", "gemma4"),
        "atlas": Parsers("gemma4", None),
    },
}
"""Family (`ModelSpec.family`) → engine (key in `ENGINES`) → its parsers. An engine that is left out has none that is
known."""


def parsers_for(family: str, engine: str) -> Parsers | None:
    """The parsers of one family on one engine; None when none are known for it.

    Raises:
        ParamsError: nobody has listed this family.
    """
    if family not in PARSERS:
        near = nearest(family, PARSERS)
        hint = f"did you mean '{near}'?" if near else f"the table knows: {', '.join(PARSERS)}"
        raise ParamsError(
            f"no parsers are listed for a model family called '{family}'; {hint}",
            "correct 'family' in the model file, or leave it out: then no parser is set on any engine",
        )
    return PARSERS[family].get(engine)


def parser_words(want: Wanted, engine: str, kind: Literal["tool", "reasoning"], *words: str) -> Expressed:
    """The parser of the wanted family as `words` of the command and the parser's name.

    Raises:
        ParamsError: nobody has listed this family.
    """
    if want.value is None:
        return left("none: the model file names no family")
    parsers = parsers_for(str(want.value), engine)
    if parsers is None:
        return cannot(f"no {kind} parser is known for the family {want.value}")
    name = parsers.tool if kind == "tool" else parsers.reasoning
    if name is None:
        return left(f"none: the family {want.value} needs none")
    return by_argv(*words, name)
