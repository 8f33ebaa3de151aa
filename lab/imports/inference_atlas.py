"""Result records of Inference Atlas (`results/*.json`, schema 1, written by its harness atlas-bench).

The definitions were read in bench/atlas_bench/metrics.py and client.py @1ebb2233.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lab.conditions import Condition
from lab.errors import ImportRefused
from lab.imports.arguments import notes_of, settings_of, speculation_of, thinking_of
from lab.imports.reading import Result, flag, mappings, number, part, text, whole
from lab.imports.record import (
    MOST_ROWS,
    Counts,
    EngineStated,
    ImportedMetric,
    ImportedRequest,
    Iteration,
    LoadStated,
    MachineStated,
    ModelStated,
    Setting,
)
from lab.imports.stream import Each, Shape

VERSION = 1
"""Version of this importer."""

TIMES = {
    "ttft_ms": "first content or reasoning_content delta; tool calls and the newer field 'reasoning' are not counted",
    "tpot_ms": "(end of the stream − first token) / (n − 1): the usage chunk and [DONE] are inside",
    "itl_ms": "gaps between content or reasoning_content deltas, pooled: the lab's chunk_gap_s has tool calls too",
    "e2e_ms": "to the end of the stream, usage chunk and [DONE] included",
}
"""Times, and how each differs from the lab's ttft_s, tpot_s, chunk_gap_s and e2e_latency_s."""

RATES = {
    "output_tok_s": ("output_tok_per_s_whole", "tok/s", None),
    "req_s": ("request_rps_whole", "req/s", None),
    "total_tok_s": (None, "tok/s", "prompt and output tokens added; the lab never adds them"),
    "prefill_tok_s": (
        None,
        "tok/s",
        "prompt tokens / (sum of TTFT / concurrency): waiting in a queue counts as prefill",
    ),
    "ram_peak_gb": (None, "GB", "of the whole machine"),
    "vram_peak_gb": (None, "GB", "as the tool sampled it"),
    "power_avg_w": (None, "W", "as the tool sampled it"),
    "power_peak_w": (None, "W", "as the tool sampled it"),
    "energy_wh": (None, "Wh", "as the tool integrated it over the run"),
    "gpu_util_avg_pct": (None, "%", "as the tool sampled it"),
    "temp_max_c": (None, "°C", "as the tool sampled it"),
}
DERIVED = {
    "tokens_per_watt": ("tok/s/W", "output tokens a second / mean power"),
    "bandwidth_efficiency": ("share", "computed by the site from the model's size and the memory's bandwidth"),
}
STATISTICS = ("mean", "p50", "p90", "p95", "p99", "min", "max")
UNDERSTOOD = frozenset(
    {
        "schema_version", "run_id", "config_id", "cell_id", "workload_id", "kind", "engine", "model", "hardware",
        "args", "serve_command", "workload", "metrics", "failures", "conditions", "gotchas", "derived", "raw",
        "provenance", "license", "licence", "created_at",
    }
)  # fmt: skip
ROW = ("id", "prompt_id", "warmup", "status", "ttft_ms", "e2e_ms", "prompt_tokens", "completion_tokens",
       "finish_reason")  # fmt: skip
"""What is read of a request."""


def _row(one: Any) -> Any:
    return {key: one[key] for key in ROW if key in one} if isinstance(one, dict) else one


SHAPE: Shape = {"raw": {"payload": {"requests": Each(keep=_row)}}}
"""What is built of a file: of each request the fields of `ROW`."""


