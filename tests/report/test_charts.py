"""Charts: what they draw, that nothing in them overlaps, and that they never invent what is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.publish.evidence import PublicContrast, PublicPreparation, PublicRun
from lab.report.build import build_pages
from lab.report.charts import figures
from lab.report.drawing import Scale, nice_high, shortened, text_width, tick_text, wrapped
from lab.report.engine_over_time import engine_chart
from lab.report.figure import Figure
from lab.report.load_charts import distribution_chart, throughput_chart
from lab.report.messages import LANGS, messages
from lab.report.preparation_chart import parts_of, preparation_chart
from lab.report.quality_chart import quality_chart
from tests.browser import Browser, needs_browser, started
from tests.report.golden import FULL, four
from tests.report.report_examples import (
    beside,
    contrasts,
    edition,
    level,
    open_edition,
    pair,
    quality_path,
    run,
    workload,
)

EN = messages("en")


def cells(figure: Figure | None) -> list[list[str]]:
    assert figure is not None
    return [[" ".join(line.text for line in cell.lines) for cell in row.cells] for row in figure.data.rows]


def prepared(**changes: Any) -> PublicPreparation:
    plain = {"build_s": None, "startup_s": 60.0, "first_request_s": 1.0, "cache_state": "warm"}
    return PublicPreparation.model_validate({**plain, **changes})


def phase(name: str, seconds: float) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, "source": "log"}


# ---------------------------------------------------------------- what is drawn


def test_launches_of_one_spec_are_one_line_with_an_interval_and_one_launch_has_none() -> None:
    runs = (run("P", levels=[level(1, 100.0)]), run("P", launch="2", levels=[level(1, 104.0)]), run("Q"))
    rows = cells(throughput_chart(runs, "closed", EN))
    # Student's t with one degree of freedom: 12.7 times the standard error, here 2
    assert rows[0][1:] == ["1", "102", "[76.6, 127] 2 launches"]
    assert rows[1][1:] == ["1", "101", "no interval (one launch)"]
    assert throughput_chart((), "closed", EN) is None


def test_a_wide_ladder_is_logarithmic_and_says_so_and_a_narrow_one_is_not() -> None:
    narrow, wide = (run(levels=[level(1, 100.0), level(top, 200.0)]) for top in (8, 16))
    drawings = [throughput_chart((one,), "closed", EN) for one in (narrow, wide)]
    assert [figure is not None and "(log scale)" in figure.svg for figure in drawings] == [False, True]


def test_a_distribution_is_drawn_from_its_quantiles_and_older_evidence_has_none() -> None:
    figure = distribution_chart((run(levels=[level(1, 100.0, 0.05)]),), "ttft", "closed", EN)
    # half of the example's requests take 50 ms, then it rises to 60 ms at 90 % and 70 ms at 99 %
    assert cells(figure)[0][2:] == ["50.0", "50.0", "50.0", "56.2", "65.6", "70.0"]
    assert distribution_chart((run(levels=[level(1, 100.0, quantiles={})]),), "ttft", "closed", EN) is None


def test_a_level_that_must_not_be_read_is_in_no_chart() -> None:
    late = {"code": "schedule-lag", "value": 0.31, "limit": 0.05}
    runs = (run(levels=[level(1, 100.0, concerns=[late])], preparation=None),)
    assert figures(runs, (), EN) == ()


def test_the_parts_of_a_preparation_are_together_the_whole() -> None:
    phases = [phase("load_weights", 20.0), phase("load_model", 25.0), phase("compile", 10.0),
              phase("warm_up", 2.0), phase("capture_graphs", 3.0), phase("init_engine", 15.0)]  # fmt: skip
    parts = parts_of(prepared(phases=phases, fetch_s=100.0))
    assert parts == {"download": 100.0, "load": 25.0, "compile": 10.0, "warm-up": 5.0, "start": 20.0, "first": 1.0}


def test_phases_that_contain_each_other_are_one_piece_and_no_build_is_no_part() -> None:
    parts = parts_of(prepared(phases=[phase("load_model", 50.0), phase("compile", 30.0)]))
    assert parts == {"start": 60.0, "first": 1.0}
    reused = {"key": "a-" + "0" * 16, "seconds": 900.0, "steps": [], "reused": True}
    assert parts_of(prepared(build=reused))["build"] == 900.0


def test_a_part_nobody_told_is_a_dash_with_its_reason() -> None:
    told, silent = run("P", preparation=prepared(phases=[phase("compile", 30.0)])), run("Q", preparation=prepared())
    rows = cells(preparation_chart((told, silent), EN))
    assert [row[1:] for row in rows] == [["30.0", "30.0", "1.00", "61.0"], ["— not told by the engine", "60.0",
                                          "1.00", "61.0"]]  # fmt: skip


def test_what_an_engine_does_not_expose_is_said_in_the_drawing_and_in_the_table() -> None:
    figure = engine_chart((run("P", engine_series={**FULL, "kv_use": None}),), EN)
    assert cells(figure)[0][1:] == ["4", "2", "— not exposed", "6"]
    assert figure is not None and "KV cache in use: not exposed by this engine" in figure.svg
    assert engine_chart((run("P"),), EN) is None


def test_only_pairs_of_different_specs_stand_in_the_chart_of_quality() -> None:
    base, again, _, built, _ = edition()
    both = (
        beside(base, again, quality_path(), quality_path(), pair("facts", 50, 1, 0)),
        beside(base, built, quality_path(), quality_path(engine="Q"), pair("facts", 100, 10, 0)),
    )
    rows = cells(quality_chart(both, edition(), EN))
    assert [row[1:3] for row in rows] == [["facts", "−10.0"]]
    assert quality_chart(both[:1], edition(), EN) is None


def test_pairs_that_would_be_called_the_same_are_told_apart() -> None:
    first, other, second = run("P", "a"), run("P", "b"), run("Q", "a")
    path = quality_path()
    both = [beside(one, second, path, quality_path(engine="Q"), pair("facts", 50, 1, 0)) for one in (first, other)]
    figure = quality_chart(tuple(both), (first, other, second), EN)
    assert figure is not None
    assert "Q · a − P · a" in figure.svg and "Q · a − P · b" in figure.svg


def test_every_chart_has_a_title_a_description_a_table_and_its_watermark() -> None:
    drawn = figures(four(), (), EN)
    assert [figure.id for figure in drawn] == [
        "chart-throughput-closed", "chart-ttft-closed", "chart-tpot-closed", "chart-preparation", "chart-engine",
    ]  # fmt: skip
    for figure in drawn:
        assert f'<title id="{figure.id}-title">{figure.caption}</title>' in figure.svg
        assert f'<desc id="{figure.id}-desc">' in figure.svg and ">synthetic</text>" in figure.svg
        assert figure.data.rows


def test_a_colour_is_an_engine_and_nothing_else() -> None:
    for figure in figures(four(), (), EN):
        colours = set(re.findall(r"#[0-9a-f]{6}", figure.svg))
        assert colours <= {"#0072b2", "#d55e00", "#009e73", "#b0609a"}, figure.id


# ---------------------------------------------------------------- placing


def test_ticks_are_round_and_lie_inside_the_axis() -> None:
    assert Scale(0, 1000, 0, 100).ticks() == (0, 200, 400, 600, 800, 1000)
    assert Scale(-30, 30, 0, 100).ticks() == (-20, 0, 20)
    assert Scale(20, 500, 0, 100, log=True).ticks() == (20, 50, 100, 200, 500)
    assert (nice_high(2950), nice_high(0.0), tick_text(-40), tick_text(1200)) == (4000, 1.0, "−40", "1,200")
    half = Scale(1, 100, 0, 200, log=True)
    assert (half(1), half(10), half(100), half(1000)) == (0, 100, 200, 200)


def test_a_text_is_broken_between_words_and_japanese_before_no_closing_mark() -> None:
    assert wrapped("one two three", text_width("one two ")) == ["one two", "three"]
    lines = wrapped("入力トークンの（共有）です。", 11.0 * 6)
    assert "".join(lines) == "入力トークンの（共有）です。" and len(lines) > 1
    assert not any(line[0] in "、。）" for line in lines)
    assert shortened("a very long name", 40) != "a very long name" and shortened("short", 400) == "short"


# ---------------------------------------------------------------- in a browser

TEXTS = """(() => { const bad = []; for (const svg of document.querySelectorAll('.plot svg')) {
  const id = svg.querySelector('title').id, whole = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter(one => one.getAttribute('opacity') !== '0.11');
  const boxes = texts.map(one => [one.textContent, one.getBoundingClientRect()]);
  boxes.forEach(([said, a], place) => {
    if (a.left < whole.left - 1 || a.right > whole.right + 1 || a.bottom > whole.bottom + 2) bad.push([id, said]);
    for (const [other, b] of boxes.slice(place + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && tall > 0.3 * Math.min(a.height, b.height)) bad.push([id, said, other]);
    } }); }
  return bad; })()"""
"""Texts of charts that leave their chart or lie over another one; the watermark may."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


