"""Metrics a reader can check in the head: send at 0, tokens at 0.1, 0.2, 0.3."""

from __future__ import annotations

from typing import Any

import pytest

from lab.metrics.catalog import PER_LEVEL, PER_REQUEST, e2e_latency_s, measure_level, steady_window, tpot_s, ttft_s
from lab.records import ChunkKind, Outcome, RequestRecord

ROLE, TEXT, FINISH, USAGE = ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.FINISH, ChunkKind.USAGE


def record(send: float = 0.0, **changes: Any) -> RequestRecord:
    values = {
        "level": 0, "index": 0, "intended_send_s": send, "send_s": send, "first_byte_s": send + 0.05,
        "end_s": send + 0.4, "status": 200, "chunk_s": tuple(send + s for s in (0.05, 0.1, 0.2, 0.3, 0.35)),
        "chunk_kind": (ROLE, TEXT, TEXT, TEXT, USAGE), "completion_tokens": 3, "asked_tokens": 3,
        "outcome": Outcome.SUCCESS,
    }  # fmt: skip
    return RequestRecord.model_validate(values | changes)


def test_first_token_is_the_first_chunk_that_carries_one() -> None:
    assert ttft_s(record()) == pytest.approx((0.1,))


def test_time_per_output_token_leaves_the_first_token_out() -> None:
    assert tpot_s(record()) == pytest.approx((0.1,))


def test_several_tokens_in_a_chunk_are_counted_by_the_server_not_by_chunks() -> None:
    assert tpot_s(record(completion_tokens=5)) == pytest.approx((0.05,))


@pytest.mark.parametrize(
    "changes",
    [
        {"completion_tokens": None},
        {"completion_tokens": 1},
        {"chunk_s": (0.3,) * 5},
        {"chunk_s": (0.1,), "chunk_kind": (TEXT,)},
    ],
    ids=["no usage", "one token", "all arrived at once", "one chunk"],
)
def test_what_cannot_be_divided_has_no_value(changes: dict[str, Any]) -> None:
    assert tpot_s(record(**changes)) == ()


def test_latency_ends_at_the_last_token_or_finish_chunk_not_at_usage_or_close() -> None:
    assert e2e_latency_s(record()) == pytest.approx((0.3,))
    assert e2e_latency_s(record(chunk_kind=(ROLE, TEXT, TEXT, TEXT, FINISH))) == pytest.approx((0.35,))


def test_failures_stay_out_of_latency_and_in_the_count() -> None:
    bad = record(outcome=Outcome.TIMEOUT, chunk_s=(), chunk_kind=(), end_s=9.0, completion_tokens=None)
    level = measure_level([record(), bad], 1)
    assert level.outcomes == {Outcome.SUCCESS: 1, Outcome.TIMEOUT: 1}
    assert (level.metrics["ttft_s"].n, level.success_rate) == (1, 0.5)


def test_warm_up_never_counts() -> None:
    assert measure_level([record(), record(warmup=True)], 1).requests == 1


def test_a_level_without_success_has_no_number_and_a_reason() -> None:
    level = measure_level([record(outcome=Outcome.EMPTY)], 1)
    assert (level.metrics["ttft_s"].mean, level.metrics["ttft_s"].reason) == (None, "no request succeeded")
    assert set(level.scalars.values()) == {None}


def test_rates_have_numerator_and_denominator_of_one_window() -> None:
    # two streams in lockstep, three waves of 0.4 s with three tokens each: 2 * 3 / 0.4 = 15 tok/s, 2 / 0.4 = 5 req/s
    waves = [record(send) for send in (0.0, 0.4, 0.8) for _ in range(2)]
    level = measure_level(waves, 2)
    assert steady_window(waves, 2) == pytest.approx((0.0, 1.2))
    assert level.scalars["output_tok_per_s"] == pytest.approx(15.0)
    assert level.scalars["request_rps"] == pytest.approx(5.0)
    assert level.scalars["output_tok_per_s_whole"] == pytest.approx(15.0)


def test_ramp_up_and_tail_are_outside_the_steady_window() -> None:
    # one slot starts 1 s late, the other runs on alone at the end: the window is where both are in flight
    records = [record(0.0, end_s=2.0), record(1.0, end_s=3.0), record(2.0, end_s=5.0)]
    assert steady_window(records, 2) == pytest.approx((1.0, 3.0))
    assert steady_window(records, 4) is None


def test_without_usage_there_is_no_token_rate() -> None:
    level = measure_level([record(completion_tokens=None)], 1)
    assert level.scalars["output_tok_per_s"] is None
    assert level.scalars["request_rps"] == pytest.approx(2.5)


def test_every_metric_of_a_level_is_in_the_catalogue() -> None:
    level = measure_level([record()], 1)
    assert set(level.metrics) == set(PER_REQUEST)
    assert set(level.scalars) == set(PER_LEVEL)
    entries = [metric for metric, _ in PER_REQUEST.values()] + list(PER_LEVEL.values())
    assert all(entry.unit and entry.formula and entry.source and entry.differs for entry in entries)
