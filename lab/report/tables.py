"""The tables of a report: each function turns evidence into a `Table`, in a fixed order.

Nothing here sorts by result. A value that is not there is a dash with its reason, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from lab.match import refusals
from lab.publish.evidence import PublicRun, PublicTask
from lab.quality.coverage import is_low
from lab.records import EvidenceGrade, Lane, LaunchTally
from lab.report.ceilings import no_ceiling, share_at
from lab.report.cells import (
    Anchors,
    Form,
    badge,
    build_cell,
    interval_text,
    link,
    quantile,
    run_cell,
    scalar,
    success_cell,
    table,
    why,
)
from lab.report.checklist import Answer
from lab.report.grid import Cell, Column, Row, Table, Text, missing, number, words
from lab.report.loads import Load, level_at, load_text, loads, slo_text
from lab.report.messages import Messages, slug
from lab.report.numbers import count, fraction, milliseconds, points, significant
from lab.report.reasons import Footnotes, Reasons, beside_cell, refused_lines
from lab.roster import ON_TABLE, ROSTER, Entry, find
from lab.spec import Slo

Runs = tuple[PublicRun, ...]

ENDED_BY_ITSELF = frozenset({"stop", "eos_token", "stop_sequence"})
"""Finish reasons that need no remark."""


# ---------------------------------------------------------------- the checklist


def checklist_table(answers: tuple[Answer, ...], t: Messages) -> Table:
    """The six questions with their answers, what decided each, and the runs that were looked at."""
    rows = []
    for one in answers:
        reply = Text(text=t(f"answer-{one.answer}"), style="reply", value=one.answer)
        links = tuple(Text(text=run_id, href=f"card-{run_id}") for run_id in one.run_ids)
        rows.append(
            Row(
                cells=(
                    words(t(f"question-{one.question}")),
                    Cell(lines=(reply,)),
                    words(t(one.message, **one.args)),
                    Cell(lines=links or (Text(text=t("no-evidence"), style="missing"),)),
                )
            )
        )
    titles = map(t, ("checklist-question", "checklist-answer", "checklist-why", "checklist-evidence"))
    return table("checklist-table", t("checklist-caption"), titles, rows, style="prose")


# ---------------------------------------------------------------- the comparison table


def four_columns(runs: Runs) -> tuple[Entry, ...]:
    """The columns of the comparison: the four engines on the table, or on a generated page the four that stand in."""
    compared = tuple(run for run in runs if run.table == "comparison")
    stand_ins = tuple(entry for entry in ROSTER if entry.seat == "synthetic")
    generated = all(run.grade is EvidenceGrade.SYNTHETIC and find(run.engine) in stand_ins for run in compared)
    return stand_ins if compared and generated else ON_TABLE


def comparison_table(runs: Runs, reasons: Reasons, t: Messages) -> Table:
    """The four columns, measured or not; a column without evidence is one cell that says what it needs.

    A column of which no run may stand beside the others is one cell too, with the reasons; single runs that may not
    are left out of their column and named below it.
    """
    columns = four_columns(runs)
    there = {entry.key: tuple(run for run in runs if _stands_in(run, entry)) for entry in columns}
    measured = {key: tuple(run for run in column if not refusals(reasons[run.run_id])) for key, column in there.items()}
    metrics = _metric_rows(tuple(run for column in measured.values() for run in column), t)
    rows = []
    for place, (title, cell_of) in enumerate(metrics):
        cells = [words(title)]
        for entry in columns:
            if measured[entry.key]:
                cell = _launches(measured[entry.key], cell_of, t)
                if place == len(metrics) - 1:
                    cell = _with_refused(cell, there[entry.key], reasons, t)
                cells.append(cell)
            elif place == 0 and there[entry.key]:
                cells.append(_refused(there[entry.key], len(metrics), reasons, t))
            elif place == 0:
                cells.append(_unmeasured(entry, len(metrics), t))
        rows.append(Row(cells=tuple(cells)))
    footnotes = Footnotes(t)
    headings = [Column(title=t("comparison-row"))]
    for entry in columns:
        said = [one for run in measured[entry.key] for one in reasons[run.run_id]]
        headings.append(Column(title=entry.title, note=footnotes(said)))
    return Table(
        id="comparison-table",
        caption=t("comparison-caption"),
        columns=tuple(headings),
        rows=tuple(rows),
        style="columns",
        footnotes=footnotes.texts,
    )


Said = tuple[float | None, Form, str] | Cell
"""What a row says about one run: a value with its format and unit, or a finished cell."""
Metric = Callable[[PublicRun], Said]


def _metric_rows(runs: Runs, t: Messages) -> list[tuple[str, Metric]]:
    s, ms, tok, rps = t("unit-s"), t("unit-ms"), t("unit-tok-s"), t("unit-req-s")
    rungs: list[Load | None] = [*loads(runs)] or [None]
    promised = tuple(dict.fromkeys(run.workload.slo for run in runs if run.workload.slo is not None))

    def title(key: str, load: Load | None, **args: str) -> str:
        return t(f"{key}-any", **args) if load is None else t(key, load=load_text(load, t), **args)

    def build(run: PublicRun) -> Said:
        if run.preparation is not None and run.preparation.build_s is None:
            return build_cell(run.preparation, t, s)  # nothing was built by this run
        return run.preparation.build_s if run.preparation else None, significant, s

    def preparation(field: str) -> Metric:
        return lambda run: (getattr(run.preparation, field, None), significant, s)

    def at(load: Load | None, name: str, q: str, form: Form, unit: str) -> Metric:
        """One value at one load: a quantile where `q` names one, else a rate."""

        def value(run: PublicRun) -> Said:
            level = level_at(run, load)
            found = quantile(level, name, q) if q else scalar(level, name)
            return missing(why(level, t, name)) if found is None else (found, form, unit)

        return value

    def goodput(load: Load | None, slo: Slo) -> Metric:
        known = at(load, "goodput_rps", "", significant, rps)
        return lambda run: known(run) if run.workload.slo == slo else missing(t("goodput-other-slo"))

    excluded = bool(runs) and all(run.preparation_counts is False for run in runs)

    def prepared(key: str) -> str:
        return t("metric-excluded", metric=t(key)) if excluded else t(key)

    def ceiling(load: Load | None) -> Metric:
        def value(run: PublicRun) -> Said:
            share = share_at(run, load)
            if share is not None:
                return 100 * share, significant, t("unit-percent")
            reason = run.ceilings is None or run.ceilings.reason is not None
            return missing(t("ceiling-none", why=no_ceiling(run.ceilings, t)) if reason else t("missing"))

        return value

    rows: list[tuple[str, Metric]] = [
        (prepared("metric-build"), build),
        (prepared("metric-startup"), preparation("startup_s")),
        (prepared("metric-first-request"), preparation("first_request_s")),
    ]
    rows += [
        (title("metric-output-tok-per-s", rung), at(rung, "output_tok_per_s", "", significant, tok)) for rung in rungs
    ]
    if any(run.ceilings is not None for run in runs):
        rows += [(title("metric-ceiling", rung), ceiling(rung)) for rung in rungs]
    for slo in promised:
        name = slo_text(slo, t)
        rows += [(title("metric-goodput", rung, slo=name), goodput(rung, slo)) for rung in rungs]
    for rung in rungs:
        rows += [(title("metric-ttft", rung, q=q), at(rung, "ttft_s", q, milliseconds, ms)) for q in ("p50", "p99")]
    rows += [(title("metric-tpot-p50", rung), at(rung, "tpot_s", "p50", milliseconds, ms)) for rung in rungs]
    rows += [
        (t("metric-success"), lambda run: _successes(run, t)),
        (t("metric-quality"), lambda run: _quality_cell(run, t)),
        (t("metric-runs"), lambda run: Cell(lines=(link(run), badge(run, t)))),
    ]
    return rows


def _launches(runs: Runs, metric: Metric, t: Messages) -> Cell:
    """One engine's cell: launches of one spec are averaged where there is a value, else listed."""
    lines: list[Text] = []
    for spec in dict.fromkeys(run.spec_digest for run in runs):
        launches = tuple(run for run in runs if run.spec_digest == spec)
        found = [metric(run) for run in launches]
        if found[0] == missing(t("no-build-step")):  # of the engine, not of a launch
            lines.extend(missing(t("no-build-step")).lines)
            continue
        values = [one[0] for one in found if not isinstance(one, Cell)]
        known = [value for value in values if value is not None]
        if len(known) == len(launches) and not isinstance(found[0], Cell):
            _, form, unit = found[0]
            lines.append(Text(text=f"{form(fmean(known))} {unit}"))
            lines.append(Text(text=interval_text(known, form, t), style="note"))
            continue
        for one in found:
            if isinstance(one, Cell):
                lines.extend(one.lines)
            elif one[0] is None:
                lines.extend(missing(t("missing")).lines)
            else:
                lines.append(Text(text=f"{one[1](one[0])} {one[2]}"))
    return Cell(lines=tuple(lines), number=True)


