"""The handout of a meeting, made for paper: the fixed columns, the cells of the match, then one page per run_id.

Before measuring, the same sheets come from a plan with their cells empty; later weeks fill the same match_id.
Nothing on them needs colour. The digest of each run's private manifest stands at the foot of its page, so that
paper can be matched to evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from statistics import fmean
from typing import Any

from markupsafe import Markup

from lab.explain.flips import Explanation
from lab.match import refusals
from lab.publish.evidence import PublicLevel, PublicRun
from lab.publish.identity import Namer
from lab.records import EvidenceGrade
from lab.report import columns
from lab.report import instrument as gauge
from lab.report.cells import (
    build_cell,
    concern_texts,
    interval_text,
    invalid_text,
    quantile,
    quantile_cell,
    scalar,
    scalar_cell,
    success_cell,
    table,
    why,
)
from lab.report.grid import Cell, Row, Table, Text, missing, number, words
from lab.report.loads import Load, ladder, level_at, levels_of, load_cell, load_text, loads
from lab.report.messages import LANGS, Messages, messages
from lab.report.numbers import count, fraction, milliseconds, significant, week
from lab.report.path import Section, sections
from lab.report.pdf import open_pdf, pdf
from lab.report.reasons import Reasons, mismatch_text, reasons_of
from lab.report.series import engine_title, in_order
from lab.report.tables import profile_settings
from lab.report.templating import template
from lab.report.typeface import face_css
from lab.roster import ON_TABLE, find
from lab.spec import Frozen, LaunchProfile, ModelSpec, Quantization, RunSpec, Sampling, SuiteRef, Workload, digest

Runs = tuple[PublicRun, ...]
Explanations = tuple[Explanation, ...]

WIDTH = 4
"""Columns of cells that fit beside each other on a sheet of A4."""

FEW_TASKS = 8
"""More tasks of a suite than this stand in two columns."""

DENSE = 40
"""Lines of a page above which it is set smaller, so that one run stays on one sheet."""

QUESTIONS = (
    "question-engines",
    "question-model",
    "question-workload",
    "question-label",
    "question-preparation",
    "question-quality",
)
"""The six questions to settle before the match."""


class Sheet(Frozen):
    """The fixed columns of one match, measured or not."""

    match_id: str
    table: str
    models: tuple[ModelSpec, ...]
    quantizations: tuple[Quantization, ...]
    context_limits: tuple[int, ...]
    workloads: tuple[Workload, ...]
    samplings: tuple[Sampling, ...]
    suites: tuple[SuiteRef | None, ...]
    preparation_counts: tuple[bool | None, ...]
    gateways: tuple[str | None, ...]
    columns: tuple[tuple[str, LaunchProfile, str], ...]
    """Engine, launch profile and spec_digest of each column."""
    runs: Runs
    """Empty before anything is measured."""


def sheets_of(runs: Runs) -> tuple[Sheet, ...]:
    """One sheet for each match of these runs."""
    ordered = in_order(runs)
    return tuple(
        _sheet(match_id, tuple(run for run in ordered if run.match_id == match_id), ordered)
        for match_id in dict.fromkeys(run.match_id for run in ordered)
    )


def planned_sheet(match_id: str, specs: Sequence[RunSpec]) -> Sheet:
    """The sheet of a match before it is measured."""
    return _sheet(match_id, specs, ())


def as_published(sheet: Sheet, namer: Namer) -> Sheet:
    """A sheet of a plan under the names that pages use, so that later weeks fill the cells of the same match."""
    model = sheet.models[0]
    changes = {
        "match_id": namer.digest_of(model, sheet.match_id),
        "models": tuple(map(namer.model, sheet.models)),
        "columns": tuple((*head, namer.digest_of(model, digest)) for *head, digest in sheet.columns),
    }
    return sheet.model_copy(update=changes)


def handout_pages(
    sheets: Sequence[Sheet],
    langs: tuple[str, ...] = LANGS,
    *,
    paper: bool = False,
    explanations: Explanations = (),
) -> dict[str, bytes]:
    """The handout in each language.

    Args:
        sheets: from `sheets_of` or `planned_sheet`.
        langs: languages to build.
        paper: True for the page a PDF is made from: foot and label then stand in the margins of every sheet, and
            the typeface holds every character, so that it looks the same on every machine.
        explanations: the paths that these runs answer; the cover then opens with where they lead.

    Returns:
        `<lang>/index.html` and its bytes.
    """
    return {f"{lang}/index.html": _page(sheets, explanations, messages(lang), langs, paper) for lang in langs}


def handout_files(
    sheets: Sequence[Sheet], langs: tuple[str, ...] = LANGS, *, paper: bool, explanations: Explanations = ()
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of a handout, and what the leak gate has to look at besides.

    Args:
        sheets: from `sheets_of` or `planned_sheet`.
        langs: languages to build.
        paper: True makes a PDF of each page as well.
        explanations: as for `handout_pages`.

    Returns:
        Path to bytes; and for each PDF the page it was made from and itself with nothing compressed.

    Raises:
        LabError: a PDF is wanted and cannot be made here.
    """
    found = handout_pages(sheets, langs, explanations=explanations)
    readable: dict[str, bytes] = {}
    if paper:
        for name, page in handout_pages(sheets, langs, paper=True, explanations=explanations).items():
            path = name.replace("index.html", "handout.pdf")
            found[path] = pdf(page)
            readable |= {name: page, path: open_pdf(page)}
    return found, readable


