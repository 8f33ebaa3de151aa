"""Runs in their printed order, and the colour and marker an engine keeps in every chart and every week."""

from __future__ import annotations

from typing import Literal

from lab.publish.evidence import PublicRun
from lab.roster import ON_TABLE, ROSTER, find
from lab.spec import Frozen

Marker = Literal["circle", "square", "triangle", "diamond", "cross"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0609a", "#8a7400", "#6a7fd0")
"""At least 3:1 against the light and the dark page."""
_MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond", "cross")
"""With one colour more than markers, a pair repeats after 30 engines."""
_DASHES = ("", "6 3", "2 2.5", "8 3 2 3")
"""Lines of the profiles of one engine, in their printed order; beyond the fourth they repeat and the text tells."""
_TABLES = ("comparison", "pipeline-check", "instrument-check")
_SEATS = tuple(entry.key for entry in ROSTER)


class Series(Frozen):
    """One launch profile of one engine, as charts draw it."""

    label: str
    colour: str
    """Of the engine, on every page and in every week."""
    marker: Marker
    """The same."""
    hollow: bool
    """True for every profile of an engine but its first on the page."""
    dash: str
    """Of its lines; empty for the first profile."""


def in_order(runs: tuple[PublicRun, ...]) -> tuple[PublicRun, ...]:
    """The printed order: table, place in the roster, profile, run_id. Results play no part."""

    def place(run: PublicRun) -> tuple[int, int, str, str, str]:
        entry = find(run.engine)
        seat = _SEATS.index(entry.key) if entry else len(_SEATS)
        return _TABLES.index(run.table), seat, run.engine, run.profile.name, run.run_id

    return tuple(sorted(runs, key=place))


def series_label(run: PublicRun) -> str:
    """Engine and launch profile, as the reader meets them."""
    return f"{engine_title(run.engine)} · {run.profile.name}"


def engine_title(engine: str) -> str:
    """The name of an engine as people spell it; one of its variants is named beside it."""
    entry = find(engine)
    if entry is None:
        return engine
    return f"{entry.title} ({engine})" if engine in entry.variants else entry.title


def series_of(runs: tuple[PublicRun, ...]) -> dict[str, Series]:
    """A series for each label among `runs`.

    An engine has the colour and the marker of its seat, on every page and in every week. Its profiles share both:
    the first is drawn filled and in whole lines, the others hollow and dashed.
    """
    firsts = {series_label(run): run for run in reversed(in_order(runs))}
    labels = tuple(dict.fromkeys(series_label(run) for run in in_order(runs)))
    engines = {label: _engine_place(firsts[label].engine) for label in labels}
    found: dict[str, Series] = {}
    for label in labels:
        engine = engines[label]
        profile = [other for other in labels if engines[other] == engine].index(label)
        found[label] = Series(
            label=label,
            colour=_COLOURS[engine % len(_COLOURS)],
            marker=_MARKERS[engine % len(_MARKERS)],
            hollow=profile > 0,
            dash=_DASHES[profile % len(_DASHES)],
        )
    return found


def _engine_place(engine: str) -> int:
    """The four columns first, the stand-ins in their places; then everybody else, in the order of the roster."""
    entry = find(engine)
    if entry is None:
        return len(ROSTER)
    if entry.seat in ("on", "synthetic"):
        return [one for one in ROSTER if one.seat == entry.seat].index(entry)
    others = [one for one in ROSTER if one.seat not in ("on", "synthetic")]
    return len(ON_TABLE) + others.index(entry)
