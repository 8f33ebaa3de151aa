"""Charts over the load: output for each rung with its interval, and the distributions of TTFT and TPOT."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from lab.metrics.stats import interval_over_launches
from lab.publish.evidence import PublicLevel, PublicRun
from lab.records import QUANTILES
from lab.report.cells import interval_cell, scalar
from lab.report.drawing import SMALL, Drawing, Scale, nice_high, tick_text
from lab.report.figure import (
    RIGHT,
    Figure,
    Runs,
    across,
    by_spec,
    finished,
    left_of,
    legend,
    present,
    run_cell,
    upwards,
)
from lab.report.grid import Row, number
from lab.report.loads import Arrival, Load, levels_of, load_cell, load_text
from lab.report.messages import Messages
from lab.report.numbers import milliseconds, plain, significant
from lab.report.series import series_label, series_of

WIDE = 16.0
"""Loads that lie further apart than this factor are drawn on a logarithmic axis."""
WIDE_LATENCY = 8.0
"""The same for latencies."""
MOST_PANELS = 5
"""Most loads that get a panel of their own."""
SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles that the data table prints; all of them are in the evidence."""


def throughput_chart(runs: Runs, arrival: Arrival, t: Messages) -> Figure | None:
    """Output tokens per second over the load of one arrival law, a line per launched spec; None: nothing to draw."""
    lines: list[tuple[Runs, list[tuple[float, list[float]]]]] = []
    for launches in by_spec(runs).values():
        found: dict[float, list[float]] = {}
        for _, level, load in levels_of(launches):
            value = scalar(level, "output_tok_per_s")
            if load.arrival == arrival and load.value is not None and value is not None:
                found.setdefault(load.value, []).append(value)
        if found:
            lines.append((launches, sorted(found.items())))
    if not lines:
        return None
    shown = tuple(run for launches, _ in lines for run in launches)
    looks, drawn = series_of(runs), present(runs, shown)
    rungs = sorted({rung for _, line in lines for rung, _ in line})
    wide = rungs[-1] >= WIDE * rungs[0]
    tops = [max(_ends(values)) for _, line in lines for _, values in line]
    scale_y = Scale(0, nice_high(max(tops)), 190, 28)
    left = left_of(map(tick_text, scale_y.ticks(4)))
    drawing = Drawing(0)
    drawing.text(4, 14, t("chart-throughput-y"))
    scale_x = _load_scale(rungs, left, wide)
    upwards(drawing, scale_y, left, RIGHT)
    title = t("chart-throughput-x", arrival=arrival)
    y = across(drawing, scale_x, 190, t("axis-log", title=title) if wide else title, ticks=rungs, top=28)
    for place, (launches, line) in enumerate(lines):
        look, shift = looks[series_label(launches[0])], 5.0 * (place - (len(lines) - 1) / 2)
        points = [(scale_x(rung) + shift, scale_y(fmean(values))) for rung, values in line]
        drawing.line(points, colour=look.colour, width=1.6, dash=look.dash, opacity=0.75)
        for (x, at), (_, values) in zip(points, line, strict=True):
            low, high = map(scale_y, _ends(values))
            if len(values) > 1:
                drawing.line([(x, low), (x, high)], colour=look.colour, width=1.4)
                for end in (low, high):
                    drawing.line([(x - 3.5, end), (x + 3.5, end)], colour=look.colour, width=1.4)
            drawing.marker(look.marker, x, at, look.colour, radius=3.6, hollow=look.hollow)
    drawing.height = legend(drawing, y + 16, drawn) - 4
    rows = [
        Row(
            cells=(
                run_cell(*launches),
                number(plain(rung)),
                number(significant(fmean(values))),
                interval_cell(values, significant, t),
            )
        )
        for launches, line in lines
        for rung, values in line
    ]
    titles = (t("run"), title, t("chart-mean", title=t("output-tok-s")), t("interval-output"))
    return finished("chart-throughput", drawing, shown, t, titles, rows, n=len(shown), arrival=arrival)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """What is drawn of a value: its interval over launches, not below zero; one launch has only itself."""
    low, high = interval_over_launches(values) or (values[0], values[0])
    return max(low, 0.0), high


