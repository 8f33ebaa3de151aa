"""The tables of a report: each function turns evidence into a `Table`, in a fixed order.

Nothing here sorts by result. A value that is not there is a dash with its reason, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean

from lab.publish.evidence import PublicLevel, PublicRun
from lab.records import Outcome
from lab.report.checklist import Answer
from lab.report.grid import Cell, Column, Row, Table, Text, missing, number, words
from lab.report.intervals import launch_interval
from lab.report.messages import Messages, slug
from lab.report.numbers import count, fraction, milliseconds, signed_milliseconds, significant
from lab.report.series import series_label
from lab.roster import ON_TABLE, ROSTER, Entry, find

Runs = tuple[PublicRun, ...]


class Anchors:
    """Gives each run_id its row: the first row on the page that asks gets `run-<run_id>`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, run: PublicRun) -> str | None:
        if run.run_id in self._taken:
            return None
        self._taken.add(run.run_id)
        return f"run-{run.run_id}"


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
    return _table("checklist-table", t("checklist-caption"), titles, rows, style="prose")


# ---------------------------------------------------------------- the comparison table


def comparison_table(runs: Runs, t: Messages) -> Table:
    """The four columns, measured or not; a column without evidence is one cell that says what it needs."""
    measured = {entry.key: tuple(run for run in runs if _stands_in(run, entry)) for entry in ON_TABLE}
    metrics = _metric_rows(tuple(run for column in measured.values() for run in column), t)
    rows = []
    for place, (title, cell_of) in enumerate(metrics):
        cells = [words(title)]
        for entry in ON_TABLE:
            if measured[entry.key]:
                cells.append(_launches(measured[entry.key], cell_of, t))
            elif place == 0:
                cells.append(_unmeasured(entry, len(metrics), t))
        rows.append(Row(cells=tuple(cells)))
    columns = (t("comparison-row"), *(entry.title for entry in ON_TABLE))
    return Table(
        id="comparison-table",
        caption=t("comparison-caption"),
        columns=tuple(Column(title=title) for title in columns),
        rows=tuple(rows),
        style="columns",
    )


Metric = Callable[[PublicRun], "tuple[float | None, Callable[[float], str], str] | Cell"]
"""What a row says about one run: a value with its format and unit, or a finished cell."""


def _metric_rows(runs: Runs, t: Messages) -> list[tuple[str, Metric]]:
    s, ms, tok = t("unit-s"), t("unit-ms"), t("unit-tok-s")
    rungs: list[int | None] = [*sorted({level.concurrency for run in runs for level in run.levels})] or [None]

    def title(key: str, rung: int | None) -> str:
        return t(f"{key}-any") if rung is None else t(key, concurrency=str(rung))

    def build(run: PublicRun) -> tuple[float | None, Callable[[float], str], str] | Cell:
        if run.preparation is not None and run.preparation.build_s is None:
            return missing(t("no-build-step"))
        return run.preparation.build_s if run.preparation else None, significant, s

    def preparation(field: str) -> Metric:
        return lambda run: (getattr(run.preparation, field, None), significant, s)

    def output(rung: int | None) -> Metric:
        return lambda run: (_scalar(_level(run, rung), "output_tok_per_s"), significant, tok)

    def tpot(rung: int | None) -> Metric:
        return lambda run: (_quantile(_level(run, rung), "tpot_s", "p50"), milliseconds, ms)

    def ttft(rung: int | None) -> Metric:
        def pair(run: PublicRun) -> Cell:
            p50, p99 = (_quantile(_level(run, rung), "ttft_s", q) for q in ("p50", "p99"))
            if p50 is None or p99 is None:
                return missing(_why(_level(run, rung), t))
            return number(f"{milliseconds(p50)} / {milliseconds(p99)} {ms}")

        return pair

    rows: list[tuple[str, Metric]] = [
        (t("metric-build"), build),
        (t("metric-startup"), preparation("startup_s")),
        (t("metric-first-request"), preparation("first_request_s")),
    ]
    rows += [(title("metric-output-tok-per-s", rung), output(rung)) for rung in rungs]
    rows += [(title("metric-ttft-p50-p99", rung), ttft(rung)) for rung in rungs]
    rows += [(title("metric-tpot-p50", rung), tpot(rung)) for rung in rungs]
    rows += [
        (t("metric-success"), lambda run: _success_cell(run.levels, t)),
        (t("metric-quality"), lambda run: _quality_cell(run, t)),
        (t("metric-runs"), lambda run: Cell(lines=(_link(run), _badge(run, t)))),
    ]
    return rows


