"""Requests and tokens have to add up: within a level, and between the engine's counters and the client's."""

from __future__ import annotations

from collections.abc import Sequence

from lab.limits import Sums
from lab.records import ChunkKind, Concern, ConcernCode, EngineUse, Outcome, RequestRecord
from lab.spec import Workload

TOLERANCE = 0.02
"""Share by which the engine's count may differ from the client's: it is read once a second, not at the last token."""


def sums_concern(records: Sequence[RequestRecord], workload: Workload) -> Concern | None:
    """What does not add up in one level.

    A chunk of text holds at least a part of one token, so a success with more such chunks than tokens was counted
    wrongly by its server; and a level that counts requests, not time, has as many as were asked.

    Args:
        records: its measured requests.
        workload: what was asked.

    Returns:
        The number of requests that do not add up, or that are missing; None when all do.
    """
    missing = 0 if workload.duration_s is not None else max(workload.requests_per_level - len(records), 0)
    wrong = sum(
        record.completion_tokens is not None and _texts(record) > record.completion_tokens
        for record in records
        if record.outcome is Outcome.SUCCESS
    )
    return Concern(code=ConcernCode.SUMS, value=float(missing + wrong), limit=0.0) if missing + wrong else None


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


def _agrees(engine: float | None, least: int | None, most: int | None, whole: bool) -> bool | None:
    if engine is None or least is None or most is None or not whole:
        return None
    return least * (1 - TOLERANCE) <= engine <= most * (1 + TOLERANCE)


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None


def _texts(record: RequestRecord) -> int:
    return sum(kind in (ChunkKind.CONTENT, ChunkKind.REASONING) for kind in record.chunk_kind)
