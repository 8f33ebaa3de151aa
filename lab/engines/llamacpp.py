"""llama.cpp, served by the real llama-server inside the `xllamacpp` wheel. Off the table: pipeline checks."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from lab.endpoint import Endpoint
from lab.engines.base import HOST, Adapter, Command, Launch
from lab.errors import ParamsError
from lab.spec import RunSpec


class LlamaCpp(Adapter):
    """Launches `lab.engines.xllamacpp_server`, whose flags are those of llama-server."""

    key = "llama.cpp"
    settings = frozenset({"prefix_caching", "kv_cache_tokens", "max_num_seqs", "max_batched_tokens", "threads"})
    metrics_path = "/metrics"
    start_limit_s = 120.0
    sampling_names: ClassVar[Mapping[str, str]] = {**Adapter.sampling_names, "repetition_penalty": "repeat_penalty"}

    def installed(self) -> str | None:
        if importlib.util.find_spec("xllamacpp") is None:
            return (
                "llama.cpp is not installed here: the Python package xllamacpp is missing; run: pip install xllamacpp"
            )
        return None

    def render(self, spec: RunSpec, weights: Path | None, port: int) -> Launch:
        if weights is None or spec.model.weights_format != "gguf":
            raise ParamsError(
                f"llama.cpp reads GGUF files; the model {spec.model.series} is {spec.model.weights_format}"
            )
        self.refuse_unknown_settings(spec.profile)
        profile = spec.profile
        slots = profile.max_num_seqs or 1
        # -c is the KV budget of the whole server, divided evenly over its slots
        kv_tokens = profile.kv_cache_tokens or spec.context_limit * slots
        if kv_tokens < spec.context_limit * slots:
            raise ParamsError(
                f"profile {profile.name}: {kv_tokens} KV tokens over {slots} sequences give {kv_tokens // slots} each, "
                f"less than the context limit {spec.context_limit}"
            )
        command = (
            Command()
            .add(
                sys.executable,
                "-m",
                "lab.engines.xllamacpp_server",
                shown=("python", "-m", "lab.engines.xllamacpp_server"),
            )
            .add("-m", weights, shown=("-m", "<model>"))
            .add("--alias", self.served_name(spec))
            .add("--host", HOST)
            .add("--port", port, shown=("--port", "<port>"))
            .add("-c", kv_tokens)
            .add("-np", slots)
            .flag("-b", profile.max_batched_tokens)
            .flag("-t", profile.threads)
            .add("-ctk", spec.quantization.kv_cache.lower(), "-ctv", spec.quantization.kv_cache.lower())
            .add("--fit", "off")  # would shrink what is not set, by what is free
            .add("--cache-ram", 0)  # no second cache behind the slots
            .add("--metrics")
        )
        if profile.prefix_caching is not None:
            command.add("--cache-prompt" if profile.prefix_caching else "--no-cache-prompt")
        return command.launch()

    def version(self, endpoint: Endpoint) -> str | None:
        props = endpoint.get("/props").json()
        build = props.get("build_info") if isinstance(props, dict) else None
        wheel = f"xllamacpp {importlib.metadata.version('xllamacpp')}"
        return f"{wheel} ({build})" if build and "unknown" not in build else wheel

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        tokens = endpoint.post("/tokenize", {"content": text, "add_special": False}).json()
        return len(tokens["tokens"]) if isinstance(tokens, dict) and isinstance(tokens.get("tokens"), list) else None
