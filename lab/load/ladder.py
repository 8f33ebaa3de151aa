"""The ladder of a workload: every rung rendered to a level job, before the clock starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lab.load.arrivals import replayed, schedule
from lab.load.prompts import CountTokens, LevelPrompts, build_prompts
from lab.load.sources import Source
from lab.spec import Workload


def build_levels(
    workload: Workload,
    *,
    model: str,
    fields: Mapping[str, Any],
    count_tokens: CountTokens | None = None,
    source: Source | None = None,
) -> tuple[LevelPrompts, ...]:
    """One job for each rung, in order, with how far its prompts are what was asked.

    Args:
        workload: decides everything that is sent and when.
        model: name the engine serves.
        fields: sampling and length fields in the engine's own names.
        count_tokens: the engine's tokenizer, or None to take one word for one token.
        source: where prompts come from when they are not words.
    """
    levels = []
    for index, rung in enumerate(workload.rungs):
        prompts = build_prompts(workload, index, model=model, fields=fields, count_tokens=count_tokens, source=source)
        if workload.arrival == "closed" or rung.rate_rps is None:
            levels.append(prompts)
            continue
        level = prompts.job
        if workload.arrival == "trace":
            assert source is not None  # the spec asks for a traffic shape, and `build_prompts` for its file
            offsets = replayed(source.rows, rung.rate_rps, len(level.bodies), workload.duration_s)
        else:
            offsets = schedule(
                workload.arrival,
                rung.rate_rps,
                len(level.bodies),
                workload.duration_s,
                # every rung has moments of its own
                seed=workload.seed * 1_000_003 + index,
            )
        count = len(offsets)
        job = replace(
            level,
            bodies=level.bodies[:count],
            items=level.items[:count],
            asked_each=level.asked_each[:count],
            offsets_s=offsets,
        )
        levels.append(replace(prompts, job=job))
    return tuple(levels)
