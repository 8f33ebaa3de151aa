"""Answers of two runs side by side: what differs, by how much, and what it may be put down to.

The sentence comes from the class of the contrast and from the interval. None says anything about an engine as such.
"""

from __future__ import annotations

from lab.publish.evidence import PublicArms, PublicContrast, PublicPair, PublicRun
from lab.quality.arms import Ending
from lab.quality.coverage import NoVerdict
from lab.quality.paired import Paired
from lab.quality.path import Contrast, ContrastClass
from lab.report.cells import badge, link, run_cell, table
from lab.report.grid import Cell, Row, Table, Text, missing, number, words
from lab.report.messages import Messages
from lab.report.numbers import (
    bits,
    count,
    fraction,
    points,
    signed,
    signed_bits,
    signed_milliseconds,
    signed_points,
    significant,
)
from lab.report.series import series_label

Runs = tuple[PublicRun, ...]
Contrasts = tuple[PublicContrast, ...]


def in_printed_order(contrasts: Contrasts, runs: Runs) -> Contrasts:
    """The contrasts in the order of their runs on the page; results play no part."""
    place = {run.run_id: number for number, run in enumerate(runs)}
    return tuple(sorted(contrasts, key=lambda one: (place[one.first], place[one.second], one.suite_sha256)))


def contrasts_table(contrasts: Contrasts, runs: Runs, t: Messages) -> Table:
    """One row for each task of each pair of runs; its reading carries the row on."""
    known = {run.run_id: run for run in runs}
    rows: list[Row] = []
    for one in contrasts:
        pair = _pair_cell(known[one.first], known[one.second], t)
        for task in one.tasks:
            cells = (pair, _class_cell(one.contrast, t), words(task.task), *_numbers(one, task, t))
            rows.append(Row(cells=cells))
            reading = Text(text=contrast_sentence(one, task, t), style="note")
            rows.append(Row(cells=(Cell(lines=(reading,), colspan=7),), continued=True))
    titles = map(t, ("contrasts-pair", "contrasts-class", "task", "contrasts-score", "contrasts-coverage",
                     "contrasts-flips", "contrasts-same", "contrasts-p"))  # fmt: skip
    return table("contrasts-table", t("contrasts-caption"), titles, rows, range(3, 8), empty=t("contrasts-none"))


def contrast_sentence(contrast: PublicContrast, task: PublicPair, t: Messages) -> str:
    """What one task of a contrast says, in words: the difference, what it may be put down to, where it enters."""
    sentences = [_difference(contrast.contrast.kind, task, t), attribution(contrast.contrast, t)]
    if contrast.lanes is not None:
        lanes = t("list-separator").join(t(f"lane-{lane.value}") for lane in contrast.lanes)
        sentences.append(t("contrast-lanes", lanes=lanes) if lanes else t("contrast-lanes-none"))
    if task.prompts_differ is not None:
        sentences.append(t("contrast-prompts", n=task.prompts_differ, all=count(task.paired.n)))
    return t("sentence-separator").join(sentences)


def attribution(contrast: Contrast, t: Messages) -> str:
    """What a difference of this class may be put down to."""
    fields = t("list-separator").join(contrast.unrecorded or contrast.differs)
    if contrast.kind is not ContrastClass.NOT_ATTRIBUTABLE:
        return t(f"contrast-reads-{contrast.kind.value}", fields=fields)
    if contrast.unrecorded:
        return t("contrast-reads-unrecorded", fields=fields)
    return t("contrast-reads-weights" if contrast.other_weights else "contrast-reads-both", fields=fields)


def _difference(kind: ContrastClass, task: PublicPair, t: Messages) -> str:
    paired, in_bits = task.paired, task.metric == "bits_per_byte"
    signed, plain = (signed_bits, bits) if in_bits else (signed_points, points)
    unit = t("unit-bits") if in_bits else t("unit-points")
    if paired.difference is None or paired.low is None or paired.high is None:
        return t("contrast-no-item")
    visible = paired.visible
    return t(
        "contrast-sentence",
        unit=unit,
        difference=signed(paired.difference),
        low=signed(paired.low),
        high=signed(paired.high),
        n=paired.n,
        down=paired.down,
        up=paired.up,
        visible=t("contrast-visible-none")
        if visible is None
        else t("contrast-visible", difference=plain(visible), unit=unit),
        verdict=_verdict(kind, paired, t),
    )


