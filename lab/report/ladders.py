"""Tables with one row per level of a ladder: throughput, latency, the intended send, structured output.

A level that must not be read keeps its row and shows why instead of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lab.publish.evidence import PublicLevel, PublicRun
from lab.records import Structured
from lab.report.ceilings import share_note
from lab.report.cells import (
    Runs,
    concern_texts,
    interval_cell,
    invalid_cell,
    launches_of,
    quantile,
    quantile_cell,
    run_cell,
    scalar,
    scalar_cell,
    success_cell,
    table,
    why,
)
from lab.report.grid import Cell, Row, Table, Text, missing, number
from lab.report.loads import Load, level_at, levels_of, load_cell, slo_text
from lab.report.messages import Messages
from lab.report.numbers import count, milliseconds, significant
from lab.report.reasons import not_supported

Fill = Callable[[PublicRun, PublicLevel, Load], tuple[Cell, ...]]
"""The cells of a readable level, from the third column on."""


def throughput_table(runs: Runs, t: Messages) -> Table:
    """Output, requests and outcomes of each level, in the steady window and over the whole run."""
    promised = any(run.workload.slo for run in runs)

    def fill(run: PublicRun, level: PublicLevel, load: Load) -> tuple[Cell, ...]:
        peers = [scalar(level_at(other, load), "output_tok_per_s") for other in launches_of(run, runs)]
        window = None if level.steady_s is None else t("window", s=significant(level.steady_s))
        share = share_note(run, level, t)
        whole = t("window-whole", s=significant(level.duration_s))
        cells = (
            success_cell((level,), t),
            scalar_cell(level, "output_tok_per_s", t, t("concern-separator").join(filter(None, (window, share)))),
            interval_cell(peers, significant, t),
            scalar_cell(level, "output_tok_per_s_whole", t, whole),
            scalar_cell(level, "request_rps", t),
        )
        return (*cells, _goodput(run, level, t)) if promised else cells

    keys = ["success", "output-tok-s", "interval-output", "output-tok-s-whole", "request-rps"]
    keys += ["goodput"] if promised else []
    found = _ladder("throughput-table", "throughput-caption", tuple(map(t, keys)), runs, fill, t)
    return found.model_copy(update={"rows": (*found.rows, *_not_supported(runs, 1 + len(keys), t))})


def latency_table(runs: Runs, t: Messages) -> Table:
    """Quantiles of TTFT, TPOT and chunk gap of each level, counted from the actual send."""

    def fill(run: PublicRun, level: PublicLevel, load: Load) -> tuple[Cell, ...]:
        peers = [quantile(level_at(other, load), "ttft_s", "p50") for other in launches_of(run, runs)]
        low, high = level.prompt_tokens.min, level.prompt_tokens.max
        tokens = missing(why(level, t))
        if low is not None and high is not None:
            tokens = number(count(low) if low == high else t("range", low=count(low), high=count(high)))
        return (
            *(quantile_cell(level, "ttft_s", q, t) for q in ("p50", "p90", "p99")),
            interval_cell(peers, milliseconds, t),
            quantile_cell(level, "tpot_s", "p50", t),
            *(quantile_cell(level, "chunk_gap_s", q, t) for q in ("p50", "p99")),
            tokens,
        )

    titles = (
        *(t("ttft", q=q) for q in ("p50", "p90", "p99")),
        t("interval-ttft"),
        t("tpot", q="p50"),
        *(t("chunk-gap", q=q) for q in ("p50", "p99")),
        t("prompt-tokens"),
    )
    return _ladder("latency-table", "latency-caption", titles, runs, fill, t)


def intended_table(runs: Runs, t: Messages) -> Table | None:
    """Latency counted from the moment the arrival law wanted; None when no loop was open."""
    asked = (
        ("schedule_lag_s", "schedule-lag", ("p50", "p99")),
        ("ttft_intended_s", "ttft-intended", ("p50", "p99")),
        ("e2e_intended_s", "e2e-intended", ("p50", "p99")),
    )

    def fill(run: PublicRun, level: PublicLevel, load: Load) -> tuple[Cell, ...]:
        return tuple(quantile_cell(level, name, q, t) for name, _, qs in asked for q in qs)

    titles = tuple(t(key, q=q) for _, key, qs in asked for q in qs)
    found = _ladder(
        "intended-table", "intended-caption", titles, runs, fill, t, keep=lambda level: level.rate_rps is not None
    )
    return found if found.rows else None


def structured_table(runs: Runs, t: Messages) -> Table | None:
    """What became of requests that asked for JSON of a schema; None when none did."""

    def fill(run: PublicRun, level: PublicLevel, load: Load) -> tuple[Cell, ...]:
        counts = level.structured or {}
        total = sum(counts.values())
        valid = counts.get(Structured.VALID, 0)
        share = t("structured-share", share=f"{100 * valid / total:.0f}") if total else None
        others = (one for one in Structured if one is not Structured.VALID)
        return (number(count(total)), number(count(valid), share), *(number(count(counts.get(n, 0))) for n in others))

    titles = (t("requests"), *(t(f"structured-{one.value}") for one in Structured))
    found = _ladder(
        "structured-table", "structured-caption", titles, runs, fill, t, keep=lambda level: level.structured is not None
    )
    return found if found.rows else None


def _ladder(
    id: str,
    caption: str,
    titles: tuple[str, ...],
    runs: Runs,
    fill: Fill,
    t: Messages,
    keep: Callable[[PublicLevel], bool] = lambda level: True,
) -> Table:
    """One row per level that is kept; the reasons for care carry the row on, where a level has some."""
    found = [(run, level, load) for run, level, load in levels_of(runs) if keep(level)]
    rows = []
    for run, level, load in found:
        care = concern_texts(level, t) if level.valid else ()
        head = (run_cell(run, t).model_copy(update={"rowspan": 2 if care else 1}), load_cell(load, t))
        cells = fill(run, level, load) if level.valid else (invalid_cell(level, t, len(titles)),)
        rows.append(Row(cells=(*head, *cells)))
        if care:
            text = t("concerns", concerns=t("concern-separator").join(care))
            noted = Cell(lines=(Text(text=text, style="note"),), colspan=1 + len(titles))
            rows.append(Row(cells=(noted,), continued=True))
    heading = (t("run"), t("load-title"), *titles)
    numbers = range(1, 2 + len(titles))
    return table(id, t(caption), heading, rows, numbers, empty=t("runs-none"))


def _not_supported(runs: Runs, width: int, t: Messages) -> Iterator[Row]:
    """Runs whose workload their engine cannot do: no load was sent, so there is no level and no number."""
    for run in runs:
        capability = not_supported(run)
        if capability is not None:
            text = t("workload-not-supported", what=t(f"probe-{capability.value}"))
            yield Row(cells=(run_cell(run, t), Cell(lines=(Text(text=text, style="missing"),), colspan=width)))


def _goodput(run: PublicRun, level: PublicLevel, t: Messages) -> Cell:
    if run.workload.slo is None:
        return missing(t("goodput-no-slo"))
    return scalar_cell(level, "goodput_rps", t, slo_text(run.workload.slo, t))
