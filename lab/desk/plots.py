"""Interactive charts of a notebook: filters, intervals, the run_id under the pointer; drawn without asking anybody.

JupyterLab draws what Vega-Lite 5 and older can; these charts are of version 6. So each brings the drawing program with
it, in a frame whose policy lets nothing out and nothing in: no request can leave, whatever a chart says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from lab.desk.comparison import Comparison
from lab.desk.sheet import Sheet, sheet
from lab.publish.contrasts import IN_BITS
from lab.report.drawing import corners
from lab.report.figure import watermark
from lab.report.messages import messages
from lab.report.series import Series

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
WIDTH = 560


class Plot:
    """A chart with its drawing program, as one cell shows it.

    Args:
        chart: the chart.
        height: of the frame, in pixels.
        title: its name for whoever does not see it.
    """

    def __init__(self, chart: Any, height: int, title: str) -> None:
        self.spec: dict[str, Any] = chart.to_dict()
        self.height = height
        self.title = title

    def _repr_html_(self) -> str:
        spec = json.dumps(self.spec).replace("</", "<\\/")
        page = (
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            "<style>body{margin:0;font:13px sans-serif}.vega-bindings{margin:.3em 0}"
            ".vega-bind-name{margin-right:.4em}</style>"
            f'<div id="chart"></div><script type="module">{_program()}\n'
            f'vegaEmbed("#chart",{spec},{{ast:true,actions:false,renderer:"svg"}});</script>'
        )
        return (
            f'<iframe title="{escape(self.title, quote=True)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:0;background:#fff" '
            f'srcdoc="{escape(page, quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"{self.title}: a chart, drawn in JupyterLab"


def plot_values(found: Comparison, first: str = "output_tok_per_s") -> Plot | Sheet:
    """Any metric over the load: a dot for each launch, the mean and its interval over launches where there is one.

    Args:
        found: the runs.
        first: the metric that is shown before another is chosen.

    Returns:
        A sentence instead of a chart where the runs may not stand side by side, or there is nothing to draw.
    """
    t, values = found.t, found.values
    if (instead := _instead(found, values)) is not None:
        return instead
    names = [f"{metric} ({unit})" for metric, unit in dict(zip(values["metric"], values["unit"], strict=True)).items()]
    frame = values.assign(name=values["metric"] + " (" + values["unit"] + ")")
    starts = (f"{first} (", f"{first.removesuffix('_s')} p50 (")
    chosen = next((name for name in names if name.startswith(starts)), names[0])
    metric = alt.param(
        name="metric", value=chosen, bind=alt.binding_select(options=names, name=f"{t('comparison-row')} ")
    )
    rungs = sorted({float(one) for one in frame["load"]})
    wide = rungs[-1] >= 16 * rungs[0]
    x = alt.X(
        "load:Q",
        title=t("load-title"),
        scale=alt.Scale(type="log", base=2, padding=16) if wide else alt.Scale(zero=False, nice=False, padding=16),
        axis=alt.Axis(values=rungs, grid=False),
    )
    pick, faint = _legend_pick()
    colour, shape, dash = _encodings(found.series, frame["series"])
    base = (
        alt.Chart(_data(frame))
        .transform_filter("datum.name === metric")
        .encode(x=x, color=colour, opacity=alt.condition(pick, alt.value(1), alt.value(faint)))
    )
    tips = ["run_id:N", "series:N", "at:N", "name:N", alt.Tooltip("value:Q", format=".4~r"), "launch:Q"]
    dots = base.mark_point(filled=True, size=90).encode(
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=True)), shape=shape, tooltip=tips
    )
    lines = base.mark_line(strokeWidth=1.6).encode(
        y=alt.Y("mean:Q", title=None), detail="spec_digest:N", strokeDash=dash
    )
    spans = (
        base.transform_filter("isValid(datum.low)")
        .mark_errorbar(ticks=True, thickness=1.6)
        .encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    )
    chart = (
        (lines + spans + dots)
        .add_params(metric, pick)
        .properties(width=WIDTH, height=300, title=_title(alt.expr("metric"), found))
    )
    return Plot(chart, 460, t("desk-plot-values"))


def plot_requests(found: Comparison, load: str | None = None) -> Plot | Sheet:
    """Each request on its own: when it was sent and how long it took, and the share that took no longer.

    Drag over the left part to see the share of those requests alone.

    Args:
        found: the runs.
        load: the load as printed, for instance `4 in flight`; None: the last of the ladder.
    """
    t, frame = found.t, found.requests
    if (instead := _instead(found, frame)) is not None:
        return instead
    long = frame.melt(
        id_vars=["run_id", "series", "at", "request", "sent_s", "cached_tokens"],
        value_vars=["ttft", "tpot", "e2e_latency"],
        var_name="metric",
        value_name="ms",
    ).dropna(subset=["ms"])
    loads = list(dict.fromkeys(long["at"]))
    metric = alt.param(
        name="metric",
        value="ttft",
        bind=alt.binding_select(options=list(dict.fromkeys(long["metric"])), name=f"{t('comparison-row')} "),
    )
    at = alt.param(
        name="at",
        value=load if load in loads else loads[-1],
        bind=alt.binding_select(options=loads, name=f"{t('load-title')} "),
    )
    pick, faint = _legend_pick()
    span = alt.selection_interval(name="span", encodings=["x"])
    colour, shape, dash = _encodings(found.series, long["series"])
    shown = alt.Chart(_data(long)).transform_filter("datum.metric === metric && datum.at === at")
    seen = alt.condition(pick, alt.value(0.9), alt.value(faint))
    each = (
        shown.mark_point(size=50)
        .encode(
            x=alt.X("sent_s:Q", title=t("desk-sent"), axis=alt.Axis(grid=False)),
            y=alt.Y("ms:Q", title="ms", scale=alt.Scale(zero=True)),
            color=colour,
            shape=shape,
            opacity=seen,
            tooltip=["run_id:N", "series:N", "request:Q", alt.Tooltip("ms:Q", format=".4~r"), "cached_tokens:Q"],
        )
        .add_params(span, metric, at, pick)
        .properties(width=WIDTH // 2, height=260)
    )
    share = (
        shown.transform_filter(span)
        .transform_window(below="rank()", sort=[alt.SortField("ms")], groupby=["series"])
        .transform_joinaggregate(of="count()", groupby=["series"])
        .transform_calculate(share="datum.below / datum.of")
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x=alt.X("ms:Q", title="ms", scale=alt.Scale(zero=True), axis=alt.Axis(grid=False)),
            y=alt.Y("share:Q", title=t("desk-share"), scale=alt.Scale(domain=[0, 1])),
            color=colour,
            strokeDash=dash,
            opacity=seen,
        )
        .properties(width=WIDTH // 2, height=260)
    )
    title = _title(alt.expr("metric + ', ' + at"), found)
    return Plot(alt.hconcat(each, share).properties(title=title), 430, t("desk-plot-requests"))


def plot_quality(found: Comparison) -> Plot | Sheet:
    """Score of each task with the interval over its items, a dot for each run."""
    t, scored = found.t, found.quality.dropna(subset=["score"])
    frame = scored[scored["metric"] != IN_BITS]  # bits are no share of items; they stand in the table
    if (instead := _instead(found, frame)) is not None:
        return instead
    colour, shape, _ = _encodings(found.series, frame["series"])
    pick, faint = _legend_pick()
    base = alt.Chart(_data(frame)).encode(
        y=alt.Y("run_id:N", title=None, axis=alt.Axis(ticks=False, domain=False), sort=list(found.run_ids)),
        color=colour,
        opacity=alt.condition(pick, alt.value(1), alt.value(faint)),
    )
    spans = base.mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", title=t("desk-score")), x2="high:Q")
    tips = ["run_id:N", "series:N", "task:N", alt.Tooltip("score:Q", format=".3f"), "items:Q", "unscored:Q"]
    dots = base.mark_point(filled=True, size=80).encode(x="score:Q", shape=shape, tooltip=tips)
    chart = (
        alt.layer(spans, dots)
        .add_params(pick)
        .properties(width=WIDTH - 120, height=26 * frame["run_id"].nunique())
        .facet(row=alt.Row("task:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")))
        .properties(title=_title(t("quality"), found))
    )
    tasks, runs = frame["task"].nunique(), frame["run_id"].nunique()
    return Plot(chart, 140 + tasks * (26 * runs + 24) + 22 * frame["series"].nunique(), t("desk-plot-quality"))


def _instead(found: Comparison, frame: pd.DataFrame) -> Sheet | None:
    """What is said where nothing may or can be drawn."""
    if found.refused:
        return sheet((found.t("desk-apart"),), found.t)
    return sheet((found.t("desk-nothing-drawn"),), found.t) if frame.empty else None


def _title(text: Any, found: Comparison) -> alt.TitleParams:
    """The title of a chart; what is no measurement on a GPU says so in its second line."""
    mark = watermark(found.public, found.t)
    return alt.TitleParams(text=text, anchor="start", subtitle=mark or alt.Undefined)


def _legend_pick() -> tuple[Any, float]:
    return alt.selection_point(name="pick", fields=["series"], bind="legend"), 0.12


def _encodings(series: dict[str, Series], present: pd.Series[str]) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """Colour, marker and line of each series. The colour is the engine's on every page; its further profiles, which a
    report draws hollow, have other markers here, because a legend cannot show a hollow one."""
    drawn = {label: one for label, one in series.items() if label in set(present)}
    legend = alt.Legend(title=None, orient="bottom", direction="vertical", labelLimit=400, symbolOpacity=1)
    names, colours = list(drawn), [one.colour for one in drawn.values()]
    markers = [_shape(one) for one in drawn.values()]
    dashes = [[float(part) for part in one.dash.split()] or [1, 0] for one in drawn.values()]
    colour = alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=legend)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names, range=markers), legend=legend)
    return colour, shape, alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), legend=legend)


_HOLE = 0.55
"""Of a hollow marker, as a share of its size."""


def _shape(one: Series) -> str:
    """The marker of a series as Vega draws it, a path: a hollow one has a hole, its corners the other way round."""
    outer = corners(one.marker)
    inner = tuple((_HOLE * x, _HOLE * y) for x, y in reversed(outer)) if one.hollow else ()
    return "".join("M" + "L".join(f"{x:.2f},{y:.2f}" for x, y in ring) + "Z" for ring in (outer, inner) if ring)


def _data(frame: pd.DataFrame) -> alt.Data:
    """A frame as values inside the chart; what is not there is null."""
    rows: Sequence[dict[str, Any]] = json.loads(frame.to_json(orient="records"))
    return alt.Data(values=rows)


@cache
def _program() -> str:
    """Vega, Vega-Lite and the code that puts them into a page, as one script; it comes with a package."""
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return str(script).replace("</script", "<\\/script")


def how_to_use(lang: str = "en") -> Sheet:
    """How the charts are used."""
    t = messages(lang)
    return sheet((t("desk-use"),), t)
