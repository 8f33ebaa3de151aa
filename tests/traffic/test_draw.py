"""What is drawn from a file has the file's lengths, share of shared prefixes and gaps, whole or in part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.traffic.reading import Measured, measure
from tests.traffic.logs import MOONCAKE, answered, busy_log, chat, words, written


def drawn(path: Path, most: int) -> Measured:
    return measure(path, encode_all=words, most_requests=most)


def test_a_file_that_fits_is_drawn_whole_and_exactly(tmp_path: Path) -> None:
    found = drawn(written(tmp_path, busy_log(300)), 512)
    assert found.everything and len(found.rows) == 300 and found.no_rows == 0
    prefixes, lengths = found.shape.prefixes, found.shape.input
    assert prefixes is not None and lengths is not None
    assert sum(row.shared_tokens for row in found.rows) == prefixes.shared
    assert sum(row.input_tokens for row in found.rows) == prefixes.total
    assert sorted(row.input_tokens for row in found.rows)[149] == lengths.p50
    at = [row.at_s for row in found.rows if row.at_s is not None]
    assert found.shape.arrivals is not None
    assert at[-1] == pytest.approx(found.shape.arrivals.span_s, abs=1e-3)


def test_rows_name_whom_they_are_like(tmp_path: Path) -> None:
    log = [answered(chat("a b c d"), "x"), answered(chat("a b e"), "x y"), answered(chat("a b e f g"), "x")]
    rows = drawn(written(tmp_path, log), 16).rows
    assert [(row.input_tokens, row.output_tokens, row.shared_tokens, row.like) for row in rows] == [
        (4, 1, 0, None), (3, 2, 2, 0), (5, 1, 3, 1)]  # fmt: skip


def test_a_part_of_a_file_keeps_its_share_its_lengths_and_its_rhythm(tmp_path: Path) -> None:
    # Requests that were drawn lose whom they began like, and get another one. What stays of the difference is the
    # error of drawing 512 of 4,000: about 1 point of the share, and the first prompts of a cold start.
    found = drawn(written(tmp_path, busy_log(4000)), 512)
    prefixes, lengths, arrivals = found.shape.prefixes, found.shape.input, found.shape.arrivals
    assert not found.everything and len(found.rows) == 512
    assert prefixes is not None and lengths is not None and arrivals is not None and arrivals.gap_cv is not None
    total = sum(row.input_tokens for row in found.rows)
    assert sum(row.shared_tokens for row in found.rows) / total == pytest.approx(prefixes.share, abs=0.04)
    inputs = np.array([row.input_tokens for row in found.rows])
    for share, wanted in ((0.25, lengths.p25), (0.5, lengths.p50), (0.75, lengths.p75), (0.9, lengths.p90)):
        assert np.quantile(inputs, share) == pytest.approx(wanted, rel=0.15)
    gaps = np.diff([row.at_s or 0.0 for row in found.rows])
    assert gaps.std() / gaps.mean() == pytest.approx(arrivals.gap_cv, rel=0.25)
    assert 1 / gaps.mean() == pytest.approx(arrivals.rate_rps, rel=0.25)


def test_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, busy_log(600))
    assert drawn(path, 64).rows == drawn(path, 64).rows
    assert measure(path, encode_all=words, most_requests=64, seed=2).rows != drawn(path, 64).rows


def test_a_trace_is_drawn_with_its_blocks(tmp_path: Path) -> None:
    rows = drawn(written(tmp_path, MOONCAKE), 16).rows
    assert [(row.input_tokens, row.output_tokens, row.shared_tokens) for row in rows] == [
        (6755, 500, 0), (7319, 490, 512), (7234, 794, 512), (2287, 316, 512)]  # fmt: skip
    assert all(row.at_s is None for row in rows)  # four moments are too few to call a rhythm


def test_requests_without_both_lengths_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, [answered(chat("a b"), "x"), chat("c d"), chat("e f")])
    found = drawn(path, 16)
    assert (len(found.rows), found.no_rows) == (1, 2)
    said = measure(path, encode_all=words, output_tokens=9)
    assert ([row.output_tokens for row in said.rows], said.no_rows) == ([1, 9, 9], 0)
