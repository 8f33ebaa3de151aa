"""A stored bundle gives the same numbers for ever: records of one day, metrics of every later one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from lab.evidence import EvidenceStore
from tests.conftest import CHECKOUT

STORE = EvidenceStore(CHECKOUT / "tests" / "data")
RUN_ID = "r-storedbndl"


def leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document with its place; numbers are compared to the last few bits."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if pairs is None:
        yield path, data
        return
    for key, value in pairs:
        yield from leaves(value, f"{path}.{key}")


def test_every_metric_is_what_it_was() -> None:
    expected = json.loads((STORE.root / f"{RUN_ID}.metrics.json").read_text(encoding="utf-8"))
    got = json.loads(STORE.metrics_json(RUN_ID))
    assert list(leaves(got)) == [(path, pytest.approx(value)) for path, value in leaves(expected)]


def test_the_numbers_are_those_a_reader_gets_from_the_raw_table() -> None:
    rows = [row for row in pq.read_table(STORE.path(RUN_ID) / "requests.parquet").to_pylist() if not row["warmup"]]
    for index, level in enumerate(STORE.read(RUN_ID).levels):
        ours = [row for row in rows if row["level"] == index]
        first = [
            next(s for s, kind in zip(row["chunk_s"], row["chunk_kind"], strict=True) if kind == "content")
            - row["send_s"]
            for row in ours
        ]
        assert level.metrics["ttft_s"].mean == pytest.approx(sum(first) / len(first))
        whole_s = max(row["end_s"] for row in ours) - min(row["send_s"] for row in ours)
        tokens = sum(row["completion_tokens"] for row in ours)
        assert level.scalars["output_tok_per_s_whole"] == pytest.approx(tokens / whole_s)
