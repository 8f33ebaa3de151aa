"""Which launches stand in a cell: decided by version, week and wholeness, never by a result."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab.evidence import EvidenceStore, LaunchRecord
from lab.plan import RunPlan
from lab.publish import cells
from lab.publish.cells import CellState, LeftOut, PublicCell, choose
from lab.publish.identity import KEY_VARIABLE, Identity, Namer, read_key
from lab.publish.schedule import WantedMatch
from lab.records import Capabilities, RunState

W49, W50 = datetime(2025, 12, 2, tzinfo=UTC), datetime(2025, 12, 9, tzinfo=UTC)


def launch(store: EvidenceStore, plan: RunPlan, at: datetime, version: str, state: RunState) -> str:
    """A sealed bundle of a launch that began at a moment; it holds no more than the choice looks at."""
    group = plan.groups[0]
    run_id = store.create(group.specs[0], plan="small", plan_digest="p-1", match_id=group.match_id, varied=())
    record = LaunchRecord(
        engine_version=version, command=(), argv=(), not_expressible=(), capabilities=Capabilities(checks=())
    )
    store.write(run_id, "launch.json", record)
    store.update(run_id, started_at=at, started_s=None)
    store.seal(run_id, state)
    return run_id


def cell(store: EvidenceStore, plan: RunPlan, withdrawn: tuple[str, ...] = ()) -> PublicCell:
    group = plan.groups[0]
    wanted = WantedMatch(match_id=group.match_id, plan=plan.name, table=group.table, planned=group.specs)
    (found,) = choose(store, [wanted], datetime.now(UTC) + timedelta(days=1), withdrawn)
    return found.match.cells[0]


@pytest.mark.parametrize(
    ("launches", "counted", "left"),
    [
        ([], 0, {}),
        ([(W49, "1"), (W50, "1")], 2, {}),  # no week has three: all of the version
        ([(W49, "1")] * 3 + [(W50, "1")] * 2, 3, {LeftOut.OTHER: 2}),  # the newest week with three
        ([(W49, "1")] * 3 + [(W50, "1")] * 4, 4, {LeftOut.OTHER: 3}),
        ([(W49, "1")] * 3 + [(W50, "2")], 1, {LeftOut.OTHER: 3}),  # another version is another engine
    ],
)
def test_launches_are_taken_by_version_and_week(
    launches: list[tuple[datetime, str]],
    counted: int,
    left: dict[LeftOut, int],
    store: EvidenceStore,
    small_plan: tuple[RunPlan, Path],
) -> None:
    for place, (at, version) in enumerate(launches):
        launch(store, small_plan[0], at + timedelta(minutes=place), version, RunState.MEASURED)
    found = cell(store, small_plan[0])
    assert (found.launches, found.left_out) == (counted, left)


def test_launches_that_do_not_count_are_counted_apart(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> None:
    plan, _ = small_plan
    first, second, *_ = (launch(store, plan, W49 + timedelta(minutes=n), "1", RunState.MEASURED) for n in range(3))
    launch(store, plan, W49, "1", RunState.FAILED)
    (store.path(first) / "launch.json").write_text("{}", encoding="utf-8")
    found = cell(store, plan, (second,))
    assert (found.state, found.launches) == (CellState.MEASURED, 1)
    assert found.left_out == {LeftOut.DAMAGED: 1, LeftOut.WITHDRAWN: 1, LeftOut.NOT_MEASURED: 1}


def test_enough_launches_that_cannot_be_published_stay_re_measured(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    for minute in range(3):  # they lack their environment, which a page would need
        launch(store, small_plan[0], W49 + timedelta(minutes=minute), "1", RunState.MEASURED)
    found = cell(store, small_plan[0])
    assert (found.state, found.launches, found.run_ids) == (CellState.RE_MEASURED, 3, ())


def test_a_match_of_a_hidden_model_is_still_meant_by_the_id_of_its_plan(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, group = small_plan[0], small_plan[0].groups[0]
    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef", encoding="utf-8")
    key.chmod(0o600)
    hidden = Identity(models={group.specs[0].model.series: "Model A"})
    monkeypatch.setattr(cells, "open_namer", lambda: Namer(hidden, read_key({KEY_VARIABLE: str(key)})))
    wanted = WantedMatch(match_id=group.match_id, plan=plan.name, table=group.table, planned=group.specs)
    (found,) = choose(store, [wanted], datetime.now(UTC))
    assert found.wanted_as == group.match_id != found.match.match_id
    assert group.match_id not in found.match.model_dump_json()
