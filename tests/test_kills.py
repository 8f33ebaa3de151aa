"""A few of the kills that `python -m tests.kills` does in bulk."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psutil

from lab.evidence import EvidenceStore
from lab.plan import RunPlan
from lab.records import RunState
from lab.run import RunEvent, run_plan
from tests.kills import kill_many, place_plan, start_run


def test_whatever_is_killed_the_store_tells_the_truth_and_nothing_is_left(tmp_path: Path) -> None:
    tally = kill_many(2, tmp_path, seed=7)
    assert tally.broken == [], tally.lines()
    assert sum(tally.killed.values()) == 2


def test_a_kernel_that_is_killed_while_a_cell_runs_ends_the_run(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    def kill(event: RunEvent) -> None:
        if event.facts.get("step") != "throughput":
            return
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                if "ipykernel_launcher" in " ".join(process.cmdline()):
                    process.kill()

    (ended,) = run_plan(*small_plan, store, kill)
    assert (ended.state, ended.reason) == (
        RunState.FAILED,
        "the notebook ended during 'throughput' with code 1: the kernel died: Kernel died",
    )
    assert store.verify(ended.run_id) == ()


def test_who_resumes_right_after_a_kill_waits_for_what_is_still_ending_and_names_what_it_replaces(
    tmp_path: Path,
) -> None:
    plan, store, scratch = place_plan(tmp_path)
    lab = start_run(plan, store, scratch)
    while not (run_ids := store.run_ids()) or store.status(run_ids[0]).step != "throughput":
        assert lab.poll() is None, "it ended before its load"
        time.sleep(0.02)
    lab.kill()
    lab.wait()
    assert start_run(plan, store, scratch, "--resume").wait() == 0
    killed, again = store.run_ids()
    assert (store.status(killed).state, store.verify(killed)) == (RunState.INTERRUPTED, ())
    assert (store.status(again).state, store.status(again).replaces) == (RunState.MEASURED, killed)
    assert list(scratch.iterdir()) == []
