"""Cells that more than one table uses. A value that is not there is a dash with its reason, never 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lab.match import Kind, Mismatch, own_reasons, refusals
from lab.metrics.stats import interval_over_launches
from lab.publish.evidence import PublicLevel, PublicPreparation, PublicRun
from lab.records import Concern, ConcernCode, EvidenceGrade, Outcome
from lab.report.grid import Cell, Column, Row, Standing, Table, Text, missing, number
from lab.report.messages import Messages
from lab.report.numbers import count, milliseconds, percent, significant
from lab.report.series import series_label

Runs = tuple[PublicRun, ...]
Form = Callable[[float], str]


class Anchors:
    """Gives each run_id its row: the first row on the page that asks gets `run-<run_id>`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, run: PublicRun) -> str | None:
        if run.run_id in self._taken:
            return None
        self._taken.add(run.run_id)
        return f"run-{run.run_id}"


def table(
    id: str,
    caption: str,
    titles: Iterable[str],
    rows: Iterable[Row],
    numbers: Iterable[int] = (),
    *,
    empty: str = "",
    style: str = "rows",
) -> Table:
    """A table whose columns `numbers` are right-aligned."""
    right = set(numbers)
    columns = tuple(Column(title=title, number=place in right) for place, title in enumerate(titles))
    return Table.model_validate(
        {
            "id": id,
            "caption": caption,
            "columns": columns,
            "rows": tuple(rows),
            "empty": empty,
            "style": style,
        }
    )


def standing(runs: Iterable[PublicRun]) -> Standing | None:
    """Whether numbers of these runs are claims; only those of `real-gpu` can be. None: there is no run."""
    grades = {run.grade for run in runs}
    if EvidenceGrade.REAL_GPU in grades:
        return "both" if len(grades) > 1 else "claims"
    if grades == {EvidenceGrade.SYNTHETIC}:
        return "generated"
    return "observations" if grades else None


def stands(table: Table, runs: Iterable[PublicRun]) -> Table:
    """The table, its caption saying what the numbers of these runs may carry."""
    return table.model_copy(update={"standing": standing(runs)})


def link(run: PublicRun) -> Text:
    """The run_id, leading to its evidence card."""
    return Text(text=run.run_id, href=f"card-{run.run_id}")


def badge(run: PublicRun, t: Messages) -> Text:
    """The environment label."""
    return Text(text=t(f"grade-{run.grade.value}"), style="badge", value=run.grade.value)


def run_cell(run: PublicRun, t: Messages) -> Cell:
    """The heading of a row that belongs to one run; one that may stand beside no other says so wherever it stands."""
    alone = refusals(own_reasons(run.side))
    warning = (refused_text(alone, t),) if alone else ()
    return Cell(lines=(link(run), badge(run, t), Text(text=series_label(run)), *warning))


def refused_text(refused: Sequence[Mismatch], t: Messages) -> Text:
    """Not comparable, or not supported where the engine cannot do what the workload needs."""
    unable = all(one.kind is Kind.NOT_SUPPORTED for one in refused)
    return Text(text=t("not-supported" if unable else "not-comparable"), style="missing")


def success_cell(levels: Sequence[PublicLevel], t: Messages) -> Cell:
    """Successes of requests, and what became of the others."""
    requests = sum(level.requests for level in levels)
    if not requests:
        return missing(t("missing-level"))
    good = sum(level.outcomes.get(Outcome.SUCCESS, 0) for level in levels)
    lines = [
        Text(text=f"{count(good)} / {count(requests)}"),
        Text(text=f"{100 * good / requests:.0f} %", style="note"),
    ]
    for outcome in Outcome:
        n = sum(level.outcomes.get(outcome, 0) for level in levels)
        if n and outcome is not Outcome.SUCCESS:
            lines.append(Text(text=f"{t(f'outcome-{outcome.value}')} {count(n)}", style="note"))
    return Cell(lines=tuple(lines), number=True)


def scalar_cell(level: PublicLevel, name: str, t: Messages, note: str | None = None) -> Cell:
    """A rate of a level."""
    value = scalar(level, name)
    return missing(why(level, t, name)) if value is None else number(significant(value), note)


def build_cell(prepared: PublicPreparation, t: Messages, unit: str = "") -> Cell:
    """What the build took; an artefact of an earlier run is shown as reused, an engine without a build says so."""
    seconds = prepared.build_took_s
    if seconds is None:
        return missing(t("no-build-step"))
    reused = prepared.build is not None and prepared.build.reused
    return number(f"{significant(seconds)} {unit}".strip(), t("build-reused") if reused else None)