def _launches(runs: Runs, metric: Metric, t: Messages) -> Cell:
    """One engine's cell: launches of one spec are averaged where there is a value, else listed."""
    lines: list[Text] = []
    for spec in dict.fromkeys(run.spec_digest for run in runs):
        launches = tuple(run for run in runs if run.spec_digest == spec)
        found = [metric(run) for run in launches]
        values = [one[0] for one in found if not isinstance(one, Cell)]
        known = [value for value in values if value is not None]
        if len(known) == len(launches) and not isinstance(found[0], Cell):
            _, form, unit = found[0]
            lines.append(Text(text=f"{form(fmean(known))} {unit}"))
            lines.append(Text(text=_interval_text(known, form, t), style="note"))
            continue
        for one in found:
            if isinstance(one, Cell):
                lines.extend(one.lines)
            elif one[0] is None:
                lines.extend(missing(t("missing")).lines)
            else:
                lines.append(Text(text=f"{one[1](one[0])} {one[2]}"))
    return Cell(lines=tuple(lines), number=True)


def _unmeasured(entry: Entry, height: int, t: Messages) -> Cell:
    what = t("needs", what=t(f"engine-{slug(entry.key)}-needs"))
    return Cell(lines=(Text(text=t("not-measured"), style="missing"), Text(text=what, style="note")), rowspan=height)


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
            mind.append(Text(text=f"{t('later-fact')}: {t(f'{key}-later')}", style="note"))
        texts = (entry.title, t(f"{key}-traits"), t(f"{key}-fits"))
        rows.append(Row(cells=(*map(words, texts), Cell(lines=tuple(mind)), words(t(f"{key}-place")))))
    titles = (t("engine"), t("traits"), t("fits"), t("mind"), t("place"))
    return _table("traits", t("traits-caption"), titles, rows, style="prose")


def patterns_table(t: Messages) -> Table:
    """The two patterns, their engines and what a decision looks at."""
    rows = []
    for pattern in ("serve", "build-serve"):
        names = ", ".join(entry.title for entry in ON_TABLE if entry.pattern == pattern)
        rows.append(Row(cells=(words(t(f"pattern-{pattern}")), words(names), words(t(f"pattern-{pattern}-looks")))))
    titles = (t("pattern"), t("engine"), t("pattern-looks"))
    return _table("patterns", t("patterns-caption"), titles, rows, style="prose")


def off_table(seat: str, t: Messages) -> Table:
    """Names that are `off` the table or a `gateway`: the client's reason first, the dated fact second."""
    rows = [
        Row(cells=tuple(words(text) for text in (entry.title, t(f"{key}-reason"), t(f"{key}-fact"))))
        for entry in ROSTER
        if entry.seat == seat
        for key in (f"engine-{slug(entry.key)}",)
    ]
    caption = t("off-caption") if seat == "off" else t("gateways-caption")
    return _table(f"seat-{seat}", caption, (t("off-name"), t("off-reason"), t("off-fact")), rows, style="prose")


# ---------------------------------------------------------------- runs, one row each


def pipeline_table(runs: Runs, t: Messages, anchor: Anchors) -> Table:
    """Runs of the pipeline check with their settings."""
    rows = []
    for run in runs:
        settings = [Text(text=f"{name}={value}", style="code") for name, value in profile_settings(run)]
        if run.not_expressible:
            fields = ", ".join(run.not_expressible)
            settings.append(Text(text=t("not-expressible", fields=fields), style="note"))
        rows.append(
            Row(
                id=anchor(run),
                cells=(
                    _run_cell(run, t),
                    Cell(lines=tuple(settings) or (Text(text=t("settings-default"), style="note"),)),
                    words(run.engine_version) if run.engine_version else missing(t("state-unknown")),
                    words(run.week),
                ),
            )
        )
    titles = (t("run"), t("settings"), t("engine-version"), t("week"))
    return _table("pipeline-table", t("pipeline-caption"), titles, rows, empty=t("runs-none"))


