"""Bundles: atomic, sealed, verified, and truthful about where a run stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import EvidenceDamaged, EvidenceError, RunNotFound
from lab.evidence import REQUESTS_SCHEMA, EvidenceStore, new_run_id
from lab.limits import Limits
from lab.plan import RunPlan
from lab.records import ChunkKind, Concern, ConcernCode, Outcome, RequestRecord, RunState
from lab.scratch import write_atomically
from tests.conftest import CHECKOUT

RECORD = RequestRecord(
    level=0, index=0, request_id="x", intended_send_s=0.0, send_s=0.0, first_byte_s=0.05, end_s=0.4, status=200,
    chunk_s=(0.1, 0.2), chunk_kind=(ChunkKind.CONTENT, ChunkKind.CONTENT), prompt_tokens=3, completion_tokens=2,
    asked_tokens=2, finish_reason="length", outcome=Outcome.SUCCESS, text="ab \U0001f600",
)  # fmt: skip


@pytest.fixture
def run_id(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> str:
    planned = small_plan[0].runs[0]
    return store.create(
        planned.spec, plan="small", plan_digest=planned.plan_digest, match_id=planned.group.match_id, varied=()
    )


def test_records_come_back_as_they_were_written(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])
    assert store.requests(run_id) == (RECORD,)
    assert set(REQUESTS_SCHEMA.names) == set(RequestRecord.model_fields)


def test_levels_are_computed_from_the_raw_records(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])
    level = store.read(run_id).levels[0]
    assert (level.requests, level.metrics["ttft_s"].p50) == (1, 0.1)


def test_ceilings_are_computed_from_the_limits_the_bundle_holds(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])
    assert store.read(run_id).ceilings is None
    store.write(run_id, "limits.json", Limits(shape=None, no_shape="no-weights", computes_on="cpu"))
    ceilings = store.read(run_id).ceilings
    assert ceilings is not None
    assert ceilings.sums is not None
    assert (ceilings.reason, ceilings.sums.client_output) == ("no-weights", 2)


def test_a_level_with_fewer_requests_than_were_asked_does_not_add_up(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])  # one of four
    assert Concern(code=ConcernCode.SUMS, value=3.0, limit=0.0) in store.read(run_id).levels[0].concerns


def test_a_sealed_bundle_verifies_and_never_changes(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])
    store.seal(run_id, RunState.MEASURED)
    assert store.verify(run_id) == ()
    assert store.status(run_id).state is RunState.MEASURED
    with pytest.raises(EvidenceError, match="sealed"):
        store.write(run_id, "status.json", b"{}")


def test_every_kind_of_damage_is_named(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])
    store.seal(run_id, RunState.MEASURED)
    folder = store.path(run_id)
    whole = (folder / "requests.parquet").read_bytes()
    (folder / "requests.parquet").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    (folder / "stranger").write_text("x")
    changed, added = store.verify(run_id)
    assert changed.startswith("requests.parquet: changed: expected sha256 ")
    assert added == "stranger: added: not in the manifest"
    (folder / "stranger").unlink()
    (folder / "requests.parquet").write_bytes(whole[:-10])
    (cut,) = store.verify(run_id)
    assert cut.startswith(f"requests.parquet: truncated: {len(whole) - 10:,} bytes, {len(whole):,} when sealed")
    (folder / "requests.parquet").unlink()
    assert store.verify(run_id) == ("requests.parquet: missing",)
    (folder / "manifest.json").write_text("{")
    assert "manifest.json: cannot be read" in store.verify(run_id)[0]
    (folder / "manifest.json").unlink()
    assert store.damage(run_id) == ("manifest.json: missing",)


def test_a_manifest_vouches_for_itself(store: EvidenceStore, run_id: str) -> None:
    store.seal(run_id, RunState.MEASURED)
    path = store.path(run_id) / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"schema_version": 1', b'"schema_version": 3'))
    (changed,) = store.verify(run_id)
    assert changed.startswith("manifest.json: changed: expected sha256 ")


def test_an_open_bundle_is_not_whole(store: EvidenceStore, run_id: str) -> None:
    assert store.verify(run_id) == ("not sealed: the run is running",)


def opened_and_killed(store: EvidenceStore, step: str) -> str:
    """A run whose process was killed with signal 9 in a step, in the middle of writing a file."""
    code = f"""
