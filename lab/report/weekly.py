"""Pages around the reports of a week: what an edition has to tell, and the index over all editions.

Public facts in, pages out, like `lab.report.build`. The front page opens with the answer of each match and what was
fixed before it; numbers of a run stand in the report of its match, and here where a path rests on them or they moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from lab.explain.flips import Explanation
from lab.publish.archive import Edition, path_of
from lab.publish.cells import FRESH_LAUNCHES, CellState, LeftOut, PublicCell, PublicMatch
from lab.publish.changes import SPEED, CellName, ChangedValue, News
from lab.publish.decisions import histories
from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.report.build import FIRST_CAVEATS, caveats_of, unwalked
from lab.report.cells import Form, table
from lab.report.columns import FixedColumn, fixed_columns, subjects
from lab.report.grid import Cell, Row, Table, Text, number, words
from lab.report.history import edition_text, end_text, history_tables, path_moved, path_words
from lab.report.loads import Load, load_text
from lab.report.messages import LANGS, Messages, messages
from lab.report.numbers import count, fraction, milliseconds, significant
from lab.report.numbers import week as week_days
from lab.report.path import Answer, answer_of
from lab.report.reasons import reasons_of
from lab.report.series import engine_title, in_order
from lab.report.templating import template
from lab.report.told import Part, Told
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
    LeftOut.CLOCK: "weekly-left-clock",
    LeftOut.OTHER: "weekly-left-other",
}

LIMITS = ("weekly-limit-cells", "weekly-limit-noise")
CHANCE = "weekly-limit-chance"


Runs = tuple[PublicRun, ...]
Paths = dict[str, tuple[Explanation, ...]]
"""match_id → the paths of the workloads that it answers."""


def front_pages(
    edition: Edition, runs: Runs = (), paths: Paths | None = None, langs: tuple[str, ...] = LANGS
) -> dict[str, bytes]:
    """The front page of an edition in each language; the reports of its matches are beside it.

    Args:
        edition: what it has to tell.
        runs: the runs of all its matches.
        paths: the paths that were walked with them.
        langs: languages to build.
    """
    return {
        f"{lang}/index.html": render("weekly.html.j2", _front(edition, runs, paths or {}, messages(lang), langs))
        for lang in langs
    }


def told_of(edition: Edition, match_id: str, t: Messages) -> Told:
    """What the report of one match is told of the weeks before."""
    own = tuple(one for one in edition.history if one.match_id == match_id)
    withdrawn = tuple(one for one in edition.withdrawn if one.cell.match_id == match_id)
    tables = (*history_tables(own, t), *((_withdrawn_table(edition, t, match_id),) if withdrawn else ()))
    return Told(
        changes=tuple(changes_words(edition, t, match_id)),
        history=Part(lines=(t("history-note") if own else t("history-no-path"),), tables=tables),
    )


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
    told = histories([one.spoken for one in reversed(editions)])
    pages = {
        f"{lang}/index.html": render(
            "archive.html.j2",
            {
                "t": messages(lang),
                "languages": languages,
                "weeks": _weeks(editions, withdrawn, messages(lang)),
                "histories": history_tables(told, messages(lang), links=True),
            },
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


def render(name: str, context: dict[str, Any]) -> bytes:
    """A finished page: the package's style and the glyphs it needs are inside."""
    css = files("lab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    html = template(name).render(css=Markup(css), **context)  # noqa: S704 - the package's own file
    return html.replace("/*typeface*/", face_css(html), 1).encode()


def _front(edition: Edition, runs: Runs, paths: Paths, t: Messages, langs: tuple[str, ...]) -> dict[str, Any]:
    compared = len(edition.news.changed) + edition.news.within
    graded = {cell.grade for match in edition.matches for cell in match.cells}
    of_match = {match.match_id: in_order(tuple(run for run in runs if run.match_id == match.match_id))
                for match in edition.matches}  # fmt: skip
    caveats = dict.fromkeys(said for own in of_match.values() if own for said in caveats_of(own, reasons_of(own), t))
    return {
        "t": t,
        "languages": [messages(lang) for lang in langs],
        "edition": edition,
        "week": week_days(edition.week, t),
        "grades": [grade.value for grade in EvidenceGrade if grade in graded],
        "correction": correction_words(edition, t),
        "news": changes_words(edition, t),
        "caveats": list(caveats)[:FIRST_CAVEATS] or [t("caveat-nothing")],
        "changed": _changed_table(edition.news, t) if edition.news.changed else None,
        "matches": [
            {
                "match": match,
                "title": _match_title(match, t),
                "answers": _answers(paths.get(match.match_id, ()), of_match[match.match_id], t),
                "columns": _columns(match, of_match[match.match_id], t),
                "walked": bool(paths.get(match.match_id)),
                "cells": _cells_table(match, t),
                "report": _has(match),
            }
            for match in edition.matches
        ],
        "histories": history_tables(edition.history, t),
        "withdrawn": _withdrawn_table(edition, t) if edition.withdrawn else None,
        "limits": [*map(t, LIMITS), *([t(CHANCE, n=count(compared))] if compared else ())],
    }


def _columns(match: PublicMatch, runs: Runs, t: Messages) -> tuple[FixedColumn, ...]:
    """The fixed columns of a match; an engine without a published cell is named too. Empty: nothing is set side by
    side here."""
    if not subjects(runs):
        return ()
    there = {run.engine for run in runs}
    others = dict.fromkeys(cell.engine for cell in match.cells if cell.engine not in there)
    lacking = tuple(t("weekly-not-published", engine=engine_title(engine)) for engine in others)
    return tuple(
        one.model_copy(update={"values": one.values + lacking}) if one.title == t("column-engine") else one
        for one in fixed_columns(runs, t)
    )


def _answers(paths: tuple[Explanation, ...], runs: Runs, t: Messages) -> list[Answer]:
    """The answer of each path; where none was walked, what is there and what is not."""
    if paths:
        return [answer_of(one, t) for one in paths]
    return [Answer(lead="", rest=unwalked(runs, t), instead=t("weekly-no-facts"))]


def changes_words(edition: Edition, t: Messages, match_id: str | None = None) -> list[str]:
    """What changed since the edition before, paths first, a sentence each; a week without news says so.

    Args:
        edition: the edition.
        t: catalogue.
        match_id: only what is about this match; None: everything.
    """
    said = path_words(edition, t, match_id)
    if match_id is not None and edition.news.since is not None and match_id not in edition.match_news:
        return [*said, t("weekly-match-new", since=edition_text(edition.news.since, t))]
    found = edition.news if match_id is None else edition.match_news.get(match_id, edition.news)
    news = news_words(found, t, moved=path_moved(edition, match_id))
    reasons = {one.run_id: getattr(one.reason, t.lang) for one in edition.withdrawn}
    if match_id is not None:
        news += [_moved_text(one, found, t) for one in found.changed]
    news += [t("weekly-withdrawn-why", run=run_id, reason=reasons[run_id]) for run_id in found.withdrawn
             if run_id in reasons and not any(run_id in sentence for sentence in said)]  # fmt: skip
    return [*said, *news]


def news_words(found: News, t: Messages, *, moved: bool = False) -> list[str]:
    """What changed in the evidence, a sentence each; a week without news says so.

    Args:
        found: the news.
        t: catalogue.
        moved: True when a path changed, so that the week is not without news.
    """
    if found.since is None:
        return [t("weekly-first")]
    since = edition_text(found.since, t)
    said = [t("weekly-quiet", since=since)] if found.quiet and not moved else []
    said += [t("weekly-new", cell=cell_text(one, t)) for one in found.new]
    for gone in found.gone:
        state = t("weekly-state-left") if gone.state is None else t(_STATES[gone.state])
        said.append(t("weekly-gone", cell=cell_text(gone.cell, t), state=state, why=_left_text(gone.left_out, t)))
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
    if found.within or found.changed:
        said.append(t("weekly-within", n=count(found.within)))
    if found.same:
        said.append(t("weekly-same", n=count(found.same)))
    if found.incomparable:
        said.append(t("weekly-incomparable", n=count(found.incomparable)))
    return said


def correction_words(edition: Edition, t: Messages) -> list[str]:
    """Why this revision was made; nothing for the first one."""
    found = edition.correction
    if found is None:
        return []
    said = [getattr(found.said, t.lang)] if found.said else []
    separator = t("list-separator")
    if found.added:
        said.append(t("weekly-correction-added", runs=separator.join(found.added)))
    if found.removed:
        said.append(t("weekly-correction-removed", runs=separator.join(found.removed)))
    said += [
        t("weekly-withdrawn-why", run=one.run_id, reason=getattr(one.reason, t.lang))
        for one in edition.withdrawn
        if one.run_id in found.removed
    ]
    if found.paths:
        said.append(t("weekly-correction-paths", workloads=separator.join(found.paths)))
    return said or [t("weekly-correction-other")]


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
                    words(*_beside_lines(one, found, t)),
                )
            )
        )
    keys = ("run", "weekly-value", "load-title", "weekly-before", "weekly-after", "weekly-difference",
            "weekly-beside")  # fmt: skip
    return table("changed-values", t("weekly-changed-caption"), map(t, keys), rows, {3, 4, 5})