def preparation_table(runs: Runs, t: Messages, anchor: Anchors) -> Table:
    """Preparation of each run; an engine without a build step says so."""
    rows = []
    for run in runs:
        prepared = run.preparation
        if prepared is None:
            cells = (missing(t("no-preparation")),) * 3 + (words("—"),)
        else:
            build = missing(t("no-build-step")) if prepared.build_s is None else number(significant(prepared.build_s))
            cells = (
                build,
                number(significant(prepared.startup_s)),
                number(significant(prepared.first_request_s)),
                words(t(f"cache-{prepared.cache_state}")),
            )
        rows.append(Row(id=anchor(run), cells=(_run_cell(run, t), *cells)))
    keys = ("preparation-build", "preparation-startup", "preparation-first", "preparation-cache")
    titles = (t("run"), *map(t, keys))
    return _table("preparation-table", t("preparation-caption"), titles, rows, {1, 2, 3}, empty=t("runs-none"))


def throughput_table(runs: Runs, t: Messages) -> Table:
    """Output, requests and outcomes of each run at each concurrency, with the interval over launches."""
    rows = []
    for run, level in _levels(runs):
        peers = [_scalar(_level(other, level.concurrency), "output_tok_per_s") for other in _launches_of(run, runs)]
        known = [value for value in peers if value is not None]
        interval = missing(t("missing"))
        if known:
            style = "plain" if len(known) > 1 else "note"
            line = {"text": _interval_text(known, significant, t), "style": style}
            interval = Cell(lines=(Text.model_validate(line),), number=True)
        rows.append(
            Row(
                cells=(
                    _run_cell(run, t),
                    number(count(level.concurrency)),
                    _success_cell((level,), t),
                    _scalar_cell(level, "output_tok_per_s", t),
                    interval,
                    _scalar_cell(level, "request_rps", t),
                )
            )
        )
    titles = (t("run"), *map(t, ("concurrency", "success", "output-tok-s", "interval", "request-rps")))
    return _table("throughput-table", t("throughput-caption"), titles, rows, {1, 2, 3, 4, 5}, empty=t("runs-none"))


def latency_table(runs: Runs, t: Messages) -> Table:
    """Quantiles of TTFT, TPOT and chunk gap of each run at each concurrency."""
    asked = (("ttft_s", ("p50", "p90", "p99")), ("tpot_s", ("p50",)), ("chunk_gap_s", ("p50", "p99")))
    heading = {"ttft_s": "ttft", "tpot_s": "tpot", "chunk_gap_s": "chunk-gap"}
    rows = []
    for run, level in _levels(runs):
        values = tuple(_quantile_cell(level, name, q, t) for name, qs in asked for q in qs)
        low, high = level.prompt_tokens.min, level.prompt_tokens.max
        tokens = missing(_why(level, t))
        if low is not None and high is not None:
            tokens = number(count(low) if low == high else t("range", low=count(low), high=count(high)))
        rows.append(Row(cells=(_run_cell(run, t), number(count(level.concurrency)), *values, tokens)))
    measured = (t(heading[name], q=q) for name, qs in asked for q in qs)
    titles = (t("run"), t("concurrency"), *measured, t("prompt-tokens"))
    return _table("latency-table", t("latency-caption"), titles, rows, set(range(1, 9)), empty=t("runs-none"))


def quality_table(runs: Runs, t: Messages) -> Table:
    """Each task of the suite under its run_id, unscored items with their reasons."""
    rows = []
    for run in runs:
        if run.quality is None:
            reason = t(f"quality-{run.quality_reason or 'not-measured'}")
            rows.append(Row(cells=(_run_cell(run, t), words("—"), missing(reason), *(words("—"),) * 4)))
            continue
        for task in run.quality.tasks:
            unscored = [f"{t(f'unscored-{reason.value}')} {n}" for reason, n in task.unscored.items() if n]
            score = missing(", ".join(unscored)) if task.score is None else number(fraction(task.score), task.metric)
            error = missing(t("missing")) if task.stderr is None else number(fraction(task.stderr))
            counts = (number(count(task.n)), number(count(task.n - sum(task.unscored.values()))))
            notes = words(*unscored) if unscored else words(t("unscored-none"))
            rows.append(Row(cells=(_run_cell(run, t), words(task.task), score, error, *counts, notes)))
    titles = (t("run"), *map(t, ("task", "score", "stderr", "items", "scored", "unscored")))
    return _table("quality-table", t("quality-caption"), titles, rows, {2, 3, 4, 5}, empty=t("runs-none"))


