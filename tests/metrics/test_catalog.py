"""Metrics a reader can check in the head: send at 0, tokens at 0.1, 0.2, 0.3."""

from __future__ import annotations

from typing import Any

import pytest

from lab.metrics.catalog import (
    PER_LEVEL,
    PER_REQUEST,
    e2e_intended_s,
    e2e_latency_s,
    keeps,
    measure_level,
    schedule_lag_s,
    steady_window,
    tpot_s,
    ttft_intended_s,
    ttft_s,
)
from lab.metrics.concerns import certificate_concern, most_in_flight
from lab.records import ChunkKind, Concern, ConcernCode, Outcome, RequestRecord
from lab.spec import Rung, Slo

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
    level = measure_level([record(), bad], Rung(concurrency=1))
    assert level.outcomes == {Outcome.SUCCESS: 1, Outcome.TIMEOUT: 1}
    assert (level.metrics["ttft_s"].n, level.success_rate) == (1, 0.5)


def test_warm_up_never_counts() -> None:
    assert measure_level([record(), record(warmup=True)], Rung(concurrency=1)).requests == 1


def test_a_level_without_success_has_no_number_and_a_reason() -> None:
    level = measure_level([record(outcome=Outcome.EMPTY)], Rung(concurrency=1))
    assert (level.metrics["ttft_s"].mean, level.metrics["ttft_s"].reason) == (None, "no request succeeded")
    assert set(level.scalars.values()) == {None}


def test_rates_have_numerator_and_denominator_of_one_window() -> None:
    # two streams in lockstep, three waves of 0.4 s with three tokens each: 2 * 3 / 0.4 = 15 tok/s, 2 / 0.4 = 5 req/s
    waves = [record(send) for send in (0.0, 0.4, 0.8) for _ in range(2)]
    level = measure_level(waves, Rung(concurrency=2))
    assert steady_window(waves, Rung(concurrency=2)) == pytest.approx((0.0, 1.2))
    assert level.scalars["output_tok_per_s"] == pytest.approx(15.0)
    assert level.scalars["request_rps"] == pytest.approx(5.0)
    assert level.scalars["output_tok_per_s_whole"] == pytest.approx(15.0)


def test_ramp_up_and_tail_are_outside_the_steady_window() -> None:
    # one slot starts 1 s late, the other runs on alone at the end: the window is where both are in flight
    records = [record(0.0, end_s=2.0), record(1.0, end_s=3.0), record(2.0, end_s=5.0)]
    assert steady_window(records, Rung(concurrency=2)) == pytest.approx((1.0, 3.0))
    assert steady_window(records, Rung(concurrency=4)) is None


def test_without_usage_there_is_no_token_rate() -> None:
    level = measure_level([record(completion_tokens=None)], Rung(concurrency=1))
    assert level.scalars["output_tok_per_s"] is None
    assert level.scalars["request_rps"] == pytest.approx(2.5)


def test_every_metric_of_a_level_is_in_the_catalogue() -> None:
    level = measure_level([record()], Rung(concurrency=1))
    assert set(level.metrics) == set(PER_REQUEST)
    assert set(level.scalars) == set(PER_LEVEL)
    entries = [metric for metric, _ in PER_REQUEST.values()] + list(PER_LEVEL.values())
    assert all(entry.unit and entry.formula and entry.source and entry.differs for entry in entries)


def test_latency_from_the_intended_send_contains_the_wait_in_the_client() -> None:
    late = record(0.5, intended_send_s=0.3)
    assert schedule_lag_s(late) == pytest.approx((0.2,))
    assert ttft_intended_s(late) == pytest.approx((0.3,))
    assert e2e_intended_s(late) == pytest.approx((0.5,))