def _beside_lines(one: ChangedValue, found: News, t: Messages) -> list[str]:
    """Start and quality of the same cell: a speed is never told without them."""
    own = next((beside for beside in found.beside if beside.cell == one.cell), None)
    if one.metric not in SPEED or own is None:
        return ["—"]
    return [
        t("weekly-beside-start", how=t(f"beside-{own.startup}")),
        t("weekly-beside-quality", how=t(f"beside-{own.quality}")),
    ]


def _moved_text(one: ChangedValue, found: News, t: Messages) -> str:
    """One value that moved, with what stands beside it."""
    key, form = _METRICS[one.metric]
    beside = _beside_lines(one, found, t)
    said = t(
        "weekly-moved",
        what=f"{engine_title(one.cell.engine)} · {one.cell.profile}{t('list-separator')}{t(key, task=one.task or '')}",
        load=_load_of(one, t),
        before=form(one.before),
        after=form(one.after),
        low=_signed(one.low, form),
        high=_signed(one.high, form),
    )
    more = () if beside == ["—"] else tuple(f"{line}{t('sentence-end')}" for line in beside)
    return t("sentence-separator").join((said, *more))


def _signed(value: float, form: Form) -> str:
    return ("+" if value > 0 else "−" if value < 0 else "") + form(abs(value))


def _load_of(one: ChangedValue, t: Messages) -> str:
    if one.concurrency is not None:
        return load_text(Load(arrival="closed", value=one.concurrency), t)
    return load_text(Load(arrival="rate", value=one.rate_rps), t) if one.rate_rps is not None else "—"


def _withdrawn_table(edition: Edition, t: Messages, match_id: str | None = None) -> Table:
    rows = [
        Row(
            cells=(
                Cell(lines=(Text(text=one.run_id, style="code"),)),
                words(cell_text(one.cell, t)),
                words(getattr(one.reason, t.lang)),
            )
        )
        for one in edition.withdrawn
        if match_id in (None, one.cell.match_id)
    ]
    titles = ("run_id", t("run"), t("weekly-reason"))
    return table("withdrawn-runs", t("weekly-withdrawn-caption"), titles, rows, style="prose")


def _weeks(editions: Iterable[Edition], withdrawn: frozenset[str], t: Messages) -> list[dict[str, Any]]:
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
                "paths": [
                    t("weekly-archive-path", workload=one.workload, end=end_text(one.end, t))
                    for one in edition.decisions
                ],
            }
        )
    return [{"week": week, "days": week_days(week, t), "revisions": revisions} for week, revisions in weeks.items()]


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