def _load_scale(rungs: Sequence[float], left: float, wide: bool) -> Scale:
    if len(rungs) == 1:
        return Scale(rungs[0] / 2, rungs[0] * 2, left, RIGHT, log=True)
    if wide:
        room = (rungs[-1] / rungs[0]) ** 0.07
        return Scale(rungs[0] / room, rungs[-1] * room, left, RIGHT, log=True)
    return Scale(0, rungs[-1] * 1.08, left, RIGHT)


def distribution_chart(runs: Runs, metric: Literal["ttft", "tpot"], arrival: Arrival, t: Messages) -> Figure | None:
    """Share of requests over TTFT or TPOT, a panel for each load of one arrival law; None: nothing to draw."""
    grids: dict[Load, list[tuple[PublicRun, tuple[float, ...]]]] = {}
    for run, level, load in levels_of(runs):
        grid = _grid(level, metric)
        if load.arrival == arrival and load.value is not None and grid is not None:
            grids.setdefault(load, []).append((run, grid))
    if not grids:
        return None
    loads = sorted(grids, key=lambda load: load.value or 0.0)
    kept = loads if len(loads) <= MOST_PANELS else [
        loads[round(place * (len(loads) - 1) / (MOST_PANELS - 1))] for place in range(MOST_PANELS)
    ]  # fmt: skip
    named = {run.run_id for found in grids.values() for run, _ in found}
    shown = tuple(run for run in runs if run.run_id in named)
    looks = series_of(runs)
    values = [1000 * value for load in kept for _, grid in grids[load] for value in grid]
    low, high = max(min(values), max(values) / 1e4), max(values)
    log = low > 0 and high / low >= WIDE_LATENCY
    left = left_of(("100 %",))
    scale_x = Scale(low / 1.08, high * 1.08, left, RIGHT, log=True) if log else Scale(0, nice_high(high), left, RIGHT)
    drawing, tall, step = Drawing(0), 62.0, 88.0
    drawing.text(4, 13, t("chart-share-y"))
    bottom = 0.0
    for panel, load in enumerate(kept):
        top = 42 + panel * step
        bottom = top + tall
        scale_y = Scale(0, 1, bottom, top)
        for share in (0, 0.5, 1):
            y = scale_y(share)
            drawing.line([(left, y), (RIGHT, y)], opacity=0.75 if share == 0 else 0.13)
            drawing.text(left - 5, y + 3.5, f"{100 * share:g} %", anchor="end", size=SMALL)
        for tick in scale_x.ticks():
            drawing.line([(scale_x(tick), top), (scale_x(tick), bottom)], opacity=0.13)
        for run, grid in grids[load]:
            look = looks[series_label(run)]
            points = [(scale_x(1000 * at), scale_y(share)) for at, share in zip(grid, QUANTILES, strict=True)]
            drawing.line(points, colour=look.colour, width=1.5, dash=look.dash, opacity=0.9)
        for run, grid in grids[load]:
            look = looks[series_label(run)]
            middle = scale_x(1000 * grid[QUANTILES.index(0.5)])
            drawing.marker(look.marker, middle, scale_y(0.5), look.colour, radius=3.2, hollow=look.hollow)
        drawing.text(left, top - 7, load_text(load, t), bold=True)
    title = t(f"chart-{metric}-x")
    y = across(drawing, scale_x, bottom, t("axis-log", title=title) if log else title, top=bottom)
    drawing.height = legend(drawing, y + 16, present(runs, shown)) - 4
    rows = [
        Row(
            cells=(
                run_cell(run),
                load_cell(load, t),
                *(number(milliseconds(grid[QUANTILES.index(share)])) for share in SHOWN),
            )
        )
        for load in loads
        for run, grid in grids[load]
    ]
    titles = (t("run"), t("load-title"), *(t(metric, q=f"p{100 * share:g}") for share in SHOWN))
    more = (t("chart-panels", n=len(kept), all=len(loads)),) if len(kept) < len(loads) else ()
    return finished(f"chart-{metric}", drawing, shown, t, titles, rows, n=len(shown), arrival=arrival, more=more)


def _grid(level: PublicLevel, metric: str) -> tuple[float, ...] | None:
    """A distribution that is there and may be read."""
    return level.quantiles.get(f"{metric}_s") if level.valid else None