def _successes(run: PublicRun, t: Messages) -> Cell:
    """Successes over the levels that may be read, and how many were left out."""
    valid = tuple(level for level in run.levels if level.valid)
    left = len(run.levels) - len(valid)
    if not left:
        return success_cell(valid, t)
    cell = success_cell(valid, t) if valid else Cell(lines=(Text(text="—", style="missing"),), number=True)
    note = Text(text=t("levels-invalid", n=count(left)), style="note")
    return Cell(lines=(*cell.lines, note), number=True)


def _unmeasured(entry: Entry, height: int, t: Messages) -> Cell:
    absent = Text(text=t("not-measured"), style="missing")
    if entry.seat == "synthetic":
        return Cell(lines=(absent,), rowspan=height)
    what = t("needs", what=t(f"engine-{slug(entry.key)}-needs"))
    return Cell(lines=(absent, Text(text=what, style="note")), rowspan=height)


def _refused(runs: Runs, height: int, reasons: Reasons, t: Messages) -> Cell:
    """A column that may not stand beside the others."""
    return Cell(lines=_refused_once(runs, reasons, t), rowspan=height)


def _refused_once(runs: Runs, reasons: Reasons, t: Messages) -> tuple[Text, ...]:
    """Runs that are refused, those with the same reasons together."""
    groups: dict[tuple[Text, ...], list[PublicRun]] = {}
    for run in runs:
        groups.setdefault(refused_lines(reasons[run.run_id], t), []).append(run)
    return tuple(
        line for why_not, those in groups.items() for line in (*map(link, those), badge(those[0], t), *why_not)
    )


