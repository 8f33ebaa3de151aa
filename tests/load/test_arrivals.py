"""Moments of an open loop, and how exactly they are kept."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, pvariance

import pytest

from lab.load.arrivals import schedule
from lab.load.driver import LevelJob, run_load
from lab.metrics.catalog import schedule_lag_s
from lab.records import Outcome
from tests.load.test_driver import counting, job


def test_a_constant_rate_is_evenly_spaced() -> None:
    assert schedule("constant", 4.0, 5, None, seed=1) == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert schedule("constant", 4.0, 100, 0.5, seed=1) == (0.0, 0.25, 0.5)


def test_poisson_gaps_are_exponential_and_seeded() -> None:
    moments = schedule("poisson", 10.0, 20_000, None, seed=1)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    # an exponential gap has mean 1/10 and variance 1/100; twenty thousand of them are within a few percent
    assert fmean(gaps) == pytest.approx(0.1, rel=0.05)
    assert pvariance(gaps) == pytest.approx(0.01, rel=0.1)
    assert moments == schedule("poisson", 10.0, 20_000, None, seed=1)
    assert moments != schedule("poisson", 10.0, 20_000, None, seed=2)
    assert max(schedule("poisson", 10.0, 20_000, 1.0, seed=1)) <= 1.0


def test_requests_are_sent_in_order_never_early_and_both_moments_are_kept() -> None:
    offsets = schedule("constant", 100.0, 12, None, seed=1)
    with counting() as (url, server):
        result = run_load(job(url, LevelJob(None, (b"{}",) * 12, offsets_s=offsets)))
    assert [record.outcome for record in result.records] == [Outcome.SUCCESS] * 12
    intended = [record.intended_send_s for record in result.records]
    assert [later - intended[0] for later in intended] == pytest.approx(list(offsets))
    assert all(schedule_lag_s(record)[0] >= 0 for record in result.records)
    assert [int(seen.rpartition("m")[2]) for seen in server.seen] == list(range(12))


def test_an_open_loop_does_not_wait_for_a_slow_server() -> None:
    import threading

    # the server answers nobody before all eight have come: a closed loop of fewer would hang
    offsets = schedule("constant", 200.0, 8, None, seed=1)
    with counting(gate=threading.Barrier(8)) as (url, server):
        result = run_load(job(url, LevelJob(None, (b"{}",) * 8, offsets_s=offsets)))
    assert {record.outcome for record in result.records} == {Outcome.SUCCESS}
    assert server.most == 8


@pytest.mark.parametrize("offsets", [None, schedule("constant", 200.0, 10, None, seed=1)], ids=["closed", "open"])
def test_several_processes_send_every_request_once_and_merge_exactly(offsets: tuple[float, ...] | None) -> None:
    from dataclasses import replace

    level = LevelJob(3 if offsets is None else None, (b"{}",) * 10, warmup=(b"{}",) * 4, offsets_s=offsets)
    with counting() as (url, server):
        result = run_load(replace(job(url, level), workers=2))
    assert [record.outcome for record in result.records] == [Outcome.SUCCESS] * 14
    assert [(record.warmup, record.index) for record in result.records] == [
        *((True, i) for i in range(4)), *((False, i) for i in range(10))
    ]  # fmt: skip
    assert sorted(server.seen) == sorted(record.request_id for record in result.records)
    assert result.costs[0].packets >= 10


def test_a_duration_ends_the_sending_and_not_the_answers() -> None:
    level = LevelJob(2, (b"{}",) * 100_000, duration_s=0.2)
    with counting() as (url, server):
        result = run_load(job(url, level))
    assert 0 < len(result.records) < 100_000
    assert {record.outcome for record in result.records} == {Outcome.SUCCESS}
    assert len(server.seen) == len(result.records)
