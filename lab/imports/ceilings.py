"""The most an imported record could have reached, where its machine and its model are known, and what is missing.

A record names a machine and a model; what they can do stands in params/hardware.yaml and params/shapes.yaml. What the
record does not name can be declared by whoever reads it, and is shown as declared. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lab.conditions import Condition
from lab.errors import ImportRefused
from lab.hardware import HardwareTable, read_hardware
from lab.imports.record import ImportedRecord
from lab.limits import Cited, ModelShape, RunCeilings, Sum, Totals
from lab.metrics.ceilings import Stated, bytes_at_most, stated_ceilings
from lab.metrics.sums import add_up
from lab.model_shape import read_shape
from lab.shapes import ShapeTable, read_shapes
from lab.spec import Frozen

Gap = Literal[
    "machine",
    "machine-row",
    "accelerators",
    "model",
    "shape",
    "lengths",
    "streams",
    "drafting",
    "tpot",
    "prefill-time",
    "output",
    "kv-cost",
    "kv-format",
    "compute",
    "compute-format",
]
"""What a ceiling or its share lacks: see the messages `gap-…`."""


class ImportedCeilings(Frozen):
    """What bounds a record, and whether its own totals follow from each other."""

    ceilings: RunCeilings | None
    """One level; None: `gaps` says what is missing."""
    machine_from: Literal["file", "declared"] | None
    shape_from: Literal["table", "declared"] | None
    shape_source: Cited | None = None
    """None where the shape was read from weights, or is not known."""
    gaps: tuple[Gap, ...]
    """What is missing, in the order in which to give it."""
    read_at_most_gb: float | None
    """The most that can have been read for one token at the stated TPOT, 10⁹ bytes; only where the machine is known
    and the shape is not."""
    kv_tokens_noted: int | None = None
    """Tokens of KV cache that a note of the file says the engine had."""
    sums: tuple[Sum, ...]
    """Every stated value that follows from the others too."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a reader adds to records that do not say it."""

    machine: str | None = None
    accelerators: int | None = None
    shapes: ShapeTable | None = None
    """Rows that go before those of params/shapes.yaml."""
    shape: ModelShape | None = None
    """Of the one record that is looked at."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What is known of machines and models."""

    hardware: HardwareTable = field(default_factory=read_hardware)
    shapes: ShapeTable = field(default_factory=read_shapes)


def declare(path: Path | None, machine: str | None, accelerators: int | None, *, one_record: bool) -> Declared:
    """What the options say: a table of shapes, or the weights of the one record.

    Args:
        path: a .yaml file of the form of params/shapes.yaml, a GGUF file, or a Hugging Face folder.
        machine: a name of params/hardware.yaml.
        accelerators: how many of it.
        one_record: whether weights can be those of the record that is looked at.

    Raises:
        ImportRefused: the machine has no row, or weights stand for several records.
        ModelError: the weights cannot be read.
        ParamsError: the table cannot be read.
    """
    if machine is not None and read_hardware().find(machine) is None:
        known = ", ".join(row.names[0] for row in read_hardware().rows)
        raise ImportRefused(
            f"'{machine}' is no accelerator of params/hardware.yaml; there are: {known}",
            "add a row with its source to params/hardware.yaml",
        )
    if path is not None and path.suffix in (".yaml", ".yml"):
        return Declared(machine=machine, accelerators=accelerators, shapes=read_shapes(path))
    if path is not None and not one_record:
        raise ImportRefused(
            "weights are those of one record; for several give a .yaml file of the form of params/shapes.yaml",
            "name the one record they belong to",
        )
    shape = None if path is None else read_shape(path)
    return Declared(machine=machine, accelerators=accelerators, shape=shape)


def imported_ceilings(record: ImportedRecord, declared: Declared, tables: Tables) -> ImportedCeilings:
    """What bounds a record; the file goes before what is declared."""
    gaps: list[Gap] = []
    named = record.machine.name or declared.machine
    row = tables.hardware.find(named)
    if row is None:
        gaps.append("machine" if named is None else "machine-row")
    count = record.machine.accelerators or declared.accelerators
    if count is None and row is not None:
        gaps.append("accelerators")
    known = None
    for table in (declared.shapes, tables.shapes):
        known = known or (table.find(record.model.name, record.model.quantization) if table else None)
    shape = declared.shape or (known.shape if known else None)
    if shape is None:
        gaps.append("model" if record.model.name is None else "shape")
    stated = _stated(record, count or 1)
    if stated.prompt_tokens is None or stated.answer_tokens is None:
        gaps.append("lengths")
    if stated.streams is None:
        gaps.append("streams")
    if stated.drafts is None:
        gaps.append("drafting")
    if stated.tpot_s is None:
        gaps.append("tpot")
    gaps.append("prefill-time")
    if stated.output_tok_per_s is None:
        gaps.append("output")
    # without the number of accelerators one of them would give a ceiling that is too low
    found = stated_ceilings(row, shape, stated) if row is not None and shape is not None and count else None
    if found is not None and found.no_kv == "format-unknown":
        gaps.append("kv-format")
    elif found is not None and found.no_kv is not None:
        gaps.append("kv-cost")
    if found is not None:
        gaps.append("compute" if found.compute is None else "compute-format")
    noted = next((one.value for one in record.from_notes if one.condition is Condition.KV_CACHE_TOKENS), None)
    at_most = None
    if found is None and row is not None and count and stated.tpot_s:
        at_most = bytes_at_most(row.memory_bandwidth_gb_s * count, stated.tpot_s) / 1e9
    return ImportedCeilings(
        ceilings=found,
        machine_from=None if row is None else "file" if record.machine.name else "declared",
        shape_from=None
        if shape is None
        else "declared"
        if declared.shape or (declared.shapes and known in declared.shapes.rows)
        else "table",
        shape_source=None if known is None or declared.shape else known.source,
        gaps=tuple(gaps),
        read_at_most_gb=at_most,
        kv_tokens_noted=noted if isinstance(noted, int) else None,
        sums=(*add_up(totals_of(record)), *_parts(record)),
    )


