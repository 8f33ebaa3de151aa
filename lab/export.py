"""Runs of the lab in the files of others, so that they can check the numbers with their own tools.

`vllm-bench` is computed from the raw streams by that tool's definitions, not by the lab's: its TTFT is at the first
chunk with a choice, its end at the last. What its format has no place for (the steady window, what a request was for)
is left out, and so are the times of day and every answer. `csv` and `parquet` are one row a request with the lab's own
metrics. `llm-d` is one benchmark report for each level (see `lab.llmd_report`).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lab.errors import EvidenceError
from lab.evidence import EvidenceStore
from lab.llmd_report import level_report
from lab.metrics.catalog import PER_REQUEST
from lab.records import ChunkKind, EvidenceGrade, Outcome, RequestRecord, RunState
from lab.spec import Rung, RunSpec

Form = Literal["vllm-bench", "csv", "parquet"]

ONE_VALUE = ("ttft_s", "tpot_s", "e2e_latency_s", "schedule_lag_s")
"""Metrics of the catalogue that give one value for each request."""


def export(store: EvidenceStore, run_id: str, form: Form) -> bytes:
    """One measured run as a file of another tool.

    Raises:
        EvidenceError: the run was not measured to its end or is damaged, or the format needs what it does not have.
    """
    records = _measured(store, run_id)
    if form == "vllm-bench":
        return _vllm_bench(run_id, store.spec(run_id), records)
    rows = [_row(record) for record in records]
    if form == "parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink, compression="zstd")
        payload: bytes = sink.getvalue().to_pybytes()
        return payload
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def export_reports(store: EvidenceStore, run_id: str, grade: EvidenceGrade) -> dict[int, bytes]:
    """One measured run as llm-d benchmark reports: level → report.

    Args:
        store: where the run is.
        run_id: the run.
        grade: what its evidence may carry.

    Raises:
        EvidenceError: the run was not measured to its end or is damaged.
    """
    records, spec = _measured(store, run_id), store.spec(run_id)
    launch, environment = store.launch(run_id), store.environment(run_id)
    return {
        level: json.dumps(
            level_report(run_id, spec, level, of_level, launch=launch, environment=environment, grade=grade),
            indent=1,
            allow_nan=False,
        ).encode()
        + b"\n"
        for level in range(len(spec.workload.rungs))
        if (of_level := [one for one in records if one.level == level])
    }


def _measured(store: EvidenceStore, run_id: str) -> list[RequestRecord]:
    """The measured requests of a whole run, at least one. Raises EvidenceError."""
    status = store.status(run_id)
    if status.state is not RunState.MEASURED or (problems := store.verify(run_id)):
        why = f"is {status.state}" if status.state is not RunState.MEASURED else f"is damaged: {'; '.join(problems)}"
        raise EvidenceError(f"{run_id} {why}; only whole, measured runs are handed on", f"lab show {run_id}")
    records = [record for record in store.requests(run_id) if not record.warmup]
    if not records:
        raise EvidenceError(f"{run_id} has no load to hand on", f"lab show {run_id}")
    return records


def _row(record: RequestRecord) -> dict[str, Any]:
    """One request; a metric that has no value is empty, never 0."""
    metrics = {name: next(iter(PER_REQUEST[name][1](record)), None) for name in ONE_VALUE}
    good = record.outcome is Outcome.SUCCESS
    return {
        "level": record.level,
        "index": record.index,
        "outcome": record.outcome.value,
        "intended_send_s": record.intended_send_s,
        "send_s": record.send_s,
        "end_s": record.end_s,
        "prompt_tokens": record.prompt_tokens,
        "cached_tokens": record.cached_tokens,
        "completion_tokens": record.completion_tokens,
        "asked_tokens": record.asked_tokens,
        "finish_reason": _inert(record.finish_reason),
        **{name: value if good or name == "schedule_lag_s" else None for name, value in metrics.items()},
    }


def _inert(word: str | None) -> str | None:
    """The engine's own word; one that a spreadsheet would compute is only text there, behind an apostrophe."""
    return f"'{word}" if word and word[0] in "=+-@\t\r" else word


