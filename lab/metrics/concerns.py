"""Why the numbers of a level are to be read with care; each limit is stated here, once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

from lab.records import Certificate, Concern, ConcernCode, RequestRecord
from lab.spec import Rung

SCHEDULE_LAG_LIMIT_S = 0.010
"""99th percentile of actual minus intended send beyond which an open loop was not the one asked for."""
FEW_REQUESTS = 30
"""Successes below which quantiles say little; the 99th percentile of fewer is nearly the maximum."""
DRIFT_SHARE = 0.10
"""Difference of the mean latency of the two halves of a level, as a share of the first."""
DRIFT_SIGMAS = 3.0
"""And it has to be this many standard errors."""
OUTLIER_FACTOR = 3.0
"""Largest latency over the median."""
LENGTH_SHARE = 0.10
"""Spread of the answers' lengths over their mean."""


def find_concerns(records: Sequence[RequestRecord], good: Sequence[RequestRecord], rung: Rung) -> tuple[Concern, ...]:
    """Every concern about one level, in the order of `ConcernCode`.

    Args:
        records: its measured requests.
        good: the successes among them.
        rung: what was aimed at.
    """
    found = (_schedule_lag(records, rung), _few(good), _drift(good), _outliers(good), _lengths(good), _usage(good))
    return tuple(concern for concern in found if concern is not None)


def certificate_concern(
    records: Sequence[RequestRecord], rung: Rung, certificate: Certificate | None
) -> Concern | None:
    """Whether the instrument has been shown to hold the streams of a level."""
    if certificate is None:
        return Concern(code=ConcernCode.NO_CERTIFICATE)
    streams = rung.concurrency if rung.concurrency is not None else most_in_flight(records)
    if streams <= certificate.valid_streams:
        return None
    return Concern(code=ConcernCode.BEYOND_CERTIFICATE, value=float(streams), limit=float(certificate.valid_streams))


def most_in_flight(records: Sequence[RequestRecord]) -> int:
    """The most requests that were under way at one moment."""
    changes = [(record.send_s, 1) for record in records]
    changes += [(record.end_s, -1) for record in records if record.end_s is not None]
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def quantile_lag_s(records: Sequence[RequestRecord]) -> float:
    """99th percentile of actual minus intended send, the next order statistic above it."""
    lags = sorted(record.send_s - record.intended_send_s for record in records)
    return lags[min(math.ceil(0.99 * len(lags)), len(lags)) - 1]


def _schedule_lag(records: Sequence[RequestRecord], rung: Rung) -> Concern | None:
    if rung.rate_rps is None or not records:
        return None
    lag = quantile_lag_s(records)
    if lag <= SCHEDULE_LAG_LIMIT_S:
        return None
    return Concern(code=ConcernCode.SCHEDULE_LAG, value=lag, limit=SCHEDULE_LAG_LIMIT_S)


def _few(good: Sequence[RequestRecord]) -> Concern | None:
    if len(good) >= FEW_REQUESTS:
        return None
    return Concern(code=ConcernCode.FEW_REQUESTS, value=float(len(good)), limit=float(FEW_REQUESTS))


def _drift(good: Sequence[RequestRecord]) -> Concern | None:
    latencies = _latencies(sorted(good, key=lambda record: record.send_s))
    half = len(latencies) // 2
    first, second = latencies[:half], latencies[half:]
    if half < 5:
        return None
    change = fmean(second) - fmean(first)
    error = math.sqrt(stdev(first) ** 2 / len(first) + stdev(second) ** 2 / len(second))
    share = change / fmean(first)
    if abs(share) <= DRIFT_SHARE or abs(change) <= DRIFT_SIGMAS * error:
        return None
    return Concern(code=ConcernCode.DRIFT, value=share, limit=DRIFT_SHARE)


def _outliers(good: Sequence[RequestRecord]) -> Concern | None:
    latencies = _latencies(good)
    if len(latencies) < 5 or max(latencies) <= OUTLIER_FACTOR * median(latencies):
        return None
    return Concern(code=ConcernCode.OUTLIERS, value=max(latencies) / median(latencies), limit=OUTLIER_FACTOR)


def _lengths(good: Sequence[RequestRecord]) -> Concern | None:
    counts = [record.completion_tokens for record in good if record.completion_tokens is not None]
    if not counts or (share := (max(counts) - min(counts)) / fmean(counts)) <= LENGTH_SHARE:
        return None
    return Concern(code=ConcernCode.LENGTHS_DIFFER, value=share, limit=LENGTH_SHARE)


def _usage(good: Sequence[RequestRecord]) -> Concern | None:
    missing = sum(record.completion_tokens is None for record in good)
    return Concern(code=ConcernCode.NO_USAGE, value=float(missing), limit=0.0) if missing else None


def _latencies(records: Sequence[RequestRecord]) -> list[float]:
    """Send to the last chunk of each request that had one."""
    return [record.chunk_s[-1] - record.send_s for record in records if record.chunk_s]