def totals_of(record: ImportedRecord) -> Totals:
    """Totals and rates as the file states them."""
    counts, tool = record.counts, record.source.tool

    def stated(*names: str) -> float | None:
        return next((value for name in names if (value := record.metric(name, None)) is not None), None)

    return Totals(
        requests=counts.requests,
        succeeded=counts.succeeded,
        failed=counts.failed,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        duration_s=counts.duration_s,
        request_rps=stated("request_rps_whole"),
        output_tok_per_s=stated("output_tok_per_s_whole"),
        input_tok_per_s=stated(f"{tool}:input_throughput"),
        total_tok_per_s=stated(f"{tool}:total_tok_s", f"{tool}:total_token_throughput", f"{tool}:total_throughput"),
        e2e_mean_s=next(
            (value for name in LATENCIES if (value := record.metric(name.format(tool=tool), "mean")) is not None), None
        ),
        concurrency=record.load.concurrency if record.load.arrival == "closed" else None,
    )


def _parts(record: ImportedRecord) -> Iterator[Sum]:
    """Totals beside the sums of their parts, where the file holds all of them: its rows, and the round they are of."""
    counts, chosen = record.counts, record.chosen_iteration
    rows = [one for one in record.requests if not one.warmup and one.succeeded is not False]
    rows = [one for one in rows if chosen is None or one.iteration in (None, chosen)]
    found: list[tuple[str, int | None, list[int | None]]] = []
    if rows and len(rows) == counts.succeeded:
        found.append(("row_input_tokens", counts.input_tokens, [one.prompt_tokens for one in rows]))
        found.append(("row_output_tokens", counts.output_tokens, [one.completion_tokens for one in rows]))
    if chosen is not None:
        found.append(("round_output_tokens", counts.output_tokens, [record.iterations[chosen].output_tokens]))
    for name, stated, parts in found:
        known = [one for one in parts if one is not None]
        if stated is not None and len(known) == len(parts):
            whole = {"name": name, "stated": stated, "follows": sum(known), "agrees": sum(known) == stated}
            yield Sum.model_validate(whole)


LATENCIES = ("e2e_latency_s", "{tool}:e2e", "{tool}:e2el", "{tool}:e2e_latency", "{tool}:request_latency")
"""Names of the latency of a whole request."""

TOKEN_TIMES = ("tpot_s", "{tool}:tpot", "{tool}:inter_token_latency")
"""Names of the time for each token after the first that leave the TTFT out."""


def _stated(record: ImportedRecord, ranks: int) -> Stated:
    counts, drafts = record.counts, record.speculation
    whole = not counts.failed and counts.succeeded
    kv = next((one.value for one in record.from_notes if one.condition is Condition.KV_CACHE_DTYPE), None)
    kv = record.named(Condition.KV_CACHE_DTYPE) if kv is None else kv
    names = [name.format(tool=record.source.tool) for name in TOKEN_TIMES]
    times = [record.metric(name, statistic) for name in names for statistic in ("p50", "mean")]
    if record.pacing is not None and record.pacing.tpot_mean_s is not None:  # by the server's tokens
        times.insert(0, record.pacing.tpot_mean_s)
    return Stated(
        ranks=ranks,
        prompt_tokens=counts.input_tokens / whole if whole and counts.input_tokens is not None else None,
        answer_tokens=counts.output_tokens / whole if whole and counts.output_tokens is not None else None,
        streams=record.load.concurrency if record.load.arrival == "closed" else None,
        tpot_s=next((one for one in times if one), None),
        output_tok_per_s=record.metric("output_tok_per_s_whole", None),
        kv_cache=kv if isinstance(kv, str) else None,
        drafts=None if drafts is None else drafts.method != "off",
        draft_tokens=None if drafts is None else drafts.tokens,
    )
