"""Made-up public runs: engines P, Q, R, S and the reference engine, never a real name with a number."""

from __future__ import annotations

import hashlib
from typing import Any

from lab.publish.evidence import PublicContrast, PublicRun
from lab.quality.paired import compare
from lab.quality.path import QualityPath, contrast
from lab.records import QUANTILES

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


def grid(value: float, spread: float = 0.4) -> list[float]:
    """The distribution of `summary(value, spread)` at the shares that are kept: half of it is `value`."""

    def at(share: float) -> float:
        if share <= 0.9:
            return value * (1 + spread / 2 * max(0.0, share - 0.5) / 0.4)
        return value * (1 + spread / 2 + spread / 2 * min(1.0, (share - 0.9) / 0.09))

    return [float(f"{at(share):.4g}") for share in QUANTILES]


def level(
    concurrency: int | None,
    rate: float | None,
    ttft: float | None = 0.05,
    good: int = 12,
    bad: int = 0,
    **changes: Any,
) -> dict[str, Any]:
    """One rung of the ladder; lengths are exactly 32 tokens out. `changes` replace whole fields."""
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
        "quantiles": {"ttft_s": grid(ttft), "tpot_s": grid(0.008)} if good and ttft is not None else {},
        "scalars": {
            "output_tok_per_s": rate,
            "request_rps": None if rate is None else rate / 32,
            "output_tok_per_s_whole": None if rate is None else rate * 0.87,
        },
        **changes,
    }


def open_level(rate_rps: float, rate: float | None, ttft: float | None = 0.05, **changes: Any) -> dict[str, Any]:
    """One rung of an open loop, with the latencies that count from the intended send."""
    plain = level(None, rate, ttft, **changes)
    late = {
        "schedule_lag_s": 0.0004,
        "ttft_intended_s": None if ttft is None else ttft + 0.0009,
        "e2e_intended_s": 0.31,
    }
    metrics = {**plain["metrics"], **{name: summary(value) for name, value in late.items()}}
    return {**plain, "rate_rps": rate_rps, "metrics": metrics}


def workload(**changes: Any) -> dict[str, Any]:
    """A closed loop of short chats; `changes` replace whole fields."""
    return {
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
        **changes,
    }


def open_workload(arrival: str, *rates: float, **changes: Any) -> dict[str, Any]:
    """The same in an open loop."""
    return workload(name="open-chat", arrival=arrival, concurrency=[], rate_rps=list(rates), **changes)


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