def _verdict(kind: ContrastClass, paired: Paired, t: Messages) -> str:
    repeat = kind is ContrastClass.REPEAT and paired.no_verdict is NoVerdict.NO_MARGIN
    if paired.no_verdict not in (None, NoVerdict.NO_ITEM) and not repeat:
        return t(f"contrast-no-{paired.no_verdict}")
    if kind is ContrastClass.REPEAT or paired.verdict is None:
        return t("contrast-verdict-noise")
    assert paired.margin is not None  # a verdict is one against a margin
    return t(f"contrast-verdict-{paired.verdict.value}", margin=points(paired.margin))


def _pair_cell(first: PublicRun, second: PublicRun, t: Messages) -> Cell:
    grades = (badge(first, t),) if first.grade is second.grade else (badge(first, t), badge(second, t))
    return Cell(
        lines=(
            link(first),
            Text(text=t("contrast-first", label=series_label(first))),
            link(second),
            Text(text=t("contrast-second", label=series_label(second))),
            *grades,
        ),
        rowspan=2,
    )


def _class_cell(contrast: Contrast, t: Messages) -> Cell:
    fields = tuple(Text(text=field, style="code") for field in contrast.unrecorded or contrast.differs)
    return Cell(lines=(Text(text=t(f"contrast-class-{contrast.kind.value}")), *fields))


def _numbers(contrast: PublicContrast, task: PublicPair, t: Messages) -> tuple[Cell, ...]:
    """Score, coverage, flips, same answers, p; each with its denominator."""
    paired = task.paired
    all_items = count(paired.items)
    answered = (paired.items - sum(side.values()) for side in (paired.unscored_first, paired.unscored_second))
    coverage = t("contrast-then", **dict(zip(("first", "second"), map(count, answered), strict=True)))
    covered = number(coverage, t("contrast-of", all=all_items))
    if paired.mean_first is None or paired.mean_second is None:
        return (missing(t("contrast-no-item")), covered, *(missing(t("missing")),) * 3)
    score = t("contrast-then", first=fraction(paired.mean_first), second=fraction(paired.mean_second))
    same = (
        missing(t("contrasts-same-none"))
        if task.same_answers is None
        else number(count(task.same_answers), t("contrast-of", all=count(paired.n)))
    )
    p = (
        missing(t("missing"))
        if task.p_holm is None
        else number(significant(task.p_holm), t("contrasts-tests", n=contrast.family))
    )
    return number(score), covered, number(f"{count(paired.down)} / {count(paired.up)}"), same, p


def arms_table(runs: Runs, t: Messages) -> Table | None:
    """What a constraint adds: each asking of each run, and what the constraint gained, lost and took; None without."""
    rows: list[Row] = []
    for run in runs:
        if run.arms is None:
            continue
        head = run_cell(run, t).model_copy(update={"rowspan": 4})
        for arm, key in (
            (run.arms.free, "arm-free"),
            (run.arms.constrained, "arm-constrained"),
            (run.arms.free_again, "arm-free-again"),
        ):
            endings = (number(count(arm.endings.get(ending, 0))) for ending in Ending)
            cells = (words(t(key)), *endings, number(fraction(arm.field_accuracy)))
            first = arm is run.arms.free
            rows.append(Row(cells=(head, *cells) if first else cells, continued=not first))
        reading = Text(text=arms_sentence(run.arms, t), style="note")
        rows.append(Row(cells=(Cell(lines=(reading,), colspan=7),), continued=True))
    titles = (t("run"), t("arm"), *(t(f"structured-{ending.value}") for ending in Ending), t("arm-fields"))
    return table("arms-table", t("arms-caption"), titles, rows, range(2, 8)) if rows else None


def arms_sentence(arms: PublicArms, t: Messages) -> str:
    """What the constraint gained and lost, what repeating does anyway, and what it took."""
    sentences = [
        t("arms-sentence", items=count(arms.items), gained=arms.gained, lost=arms.lost, repeats=arms.repeats_differ)
    ]
    if arms.added_latency_s is None:
        sentences.append(t("arms-untimed"))
    else:
        sentences.append(t("arms-latency", timed=count(arms.timed), added=signed_milliseconds(arms.added_latency_s)))
        if arms.added_s_per_token is not None and arms.added_tokens is not None:
            per_token = signed_milliseconds(arms.added_s_per_token)
            sentences.append(t("arms-per-token", added=per_token, tokens=signed(arms.added_tokens)))
    return t("sentence-separator").join(sentences)
