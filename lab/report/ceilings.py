"""The ceiling beside the number: what the hardware could do at most, and the share a run reached of it.

A value above its ceiling shows the legitimate reasons its run gives, or that it is not plausible. A run without a
ceiling shows why; nothing is guessed.
"""

from __future__ import annotations

from typing import Literal

from lab.limits import LevelCeiling, Reached, RunCeilings, Sums
from lab.publish.evidence import PublicLevel, PublicRun
from lab.report.cells import Runs, invalid_text, run_cell, table
from lab.report.grid import Cell, Row, Table, Text, missing
from lab.report.loads import Load, level_at, levels_of, load_cell
from lab.report.messages import Messages
from lab.report.numbers import count, percent, significant

Facts = tuple[tuple[str, str, str], ...]


def ceilings_table(runs: Runs, t: Messages) -> Table:
    """One row per level: one stream's decode, all streams' output, one prompt's prefill; a run without one row."""
    rows = []
    for run in runs:
        if not run.levels:
            continue
        if run.ceilings is None or run.ceilings.reason is not None:
            why = Text(text=t("ceiling-none", why=no_ceiling(run.ceilings, t)), style="missing")
            rows.append(Row(cells=(run_cell(run, t), Cell(lines=(why,), colspan=4))))
            continue
        for (_, level, load), one in zip(levels_of((run,)), run.ceilings.levels, strict=True):
            cells = (
                (_cell(one.stream, t), _cell(one.output, t), _prefill_cell(one, t))
                if level.valid
                else (Cell(lines=(Text(text=invalid_text(level, t), style="missing"),), colspan=3),)
            )
            rows.append(Row(cells=(run_cell(run, t), load_cell(load, t), *cells)))
    titles = map(t, ("run", "load-title", "ceiling-stream", "ceiling-output", "ceiling-prefill"))
    return table("ceilings-table", t("ceilings-caption"), titles, rows, range(1, 5), empty=t("runs-none"))


def share_note(run: PublicRun, level: PublicLevel, t: Messages) -> str | None:
    """The share of its ceiling that the output of a level reached, for the line below the number."""
    one = ceiling_of(run, level)
    if one is None or one.output.share is None:
        return None
    return t("ceiling-share", share=percent(one.output.share))


def share_at(run: PublicRun, load: Load | None) -> float | None:
    """The share of the output's ceiling at one load; None where there is no ceiling or no value."""
    level = level_at(run, load)
    one = ceiling_of(run, level) if level is not None and level.valid else None
    return None if one is None else one.output.share


def ceiling_of(run: PublicRun, level: PublicLevel) -> LevelCeiling | None:
    """The ceilings of one level of a run; None when the run has none."""
    if run.ceilings is None:
        return None
    return next((one for mine, one in zip(run.levels, run.ceilings.levels, strict=False) if mine is level), None)


def no_ceiling(found: RunCeilings | None, t: Messages) -> str:
    """Why a run has no ceiling."""
    reason = found.reason if found else None
    return t(f"no-ceiling-{reason or 'not-recorded'}")


def ceiling_facts(found: RunCeilings | None, t: Messages) -> Facts:
    """Lines of an evidence card: what bounds a run, the KV capacity, and whether the counts add up."""
    if found is None or found.reason is not None:
        facts: Facts = ((t("card-ceiling"), t("ceiling-none", why=no_ceiling(found, t)), ""),)
    else:
        facts = ((t("card-ceiling"), _machine(found, t), ""), (t("card-kv"), _kv(found, t), ""))
        if found.sources:
            facts = (*facts, (t("card-ceiling-source"), t("list-separator").join(found.sources), ""))
    sums = None if found is None else found.sums
    return facts if sums is None else (*facts, (t("card-sums"), _sums(sums, t), ""))


def _cell(reached: Reached, t: Messages) -> Cell:
    """The share, and under it the value, the ceiling and what to think of a value above it."""
    if reached.share is None:
        return missing(reached_words(reached, t)[0])
    first, *notes = reached_words(reached, t)
    style: Literal["missing", "note"] = "missing" if reached.implausible else "note"
    return Cell(lines=(Text(text=first), *(Text(text=note, style=style) for note in notes)), number=True)


def _prefill_cell(one: LevelCeiling, t: Messages) -> Cell:
    return missing(t("ceiling-prefill-alone")) if one.streams != 1 else _cell(one.prefill, t)


def level_words(one: LevelCeiling, t: Messages) -> tuple[tuple[str, ...], ...]:
    """The words of the three columns of a level."""
    prefill = (t("ceiling-prefill-alone"),) if one.streams != 1 else reached_words(one.prefill, t)
    return reached_words(one.stream, t), reached_words(one.output, t), prefill


def reached_words(reached: Reached, t: Messages) -> tuple[str, ...]:
    """The share, then the value beside its ceiling, then what to think of one above it; or why there is no share."""
    if reached.share is None or reached.value is None or reached.ceiling is None:
        return (t("ceiling-not-known" if reached.ceiling is None else "missing"),)
    sides = {"value": significant(reached.value), "ceiling": significant(reached.ceiling)}
    found = (percent(reached.share), t("ceiling-of", **sides, bound=reached.bound or "memory"))
    if not reached.is_above:
        return found
    if reached.implausible:
        return (*found, t("ceiling-implausible"))
    reasons = t("list-separator").join(t(f"above-{one}") for one in reached.above)
    return (*found, t("ceiling-above", reasons=reasons))


def _machine(found: RunCeilings, t: Messages) -> str:
    unknown = t("ceiling-unknown")
    return t(
        "ceiling-machine",
        place=found.accelerator or t("ceiling-cpu"),
        many="no" if found.ranks == 1 else "yes",
        ranks=count(found.ranks),
        bandwidth=unknown if found.bandwidth_gb_s is None else significant(found.bandwidth_gb_s),
        how="table" if found.accelerator else "measured",
        read=unknown if found.read_bytes is None else significant(found.read_bytes / 1e9),
        compute=found.compute or t("ceiling-no-compute"),
    )


def _kv(found: RunCeilings, t: Messages) -> str:
    if found.kv_bytes_per_token is None:
        return t("kv-unknown", why=t(f"no-kv-{found.no_kv or 'not-stated'}"))
    capacity = found.kv_capacity_tokens
    return t(
        "kv-value",
        bytes=count(found.kv_bytes_per_token),
        capacity=t("ceiling-unknown") if capacity is None else count(capacity),
        memory=t("ceiling-unknown") if found.memory_bytes is None else significant(found.memory_bytes / 1e9),
    )


def _sums(sums: Sums, t: Messages) -> str:
    def said(value: float | None) -> str:
        return t("not-counted") if value is None else count(value)

    def verdict(agrees: bool | None) -> str:
        return t("sums-open" if agrees is None else "sums-agree" if agrees else "sums-differ")

    return t(
        "sums-value",
        output=said(sums.client_output),
        engineoutput=said(sums.engine_output),
        outputverdict=verdict(sums.output_agrees),
        prompt=said(sums.client_prompt),
        cached=said(sums.client_cached),
        engineprompt=said(sums.engine_prompt),
        promptverdict=verdict(sums.prompt_agrees),
    )
