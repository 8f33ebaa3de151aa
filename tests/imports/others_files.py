"""Small files as other tools write them, with invented values of invented engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS: dict[str, Any] = {
    "date": "20260101-000000",
    "model_id": "maker/model",
    "tokenizer_id": "maker/model",
    "num_prompts": 10,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 2,
    "duration": 5.0,
    "completed": 10,
    "total_input_tokens": 1000,
    "total_output_tokens": 100,
    "request_throughput": 2.0,
    "output_throughput": 20.0,
    "median_ttft": 0.1,
    "p99_ttft": 0.3,
    "median_tpot": 0.1,
    "median_e2el": 1.0,
}
"""Two in flight, a second each: two a second, ten in five seconds. No unit in a name."""


def milliseconds() -> dict[str, Any]:
    """The same as the tool itself writes it."""
    times = ("median_ttft", "p99_ttft", "median_tpot", "median_e2el")
    return {key: value for key, value in SECONDS.items() if key not in times} | {
        f"{key}_ms": SECONDS[key] * 1000 for key in times
    }


def detailed() -> dict[str, Any]:
    """With rows: nine good requests of ten tokens, one that failed."""
    gaps = [0.1] * 9
    return milliseconds() | {
        "completed": 9,
        "failed": 1,
        "total_output_tokens": 90,
        "input_lens": [100] * 10,
        "output_lens": [10] * 9 + [0],
        "ttfts": [0.1] * 9 + [0.0],
        "itls": [gaps] * 9 + [[]],
        "errors": [""] * 9 + ["connection reset"],
        "generated_texts": ["words"] * 9 + [""],
    }


def atlas_record(name: str = "P", /, **changes: Any) -> dict[str, Any]:
    """One serving record; `changes` replace top-level fields."""
    whole: dict[str, Any] = {
        "schema_version": 1,
        "run_id": "somebody's",
        "config_id": "c",
        "cell_id": "d",
        "workload_id": "chat-c2",
        "kind": "serving",
        "engine": {"id": name, "version": "1.0", "commit": None, "container": None, "install_method": "source"},
        "model": {"hf_id": "maker/model", "id": "model", "quant_id": "four-bit", "revision": "abc", "dtype": "auto"},
        "hardware": {"id": "a-box", "count": 1, "driver": "1.2", "cuda": "13.0", "host": {"cpu": "c", "ram_gb": 100.0}},
        "args": {},
        "workload": {
            "id": "chat-c2",
            "resolved_params": {
                "concurrency": 2, "num_requests": 10, "input_tokens": 100, "output_tokens": 10,
                "warmup_requests": 1, "repeat": 1, "seed": 1, "temperature": 0,
            },
        },
        "metrics": {
            "requests_total": 10, "requests_ok": 10, "requests_failed": 0, "duration_s": 5.0,
            "input_tokens_total": 1000, "output_tokens_total": 100, "output_tok_s": 20.0, "req_s": 2.0,
            "ttft_ms": {"mean": 100.0, "p50": 100.0}, "tpot_ms": {"mean": 100.0},
            "itl_ms": {"mean": 100.0, "p50": 100.0},
            "vram_peak_gb": None,
        },
        "gotchas": [],
        "raw": {"harness": "atlas-bench", "harness_version": "0.1.0", "payload": {"iterations": [], "requests": []}},
    }  # fmt: skip
    return whole | changes


def row(
    prompt: str, *, warmup: bool = False, tokens: int = 100, wrote: int = 10, ttft_ms: float = 100.0
) -> dict[str, Any]:
    """One request of a record."""
    return {
        "id": f"i0-{prompt}", "prompt_id": prompt, "warmup": warmup, "status": "ok", "ttft_ms": ttft_ms,
        "e2e_ms": 1000.0, "prompt_tokens": tokens, "completion_tokens": wrote,
        "finish_reason": "length" if wrote == 10 else "stop",
    }  # fmt: skip


def write(folder: Path, name: str, content: Any) -> Path:
    """A JSON file."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document, as its holder and its key."""
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)
