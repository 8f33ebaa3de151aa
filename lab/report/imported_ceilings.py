"""The ceiling beside the numbers of a record of others, and exactly what is missing where there is none."""

from __future__ import annotations

from collections.abc import Iterable

from lab.imports.ceilings import Gap, ImportedCeilings
from lab.limits import LevelCeiling, Reached, RunCeilings, Sum
from lab.records import RunId
from lab.report.ceilings import ceiling_facts, reached_words
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, missing, words
from lab.report.messages import Messages
from lab.report.numbers import count, percent, significant

BLOCKS: tuple[Gap, ...] = ("machine", "machine-row", "accelerators", "model", "shape")
"""Without these there is no ceiling; without any other it is higher, or has no share."""

WHOLE = ("requests", "row_input_tokens", "row_output_tokens", "round_output_tokens")
"""Sums of whole numbers."""

Facts = tuple[tuple[str, str], ...]


def ceilings_of_imports(found: Iterable[tuple[RunId, str, ImportedCeilings]], t: Messages) -> Table:
    """One row for each record: run_id, what it is, its ceilings."""
    rows = []
    for run_id, name, one in found:
        head = Cell(lines=(Text(text=run_id, href=f"run-{run_id}"), Text(text=name)))
        if one.ceilings is None:
            why = (Text(text=no_ceiling_words(one, t), style="missing"),)
            bound = at_most_words(one, t)
            notes = () if bound is None else (Text(text=bound, style="note"),)
            rows.append(Row(cells=(head, Cell(lines=(*why, *notes), colspan=4))))
            continue
        (level,) = one.ceilings.levels
        cells = (_reached(level.stream, t), _reached(level.output, t), words(prefill_words(level, t)))
        rows.append(Row(cells=(head, *cells, words(kv_words(one, one.ceilings, t)))))
    titles = map(t, ("imported-record", "ceiling-stream", "ceiling-output", "ceiling-prefill", "imported-kv"))
    return table("imported-ceilings-table", t("imported-ceilings-caption"), titles, rows, style="prose")


def imported_ceiling_facts(one: ImportedCeilings, t: Messages) -> Facts:
    """What bounds one record, where each value comes from, what is missing, and whether its totals add up."""
    if one.ceilings is None:
        bound = at_most_words(one, t)
        lines: Facts = ((t("card-ceiling"), no_ceiling_words(one, t)),)
        lines = lines if bound is None else (*lines, (t("imported-turned"), bound))
    else:
        lines = tuple((title, text) for title, text, _ in ceiling_facts(one.ceilings, t))
        lines = (*lines, (t("imported-known-from"), _known_from(one, t)))
        open_ones = [gap for gap in one.gaps if gap not in BLOCKS]
        if open_ones:
            gaps = t("support-separator").join(t(f"gap-{gap}") for gap in open_ones)
            lines = (*lines, (t("imported-open"), gaps))
    return (*lines, (t("imported-sums"), sums_words(one.sums, t)))


def imported_level_facts(one: ImportedCeilings, t: Messages) -> Facts:
    """The three ceilings and the KV capacity of one record, each beside what it reached; none without a ceiling."""
    if one.ceilings is None:
        return ()
    (level,) = one.ceilings.levels
    join = t("support-separator").join
    return (
        (t("ceiling-stream"), join(reached_words(level.stream, t))),
        (t("ceiling-output"), join(reached_words(level.output, t))),
        (t("ceiling-prefill"), prefill_words(level, t)),
        (t("imported-kv"), kv_words(one, one.ceilings, t)),
    )


def no_ceiling_words(one: ImportedCeilings, t: Messages) -> str:
    """Everything that a ceiling lacks, with what to do about it."""
    gaps = t("support-separator").join(t(f"gap-{gap}") for gap in one.gaps if gap in BLOCKS)
    return t("ceiling-none", why=gaps)


def at_most_words(one: ImportedCeilings, t: Messages) -> str | None:
    """The ceiling turned round: the most that can have been read for one token; None where that is not known either."""
    return None if one.read_at_most_gb is None else t("imported-at-most", gb=significant(one.read_at_most_gb))


def prefill_words(level: LevelCeiling, t: Messages) -> str:
    """The ceiling of one prompt; a record has no value for it."""
    if level.prefill.ceiling is None:
        return t("ceiling-not-known")
    bound = level.prefill.bound or "memory"
    return t("ceiling-prefill-most", ceiling=significant(level.prefill.ceiling), bound=bound)


def kv_words(one: ImportedCeilings, found: RunCeilings, t: Messages) -> str:
    """The most tokens of KV cache beside those a note speaks of, or why they are not known."""
    capacity, noted = found.kv_capacity_tokens, one.kv_tokens_noted
    if capacity is None and found.no_kv == "format-unknown":
        return t("imported-kv-no-format")
    if capacity is None:
        return t(f"no-kv-{found.no_kv or 'not-stated'}")
    if noted is None:
        return t("value-tokens", count=count(capacity))
    if noted > capacity:
        return t("imported-kv-too-many", capacity=count(capacity), noted=count(noted))
    return t("imported-kv-noted", capacity=count(capacity), noted=count(noted), share=percent(noted / capacity))


def sums_words(sums: tuple[Sum, ...], t: Messages) -> str:
    """Every stated value beside the one that follows, or that nothing could be held against anything."""
    said = (
        t(
            "sums-in-flight" if one.name == "in_flight" else "sums-stated",
            name=t(f"sum-{one.name}"),
            stated=count(one.stated) if one.name in (*WHOLE, "in_flight") else significant(one.stated, 4),
            follows=count(one.follows) if one.name in WHOLE else significant(one.follows, 4),
            verdict=t("sums-agree" if one.agrees else "sums-differ"),
        )
        for one in sums
    )
    return t("support-separator").join(said) or t("sums-nothing")


def _known_from(one: ImportedCeilings, t: Messages) -> str:
    machine = t(f"imported-machine-from-{one.machine_from or 'file'}")
    if one.shape_source is None:
        return t("imported-from-weights", machine=machine)
    return t(f"imported-shape-from-{one.shape_from or 'table'}", machine=machine, source=one.shape_source)


def _reached(reached: Reached, t: Messages) -> Cell:
    first, *notes = reached_words(reached, t)
    if reached.share is None:
        if reached.ceiling is None:
            return missing(first).model_copy(update={"number": False})
        return words(t("ceiling-no-value", ceiling=significant(reached.ceiling)))
    style = "missing" if reached.implausible else "note"
    lines = (Text(text=first), *(Text.model_validate({"text": note, "style": style}) for note in notes))
    return Cell(lines=lines)