def _with_refused(cell: Cell, runs: Runs, reasons: Reasons, t: Messages) -> Cell:
    """The last cell of a column, and the runs that were left out of it."""
    out = tuple(run for run in runs if refusals(reasons[run.run_id]))
    return Cell(lines=(*cell.lines, *_refused_once(out, reasons, t)))


def _stands_in(run: PublicRun, entry: Entry) -> bool:
    return run.table == "comparison" and find(run.engine) == entry


# ---------------------------------------------------------------- the client's two tables


def traits_table(t: Messages) -> Table:
    """Traits of the four engines as the client wrote them, later facts beside with their dates."""
    rows = []
    for entry in ON_TABLE:
        key = f"engine-{slug(entry.key)}"
        mind = [Text(text=t(f"{key}-mind"))]
        if t.has(f"{key}-later"):
            mind.append(Text(text=t("later-fact", fact=t(f"{key}-later")), style="note"))
        texts = (entry.title, t(f"{key}-traits"), t(f"{key}-fits"))
        rows.append(Row(cells=(*map(words, texts), Cell(lines=tuple(mind)), words(t(f"{key}-place")))))
    titles = (t("engine"), t("traits"), t("fits"), t("mind"), t("place"))
    return table("traits", t("traits-caption"), titles, rows, style="prose")


def patterns_table(t: Messages) -> Table:
    """The two patterns, their engines and what a decision looks at."""
    rows = []
    for pattern in ("serve", "build-serve"):
        names = ", ".join(entry.title for entry in ON_TABLE if entry.pattern == pattern)
        rows.append(Row(cells=(words(t(f"pattern-{pattern}")), words(names), words(t(f"pattern-{pattern}-looks")))))
    titles = (t("pattern"), t("engine"), t("pattern-looks"))
    return table("patterns", t("patterns-caption"), titles, rows, style="prose")


def off_table(seat: str, t: Messages) -> Table:
    """Names that are `off` the table or a `gateway`: the client's reason first, the dated fact second."""
    rows = [
        Row(cells=tuple(words(text) for text in (entry.title, t(f"{key}-reason"), t(f"{key}-fact"))))
        for entry in ROSTER
        if entry.seat == seat
        for key in (f"engine-{slug(entry.key)}",)
    ]
    caption = t("off-caption") if seat == "off" else t("gateways-caption")
    return table(f"seat-{seat}", caption, (t("off-name"), t("off-reason"), t("off-fact")), rows, style="prose")


# ---------------------------------------------------------------- runs, one row each


def pipeline_table(runs: Runs, reasons: Reasons, t: Messages, anchor: Anchors) -> Table:
    """Runs of the pipeline check with their settings, and whether they may be read against each other."""
    rows, footnotes = [], Footnotes(t)
    for run in runs:
        settings = [Text(text=f"{name}={value}", style="code") for name, value in profile_settings(run)]
        if run.not_expressible:
            fields = ", ".join(run.not_expressible)
            settings.append(Text(text=t("not-expressible", fields=fields), style="note"))
        rows.append(
            Row(
                id=anchor(run),
                cells=(
                    run_cell(run, t),
                    Cell(lines=tuple(settings) or (Text(text=t("settings-default"), style="note"),)),
                    words(run.engine_version) if run.engine_version else missing(t("state-unknown")),
                    words(run.week),
                    beside_cell(reasons[run.run_id], footnotes, t),
                ),
            )
        )
    titles = (t("run"), t("settings"), t("engine-version"), t("week"), t("side-by-side"))
    found = table("pipeline-table", t("pipeline-caption"), titles, rows, empty=t("runs-none"))
    return found.model_copy(update={"footnotes": footnotes.texts})


