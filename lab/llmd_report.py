"""A run of the lab as llm-d benchmark reports, one a level.

Written to Benchmark Report 0.2.1 as llmd-benchmark-report 0.2.1 checks it (schema_v0_2.py, schema_v0_2_components.py),
and by the definitions in that schema: TPOT is (latency − TTFT) / (n − 1), NTPOT latency / n. A field the run has no
value for is left out; so are times of day, every answer and every reason of a failure. What the schema has no field for
stands in `load.native.config`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

import numpy as np

from lab.environment import Environment
from lab.evidence import LaunchRecord
from lab.metrics.catalog import PER_REQUEST, measure_level
from lab.records import EvidenceGrade, Outcome, RequestRecord, RunId
from lab.spec import Rung, RunSpec, digest
from lab.version import __version__

VERSION = "0.2.1"
"""Of the report format."""

Units = Literal["s", "s/token", "count", "tokens/s", "queries/s"]
PERCENTILES = {
    "p1": 1, "p5": 5, "p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p99p9": 99.9,
}  # fmt: skip
SOURCES = {"words": "random", "structured-output": "sampled", "own-traffic": "sampled"}
"""What a workload's prompts are made of, in the words of the format."""


def level_report(
    run_id: RunId,
    spec: RunSpec,
    level: int,
    records: Sequence[RequestRecord],
    *,
    launch: LaunchRecord | None,
    environment: Environment | None,
    grade: EvidenceGrade,
) -> dict[str, Any]:
    """The report of one level.

    Args:
        run_id: of the run; the experiment all its levels belong to.
        spec: what was meant.
        level: which rung.
        records: its measured requests, at least one.
        launch: how the engine was started; None: nobody saw it.
        environment: the machine; None: not recorded.
        grade: what the evidence may carry; the format has no field for it, so it stands among the keywords.
    """
    rung = spec.workload.rungs[level]
    return {
        "version": VERSION,
        "run": {
            "uid": f"{run_id}-{level}",
            "eid": run_id,
            "time": {"duration": f"PT{measure_level(records, rung).duration_s:.6f}S"},
            "keywords": [f"grade:{grade.value}", f"table:{spec.table}"],
        },
        "scenario": {
            "stack": [_engine(spec, launch, environment)],
            "load": _load(spec, level, rung, records),
        },
        "results": {"request_performance": {"aggregate": _aggregate(records, rung)}},
    }


def _engine(spec: RunSpec, launch: LaunchRecord | None, environment: Environment | None) -> dict[str, Any]:
    """The engine: as one of theirs where accelerators are known, else as a component without a schema."""
    gpus = environment.gpus if environment else ()
    profile = spec.profile
    common = {
        "tool": spec.engine,
        "tool_version": (launch.engine_version if launch else None) or "not recorded",
    }
    model = {"name": spec.model.series}
    standardized: dict[str, Any] = {"kind": "generic", **common, "model": model}
    if gpus and len({gpu.name for gpu in gpus}) == 1:
        standardized = {
            "kind": "inference_engine",
            **common,
            "role": "replica",
            "replicas": 1,
            "model": model,
            "accelerator": {
                "model": gpus[0].name,
                "count": profile.tensor_parallel * profile.pipeline_parallel,
                "parallelism": {"tp": profile.tensor_parallel, "pp": profile.pipeline_parallel},
            },
        }
    settings = profile.model_dump(mode="json", exclude_none=True)
    return {
        "metadata": {"label": "engine", "cfg_id": digest(settings)[:16]},
        "standardized": standardized,
        "native": {
            "config": {
                "settings": settings,
                "quantization": spec.quantization.model_dump(mode="json"),
                "model_revision": spec.model.revision,
                "context_limit": spec.context_limit,
                **({"gateway": spec.gateway} if spec.gateway else {}),
            }
        },
    }


