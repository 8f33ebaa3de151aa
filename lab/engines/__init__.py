"""Engine adapters: one file an engine, the table of those the lab can launch, and of those it attaches by URL."""

from __future__ import annotations

from lab.engines.atlas import Atlas, AtlasServer
from lab.engines.attached import Nim, Ollama, Tgi, form
from lab.engines.base import Adapter
from lab.engines.gateway import GATEWAYS, ThroughGateway
from lab.engines.llamacpp import LlamaCpp, LlamaServer
from lab.engines.reference import Reference
from lab.engines.sglang import Sglang
from lab.engines.trtllm import TrtLlm, TrtLlmEngine
from lab.engines.vllm import Vllm
from lab.errors import ParamsError, nearest
from lab.roster import find
from lab.spec import RunSpec

__all__ = ["ATTACHED", "ENGINES", "GATEWAYS", "Adapter", "adapter_for", "adapter_of"]

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

ATTACHED: dict[str, Adapter] = {adapter.key: adapter for adapter in (Ollama(), Tgi(), LlamaServer(), AtlasServer())}
"""Engines with an adapter of their own when they run already; the others are attached through that of `ENGINES`."""

PACKAGED = ("vllm", "sglang")
"""What an image of NIM may hold."""


def adapter_of(spec: RunSpec) -> Adapter:
    """The adapter of a run: launched, attached, or behind its gateway."""
    return adapter_for(spec.engine, attached=spec.attached, gateway=spec.gateway, behind=spec.behind)


def adapter_for(name: str, *, attached: bool = False, gateway: str | None = None, behind: str | None = None) -> Adapter:
    """The adapter of an engine as a params file names it.

    Args:
        name: of the engine, in any spelling the roster knows.
        attached: the engine runs already.
        gateway: roster key of what stands in front of it.
        behind: roster key of the engine inside, where `name` is a packaging of another one.

    Raises:
        ParamsError: there is no such engine, it cannot be launched, or what is inside it is not said.
    """
    entry, own = find(name), name.strip().lower()
    key = own if own in ENGINES or entry is None else entry.key  # two adapters may share one column of the roster
    if entry is not None and entry.seat == "gateway":
        raise ParamsError(
            f"{entry.title} stands in front of an engine and is none itself; the engine behind has to be named",
            f"write {{engine: vllm, gateway: {entry.key}, url: http://HOST:{GATEWAYS[entry.key].default_port}}}",
        )
    if not attached and key in ENGINES:
        return ENGINES[key]
    if attached:
        adapter = _attached(key, behind)
        if adapter is not None:
            return adapter if gateway is None else ThroughGateway(adapter, GATEWAYS[gateway])
    elif key in ATTACHED or key == Nim.key:
        assert entry is not None
        raise ParamsError(
            f"the lab has no launcher for {entry.title}: it attaches to one that runs already",
            f"give the run its url: {form(key)}",
        )
    launchable = ", ".join(ENGINES)
    if entry is not None:
        raise ParamsError(
            f"this version of the lab has no launcher for {entry.title}; it can launch: {launchable}",
            f"lab engines {entry.key}",
        )
    near = nearest(name, {**ENGINES, **ATTACHED})
    hint = f"did you mean '{near}'?" if near else f"it can launch: {launchable}"
    raise ParamsError(f"no engine is called '{name}'; {hint}", f"lab engines {name}")


def _attached(key: str, behind: str | None) -> Adapter | None:
    """The adapter of an engine that runs already, None for one that nobody has written."""
    if key == Nim.key:
        if behind not in PACKAGED:
            raise ParamsError(
                f"an image of NVIDIA NIM holds one engine, {' or '.join(PACKAGED)}; "
                f"the plan {'does not say which' if behind is None else f'says {behind}'}",
                f"write {form(Nim.key)}",
            )
        return Nim(adapter_for(behind))
    if behind is not None and behind != INSIDE.get(key):
        raise ParamsError(f"{key} is not a packaging of {behind}", "take 'behind' out of the run")
    return ATTACHED.get(key) or ENGINES.get(key)


INSIDE = {"ollama": "llama.cpp"}
"""Packagings of which the engine inside is known."""
