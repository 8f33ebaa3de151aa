"""Prompts of a workload: seeded, of the asked length, unique unless the workload shares a prefix.

Words are short and common, one token each in most vocabularies; where the engine can count tokens the
length is then made exact. Everything here happens before the clock starts.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from lab.load.driver import LevelJob
from lab.spec import Workload

WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem "
    "hand part place case week company system program question work government number night point home water room "
    "mother area money story fact month lot right study book eye job word business issue side kind head house "
    "service friend father power hour game line end member law car city community name president team minute idea "
    "body information back parent face level office door health person art war history party result change "
    "morning reason research girl guy moment air teacher force education foot boy age policy process music market "
    "sense nation plan college interest death experience effect use class control field development role effort "
    "rate heart drug show leader light voice wife police mind price report decision son view relationship town "
    "road arm difference value building action season society tax director position player record paper space "
    "ground form event official matter center couple site project activity star table need court oil situation "
    "cost industry figure street image phone data picture practice piece land product doctor wall patient worker "
    "news test movie north love step data source tree glass ball river garden winter summer bridge stone paper "
    "window silver"
).split()
MOST_ROUNDS = 8

CountTokens = Callable[[str], int | None]


def build_level(
    workload: Workload,
    level: int,
    *,
    model: str,
    fields: Mapping[str, Any],
    count_tokens: CountTokens | None = None,
) -> LevelJob:
    """The requests of one rung of the ladder, rendered.

    Args:
        workload: decides lengths, counts and the seed.
        level: index in `workload.concurrency`.
        model: name the engine serves.
        fields: sampling and length fields in the engine's own names.
        count_tokens: the engine's tokenizer, or None to take one word for one token.

    Returns:
        The job of the level. Measured prompts share their first `shared_prefix_tokens`, warm-up prompts
        share others, so that no measured prompt is warmed up.
    """

    def bodies(phase: str, count: int) -> tuple[bytes, ...]:
        # the measured prefix is the same on every level: it is what the workload's users have in common
        prefix = _text(_draw(workload.seed, "prefix", phase), workload.shared_prefix_tokens, count_tokens)
        return tuple(
            _body(
                workload,
                _text(_draw(workload.seed, phase, level, i), workload.input_tokens, count_tokens, prefix),
                model,
                fields,
            )
            for i in range(count)
        )

    return LevelJob(
        concurrency=workload.concurrency[level],
        bodies=bodies("measure", workload.requests_per_level),
        warmup=bodies("warm-up", workload.warmup_requests),
        asked_tokens=workload.output_tokens,
        exact=workload.exact_output,
    )


def first_request(workload: Workload, *, model: str, fields: Mapping[str, Any]) -> LevelJob:
    """One request with a prompt nobody else uses: it ends the preparation."""
    text = _text(_draw(workload.seed, "first"), workload.input_tokens, None)
    return LevelJob(
        concurrency=1,
        bodies=(_body(workload, text, model, fields),),
        asked_tokens=workload.output_tokens,
        exact=False,
    )


def _draw(*seed: object) -> random.Random:
    return random.Random(hashlib.sha256(repr(seed).encode()).digest())


def _text(draw: random.Random, tokens: int, count_tokens: CountTokens | None, prefix: str = "") -> str:
    """Words after `prefix` until the whole has `tokens` tokens, as closely as the vocabulary allows."""
    words = prefix.split()
    kept = len(words)
    if tokens <= kept:
        return " ".join(words[:tokens])
    words += draw.choices(WORDS, k=tokens - kept)
    for _ in range(MOST_ROUNDS if count_tokens else 0):
        assert count_tokens is not None
        got = count_tokens(" ".join(words))
        if got is None or got == tokens:
            break
        if got < tokens:
            words += draw.choices(WORDS, k=tokens - got)
        else:
            del words[max(kept + 1, len(words) - (got - tokens)) :]
    return " ".join(words)


def _body(workload: Workload, text: str, model: str, fields: Mapping[str, Any]) -> bytes:
    asked: dict[str, Any] = {"model": model}
    if workload.endpoint == "chat":
        asked["messages"] = [{"role": "user", "content": text}]
    else:
        asked["prompt"] = text
    asked |= {"stream": True, "stream_options": {"include_usage": True}, **fields}
    return json.dumps(asked, separators=(",", ":")).encode()


PATHS = {"chat": "/chat/completions", "completions": "/completions"}
"""Route of each endpoint below the OpenAI base URL."""