def _load(spec: RunSpec, level: int, rung: Rung, records: Sequence[RequestRecord]) -> dict[str, Any]:
    asked = spec.workload
    standardized: dict[str, Any] = {
        "tool": "engine-lab",
        "tool_version": __version__,
        "parallelism": asked.workers,
        "source": SOURCES[asked.content],
        "stage": level,
        "input_seq_len": _length(asked.input_tokens, [one.prompt_tokens for one in records]),
    }
    if asked.exact_output:
        standardized["output_seq_len"] = {"distribution": "fixed", "value": asked.output_tokens}
    if rung.rate_rps is not None:
        standardized["rate_qps"] = rung.rate_rps
    if rung.concurrency is not None:
        standardized["concurrency"] = rung.concurrency
    fields = {
        "name", "endpoint", "content", "arrival", "shared_prefix_tokens", "prefix_groups", "output_tokens",
        "exact_output", "requests_per_level", "duration_s", "warmup_requests", "timeout_s", "seed",
    }  # fmt: skip
    config = asked.model_dump(mode="json", include=fields, exclude_none=True)
    return {
        "metadata": {"cfg_id": digest(asked.model_dump(mode="json"))[:16]},
        "standardized": standardized,
        "native": {"config": {"workload": config, "sampling": spec.sampling.model_dump(mode="json")}},
    }


def _length(asked: int | None, counted: Sequence[int | None]) -> dict[str, Any]:
    """Length of prompts: as asked, the template not counted, or as the server counted them."""
    if asked is not None:
        return {"distribution": "fixed", "value": asked}
    known = [one for one in counted if one is not None]
    return {"distribution": "other", "value": fmean(known) if known else 0}


def _aggregate(records: Sequence[RequestRecord], rung: Rung) -> dict[str, Any]:
    good = [one for one in records if one.outcome is Outcome.SUCCESS]
    level = measure_level(records, rung)
    inputs, outputs = ([getattr(one, field) for one in good] for field in ("prompt_tokens", "completion_tokens"))
    requests = {
        "total": len(records),
        "failures": len(records) - len(good),
        "input_length": _statistics(inputs, "count"),
        "output_length": _statistics(outputs, "count"),
    }
    latency = {
        "time_to_first_token": _statistics(_values("ttft_s", good), "s"),
        "normalized_time_per_output_token": _statistics(
            [_divided(one, "e2e_latency_s", None, one.completion_tokens) for one in good], "s/token"
        ),
        "time_per_output_token": _statistics(
            [_divided(one, "e2e_latency_s", "ttft_s", (one.completion_tokens or 0) - 1) for one in good], "s/token"
        ),
        "inter_token_latency": _statistics(_token_gaps(good), "s/token"),
        "request_latency": _statistics(_values("e2e_latency_s", good), "s"),
    }
    rates = {
        "output_token_rate": _rate(level.scalars["output_tok_per_s_whole"], "tokens/s"),
        "input_token_rate": _rate(_per_second(inputs, level.duration_s), "tokens/s"),
        "total_token_rate": _rate(_per_second([*inputs, *outputs], level.duration_s), "tokens/s"),
        "request_rate": _rate(level.scalars["request_rps_whole"], "queries/s"),
    }
    return {"requests": _said(requests), "latency": _said(latency), "throughput": _said(rates)}


def _values(metric: str, good: Sequence[RequestRecord]) -> list[float | None]:
    """One value of the catalogue for each success; None where it has none."""
    return [next(iter(PER_REQUEST[metric][1](one)), None) for one in good]


def _divided(one: RequestRecord, of: str, minus: str | None, tokens: int | None) -> float | None:
    whole, less = (next(iter(PER_REQUEST[name][1](one)), None) if name is not None else 0.0 for name in (of, minus))
    return None if whole is None or less is None or not tokens or tokens < 1 else (whole - less) / tokens


def _token_gaps(good: Sequence[RequestRecord]) -> list[float | None]:
    """Gaps between tokens: those between chunks, where every chunk held one token; else nothing."""
    if any(one.completion_tokens != len(one.token_s) for one in good):
        return []
    return [gap for one in good for gap in PER_REQUEST["chunk_gap_s"][1](one)]


def _per_second(counts: Sequence[int | None], seconds: float) -> float | None:
    known = [one for one in counts if one is not None]
    return sum(known) / seconds if known and len(known) == len(counts) and seconds > 0 else None


def _statistics(values: Sequence[float | int | None], units: Units) -> dict[str, Any] | None:
    """A distribution; None where not one request has a value."""
    known = np.asarray([one for one in values if one is not None], dtype=float)
    if not known.size:
        return None
    tails = {name: float(np.percentile(known, share)) for name, share in PERCENTILES.items()}
    return {
        "units": units,
        "mean": float(known.mean()),
        "stddev": float(known.std()),
        "min": float(known.min()),
        **tails,
        "max": float(known.max()),
    }


def _rate(value: float | None, units: Units) -> dict[str, Any] | None:
    return None if value is None else {"units": units, "mean": value}


def _said(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
