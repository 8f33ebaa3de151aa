"""Runs in their printed order, and the colour and marker an engine keeps in every chart and every week."""

from __future__ import annotations

from lab.publish.evidence import PublicRun
from lab.roster import ON_TABLE, ROSTER, find
from lab.spec import Frozen

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0609a", "#8a7400", "#6a7fd0")
"""At least 3:1 against the light and the dark page."""
_MARKERS = (("circle", "o"), ("square", "s"), ("triangle-up", "^"), ("diamond", "D"), ("cross", "P"))
"""Names of a shape in Vega and in matplotlib; with one colour more, a pair repeats after 30 profiles."""
_TABLES = ("comparison", "pipeline-check", "instrument-check")
_SEATS = tuple(entry.key for entry in ROSTER)


class Series(Frozen):
    """One launch profile of one engine, as charts draw it."""

    label: str
    colour: str
    vega_marker: str
    matplotlib_marker: str


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

    Where several engines stand on a page, each has the colour and the marker of its seat, on every page and in every
    week; further profiles of one engine keep its colour and take other markers. On a page of one engine the profiles
    are what is told apart.
    """
    firsts = {series_label(run): run for run in reversed(in_order(runs))}
    labels = tuple(dict.fromkeys(series_label(run) for run in in_order(runs)))
    engines = {label: _engine_place(firsts[label].engine) for label in labels}
    several = len(set(engines.values())) > 1
    found: dict[str, Series] = {}
    for place, label in enumerate(labels):
        colour = engines[label] if several else place
        profile = [other for other in labels if engines[other] == engines[label]].index(label)
        marker = colour + profile if several else place
        found[label] = Series(
            label=label,
            colour=_COLOURS[colour % len(_COLOURS)],
            vega_marker=_MARKERS[marker % len(_MARKERS)][0],
            matplotlib_marker=_MARKERS[marker % len(_MARKERS)][1],
        )
    return found


def _engine_place(engine: str) -> int:
    """The four columns first, the stand-ins in their places; then everybody else, in the order of the roster."""
    entry = find(engine)
    if entry is None:
        return len(_COLOURS) - 1
    if entry.seat in ("on", "synthetic"):
        return [one for one in ROSTER if one.seat == entry.seat].index(entry)
    others = [one for one in ROSTER if one.seat not in ("on", "synthetic")]
    return len(ON_TABLE) + others.index(entry)
