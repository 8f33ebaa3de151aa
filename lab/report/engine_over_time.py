"""How full each engine was over its run: requests in work, requests that waited, and its KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lab.publish.evidence import PublicRun
from lab.records import EngineSeries
from lab.report.drawing import BOLD, LINE, SMALL, Drawing, Scale, nice_high, shortened, text_width, tick_text
from lab.report.figure import RIGHT, Figure, Runs, by_spec, finished, left_of, run_cell
from lab.report.grid import Cell, Row, missing, number
from lab.report.loads import load_of
from lab.report.messages import Messages
from lab.report.numbers import count, duration, percent, plain
from lab.report.series import Series, series_label, series_of

TALL = 46.0
"""Of the plot of requests; that of the cache is lower."""
LOW = 30.0
GAP = 7.0
"""Between two levels."""


class Stretch(NamedTuple):
    """One level on the axis of time."""

    load: str
    took_s: float
    scale: Scale
    until_s: float
    """Looks up to here belong to it."""


def engine_chart(runs: Runs, t: Messages) -> Figure | None:
    """A pair of plots for the first launch of each spec whose counters were kept; None when there is none."""
    kept = tuple(run for run in runs if run.engine_series is not None)
    if not kept:
        return None
    firsts = tuple(launches[0] for launches in by_spec(kept).values())
    looks = series_of(runs)
    highest = nice_high(
        max(
            value
            for run in firsts
            if run.engine_series is not None
            for values in (run.engine_series.running, run.engine_series.waiting, (1.0,))
            for value in values or ()
            if value is not None
        )
    )
    left = left_of(("100 %", tick_text(highest)))
    drawing, y = Drawing(0), 4.0
    for run in firsts:
        assert run.engine_series is not None
        y = _engine(drawing, y, run, run.engine_series, looks[series_label(run)], left, highest, t)
    drawing.text((left + RIGHT) / 2, y + 8, t("chart-engine-x"), anchor="middle")
    shares = any(run.engine_series is not None and run.engine_series.kv_use is not None for run in firsts)
    drawing.height = _legend(drawing, y + 28, t, shares) - 4
    rows = [
        Row(
            cells=(
                run_cell(run),
                _most(run.engine_series.running, count, t),
                _most(run.engine_series.waiting, count, t),
                _most(run.engine_series.kv_use, percent, t),
                number(count(len(run.engine_series.at_s))),
            )
        )
        for run in kept
        if run.engine_series is not None
    ]
    titles = (t("run"), t("chart-most-running"), t("chart-most-waiting"), t("chart-most-kv"), t("chart-points"))
    return finished("chart-engine", drawing, kept, t, titles, rows, n=len(firsts))


def _engine(
    drawing: Drawing, y: float, run: PublicRun, series: EngineSeries, look: Series, left: float, highest: float,
    t: Messages,
) -> float:  # fmt: skip
    """One engine's two plots; returns where the next may begin."""
    drawing.marker(look.marker, left + 4, y + 8, look.colour, hollow=look.hollow)
    drawing.text(left + 14, y + 12, shortened(f"{look.label} · {run.run_id}", RIGHT - left - 14, BOLD), bold=True)
    top = y + 36
    bottom = top + TALL
    end = bottom + (LOW + 14 if series.kv_use is not None else 0)
    stretches = _stretches(run, series, left)
    requests, share = Scale(0, highest, bottom, top), Scale(0, 1, end, end - LOW)
    for stretch in stretches:
        begin, over = stretch.scale(stretch.scale.low), stretch.scale(stretch.scale.high)
        drawing.box(begin, top - 2, over - begin, end - top + 2, fill="currentColor", opacity=0.05)
        if stretch.load:
            said = t("chart-level", load=stretch.load, took=duration(stretch.took_s, t))
            fits = text_width(said, SMALL) < over - begin + GAP
            drawing.text((begin + over) / 2, top - 6, said if fits else stretch.load, anchor="middle", size=SMALL)
    for scale, ticks, unit, by in ((requests, (0.0, highest), "", 1), (share, (0.0, 1.0), " %", 100)):
        if scale is share and series.kv_use is None:
            continue
        for value in ticks:
            drawing.line([(left, scale(value)), (RIGHT, scale(value))], opacity=0.5 if value == 0 else 0.13)
            drawing.text(left - 5, scale(value) + 3.5, tick_text(by * value) + unit, anchor="end", size=SMALL)
    if series.running is None and series.waiting is None:
        drawing.text(left + 4, bottom - 8, t("chart-no-requests"), size=SMALL, soft=True)
    for points in _pieces(series.at_s, series.kv_use, stretches, share):
        base = share(0)
        drawing.area([(points[0][0], base), *points, (points[-1][0], base)], colour=look.colour, opacity=0.35)
        drawing.line(points, colour=look.colour, width=1.0)
    for values, dash in ((series.running, ""), (series.waiting, "2 2.5")):
        for points in _pieces(series.at_s, values, stretches, requests):
            drawing.line(points, colour=look.colour, width=1.6, dash=dash)
    if series.kv_use is None:
        drawing.text(left, bottom + 14, t("chart-no-kv"), size=SMALL, soft=True)
        return bottom + 28
    return end + 14


