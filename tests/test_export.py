"""A run of the lab as a file of others: by their definitions, without what is private, and back again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lab.errors import EvidenceError
from lab.evidence import EvidenceStore
from lab.export import export
from lab.imports import import_files
from lab.plan import RunPlan
from lab.records import ChunkKind, Outcome, RequestRecord, RunState

KINDS = (ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.FINISH, ChunkKind.USAGE)
TIMES = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Role after half a second, two tokens, the finish reason at 2, usage at 3."""


def request(index: int, outcome: Outcome = Outcome.SUCCESS, tokens: int | None = 2) -> RequestRecord:
    good = outcome is Outcome.SUCCESS
    return RequestRecord(
        level=0, index=index, intended_send_s=0.0, send_s=0.0, end_s=3.0, asked_tokens=2, outcome=outcome,
        chunk_s=TIMES if good else (), chunk_kind=KINDS if good else (),
        prompt_tokens=7 if good else None, completion_tokens=tokens if good else None, text="an answer",
        error=None if good else "a private reason",
    )  # fmt: skip


def sealed(store: EvidenceStore, plan: RunPlan, *records: RequestRecord) -> str:
    run_id = store.create(plan.runs[0].spec, plan="p", plan_digest="d", match_id="m", varied=())
    store.write_requests(run_id, records)
    store.seal(run_id, RunState.MEASURED)
    return run_id


def test_times_are_by_the_other_tools_definitions(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    whole = json.loads(export(store, sealed(store, small_plan[0], request(0), request(1)), "vllm-bench"))
    assert whole["median_ttft_ms"] == 500.0  # the role-only chunk counts there
    assert whole["median_e2el_ms"] == 2000.0  # the usage chunk does not
    assert whole["median_tpot_ms"] == 1500.0  # (2.0 − 0.5) / (2 − 1)
    assert whole["median_itl_ms"] == 500.0
    assert (whole["completed"], whole["total_input_tokens"], whole["total_output_tokens"]) == (2, 14, 4)
    assert whole["request_throughput"] == pytest.approx(2 / 3)


def test_what_is_exported_is_imported_without_a_loss(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], tmp_path: Path
) -> None:
    run_id = sealed(store, small_plan[0], request(0), request(1, Outcome.TIMEOUT))
    payload = export(store, run_id, "vllm-bench")
    path = tmp_path / "out.json"
    path.write_bytes(payload)
    (kept,) = import_files(store, "vllm-bench", [path])
    record, whole = kept.record, json.loads(payload)
    assert record.source.units == "in-the-names"
    for name, key in (("vllm-bench:ttft", "median_ttft_ms"), ("vllm-bench:e2el", "median_e2el_ms")):
        assert record.metric(name, "p50") == pytest.approx(whole[key] / 1000)
    assert record.metric("output_tok_per_s_whole", None) == whole["output_throughput"]
    assert record.counts.model_dump() == {
        "requests": 2, "succeeded": 1, "failed": 1, "input_tokens": 7, "output_tokens": 2, "duration_s": 3.0,
    }  # fmt: skip
    assert [one.ttft_s for one in record.requests] == [0.5, None]
    assert record.unread == ()


def test_nothing_private_is_handed_on(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    run_id = sealed(store, small_plan[0], request(0), request(1, Outcome.TIMEOUT))
    for form in ("vllm-bench", "csv", "parquet"):
        payload = export(store, run_id, form)
        assert b"an answer" not in payload and b"a private reason" not in payload


def test_rows_hold_the_labs_metrics_and_nothing_for_a_failure(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    run_id = sealed(store, small_plan[0], request(0), request(1, Outcome.TIMEOUT))
    rows = list(csv.DictReader(io.StringIO(export(store, run_id, "csv").decode())))
    assert [(row["outcome"], row["ttft_s"], row["tpot_s"]) for row in rows] == [
        ("success", "1.0", "0.5"),
        ("timeout", "", ""),
    ]
    table = pq.read_table(pa.BufferReader(export(store, run_id, "parquet")))
    assert table.column("ttft_s").to_pylist() == [1.0, None]


def test_without_usage_the_other_format_is_refused(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    run_id = sealed(store, small_plan[0], request(0, tokens=None))
    with pytest.raises(EvidenceError, match="no usage"):
        export(store, run_id, "vllm-bench")
    assert export(store, run_id, "csv")


def test_only_whole_measured_runs_are_handed_on(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    run_id = sealed(store, small_plan[0], request(0))
    (store.path(run_id) / "spec.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EvidenceError, match="is damaged"):
        export(store, run_id, "csv")
