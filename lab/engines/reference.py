"""The reference engine as an engine of the lab: the instrument check, and the example of an adapter."""

from __future__ import annotations

import json
import sys

from lab.conditions import Condition, Wanted
from lab.endpoint import Endpoint
from lab.engines.base import HOST, Adapter, Command, Expressed, Place, by_request, flag_value, imposed, on_off
from lab.errors import EngineError
from lab.records import ChunkKind, Emission
from lab.spec import RunSpec

PROGRAM = (sys.executable, "-m", "lab.load.reference")
"""How the reference engine is started on this machine."""


class Reference(Adapter):
    """A server with exactly known behaviour, in a process of its own."""

    key = "reference"
    default_port = 8099
    weights_formats = ("none",)
    only_with = frozenset({"ttft_s", "tick_s", "prefill_s_per_token"})
    metrics_path = "/metrics"
    start_limit_s = 30.0
    uses_gpu = False
    has_quality = False

    def installed(self) -> str | None:
        return None

    def base(self, spec: RunSpec, place: Place) -> Command:
        profile = spec.profile
        return (
            Command()
            .add(*PROGRAM, shown=("lab", "reference-engine"))
            .add("--host", HOST)
            .add("--port", place.port, shown=("--port", "<port>"))
            .add("--model", self.served_name(spec))
            .flag("--ttft-s", profile.ttft_s)
            .flag("--tick-s", profile.tick_s)
            .flag("--prefill-s-per-token", profile.prefill_s_per_token)
        )

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        match want.condition:
            case Condition.CONTEXT_LIMIT:
                return flag_value(want, "--context-limit", "")
            case Condition.KV_CACHE_TOKENS:
                return flag_value(want, "--kv-cache-tokens", "no limit")
            case Condition.MAX_NUM_SEQS:
                return flag_value(want, "--max-num-seqs", "no limit")
            case Condition.PREFIX_CACHING:
                return on_off(want, ("--prefix-caching",), ("--no-prefix-caching",), "off")
            case Condition.SEED | Condition.SAMPLING_DEFAULTS:
                return by_request()
            case Condition.METRICS:
                return imposed("on")
            case Condition.REQUEST_LOG | Condition.TELEMETRY:
                return imposed("off: it has none")
            case _:
                return imposed("nothing is computed: seeded words on a schedule")

    def version(self, endpoint: Endpoint) -> str | None:
        answer = endpoint.get("/version").json()
        return str(answer["version"]) if isinstance(answer, dict) and "version" in answer else None

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        answer = endpoint.post("/tokenize", {"content": text}).json()
        return answer.get("count") if isinstance(answer, dict) else None

    def reset_cache(self, endpoint: Endpoint) -> bool | None:
        return endpoint.post("/reset_prefix_cache", {}).status == 200


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
