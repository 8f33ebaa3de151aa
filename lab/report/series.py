"""Runs in their printed order, and the colour and marker each launch profile keeps in every chart."""

from __future__ import annotations

from lab.publish.evidence import PublicRun
from lab.roster import ROSTER, find
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
    """A series for each label among `runs`."""
    labels = dict.fromkeys(series_label(run) for run in in_order(runs))
    return {
        label: Series(
            label=label,
            colour=_COLOURS[place % len(_COLOURS)],
            vega_marker=_MARKERS[place % len(_MARKERS)][0],
            matplotlib_marker=_MARKERS[place % len(_MARKERS)][1],
        )
        for place, label in enumerate(labels)
    }
