"""A run of the lab as a file of others: by their definitions, without what is private, and back again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab.cli import ExportForm, export_run
from lab.environment import Environment, Gpu
from lab.errors import EvidenceError
from lab.evidence import EvidenceStore
from lab.export import export, export_reports
from lab.imports import import_files
from lab.llmd_report import level_report
from lab.plan import RunPlan
from lab.records import ChunkKind, EvidenceGrade, Outcome, RequestRecord, RunState

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


@st.composite
def streams(draw: st.DrawFn) -> RequestRecord:
    """One request: a success with some chunks, or a failure."""
    index = draw(st.integers(0, 10_000))
    sent = draw(st.floats(0, 100))
    if draw(st.booleans()) and draw(st.booleans()):
        return request(index, Outcome.TIMEOUT).model_copy(update={"send_s": sent, "end_s": sent + 1})
    gaps = draw(st.lists(st.floats(0.001, 2), min_size=2, max_size=6))
    times = tuple(sent + sum(gaps[: n + 1]) for n in range(len(gaps)))
    kinds = (*([ChunkKind.CONTENT] * (len(gaps) - 1)), draw(st.sampled_from([ChunkKind.FINISH, ChunkKind.USAGE])))
    tokens = draw(st.integers(len(gaps) - 1, 50))
    return request(index, tokens=tokens).model_copy(
        update={
            "send_s": sent,
            "chunk_s": times,
            "chunk_kind": kinds,
            "end_s": times[-1],
            "prompt_tokens": draw(st.integers(1, 500)),
        }
    )


@given(records=st.lists(streams(), min_size=1, max_size=6, unique_by=lambda one: one.index))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_any_run_that_is_exported_comes_back_request_by_request(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], tmp_path: Path, records: list[RequestRecord]
) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(export(store, sealed(store, small_plan[0], *records), "vllm-bench"))
    back = import_files(store, "vllm-bench", [path])[0].record
    good = [one for one in records if one.outcome is Outcome.SUCCESS]
    counts = back.counts
    assert (counts.requests, counts.succeeded) == (len(records), len(good))
    assert counts.input_tokens == sum(one.prompt_tokens or 0 for one in good)
    assert counts.output_tokens == sum(one.completion_tokens or 0 for one in good)
    for sent, row in zip(sorted(records, key=lambda one: one.index), back.requests, strict=True):
        assert row.succeeded is (sent.outcome is Outcome.SUCCESS)
        if not row.succeeded:
            assert (row.ttft_s, row.e2e_s, row.completion_tokens) == (None, None, None)
            continue
        chunks = [at for at, kind in zip(sent.chunk_s, sent.chunk_kind, strict=True) if kind is not ChunkKind.USAGE]
        assert row.ttft_s == pytest.approx(chunks[0] - sent.send_s)
        assert row.e2e_s == pytest.approx(chunks[-1] - sent.send_s)
        assert (row.prompt_tokens, row.completion_tokens) == (sent.prompt_tokens, sent.completion_tokens)
    if good:
        assert back.metric("vllm-bench:ttft", "mean") == pytest.approx(
            fmean(row.ttft_s for row in back.requests if row.ttft_s is not None)
        )


# llm-d


def reports(store: EvidenceStore, run_id: str) -> list[dict[str, Any]]:
    found = export_reports(store, run_id, EvidenceGrade.HARNESS_CHECK)
    return [json.loads(payload) for payload in found.values()]


def test_a_report_of_llm_d_has_that_formats_definitions(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    run_id = sealed(store, small_plan[0], request(0), request(1, Outcome.TIMEOUT))
    (report,) = reports(store, run_id)
    assert (report["version"], report["run"]["uid"], report["run"]["eid"]) == ("0.2.1", f"{run_id}-0", run_id)
    assert "grade:harness-check" in report["run"]["keywords"]
    found = report["results"]["request_performance"]["aggregate"]
    assert (found["requests"]["total"], found["requests"]["failures"]) == (2, 1)
    latency = {name: (one["mean"], one["units"]) for name, one in found["latency"].items()}
    assert latency == {
        "time_to_first_token": (1.0, "s"),  # the first token, not the role before it
        "request_latency": (2.0, "s"),  # the finish chunk, not the usage behind it
        "time_per_output_token": (1.0, "s/token"),  # (2.0 − 1.0) / (2 − 1)
        "normalized_time_per_output_token": (1.0, "s/token"),  # 2.0 / 2
        "inter_token_latency": (0.5, "s/token"),  # each chunk held one token
    }
    assert found["throughput"]["request_rate"] == {"units": "queries/s", "mean": pytest.approx(1 / 3)}
    assert found["throughput"]["total_token_rate"]["mean"] == pytest.approx(9 / 3)


def test_what_a_report_of_llm_d_has_no_value_for_is_left_out(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    (report,) = reports(store, sealed(store, small_plan[0], request(0, tokens=None)))
    found = report["results"]["request_performance"]["aggregate"]
    assert set(found["latency"]) == {"time_to_first_token", "request_latency"}  # nobody counted tokens
    assert set(found["throughput"]) == {"input_token_rate", "request_rate"}
    assert "output_length" not in found["requests"]
    (report,) = reports(store, sealed(store, small_plan[0], request(0, tokens=4)))
    latency = report["results"]["request_performance"]["aggregate"]["latency"]
    assert "inter_token_latency" not in latency  # two tokens a chunk: no gap is one of a token


def test_an_engine_without_accelerator_is_one_of_llm_ds_generic_components(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    spec = small_plan[0].runs[0].spec
    (report,) = reports(store, sealed(store, small_plan[0], request(0)))
    (component,) = report["scenario"]["stack"]
    assert component["standardized"] == {
        "kind": "generic", "tool": "reference", "tool_version": "not recorded", "model": {"name": spec.model.series},
    }  # fmt: skip
    load = report["scenario"]["load"]["standardized"]
    assert (load["concurrency"], load["source"], load["stage"]) == (2, "random", 0)
    assert load["output_seq_len"] == {"distribution": "fixed", "value": 5}


def test_nothing_private_is_in_a_report_of_llm_d(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    run_id = sealed(store, small_plan[0], request(0), request(1, Outcome.TIMEOUT))
    payload = b"".join(export_reports(store, run_id, EvidenceGrade.HARNESS_CHECK).values())
    assert b"an answer" not in payload and b"a private reason" not in payload
    assert str(store.root).encode() not in payload


def test_an_engine_on_accelerators_is_one_of_llm_ds_engines(small_plan: tuple[RunPlan, Path]) -> None:
    gpus = (Gpu(name="a GPU", uuid="u", driver="1", memory_mib=1),) * 2
    spec = small_plan[0].runs[0].spec
    spec = spec.model_copy(update={"profile": spec.profile.model_copy(update={"tensor_parallel": 2})})
    report = level_report(
        "r-aaaaaaaaaa", spec, 0, [request(0)],
        launch=None, environment=Environment.model_construct(gpus=gpus), grade=EvidenceGrade.REAL_GPU,
    )  # fmt: skip
    engine = report["scenario"]["stack"][0]["standardized"]
    assert (engine["kind"], engine["role"], engine["replicas"]) == ("inference_engine", "replica", 1)
    assert engine["accelerator"] == {"model": "a GPU", "count": 2, "parallelism": {"tp": 2, "pp": 1}}


def test_the_command_writes_a_report_of_llm_d_for_each_level(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = small_plan[0]
    spec = plan.runs[0].spec
    ladder = spec.model_copy(update={"workload": spec.workload.model_copy(update={"concurrency": (1, 2)})})
    run_id = store.create(ladder, plan="p", plan_digest="d", match_id="m", varied=())
    store.write_requests(run_id, [request(0), request(0).model_copy(update={"level": 1})])
    store.seal(run_id, RunState.MEASURED)
    export_run(run_id, ExportForm.LLM_D, tmp_path / "report.json", store.root)
    assert capsys.readouterr().out.count("bytes") == 2
    found = [json.loads((tmp_path / f"report-{level}.json").read_text(encoding="utf-8")) for level in (0, 1)]
    assert [one["scenario"]["load"]["standardized"]["concurrency"] for one in found] == [1, 2]
    assert [one["run"]["eid"] for one in found] == [run_id, run_id]
