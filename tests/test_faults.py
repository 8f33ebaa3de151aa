"""A few of the faults that `python -m tests.faults` does in bulk, and a load process that is killed."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import psutil
import pytest

from lab.errors import LabError
from lab.evidence import EvidenceStore
from lab.plan import load_plan
from lab.records import Outcome, RunState
from lab.run import PROGRESS_VARIABLE, open_run
from tests.conftest import SMALL_PLAN
from tests.faults import strike_many


def test_an_engine_that_dies_or_resets_its_sockets_ends_the_run_in_order(tmp_path: Path) -> None:
    tally = strike_many(2, tmp_path, seed=1, kinds=("killed", "reset"))
    assert tally.broken == [], tally.lines()


def test_what_a_killed_load_process_had_measured_is_kept(
    store: EvidenceStore, plan_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, progress = plan_folder / "small.yaml", tmp_path / "progress"
    # two rungs: the first one is finished when the process is killed in the second
    text = SMALL_PLAN.replace("concurrency: [2]", "concurrency: [1, 2]").replace(
        "requests_per_level: 4", "requests_per_level: 60"
    )
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(PROGRESS_VARIABLE, str(progress))
    run = open_run(load_plan(path).runs[0], store)
    run.prepare()

    def kill_in_the_second_level() -> None:
        while "level 2 of 2, measure" not in progress.read_text(encoding="utf-8"):
            time.sleep(0.02)
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                if "lab.load.worker" in " ".join(process.cmdline()):
                    process.kill()

    threading.Thread(target=kill_in_the_second_level, daemon=True).start()
    with pytest.raises(LabError, match="a load process failed"):
        run.throughput()
    assert store.status(run.run_id).state is RunState.FAILED
    assert store.verify(run.run_id) == ()
    first = [record for record in store.requests(run.run_id) if record.level == 0 and not record.warmup]
    assert [record.outcome for record in first] == [Outcome.SUCCESS] * 60
    assert store.read(run.run_id).levels[0].requests == 60
