"""What the load of a run gives away beside its labels: tokens counted, ends of answers, gaps, prompts sent again.

Counts and times only, so that all of it may be published: no text, no name of an item, and no length of a single
prompt that is somebody's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median, quantiles
from typing import get_args

from pydantic import Field

from lab.records import FinishReason, LevelResult, Outcome, RequestRecord
from lab.spec import Frozen, Workload

SAMPLE = 8
"""Requests of the first level whose lengths are kept one by one."""


class Sampled(Frozen):
    """Lengths of one request; runs of one workload and seed sent the same prompt at the same place."""

    index: int = Field(ge=0)
    """Of the request within the first level."""
    prompt_tokens: int | None
    completion_tokens: int | None


class Sending(Frozen):
    """TTFT of the first, or of every later, sending of the same prompts."""

    ttft_mean_s: float
    ttft_p50_s: float
    ttft_p99_s: float


class Counted(Frozen):
    """The measured requests of a run, all levels together."""

    requests: int = Field(ge=0)
    """Successes: what every other count is over."""
    whole: bool
    """Whether every measured request succeeded: else two runs are over other prompts."""
    input_tokens: int | None
    """None: the server did not count every success."""
    output_tokens: int | None
    cached_tokens: int | None
    """Prompt tokens the server says it took from its cache; None: it does not say."""
    finish_reasons: dict[FinishReason, int]
    """How answers ended; those that ended without a word are not in it."""
    gap_mean_s: float | None
    """Between chunks that carry tokens, pooled; None: no answer has two of them."""
    gap_p50_s: float | None
    tpot_mean_s: float | None
    """Mean over requests of every level."""
    sample: tuple[Sampled, ...]
    """Empty where the prompts are somebody's own."""
    again: int = Field(ge=0)
    """Measured requests whose prompt this run had sent before."""
    sendings: tuple[Sending, ...]
    """The first sending, and all later ones, of prompts that one level sent several times; empty: none was."""


def count_load(records: Sequence[RequestRecord], levels: Sequence[LevelResult], workload: Workload) -> Counted | None:
    """Counts and times over the measured requests; None where there was no load.

    Args:
        records: of the run, warm-up included.
        levels: as computed from them.
        workload: what was asked.
    """
    asked = [one for one in records if not one.warmup]
    if not asked:
        return None
    good = [one for one in asked if one.outcome is Outcome.SUCCESS]
    ends: Counter[FinishReason] = Counter(finish_word(one.finish_reason) for one in good if one.finish_reason)
    gaps = [b - a for one in good for a, b in zip(one.token_s, one.token_s[1:], strict=False)]
    tpots = [level.metrics["tpot_s"] for level in levels if "tpot_s" in level.metrics]
    counted = [(one.n, one.mean) for one in tpots if one.mean is not None]
    own = workload.content == "own-traffic"
    again, sendings = _again(good) if own else (0, ())  # elsewhere every prompt of a run is its own
    return Counted(
        requests=len(good),
        whole=len(good) == len(asked),
        input_tokens=_total(one.prompt_tokens for one in good),
        output_tokens=_total(one.completion_tokens for one in good),
        cached_tokens=_total(one.cached_tokens for one in good),
        finish_reasons=dict(ends),
        gap_mean_s=fmean(gaps) if gaps else None,
        gap_p50_s=median(gaps) if gaps else None,
        tpot_mean_s=sum(n * mean for n, mean in counted) / sum(n for n, _ in counted) if counted else None,
        sample=()
        if own
        else tuple(
            Sampled(index=one.index, prompt_tokens=one.prompt_tokens, completion_tokens=one.completion_tokens)
            for one in sorted(good, key=lambda one: one.index)
            if one.level == 0 and one.index < SAMPLE
        ),
        again=again,
        sendings=sendings,
    )


def finish_word(word: str) -> FinishReason:
    """An engine's word for the end of an answer; one that nobody knows is `other`."""
    return next((known for known in get_args(FinishReason) if known == word), "other")


def _again(good: Sequence[RequestRecord]) -> tuple[int, tuple[Sending, ...]]:
    """How many requests send a prompt again, and TTFT of first and later sendings within a level."""
    seen: set[str] = set()
    in_level: set[tuple[int, str]] = set()
    again = 0
    first: dict[tuple[int, str], float] = {}
    later: dict[tuple[int, str], list[float]] = {}
    for one in sorted(good, key=lambda one: one.send_s):
        if one.item is None:
            continue
        again += one.item in seen
        seen.add(one.item)
        place = (one.level, one.item)
        if one.token_s:
            ttft = one.token_s[0] - one.send_s
            if place in in_level:
                later.setdefault(place, []).append(ttft)
            else:
                first[place] = ttft
        in_level.add(place)
    both = [place for place in later if place in first]
    if not both:
        return again, ()
    return again, (_sending([first[place] for place in both]), _sending([t for place in both for t in later[place]]))


def _sending(times: Sequence[float]) -> Sending:
    p99 = quantiles(times, n=100, method="inclusive")[98] if len(times) > 1 else times[0]
    return Sending(ttft_mean_s=fmean(times), ttft_p50_s=median(times), ttft_p99_s=p99)


def _total(values: Iterable[int | None]) -> int | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if known and len(known) == len(found) else None
