"""The charts of a report, as SVG inside the page, each with its text alternative and its data.

An engine keeps one colour and one marker in all of them, see `lab.report.series`. Phases of preparation are shades,
not colours, so that a colour always means who was measured. Axes begin at zero.
"""

from __future__ import annotations

import io
import math
from typing import Any

import altair as alt
import matplotlib
import vl_convert
from matplotlib import font_manager
from matplotlib.figure import Figure as Canvas

from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.report.cells import quantile, scalar
from lab.report.grid import Cell as GridCell
from lab.report.grid import Column, Row, Table, Text, number, words
from lab.report.loads import ARRIVALS, Arrival, levels_of, load_cell, load_text
from lab.report.messages import Messages
from lab.report.numbers import count, milliseconds, plain, significant
from lab.report.series import Series, series_label, series_of
from lab.report.svg import INK, inline
from lab.report.typeface import font_path
from lab.spec import Frozen

Runs = tuple[PublicRun, ...]

_FONT = "IPAexGothic"
"""Used to measure text, so that a chart comes out the same on every machine; the page draws with its own."""


class Figure(Frozen):
    """One chart on a page."""

    id: str
    caption: str
    reading: str
    """How it is to be read."""
    svg: str
    data: Table


def figures(runs: Runs, t: Messages) -> tuple[Figure, ...]:
    """All charts that have something to draw, in their fixed order; one arrival law never shares an axis."""
    drawn = (
        *(throughput_chart(runs, arrival, t) for arrival in ARRIVALS),
        preparation_chart(runs, t),
        *(ttft_chart(runs, arrival, t) for arrival in ARRIVALS),
    )
    return tuple(figure for figure in drawn if figure is not None)


def throughput_chart(runs: Runs, arrival: Arrival, t: Messages) -> Figure | None:
    """Output tokens per second over the load of one arrival law, a line per run; None when there is nothing."""
    points: list[dict[str, Any]] = [
        {"series": series_label(run), "run": run.run_id, "x": load.value, "y": value}
        for run, level, load in levels_of(runs)
        if load.arrival == arrival
        and load.value is not None
        and (value := scalar(level, "output_tok_per_s")) is not None
    ]
    if not points:
        return None
    rungs = sorted({point["x"] for point in points})
    wide = rungs[-1] >= 16 * rungs[0]
    x = alt.X(
        "x:Q",
        title=t("chart-throughput-x", arrival=arrival),
        scale=alt.Scale(type="log", base=2, padding=12) if wide else alt.Scale(zero=True, nice=False, padding=12),
        axis=alt.Axis(values=rungs, format=",.6~r", grid=False),
    )
    y = alt.Y("y:Q", title=t("chart-throughput-y"), scale=alt.Scale(zero=True))
    colour, shape = _encodings(_present(runs, points))
    base = alt.Chart(alt.Data(values=points)).encode(x=x, y=y, color=colour)
    chart = base.mark_line(strokeWidth=1.6).encode(detail="run:N") + base.mark_point(
        filled=True, size=80, opacity=1
    ).encode(shape=shape)
    rows = [Row(cells=(_run(p), number(plain(p["x"])), number(significant(p["y"])))) for p in points]
    titles = (t("run"), t("chart-throughput-x", arrival=arrival), t("output-tok-s"))
    named = {point["run"] for point in points}
    shown = tuple(run for run in runs if run.run_id in named)
    return _figure("chart-throughput", _vega(chart, 210), shown, t, len(shown), titles, rows, arrival)