def build_handout(runs: Runs, langs: tuple[str, ...], paper: bool, explanations: Explanations = ()) -> dict[str, bytes]:
    """`handout_files` of measured runs, in one mapping: its two parts below `files/` and `readable/`."""
    return build_sheets(sheets_of(runs), langs, paper, explanations)


def build_sheets(
    sheets: tuple[Sheet, ...], langs: tuple[str, ...], paper: bool, explanations: Explanations = ()
) -> dict[str, bytes]:
    """The same of sheets, measured or not."""
    found, readable = handout_files(sheets, langs, paper=paper, explanations=explanations)
    return {f"files/{name}": data for name, data in found.items()} | {
        f"readable/{name}": data for name, data in readable.items()
    }


def _sheet(match_id: str, of: Sequence[PublicRun | RunSpec], runs: Runs) -> Sheet:
    def each(value_of: Callable[[Any], Any]) -> tuple[Any, ...]:
        found: list[Any] = []
        for one in of:
            if (value := value_of(one)) not in found:
                found.append(value)
        return tuple(found)

    return Sheet(
        match_id=match_id,
        table=of[0].table,
        models=each(lambda one: one.model),
        quantizations=each(lambda one: one.quantization),
        context_limits=each(lambda one: one.context_limit),
        workloads=each(lambda one: one.workload),
        samplings=each(lambda one: one.sampling),
        suites=each(lambda one: one.quality if isinstance(one, RunSpec) else _suite(one)),
        preparation_counts=each(lambda one: one.preparation_counts),
        gateways=each(lambda one: one.gateway),
        columns=each(lambda one: (one.engine, one.profile, one.spec_digest)),
        runs=tuple(run for run in runs if run.match_id == match_id),
    )


def _suite(run: PublicRun) -> SuiteRef | None:
    if run.suite is not None or run.quality is None:
        return run.suite
    return SuiteRef(name=run.quality.suite, version=run.quality.version, sha256=run.quality.suite_sha256)


