"""Probes a running engine before anything is measured: what it does, not what its manual says."""

from __future__ import annotations

from typing import Any

from lab.endpoint import Endpoint
from lab.engines.base import Adapter
from lab.errors import EndpointError
from lab.records import Capabilities, Check
from lab.spec import RunSpec

PROBE_TOKENS = 5
"""Length of the probe answer, short enough to cost nothing and long enough not to happen by chance."""


def probe(adapter: Adapter, endpoint: Endpoint, spec: RunSpec) -> Capabilities:
    """Try what the run relies on.

    Every check ends as pass, fail or not exposed; none is left out and none raises.
    """
    return Capabilities(
        checks=(
            _check("models", lambda: _models(adapter, endpoint, spec)),
            _check("tokenize", lambda: _tokenize(adapter, endpoint)),
            _check("exact-length", lambda: _exact_length(adapter, endpoint, spec)),
        )
    )


def _check(name: str, look: Any) -> Check:
    try:
        result, detail = look()
    except EndpointError as problem:
        result, detail = "fail", problem.what
    return Check(name=name, result=result, detail=detail[:500])


def _models(adapter: Adapter, endpoint: Endpoint, spec: RunSpec) -> tuple[str, str]:
    answer = endpoint.get(adapter.api_path + "/models")
    document = answer.json()
    if answer.status != 200 or not isinstance(document, dict):
        return "not-exposed", f"HTTP {answer.status}"
    names = [str(entry.get("id")) for entry in document.get("data", []) if isinstance(entry, dict)]
    wanted = adapter.served_name(spec)
    return ("pass" if wanted in names else "fail"), f"asked for {wanted}, served: {', '.join(names)}"


def _tokenize(adapter: Adapter, endpoint: Endpoint) -> tuple[str, str]:
    count = adapter.count_tokens(endpoint, "one two three")
    return ("not-exposed", "no tokenizer can be asked") if count is None else ("pass", f"{count} tokens for 3 words")


def _exact_length(adapter: Adapter, endpoint: Endpoint, spec: RunSpec) -> tuple[str, str]:
    fields = adapter.length_fields(PROBE_TOKENS, exact=True)
    if fields.not_expressible:
        return "not-exposed", "the engine has no field for it"
    body = {
        "model": adapter.served_name(spec),
        "messages": [{"role": "user", "content": "Preflight: count slowly."}],
        **adapter.sampling_fields(spec.sampling).body,
        **fields.body,
    }
    answer = endpoint.post(adapter.api_path + "/chat/completions", body, timeout_s=spec.workload.timeout_s)
    document = answer.json()
    usage = document.get("usage") if isinstance(document, dict) else None
    got = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if answer.status != 200 or got is None:
        return "not-exposed", f"HTTP {answer.status}, no usage"
    return ("pass" if got == PROBE_TOKENS else "fail"), f"asked for {PROBE_TOKENS} tokens, the server counts {got}"