def preparation_chart(runs: Runs, t: Messages) -> Figure | None:
    """Preparation stacked by phase, one bar per run; None when no run recorded it."""
    phases = ("build", "startup", "first")
    prepared = [(run, run.preparation) for run in runs if run.preparation is not None]
    bars: list[dict[str, Any]] = []
    rows = []
    for run, record in prepared:
        seconds = dict(zip(phases, (record.build_took_s, record.startup_s, record.first_request_s), strict=True))
        bars += [
            {
                "run": run.run_id,
                "series": series_label(run),
                "phase": t(f"phase-{phase}"),
                "order": place,
                "s": value,
            }
            for place, (phase, value) in enumerate(seconds.items())
            if value is not None
        ]
        cells = (
            GridCell(lines=(Text(text=t("no-build-step"), style="note"),), number=True)
            if value is None
            else number(significant(value))
            for value in seconds.values()
        )
        rows.append(Row(cells=(_run({"run": run.run_id, "series": series_label(run)}), *cells)))
    if not bars:
        return None
    shown = [phase for place, phase in enumerate(phases) if any(bar["order"] == place for bar in bars)]
    shade = {"build": "#c4cacd", "startup": "#8d969c", "first": "#565f65"}
    y = alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labelPadding=16, ticks=False, domain=False))
    base = alt.Chart(alt.Data(values=bars)).encode(y=y)
    stack = base.mark_bar(stroke=INK, strokeWidth=0.7, height=16).encode(
        x=alt.X("s:Q", title=t("chart-preparation-x"), stack="zero"),
        order=alt.Order("order:Q"),
        fill=alt.Fill(
            "phase:N",
            title=None,
            scale=alt.Scale(domain=[t(f"phase-{p}") for p in shown], range=[shade[p] for p in shown]),
            legend=alt.Legend(symbolType="square", symbolStrokeColor=INK, symbolStrokeWidth=0.7),
        ),
    )
    colour, shape = _encodings(_present(runs, bars))
    keys = base.mark_point(filled=True, size=70, opacity=1, xOffset=-9).encode(
        x=alt.datum(0), color=colour, shape=shape
    )
    titles = (t("run"), t("preparation-build"), t("preparation-startup"), t("preparation-first"))
    drawing = _vega(stack + keys, 30 * len(prepared) + 10)
    return _figure("chart-preparation", drawing, tuple(run for run, _ in prepared), t, len(prepared), titles, rows)


def ttft_chart(runs: Runs, arrival: Arrival, t: Messages) -> Figure | None:
    """Quantiles of TTFT as a dot range, one row per level of one arrival law; None when there is nothing."""
    ranges = [
        (run, load, p50 * 1000, p90 * 1000, p99 * 1000)
        for run, level, load in levels_of(runs)
        if load.arrival == arrival
        and (p50 := quantile(level, "ttft_s", "p50")) is not None
        and (p90 := quantile(level, "ttft_s", "p90")) is not None
        and (p99 := quantile(level, "ttft_s", "p99")) is not None
    ]
    if not ranges:
        return None
    drawn = series_of(runs)
    height = 0.46 * len(ranges) + 0.8
    font_manager.fontManager.addfont(str(font_path()))
    style: dict[Any, Any] = {
        "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "lab", "font.family": _FONT,
        "font.size": 9, "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK,
        "ytick.color": INK,
    }  # fmt: skip
    with matplotlib.rc_context(style):
        canvas = Canvas(figsize=(4.7, height), layout="constrained")
        axes = canvas.add_subplot()
        for place, (run, _, p50, p90, p99) in enumerate(ranges):
            one = drawn[series_label(run)]
            axes.plot([p50, p99], [place, place], color=one.colour, linewidth=1.6, solid_capstyle="round")
            axes.plot([p99], [place], marker="|", markersize=11, markeredgewidth=2, color=one.colour)
            axes.plot([p90], [place], marker="o", markersize=5, markerfacecolor="none", color=one.colour)
            axes.plot([p50], [place], marker=one.matplotlib_marker, markersize=8, color=one.colour)
        for place, (run, load, *_) in enumerate(ranges):
            # Two texts, because the lines of one would be aligned by the measuring font, not by the page's.
            below = t("chart-at-load", label=run.run_id, load=load_text(load, t))
            for text, offset in ((_short(run.profile.name), 0.17), (below, -0.17)):
                axes.text(-0.02, place - offset, text, ha="right", va="center", transform=axes.get_yaxis_transform())
        axes.set_yticks([])
        axes.set_ylim(len(ranges) - 0.4, -0.6)
        axes.set_xlim(0, max(max(one[2:]) for one in ranges) * 1.06 or 1)
        axes.set_xlabel(t("chart-ttft-x"))
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="x", color=INK, alpha=0.13, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.patch.set_visible(False)
        canvas.patch.set_visible(False)
        buffer = io.StringIO()
        bare = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(buffer, format="svg", metadata=bare)
    rows = [
        Row(
            cells=(
                _run({"run": run.run_id, "series": series_label(run)}),
                load_cell(load, t),
                *(number(milliseconds(value / 1000)) for value in values),
            )
        )
        for run, load, *values in ranges
    ]
    titles = (t("run"), t("load-title"), *(t("ttft", q=q) for q in ("p50", "p90", "p99")))
    named = {run.run_id for run, *_ in ranges}
    shown = tuple(run for run in runs if run.run_id in named)
    return _figure("chart-ttft", buffer.getvalue(), shown, t, len(ranges), titles, rows, arrival)