def _page(
    sheets: Sequence[Sheet], explanations: Explanations, t: Messages, langs: tuple[str, ...], paper: bool
) -> bytes:
    runs = tuple(run for sheet in sheets for run in sheet.runs)
    reasons = reasons_of(runs)
    css = files("lab.report").joinpath("templates", "handout.css").read_text(encoding="utf-8")
    html = template("handout.html.j2").render(
        t=t,
        languages=[messages(lang) for lang in langs],
        css=Markup(css),  # noqa: S704 - the package's own file
        paper=paper,
        title=t("handout-title" if runs else "handout-planned-title"),
        sheets=[_sheet_context(sheet, place, reasons, t) for place, sheet in enumerate(sheets)],
        questions=QUESTIONS,
        paths=[_path_context(one) for one in sections(explanations, t)],
        digest=digest([one.model_dump(mode="json") for one in (*sheets, *explanations)]),
    )
    return html.replace("/*typeface*/", face_css(html, everything=paper), 1).encode()


def _path_context(path: Section) -> dict[str, Any]:
    """A path for paper: its runs lead to their sheets."""
    own = [path.steps, path.flips, *([path.resampled] if path.resampled else ())]
    return {"path": path, "tables": [_to_sheets(one) for one in own]}


def _to_sheets(table: Table) -> Table:
    def led(text: Text) -> Text:
        return text if text.href is None else text.model_copy(update={"href": text.href.replace("card-", "sheet-")})

    rows = tuple(
        row.model_copy(
            update={
                "cells": tuple(cell.model_copy(update={"lines": tuple(map(led, cell.lines))}) for cell in row.cells)
            }
        )
        for row in table.rows
    )
    return table.model_copy(update={"rows": rows})


