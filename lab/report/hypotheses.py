"""The table of the texts' claims: claimed, the condition, measured here, a verdict where evidence may carry one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lab.explain.hypotheses import Hypothesis, Judged
from lab.records import EvidenceGrade
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, words
from lab.report.messages import Messages
from lab.report.numbers import significant
from lab.report.reasons import field_text
from lab.report.series import engine_title

UNITS = {"quality_loss": "points", "schema_broken": "answers"}
"""Units of `counts`; all other metrics count per cent."""


def hypotheses_table(judged: Sequence[Judged], t: Messages, *, links: bool = True) -> Table:
    """A row for each hypothesis that was put to the runs, in the order of the texts.

    Args:
        judged: from `judge`.
        t: the words.
        links: whether a run_id leads to its evidence card.
    """
    keys = ("claim", "condition", "varied", "metric", "measured", "verdict")
    rows = [
        Row(
            cells=(
                _claim(one.hypothesis, t),
                words(_condition(one.hypothesis, t)),
                _varied(one.hypothesis, t, one),
                words(_expected(one.hypothesis, t)),
                _measured(one, t, links),
                _verdict(one, t),
            )
        )
        for one in judged
    ]
    titles = [t(f"hypotheses-{key}") for key in keys]
    return table("hypotheses-table", t("hypotheses-caption"), titles, rows, style="prose")


def claims_table(hypotheses: Iterable[Hypothesis], t: Messages) -> Table:
    """Every claim, before any run is looked at."""
    rows = [
        Row(
            cells=(
                words(one.name),
                _claim(one, t),
                words(_condition(one, t)),
                _varied(one, t),
                words(_expected(one, t) if one.metric else t(f"hypothesis-untestable-{one.untestable}")),
            )
        )
        for one in hypotheses
    ]
    titles = [t("desk-key"), *(t(f"hypotheses-{key}") for key in ("claim", "condition", "varied", "metric"))]
    return table("claims-table", t("hypotheses-list-caption"), titles, rows, style="prose")


def measured(judged: Iterable[Judged]) -> tuple[Judged, ...]:
    """Those that were measured."""
    return tuple(one for one in judged if one.verdict not in ("not-measured", "untestable"))


def unmeasured(judged: Iterable[Judged]) -> int:
    """How many claims these runs do not test."""
    return len({one.hypothesis.name for one in judged if one.verdict in ("not-measured", "untestable")})


def _claim(one: Hypothesis, t: Messages) -> Cell:
    where = t("hypotheses-source", text=one.source.text, line=str(one.source.line))
    lines = [Text(text=t(f"claim-{one.name}")), Text(text=where, style="note")]
    if one.claimed is not None:
        low, high = (f"{end:g}" for end in (one.claimed.low, one.claimed.high))
        lines.append(Text(text=t("hypotheses-figure", low=low, high=high), style="note"))
    return Cell(lines=tuple(lines))


def _condition(one: Hypothesis, t: Messages) -> str:
    key = f"claim-{one.name}-where"
    return t(key) if t.has(key) else "—"


def _varied(one: Hypothesis, t: Messages, judged: Judged | None = None) -> Cell:
    if one.varies is None:
        return words("—")
    if one.varies == "nothing":
        return words(t("hypotheses-nothing"))
    if one.varies == "load":
        if judged is None or judged.levels is None:
            return words(t("hypotheses-load"))
        before, after = judged.levels
        return words(t("hypotheses-levels", field=t("hypotheses-load"), before=before, after=after))
    field = t("engine") if one.varies == "engine" else field_text(one.varies, t)
    if judged is not None and judged.values is not None:
        ends: list[tuple[object, object]] = [judged.values]
    else:
        ends = list(one.ends)
    said = (t("hypotheses-from-to", field=field, before=_value(before), after=_value(after)) for before, after in ends)
    return words(*said)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _expected(one: Hypothesis, t: Messages) -> str:
    if one.metric is None or one.expected is None or one.counts is None:
        return "—"
    metric, unit = t(f"hypothesis-metric-{one.metric}"), UNITS.get(one.metric, "percent")
    if one.expected == "never":
        return t("hypotheses-expected-plain", metric=metric, expected=one.expected)
    return t("hypotheses-expected", metric=metric, expected=one.expected, counts=f"{one.counts:g}", unit=unit)


def _measured(one: Judged, t: Messages, links: bool) -> Cell:
    if one.lacks is not None or one.effect is None:
        why = (
            t(f"hypothesis-lacks-{one.lacks}") if one.lacks else t(f"hypothesis-untestable-{one.hypothesis.untestable}")
        )
        return Cell(lines=(Text(text="—", style="missing"), Text(text=why, style="note")))
    lines = [Text(text=_effect(one, t))]
    if one.hypothesis.varies != "load" and one.levels is not None:
        lines.append(Text(text=t("hypotheses-at", load=one.levels[1]), style="note"))
    if one.hypothesis.metric != "schema_broken":
        lines.append(Text(text=_interval(one, t), style="note"))
    assert one.engine is not None and one.model is not None
    named = " · ".join(filter(None, (engine_title(one.engine), one.profile)))
    about = {"engine": named, "model": one.model}
    on = (
        t("hypotheses-on-two", against=engine_title(one.against), **about)
        if one.against
        else t("hypotheses-on", **about)
    )
    lines.append(Text(text=on, style="note"))
    lines += [Text(text=run_id, href=f"card-{run_id}" if links else None, style="code") for run_id in one.run_ids]
    return Cell(lines=tuple(lines))


def _effect(one: Judged, t: Messages) -> str:
    assert one.effect is not None
    if one.hypothesis.metric == "schema_broken":
        return t("hypotheses-effect-answers", broken=f"{one.effect:.0f}", items=str(one.items))
    if one.hypothesis.metric == "quality_loss":
        return t("hypotheses-effect-points", value=_signed(one.effect), task=one.task or "")
    assert one.before is not None and one.after is not None
    effect = t("hypotheses-effect-percent", value=_signed(one.effect))
    return t("hypotheses-change", before=significant(one.before), after=significant(one.after), effect=effect)


def _interval(one: Judged, t: Messages) -> str:
    if one.interval is None:
        return t("hypotheses-no-interval")
    low, high = ("…" if end is None else _signed(end) for end in (one.interval.low, one.interval.high))
    if one.hypothesis.metric == "quality_loss":
        return t("hypotheses-interval-items", low=low, high=high, items=str(one.items))
    return t("hypotheses-interval", low=low, high=high, launches=one.launches)


def _verdict(one: Judged, t: Messages) -> Cell:
    key = one.verdict
    if key == "undecided" and one.interval is None:
        return words(t("hypothesis-verdict-undecided-launch"))
    lines = [Text(text=t(f"hypothesis-verdict-{key}"), style="missing" if key == "not-measured" else "plain")]
    if one.grade is not None and one.grade is not EvidenceGrade.REAL_GPU and one.lacks is None:
        lines.append(Text(text=t(f"grade-{one.grade.value}"), style="badge", value=one.grade.value))
    return Cell(lines=tuple(lines))


def _signed(value: float) -> str:
    return ("+" if value > 0 else "−" if value < 0 else "") + significant(abs(value))
