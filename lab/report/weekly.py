"""Pages around the reports of a week: what an edition has to tell, and the index over all editions.

Public facts in, pages out, like `lab.report.build`; numbers of a run stand in the report of its match only, and
here where they moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lab.publish.archive import Correction, Edition, path_of
from lab.publish.cells import FRESH_LAUNCHES, CellState, LeftOut, PublicCell, PublicMatch
from lab.publish.changes import CellName, ChangedValue, EditionName, News
from lab.records import EvidenceGrade
from lab.report.cells import Form, table
from lab.report.grid import Cell, Row, Table, Text, number, words
from lab.report.loads import Load, load_text
from lab.report.messages import LANGS, Messages, messages
from lab.report.numbers import count, fraction, milliseconds, significant
from lab.report.series import engine_title
from lab.report.typeface import face_css

_METRICS: dict[str, tuple[str, Form]] = {
    "output_tok_per_s": ("weekly-metric-output", significant),
    "goodput_rps": ("weekly-metric-goodput", significant),
    "ttft_s": ("weekly-metric-ttft", milliseconds),
    "tpot_s": ("weekly-metric-tpot", milliseconds),
    "startup_s": ("weekly-metric-startup", significant),
    "score": ("weekly-metric-score", fraction),
}
"""What a value is called, unit in the name, and how it is printed."""

_STATES = {
    CellState.PLANNED: "weekly-state-planned",
    CellState.MEASURED: "weekly-state-measured",
    CellState.RE_MEASURED: "weekly-state-re-measured",
    CellState.PUBLISHED: "weekly-state-published",
}

_LEFT_OUT = {
    LeftOut.NOT_MEASURED: "weekly-left-not-measured",
    LeftOut.DAMAGED: "weekly-left-damaged",
    LeftOut.WITHDRAWN: "weekly-left-withdrawn",
    LeftOut.OTHER: "weekly-left-other",
}

LIMITS = ("weekly-limit-cells", "weekly-limit-noise")
CHANCE = "weekly-limit-chance"


def front_pages(edition: Edition, langs: tuple[str, ...] = LANGS) -> dict[str, bytes]:
    """The front page of an edition in each language; the reports of its matches are beside it."""
    return {f"{lang}/index.html": render("weekly.html.j2", _front(edition, messages(lang), langs)) for lang in langs}


def archive_pages(
    editions: tuple[Edition, ...], withdrawn: frozenset[str], langs: tuple[str, ...] = LANGS
) -> dict[str, bytes]:
    """The index of all editions in each language, and the pages that point to the newest.

    Args:
        editions: newest week first, newest revision first within a week.
        withdrawn: every run_id that has been withdrawn.
        langs: languages to build.
    """
    languages = [messages(lang) for lang in langs]
    pages = {
        f"{lang}/index.html": render(
            "archive.html.j2", {"t": messages(lang), "languages": languages, "weeks": _weeks(editions, withdrawn)}
        )
        for lang in langs
    }
    by_week: dict[str, list[Edition]] = {}
    for edition in editions:
        by_week.setdefault(edition.week, []).append(edition)
    for week, revisions in by_week.items():
        pages[f"{week}/index.html"] = _pointer(languages, "", [f"r{one.revision}" for one in revisions], week)
    if editions:
        newest = editions[0]
        pages["latest/index.html"] = _pointer(languages, "../", [path_of(newest.name)], newest.week)
        pages["index.html"] = _pointer(languages, "", [path_of(newest.name)], newest.week, archive=True)
    return pages


def render(template: str, context: dict[str, Any]) -> bytes:
    """A finished page: the package's style and the glyphs it needs are inside."""
    css = files("lab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    html = _environment().get_template(template).render(css=Markup(css), **context)  # noqa: S704 - the package's own file
    return html.replace("/*typeface*/", face_css(html), 1).encode()


@cache
def _environment() -> Environment:
    """Templates, compiled once: there is a page for each week of the archive."""
    return Environment(
        loader=PackageLoader("lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _front(edition: Edition, t: Messages, langs: tuple[str, ...]) -> dict[str, Any]:
    compared = len(edition.news.changed) + edition.news.within
    graded = {cell.grade for match in edition.matches for cell in match.cells}
    return {
        "t": t,
        "languages": [messages(lang) for lang in langs],
        "edition": edition,
        "grades": [grade.value for grade in EvidenceGrade if grade in graded],
        "correction": correction_words(edition.correction, t) if edition.correction else [],
        "news": news_words(edition.news, t),
        "changed": _changed_table(edition.news, t) if edition.news.changed else None,
        "matches": [
            {"match": match, "title": _match_title(match, t), "cells": _cells_table(match, t), "report": _has(match)}
            for match in edition.matches
        ],
        "withdrawn": _withdrawn_table(edition, t) if edition.withdrawn else None,
        "limits": [*map(t, LIMITS), *([t(CHANCE, n=count(compared))] if compared else ())],
    }


def news_words(found: News, t: Messages) -> list[str]:
    """What changed, a sentence each; a week without news says so."""
    if found.since is None:
        return [t("weekly-first")]
    since = edition_text(found.since, t)
    said = [t("weekly-quiet", since=since)] if found.quiet else []
    said += [t("weekly-new", cell=cell_text(one, t)) for one in found.new]
    for gone in found.gone:
        state = t("weekly-state-left") if gone.state is None else t(_STATES[gone.state])
        said.append(t("weekly-gone", cell=cell_text(gone.cell, t), state=state, why=_left_text(gone.left_out, t)))
    said += [t("weekly-withdrawn-run", run=run_id) for run_id in found.withdrawn]
    said += [
        t(
            "weekly-version",
            cell=cell_text(one.cell, t),
            before=one.before or t("state-unknown"),
            after=one.after or t("state-unknown"),
        )
        for one in found.versions
    ]
    if found.changed:
        said.append(t("weekly-changed", n=count(len(found.changed)), since=since))
    said.append(t("weekly-within", n=count(found.within)))
    if found.same:
        said.append(t("weekly-same", n=count(found.same)))
    if found.incomparable:
        said.append(t("weekly-incomparable", n=count(found.incomparable)))
    return said


def correction_words(found: Correction, t: Messages) -> list[str]:
    """Why this revision was made."""
    said = [getattr(found.said, t.lang)] if found.said else []
    separator = t("list-separator")
    if found.added:
        said.append(t("weekly-correction-added", runs=separator.join(found.added)))
    if found.removed:
        said.append(t("weekly-correction-removed", runs=separator.join(found.removed)))
    return said or [t("weekly-correction-other")]


def edition_text(name: EditionName, t: Messages) -> str:
    """`2026-W49, revision 1`."""
    return t("weekly-edition-name", week=name.week, revision=str(name.revision))


def cell_text(cell: CellName, t: Messages) -> str:
    """Engine and launch profile, and the match it belongs to."""
    return t("weekly-cell", engine=engine_title(cell.engine), profile=cell.profile, match=cell.match_id)


def _match_title(match: PublicMatch, t: Messages) -> str:
    known = t(f"table-{match.table}") if match.table else t("weekly-no-table")
    return t("weekly-match", plan=match.plan or match.match_id, table=known)


def _has(match: PublicMatch) -> bool:
    return any(cell.run_ids for cell in match.cells)


def _cells_table(match: PublicMatch, t: Messages) -> Table:
    rows = []
    for cell in match.cells:
        name = words(f"{engine_title(cell.engine)} · {cell.profile.name}")
        label = Text(text="—", style="missing")
        if cell.grade is not None:
            label = Text(text=t(f"grade-{cell.grade.value}"), style="badge", value=cell.grade.value)
        launches = number(t("weekly-launches", n=count(cell.launches), needed=count(FRESH_LAUNCHES)))
        runs = tuple(Text(text=run_id, style="code") for run_id in cell.run_ids)
        rows.append(
            Row(cells=(name, words(t(_STATES[cell.state])), launches, Cell(lines=(label,)), _missing(cell, runs, t)))
        )
    titles = map(t, ("run", "weekly-state", "weekly-launches-title", "grade", "weekly-missing"))
    caption = t("weekly-cells", match=match.match_id)
    return table(f"cells-{match.match_id}", caption, titles, rows, {2}, empty=t("weekly-no-cells"), style="prose")


def _missing(cell: PublicCell, runs: tuple[Text, ...], t: Messages) -> Cell:
    """What a cell lacks, or the runs that stand in it; what was left out of it either way."""
    lines = list(runs)
    if cell.state is CellState.RE_MEASURED:
        lines.append(Text(text=t("weekly-needs-projection")))
    elif cell.attached and cell.state is CellState.MEASURED:
        lines.append(Text(text=t("weekly-needs-launch")))
    elif cell.launches < FRESH_LAUNCHES:
        lines.append(Text(text=t("weekly-needs-launches", n=count(FRESH_LAUNCHES - cell.launches))))
    if cell.left_out:
        lines.append(Text(text=_left_text(cell.left_out, t), style="note"))
    return Cell(lines=tuple(lines))


def _left_text(left_out: dict[LeftOut, int], t: Messages) -> str:
    if not left_out:
        return t("weekly-left-none")
    parts = [t(_LEFT_OUT[reason], n=count(left_out[reason])) for reason in LeftOut if reason in left_out]
    return t("weekly-left", reasons=t("list-separator").join(parts))


def _changed_table(found: News, t: Messages) -> Table:
    rows = []
    for one in found.changed:
        key, form = _METRICS[one.metric]
        interval = t("interval", low=_signed(one.low, form), high=_signed(one.high, form))
        rows.append(
            Row(
                cells=(
                    words(cell_text(one.cell, t)),
                    words(t(key, task=one.task or "")),
                    words(_load_of(one, t)),
                    number(form(one.before)),
                    number(form(one.after)),
                    number(interval),
                )
            )
        )
    keys = ("run", "weekly-value", "load-title", "weekly-before", "weekly-after", "weekly-difference")
    return table("changed-values", t("weekly-changed-caption"), map(t, keys), rows, {3, 4, 5})


def _signed(value: float, form: Form) -> str:
    return ("+" if value > 0 else "−" if value < 0 else "") + form(abs(value))


def _load_of(one: ChangedValue, t: Messages) -> str:
    if one.concurrency is not None:
        return load_text(Load(arrival="closed", value=one.concurrency), t)
    return load_text(Load(arrival="rate", value=one.rate_rps), t) if one.rate_rps is not None else "—"


def _withdrawn_table(edition: Edition, t: Messages) -> Table:
    rows = [
        Row(
            cells=(
                Cell(lines=(Text(text=one.run_id, style="code"),)),
                words(cell_text(one.cell, t)),
                words(getattr(one.reason, t.lang)),
            )
        )
        for one in edition.withdrawn
    ]
    titles = ("run_id", t("run"), t("weekly-reason"))
    return table("withdrawn-runs", t("weekly-withdrawn-caption"), titles, rows, style="prose")


def _weeks(editions: Iterable[Edition], withdrawn: frozenset[str]) -> list[dict[str, Any]]:
    weeks: dict[str, list[dict[str, Any]]] = {}
    for edition in editions:
        cells = [cell for match in edition.matches for cell in match.cells]
        revisions = weeks.setdefault(edition.week, [])
        revisions.append(
            {
                "edition": edition,
                "path": path_of(edition.name),
                "newest": not revisions,
                "published": count(sum(cell.state is CellState.PUBLISHED for cell in cells)),
                "cells": count(len(cells)),
                "withdrawn": [run_id for run_id in edition.run_ids if run_id in withdrawn],
                "shown": [one.run_id for one in edition.withdrawn],
            }
        )
    return [{"week": week, "revisions": revisions} for week, revisions in weeks.items()]


def _pointer(languages: list[Messages], up: str, targets: list[str], week: str, archive: bool = False) -> bytes:
    """A page in every language at once that leads to editions, the newest first."""
    return render(
        "pointer.html.j2",
        {
            "languages": languages,
            "t": languages[0],
            "week": week,
            "targets": [f"{up}{target}" for target in targets],
            "archive": "" if archive else "../",
        },
    )
