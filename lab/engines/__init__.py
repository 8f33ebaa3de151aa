"""Engine adapters: one file an engine, and the table of those the lab can launch."""

from __future__ import annotations

from lab.engines.atlas import Atlas
from lab.engines.base import Adapter
from lab.engines.llamacpp import LlamaCpp
from lab.engines.reference import Reference
from lab.engines.sglang import Sglang
from lab.engines.trtllm import TrtLlm, TrtLlmEngine
from lab.engines.vllm import Vllm
from lab.errors import ParamsError, nearest
from lab.roster import find

__all__ = ["ENGINES", "Adapter", "adapter_for"]

ENGINES: dict[str, Adapter] = {
    adapter.key: adapter
    for adapter in (
        Vllm(),
        TrtLlm(),
        TrtLlmEngine(),
        Sglang(),
        Atlas(),
        LlamaCpp(),
        Reference(),
    )
}
"""Engines that can be launched, by their key; columns of the comparison first, in its order."""


def adapter_for(name: str) -> Adapter:
    """The adapter of an engine as a params file names it. Raises ParamsError for one that cannot be launched."""
    own = name.strip().lower()
    if own in ENGINES:  # before the roster: two adapters may share one column
        return ENGINES[own]
    entry = find(name)
    if entry is not None and entry.key in ENGINES:
        return ENGINES[entry.key]
    launchable = ", ".join(ENGINES)
    if entry is not None:
        raise ParamsError(
            f"this version of the lab has no launcher for {entry.title}; it can launch: {launchable}",
            f"lab engines {entry.key}",
        )
    near = nearest(name, ENGINES)
    hint = f"did you mean '{near}'?" if near else f"it can launch: {launchable}"
    raise ParamsError(f"no engine is called '{name}'; {hint}", f"lab engines {name}")