def instrument_table(runs: Runs, t: Messages, anchor: Anchors) -> Table:
    """What the instrument measured against a server that knows its own timing."""
    rows = []
    for run in runs:
        for level in run.instrument:
            cpu = level.client_cpu_s_per_chunk
            cells = (
                number(count(level.concurrency)),
                number(count(level.requests)),
                number(milliseconds(level.ttft_true_s)),
                number(signed_milliseconds(level.ttft_error_s)),
                number(milliseconds(level.chunk_lag_p50_s)),
                number(milliseconds(level.chunk_lag_p99_s)),
                number(count(level.chunks)),
                missing(t("client-cpu-unread")) if cpu is None else number(milliseconds(cpu)),
            )
            rows.append(Row(id=anchor(run), cells=(_run_cell(run, t), *cells)))
    lags = (t("chunk-lag", q="p50"), t("chunk-lag", q="p99"))
    titles = (
        t("run"),
        *map(t, ("concurrency", "requests", "ttft-true", "ttft-error")),
        *lags,
        *map(t, ("chunks", "client-cpu")),
    )
    empty = t("instrument-none")
    return _table("instrument-table", t("instrument-caption"), titles, rows, set(range(1, 9)), empty=empty)


def profile_settings(run: PublicRun) -> tuple[tuple[str, str], ...]:
    """Settings of the launch profile that were not left to the engine."""
    settings = run.profile.model_dump(exclude={"name"}, exclude_none=True)
    return tuple((name, str(value).lower()) for name, value in settings.items())


# ---------------------------------------------------------------- cells


def _table(
    id: str,
    caption: str,
    titles: Iterable[str],
    rows: Iterable[Row],
    numbers: Iterable[int] = (),
    *,
    empty: str = "",
    style: str = "rows",
) -> Table:
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


def _link(run: PublicRun) -> Text:
    return Text(text=run.run_id, href=f"card-{run.run_id}")


def _badge(run: PublicRun, t: Messages) -> Text:
    return Text(text=t(f"grade-{run.grade.value}"), style="badge", value=run.grade.value)


def _run_cell(run: PublicRun, t: Messages) -> Cell:
    return Cell(lines=(_link(run), _badge(run, t), Text(text=series_label(run))))


def _success_cell(levels: tuple[PublicLevel, ...], t: Messages) -> Cell:
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


def _quality_cell(run: PublicRun, t: Messages) -> Cell:
    if run.quality is None:
        return missing(t(f"quality-{run.quality_reason or 'not-measured'}"))
    scores = (f"{one.task} {'—' if one.score is None else fraction(one.score)}" for one in run.quality.tasks)
    return words(*scores)


def _scalar_cell(level: PublicLevel, name: str, t: Messages) -> Cell:
    value = _scalar(level, name)
    if value is None:
        return missing(t("missing-steady") if level.steady_s is None else _why(level, t))
    return number(significant(value))


def _quantile_cell(level: PublicLevel, name: str, q: str, t: Messages) -> Cell:
    value = _quantile(level, name, q)
    return missing(_why(level, t)) if value is None else number(milliseconds(value))


def _interval_text(values: list[float], form: Callable[[float], str], t: Messages) -> str:
    interval = launch_interval(values)
    if interval is None:
        return t("interval-none")
    low, high = interval
    return t("interval-launches", low=form(low), high=form(high), n=str(len(values)))


def _why(level: PublicLevel | None, t: Messages) -> str:
    if level is None:
        return t("missing-level")
    return t("missing") if level.outcomes.get(Outcome.SUCCESS, 0) else t("missing-success")


def _levels(runs: Runs) -> list[tuple[PublicRun, PublicLevel]]:
    return [(run, level) for run in runs for level in run.levels]


def _level(run: PublicRun, concurrency: int | None) -> PublicLevel | None:
    return next((level for level in run.levels if level.concurrency == concurrency), None)


def _scalar(level: PublicLevel | None, name: str) -> float | None:
    return None if level is None else level.scalars.get(name)


def _quantile(level: PublicLevel | None, name: str, q: str) -> float | None:
    summary = None if level is None else level.metrics.get(name)
    return None if summary is None else getattr(summary, q)


def _launches_of(run: PublicRun, runs: Runs) -> Runs:
    return tuple(other for other in runs if other.spec_digest == run.spec_digest)
