"""Made-up public runs: engines P, Q, R, S and the reference engine, never a real name with a number."""

from __future__ import annotations

import hashlib
from typing import Any

from lab.publish.evidence import PublicRun

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def run_id(seed: str) -> str:
    """A run_id that depends on `seed` only."""
    return "r-" + "".join(ALPHABET[byte % 32] for byte in hashlib.sha256(seed.encode()).digest()[:10])


def sha(seed: str) -> str:
    """A SHA-256 digest that depends on `seed` only."""
    return hashlib.sha256(seed.encode()).hexdigest()


def summary(value: float | None, spread: float = 0.4) -> dict[str, Any]:
    """A summary around `value`, or an empty one with a reason."""
    if value is None:
        blank = dict.fromkeys(("mean", "p50", "p90", "p99", "min", "max"))
        return {"n": 0, **blank, "reason": "no value was measured"}
    high = value * (1 + spread)
    return {
        "n": 12,
        "mean": value,
        "p50": value,
        "p90": value * (1 + spread / 2),
        "p99": high,
        "min": value,
        "max": high,
    }


def level(
    concurrency: int, rate: float | None, ttft: float | None = 0.05, good: int = 12, bad: int = 0
) -> dict[str, Any]:
    """One rung of the ladder; lengths are exactly 32 tokens out."""
    outcomes = {name: n for name, n in (("success", good), ("timeout", bad)) if n}
    exact = summary(32.0, 0) if good else summary(None)
    return {
        "concurrency": concurrency,
        "requests": good + bad,
        "outcomes": outcomes,
        "duration_s": 3.0,
        "steady_s": None if rate is None else 2.0,
        "prompt_tokens": summary(128.0, 0.02) if good else summary(None),
        "completion_tokens": exact,
        "metrics": {
            "ttft_s": summary(ttft if good else None),
            "tpot_s": summary(0.008 if good else None),
            "chunk_gap_s": summary(0.008 if good else None, 1.5),
        },
        "scalars": {"output_tok_per_s": rate, "request_rps": None if rate is None else rate / 32},
    }


def task(name: str, score: float | None, unscored: dict[str, int] | None = None) -> dict[str, Any]:
    """One task of the quality suite, ten items."""
    return {
        "task": name,
        "metric": "exact_match",
        "n": 10,
        "unscored": unscored or {},
        "score": score,
        "stderr": None if score is None else 0.15,
    }


def run(engine: str = "P", profile: str = "base", launch: str = "1", **changes: Any) -> PublicRun:
    """A synthetic run of a stand-in engine; `changes` replace whole fields."""
    plain: dict[str, Any] = {
        "run_id": run_id(f"{engine}{profile}{launch}"),
        "spec_digest": "s-" + sha(engine + profile)[:16],
        "match_id": "m-" + sha("match")[:12],
        "manifest_sha256": sha(f"manifest{engine}{profile}{launch}"),
        "week": "2026-W49",
        "lab_version": "0.1.0",
        "grade": "synthetic",
        "grade_reason": "generated",
        "table": "pipeline-check",
        "engine": engine,
        "engine_version": "0.0.1",
        "model": {
            "series": "Made-Up-135M",
            "revision": "v1",
            "weights_format": "gguf",
            "weights_sha256": sha("weights"),
            "tokenizer": "in-weights",
            "chat_template": "in-weights",
        },
        "quantization": {"weights": "Q4_1", "activations": "F32", "kv_cache": "F16"},
        "context_limit": 4096,
        "gateway": None,
        "profile": {"name": profile, "prefix_caching": profile == "base", "max_num_seqs": 4},
        "varied": ["profile.prefix_caching"],
        "workload": {
            "name": "short-chat",
            "endpoint": "chat",
            "input_tokens": 128,
            "shared_prefix_tokens": 64,
            "output_tokens": 32,
            "exact_output": True,
            "concurrency": [1, 4],
            "requests_per_level": 12,
            "warmup_requests": 2,
            "timeout_s": 60,
            "seed": 7,
        },
        "sampling": {
            "temperature": 0,
            "top_p": 1,
            "top_k": 0,
            "min_p": 0,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "repetition_penalty": 1,
            "seed": 1,
        },
        "preparation_counts": True,
        "preparation": {"build_s": None, "startup_s": 0.72, "first_request_s": 0.09, "cache_state": "warm"},
        "levels": [level(1, 101.25), level(4, 222.5, 0.11)],
        "quality": {
            "suite": "smoke-mini",
            "version": "1.0.0",
            "suite_sha256": sha("suite"),
            "lm_eval_version": "0.4.13",
            "tasks": [
                task("arithmetic", 0.4),
                task("facts", 0.625, {"truncated": 2}),
                task("schema", None, {"empty": 10}),
            ],
        },
        "quality_reason": None,
        "machine": {
            "accelerator": None,
            "cpu_cores": 2,
            "memory_gib": 8,
            "system": "Linux",
            "machine": "x86_64",
            "python": "3.11.7",
        },
        "command": ["engine", "--model", "<model>", "--port", "<port>"],
    }
    return PublicRun.model_validate({**plain, **changes})


def instrument_run(**changes: Any) -> PublicRun:
    """A run of the reference engine as instrument check."""
    checked = {
        "concurrency": 4,
        "requests": 24,
        "ttft_true_s": 0.05,
        "ttft_error_s": 0.00031,
        "chunk_lag_p50_s": 0.0001,
        "chunk_lag_p99_s": 0.0009,
        "chunks": 768,
        "client_cpu_s_per_chunk": None,
    }
    return run(
        "reference",
        "ticking",
        table="instrument-check",
        grade="harness-check",
        grade_reason="no-gpu-seen",
        levels=[],
        quality=None,
        quality_reason="not-applicable-seeded-text",
        instrument=[checked],
        varied=[],
        **changes,
    )


def edition() -> tuple[PublicRun, ...]:
    """Two profiles of P (one launched twice), one Q that is built first, and the instrument check."""
    return (
        run("P", "base"),
        run("P", "base", "2", levels=[level(1, 103.0), level(4, 231.0, 0.1)]),
        run("P", "no-prefix-cache", levels=[level(1, 88.1, 0.07), level(4, None, None, good=0, bad=12)]),
        run(
            "Q",
            "built",
            preparation={
                "build_s": 41.3,
                "startup_s": 2.5,
                "first_request_s": 0.4,
                "cache_state": "disk-cold",
            },
            levels=[level(1, 95.0, 0.06, good=11, bad=1), level(4, 240.0, 0.09)],
            not_expressible=["min_p"],
        ),
        instrument_run(),
    )
