"""The path through the decision in words: the answer's sentence, the questions one by one, what would change the end.

`lab.explain` decides nothing here any more; this turns its data into sentences of the catalogue and of the team's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from lab.errors import ParamsError
from lab.explain.claims import Absent, Claim, Interval, MetricName, NotApplicable
from lab.explain.decision import DECISION, VALUE, Decision, Question, read_decision
from lab.explain.facts import Overruled, Stated, TeamFacts, read_facts
from lab.explain.flips import BreakEven, Explanation, Flip, Resampled
from lab.explain.merging import merge
from lab.explain.path import Ahead, End, Evidence, Step
from lab.explain.path import Path as Walked
from lab.params import shown
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, missing, words
from lab.report.messages import Messages, slug
from lab.report.numbers import count, day, percent, significant
from lab.report.series import engine_title
from lab.report.traffic import span
from lab.report.words import ranking_words
from lab.roster import find
from lab.spec import Frozen

Explanations = tuple[Explanation, ...]

_UNITS = {
    "%": "unit-percent",
    "h": "unit-h",
    "s": "unit-s",
    "points": "unit-loss-points",
    "tok/s": "unit-tok-s",
    "req/s": "unit-req-s",
    "requests in flight": "unit-in-flight",
}
"""Units the catalogue has a word for; any other is printed as the team wrote it."""

_SIGNED: tuple[MetricName, ...] = ("throughput_gain",)


class Answer(Frozen):
    """One paragraph of the first screen: where the path leads, and why."""

    lead: str
    rest: str
    instead: str = ""
    """What it would take to lead elsewhere."""
    until: str = ""
    """Whose path it is, and when it is looked at again."""


class Section(Frozen):
    """What the page prints of one workload."""

    workload: str
    answer: Answer
    about: str
    """Whose decision, whose facts, since when, until when."""
    notes: tuple[str, ...]
    steps: Table
    flips: Table
    flips_note: str
    resampled: Table | None
    break_evens: Table | None


def check_words(decision: Decision, where: str) -> None:
    """Refuse a decision whose own texts rank: they would be printed.

    Raises:
        ParamsError: every text that ranks, with its place.
    """
    found = [
        f"{where}: {place} ranks ({', '.join(ranking)}); say what holds, not which comes first"
        for place, both in decision.texts()
        if (ranking := ranking_words(f"{both.en} {both.ja}"))
    ]
    if found:
        raise ParamsError("\n".join(found), f"edit {where}")


def read_rules(facts: Sequence[Path], decision: Path | None = None) -> tuple[Decision, TeamFacts]:
    """A decision and the facts that it is walked with.

    Args:
        facts: the facts file of the team, and what was counted in its traffic; at least one.
        decision: the decision file; None: the one of params/decision/.

    Raises:
        ParamsError: one of them says something that could not be walked or printed.
    """
    file = decision or DECISION
    rules = read_decision(file)
    check_words(rules, shown(file))
    return rules, merge([(shown(one), read_facts(one, rules)) for one in facts], rules)


def path_json(explanations: Explanations) -> dict[str, bytes]:
    """The paths as data beside the evidence; nothing where none was walked."""
    if not explanations:
        return {}
    return {"evidence/path.json": TypeAdapter(Explanations).dump_json(explanations, indent=1) + b"\n"}


def sections(explanations: Explanations, t: Messages) -> tuple[Section, ...]:
    """One section for each workload."""
    return tuple(_section(one, place, t) for place, one in enumerate(explanations, 1))


def _section(one: Explanation, place: int, t: Messages) -> Section:
    path = one.path
    return Section(
        workload=path.workload,
        answer=answer_of(one, t),
        about=about(path, t),
        notes=tuple(_notes(path, t)),
        steps=_steps_table(path, place, t),
        flips=_flips_table(one, place, t),
        flips_note=t("flips-unmoved", n=one.unmoved),
        resampled=_resampled_table(one.resampled, place, t) if one.resampled else None,
        break_evens=_break_even_table(one.break_evens, place, t) if one.break_evens else None,
    )


# ---------------------------------------------------------------- the sentence


def answer_of(one: Explanation, t: Messages) -> Answer:
    """The answer in one conditional sentence, what it rests on, and what it would take to lead elsewhere."""
    path, end = one.path, one.path.end
    if end.kind in ("engine", "off-table"):
        lead = t(f"path-{end.kind}", engine=engine_name(end.engine, t))
    elif end.kind == "closed":
        lead = t("path-closed", engine=engine_name(end.engine, t))
    elif end.engine is not None:
        lead = t("path-stopped-gate", engine=engine_name(end.engine, t))
    else:
        lead = t("path-stopped")
    parts = (*_grounds(path, t), *_why_it_ends(path, t))
    return Answer(
        lead=lead,
        rest=t("path-lead-end") + t("sentence-separator").join(parts),
        instead=t("sentence-separator").join(_instead(one, t)),
        until=t("path-of", workload=path.workload, day=day(path.review_by, t)),
    )


def _grounds(path: Walked, t: Messages) -> Iterator[str]:
    """What the path rests on: the questions answered yes, and every number; else all that were answered."""
    nodes = [step for step in path.steps if step.part == "node" and step.clause is not None]
    telling = [step for step in nodes if step.answer == "yes" or step.asked.threshold is not None] or nodes
    if telling:
        clauses = t("clause-separator").join(_clause(step, t) for step in telling)
        yield t("path-grounds", clauses=clauses)
    for step in path.steps:
        own = step.part == "gate" and step.engine == path.end.engine
        if own and step.answer == "yes" and isinstance(step.evidence, Claim):
            claim = step.evidence
            if claim.metric in ("quality_loss", "preparation_s"):
                gained = claim.metric == "quality_loss" and claim.value is not None and claim.value < 0
                key = "path-preparation" if claim.metric == "preparation_s" else "path-quality"
                yield t(
                    "path-quality-kept" if gained else key,
                    value=value_text(step.asked, _turned(claim) if gained else claim, t),
                    asked=threshold_text(step.asked, t),
                    against=engine_name(claim.against, t) if claim.against else "",
                )


def _turned(claim: Claim) -> Claim:
    """A loss below zero, said as the gain it is."""
    interval = claim.interval and Interval(low=_negative(claim.interval.high), high=_negative(claim.interval.low))
    return claim.model_copy(update={"value": _negative(claim.value), "interval": interval})


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _clause(step: Step, t: Messages) -> str:
    assert step.clause is not None
    return _filled(step.clause.text(t.lang), step.asked, step.evidence, t)


def _filled(clause: str, asked: Question, evidence: Evidence, t: Messages) -> str:
    text = clause.replace(VALUE, value_text(asked, evidence, t))
    return text if asked.threshold is None else t("clause-asked", clause=text, asked=threshold_text(asked, t))


def _why_it_ends(path: Walked, t: Messages) -> Iterator[str]:
    end = path.end
    closed = [step for step in path.steps if step.closed is not None]
    for step in closed:
        assert step.closed is not None
        yield t("path-branch-closed", engine=engine_name(step.engine, t), reason=_closing(step, t))
    for step in path.steps:
        if step.either:
            yield t("path-either-open", question=step.asked.question.text(t.lang), why=_open(step, t))
    if end.kind == "off-table" and end.engine is not None:
        key = f"engine-{slug(end.engine)}"
        for text in (t(f"{key}-reason"), t(f"{key}-fact")):
            yield text.removesuffix(t("sentence-end")) + t("sentence-end")
    if end.kind == "stopped":
        step = next(one for one in path.steps if one.at == end.at)
        yield t("path-open", question=step.asked.question.text(t.lang), why=_open(step, t))
        for ahead in step.ahead:
            yield t(f"path-ahead-{ahead.branch}", end=end_text(ahead.leads_to, t))
        yield t("path-next", what=_next(step, t))


def _closing(step: Step, t: Messages) -> str:
    """The reason of the decision file, with the number that closed the branch where there is one."""
    assert step.closed is not None
    reason = step.closed.text(t.lang)
    if step.asked.threshold is None:
        return reason
    number = value_text(step.asked, step.evidence, t)
    return t("closed-by", reason=reason, value=number, asked=threshold_text(step.asked, t))


def _instead(one: Explanation, t: Messages) -> Iterator[str]:
    """The nearest changes that lead to another engine: stated facts first, then thresholds; one for each engine."""
    told: set[str | None] = set()
    for flip in sorted(one.flips, key=lambda flip: flip.what):
        end = flip.end
        answers_it = one.path.end.kind == "stopped" and flip.at == one.path.end.at  # both branches are named already
        if answers_it or end.kind not in ("engine", "off-table") or end.engine in told:
            continue
        told.add(end.engine)
        yield t("path-instead", end=end_text(end, t), change=_change_text(flip, t))
        for pays in one.break_evens:
            if pays.engine == end.engine and isinstance(pays.found, Claim) and pays.found.value:
                yield _pays_text(pays.found, t)


def _pays_text(found: Claim, t: Messages) -> str:
    assert found.extra_preparation_s is not None and found.value is not None
    minutes = significant(found.extra_preparation_s / 60)
    return t("path-pays", minutes=_trim(minutes), hours=_trim(significant(found.value)))


def _change_text(flip: Flip, t: Messages) -> str:
    question = flip.asked.question.text(t.lang)
    if flip.clause is not None:
        then = None if isinstance(flip.then, bool) else _with_unit(_number(flip.then, t), flip.asked, t)
        return flip.clause.text(t.lang).replace(VALUE, then or "")
    if isinstance(flip.then, bool):
        reply = t("reply-yes" if flip.then else "reply-no")
        return t("change-answer", question=question_of(question, flip.engine, t), answer=reply)
    return t(
        "change-threshold",
        question=question,
        now=_with_unit(_number(flip.now, t), flip.asked, t),
        then=_with_unit(_number(flip.then, t), flip.asked, t),
    )


# ---------------------------------------------------------------- pieces of sentences


def value_text(asked: Question, evidence: Evidence, t: Messages) -> str:
    """The number that answers, with its interval and its unit; a flag as yes or no."""
    if isinstance(evidence, Absent | NotApplicable):
        return "—"
    if evidence.flag is not None:
        return t("reply-yes" if evidence.flag else "reply-no")
    if evidence.value is None:
        return t("never-pays")
    form = _signed if isinstance(evidence, Claim) and evidence.metric in _SIGNED else _number
    text = _with_unit(form(evidence.value, t), asked, t)
    if isinstance(evidence, Stated):
        ends = None if evidence.low is None or evidence.high is None else (evidence.low, evidence.high)
        return text if ends is None else t("value-interval", value=text, low=form(ends[0], t), high=form(ends[1], t))
    if evidence.interval is None:
        return t("value-no-interval", value=text)
    low, high = (t("without-end") if end is None else form(end, t)
                 for end in (evidence.interval.low, evidence.interval.high))  # fmt: skip
    return t("value-interval", value=text, low=low, high=high)


def threshold_text(asked: Question, t: Messages) -> str:
    """`at least 50 %`; a question of yes or no asks for yes."""
    if asked.threshold is None:
        return t("reply-yes")
    text = _with_unit(_number(asked.threshold, t), asked, t)
    return t("at-most" if asked.at_least is None else "at-least", value=text)


def number_text(value: float) -> str:
    """A number of a sentence: three significant digits, no zeros at its end."""
    return f"−{_trim(significant(-value))}" if value < 0 else _trim(significant(value))


def _number(value: float, _: Messages) -> str:
    return number_text(value)


def _signed(value: float, t: Messages) -> str:
    return f"+{_number(value, t)}" if value > 0 else _number(value, t)


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _with_unit(number: str, asked: Question, t: Messages) -> str:
    return unit_text(number, asked.unit, t)


def unit_text(number: str, unit: str | None, t: Messages) -> str:
    """A number with its unit, in the words of the catalogue where it has some."""
    unit = unit or ""
    said = t(_UNITS[unit], n=1 if number == "1" else 2) if unit in _UNITS else unit
    return t("number-unit", number=number, unit=said)


def engine_name(name: str | None, t: Messages) -> str:
    """An engine in a sentence; a stand-in is called one."""
    entry = find(name or "")
    title = engine_title(name or "")
    return t("stand-in", engine=title) if entry is not None and entry.seat == "synthetic" else title


def question_of(question: str, engine: str | None, t: Messages) -> str:
    """A question, and the engine it is asked of."""
    return t("question-of", engine=engine_name(engine, t), question=question) if engine else question


def end_text(end: End, t: Messages) -> str:
    """Where a branch leads, as part of a sentence."""
    engine = engine_name(end.engine, t) if end.engine else ""
    if end.kind in ("engine", "off-table", "closed"):
        return t(f"end-{end.kind}", engine=engine)
    question = end.question.text(t.lang) if end.question else ""
    return t("end-stopped-gate", engine=engine, question=question) if engine else t("end-stopped", question=question)


def _open(step: Step, t: Messages) -> str:
    """Why a question is open."""
    evidence = step.evidence
    if isinstance(evidence, Absent):
        return t(f"why-{evidence.why}", engine=engine_name(evidence.engine or step.engine, t))
    if isinstance(evidence, NotApplicable):
        return t("open-no-branch", reason=t(f"why-not-{evidence.why}"))
    if isinstance(evidence, Claim) and evidence.interval is None:
        return t("open-one-launch", value=value_text(step.asked, evidence, t))
    return t("open-crosses", value=value_text(step.asked, evidence, t), asked=threshold_text(step.asked, t))


Next = Literal["state", "count", "run", "runs", "items", "probe", "name", "match", "tree"]


def _next(step: Step, t: Messages) -> str:
    """What to do about an open question, with the command where there is one."""
    evidence, fact = step.evidence, step.asked.fact or ""
    engine = engine_name(
        evidence.engine if isinstance(evidence, Absent | Claim) and evidence.engine else step.engine, t
    )
    kind: Next = "run"
    if isinstance(evidence, NotApplicable):
        kind = "tree"
    elif isinstance(evidence, Absent) and evidence.why == "not-stated":
        kind = "count" if step.asked.source == "traffic" else "state"
    elif isinstance(evidence, Absent):
        kind = {"several-profiles": "name", "not-comparable": "match", "support-unknown": "probe",
                "not-exposed": "probe"}.get(evidence.why, "run")  # type: ignore[assignment]  # fmt: skip
    elif isinstance(evidence, Stated):
        kind = "count"
    else:
        kind = "items" if evidence.metric == "quality_loss" else "runs"
    return t(f"next-{kind}", engine=engine, fact=fact or step.at)


def about(path: Walked, t: Messages) -> str:
    """Whose decision and facts, and when it is looked at again."""
    return t("path-about", decision=path.decision, digest=path.decision_digest, by=path.stated_by,
             on=day(path.stated_on, t), day=day(path.review_by, t))  # fmt: skip


def _notes(path: Walked, t: Messages) -> Iterator[str]:
    if path.generated:
        yield t("path-generated")
    if path.observations:
        yield t("path-observations", n=len(path.observations))
    for one in path.conflicts:
        source = "path-measured" if one.source == "traffic" else "path-stated"
        yield t("path-conflict", fact=one.fact, value=_said(one.value, one.unit, t),
                source=t(source, by=one.by, on=day(one.day, t)), other=_overruled(one.other, one.unit, t))  # fmt: skip


# ---------------------------------------------------------------- tables


def _steps_table(path: Walked, place: int, t: Messages) -> Table:
    """Every question the path came by, in its order; then the columns it adds."""
    rows = [Row(cells=_step_cells(step, t)) for step in (*path.steps, *path.columns)]
    keys = ("checklist-question", "path-source", "path-threshold", "checklist-answer", "checklist-evidence",
            "path-consequence")  # fmt: skip
    return table(f"path-table-{place}", t("path-caption", workload=path.workload), map(t, keys), rows, style="prose")


def _step_cells(step: Step, t: Messages) -> tuple[Cell, ...]:
    question = step.asked.question.text(t.lang)
    heading = words(question)
    if step.part != "node":
        note = Text(text=t(f"path-{step.part}", engine=engine_name(step.engine, t)), style="note")
        heading = Cell(lines=(Text(text=question), note))
    source = words(t(f"source-{step.asked.source}"), *_answered_else(step, t))
    asked = t("either") if step.part != "gate" and step.asked.threshold is None else threshold_text(step.asked, t)
    return (heading, source, words(asked), _answer_cell(step, t), _evidence_cell(step, t),
            words(*_consequence(step, t)))  # fmt: skip


def _answered_else(step: Step, t: Messages) -> tuple[str, ...]:
    """Who answered, where it is not the one who is asked."""
    if not isinstance(step.evidence, Stated) or step.evidence.source == step.asked.source:
        return ()
    return (t(f"path-answered-{step.evidence.source}"),)


def _answer_cell(step: Step, t: Messages) -> Cell:
    closes = {"yes": "yes", "no": "no"}  # of a gate; to any other question yes and no are two ways to go on
    style = closes.get(step.answer, "open") if step.part == "gate" else "either" if step.answer in closes else "open"
    lines = [Text(text=t(f"reply-{step.answer}"), style="reply", value=style)]
    if step.asked.threshold is not None and step.answer in closes:
        lines.append(Text(text=value_text(step.asked, step.evidence, t)))
    if step.answer not in ("yes", "no") and not isinstance(step.evidence, NotApplicable):
        lines.append(Text(text=_open(step, t), style="note"))
    if isinstance(step.evidence, NotApplicable):
        lines.append(Text(text=t(f"why-not-{step.evidence.why}"), style="note"))
    return Cell(lines=tuple(lines))


def _evidence_cell(step: Step, t: Messages) -> Cell:
    evidence = step.evidence
    if isinstance(evidence, Stated):
        return words(*_stated_lines(step.asked, evidence, t))
    if not isinstance(evidence, Claim):
        return words(t("no-evidence"))
    links = [Text(text=run_id, href=f"card-{run_id}") for run_id in evidence.run_ids]
    grade = Text(text=t(f"grade-{evidence.grade.value}"), style="badge", value=evidence.grade.value)
    lines: list[Text] = [*links, grade, Text(text=t("path-launches", n=evidence.launches), style="note")]
    if evidence.metric == "quality_loss":
        lines.append(Text(text=t("path-over-items", task=evidence.task or ""), style="note"))
    return Cell(lines=tuple(lines))


def _stated_lines(asked: Question, evidence: Stated, t: Messages) -> Iterator[str]:
    """Who says it or what measured it, in how much, and what was not used beside it."""
    if evidence.source == "traffic":
        yield t("path-measured", on=day(evidence.day, t))
    else:
        yield t("path-stated", by=evidence.by, on=day(evidence.day, t))
    if evidence.requests:
        yield t("path-counted", n=count(evidence.requests))
    if evidence.window_s is not None:
        yield t("path-window", span=span(evidence.window_s, t))
    if evidence.counted_in == "blocks":
        yield t("path-counted-blocks")
    if evidence.horizon_tokens is not None:
        yield t("path-horizon", n=count(evidence.horizon_tokens))
    if evidence.overruled is not None:
        yield _overruled(evidence.overruled, asked.unit, t)


def _overruled(other: Overruled, unit: str | None, t: Messages) -> str:
    said = _said(other.value, unit, t)
    return t(f"path-overruled-{other.source}", by=other.by, on=day(other.day, t), value=said)


def _said(value: bool | float | str, unit: str | None, t: Messages) -> str:
    if isinstance(value, bool):
        return t("reply-yes" if value else "reply-no")
    if isinstance(value, str):
        return t("reply-not-applicable")
    return unit_text(_number(value, t), unit, t)


def _consequence(step: Step, t: Messages) -> tuple[str, ...]:
    """What follows from one answer."""
    if step.part == "column":
        return (t("column-added" if step.answer == "yes" else "column-not-added", engine=engine_name(step.engine, t)),)
    if step.closed is not None:
        return (t("gate-closed", reason=step.closed.text(t.lang)),)
    if step.ahead:
        return (t("path-stops"), *(_ahead_text(one, t) for one in step.ahead), t("path-next", what=_next(step, t)))
    if step.either:
        return (t("path-either"), t("path-next", what=_next(step, t)))
    if step.turned:
        return (t("path-turned"),)
    return (t("gate-open" if step.part == "gate" else "path-on"),)


def _ahead_text(ahead: Ahead, t: Messages) -> str:
    return t(f"path-ahead-{ahead.branch}", end=end_text(ahead.leads_to, t))


def _flips_table(one: Explanation, place: int, t: Messages) -> Table:
    rows = []
    for flip in one.flips:
        question = question_of(flip.asked.question.text(t.lang), flip.engine, t)
        kind = Text(text=t(f"flip-{flip.what}"), style="note")
        rows.append(
            Row(
                cells=(
                    Cell(lines=(Text(text=question), kind)),
                    words(_flip_value(flip.now, flip.asked, t)),
                    words(_flip_value(flip.then, flip.asked, t)),
                    words(end_text(flip.end, t)),
                )
            )
        )
    titles = map(t, ("flip-what", "flip-now", "flip-then", "flip-end"))
    caption = t("flips-caption", workload=one.path.workload)
    return table(f"flips-table-{place}", caption, titles, rows, empty=t("flips-none"), style="prose")


def _flip_value(value: float | bool, asked: Question, t: Messages) -> str:
    if isinstance(value, bool):
        return t("reply-yes" if value else "reply-no")
    return _with_unit(_number(value, t), asked, t)


def _resampled_table(found: Resampled, place: int, t: Messages) -> Table:
    rows = [
        Row(
            cells=(
                words(share.asked.question.text(t.lang)),
                words(t(f"reply-{share.answer}")),
                words(t("share-yes", share=percent(share.yes)), t("share-no", share=percent(share.no))),
            )
        )
        for share in found.shares
    ]
    for drawn in found.ends:
        now = t("share-as-now") if drawn.as_now else "—"
        ends = words(t("share-end", end=end_text(drawn.end, t)))
        rows.append(Row(cells=(ends, words(now), words(percent(drawn.share)))))
    titles = map(t, ("checklist-question", "checklist-answer", "share-title"))
    return table(f"resampled-table-{place}", t("share-caption", n=count(found.draws)), titles, rows, style="prose")


def _break_even_table(pays: Iterable[BreakEven], place: int, t: Messages) -> Table:
    rows = []
    for one in pays:
        pair = words(t("break-even-pair", engine=engine_name(one.engine, t), against=engine_name(one.against, t)))
        found = one.found
        if not isinstance(found, Claim):
            why = t(f"why-not-{found.why}") if isinstance(found, NotApplicable) else t(
                f"why-{found.why}", engine=engine_name(found.engine, t))  # fmt: skip
            rows.append(Row(cells=(pair, missing(why).model_copy(update={"colspan": 4, "number": False}))))
            continue
        asked = Question.model_validate(
            {"question": {"en": "-", "ja": "-"}, "source": "lab", "metric": "break_even_h", "against": one.against,
             "at_most": 0, "unit": "h"})  # fmt: skip
        assert found.extra_preparation_s is not None and found.gain is not None
        extra = f"{_number(found.extra_preparation_s, t)} {t('unit-s')}"
        counts = "undecided" if one.counts is None else "yes" if one.counts else "no"
        rows.append(
            Row(
                cells=(
                    pair,
                    words(extra),
                    words(f"{_signed(found.gain, t)} %"),
                    words(value_text(asked, found, t)),
                    words(t(f"value-{counts}")),
                )
            )
        )
    titles = map(t, ("engine", "break-even-extra", "break-even-gain", "break-even-hours", "column-preparation"))
    return table(f"break-even-table-{place}", t("break-even-caption"), titles, rows, style="prose")


# ---------------------------------------------------------------- plain text


def text_lines(one: Explanation, t: Messages) -> Iterator[str]:
    """The path as `lab explain` prints it: the sentence, the questions, what would change the end."""
    answer = answer_of(one, t)
    yield f"# {one.path.workload}"
    yield answer.lead + answer.rest
    yield from filter(None, (answer.instead, answer.until))
    yield ""
    yield f"## {t('decision-path')}"
    for step in (*one.path.steps, *one.path.columns):
        cells = _step_cells(step, t)
        yield f"- {_joined(cells[0], t)}"
        yield "    " + t(
            "text-step", source=_joined(cells[1], t), asked=_joined(cells[2], t), answer=_joined(cells[3], t)
        )
        yield "    " + t("text-evidence", evidence=_joined(cells[4], t), then=_joined(cells[5], t))
    yield ""
    yield f"## {t('decision-flips')}"
    for row in _flips_table(one, 1, t).rows:
        what, now, then, end = (_joined(cell, t) for cell in row.cells)
        yield "- " + t("text-flip", what=what, now=now, then=then, end=end)
    yield t("flips-unmoved", n=one.unmoved)
    for extra in (_resampled_table(one.resampled, 1, t) if one.resampled else None,
                  _break_even_table(one.break_evens, 1, t) if one.break_evens else None):  # fmt: skip
        if extra is not None:
            yield ""
            yield f"## {extra.caption}"
            for row in extra.rows:
                first, *others = (_joined(cell, t) for cell in row.cells)
                yield "- " + t("text-row", first=first, others=t("list-separator").join(others))
    yield ""
    yield from _notes(one.path, t)
    yield about(one.path, t)


def _joined(cell: Cell, t: Messages) -> str:
    return t("text-separator").join(line.text for line in cell.lines)