def watermark(runs: Runs, t: Messages) -> str:
    """Labels to write across a chart: every grade but real-gpu."""
    grades = [grade for grade in EvidenceGrade if any(run.grade is grade for run in runs)]
    return " · ".join(t(f"grade-{grade.value}") for grade in grades if grade is not EvidenceGrade.REAL_GPU)


def _figure(
    name: str,
    svg: str,
    runs: Runs,
    t: Messages,
    n: int,
    titles: tuple[str, ...],
    rows: list[Row],
    arrival: Arrival | None = None,
) -> Figure:
    """The finished figure; `arrival` is the law it belongs to, where there is one for each."""
    law: dict[str, str] = {} if arrival is None else {"arrival": arrival}
    id = name if arrival is None else f"{name}-{arrival}"
    caption, reading = t(name, **law), t(f"{name}-desc", n=count(n), **law)
    columns = tuple(Column(title=title, number=place > 0) for place, title in enumerate(titles))
    return Figure(
        id=id,
        caption=caption,
        reading=reading,
        svg=inline(svg, id, caption, reading, watermark(runs, t)),
        data=Table(id=f"{id}-data", caption=t("chart-data"), columns=columns, rows=tuple(rows)),
    )


def _run(point: dict[str, Any]) -> GridCell:
    run_id = str(point["run"])
    link = Text(text=run_id, href=f"card-{run_id}")
    return GridCell(lines=(link, *words(str(point["series"])).lines))


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"


def _present(runs: Runs, points: list[dict[str, Any]]) -> dict[str, Series]:
    """The series among these points; colours are those of the whole page."""
    labels = {point["series"] for point in points}
    return {label: one for label, one in series_of(runs).items() if label in labels}


def _encodings(drawn: dict[str, Series]) -> tuple[alt.Color, alt.Shape]:
    domain = list(drawn)
    legend = alt.Legend(title=None, symbolOpacity=1, symbolStrokeWidth=0)
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=domain, range=[one.colour for one in drawn.values()]),
        legend=legend,
    )
    shape = alt.Shape(
        "series:N",
        scale=alt.Scale(domain=domain, range=[one.vega_marker for one in drawn.values()]),
        legend=legend,
    )
    return colour, shape


def _vega(chart: alt.LayerChart, height: float) -> str:
    sized = (
        chart.properties(width=330, height=math.ceil(height), background="transparent", padding=6)
        .configure(font=_FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK, titleColor=INK, tickColor=INK, domainColor=INK, gridColor=INK, gridOpacity=0.13,
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", titlePadding=8, labelLimit=200,
        )
        .configure_legend(
            orient="bottom", direction="vertical", labelColor=INK, labelFontSize=12, labelLimit=340,
            symbolSize=80, offset=10, padding=0,
        )
    )  # fmt: skip
    vl_convert.register_font_directory(str(font_path().parent))
    return str(vl_convert.vegalite_to_svg(vl_spec=sized.to_dict()))