def crowded() -> tuple[PublicRun, ...]:
    """Four engines with long names of profiles, eight rungs, levels of very different length."""
    rungs = [1, 2, 4, 8, 16, 32, 64, 1024]
    asked = workload(concurrency=rungs, requests_per_level=1024)
    found = []
    for place, engine in enumerate("PQRS"):
        levels = [
            level(rung, 100.0 * rung, 0.03 * (1 + rung / 20), began_s=100.0 * number, duration_s=90.0 / (number + 1))
            for number, rung in enumerate(rungs)
        ]
        series = {**FULL, "at_s": [0.0, 1.0, 2.0, 100.0, 101.0, 700.0], "running": [1, 1, 1, 64, 64, 123456]}
        took = prepared(build_s=None if place else 36_000.0, startup_s=60.0 + place, fetch_s=600.0)
        found.append(
            run(engine, f"a-profile-with-quite-a-long-name-{place}", levels=levels, workload=asked,
                engine_series=series, preparation=took)
        )  # fmt: skip
    return tuple(found)


SETS: dict[str, tuple[tuple[PublicRun, ...], tuple[PublicContrast, ...]]] = {
    "four": (four(), ()),
    "everything": (open_edition(), contrasts()),
    "crowded": (crowded(), ()),
    "one point": ((run("P", levels=[level(1, 104.0)]),), ()),
}


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("name", SETS)
def test_no_text_of_a_chart_lies_over_another_or_leaves_it(
    browser: Browser, name: str, lang: str, tmp_path: Path
) -> None:
    page = tmp_path / "index.html"
    runs, compared = SETS[name]
    page.write_bytes(build_pages(runs, (lang,), compared)[f"{lang}/index.html"])
    for width in (1240, 360):
        browser.show(width=width)
        browser.open(page)
        assert browser.value(TEXTS) == []


@pytest.mark.parametrize(("largest", "end"), [(0, 1), (1, 1.2), (9.8, 10), (9.9, 12), (99.9, 120), (3053, 4000)])
def test_an_axis_ends_a_little_above_its_largest_value(largest: float, end: float) -> None:
    assert nice_high(largest) == pytest.approx(end)


def test_every_largest_value_has_an_end_of_its_axis() -> None:
    for step in range(1, 4000):
        largest = 1.005**step / 1e4
        assert largest * 1.02 <= nice_high(largest) <= largest * 1.4