def arms(**changes: Any) -> dict[str, Any]:
    """A constraint that repairs 6 of 41 items, costs 1 and takes 12 ms; `changes` replace whole fields."""

    def arm(task: str, accuracy: float, **endings: int) -> dict[str, Any]:
        return {"task": task, "endings": endings, "field_accuracy": accuracy}

    return {
        "items": 41,
        "free": arm("free", 0.5, valid=30, invalid=9, truncated=2),
        "constrained": arm("constrained", 0.61, valid=38, truncated=1, refused=2),
        "free_again": arm("free-again", 0.51, valid=31, invalid=8, truncated=2),
        "gained": 6,
        "lost": 1,
        "repeats_differ": 3,
        "timed": 36,
        "added_latency_s": 0.0124,
        "added_tokens": -1.5,
        "added_s_per_token": 0.00031,
        **changes,
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
        "workload": workload(),
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


def instrument_level(concurrency: int | None, rate_rps: float | None = None, **changes: Any) -> dict[str, Any]:
    """The instrument on one rung; `changes` replace whole fields."""
    return {
        "concurrency": concurrency,
        "rate_rps": rate_rps,
        "requests": 24,
        "chunks": 768,
        "ttft_true_s": summary(0.05),
        "ttft_error_s": summary(0.00031),
        "request_transit_s": summary(0.0002),
        "chunk_lag_s": summary(0.0001, 8),
        "gap_error_s": summary(0.00002, 9),
        "schedule_error_s": summary(None if rate_rps is None else 0.00015),
        "loop_lag_s": summary(0.00007, 6),
        "client_cpu_s_per_chunk": 7.3e-6,
        "client_rss_mib": 41.5,
        "server_late_s": summary(0.00021, 3),
        **changes,
    }


def certificate(seed: str = "one", valid: int = 256, **changes: Any) -> dict[str, Any]:
    """A certificate of the instrument over a ladder of streams and one open loop."""
    return {
        "certificate_id": "c-" + run_id(seed)[2:],
        "lab_version": "0.2.0",
        "week": "2026-W50",
        "machine": {
            "accelerator": None,
            "cpu_cores": 2,
            "memory_gib": 8,
            "system": "Linux",
            "machine": "x86_64",
            "python": "3.11.7",
        },
        "workers": 1,
        "limits": {"ttft_error_mean_s": 0.002, "chunk_lag_p99_s": 0.003},
        "levels": [
            instrument_level(64),
            instrument_level(256, ttft_error_s=summary(0.0014)),
            instrument_level(1024, ttft_error_s=summary(0.0043), server_late_s=summary(0.004)),
            instrument_level(None, 50.0, client_rss_mib=None),
        ],
        "valid_streams": valid,
        **changes,
    }


def instrument_run(**changes: Any) -> PublicRun:
    """A run of the reference engine as instrument check."""
    whole: dict[str, Any] = {
        "table": "instrument-check",
        "grade": "harness-check",
        "grade_reason": "no-gpu-seen",
        "levels": [],
        "quality": None,
        "quality_reason": "not-applicable-seeded-text",
        "instrument": [instrument_level(4, client_cpu_s_per_chunk=None)],
        "varied": [],
    }
    return run("reference", "ticking", **{**whole, **changes})


def edition() -> tuple[PublicRun, ...]:
    """Two profiles of P (one launched twice), one Q that is built first, and the instrument check."""
    return (
        run("P", "base", certificate=certificate()),
        run("P", "base", "2", levels=[level(1, 103.0), level(4, 231.0, 0.1)], certificate=certificate()),
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


def quality_path(**changes: Any) -> QualityPath:
    """The path of a made-up engine; `changes` replace fields."""
    whole = {
        "engine": "P", "engine_version": "0.0.1", "hardware": "x86_64", "weights_sha256": sha("weights"),
        "quantization_weights": "Q4_1", "quantization_activations": "F32", "quantization_kv_cache": "F16",
        "compute_dtype": "F32", "sampling_defaults": "request", "settings": {"prefix_caching": "true"},
    }  # fmt: skip
    return QualityPath.model_validate({**whole, **changes})


def beside(first: PublicRun, second: PublicRun, one: QualityPath, other: QualityPath, *tasks: dict[str, Any],
           **changes: Any) -> PublicContrast:  # fmt: skip
    """Two runs on the same items; `changes` replace whole fields."""
    return PublicContrast.model_validate(
        {
            "match_id": first.match_id,
            "suite": "smoke-mini",
            "version": "1.0.0",
            "suite_sha256": sha("suite"),
            "first": first.run_id,
            "second": second.run_id,
            "first_path": one.path_id,
            "second_path": other.path_id,
            "contrast": contrast(one, other),
            "family": 7,
            "tasks": tasks,
            **changes,
        }
    )


def pair(name: str, n: int, down: int, up: int, lost: int = 0, same: int | None = None) -> dict[str, Any]:
    """A task of `n` items: so many fell, so many rose, and on the second side so many have no score."""
    falls = {f"i{k}": 1.0 for k in range(down)}
    rises = {f"i{k}": 0.0 for k in range(down, down + up)}
    stays = {f"i{k}": 1.0 for k in range(down + up, n)}
    first: dict[str, float | str] = {**falls, **rises, **stays}
    second: dict[str, float | str] = {item: float(item not in falls) for item in first}
    second |= {f"i{n - 1 - k}": "truncated" for k in range(lost)}
    paired = compare(first, second)
    return {
        "task": name,
        "metric": "exact_match",
        "paired": paired,
        "same_answers": paired.n - down - up if same is None else same,
        "p_holm": paired.p,
    }


def contrasts() -> tuple[PublicContrast, ...]:
    """One contrast of every kind between runs of `edition`, with every verdict, and no difference at all."""
    base, again, off, built, _ = edition()
    plain, cold = quality_path(), quality_path(settings={"prefix_caching": "false"})
    other = quality_path(engine="Q", quantization_weights="Q8_0", weights_sha256=sha("other weights"))
    return (
        beside(base, again, plain, plain, pair("arithmetic", 50, 0, 0), pair("facts", 50, 1, 0)),
        beside(base, off, plain, cold, pair("arithmetic", 50, 3, 4), pair("facts", 3000, 5, 5),
               pair("schema", 100, 20, 0), lanes=["text", "chat"]),
        beside(base, built, plain, other, pair("arithmetic", 100, 1, 1, lost=1), pair("facts", 100, 0, 0, lost=5),
               pair("schema", 3, 0, 0, lost=3)),
        beside(again, off, plain, quality_path(quantization_kv_cache="FP8"), pair("arithmetic", 100, 0, 0, lost=2),
               pair("facts", 4, 0, 1), lanes=[]),
        beside(again, built, plain, quality_path(compute_dtype=None), pair("arithmetic", 1, 0, 0)),
        beside(off, built, plain, quality_path(weights_sha256=sha("converted again")), pair("arithmetic", 12, 0, 0)),
    )  # fmt: skip


LATE = {"code": "schedule-lag", "value": 0.31, "limit": 0.05}
SLO = {"ttft_s": 0.5, "tpot_s": 0.05}


def lacking() -> dict[str, Any]:
    """A suite of which two tasks are not supported and a third has cut answers."""
    whole = task("facts", 0.625, {"truncated": 2}) | {"finish_reasons": {"stop": 8, "length": 2}, "lane": "chat"}
    choice = task("choice", None, {"not_supported": 10}) | {"lack": "echo-broken", "lane": "tokens"}
    bits = task("perplexity", None, {"not_supported": 10}) | {"lack": "no-tokenizer", "lane": "tokens"}
    plain = {"suite": "smoke", "version": "1.1.0", "suite_sha256": sha("smoke"), "lm_eval_version": "0.4.13"}
    return plain | {"tasks": [whole, choice, bits, task("sums", 0.4)]}


def open_edition() -> tuple[PublicRun, ...]:
    """Every arrival law, an invalid level, every concern, an SLO, JSON answers, two certificates and none."""
    every = (
        {"code": "few-requests", "value": 12, "limit": 30},
        {"code": "drift", "value": -0.134, "limit": 0.1},
        {"code": "outliers", "value": 11.2, "limit": 3},
        {"code": "lengths-differ", "value": 0.31, "limit": 0.1},
        {"code": "no-usage", "value": 3, "limit": 0},
        {"code": "beyond-certificate", "value": 512, "limit": 256},
        {"code": "no-certificate"},
    )
    own, other = certificate(), certificate("two", 0, workers=2)

    def with_goodput(plain: dict[str, Any], goodput: float | None) -> dict[str, Any]:
        return {**plain, "scalars": {**plain["scalars"], "goodput_rps": goodput}}

    poisson = open_workload("poisson", 2.5, 5, 10, slo=SLO, duration_s=60, prefix_groups=4)
    constant = open_workload("constant", 0.5, 100)
    schema = workload(
        name="structured-output", content="structured-output", source_sha256=sha("schemas"), input_tokens=None,
        shared_prefix_tokens=0, exact_output=False, concurrency=[512], requests_per_level=512,
    )  # fmt: skip
    counts = {"valid": 7, "invalid": 2, "truncated": 1, "refused": 1, "failed": 1}
    late = open_level(10, 777.0, 0.777, concerns=[LATE, every[6]])
    return (
        *edition(),
        run("P", "open", workload=poisson, certificate=own, levels=[
            with_goodput(open_level(2.5, 79.0), 2.31), with_goodput(open_level(5, 158.0, 0.07), None), late]),
        run("P", "open", "2", workload=poisson, certificate=own, levels=[
            with_goodput(open_level(2.5, 80.0, 0.052), 2.29), with_goodput(open_level(5, 157.0, 0.072), 4.4), late]),
        run("Q", "even", workload=constant, certificate=other, levels=[
            open_level(0.5, 15.9, concerns=[every[0]]), open_level(100, 2140.0, 0.4, concerns=every[1:4])]),
        run("Q", "schemas", workload=schema, arms=arms(), levels=[
            level(512, 3300.0, 0.8, concerns=every, structured=counts)]),
        run("Q", "untimed", arms=arms(timed=0, added_latency_s=None, added_tokens=None, added_s_per_token=None),
            quality=lacking()),
        instrument_run(
            run_id=run_id("open check"), workload=open_workload("poisson", 50), certificate=own,
            instrument=[instrument_level(None, 50.0, client_rss_mib=None, gap_error_s=summary(None))]),
    )  # fmt: skip