def read_result(result: Result) -> dict[str, Any]:
    """Fields of an `ImportedRecord` that one record gives. Raises ImportRefused."""
    version = whole(result, "schema_version")
    if version != 1:
        raise ImportRefused(f"schema_version {version} is not read; this importer knows 1")
    if result.get("kind") != "serving":
        raise ImportRefused(f"kind '{result.get('kind')}' is not read; this importer knows serving")
    engine, model, machine = part(result, "engine"), part(result, "model"), part(result, "hardware")
    host, asked, arguments = (
        part(machine, "host"),
        part(part(result, "workload"), "resolved_params"),
        part(result, "args"),
    )
    metrics, payload = part(result, "metrics"), part(part(result, "raw"), "payload")
    notes = tuple(_notes(result))
    name = text(engine, "id")
    iterations = tuple(_iteration(one) for one in mappings(payload, "iterations"))
    return {
        "tool_version": _joined(text(part(result, "raw"), "harness"), text(part(result, "raw"), "harness_version")),
        "measured_at": text(result, "created_at"),
        "engine": EngineStated(
            name=name,
            version=text(engine, "version"),
            commit=text(engine, "commit"),
            container=text(engine, "container"),
            install=text(engine, "install_method"),
        ),
        "model": ModelStated(
            name=text(model, "hf_id") or text(model, "id"),
            revision=text(model, "revision"),
            quantization=text(model, "quant_id"),
        ),
        "machine": MachineStated(
            name=text(machine, "id"),
            accelerators=whole(machine, "count"),
            driver=text(machine, "driver"),
            cuda=text(machine, "cuda"),
            cpu=text(host, "cpu"),
            cpu_cores=whole(host, "cpu_cores"),
            memory_gb=number(host, "ram_gb"),
            system=text(host, "os"),
            kernel=text(host, "kernel"),
            architecture=text(host, "arch"),
            fingerprint=text(machine, "fingerprint"),
            alone=flag(part(result, "conditions"), "dedicated"),
        ),
        "load": LoadStated(
            workload=text(result, "workload_id"),
            endpoint="chat",  # the harness has no other route
            arrival="closed",  # nor another law for kind serving
            concurrency=whole(asked, "concurrency"),
            requests=whole(asked, "num_requests"),
            input_tokens=whole(asked, "input_tokens"),
            output_tokens=whole(asked, "output_tokens"),
            exact_output=None,
            warmup_requests=whole(asked, "warmup_requests"),
            repeats=whole(asked, "repeat"),
            seed=whole(asked, "seed"),
            temperature=number(asked, "temperature"),
            timeout_s=number(asked, "timeout_s"),
        ),
        "settings": settings_of(name, arguments) + tuple(_dtype(model)),
        "speculation": speculation_of(name, arguments),
        "thinking": thinking_of(arguments, notes),
        "from_notes": notes_of(notes),
        "counts": Counts(
            requests=whole(metrics, "requests_total"),
            succeeded=whole(metrics, "requests_ok"),
            failed=whole(metrics, "requests_failed"),
            input_tokens=whole(metrics, "input_tokens_total"),
            output_tokens=whole(metrics, "output_tokens_total"),
            duration_s=number(metrics, "duration_s"),
        ),
        "metrics": tuple(_metrics(metrics, part(result, "derived"))),
        "iterations": iterations,
        "chosen_iteration": _chosen(iterations, metrics),
        "requests": tuple(_request(one) for one in mappings(payload, "requests"))[:MOST_ROWS],
        "notes": notes,
        "unread": tuple(key for key in result if key not in UNDERSTOOD),
        "units": "in-the-names",
        "licence": text(result, "license") or text(result, "licence"),
    }  # fmt: skip


def _metrics(metrics: Result, derived: Result) -> Iterator[ImportedMetric]:
    for key, (name, unit, differs) in RATES.items():
        value = number(metrics, key)
        if value is not None:
            own = name or f"inference-atlas:{key}"
            yield ImportedMetric(
                name=own, statistic=None, value=value, unit=unit, key=f"metrics.{key}", differs=differs
            )
    for key, differs in TIMES.items():
        values = part(metrics, key)
        for statistic in STATISTICS:
            value = number(values, statistic)
            if value is not None:
                yield ImportedMetric(
                    name=f"inference-atlas:{key.removesuffix('_ms')}",
                    statistic=statistic,
                    value=value / 1000,
                    unit="s",
                    key=f"metrics.{key}.{statistic}",
                    differs=differs,
                )
    for key, (unit, differs) in DERIVED.items():
        value = number(derived, key)
        if value is not None:
            own = f"inference-atlas:{key}"
            yield ImportedMetric(
                name=own, statistic=None, value=value, unit=unit, key=f"derived.{key}", differs=differs
            )


def _iteration(one: Result) -> Iteration:
    ttft = part(one, "ttft_ms")
    return Iteration(
        output_tokens=whole(one, "output_tokens_total"),
        duration_s=number(one, "duration_s"),
        output_tok_per_s=number(one, "output_tok_s"),
        ttft_mean_s=_ms(ttft, "mean"),
        ttft_p50_s=_ms(ttft, "p50"),
        ttft_p99_s=_ms(ttft, "p99"),
    )


def _request(one: Result) -> ImportedRequest:
    identity = text(one, "id") or ""
    pass_of = re.match(r"i(\d+)-", identity)
    status = text(one, "status")
    return ImportedRequest(
        prompt=text(one, "prompt_id"),
        iteration=int(pass_of[1]) if pass_of else None,
        warmup=flag(one, "warmup"),
        succeeded=None if status is None else status == "ok",
        prompt_tokens=whole(one, "prompt_tokens"),
        completion_tokens=whole(one, "completion_tokens"),
        finish_reason=text(one, "finish_reason"),
        ttft_s=_ms(one, "ttft_ms"),
        e2e_s=_ms(one, "e2e_ms"),
    )


def _chosen(iterations: tuple[Iteration, ...], metrics: Result) -> int | None:
    """Which iteration the run's own numbers are of: the one with its rate and duration."""
    meant = (number(metrics, "output_tok_s"), number(metrics, "duration_s"))
    if len(iterations) < 2 or None in meant:
        return None
    same = [i for i, one in enumerate(iterations) if (one.output_tok_per_s, one.duration_s) == meant]
    return same[0] if len(same) == 1 else None


def _notes(result: Result) -> Iterator[str]:
    for one in mappings(result, "gotchas"):
        words = text(one, "text")
        if words:
            yield words
    detail = text(part(result, "conditions"), "detail")
    if detail:
        yield detail


def _dtype(model: Result) -> Iterator[Setting]:
    dtype = text(model, "dtype")
    if dtype is not None:
        yield Setting(name="model.dtype", value=dtype, condition=Condition.COMPUTE_DTYPE)


def _ms(result: Result, key: str) -> float | None:
    value = number(result, key)
    return None if value is None else value / 1000


def _joined(*words: str | None) -> str | None:
    return " ".join(word for word in words if word) or None