def _vllm_bench(run_id: str, spec: RunSpec, records: Sequence[RequestRecord]) -> bytes:
    """One JSON document a level, one under the other, as --append-result writes them."""
    lines = []
    for level, rung in enumerate(spec.workload.rungs):
        of_level = sorted((one for one in records if one.level == level), key=lambda one: one.index)
        if of_level:
            lines.append(json.dumps(_level(run_id, spec, rung, of_level), allow_nan=False))
    return ("\n".join(lines) + "\n").encode()


def _level(run_id: str, spec: RunSpec, rung: Rung, records: Sequence[RequestRecord]) -> dict[str, Any]:
    good = [record for record in records if record.outcome is Outcome.SUCCESS]
    if any(record.prompt_tokens is None or record.completion_tokens is None for record in good):
        raise EvidenceError(
            f"{run_id}: the server sent no usage for some requests, and this format has a number of tokens for each",
            f"lab export {run_id} --as csv",
        )
    begin = min(record.send_s for record in records)
    duration_s = max((record.end_s for record in records if record.end_s is not None), default=begin) - begin
    inputs, outputs = (
        sum(getattr(one, field) or 0 for one in good) for field in ("prompt_tokens", "completion_tokens")
    )
    rows = [_stream(record) for record in records]
    whole = {
        "backend": "openai-chat" if spec.workload.endpoint == "chat" else "openai",
        "label": run_id,
        "model_id": spec.model.series,
        "num_prompts": len(records),
        "request_rate": "inf" if rung.rate_rps is None else rung.rate_rps,
        "max_concurrency": rung.concurrency,
        "duration": duration_s,
        "completed": len(good),
        "failed": len(records) - len(good),
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
    }
    if spec.workload.arrival == "poisson":
        whole["burstiness"] = 1.0
    if duration_s > 0:
        whole["request_throughput"] = len(good) / duration_s
        whole["output_throughput"] = outputs / duration_s
        whole["total_token_throughput"] = (inputs + outputs) / duration_s
    firsts = [row["ttft"] for row in rows if row["ttft"] is not None]
    ends = [row["e2el"] for row in rows if row["e2el"] is not None]
    tpots = [
        (row["e2el"] - row["ttft"]) / (row["tokens"] - 1)
        for row in rows
        if row["e2el"] is not None and row["tokens"] > 1
    ]
    gaps = [gap for row in rows for gap in row["itl"]]
    for name, values in (("ttft", firsts), ("tpot", tpots), ("itl", gaps), ("e2el", ends)):
        if values:
            in_ms = np.asarray(values) * 1000
            whole[f"mean_{name}_ms"] = float(np.mean(in_ms))
            whole[f"median_{name}_ms"] = float(np.median(in_ms))
            whole[f"std_{name}_ms"] = float(np.std(in_ms))
            whole[f"p99_{name}_ms"] = float(np.percentile(in_ms, 99))
    return whole | {
        "input_lens": [record.prompt_tokens or 0 for record in records],
        "output_lens": [row["tokens"] for row in rows],
        "ttfts": [row["ttft"] or 0.0 for row in rows],
        "itls": [row["itl"] for row in rows],
        "errors": ["" if record.outcome is Outcome.SUCCESS else record.outcome.value for record in records],
    }


def _stream(record: RequestRecord) -> dict[str, Any]:
    """One stream by the other tool's definitions; a failed request has neither times nor tokens there."""
    chunks = [
        at_s
        for at_s, kind in zip(record.chunk_s, record.chunk_kind, strict=True)
        if kind is not ChunkKind.USAGE  # the others have a choice; a keep-alive is recorded as a role and taken for one
    ]
    if record.outcome is not Outcome.SUCCESS or not chunks:
        return {"ttft": None, "e2el": None, "itl": [], "tokens": 0}
    return {
        "ttft": chunks[0] - record.send_s,
        "e2el": chunks[-1] - record.send_s,
        "itl": [later - earlier for earlier, later in pairwise(chunks)],
        "tokens": record.completion_tokens,
    }
