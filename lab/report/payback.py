"""Preparation beside speed: after how much of this load a longer preparation has paid for itself.

One setting of a match serves after `p0` seconds and puts out `r0` tokens a second; another serves later, after `p1`,
and puts out `r1`. While it still prepares, r0·(p1 − p0) tokens are put out without it; every second of load afterwards
makes up for r1 − r0 of them. Where the one that serves earlier puts out no less, nothing has to be paid back.
"""

from __future__ import annotations

from statistics import fmean

from lab.match import refusals
from lab.metrics.stats import interval_over_launches
from lab.publish.evidence import PublicPreparation, PublicRun
from lab.report.cells import badge, interval_text, link, scalar, table
from lab.report.grid import Cell, Row, Table, Text, missing, number, words
from lab.report.loads import Load, level_at, load_text, loads
from lab.report.messages import Messages
from lab.report.numbers import duration, significant
from lab.report.reasons import Reasons
from lab.report.series import series_label
from lab.spec import Frozen

Runs = tuple[PublicRun, ...]


class Setting(Frozen):
    """Fresh launches of one spec: what they took to serve, and what they put out under one load."""

    runs: Runs
    prepared_s: tuple[float, ...]
    """Build, start and first request of each launch, seconds; empty when a part of it was not seen."""
    rates: tuple[float, ...]
    """Output of each launch under the load, tokens a second."""


def payback_table(runs: Runs, reasons: Reasons, t: Messages) -> Table:
    """One row for each spec that may stand beside others; the first row of a match is the base of its others."""
    rows = []
    for match in _matches(runs, reasons):
        load = _shared_load(match)
        settings = tuple(_setting(match, spec, load) for spec in dict.fromkeys(run.spec_digest for run in match))
        for setting in settings:
            rows.append(Row(cells=(_name(setting, t), *_values(setting, load, t), _answer(settings[0], setting, t))))
    titles = map(t, ("run", "payback-preparation", "payback-output", "payback-after"))
    return table("payback-table", t("payback-caption"), titles, rows, {1, 2}, empty=t("runs-none"))


def break_even_s(first: tuple[float, float], second: tuple[float, float]) -> float | None:
    """How long both have to serve until they have put out the same, seconds of load after the longer preparation.

    Args:
        first: preparation in seconds and output in tokens a second.
        second: the same of the other one.

    Returns:
        None when one serves earlier and puts out no less: then there is no such moment.
    """
    (p0, r0), (p1, r1) = sorted((first, second))
    return r0 * (p1 - p0) / (r1 - r0) if p1 > p0 and r1 > r0 else None


def _matches(runs: Runs, reasons: Reasons) -> tuple[Runs, ...]:
    groups: dict[str, list[PublicRun]] = {}
    for run in runs:
        if run.table != "instrument-check" and not refusals(reasons[run.run_id]):
            groups.setdefault("" if run.table == "comparison" else run.match_id, []).append(run)
    return tuple(map(tuple, groups.values()))


def _shared_load(runs: Runs) -> Load | None:
    """The highest load under which every spec of the match has a value; None when there is none."""
    specs = {run.spec_digest for run in runs}

    def everywhere(load: Load) -> bool:
        return {run.spec_digest for run in runs if scalar(level_at(run, load), "output_tok_per_s") is not None} == specs

    return next((load for load in reversed(loads(runs)) if everywhere(load)), None)


def _setting(match: Runs, spec: str, load: Load | None) -> Setting:
    launches = tuple(run for run in match if run.spec_digest == spec)
    seconds = [_seconds(run.preparation) for run in launches]
    known = tuple(value for value in seconds if value is not None)
    rates = (scalar(level_at(run, load), "output_tok_per_s") for run in launches)
    return Setting(
        runs=launches,
        prepared_s=known if len(known) == len(launches) else (),
        rates=tuple(rate for rate in rates if rate is not None),
    )


def _seconds(prepared: PublicPreparation | None) -> float | None:
    """Until the first token; an engine without a build step has none to add."""
    if prepared is None or prepared.startup_s is None:
        return None
    return (prepared.build_took_s or 0.0) + prepared.startup_s + prepared.first_request_s


def _name(setting: Setting, t: Messages) -> Cell:
    first = setting.runs[0]
    links = (link(run) for run in setting.runs)
    return Cell(lines=(Text(text=series_label(first)), *links, badge(first, t)))


def _values(setting: Setting, load: Load | None, t: Messages) -> tuple[Cell, Cell]:
    prepared = missing(t("payback-unseen"))
    if setting.prepared_s:
        first = setting.runs[0].preparation
        built = first is not None and first.build_took_s is not None
        prepared = number(significant(fmean(setting.prepared_s)), None if built else t("no-build-step"))
    if load is None or not setting.rates:
        return prepared, missing(t("payback-no-load"))
    notes = (load_text(load, t), interval_text(setting.rates, significant, t))
    value = Text(text=significant(fmean(setting.rates)))
    return prepared, Cell(lines=(value, *(Text(text=note, style="note") for note in notes)), number=True)


def _answer(base: Setting, setting: Setting, t: Messages) -> Cell:
    if setting is base:
        return words(t("payback-base"))
    counts = {run.preparation_counts for run in (*base.runs, *setting.runs)}
    if counts != {True}:
        return words(t("payback-excluded" if counts == {False} else "payback-undecided"))
    if len({run.preparation.cache_tier for run in (*base.runs, *setting.runs) if run.preparation}) > 1:
        return missing(t("payback-other-tier")).model_copy(update={"number": False})
    if not (base.prepared_s and setting.prepared_s and base.rates and setting.rates):
        return missing(t("missing")).model_copy(update={"number": False})
    if _overlap(base.rates, setting.rates):
        return words(t("payback-overlap"))
    first, second = ((fmean(one.prepared_s), fmean(one.rates)) for one in (base, setting))
    after = break_even_s(first, second)
    if after is None:
        return words(t("payback-nothing", shorter=series_label((base if first[0] <= second[0] else setting).runs[0])))
    longer = setting if second[0] > first[0] else base
    once = min(len(base.rates), len(setting.rates)) == 1
    lines = (Text(text=t("payback-hours", longer=series_label(longer.runs[0]), after=duration(after, t))),)
    return Cell(lines=(*lines, Text(text=t("interval-none"), style="note")) if once else lines)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """True when both outputs have an interval over launches and the two meet: no difference was shown."""
    first, second = interval_over_launches(one), interval_over_launches(other)
    return first is not None and second is not None and first[0] <= second[1] and second[0] <= first[1]
