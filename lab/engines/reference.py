"""The reference engine as an engine of the lab: the instrument check, and the example of an adapter."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lab.endpoint import Endpoint
from lab.engines.base import HOST, Adapter, Command, Launch
from lab.errors import EngineError
from lab.records import ChunkKind, Emission
from lab.spec import RunSpec

PROGRAM = (sys.executable, "-m", "lab.load.reference")
"""How the reference engine is started on this machine."""


class Reference(Adapter):
    """A server with exactly known behaviour, in a process of its own."""

    key = "reference"
    settings = frozenset(
        {"prefix_caching", "kv_cache_tokens", "max_num_seqs", "ttft_s", "tick_s", "prefill_s_per_token"}
    )
    metrics_path = "/metrics"
    start_limit_s = 30.0
    has_quality = False

    def installed(self) -> str | None:
        return None

    def render(self, spec: RunSpec, weights: Path | None, port: int) -> Launch:
        self.refuse_unknown_settings(spec.profile)
        profile = spec.profile
        command = (
            Command()
            .add(*PROGRAM, shown=("lab", "reference-engine"))
            .add("--host", HOST)
            .add("--port", port, shown=("--port", "<port>"))
            .add("--model", self.served_name(spec))
            .add("--context-limit", spec.context_limit)
            .flag("--kv-cache-tokens", profile.kv_cache_tokens)
            .flag("--max-num-seqs", profile.max_num_seqs)
            .flag("--ttft-s", profile.ttft_s)
            .flag("--tick-s", profile.tick_s)
            .flag("--prefill-s-per-token", profile.prefill_s_per_token)
        )
        if profile.prefix_caching is not None:
            command.add("--prefix-caching" if profile.prefix_caching else "--no-prefix-caching")
        return command.launch()

    def version(self, endpoint: Endpoint) -> str | None:
        answer = endpoint.get("/version").json()
        return str(answer["version"]) if isinstance(answer, dict) and "version" in answer else None

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        answer = endpoint.post("/tokenize", {"content": text}).json()
        return answer.get("count") if isinstance(answer, dict) else None


def read_emissions(endpoint: Endpoint) -> dict[str, Emission]:
    """What the reference engine says it sent, by request id, and have it forgotten.

    Raises:
        EngineError: it does not say.
    """
    answer = endpoint.get("/emitted", timeout_s=60)
    if answer.status != 200:
        raise EngineError(f"the reference engine does not say what it sent: HTTP {answer.status}")
    endpoint.delete("/emitted")
    kinds = set(ChunkKind)
    emissions = {}
    for line in answer.body.splitlines():
        whole = json.loads(line)
        chunks = [(s, k) for s, k in zip(whole["chunk_s"], whole["chunk_kind"], strict=True) if k in kinds]
        emissions[whole["request_id"]] = Emission.model_validate(
            {
                "received_s": whole["received_s"],
                "chunk_s": [s for s, _ in chunks],
                "chunk_kind": [k for _, k in chunks],
                "late_s": whole["token_late_s"],
            }
        )
    return emissions
