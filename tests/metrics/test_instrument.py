"""The instrument's own error, from numbers a reader can subtract."""

from __future__ import annotations

import pytest

from lab.metrics.instrument import LIMITS, check_instrument, valid_streams, within
from lab.metrics.stats import summarize
from lab.records import (
    Certificate,
    ChunkKind,
    Emission,
    InstrumentLevel,
    LevelCost,
    MachineClass,
    Outcome,
    RequestRecord,
)
from lab.spec import Rung

MACHINE = MachineClass(
    accelerator=None, cpu_cores=2, memory_gib=24, system="Linux", machine="x86_64", python="3.11.7"
)  # fmt: skip
KINDS = (ChunkKind.ROLE, ChunkKind.CONTENT, ChunkKind.CONTENT)


def seen() -> RequestRecord:
    return RequestRecord(
        level=0, index=0, request_id="a", intended_send_s=0.097, send_s=0.099, end_s=0.4, status=200,
        chunk_s=(0.202, 0.202, 0.304), chunk_kind=KINDS, completion_tokens=2, asked_tokens=2, outcome=Outcome.SUCCESS,
    )  # fmt: skip


def level(streams: int, error_s: float = 0.0, lag_s: float = 0.0) -> InstrumentLevel:
    nothing = summarize([])
    return InstrumentLevel(
        concurrency=streams, rate_rps=None, requests=1, chunks=1, ttft_true_s=summarize([0.1]),
        ttft_error_s=summarize([error_s]), request_transit_s=nothing, chunk_lag_s=summarize([lag_s]),
        gap_error_s=nothing, schedule_error_s=nothing,
        loop_lag_s=nothing, client_cpu_s_per_chunk=None, client_rss_mib=None,
        server_late_s=nothing,
    )  # fmt: skip


def certificate(held: int) -> Certificate:
    return Certificate(
        certificate_id="c-aaaaaaaaaa", lab_version="0", week="2026-W48", machine=MACHINE, workers=1,
        limits=LIMITS, levels=(),
        valid_streams=held,
    )  # fmt: skip


def test_errors_lags_and_gaps_are_differences_on_one_clock() -> None:
    # the server read the request at 100.0 and sent chunks at 100.1, 100.1, 100.2: true gap 0.1
    emission = Emission(received_s=100.0, chunk_s=(100.1, 100.1, 100.2), chunk_kind=KINDS, late_s=(0.001, 0.003))
    # the client's clock counts from 99.9: sent at 0.099, saw chunks at 0.202, 0.202, 0.304: TTFT 0.103, gap 0.102;
    # it was sent at 99.999, so the true TTFT is 0.101 and 0.001 of it went by before the server had read the request
    cost = LevelCost(level=0, cpu_s=0.003, packets=3, connections=1, rss_mib=30.0, loop_lag_s=(0.001,))
    check = check_instrument([seen()], {"a": emission}, rung=Rung(rate_rps=1.0), zero_s=99.9, cost=cost)
    assert check is not None
    assert check.ttft_true_s.mean == pytest.approx(0.101)
    assert check.ttft_error_s.mean == pytest.approx(0.002)
    assert check.request_transit_s.mean == pytest.approx(0.001)
    assert check.chunk_lag_s.p50 == pytest.approx(0.002)
    assert check.chunk_lag_s.max == pytest.approx(0.004)
    assert check.gap_error_s.mean == pytest.approx(0.002)
    assert check.schedule_error_s.mean == pytest.approx(0.002)
    assert check.server_late_s.max == pytest.approx(0.003)
    assert (check.chunks, check.client_cpu_s_per_chunk) == (3, 0.001)


def test_what_cannot_be_matched_chunk_by_chunk_is_not_judged() -> None:
    emission = Emission(received_s=0.0, chunk_s=(0.1,), chunk_kind=(ChunkKind.CONTENT,))
    assert check_instrument([seen()], {"a": emission}, rung=Rung(concurrency=1), zero_s=0, cost=None) is None
    assert check_instrument([seen()], {}, rung=Rung(concurrency=1), zero_s=0, cost=None) is None


def test_the_promise_holds_up_to_the_last_rung_that_kept_it_without_a_break() -> None:
    late = LIMITS.chunk_lag_p99_s * 2
    assert within(level(1, error_s=LIMITS.ttft_error_mean_s))
    assert not within(level(1, error_s=-2 * LIMITS.ttft_error_mean_s))
    assert valid_streams([level(64), level(1), level(16)]) == 64
    assert valid_streams([level(1), level(16, lag_s=late), level(64)]) == 1
    assert valid_streams([level(1, lag_s=late)]) == 0
