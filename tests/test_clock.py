"""The clock on the wall is set back: durations stay right, the order stays right, and what is not certain is said."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab import clock
from lab.evidence import EvidenceStore
from lab.plan import RunPlan
from lab.publish.cells import LeftOut, choose
from lab.publish.edition import newest_runs
from lab.publish.schedule import WantedMatch
from lab.records import RunState
from lab.run import open_run
from tests.conftest import CHECKOUT

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
"""Where Debian puts it."""


class Wall:
    """A clock on the wall that somebody sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._real, self.set_by_s = time.time, 0.0
        monkeypatch.setattr(time, "time", lambda: self._real() + self.set_by_s)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


def test_how_far_a_clock_was_set_is_the_difference_of_two_clocks() -> None:
    hour = timedelta(hours=1)
    assert clock.moved_s(NOON, 100.0, NOON + hour, 3700.0) is None
    assert clock.moved_s(NOON, 100.0, NOON + hour, 3701.5) is None  # time servers do that
    assert clock.moved_s(NOON, 100.0, NOON - hour, 110.0) == -3610.0
    assert clock.moved_s(NOON, 100.0, NOON + hour, 110.0) == 3590.0


def test_a_clock_set_back_during_a_run_changes_no_duration_and_is_said(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], wall: Wall
) -> None:
    plan = small_plan[0]
    with open_run(plan.runs[0], store) as run:
        run.prepare()
        wall.set_by_s = -3600.0
        run.throughput()
        run.quality()
    record = store.read(run.run_id)
    status = record.status
    assert status.ended_at is not None and status.ended_at < status.started_at
    assert status.clock_moved_s == pytest.approx(-3600, abs=1)
    assert status.duration_s is not None and status.duration_s > 0
    assert status.clock_note == "the clock was set back by 3600 s while it ran"
    assert store.verify(run.run_id) == ()
    assert record.levels[0].duration_s > 0
    assert (
        record.levels[0].metrics["e2e_latency_s"].min is not None and record.levels[0].metrics["e2e_latency_s"].min > 0
    )


def test_a_run_whose_week_is_not_certain_waits_for_the_next_edition(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], wall: Wall
) -> None:
    plan = small_plan[0]
    group = plan.groups[0]
    run_id = store.create(group.specs[0], plan="small", plan_digest="p-1", match_id=group.match_id, varied=())
    store.write(run_id, "engine.log", b"")
    wall.set_by_s = -3600.0
    store.seal(run_id, RunState.MEASURED)
    ended = store.status(run_id).ended_at
    assert ended is not None
    wanted = WantedMatch(match_id=group.match_id, plan=plan.name, table=group.table, planned=group.specs)

    def cell(hours: float) -> tuple[int, dict[LeftOut, int]]:
        (found,) = choose(store, [wanted], ended + timedelta(hours=hours))
        return found.match.cells[0].launches, found.match.cells[0].left_out

    assert cell(-0.5) == (0, {})
    assert cell(0.5) == (0, {LeftOut.CLOCK: 1})
    assert cell(1.5) == (1, {})


def test_a_run_that_starts_after_the_clock_went_back_is_still_the_newest(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], wall: Wall
) -> None:
    plan = small_plan[0]
    planned = plan.runs[0]
    run_ids = []
    for set_by_s in (0.0, -7200.0, -7200.0, -3600.0, 5.0):
        wall.set_by_s = set_by_s
        run_ids.append(
            store.create(
                planned.spec, plan="small", plan_digest=planned.plan_digest, match_id=planned.group.match_id, varied=()
            )
        )
        store.seal(run_ids[-1], RunState.MEASURED)
        assert store.run_ids() == tuple(run_ids)
        assert newest_runs(store) == (run_ids[-1],)
        assert store.find(planned.spec.spec_digest, plan_digest=planned.plan_digest, repeat=0)[0] == run_ids[-1]
    behind = [store.status(run_id).clock_behind_s for run_id in run_ids]
    assert behind == [None, pytest.approx(7200, abs=60), pytest.approx(7200, abs=60), pytest.approx(3600, abs=60), None]
    assert store.status(run_ids[1]).clock_note == f"the clock had gone back by {behind[1]:.0f} s before it started"
    assert [store.status(run_id).follows for run_id in run_ids] == [None, *run_ids[:3], None]


def test_what_an_earlier_lab_wrote_is_flagged_when_it_ended_before_it_started(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    run_id = store.create(small_plan[0].runs[0].spec, plan="small", plan_digest="p-1", match_id="m-1", varied=())
    old = store.status(run_id).model_copy(update={"started_s": None, "ended_at": NOON, "started_at": NOON})
    assert old.clock_note is None
    early = old.model_copy(update={"ended_at": NOON - timedelta(seconds=90)})
    assert early.clock_note == "it ended before it started: the clock was set back while it ran"
    assert early.unsure == timedelta(seconds=90)


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime (Debian: faketime) is not on this machine")
def test_lab_run_under_another_clock_follows_the_run_before(small_plan: tuple[RunPlan, Path], tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path / "runs")

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "lab.cli", "run", str(small_plan[1]), "--runs-dir", str(store.root)]
        environment = os.environ | variables
        return subprocess.run(words, capture_output=True, text=True, cwd=CHECKOUT, env=environment, check=False)

    assert run().returncode == 0
    second = run(LD_PRELOAD=str(FAKETIME), FAKETIME="-2h")
    assert second.returncode == 0, second.stderr
    first, last = store.run_ids()
    assert store.status(last).follows == first
    assert store.status(last).started_at < store.status(first).started_at
    assert "the clock had gone back by" in str(store.status(last).clock_note)
