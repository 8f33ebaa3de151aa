"""The metrics, each with one home: name, unit, direction, formula, source, who defines it otherwise.

All are pure functions of records. A metric that cannot be computed for a request has no value there; it
is never 0 instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lab.metrics.concerns import find_concerns
from lab.metrics.stats import quantile_grid, summarize
from lab.records import ChunkKind, LevelResult, Outcome, RequestRecord, Summary
from lab.spec import Rung, Slo

Direction = Literal["lower", "higher", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue."""

    name: str
    unit: str
    direction: Direction
    """Which way is pleasanter for a user; for reading only, nothing is ever sorted by it."""
    formula: str
    source: str
    """The fields of the records it is computed from."""
    differs: str
    """Who uses the same name for something else."""


def ttft_s(record: RequestRecord) -> tuple[float, ...]:
    """Time to first token: no value when no token came."""
    tokens = record.token_s
    return (tokens[0] - record.send_s,) if tokens else ()


def tpot_s(record: RequestRecord) -> tuple[float, ...]:
    """Time per output token after the first: no value below two tokens, without usage, or when all came at once."""
    tokens, n = record.token_s, record.completion_tokens
    if n is None or n < 2 or len(tokens) < 2 or tokens[-1] <= tokens[0]:
        return ()
    return ((tokens[-1] - tokens[0]) / (n - 1),)


def chunk_gap_s(record: RequestRecord) -> tuple[float, ...]:
    """Gaps between chunks that carry tokens, as many as there are pairs."""
    return tuple(later - earlier for earlier, later in pairwise(record.token_s))


def e2e_latency_s(record: RequestRecord) -> tuple[float, ...]:
    """Send to the last chunk that carries a token or the finish reason."""
    backwards = zip(reversed(record.chunk_s), reversed(record.chunk_kind), strict=True)
    last = next((at_s for at_s, kind in backwards if kind.bears_token or kind is ChunkKind.FINISH), None)
    return () if last is None else (last - record.send_s,)


def ttft_intended_s(record: RequestRecord) -> tuple[float, ...]:
    """Time to first token from the moment the request should have been sent."""
    return tuple(value + schedule_lag_s(record)[0] for value in ttft_s(record))


def e2e_intended_s(record: RequestRecord) -> tuple[float, ...]:
    """Latency from the moment the request should have been sent."""
    return tuple(value + schedule_lag_s(record)[0] for value in e2e_latency_s(record))


def schedule_lag_s(record: RequestRecord) -> tuple[float, ...]:
    """Actual minus intended send, always one value."""
    return (record.send_s - record.intended_send_s,)


PER_REQUEST: dict[str, tuple[Metric, Callable[[RequestRecord], tuple[float, ...]]]] = {
    "ttft_s": (
        Metric(
            "ttft_s",
            "s",
            "lower",
            "arrival of the first chunk that carries content, reasoning or a tool call − send",
            "send_s, chunk_s, chunk_kind",
            "vllm bench serve counts a role-only chunk; inference-perf ignores reasoning",
        ),
        ttft_s,
    ),
    "tpot_s": (
        Metric(
            "tpot_s",
            "s",
            "lower",
            "(last token chunk − first token chunk) / (n − 1), n from the server's usage; mean over requests",
            "chunk_s, chunk_kind, completion_tokens",
            "GuideLLM and llmperf divide the whole latency, first token included, by n",
        ),
        tpot_s,
    ),
    "chunk_gap_s": (
        Metric(
            "chunk_gap_s",
            "s",
            "lower",
            "gaps between consecutive token-bearing chunks of a stream, pooled over requests",
            "chunk_s, chunk_kind",
            "called ITL elsewhere, with three meanings: chunk gap, token gap, gap spread over a chunk's tokens",
        ),
        chunk_gap_s,
    ),
    "e2e_latency_s": (
        Metric(
            "e2e_latency_s",
            "s",
            "lower",
            "last token-bearing or finish chunk − send",
            "send_s, chunk_s, chunk_kind",
            "SGLang's client runs to [DONE], GuideLLM to the end of the response",
        ),
        e2e_latency_s,
    ),
    "ttft_intended_s": (
        Metric(
            "ttft_intended_s",
            "s",
            "lower",
            "ttft_s + schedule_lag_s",
            "intended_send_s, send_s, chunk_s, chunk_kind",
            "most clients count from the actual send only, so waiting in the client disappears",
        ),
        ttft_intended_s,
    ),
    "e2e_intended_s": (
        Metric(
            "e2e_intended_s",
            "s",
            "lower",
            "e2e_latency_s + schedule_lag_s",
            "intended_send_s, send_s, chunk_s, chunk_kind",
            "most clients count from the actual send only, so waiting in the client disappears",
        ),
        e2e_intended_s,
    ),
    "schedule_lag_s": (
        Metric(
            "schedule_lag_s",
            "s",
            "lower",
            "actual send − intended send; in a closed loop the time to get a connection",
            "intended_send_s, send_s",
            "AIPerf reports it too; most clients do not keep the intended moment",
        ),
        schedule_lag_s,
    ),
}
"""Metrics with values for each request; `LevelResult.metrics` holds their summaries over successes."""

DISTRIBUTED = ("ttft_s", "tpot_s")
"""Metrics whose whole distribution is kept, see `lab.records.QUANTILES`."""