def test_goodput_counts_what_keeps_every_limit() -> None:
    # four requests of 0.4 s in two waves of two: 5 req/s; half of them have their first token at 0.1, half at 0.25
    slow = {"chunk_s": (0.05, 0.25, 0.27, 0.3, 0.35)}
    records = [record(), record(**slow), record(0.4), record(0.4, chunk_s=tuple(0.4 + s for s in slow["chunk_s"]))]
    level = measure_level(records, Rung(concurrency=2), Slo(ttft_s=0.2))
    assert level.scalars["request_rps"] == pytest.approx(5.0)
    assert level.scalars["goodput_rps"] == pytest.approx(2.5)
    none = measure_level(records, Rung(concurrency=2), Slo(ttft_s=0.01))
    assert none.scalars["goodput_rps"] == 0.0
    assert measure_level(records, Rung(concurrency=2)).scalars["goodput_rps"] is None


def test_a_limit_that_cannot_be_checked_is_not_kept() -> None:
    assert keeps(record(), Slo(tpot_s=0.2))
    assert not keeps(record(completion_tokens=None), Slo(tpot_s=0.2))


def test_the_window_of_an_open_loop_is_from_first_to_last_send() -> None:
    records = [record(0.0), record(1.0), record(3.0)]
    assert steady_window(records, Rung(rate_rps=1.0)) == pytest.approx((0.0, 3.0))
    assert steady_window(records[:1], Rung(rate_rps=1.0)) is None


def codes(level_records: list[RequestRecord], rung: Rung) -> dict[ConcernCode, Concern]:
    return {concern.code: concern for concern in measure_level(level_records, rung).concerns}


def test_an_open_loop_that_was_late_is_invalid() -> None:
    rung = Rung(rate_rps=1.0)
    late = [record(float(i), intended_send_s=i - 0.02) for i in range(40)]
    concern = codes(late, rung)[ConcernCode.SCHEDULE_LAG]
    assert (concern.value, concern.limit) == (pytest.approx(0.02), 0.010)
    assert not measure_level(late, rung).valid
    assert measure_level([record(float(i)) for i in range(40)], rung).concerns == ()
    assert ConcernCode.SCHEDULE_LAG not in codes(late, Rung(concurrency=1))


def test_shaky_levels_say_why() -> None:
    rung = Rung(concurrency=1)
    assert codes([record()], rung)[ConcernCode.FEW_REQUESTS].value == 1.0
    slower = [
        record(float(i), chunk_s=tuple(i + s * (1 if i < 20 else 2) for s in (0.05, 0.1, 0.2, 0.3, 0.35)))
        for i in range(40)
    ]
    assert codes(slower, rung)[ConcernCode.DRIFT].value == pytest.approx(1.0)
    one_slow = [
        record(float(i), chunk_s=tuple(i + s * (10 if i == 7 else 1) for s in (0.05, 0.1, 0.2, 0.3, 0.35)))
        for i in range(40)
    ]
    assert codes(one_slow, rung)[ConcernCode.OUTLIERS].value == pytest.approx(10.0)
    lengths = [record(float(i), completion_tokens=3 + i % 2) for i in range(40)]
    assert ConcernCode.LENGTHS_DIFFER in codes(lengths, rung)
    assert (
        codes([record(float(i), completion_tokens=None) for i in range(40)], rung)[ConcernCode.NO_USAGE].value == 40.0
    )


def test_streams_in_flight_are_counted_and_held_against_the_certificate() -> None:
    from tests.metrics.test_instrument import certificate

    records = [record(0.0), record(0.1), record(0.5)]
    assert most_in_flight(records) == 2
    assert certificate_concern(records, Rung(rate_rps=9.0), None) == Concern(code=ConcernCode.NO_CERTIFICATE)
    assert certificate_concern(records, Rung(rate_rps=9.0), certificate(held=2)) is None
    assert certificate_concern(records, Rung(concurrency=3), certificate(held=2)) == Concern(
        code=ConcernCode.BEYOND_CERTIFICATE, value=3.0, limit=2.0
    )
