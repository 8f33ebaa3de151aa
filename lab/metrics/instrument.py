"""The instrument against a server that knows its own timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.metrics.catalog import ttft_s
from lab.metrics.stats import summarize
from lab.records import ChunkKind, Instrument, Outcome, RequestRecord
from lab.spec import Frozen


class Emission(Frozen):
    """What the server says about one request, on the clock the client uses too."""

    received_s: float
    """When the request had been read completely."""
    chunk_s: tuple[float, ...]
    """Taken immediately before each chunk was sent."""
    chunk_kind: tuple[ChunkKind, ...]


def check_instrument(
    records: Sequence[RequestRecord],
    emissions: Mapping[str, Emission],
    *,
    concurrency: int,
    zero_s: float,
    cpu_s: float | None,
) -> Instrument | None:
    """How far the client is from the truth on one level.

    Args:
        records: records of the level, warm-up included or not; only measured successes count.
        emissions: by request id.
        concurrency: streams in flight.
        zero_s: `perf_counter` second that is 0 in the records.
        cpu_s: CPU seconds of the load process on this level; None when not known.

    Returns:
        None when no success can be matched chunk by chunk.
    """
    true_ttft: list[float] = []
    errors: list[float] = []
    lags: list[float] = []
    for record in records:
        emission = emissions.get(record.request_id)
        if record.warmup or record.outcome is not Outcome.SUCCESS or emission is None:
            continue
        if emission.chunk_kind != record.chunk_kind:
            continue
        sent_first = next(
            at_s for at_s, kind in zip(emission.chunk_s, emission.chunk_kind, strict=True) if kind.bears_token
        )
        truth = sent_first - emission.received_s
        true_ttft.append(truth)
        errors.append(ttft_s(record)[0] - truth)
        lags += [got + zero_s - sent for got, sent in zip(record.chunk_s, emission.chunk_s, strict=True)]
    if not errors:
        return None
    lag = summarize(lags)
    truth_mean, error_mean = summarize(true_ttft).mean, summarize(errors).mean
    assert truth_mean is not None and error_mean is not None and lag.p50 is not None and lag.p99 is not None
    return Instrument(
        concurrency=concurrency,
        requests=len(errors),
        ttft_true_s=truth_mean,
        ttft_error_s=error_mean,
        chunk_lag_p50_s=lag.p50,
        chunk_lag_p99_s=lag.p99,
        chunks=len(lags),
        client_cpu_s_per_chunk=None if cpu_s is None else cpu_s / len(lags),
    )
