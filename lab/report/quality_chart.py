"""Differences of quality between two runs, with their intervals, beside the margin that was stated."""

from __future__ import annotations

from lab.publish.evidence import PublicContrast, PublicPair, PublicRun
from lab.report.drawing import BOLD, LINE, SMALL, Drawing, Scale, shortened, text_width
from lab.report.figure import RIGHT, Figure, Runs, across, finished, legend, present, run_cell
from lab.report.grid import Cell, Row, Text, missing, number
from lab.report.messages import Messages
from lab.report.numbers import points as in_points
from lab.report.numbers import signed_points
from lab.report.series import engine_title, series_label, series_of

Shown = tuple[PublicContrast, PublicRun, PublicRun, PublicPair]


def quality_chart(contrasts: tuple[PublicContrast, ...], runs: Runs, t: Messages) -> Figure | None:
    """One row for each task of each pair of different launches, grouped by task; None when nothing is compared."""
    named = {run.run_id: run for run in runs}
    found: list[Shown] = [
        (one, named[one.first], named[one.second], pair)
        for one in contrasts
        if one.first in named and one.second in named
        for pair in one.tasks
        if named[one.first].spec_digest != named[one.second].spec_digest
        and pair.paired.low is not None
        and pair.paired.high is not None
        and pair.metric != "bits_per_byte"
    ]
    if not found:
        return None
    tasks = list(dict.fromkeys(pair.task for *_, pair in found))
    margins = {pair.paired.margin for *_, pair in found if pair.paired.margin is not None}
    far = 100 * max(
        0.01, *(margin * 1.3 for margin in margins),
        *(abs(end) for *_, pair in found for end in (pair.paired.low, pair.paired.high) if end is not None),
    )  # fmt: skip
    looks = series_of(runs)
    label = _labels(found, t)
    left = min(max(text_width(text, SMALL) for text in label.values()) + 26, 190.0)
    scale = Scale(-far * 1.06, far * 1.06, left, RIGHT)
    drawing, y = Drawing(0), 16.0
    places: list[tuple[float, Shown]] = []
    heads: list[tuple[float, str]] = []
    for task in tasks:
        heads.append((y + 10, task))
        y += LINE + 5
        for one in found:
            if one[3].task == task:
                places.append((y + 6, one))
                y += 17
        y += 5
    bottom, top = y, 14.0
    for margin in sorted(margins):
        x = scale(-100 * margin)
        drawing.line([(x, top), (x, bottom)], dash="4 3", opacity=0.85)
        drawing.text(x, 10, t("chart-margin", margin=in_points(margin)), anchor="middle", size=SMALL)
    drawing.line([(scale(0), top), (scale(0), bottom)], opacity=0.75)
    y = across(drawing, scale, bottom, t("chart-quality-x"), top=top)
    for at, task in heads:
        drawing.text(4, at, shortened(task, RIGHT, BOLD), bold=True)
    for at, (_, first, second, pair) in places:
        low, high, middle = pair.paired.low, pair.paired.high, pair.paired.difference
        assert low is not None and high is not None and middle is not None
        look = looks[series_label(second)]
        drawing.text(
            left - 8,
            at + 3.5,
            shortened(label[first.run_id, second.run_id], left - 14, SMALL),
            anchor="end",
            size=SMALL,
        )
        drawing.line([(scale(100 * low), at), (scale(100 * high), at)], colour=look.colour, width=1.8)
        for end in (low, high):
            drawing.line([(scale(100 * end), at - 3.5), (scale(100 * end), at + 3.5)], colour=look.colour, width=1.8)
        drawing.marker(look.marker, scale(100 * middle), at, look.colour, radius=3.6, hollow=look.hollow)
    seconds = tuple(second for _, _, second, _ in found)
    drawing.height = legend(drawing, y + 16, present(runs, seconds)) - 4
    shown = tuple(run for run in runs if any(run in one[1:3] for one in found))
    rows = [Row(cells=_cells(one, t)) for one in found]
    keys = ("contrasts-pair", "chart-task", "chart-difference", "chart-interval", "chart-margin-title")
    return finished("chart-quality", drawing, shown, t, tuple(map(t, keys)), rows, n=len(found))


def _labels(found: list[Shown], t: Messages) -> dict[tuple[str, str], str]:
    """Second minus first, by no more than tells the pairs apart: engines, profiles, both, at last run_ids."""
    pairs = {(first.run_id, second.run_id): (first, second) for _, first, second, _ in found}
    ways = (_what_differs, lambda run, _: series_label(run), lambda run, _: run.run_id)
    for way in ways:
        labels = {
            ids: t("chart-minus", second=way(second, first), first=way(first, second))
            for ids, (first, second) in pairs.items()
        }
        if len(set(labels.values())) == len(labels):
            break
    return labels


def _what_differs(run: PublicRun, other: PublicRun) -> str:
    return engine_title(run.engine) if run.engine != other.engine else run.profile.name


def _cells(one: Shown, t: Messages) -> tuple[Cell, ...]:
    _, first, second, pair = one
    paired = pair.paired
    assert paired.low is not None and paired.high is not None and paired.difference is not None
    heading = Cell(lines=(*run_cell(first).lines, *run_cell(second).lines))
    interval = t("interval", low=signed_points(paired.low), high=signed_points(paired.high))
    margin = missing(t("missing")) if paired.margin is None else number(in_points(paired.margin))
    task = Cell(lines=(Text(text=pair.task),))
    return heading, task, number(signed_points(paired.difference)), number(interval), margin
