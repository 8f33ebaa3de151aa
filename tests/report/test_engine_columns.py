"""Two ways one engine serves stand in its one column; a build that was reused is told apart from none."""

from __future__ import annotations

from lab.engines import ENGINES
from lab.publish.evidence import PublicRun
from lab.report.cells import Anchors
from lab.report.grid import Cell
from lab.report.messages import messages
from lab.report.series import engine_title, in_order, series_label, series_of
from lab.report.tables import comparison_table, preparation_table
from lab.roster import ON_TABLE, find
from tests.report.report_examples import run

EN = messages("en")
BUILD = {
    "key": "a-0123456789abcdef",
    "seconds": 60.0,
    "steps": [
        {"name": "convert", "seconds": 20.0, "source": "lab"},
        {"name": "build", "seconds": 40.0, "source": "lab"},
    ],
}
PREPARED = {"startup_s": 3.0, "first_request_s": 0.5, "cache_state": "warm"}


def bare(engine: str) -> PublicRun:
    """A run of a real engine that holds no number."""
    nothing = {"levels": [], "preparation": None, "quality": None, "quality_reason": "not-measured"}
    return run(engine, table="comparison", engine_version=None, **nothing)


def text(cell: Cell) -> str:
    return " | ".join(line.text for line in cell.lines)


def test_every_launchable_engine_of_the_comparison_has_a_column_and_both_of_trtllm_share_one() -> None:
    assert {find(key) for key in ENGINES} >= {find("trtllm"), find("atlas")}
    assert find("trtllm-engine") == find("trtllm") == find("TensorRT-LLM")
    assert (engine_title("trtllm"), engine_title("trtllm-engine")) == ("TensorRT-LLM", "TensorRT-LLM (trtllm-engine)")


def test_both_ways_to_serve_stand_in_the_column_of_the_engine() -> None:
    runs = (bare("trtllm"), bare("trtllm-engine"), bare("vllm"))
    table = comparison_table(runs, {run.run_id: () for run in runs}, EN)
    column = [entry.key for entry in ON_TABLE].index("trtllm")
    # unmeasured columns (sglang, atlas) are one cell that spans the rows below the first
    links = table.rows[-1].cells[1 + column]
    assert all(one.run_id in text(links) for one in runs[:2]) and runs[2].run_id not in text(links)


def test_charts_tell_the_two_ways_apart() -> None:
    both = in_order((bare("trtllm-engine"), bare("trtllm")))
    assert [one.engine for one in both] == ["trtllm", "trtllm-engine"]
    assert series_label(both[0]) != series_label(both[1])
    assert len({(one.colour, one.hollow, one.dash) for one in series_of(both).values()}) == 2


def test_a_reused_build_is_shown_as_reused_and_no_build_as_none() -> None:
    def prepared(build_s: float | None, build: dict[str, object] | None) -> PublicRun:
        return run("P", table="comparison", preparation={"build_s": build_s, "build": build, **PREPARED})

    def cell(one: PublicRun) -> str:
        return text(preparation_table((one,), EN, Anchors()).rows[0].cells[1])

    assert cell(prepared(61.0, {**BUILD, "reused": False})) == "61.0"
    assert cell(prepared(None, {**BUILD, "reused": True})) == "60.0 | reused: built in an earlier run"
    assert EN("no-build-step") in cell(prepared(None, None))