def _sheet_context(sheet: Sheet, place: int, reasons: Reasons, t: Messages) -> dict[str, Any]:
    grids = [_grid(sheet, heads, f"{place}-{part}", reasons, t) for part, heads in enumerate(_chunks(_heads(sheet)))]
    lines = sum(len(grid.rows) for grid in grids)
    return {
        "sheet": sheet,
        "title": t("handout-match", table=t(f"table-{sheet.table}"), match=sheet.match_id),
        "grades": [grade.value for grade in EvidenceGrade if any(run.grade is grade for run in sheet.runs)],
        "weeks": t("list-separator").join(week(name, t) for name in sorted({run.week for run in sheet.runs})),
        "fixed": fixed_table(sheet, place, t),
        "runs": _runs_table(sheet, place, t) if sheet.runs else None,
        "grids": grids,
        "density": ("filled" if sheet.runs else "open") + (" dense" if lines > DENSE // 2 else ""),
        "pages": [_run_context(run, reasons, t) for run in sheet.runs],
    }


# ---------------------------------------------------------------- the fixed columns


def fixed_table(sheet: Sheet, place: int, t: Messages) -> Table:
    """What was decided before anything was measured; a column that holds more than one value says so."""
    rows = (
        ("column-model", [one.series for one in sheet.models]),
        ("column-revision", [f"{one.revision} · {_weights(one, t)}" for one in sheet.models]),
        (
            "column-quantization",
            [f"{one.weights} / {one.activations} / {one.kv_cache}" for one in sheet.quantizations],
        ),
        ("column-context", [t("value-tokens", count=count(one)) for one in sheet.context_limits]),
        ("column-engine", list(dict.fromkeys(engine_title(engine) for engine, _, _ in sheet.columns))),
        ("column-profile", list(dict.fromkeys(profile.name for _, profile, _ in sheet.columns))),
        ("column-gateway", [one or t("value-no-gateway") for one in sheet.gateways]),
        ("column-workload", [columns.workload_text(one, t) for one in sheet.workloads]),
        ("column-sampling", [", ".join(f"{k}={v:g}" for k, v in one.model_dump().items()) for one in sheet.samplings]),
        ("column-quality", [_suite_text(one, t) for one in sheet.suites]),
        ("column-preparation", [columns.decided(one, t) for one in sheet.preparation_counts]),
        ("column-label", _labels(sheet, t)),
    )
    may_vary = ("column-engine", "column-profile")
    drawn = []
    for key, values in rows:
        lines = [Text(text=value) for value in values] or [Text(text=t("handout-empty"), style="missing")]
        if len(values) > 1 and key not in may_vary:
            lines.append(Text(text=t("value-differs"), style="missing"))
        drawn.append(Row(cells=(words(t(key)), Cell(lines=tuple(lines)))))
    titles = (t("handout-column"), t("handout-value"))
    return table(f"fixed-{place}", t("fixed"), titles, drawn, style="prose")


def _weights(model: ModelSpec, t: Messages) -> str:
    if model.weights_sha256 is not None:
        return model.weights_sha256[:16]
    return t("value-no-weights" if model.weights_format == "none" else "handout-no-digest")


def _suite_text(suite: SuiteRef | None, t: Messages) -> str:
    return t("handout-no-suite") if suite is None else f"{suite.name} {suite.version} · {suite.sha256[:16]}"


def _labels(sheet: Sheet, t: Messages) -> list[str]:
    found = [grade for grade in EvidenceGrade if any(run.grade is grade for run in sheet.runs)]
    return [t(f"grade-{grade.value}") for grade in found] or [t("handout-label-later")]


def _runs_table(sheet: Sheet, place: int, t: Messages) -> Table:
    rows = [
        Row(
            cells=(
                Cell(lines=(Text(text=run.run_id, href=f"sheet-{run.run_id}"),)),
                words(f"{engine_title(run.engine)} · {run.profile.name}"),
                words(run.engine_version or t("state-unknown")),
                words(run.week),
                Cell(lines=(Text(text=t(f"grade-{run.grade.value}"), style="badge", value=run.grade.value),)),
            )
        )
        for run in sheet.runs
    ]
    titles = ("run_id", t("run"), t("engine-version"), t("week"), t("grade"))
    return table(f"runs-{place}", t("handout-runs"), titles, rows)


# ---------------------------------------------------------------- the cells of a match

Head = tuple[str, LaunchProfile | None, str]
"""Engine, profile and spec_digest of a column; without a profile the engine has no run and no plan."""


def _heads(sheet: Sheet) -> list[Head]:
    """The columns in their printed order; the comparison always has its four engines."""
    found: list[Head] = list(sheet.columns)
    if sheet.table != "comparison":
        return found
    heads: list[Head] = []
    for entry in ON_TABLE:
        own = [head for head in found if find(head[0]) == entry]
        heads += own or [(entry.key, None, "")]
    return heads


def _chunks(heads: list[Head]) -> list[list[Head]]:
    return [heads[start : start + WIDTH] for start in range(0, len(heads), WIDTH)]


def _grid(sheet: Sheet, heads: Sequence[Head], id: str, reasons: Reasons, t: Messages) -> Table:
    """One column per launch profile; a cell without a run is empty on purpose, to be filled."""
    launches = {head: tuple(run for run in sheet.runs if run.spec_digest == head[2]) for head in heads}
    standing = {head: tuple(run for run in own if not refusals(reasons[run.run_id])) for head, own in launches.items()}
    every = tuple(run for own in launches.values() for run in own)
    rungs = loads(every) or _planned_loads(sheet)
    values = _grid_rows(rungs, _tasks(every), t)
    rows = []
    for place, (title, form, unit, read) in enumerate(values):
        cells = [words(title)]
        for head in heads:
            if head[1] is None or (launches[head] and not standing[head]):
                if place == 0:
                    lines = _why_no_cell(launches[head], reasons, t)
                    cells.append(Cell(lines=lines, rowspan=len(values)))
            else:
                cells.append(_value(standing[head], form, unit, read, t))
        rows.append(Row(cells=tuple(cells)))
    titles = [t("comparison-row")] + [
        engine_title(engine) if profile is None else f"{engine_title(engine)} · {profile.name}"
        for engine, profile, _ in heads
    ]
    caption = t("handout-cells" if sheet.runs else "handout-cells-empty", match=sheet.match_id)
    return table(f"grid-{id}", caption, titles, rows, style="columns")


Form = Callable[[float], str]
Read = Callable[[PublicRun], float | str]
"""A value of a run, or why it has none."""


def _grid_rows(rungs: Sequence[Load], tasks: Sequence[str], t: Messages) -> list[tuple[str, Form, str, Read]]:
    s, ms, tok = t("unit-s"), t("unit-ms"), t("unit-tok-s")

    def prepared(field: str, absent: str) -> Read:
        def read(run: PublicRun) -> float | str:
            if run.preparation is None:
                return t("no-preparation")
            value: float | None = getattr(run.preparation, field)
            return t(absent) if value is None else value

        return read

    def at(load: Load, name: str, q: str = "") -> Read:
        def read(run: PublicRun) -> float | str:
            level = level_at(run, load)
            value = quantile(level, name, q) if q else scalar(level, name)
            return why(level, t, name) if value is None else value

        return read

    rows: list[tuple[str, Form, str, Read]] = [
        (t("metric-build"), significant, s, prepared("build_took_s", "no-build-step")),
        (t("metric-startup"), significant, s, prepared("startup_s", "startup-not-seen")),
        (t("metric-first-request"), significant, s, prepared("first_request_s", "no-preparation")),
    ]
    for load in rungs:
        text = load_text(load, t)
        rows += [
            (t("metric-output-tok-per-s", load=text), significant, tok, at(load, "output_tok_per_s")),
            (t("metric-ttft", load=text, q="p50"), milliseconds, ms, at(load, "ttft_s", "p50")),
            (t("metric-tpot-p50", load=text), milliseconds, ms, at(load, "tpot_s", "p50")),
        ]
    for task in tasks:
        rows.append((t("handout-quality", task=task), fraction, "", _score(task, t)))
    if not tasks:
        rows.append((t("metric-quality"), fraction, "", _score("", t)))
    return rows


def _score(task: str, t: Messages) -> Read:
    def read(run: PublicRun) -> float | str:
        if run.quality is None:
            return t(f"quality-{run.quality_reason or 'not-measured'}")
        score = next((one.score for one in run.quality.tasks if one.task == task), None)
        return t("missing") if score is None else score

    return read


def _tasks(runs: Runs) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task.task for run in runs if run.quality for task in run.quality.tasks))


