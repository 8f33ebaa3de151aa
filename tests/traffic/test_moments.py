"""Rates, burstiness and requests in flight, from moments that a reader can count."""

from __future__ import annotations

import pytest

from lab.traffic.moments import Moments

T0 = 1.7e9


def moments(*at: float, took_s: float | None = None, calendar: bool = True) -> Moments:
    found = Moments("log", None)
    for one in at:
        found.add(T0 + one if calendar else one, calendar, took_s)
    return found


def test_even_arrivals_have_no_spread_and_pairs_have_some() -> None:
    even, _ = moments(*range(101)).arrivals()
    assert even is not None and (even.span_s, even.rate_rps, even.gap_cv, even.ties) == (100, 1.0, 0.0, 0)
    assert even.dispersion[0].index == 0.0 and even.peak_to_mean == 1.0
    pairs, _ = moments(*(i // 2 * 2 for i in range(202))).arrivals()
    assert pairs is not None and pairs.ties == 101 and pairs.step_s == 2.0
    assert pairs.gap_cv == pytest.approx(1.0, abs=0.01)  # gaps of 0 and 2 in turn: mean 1, deviation 1


def test_in_flight_is_the_time_spent_over_the_time_there_was() -> None:
    found, _ = moments(*range(0, 7201, 10), took_s=25.0).in_flight()
    assert found is not None and found.peak == 3
    assert found.mean == pytest.approx(2.5, abs=0.01)  # 25 s of each every 10 s
    assert found.hour_mean == pytest.approx(2.5) and found.low == pytest.approx(2.5)


def test_the_fullest_hour_is_found() -> None:
    quiet = [i * 60.0 for i in range(60)]
    busy = [3600 + i * 6.0 for i in range(600)]
    found, _ = moments(*quiet, *busy, 7260.0, took_s=30.0).in_flight()
    assert found is not None and found.hour_mean == pytest.approx(5.0, abs=0.05)
    assert found.low is not None and found.high is not None and found.low <= found.hour_mean <= found.high


@pytest.mark.parametrize(("found", "why"), [
    (moments(), "no-moments"), (moments(*range(5)), "few-moments"), (moments(*[3] * 30), "no-span"),
    (moments(*range(30), calendar=False), "unit-open"),
])  # fmt: skip
def test_what_the_clock_does_not_say_is_not_said(found: Moments, why: str) -> None:
    assert found.arrivals() == (None, why)
    assert found.in_flight()[0] is None


def test_durations_are_needed_of_nearly_all() -> None:
    assert moments(*range(100)).in_flight() == (None, "no-durations")
    half = Moments("log", None)
    for i in range(100):
        half.add(T0 + i, True, 1.0 if i % 2 else None)
    assert half.in_flight() == (None, "few-durations")


def test_a_clock_that_goes_back_is_counted_and_sorted() -> None:
    found = moments(0, 5, 3, *range(6, 40), 10)
    clock = found.clock()
    assert (clock.back, clock.back_s) == (2, 29.0)
    arrivals, _ = found.arrivals()
    assert arrivals is not None and arrivals.span_s == 39


def test_a_trace_counts_milliseconds_unless_it_has_parts_of_them() -> None:
    trace = Moments("mooncake", None)
    for i in range(30):
        trace.add(i * 1000.0, False, None)
    arrivals, _ = trace.arrivals()
    assert arrivals is not None and arrivals.span_s == 29
    parts = Moments("mooncake", None)
    for i in range(30):
        parts.add(i * 1.5, False, None)
    assert parts.arrivals() == (None, "unit-open")