def quantile_cell(level: PublicLevel, name: str, q: str, t: Messages) -> Cell:
    """A quantile of a level, milliseconds."""
    value = quantile(level, name, q)
    return missing(why(level, t, name)) if value is None else number(milliseconds(value))


def interval_cell(values: Sequence[float | None], form: Form, t: Messages) -> Cell:
    """The interval over launches of one spec; launches without a value do not enter."""
    known = [value for value in values if value is not None]
    if not known:
        return missing(t("missing"))
    interval = interval_over_launches(known)
    if interval is None:
        return Cell(lines=(Text(text=t("interval-none"), style="note"),), number=True)
    low, high = map(form, interval)
    return number(t("interval", low=low, high=high), t("launches", n=str(len(known))))


def interval_text(values: Sequence[float], form: Form, t: Messages) -> str:
    """The 95 % interval over launches, or that one launch has none."""
    interval = interval_over_launches(values)
    if interval is None:
        return t("interval-none")
    low, high = map(form, interval)
    return t("list-separator").join((t("interval", low=low, high=high), t("launches", n=str(len(values)))))


def invalid_cell(level: PublicLevel, t: Messages, span: int = 1) -> Cell:
    """What stands instead of the numbers of a level that must not be read."""
    notes = (Text(text=text, style="note") for text in concern_texts(level, t))
    return Cell(lines=(Text(text=invalid_text(level, t), style="missing"), *notes), colspan=span)


def invalid_text(level: PublicLevel, t: Messages) -> str:
    """Why a level must not be read."""
    late = next((one for one in level.concerns if one.invalidates), None)
    if late is None or late.value is None or late.limit is None:
        return t("invalid-late-bare")
    return t("invalid-late", value=milliseconds(late.value), limit=milliseconds(late.limit))


def concern_texts(level: PublicLevel, t: Messages) -> tuple[str, ...]:
    """The reasons for care that leave a level readable, each with value and limit where they are there."""
    return tuple(_concern(one, t) for one in level.concerns if not one.invalidates)


_CONCERN_FORM: dict[ConcernCode, Form] = {
    ConcernCode.FEW_REQUESTS: count,
    ConcernCode.DRIFT: percent,
    ConcernCode.LENGTHS_DIFFER: percent,
    ConcernCode.NO_USAGE: count,
    ConcernCode.SUMS: count,
    ConcernCode.BEYOND_CERTIFICATE: count,
}
"""How the value and the limit of a concern are printed; the others are factors."""


def _concern(one: Concern, t: Messages) -> str:
    text, form = t(f"concern-{one.code.value}"), _CONCERN_FORM.get(one.code, significant)
    if one.value is None:
        return text
    if one.limit is None or one.code is ConcernCode.NO_USAGE:
        return t("concern-value", concern=text, value=form(one.value))
    return t("concern-value-limit", concern=text, value=form(one.value), limit=form(one.limit))


def why(level: PublicLevel | None, t: Messages, name: str = "") -> str:
    """Why a level has no value for a metric, in words of the catalogue."""
    if level is None:
        return t("missing-level")
    if not level.valid:
        return invalid_text(level, t)
    if level.steady_s is None and name in ("output_tok_per_s", "request_rps", "goodput_rps"):
        return t("missing-steady") if level.concurrency is not None else t("missing-window")
    if not level.outcomes.get(Outcome.SUCCESS, 0):
        return t("missing-success")
    uncounted = any(one.code is ConcernCode.NO_USAGE for one in level.concerns)
    return t("missing-usage") if uncounted and name in _PER_TOKEN else t("missing")


_PER_TOKEN = ("output_tok_per_s", "output_tok_per_s_whole", "tpot_s")
"""Metrics that need the server to count tokens."""


def scalar(level: PublicLevel | None, name: str) -> float | None:
    """A rate of a level; None where there is none or the level must not be read."""
    return level.scalars.get(name) if level is not None and level.valid else None


def quantile(level: PublicLevel | None, name: str, q: str) -> float | None:
    """A quantile of a level, seconds; None where there is none or the level must not be read."""
    summary = level.metrics.get(name) if level is not None and level.valid else None
    return None if summary is None else getattr(summary, q)


def launches_of(run: PublicRun, runs: Runs) -> Runs:
    """The fresh launches of what this run launched, itself among them."""
    return tuple(other for other in runs if other.spec_digest == run.spec_digest)
