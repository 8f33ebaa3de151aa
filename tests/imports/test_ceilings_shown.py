"""What an imported record's own totals and speed say, beside the hardware it names."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from lab.imports.record import ImportedRecord
from lab.showing_imported import describe_imported


def shown(machine: str | None, **counts: Any) -> str:
    """A record with one token every 0.1 s, as a person reads it, spaces made single."""
    source = {
        "tool": "inference-atlas", "tool_version": None, "file": "a.json", "sha256": "0" * 64, "size_bytes": 1,
        "licence": None, "licence_from": None, "credit": None, "republish": "not-stated",
        "units": "in-the-names", "lab_version": "1",
        "importer_version": 1,
    }  # fmt: skip
    metrics = [
        {
            "name": "output_tok_per_s_whole",
            "statistic": None,
            "value": 10.0,
            "unit": "tok/s",
            "key": "a",
            "differs": None,
        },
        {"name": "t:tpot", "statistic": "p50", "value": 0.1, "unit": "s", "key": "b", "differs": "theirs"},
    ]
    record = ImportedRecord.model_validate(
        {
            "run_id": "r-aaaaaaaaaa", "imported_at": datetime(2026, 11, 1, tzinfo=UTC), "source": source,
            "machine": {"name": machine}, "counts": counts, "metrics": metrics,
        }
    )  # fmt: skip
    out = io.StringIO()
    describe_imported(record, (), Console(file=out, width=400))
    return " ".join(out.getvalue().split())


def test_a_token_every_tenth_of_a_second_read_at_most_a_tenth_of_the_bandwidth() -> None:
    assert "273 GB/s over its t:tpot p50 read at most 27.3 GB a token" in shown("nvidia-gb10-dgx-spark")


def test_without_a_row_or_a_name_there_is_no_ceiling() -> None:
    assert "no ceiling: its accelerator is not in params/hardware.yaml" in shown("abacus")
    assert "no ceiling: the file names no accelerator" in shown(None)


def test_stated_rates_are_held_against_stated_totals() -> None:
    assert "adds up output_tok_per_s yes" in shown(None, output_tokens=100, duration_s=10.0)
    assert "output_tok_per_s no: 10 stated, 20 follows" in shown(None, output_tokens=200, duration_s=10.0)
    assert "no totals that could be held against each other" in shown(None)
