"""Who is on the table, who is off it and who stands in front: names only, the words are in the message catalogue.

The comparison table always has the four columns of `ON_TABLE`, in this order. "Off the table" is not
"worse": it is a match with other premises. For each entry the catalogue holds `engine-<key>-…` messages
(traits, fits, mind, or the reason) in every language.
"""

from __future__ import annotations

from typing import Literal

from lab.spec import Frozen, Name

Seat = Literal["on", "off", "gateway", "instrument", "synthetic"]


class Entry(Frozen):
    """One name a meeting may ask about."""

    key: Name
    """How params files and evidence spell it."""
    title: str
    """How people spell it; never translated."""
    seat: Seat
    pattern: Literal["serve", "build-serve"] | None = None
    """On-table engines only: whether a build comes before serving."""
    aliases: tuple[str, ...] = ()
    """Other spellings, lower case."""
    variants: tuple[str, ...] = ()
    """Other ways this engine serves, launched under names of their own; they stand in its column."""


ROSTER: tuple[Entry, ...] = (
    Entry(key="vllm", title="vLLM", seat="on", pattern="serve"),
    Entry(
        key="trtllm",
        title="TensorRT-LLM",
        seat="on",
        pattern="build-serve",
        aliases=("tensorrt-llm", "trt-llm", "tensorrtllm"),
        variants=("trtllm-engine",),
    ),
    Entry(key="sglang", title="SGLang", seat="on", pattern="serve"),
    Entry(key="atlas", title="Atlas", seat="on", pattern="serve", aliases=("spark", "avarok")),
    Entry(key="ollama", title="Ollama", seat="off"),
    Entry(key="nim", title="NVIDIA NIM", seat="off", aliases=("nvidia-nim",)),
    Entry(key="llama.cpp", title="llama.cpp", seat="off", aliases=("llamacpp", "llama-cpp", "llama-server")),
    Entry(key="tgi", title="TGI", seat="off", aliases=("text-generation-inference",)),
    Entry(key="litellm", title="LiteLLM", seat="gateway"),
    Entry(key="triton", title="Triton Inference Server", seat="gateway"),
    Entry(key="ray-serve", title="Ray Serve", seat="gateway", aliases=("rayserve", "ray")),
    Entry(key="kserve", title="KServe", seat="gateway"),
    Entry(key="bentoml", title="BentoML", seat="gateway", aliases=("bento",)),
    Entry(key="reference", title="reference engine", seat="instrument", aliases=("reference-engine",)),
    Entry(key="P", title="P", seat="synthetic"),
    Entry(key="Q", title="Q", seat="synthetic"),
    Entry(key="R", title="R", seat="synthetic"),
    Entry(key="S", title="S", seat="synthetic"),
)

ON_TABLE: tuple[Entry, ...] = tuple(entry for entry in ROSTER if entry.seat == "on")
"""The four columns, in the order they are always printed."""


def find(name: str) -> Entry | None:
    """The entry for a name as people write it, or None when nobody has listed it."""
    folded = name.strip().lower().replace("_", "-").replace(" ", "-")
    for entry in ROSTER:
        if folded in (entry.key.lower(), entry.title.lower().replace(" ", "-"), *entry.aliases, *entry.variants):
            return entry
    return None
