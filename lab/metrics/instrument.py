"""The instrument against a server that knows its own timing, and the certificate that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from lab.metrics.catalog import chunk_gap_s, schedule_lag_s, ttft_s
from lab.metrics.stats import summarize
from lab.records import Emission, InstrumentLevel, InstrumentLimits, LevelCost, Outcome, RequestRecord
from lab.spec import Rung

LIMITS = InstrumentLimits(ttft_error_mean_s=0.005, chunk_lag_p99_s=0.008)
"""The error the instrument promises: mean TTFT within 5 ms, 99 % of chunks stamped within 8 ms."""


def check_instrument(
    records: Sequence[RequestRecord],
    emissions: Mapping[str, Emission],
    *,
    rung: Rung,
    zero_s: float,
    cost: LevelCost | None,
) -> InstrumentLevel | None:
    """How far the client is from the truth on one level.

    Args:
        records: records of the level, warm-up included or not; only measured successes count.
        emissions: by request id.
        rung: what was aimed at.
        zero_s: `perf_counter` second that is 0 in the records.
        cost: of the load processes on this level; None when not known.

    Returns:
        None when no success can be matched chunk by chunk.
    """
    truths: list[float] = []
    errors: list[float] = []
    transits: list[float] = []
    lags: list[float] = []
    gap_errors: list[float] = []
    lateness: list[float] = []
    schedule: list[float] = []
    for record in records:
        emission = emissions.get(record.request_id)
        if record.warmup or record.outcome is not Outcome.SUCCESS or emission is None:
            continue
        if emission.chunk_kind != record.chunk_kind:
            continue
        sent = [at_s for at_s, kind in zip(emission.chunk_s, emission.chunk_kind, strict=True) if kind.bears_token]
        sent_request_s = record.send_s + zero_s
        truth = sent[0] - sent_request_s
        truths.append(truth)
        errors.append(ttft_s(record)[0] - truth)
        transits.append(emission.received_s - sent_request_s)
        lags += [got + zero_s - at_s for got, at_s in zip(record.chunk_s, emission.chunk_s, strict=True)]
        true_gaps = [later - earlier for earlier, later in pairwise(sent)]
        gap_errors += [got - true for got, true in zip(chunk_gap_s(record), true_gaps, strict=True)]
        lateness += emission.late_s
        schedule += schedule_lag_s(record)
    if not errors:
        return None
    return InstrumentLevel(
        concurrency=rung.concurrency,
        rate_rps=rung.rate_rps,
        requests=len(errors),
        chunks=len(lags),
        ttft_true_s=summarize(truths),
        ttft_error_s=summarize(errors),
        request_transit_s=summarize(transits),
        chunk_lag_s=summarize(lags),
        gap_error_s=summarize(gap_errors, "every answer had one chunk"),
        schedule_error_s=summarize(schedule if rung.rate_rps is not None else (), "a closed loop has no schedule"),
        loop_lag_s=summarize(cost.loop_lag_s if cost else (), "the load process did not say"),
        client_cpu_s_per_chunk=None if cost is None else cost.cpu_s / len(lags),
        client_rss_mib=None if cost is None else cost.rss_mib,
        server_late_s=summarize(lateness, "the server does not say"),
    )


def within(level: InstrumentLevel, limits: InstrumentLimits = LIMITS) -> bool:
    """Whether the instrument kept its promise on a level."""
    mean, lag = level.ttft_error_s.mean, level.chunk_lag_s.p99
    return (
        mean is not None and abs(mean) <= limits.ttft_error_mean_s and lag is not None and lag <= limits.chunk_lag_p99_s
    )


def valid_streams(levels: Sequence[InstrumentLevel], limits: InstrumentLimits = LIMITS) -> int:
    """Most streams at which a closed-loop level and every smaller one kept the promise; 0 when none did."""
    held = 0
    for level in sorted((x for x in levels if x.concurrency is not None), key=lambda x: x.concurrency or 0):
        if not within(level, limits):
            break
        held = level.concurrency or 0
    return held
