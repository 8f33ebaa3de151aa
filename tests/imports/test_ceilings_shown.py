"""What an imported record's own totals and speed say, beside the hardware and the model it names."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab.errors import ImportRefused
from lab.imports.ceilings import Declared, ImportedCeilings, Tables, declare, imported_ceilings
from lab.imports.record import ImportedRecord
from lab.limits import ModelShape
from lab.report.imported_ceilings import ceilings_of_imports
from lab.report.messages import LANGS, messages
from lab.shapes import ShapeTable, read_shapes
from lab.showing_imported import describe_imported
from tests.test_cli import lab
from tests.test_model_shape import write_gguf

GB = 10**9
SHAPE = ModelShape(weight_bytes=28 * GB, read_bytes=2730 * 10**7, kv_width=1000)
"""27.3 GB a token: ten tokens a second from the 273 GB/s of a GB10; 1,000 bytes a token in an 8-bit KV cache."""


def record(
    machine: str | None = "nvidia-gb10-dgx-spark", tpot_s: float = 0.1, many: int | None = 1, **changes: Any
) -> ImportedRecord:
    """One stream, a token every `tpot_s`, ten of them a second, on one accelerator; drafting is off."""
    source = {
        "tool": "inference-atlas", "tool_version": None, "file": "a.json", "sha256": "0" * 64, "size_bytes": 1,
        "licence": None, "licence_from": None, "credit": None, "republish": "not-stated",
        "units": "in-the-names", "lab_version": "1",
        "importer_version": 1,
    }  # fmt: skip
    rate = {"name": "output_tok_per_s_whole", "statistic": None, "value": 10.0, "unit": "tok/s", "differs": None}
    tpot = {"name": "inference-atlas:tpot", "statistic": "p50", "value": tpot_s, "unit": "s", "differs": "theirs"}
    whole: dict[str, Any] = {
        "run_id": "r-aaaaaaaaaa", "imported_at": datetime(2026, 11, 1, tzinfo=UTC), "source": source,
        "model": {"name": "maker/model", "quantization": "four-bit"},
        "machine": {"name": machine, "accelerators": many}, "load": {"arrival": "closed", "concurrency": 1},
        "counts": {"requests": 10, "succeeded": 10, "input_tokens": 0, "output_tokens": 0},
        "metrics": [{**rate, "key": "a"}, {**tpot, "key": "b"}],
        "speculation": {"method": "off"},
    }  # fmt: skip
    return ImportedRecord.model_validate(whole | changes)


def bounds(one: ImportedRecord, shape: ModelShape | None = SHAPE, **declared: Any) -> ImportedCeilings:
    return imported_ceilings(one, Declared(shape=shape, **declared), Tables())


def shown(one: ImportedRecord, found: ImportedCeilings, lang: str = "en") -> str:
    """A record as a person reads it, spaces made single."""
    out = io.StringIO()
    describe_imported(one, found, lang, Console(file=out, width=400))
    return " ".join(out.getvalue().split())


def test_bandwidth_over_bytes_is_the_ceiling_and_the_share_stands_beside_the_number() -> None:
    found = bounds(record(tpot_s=0.2))
    assert found.ceilings is not None
    (level,) = found.ceilings.levels
    assert (level.stream.ceiling, level.stream.value, level.stream.share) == (10.0, 5.0, 0.5)
    assert (level.output.share, found.machine_from, found.shape_from) == (1.0, "file", "declared")
    assert "50.0 %; 5.00 of 10.0 tok/s, bound by memory" in shown(record(tpot_s=0.2), found)


@pytest.mark.parametrize(
    ("speculation", "share", "above"),
    [
        ({"method": "off"}, 2.0, ()),
        ({"method": "mtp", "tokens": 3}, 2.0, ("speculative",)),
        ({"method": "mtp", "tokens": 3}, 5.0, ()),  # three drafted tokens make four of a step, never five
        (None, 2.0, ("speculative-unknown",)),
    ],
)
def test_a_number_above_its_ceiling_has_a_reason_or_is_not_plausible(
    speculation: dict[str, Any] | None, share: float, above: tuple[str, ...]
) -> None:
    found = bounds(record(tpot_s=0.1 / share, speculation=speculation))
    assert found.ceilings is not None
    stream = found.ceilings.levels[0].stream
    assert (stream.share, stream.above, stream.implausible) == (pytest.approx(share), above, not above)


def test_the_kv_cache_fills_what_the_weights_leave() -> None:
    fp8 = [{"name": "kv-cache-dtype", "value": "fp8", "condition": "kv_cache_dtype"}]
    found = bounds(record(settings=fp8))
    assert found.ceilings is not None
    assert found.ceilings.kv_capacity_tokens == 100_000_000  # 128 GB less 28, 1,000 bytes each
    assert "kv-format" in bounds(record()).gaps


def test_what_is_missing_is_named_with_what_to_do() -> None:
    found = bounds(record(machine=None), shape=None)
    assert found.ceilings is None and found.gaps[:2] == ("machine", "shape")
    text = shown(record(machine=None), found)
    assert "--machine NAME --accelerators N" in text and "params/shapes.yaml has no row" in text
    assert "params/hardware.yaml" in shown(record("abacus"), bounds(record("abacus")))


def test_without_a_shape_the_ceiling_is_turned_round() -> None:
    found = bounds(record(), shape=None)
    assert found.read_at_most_gb == pytest.approx(27.3)  # 273 GB/s over a tenth of a second
    assert "at most 27.3 GB can have been read" in shown(record(), found)


def test_a_machine_can_be_declared_where_the_file_names_none() -> None:
    silent = record(machine=None, many=None)
    found = bounds(silent, machine="NVIDIA GB10", accelerators=2)
    assert found.ceilings is not None
    assert (found.machine_from, found.ceilings.bandwidth_gb_s) == ("declared", 546)
    assert bounds(silent, machine="NVIDIA GB10").gaps[:1] == ("accelerators",)


def test_stated_rates_are_held_against_stated_totals() -> None:
    def sums(**counts: Any) -> str:
        one = record(counts=counts)
        return shown(one, bounds(one))

    assert "output tokens a second: 10.00 stated, 10.00 follows: add up" in sums(output_tokens=100, duration_s=10.0)
    assert "10.00 stated, 20.00 follows: do not add up" in sums(output_tokens=200, duration_s=10.0)
    assert "no totals that could be held against each other" in sums()


def test_totals_are_held_against_the_rows_where_all_of_them_are_there() -> None:
    rows = [{"warmup": True, "prompt_tokens": 9, "completion_tokens": 9}]
    rows += [{"warmup": False, "succeeded": True, "prompt_tokens": 5, "completion_tokens": n} for n in (3, 4)]
    counts = {"succeeded": 2, "input_tokens": 10, "output_tokens": 8}
    found = {one.name: one for one in bounds(record(counts=counts, requests=rows)).sums}
    assert found["row_input_tokens"].agrees and not found["row_output_tokens"].agrees  # 3 and 4 are not 8
    assert found["row_output_tokens"].follows == 7
    some = bounds(record(counts=counts, requests=rows[:2])).sums
    assert not [one for one in some if one.name.startswith("row")]
    rounds = [{"output_tokens": 1}, {"output_tokens": 8}]
    (one,) = bounds(record(counts=counts, iterations=rounds, chosen_iteration=1)).sums
    assert (one.name, one.agrees) == ("round_output_tokens", True)


def test_a_table_of_shapes_of_ones_own_goes_before_the_labs(tmp_path: Path) -> None:
    row = "- {models: [Maker/Model], quantizations: [Four-Bit], source: a book, read: 2026-11, shape: "
    path = tmp_path / "mine.yaml"
    path.write_text(f"rows:\n  {row}{{weight_bytes: 1, read_bytes: 1}}}}\n", encoding="utf-8")
    found = imported_ceilings(record(), declare(path, None, None, one_record=False), Tables())
    assert (found.shape_from, found.shape_source) == ("declared", "a book")
    weights = write_gguf(tmp_path / "model.gguf")
    assert declare(weights, None, None, one_record=True).shape is not None
    with pytest.raises(ImportRefused, match="those of one record"):
        declare(weights, None, None, one_record=False)
    with pytest.raises(ImportRefused, match="no accelerator of params/hardware"):
        declare(None, "abacus", None, one_record=True)


def test_rows_of_shapes_have_sources_and_a_quantization_that_only_resembles_is_not_it() -> None:
    table = read_shapes()
    assert all(len(row.source) > 20 and row.shape.read_bytes < row.shape.weight_bytes for row in table.rows)
    keys = [(model, one) for row in table.rows for model in row.models for one in (row.quantizations or ("",))]
    assert len(keys) == len(set(keys))
    first = table.rows[0]
    assert table.find(first.models[0].upper(), first.quantizations[0]) is first
    assert table.find(first.models[0], "nvfp4") is None and table.find(None, None) is None
    assert ShapeTable(rows=table.rows).find("model", None) is None


@pytest.mark.parametrize("lang", LANGS)
def test_the_table_has_a_row_for_a_record_with_a_ceiling_and_for_one_without(lang: str) -> None:
    named = [("r-aaaaaaaaaa", "P", bounds(record())), ("r-bbbbbbbbbb", "Q", bounds(record("abacus"), shape=None))]
    table = ceilings_of_imports(named, messages(lang))
    assert [len(row.cells) for row in table.rows] == [5, 2]
    assert table.rows[0].cells[1].lines[0].text == "100 %"
    assert "params/hardware.yaml" in table.rows[1].cells[1].lines[0].text


def test_a_run_measured_here_takes_no_machine_and_a_file_that_names_one_neither(tmp_path: Path) -> None:
    from tests.imports.others_files import atlas_record, write

    where = ("--runs-dir", str(tmp_path / "runs"))
    said = lab("import", "inference-atlas", str(write(tmp_path, "p.json", atlas_record("P"))), *where).stdout
    refused = lab("show", said[:12], "--machine", "NVIDIA L4", *where)
    assert refused.returncode == 2 and "the file names its machine, a-box" in refused.stderr