PER_LEVEL: dict[str, Metric] = {
    "output_tok_per_s": Metric(
        "output_tok_per_s",
        "tok/s",
        "higher",
        "output tokens that arrived in the steady window / its length",
        "chunk_s, completion_tokens of successes",
        "most clients divide by first send to last end, tail included: output_tok_per_s_whole",
    ),
    "request_rps": Metric(
        "request_rps",
        "req/s",
        "higher",
        "successes in the steady window, each by the share of its time inside it / the window's length",
        "send_s, end_s of successes",
        "most clients count whole requests over the whole run: request_rps_whole",
    ),
    "output_tok_per_s_whole": Metric(
        "output_tok_per_s_whole",
        "tok/s",
        "higher",
        "output tokens of successes / (last end − first send)",
        "completion_tokens, send_s, end_s",
        "includes ramp-up and tail; use it to compare with other clients",
    ),
    "request_rps_whole": Metric(
        "request_rps_whole",
        "req/s",
        "higher",
        "successes / (last end − first send)",
        "outcome, send_s, end_s",
        "includes ramp-up and tail; use it to compare with other clients",
    ),
    "goodput_rps": Metric(
        "goodput_rps",
        "req/s",
        "higher",
        "as request_rps, counting only successes that keep every limit of the SLO",
        "as request_rps, and the metrics the SLO limits",
        "others divide by first send to last end",
    ),
}
"""Metrics with one value for each level; without an SLO goodput is None."""


def steady_window(records: Sequence[RequestRecord], rung: Rung) -> tuple[float, float] | None:
    """The time in which the load was what was asked for.

    In a closed loop that is from the send that reached the concurrency to the first end after the last
    send: from then on nothing follows a finished request. In an open loop it is from the first send to the
    last one.

    Returns:
        Start and end, seconds; None when there was no such time.
    """
    sends = sorted(record.send_s for record in records)
    if rung.concurrency is None:
        return (sends[0], sends[-1]) if len(sends) > 1 and sends[-1] > sends[0] else None
    if len(sends) < rung.concurrency:
        return None
    ends = [record.end_s for record in records if record.end_s is not None and record.end_s > sends[-1]]
    start = sends[rung.concurrency - 1]
    return (start, min(ends)) if ends and min(ends) > start else None


def keeps(record: RequestRecord, slo: Slo) -> bool:
    """Whether a success keeps every limit of an SLO; a limit that cannot be checked is not kept."""
    checks = ((slo.ttft_s, ttft_s), (slo.tpot_s, tpot_s), (slo.e2e_latency_s, e2e_latency_s))
    return all(bool(values := measure(record)) and values[0] <= limit for limit, measure in checks if limit is not None)


def measure_level(records: Sequence[RequestRecord], rung: Rung, slo: Slo | None = None) -> LevelResult:
    """Every metric of one level.

    Args:
        records: the measured requests of the level; warm-up is left out here.
        rung: what was aimed at.
        slo: what goodput is counted against; None for no goodput.
    """
    records = [record for record in records if not record.warmup]
    good = [record for record in records if record.outcome is Outcome.SUCCESS]
    begin = min((record.send_s for record in records), default=0.0)
    whole_s = max((record.end_s for record in records if record.end_s is not None), default=begin) - begin
    window = steady_window(records, rung)
    return LevelResult(
        concurrency=rung.concurrency,
        rate_rps=rung.rate_rps,
        requests=len(records),
        outcomes=dict(sorted(Counter(record.outcome for record in records).items())),
        duration_s=whole_s,
        steady_s=None if window is None else window[1] - window[0],
        prompt_tokens=_counts(good, "prompt_tokens"),
        completion_tokens=_counts(good, "completion_tokens"),
        metrics={
            name: summarize([value for record in good for value in values(record)], _missing(name, good))
            for name, (_, values) in PER_REQUEST.items()
        },
        scalars={
            "output_tok_per_s": _token_rate(good, window),
            "request_rps": _request_rate(good, window),
            "output_tok_per_s_whole": _token_rate(good, (begin, begin + whole_s)) if whole_s > 0 else None,
            "request_rps_whole": len(good) / whole_s if whole_s > 0 and good else None,
            "goodput_rps": None if slo is None else _goodput(good, window, slo),
        },
        quantiles={
            name: quantile_grid(found)
            for name in DISTRIBUTED
            if (found := [value for record in good for value in PER_REQUEST[name][1](record)])
        },
        concerns=find_concerns(records, good, rung),
    )


def _goodput(good: Sequence[RequestRecord], window: tuple[float, float] | None, slo: Slo) -> float | None:
    """None when nothing succeeded at all; 0 when requests succeeded and none was good."""
    if window is None or not good:
        return None
    return _request_rate([record for record in good if keeps(record, slo)], window) or 0.0


def _token_rate(good: Sequence[RequestRecord], window: tuple[float, float] | None) -> float | None:
    """Tokens that arrived within the window, a chunk counting for its share of the request's tokens."""
    if window is None or not good or any(record.completion_tokens is None for record in good):
        return None
    start, end = window
    tokens = 0.0
    for record in good:
        arrivals = record.token_s
        assert record.completion_tokens is not None
        inside = sum(start <= at_s <= end for at_s in arrivals)
        tokens += record.completion_tokens * inside / len(arrivals)
    return tokens / (end - start)


def _request_rate(good: Sequence[RequestRecord], window: tuple[float, float] | None) -> float | None:
    if window is None or not good:
        return None
    start, end = window
    shares = 0.0
    for record in good:
        assert record.end_s is not None
        overlap = min(record.end_s, end) - max(record.send_s, start)
        shares += max(overlap, 0.0) / (record.end_s - record.send_s)
    return shares / (end - start)


def _counts(good: Sequence[RequestRecord], field: str) -> Summary:
    counts = [getattr(record, field) for record in good]
    return summarize([count for count in counts if count is not None], "the server sent no usage" if good else _NONE)


_NONE = "no request succeeded"


def _missing(name: str, good: Sequence[RequestRecord]) -> str:
    if not good:
        return _NONE
    if name == "tpot_s":
        return "no request had usage, two tokens and two arrivals"
    return "no request had enough chunks"
