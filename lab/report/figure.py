"""What every chart has in common: caption, reading, data table, watermark, legend and axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.report.drawing import LINE, SMALL, WIDTH, Drawing, Scale, shortened, text_width, tick_text
from lab.report.grid import Cell, Column, Row, Table, Text, words
from lab.report.loads import Arrival
from lab.report.messages import Messages
from lab.report.numbers import count
from lab.report.series import Series, series_label, series_of
from lab.spec import Frozen

Runs = tuple[PublicRun, ...]

RIGHT = WIDTH - 8.0
"""Where a plot ends."""


class Figure(Frozen):
    """One chart on a page."""

    id: str
    caption: str
    reading: str
    """How it is to be read."""
    svg: str
    data: Table


def finished(
    name: str,
    drawing: Drawing,
    runs: Runs,
    t: Messages,
    titles: Sequence[str],
    rows: Iterable[Row],
    *,
    n: int,
    arrival: Arrival | None = None,
    more: Iterable[str] = (),
    prose: bool = False,
) -> Figure:
    """The figure of a drawing.

    Args:
        name: key of its caption; `<name>-desc` is its reading.
        drawing: what was drawn.
        runs: whose numbers it holds: their grade is written across it.
        t: catalogue.
        titles: of the columns of its data table.
        rows: of that table.
        n: what its reading counts.
        arrival: the law it belongs to, where there is a chart for each.
        more: further sentences of its reading.
        prose: True where no column of the table but the first is a number.
    """
    law: dict[str, str] = {} if arrival is None else {"arrival": arrival}
    id = name if arrival is None else f"{name}-{arrival}"
    caption = t(name, **law)
    reading = t("sentence-separator").join((t(f"{name}-desc", n=count(n), **law), *more))
    columns = tuple(Column(title=title, number=place > 0 and not prose) for place, title in enumerate(titles))
    return Figure(
        id=id,
        caption=caption,
        reading=reading,
        svg=drawing.finish(id, caption, reading, watermark(runs, t)),
        data=Table(id=f"{id}-data", caption=t("chart-data"), columns=columns, rows=tuple(rows)),
    )


def watermark(runs: Runs, t: Messages) -> str:
    """Labels to write across a chart: every grade but real-gpu."""
    grades = [grade for grade in EvidenceGrade if any(run.grade is grade for run in runs)]
    return " · ".join(t(f"grade-{grade.value}") for grade in grades if grade is not EvidenceGrade.REAL_GPU)


def by_spec(runs: Runs) -> dict[str, Runs]:
    """Launches of one spec together, in the order of the first of each."""
    found: dict[str, list[PublicRun]] = {}
    for run in runs:
        found.setdefault(run.spec_digest, []).append(run)
    return {spec: tuple(launches) for spec, launches in found.items()}


def run_cell(*runs: PublicRun) -> Cell:
    """Runs of one series as the heading of a row, each leading to its card."""
    links = (Text(text=run.run_id, href=f"card-{run.run_id}") for run in runs)
    return Cell(lines=(*links, *words(series_label(runs[0])).lines))


def present(all_runs: Runs, shown: Runs) -> list[Series]:
    """The series of the runs shown; how they look does not depend on what a chart has to draw."""
    labels = {series_label(run) for run in shown}
    return [one for label, one in series_of(all_runs).items() if label in labels]


def legend(drawing: Drawing, y: float, series: Sequence[Series]) -> float:
    """Mark, line and name of each series, side by side as far as they fit; returns where the next thing may begin."""
    x = 10.0
    for one in series:
        label = shortened(one.label, WIDTH - 60)
        taken = 36 + text_width(label) + 16
        if x > 10 and x + taken > WIDTH:
            x, y = 10.0, y + LINE + 3
        drawing.line([(x, y - 4), (x + 28, y - 4)], colour=one.colour, width=1.8, dash=one.dash)
        drawing.marker(one.marker, x + 14, y - 4, one.colour, hollow=one.hollow)
        drawing.text(x + 34, y, label)
        x += taken
    return y + LINE


def swatches(drawing: Drawing, y: float, entries: Sequence[tuple[str, str, float]]) -> float:
    """Fill and name of each kind of area, side by side as far as they fit."""
    x = 10.0
    for label, fill, opacity in entries:
        taken = 20 + text_width(label) + 14
        if x > 10 and x + taken > WIDTH:
            x, y = 10.0, y + LINE + 3
        drawing.box(x, y - 10, 14, 11, fill=fill, opacity=opacity, stroke="currentColor", stroke_width=0.7)
        drawing.text(x + 19, y, label)
        x += taken
    return y + LINE


def across(drawing: Drawing, scale: Scale, y: float, title: str, *, ticks: Sequence[float] = (), top: float) -> float:
    """A horizontal axis at `y` with faint lines up to `top`; labels that would touch are left out."""
    places = tuple(ticks) or scale.ticks()
    left, right = scale(scale.low), scale(scale.high)
    drawing.line([(left, y), (right, y)], opacity=0.75)
    free = -1e9
    for value in places:
        x, label = scale(value), tick_text(value)
        half = text_width(label, SMALL) / 2
        drawing.line([(x, top), (x, y)], opacity=0.13)
        drawing.line([(x, y), (x, y + 4)], opacity=0.75)
        middle = min(x, WIDTH - half - 1)
        if middle - half > free:
            drawing.text(middle, y + 15, label, anchor="middle", size=SMALL)
            free = middle + half + 5
    drawing.text((left + right) / 2, y + 31, shortened(title, WIDTH - 10), anchor="middle")
    return y + 36


def upwards(
    drawing: Drawing, scale: Scale, left: float, right: float, *, ticks: Sequence[float] = (), unit: str = ""
) -> None:
    """Labels of a vertical axis, with a faint line across for each."""
    for value in tuple(ticks) or scale.ticks(4):
        y = scale(value)
        drawing.line([(left, y), (right, y)], opacity=0.13)
        drawing.text(left - 5, y + 3.5, tick_text(value) + unit, anchor="end", size=SMALL)


def left_of(labels: Iterable[str], least: float = 24.0) -> float:
    """Where a plot begins so that the labels of its vertical axis fit."""
    return max(least, *(text_width(label, SMALL) for label in labels)) + 9