def _planned_loads(sheet: Sheet) -> tuple[Load, ...]:
    found = []
    for workload in sheet.workloads:
        for rung in workload.rungs:
            value = rung.concurrency if rung.concurrency is not None else rung.rate_rps
            found.append(Load(arrival=workload.arrival, value=value))
    return tuple(found)


def _value(runs: Runs, form: Form, unit: str, read: Read, t: Messages) -> Cell:
    """The mean over the launches of one cell and its interval; a line to write on where there is no run."""
    if not runs:
        return Cell(lines=(Text(text=t("handout-empty"), style="missing"),))
    found = [read(run) for run in runs]
    known = [value for value in found if not isinstance(value, str)]
    if not known:
        reasons = dict.fromkeys(value for value in found if isinstance(value, str))
        notes = (Text(text=reason, style="note") for reason in reasons)
        return Cell(lines=(Text(text="—", style="missing"), *notes))
    note = interval_text(known, form, t) if len(known) == len(runs) else t("handout-some", n=count(len(known)))
    return Cell(lines=(Text(text=f"{form(fmean(known))} {unit}".strip()), Text(text=note, style="note")))


def _why_no_cell(runs: Runs, reasons: Reasons, t: Messages) -> tuple[Text, ...]:
    if not runs:
        return (Text(text=t("not-measured"), style="missing"),)
    found = _refused(runs, reasons, 3, t)
    return (Text(text=t("not-comparable"), style="missing"), *(Text(text=text, style="note") for text in found))


def _refused(runs: Runs, reasons: Reasons, most: int, t: Messages) -> list[str]:
    """The first reasons why these runs may not stand beside the others, and how many there are beyond."""
    found = list(dict.fromkeys(mismatch_text(one, t) for run in runs for one in refusals(reasons[run.run_id])))
    return found[:most] + ([t("handout-more", n=count(len(found) - most))] if len(found) > most else [])