def _launch_tally(launches: LaunchTally | None, t: Messages) -> Cell:
    if launches is None:
        return words("—")
    started = t("launches-started", successes=count(launches.successes), attempts=count(launches.attempts))
    low, middle, high = launches.startup_min_s, launches.startup_median_s, launches.startup_max_s
    if launches.successes < 2 or low is None or middle is None or high is None:
        return words(started, t("launches-no-spread"))
    return words(
        started, t("launches-spread", low=significant(low), median=significant(middle), high=significant(high))
    )


def preparation_table(runs: Runs, t: Messages, anchor: Anchors) -> Table:
    """Preparation of each run; an engine without a build step says so."""
    rows = []
    for run in runs:
        prepared = run.preparation
        if prepared is None:
            cells = (missing(t("no-preparation")),) * 3 + (words("—"),) * 2
        else:
            seen = prepared.startup_s
            cells = (
                build_cell(prepared, t),
                missing(t("startup-not-seen")) if seen is None else number(significant(seen)),
                number(significant(prepared.first_request_s)),
                words(t(f"cache-{prepared.cache_state}"), t(f"tier-{prepared.cache_tier}")),
                _launch_tally(prepared.launches, t),
            )
        rows.append(Row(id=anchor(run), cells=(run_cell(run, t), *cells)))
    keys = (
        "preparation-build",
        "preparation-startup",
        "preparation-first",
        "preparation-cache",
        "preparation-launches",
    )
    titles = (t("run"), *map(t, keys))
    return table("preparation-table", t("preparation-caption"), titles, rows, {1, 2, 3}, empty=t("runs-none"))


def quality_table(runs: Runs, t: Messages) -> Table:
    """Each task of the suite under its run_id, unscored items with their reasons."""
    rows = []
    for run in runs:
        if run.quality is None:
            reason = t(f"quality-{run.quality_reason or 'not-measured'}")
            rows.append(Row(cells=(run_cell(run, t), words("—"), missing(reason), *(words("—"),) * 5)))
            continue
        for task in run.quality.tasks:
            unscored = [f"{t(f'unscored-{reason.value}')} {n}" for reason, n in task.unscored.items() if n]
            why_none = t(f"lack-{task.lack.value}") if task.lack else ", ".join(unscored)
            score = missing(why_none) if task.score is None else number(fraction(task.score), task.metric)
            error = missing(t("missing")) if task.stderr is None else number(fraction(task.stderr))
            lost = sum(task.unscored.values())
            counts = (number(count(task.n)), number(count(task.n - lost)))
            low = t("coverage-low") if is_low(task.n, lost) else None
            covered = number(t("coverage-share", share=points((task.n - lost) / task.n)), low)
            cells = (words(task.task), score, error, *counts, covered, _unscored_cell(task, unscored, t))
            rows.append(Row(cells=(run_cell(run, t), *cells)))
    titles = (t("run"), *map(t, ("task", "score", "stderr", "items", "scored", "coverage", "unscored")))
    return table("quality-table", t("quality-caption"), titles, rows, {2, 3, 4, 5, 6}, empty=t("runs-none"))


def _unscored_cell(task: PublicTask, unscored: Sequence[str], t: Messages) -> Cell:
    """Items without a score by reason; how answers ended, where some did not end by themselves."""
    lines = [Text(text=text) for text in unscored] or [Text(text=t("unscored-none"))]
    written = task.lane is not Lane.TOKENS  # for a likelihood, the one token that is made is no answer
    if written and task.finish_reasons.keys() - ENDED_BY_ITSELF:
        ended = t("list-separator").join(f"{word} {count(n)}" for word, n in sorted(task.finish_reasons.items()))
        lines.append(Text(text=t("finish-reasons", reasons=ended), style="note"))
    return Cell(lines=tuple(lines))


def profile_settings(run: PublicRun) -> tuple[tuple[str, str], ...]:
    """Settings of the launch profile that were not left to the engine."""
    settings = run.profile.model_dump(exclude={"name"}, exclude_defaults=True)
    return tuple((name, str(value).lower()) for name, value in settings.items())


def _quality_cell(run: PublicRun, t: Messages) -> Cell:
    if run.quality is None:
        return missing(t(f"quality-{run.quality_reason or 'not-measured'}"))
    scores = (f"{one.task} {'—' if one.score is None else fraction(one.score)}" for one in run.quality.tasks)
    return words(*scores)
