"""Requests and tokens have to add up: within a level, and between the engine's counters and the client's."""

from __future__ import annotations

from collections.abc import Sequence

from lab.limits import Sum, Sums, Totals
from lab.records import ChunkKind, Concern, ConcernCode, EngineUse, LevelResult, Outcome, RequestRecord, Summary
from lab.spec import Workload

TOLERANCE = 0.02
"""Share by which the engine's count may differ from the client's: it is read once a second, not at the last token."""


def sums_concern(level: LevelResult, records: Sequence[RequestRecord], workload: Workload) -> Concern | None:
    """What does not add up in one level.

    A chunk of text holds at least a part of one token, so a success with more such chunks than tokens was counted
    wrongly by its server; a level that counts requests, not time, has as many as were asked; and rates times the
    length of the level are its totals.

    Args:
        level: as computed.
        records: its measured requests.
        workload: what was asked.

    Returns:
        The number of requests that are missing or miscounted, and of totals that disagree; None when all adds up.
    """
    missing = 0 if workload.duration_s is not None else max(workload.requests_per_level - len(records), 0)
    wrong = sum(
        record.completion_tokens is not None and _texts(record) > record.completion_tokens
        for record in records
        if record.outcome is Outcome.SUCCESS
    )
    apart = missing + wrong + sum(not one.agrees for one in add_up(totals_of(level)))
    return Concern(code=ConcernCode.SUMS, value=float(apart), limit=0.0) if apart else None


def totals_of(level: LevelResult) -> Totals:
    """Totals and whole-level rates of a level; tokens only where the server counted every success."""
    succeeded = level.outcomes.get(Outcome.SUCCESS, 0)

    def tokens(summary: Summary) -> int | None:
        return round(summary.n * summary.mean) if summary.mean is not None and summary.n == succeeded else None

    return Totals(
        requests=level.requests,
        succeeded=succeeded,
        failed=sum(level.outcomes.values()) - succeeded,
        input_tokens=tokens(level.prompt_tokens),
        output_tokens=tokens(level.completion_tokens),
        duration_s=level.duration_s,
        request_rps=level.scalars.get("request_rps_whole"),
        output_tok_per_s=level.scalars.get("output_tok_per_s_whole"),
    )


def run_sums(records: Sequence[RequestRecord], use: EngineUse | None) -> Sums | None:
    """The engine's counters beside the client's over the whole load; None when there was none.

    Args:
        records: of the run, warm-up included, as the engine counts it too.
        use: what was scraped.
    """
    if not records:
        return None
    good = [record for record in records if record.outcome is Outcome.SUCCESS]
    whole = len(good) == len(records)
    output, prompt, cached = (
        _total([getattr(record, field) for record in good])
        for field in ("completion_tokens", "prompt_tokens", "cached_tokens")
    )
    engine_output, engine_prompt = (None, None) if use is None else (use.generated_tokens, use.prompt_tokens)
    # some engines leave cached prompt tokens out of their counter, some do not
    least = None if prompt is None else 0 if cached is None else prompt - cached
    return Sums(
        engine_output=engine_output,
        client_output=output,
        engine_prompt=engine_prompt,
        client_prompt=prompt,
        client_cached=cached,
        whole=whole,
        output_agrees=_agrees(engine_output, output, output, whole),
        prompt_agrees=_agrees(engine_prompt, least, prompt, whole),
    )


def add_up(totals: Totals) -> tuple[Sum, ...]:
    """Every stated value that follows from the other totals too, and whether it is the same.

    Requests in flight are their rate times their latency (J. D. C. Little, Operations Research 9(3), 1961); in a
    closed loop they are at most its places.

    Args:
        totals: of one load, measured here or by somebody else.

    Returns:
        One entry for each relation whose parts are all stated; one that lacks a part is not there.
    """
    t = totals
    tokens = None if t.input_tokens is None or t.output_tokens is None else t.input_tokens + t.output_tokens
    ends = None if t.succeeded is None or t.failed is None else t.succeeded + t.failed
    found = []
    if t.requests is not None and ends is not None:
        agrees = t.requests == ends
        found.append(Sum(name="requests", stated=t.requests, follows=ends, agrees=agrees))
    for name, stated, amount in (
        ("request_rps", t.request_rps, t.succeeded),
        ("input_tok_per_s", t.input_tok_per_s, t.input_tokens),
        ("output_tok_per_s", t.output_tok_per_s, t.output_tokens),
        ("total_tok_per_s", t.total_tok_per_s, tokens),
    ):
        if stated is not None and amount is not None and t.duration_s:
            follows = amount / t.duration_s
            agrees = abs(stated - follows) <= TOLERANCE * follows
            found.append(Sum.model_validate({"name": name, "stated": stated, "follows": follows, "agrees": agrees}))
    if t.concurrency is not None and t.e2e_mean_s is not None and t.request_rps is not None:
        follows = t.e2e_mean_s * t.request_rps
        agrees = follows <= t.concurrency * (1 + TOLERANCE)
        found.append(Sum(name="in_flight", stated=t.concurrency, follows=follows, agrees=agrees))
    return tuple(found)


def _agrees(engine: float | None, least: int | None, most: int | None, whole: bool) -> bool | None:
    if engine is None or least is None or most is None or not whole:
        return None
    return least * (1 - TOLERANCE) <= engine <= most * (1 + TOLERANCE)


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None


def _texts(record: RequestRecord) -> int:
    return sum(kind in (ChunkKind.CONTENT, ChunkKind.REASONING) for kind in record.chunk_kind)