def _stretches(run: PublicRun, series: EngineSeries, left: float) -> list[Stretch]:
    """The levels side by side, each as wide as any other; one stretch where nobody knows when a level began."""
    levels = [(level, level.began_s) for level in run.levels if level.began_s is not None]
    if not levels:
        whole = max(series.at_s[-1], 1.0)
        return [Stretch("", whole, Scale(0, whole, left, RIGHT), whole)]
    wide = (RIGHT - left - GAP * (len(levels) - 1)) / len(levels)
    found = []
    for place, (level, began_s) in enumerate(levels):
        load, x = load_of(level, run.workload.arrival), left + place * (wide + GAP)
        until = levels[place + 1][1] if place + 1 < len(levels) else began_s + level.duration_s
        scale = Scale(began_s, began_s + level.duration_s, x, x + wide)
        found.append(Stretch(plain(load.value) if load.value is not None else "", level.duration_s, scale, until))
    return found


def _pieces(
    at_s: Sequence[float], values: Sequence[float | None] | None, stretches: Sequence[Stretch], y: Scale
) -> list[list[tuple[float, float]]]:
    """A line in pieces, one a level; where a value was not exposed there is none. A lone look is a short stroke."""
    pieces: list[list[tuple[float, float]]] = []
    for stretch in stretches:
        pieces.append([])
        for at, value in zip(at_s, values or (), strict=False):
            if not stretch.scale.low <= at <= min(stretch.scale.high, stretch.until_s):
                continue
            if value is None:
                pieces.append([])
            else:
                pieces[-1].append((stretch.scale(at), y(value)))
    return [piece if len(piece) > 1 else [piece[0], (piece[0][0] + 3, piece[0][1])] for piece in pieces if piece]


def _legend(drawing: Drawing, y: float, t: Messages, shares: bool) -> float:
    x = 10.0
    entries: list[tuple[str, str | None]] = [("chart-running", ""), ("chart-waiting", "2 2.5")]
    for key, dash in (*entries, ("chart-kv", None)) if shares else entries:
        label = t(key)
        taken = 36 + text_width(label) + 14
        if x > 10 and x + taken > RIGHT:
            x, y = 10.0, y + LINE + 3
        if dash is None:
            drawing.box(x, y - 10, 26, 11, fill="currentColor", opacity=0.35)
        else:
            drawing.line([(x, y - 4), (x + 26, y - 4)], width=1.6, dash=dash)
        drawing.text(x + 32, y, label)
        x += taken
    return y + LINE


def _most(values: Sequence[float | None] | None, form: object, t: Messages) -> Cell:
    known = [value for value in values or () if value is not None]
    if not known:
        return missing(t("chart-not-exposed"))
    assert callable(form)
    return number(form(max(known)))
