"""Runs side by side: reasons before numbers, intervals over launches, and every number back to its records."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from lab.desk.comparison import Comparison, newest_match, runs_frame
from lab.desk.plots import Plot, plot_quality, plot_requests, plot_values
from lab.errors import EvidenceDamaged, LabError
from lab.evidence import EvidenceStore
from lab.metrics.stats import interval_over_launches
from tests.browser import needs_browser, started


def test_the_newest_match_is_taken_where_none_is_named(measured: EvidenceStore, pair: tuple[str, ...]) -> None:
    assert set(newest_match(measured)) == set(pair)
    assert list(runs_frame(measured)["run_id"]) == list(measured.run_ids())


def test_one_match_is_comparable_and_its_intervals_are_over_launches(
    measured: EvidenceStore, pair: tuple[str, ...]
) -> None:
    found = Comparison(measured, pair)
    assert not found.refused
    assert str(found.reasons).startswith("These 4 runs may stand side by side")
    values = found.values.query("metric == 'ttft p50' and series == 'reference engine · later'")
    assert list(values["launch"]) == [1, 2]
    assert (values["value"] >= 30).all()  # milliseconds; the engine was told to take that long
    low, high = interval_over_launches(list(values["value"])) or (0, 0)
    assert set(zip(values["low"], values["high"], strict=True)) == {(low, high)}
    assert {"goodput_rps"} <= set(found.missing["metric"])
    assert set(found.missing.query("metric == 'goodput_rps'")["why"]) == {"no SLO was stated"}
    assert set(found.intervals["launches"]) == {2}
    assert len(found.table) == 4


def test_unlike_runs_are_refused_in_words_and_drawn_nowhere(measured: EvidenceStore, pair: tuple[str, ...]) -> None:
    other = measured.run_ids()[0]
    found = Comparison(measured, (other, pair[0]))
    assert found.refused
    assert "workload, output_tokens: asked for different things (6 / 5)" in str(found.reasons)
    for plot in (plot_values, plot_requests, plot_quality):
        shown = plot(found)
        assert not isinstance(shown, Plot)
        assert "may not stand side by side" in str(shown)
    assert "指定が異なる" in str(Comparison(measured, (other, pair[0]), "ja").reasons)
    assert found.walk_back(other, "ttft_s").records["asked_tokens"].max() == 6


def test_a_number_is_walked_back_to_the_records_it_comes_from(measured: EvidenceStore, pair: tuple[str, ...]) -> None:
    found = Comparison(measured, pair)
    back = found.walk_back(pair[0], "ttft_s")
    lines = dict(line.split(" | ") for line in str(back.sheet).splitlines() if " | " in line)
    assert lines["Value"] == lines["Computed again from the records"]
    counted = back.records[~back.records["warmup"]]
    by_hand = (counted["first_token_s"] - counted["send_s"]).median()
    assert lines["Value"].startswith(f"p50 {by_hand:.6f}, ")
    assert len(back.records) == 5 and len(counted) == 4
    assert "text" not in back.records.columns
    shown = found.values.query(f"run_id == '{pair[0]}' and metric == 'ttft p50'")["value"].iloc[0]
    assert shown == pytest.approx(1000 * by_hand)


def test_a_bundle_that_was_changed_is_not_used(measured: EvidenceStore, pair: tuple[str, ...], tmp_path: Path) -> None:
    shutil.copytree(measured.root, tmp_path / "runs")
    store = EvidenceStore(tmp_path / "runs")
    found = Comparison(store, pair[:1])
    assert "every file of the bundle is as it was sealed" in str(found.walk_back(pair[0], "ttft_s").sheet)
    (store.path(pair[0]) / "engine.log").write_bytes(b"another")
    assert "engine.log" in str(found.walk_back(pair[0], "ttft_s").sheet)
    assert dict(zip(runs_frame(store)["run_id"], runs_frame(store)["state"], strict=True))[pair[0]] == "damaged"
    with pytest.raises(EvidenceDamaged, match=r"engine\.log"):
        Comparison(store, pair[:1])


@pytest.mark.parametrize(
    ("run_id", "metric", "level", "said"),
    [("r-aaaaaaaaaa", "ttft_s", 0, "not among"), (None, "speed", 0, "no metric"), (None, "ttft_s", 3, "0 to 0")],
)
def test_what_cannot_be_walked_back_is_a_sentence(
    run_id: str | None, metric: str, level: int, said: str, measured: EvidenceStore, pair: tuple[str, ...]
) -> None:
    with pytest.raises(LabError, match=said):
        Comparison(measured, pair).walk_back(run_id or pair[0], metric, level)


def test_an_empty_store_names_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no measured run"):
        Comparison(EvidenceStore(tmp_path))


def test_charts_hold_every_launch_and_the_label(measured: EvidenceStore, pair: tuple[str, ...]) -> None:
    found = Comparison(measured, pair)
    plot = plot_values(found, "ttft p50")
    assert isinstance(plot, Plot)
    rows = pd.DataFrame(plot.spec["data"]["values"]).query("metric == 'ttft p50'")
    assert set(rows["run_id"]) == set(pair)
    assert plot.spec["title"]["subtitle"] == "harness-check"
    assert "has no value to draw" not in str(plot_requests(found))
    assert not isinstance(plot_quality(found), Plot)  # the reference engine is asked no quality


@needs_browser
def test_a_chart_is_drawn_by_what_it_brings_along(
    measured: EvidenceStore, pair: tuple[str, ...], tmp_path: Path
) -> None:
    found = Comparison(measured, pair)
    with started() as browser:
        for place, plot in enumerate((plot_values(found), plot_requests(found))):
            assert isinstance(plot, Plot)
            inside = re.search(r'srcdoc="(.*)"></iframe>', plot._repr_html_(), re.DOTALL)
            assert inside is not None
            page = tmp_path / f"{place}.html"
            page.write_text(html.unescape(inside.group(1)), encoding="utf-8")
            browser.open(page)
            drawn = "document.querySelectorAll('#chart svg').length"
            browser.value(
                f"new Promise(done => {{const wait = () => {drawn} ? done(true) : setTimeout(wait, 50); wait()}})"
            )
            assert browser.value("document.querySelectorAll('#chart svg path[aria-roledescription=point]').length") >= 4
            assert browser.value("document.querySelectorAll('.vega-bindings select').length") == 1 + place
            assert browser.requests == [page.resolve().as_uri()]
            assert browser.console == []