import os, sys
from pathlib import Path
from lab import clock
from lab.evidence import EvidenceStore
from lab.plan import load_plan
plan = load_plan(Path({str(CHECKOUT / "params" / "harness-check.yaml")!r}))
store = EvidenceStore(Path({str(store.root)!r}))
run_id = store.create(plan.runs[0].spec, plan="p", plan_digest="p-1", match_id="m-0", varied=())
store.update(run_id, step={step!r}, ended_at=clock.now() if {step!r} == "done" else None)
(store.path(run_id) / ".load.json.x.tmp").write_text("half")
print(run_id, flush=True)
os.kill(os.getpid(), 9)
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def test_a_run_whose_process_is_gone_is_interrupted_not_running(store: EvidenceStore) -> None:
    run_id = opened_and_killed(store, "throughput")
    status = store.status(run_id)
    assert (status.state, status.reason) == (RunState.INTERRUPTED, "its process ended during 'throughput'")


def test_what_a_dead_process_left_open_is_sealed_and_what_a_living_one_holds_is_not(
    store: EvidenceStore, run_id: str
) -> None:
    dead = opened_and_killed(store, "throughput")
    assert EvidenceStore(store.root).settle() == (dead,)  # the store of another process: run_id is held by ours
    assert (store.status(run_id).state, store.status(dead).state) == (RunState.RUNNING, RunState.INTERRUPTED)
    assert store.verify(dead) == ()
    assert {path.name for path in store.path(dead).iterdir()} == {"spec.json", "status.json", "manifest.json"}
    assert [path.name for path in (store.root / ".open").iterdir()] == [run_id]
    assert store.settle() == ()


def test_a_run_that_was_measured_to_its_end_is_not_lost_when_its_process_dies_before_the_seal(
    store: EvidenceStore,
) -> None:
    run_id = opened_and_killed(store, "done")
    assert store.status(run_id).state is RunState.INTERRUPTED
    assert "measured to its end" in str(store.status(run_id).reason)
    store.settle()
    status = store.status(run_id)
    assert (status.state, status.reason, store.verify(run_id)) == (RunState.MEASURED, None, ())
    assert status.ended_at is not None


def test_without_locks_a_process_id_that_now_belongs_to_somebody_else_does_not_count(
    store: EvidenceStore, run_id: str
) -> None:
    (store.root / ".open" / run_id).unlink()  # as on a disk that knows no locks
    other = EvidenceStore(store.root)
    assert other.status(run_id).state is RunState.RUNNING
    store.update(run_id, pid_started=store.status(run_id).pid_started - 1000)
    assert other.status(run_id).state is RunState.INTERRUPTED


def test_run_ids_are_random_publishable_and_cannot_walk_out(store: EvidenceStore, run_id: str) -> None:
    assert len({new_run_id() for _ in range(1000)}) == 1000
    with pytest.raises(RunNotFound, match="not a run_id"):
        store.path("../../etc")
    with pytest.raises(RunNotFound, match=f"did you mean {run_id}"):
        store.path(run_id[:-1] + ("a" if run_id[-1] != "a" else "b"))


def test_a_truncated_file_is_a_sentence_not_a_traceback(store: EvidenceStore, run_id: str) -> None:
    store.write_requests(run_id, [RECORD])
    folder = store.path(run_id)
    (folder / "requests.parquet").write_bytes((folder / "requests.parquet").read_bytes()[:40])
    with pytest.raises(EvidenceDamaged, match=r"requests\.parquet"):
        store.read(run_id)
    (folder / "status.json").write_text('{"run_id": ')
    with pytest.raises(EvidenceDamaged, match=r"status\.json"):
        store.status(run_id)


def test_a_failed_write_leaves_the_old_bytes_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="space"):
        write_atomically(path, b"new")
    assert (path.read_bytes(), [p.name for p in tmp_path.iterdir()]) == (b"old", ["file"])


def test_resume_finds_the_finished_launch_and_the_unfinished_one(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], run_id: str
) -> None:
    planned = small_plan[0].runs[0]
    store.seal(run_id, RunState.FAILED, "the engine died")
    assert store.find(planned.spec.spec_digest, plan_digest=planned.plan_digest, repeat=0) == (None, run_id)
    second = store.create(
        planned.spec, plan="small", plan_digest=planned.plan_digest, match_id="m-0", varied=(), replaces=run_id
    )
    store.seal(second, RunState.MEASURED)
    assert store.find(planned.spec.spec_digest, plan_digest=planned.plan_digest, repeat=0) == (second, run_id)
    assert store.find(planned.spec.spec_digest, plan_digest=planned.plan_digest, repeat=1) == (None, None)
    status = json.loads((store.path(second) / "status.json").read_bytes())
    assert status["replaces"] == run_id