# ---------------------------------------------------------------- one page per run_id


def _run_context(run: PublicRun, reasons: Reasons, t: Messages) -> dict[str, Any]:
    facts = _facts(run, t)
    tables = tuple(
        filter(None, (_preparation(run, t), _levels(run, t), _quality(run, t), _conditions(run, t), _checks(run, t)))
    )
    lines = sum(len(one.rows) for one in tables) + len(run.levels) + sum(len(value) for _, value in facts) / 90
    return {
        "run_id": run.run_id,
        "title": f"{engine_title(run.engine)} · {run.profile.name}",
        "grade": run.grade.value,
        "reason": run.grade_reason,
        "refused": t("concern-separator").join(_refused((run,), reasons, 4, t)),
        "facts": facts,
        "tables": tables,
        "absent": _absent(run, t),
        "density": "dense" if lines > DENSE else "plain",
        "manifest": run.manifest_sha256,
        "match_id": run.match_id,
        "command": " ".join(run.command),
    }


def _facts(run: PublicRun, t: Messages) -> tuple[tuple[str, str], ...]:
    settings = t("list-separator").join(f"{name}={value}" for name, value in profile_settings(run))
    found = (
        (t("column-model"), f"{run.model.series} {run.model.revision}"),
        (t("column-quantization"), columns.quantization(run)),
        (t("column-context"), t("value-tokens", count=count(run.context_limit))),
        (t("engine-version"), run.engine_version or t("state-unknown")),
        (t("card-profile"), f"{run.profile.name}: {settings or t('settings-default')}"),
        (
            t("column-workload"),
            f"{run.workload.name}: {t('load', arrival=run.workload.arrival, ladder=ladder(run.workload))}",
        ),
        (t("card-machine"), columns.hardware(run.machine, t)),
        (t("certificate"), gauge.certificate_text(run, t)),
        (t("week"), run.week),
        (t("card-spec"), run.spec_digest),
        *(((t("card-key"), run.pseudonym_key),) if run.pseudonym_key else ()),
    )
    return (*found, (t("card-weights"), run.model.weights_sha256)) if run.model.weights_sha256 else found


def _absent(run: PublicRun, t: Messages) -> list[str]:
    """What this page would hold and nobody recorded."""
    parts = (
        (run.preparation, "no-preparation"),
        (run.levels, "handout-no-levels"),
        (run.settings, "handout-no-conditions"),
        (run.checks, "handout-no-checks"),
    )
    return [t(key) for there, key in parts if not there]


def _preparation(run: PublicRun, t: Messages) -> Table | None:
    prepared = run.preparation
    if prepared is None:
        return None
    startup = missing(t("startup-not-seen")) if prepared.startup_s is None else number(significant(prepared.startup_s))
    cells = (
        build_cell(prepared, t),
        startup,
        number(significant(prepared.first_request_s)),
        words(t(f"cache-{prepared.cache_state}")),
        words(columns.decided(run.preparation_counts, t)),
    )
    keys = ("handout-build", "handout-startup", "handout-first", "preparation-cache", "handout-counts")
    titles = [t(key) for key in keys]
    return table(f"preparation-{run.run_id}", t("preparation"), titles, (Row(cells=cells),), {0, 1, 2})


def _levels(run: PublicRun, t: Messages) -> Table | None:
    if not run.levels:
        return None
    rows = []
    for _, level, load in levels_of((run,)):
        if level.valid:
            rows.append(Row(cells=(load_cell(load, t), *_level_cells(level, t))))
        else:
            why = Cell(lines=(Text(text=invalid_text(level, t), style="missing"),), colspan=7)
            rows.append(Row(cells=(load_cell(load, t), why)))
        care = concern_texts(level, t) if level.valid else ()
        if care:
            text = t("concerns", concerns=t("concern-separator").join(care))
            rows.append(Row(cells=(Cell(lines=(Text(text=text, style="note"),), colspan=8),), continued=True))
    titles = (
        t("load-title"),
        t("success"),
        t("handout-output"),
        t("handout-requests"),
        t("ttft", q="p50"),
        t("ttft", q="p99"),
        t("tpot", q="p50"),
        t("chunk-gap", q="p99"),
    )
    return table(f"levels-{run.run_id}", t("handout-levels"), titles, rows, range(8))


