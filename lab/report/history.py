"""Decisions so far in words: the path then, the path now, and what it was that changed.

Everything here comes from what editions published (`lab.publish.decisions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.publish.archive import Edition
from lab.publish.changes import EditionName
from lab.publish.decisions import Change, DecisionEntry, DecisionHistory, PublicAnswer, PublicEnd
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, words
from lab.report.messages import Messages
from lab.report.numbers import day, week
from lab.report.path import engine_name, number_text, question_of, unit_text


def history_tables(found: Sequence[DecisionHistory], t: Messages, links: bool = False) -> tuple[Table, ...]:
    """One table for each workload, the newest decision first.

    Args:
        found: what editions said, from `lab.publish.decisions.histories`.
        t: catalogue.
        links: True where the page has a row `edition-<week>-r<N>` for each edition.
    """
    return tuple(_table(one, place, t, links) for place, one in enumerate(found, 1))


def path_words(edition: Edition, t: Messages, match_id: str | None = None) -> list[str]:
    """What became of each path in this edition, a sentence each.

    Args:
        edition: the edition.
        t: catalogue.
        match_id: only the workloads that this match answers; None: all.
    """
    return [
        _sentence(edition, one, t)
        for one in edition.history
        if match_id in (None, one.match_id) and edition.name in (one.entries[-1].edition, one.entries[-1].until)
    ]


def path_moved(edition: Edition, match_id: str | None = None) -> bool:
    """True when this edition says of a path what the one before did not."""
    return any(
        one.entries[-1].edition == edition.name and len(one.entries) > 1
        for one in edition.history
        if match_id in (None, one.match_id)
    )


def end_text(end: PublicEnd, t: Messages) -> str:
    """Where a path leads, as part of a sentence."""
    engine = engine_name(end.engine, t) if end.engine else ""
    if end.kind != "stopped":
        return t(f"end-{end.kind}", engine=engine)
    question = "" if end.question is None else getattr(end.question, t.lang)
    return t("end-stopped-gate", engine=engine, question=question) if engine else t("end-stopped", question=question)


def edition_text(name: EditionName, t: Messages) -> str:
    """`2026-W49, revision 1`."""
    return t("weekly-edition-name", week=name.week, revision=str(name.revision))


def _sentence(edition: Edition, history: DecisionHistory, t: Messages) -> str:
    entry, workload = history.entries[-1], history.workload
    if entry.end is None:
        return t("decided-gone", workload=workload)
    end = end_text(entry.end, t)
    if entry.edition != edition.name:
        return t("decided-same", workload=workload, end=end, since=edition_text(entry.edition, t))
    if entry.before is None:
        return t("decided-first", workload=workload, end=end)
    why = t("sentence-separator").join(change_text(one, t) for one in entry.changes if one.decisive or not entry.moved)
    before, since = end_text(entry.before, t), history.entries[-2].until or history.entries[-2].edition
    key = "decided-moved" if entry.moved else "decided-stays"
    return t(key, workload=workload, before=before, end=end, since=edition_text(since, t), why=why)


def _table(history: DecisionHistory, place: int, t: Messages, links: bool) -> Table:
    rows = [Row(cells=tuple(_cells(entry, t, links))) for entry in reversed(history.entries)]
    titles = map(t, ("history-edition", "history-path", "history-why", "history-review"))
    caption = t("history-caption", workload=history.workload)
    return table(f"history-{place}", caption, titles, rows, style="prose")


def _cells(entry: DecisionEntry, t: Messages, links: bool) -> Iterator[Cell]:
    name = entry.edition
    title = Text(text=edition_text(name, t))
    if links:
        title = title.model_copy(update={"href": f"edition-{name.week}-r{name.revision}"})
    lines = [title, Text(text=week(name.week, t), style="note")]
    if entry.until is not None:
        lines.append(Text(text=t("history-until", edition=edition_text(entry.until, t)), style="note"))
    yield Cell(lines=tuple(lines))
    yield Cell(lines=tuple(_path_lines(entry, t)))
    yield words(*(_reasons(entry, t) or ["—"]))
    yield words("—" if entry.review_by is None else day(entry.review_by, t))


def _path_lines(entry: DecisionEntry, t: Messages) -> Iterator[Text]:
    now = t("history-gone") if entry.end is None else t("history-now", end=end_text(entry.end, t))
    if entry.before is not None and (entry.moved or entry.end is None):
        yield Text(text=t("history-then", end=end_text(entry.before, t)))
        yield Text(text=now)
    else:
        yield Text(text=now)
        if entry.before is not None:
            yield Text(text=t("history-as-before"), style="note")
    if entry.generated:
        yield Text(text=t("history-generated"), style="note")


def _reasons(entry: DecisionEntry, t: Messages) -> list[str]:
    if entry.end is None:
        return []
    if entry.before is None:
        file = f"{entry.decision} {entry.decision_digest}"
        return [t("history-first", file=file)]
    said = [change_text(one, t) for one in entry.changes]
    return [t("history-turn", change=said[0]), *said[1:]] if entry.moved else said


def change_text(one: Change, t: Messages) -> str:
    """One reason, in a sentence."""
    match one.kind:
        case "withdrawn":
            return t(
                "history-withdrawn", run=one.run_id or "", reason="" if one.why is None else getattr(one.why, t.lang)
            )
        case "beyond":
            return t("history-beyond")
        case "tree" | "match":
            was, now = ((side or "").replace(":", " ") for side in (one.was, one.now))
            return t(f"history-{one.kind}", before=was, after=now)
        case "restated":
            return t("history-restated", before=day(one.was or "", t), after=day(one.now or "", t))
    assert one.after is not None
    question = question_of(getattr(one.after.question, t.lang), one.after.engine, t)
    if one.before is None:
        return t("history-closed", question=question, now=_answer(one.after, t))
    say = _asked if one.kind == "threshold" else _answer
    return t(f"history-{one.kind}", question=question, before=say(one.before, t), after=say(one.after, t))


def _asked(one: PublicAnswer, t: Messages) -> str:
    """`at least 50 %`; a question of yes or no asks for yes."""
    limit = one.at_most if one.at_least is None else one.at_least
    if limit is None:
        return t("reply-yes")
    return t("at-most" if one.at_least is None else "at-least", value=unit_text(number_text(limit), one.unit, t))


def _answer(one: PublicAnswer, t: Messages) -> str:
    """The number with its interval, and the answer that follows from it; or why there is none."""
    reply = t(f"reply-{one.answer}")
    if one.why is not None:
        prefix = "why-not" if one.answer == "not-applicable" else "why"
        why = t(f"{prefix}-{one.why}", engine=engine_name(one.missing or one.engine, t))
        return t("history-reply-why", reply=reply, why=why)
    if one.flag is not None:
        return reply
    if one.value is None:
        return t("history-reply-why", reply=reply, why=t("never-pays"))
    value = unit_text(number_text(one.value), one.unit, t)
    if one.low is not None and one.high is not None:
        value = t("value-interval", value=value, low=number_text(one.low), high=number_text(one.high))
    return t("history-reply", value=value, reply=reply)
