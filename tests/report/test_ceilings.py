"""The ceiling beside the number, on the page and in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from lab.report.build import build_pages
from lab.report.ceilings import ceiling_facts, ceilings_table
from lab.report.grid import Cell
from lab.report.ladders import throughput_table
from lab.report.messages import messages
from tests.report.report_examples import level, run

KNOWN: dict[str, Any] = {
    "computes_on": "gpu",
    "accelerator": "Card",
    "ranks": 2,
    "bandwidth_gb_s": 200.0,
    "read_bytes": 10**9,
    "weight_bytes": 2 * 10**9,
    "kv_bytes_per_token": 1000.0,
    "memory_bytes": 12 * 10**9,
    "kv_capacity_tokens": 10_000_000,
    "sources": ["a book about cards"],
    "sums": {
        "engine_output": 60.0, "client_output": 60, "engine_prompt": None, "client_prompt": 200, "client_cached": None,
        "whole": True, "output_agrees": True, "prompt_agrees": None,
    },
}  # fmt: skip


def reached(value: float | None, ceiling: float | None, *above: str) -> dict[str, Any]:
    return {"ceiling": ceiling, "bound": "memory", "value": value, "above": list(above)}


def with_ceilings(streams: int = 1, **changes: Any) -> Any:
    """One level; one stream reached 50 of 200 tok/s, all together 40 of 160, the prompt 500 of 1,000."""
    sides = {"stream": reached(50, 200), "output": reached(40, 160), "prefill": reached(500, 1000)}
    one = {"context_tokens": 100.0, "streams": streams, **(sides | changes)}
    return run(levels=[level(streams, 40.0)], ceilings={**KNOWN, "levels": [one]})


def texts(cell: Cell) -> list[str]:
    return [line.text for line in cell.lines]


def test_the_share_stands_over_the_value_and_its_ceiling() -> None:
    (row,) = ceilings_table((with_ceilings(),), messages("en")).rows
    assert [texts(cell) for cell in row.cells[2:]] == [
        ["25.0 %", "50.0 of 200 tok/s, bound by memory"],
        ["25.0 %", "40.0 of 160 tok/s, bound by memory"],
        ["50.0 %", "500 of 1,000 tok/s, bound by memory"],
    ]


def test_the_share_stands_beside_the_output_in_the_ladder() -> None:
    (row, *_) = throughput_table((with_ceilings(),), messages("en")).rows
    assert "25.0 % of the ceiling" in texts(row.cells[3])[1]
    (bare, *_) = throughput_table((run(levels=[level(1, 40.0)]),), messages("en")).rows
    assert "ceiling" not in "".join(texts(bare.cells[3]))


def test_with_several_streams_a_prompt_has_no_ceiling_of_its_own() -> None:
    (row,) = ceilings_table((with_ceilings(streams=2),), messages("en")).rows
    assert texts(row.cells[-1])[0] == "—"
    assert "only at one stream" in texts(row.cells[-1])[1]


@pytest.mark.parametrize(
    ("above", "words"),
    [((), "not plausible"), (("speculative",), "tokens are drafted ahead"), (("processor-cache",), "stays in the")],
)
def test_a_value_above_shows_its_reason_or_that_it_has_none(above: tuple[str, ...], words: str) -> None:
    (row,) = ceilings_table((with_ceilings(stream=reached(400, 200, *above)),), messages("en")).rows
    first, _, last = row.cells[2].lines
    assert (first.text, words in last.text) == ("200 %", True)
    assert (last.style == "missing") is not bool(above)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_run_without_a_ceiling_says_why(lang: str) -> None:
    t = messages(lang)
    reasons = [None, {"reason": "not-in-table"}, {"reason": "no-weights"}]
    runs = tuple(run(launch=str(n), levels=[level(1, 40.0)], ceilings=one) for n, one in enumerate(reasons))
    shown = [texts(row.cells[1])[0] for row in ceilings_table(runs, t).rows]
    keys = ("not-recorded", "not-in-table", "no-weights")
    assert shown == [t("ceiling-none", why=t(f"no-ceiling-{key}")) for key in keys]
    assert "params/hardware.yaml" in shown[1]


def test_the_card_shows_what_bounds_the_run_and_whether_the_counts_add_up() -> None:
    facts = {title: value for title, value, _ in ceiling_facts(with_ceilings().ceilings, messages("en"))}
    assert facts["What bounds it"].startswith("Card, × 2, 200 GB/s (from the table); 1.00 GB of weights")
    assert facts["KV cache"].startswith("1,000 bytes a token; 10,000,000 tokens fit")
    assert facts["Source of the hardware's values"] == "a book about cards"
    assert "client 60, engine 60: add up" in facts["Counts of the engine and of the client"]
    assert "engine not counted: cannot be held against" in facts["Counts of the engine and of the client"]


def test_both_pages_carry_the_ceilings() -> None:
    pages = build_pages((with_ceilings(),))
    assert all(b'id="ceilings-table"' in page and b"a book about cards" in page for page in pages.values())