def _level_cells(level: PublicLevel, t: Messages) -> tuple[Cell, ...]:
    return (
        success_cell((level,), t),
        scalar_cell(level, "output_tok_per_s", t),
        scalar_cell(level, "request_rps", t),
        quantile_cell(level, "ttft_s", "p50", t),
        quantile_cell(level, "ttft_s", "p99", t),
        quantile_cell(level, "tpot_s", "p50", t),
        quantile_cell(level, "chunk_gap_s", "p99", t),
    )


def _quality(run: PublicRun, t: Messages) -> Table:
    titles = (t("task"), t("score"), t("scored"), t("unscored"))
    if run.quality is None:
        reason = Text(text=t(f"quality-{run.quality_reason or 'not-measured'}"), style="missing")
        rows = [Row(cells=(words("—"), Cell(lines=(reason,), colspan=3)))]
        return table(f"quality-{run.run_id}", t("quality-caption"), titles, rows)
    cells = []
    for task in run.quality.tasks:
        unscored = [f"{t(f'unscored-{reason.value}')} {n}" for reason, n in task.unscored.items() if n]
        error = t("handout-no-error") if task.stderr is None else f"± {fraction(task.stderr)}"
        score = missing(t("missing")) if task.score is None else number(f"{fraction(task.score)} {error}")
        scored = number(f"{count(task.n - sum(task.unscored.values()))} / {count(task.n)}")
        cells.append((words(task.task), score, scored, words(", ".join(unscored) or t("unscored-none"))))
    beside = 2 if len(cells) > FEW_TASKS else 1
    caption = t("handout-quality-caption", suite=f"{run.quality.suite} {run.quality.version}")
    right = [one for part in range(beside) for one in (4 * part + 1, 4 * part + 2)]
    return table(f"quality-{run.run_id}", caption, titles * beside, _beside(cells, beside), right)


def _conditions(run: PublicRun, t: Messages) -> Table | None:
    """The conditions, two to a row; what the engine did not show says so."""
    if not run.settings:
        return None
    effective = {one.condition: one.value for one in run.effective}
    cells = [
        (
            words(t(f"condition-{one.condition.value}")),
            words(t("left-to-engine") if one.wanted is None else _word(one.wanted)),
            words(_word(effective[one.condition]) if one.condition in effective else t("not-exposed")),
        )
        for one in run.settings
    ]
    titles = [t(key) for key in ("condition", "condition-wanted", "handout-read-back")] * 2
    return table(f"conditions-{run.run_id}", t("handout-conditions"), titles, _beside(cells, 2))


def _beside(cells: Sequence[tuple[Cell, ...]], columns: int) -> list[Row]:
    """Entries of equal width in so many columns, read downwards; what is left over stays blank."""
    height = -(-len(cells) // columns)
    blank = (words(""),) * len(cells[0])
    padded = [*cells, *(blank for _ in range(height * columns - len(cells)))]
    return [
        Row(cells=tuple(cell for column in range(columns) for cell in padded[column * height + place]))
        for place in range(height)
    ]


def _checks(run: PublicRun, t: Messages) -> Table | None:
    """The checks of preflight by their result."""
    if not run.checks:
        return None
    rows = []
    for result in ("fail", "not-exposed", "pass"):
        names = [t(f"probe-{check.name.value}") for check in run.checks if check.result == result]
        if names:
            rows.append(Row(cells=(words(t(f"probe-result-{result}")), words(t("list-separator").join(names)))))
    return table(f"checks-{run.run_id}", t("handout-checks"), (t("probe-result"), t("probe")), rows, style="prose")


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
