"""The prefix-cache probe: is a prompt that was just read read again?"""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from statistics import median

from lab.errors import EndpointError
from lab.load.prompts import WORDS
from lab.preflight.asking import Engine, Seen

MOST_WORDS = 2048
"""Length of the probed prompt where the context has room for three times as much: a word may be several tokens."""

ROUNDS = 3
"""Pairs of a fresh prompt and its repetition, where only times can tell."""

HIT_BELOW, NONE_ABOVE = 0.5, 0.85
"""Time to the first token of a repeated prompt over that of a fresh one, medians: at most this is a hit, at least
that is none, and what lies between says nothing. The band is wide because machines are noisy."""


def prefix_cache(engine: Engine) -> Seen:
    """Whether a repeated prompt is taken from a cache, against what the profile decided."""
    expected = engine.spec.profile.prefix_caching
    _ask(engine, _fresh(engine))  # whatever is done once for a prompt of this length is done now
    fresh, again = [], []
    for _ in range(ROUNDS):
        prompt = _fresh(engine)
        first, second = _ask(engine, prompt), _ask(engine, prompt)
        fresh.append(first[1])
        again.append(second[1])
        if first[2] is not None and second[2] is not None and second[0]:
            hit = second[2] >= second[0] / 2
            words = f"{second[2]} of {second[0]} prompt tokens came from a cache, {first[2]} of a never-seen prompt"
            return _judge(expected, hit, words, (second[2],))
    return judge_times(expected, fresh, again)


def judge_times(expected: bool | None, fresh: Sequence[float], again: Sequence[float]) -> Seen:
    """What times alone say, where no cached tokens are counted.

    Args:
        expected: whether the cache was asked to be on; None: nobody decided.
        fresh: seconds to the first token of never-seen prompts.
        again: of the same prompts, repeated.
    """
    ratio = median(again) / max(median(fresh), 1e-9)
    words = f"no count of cached tokens; repeated over never-seen first token {ratio:.2f} (medians of {len(again)})"
    if HIT_BELOW < ratio < NONE_ABOVE:
        return Seen("not-exposed", f"{words}: between {HIT_BELOW} and {NONE_ABOVE} nothing can be said")
    return _judge(expected, ratio <= HIT_BELOW, words)


def _judge(expected: bool | None, hit: bool, words: str, counts: tuple[int, ...] = ()) -> Seen:
    seen = "a hit" if hit else "no hit"
    if expected is None:
        return Seen("not-exposed", f"{seen}: {words}; the profile leaves it to the engine", counts)
    asked = "on" if expected else "off"
    return Seen("pass" if hit == expected else "fail", f"asked for {asked}, {seen}: {words}", counts)


def _fresh(engine: Engine) -> str:
    """Words nobody has sent before, this server's earlier runs included."""
    words = min(MOST_WORDS, engine.spec.context_limit // 3)
    draw = random.Random(secrets.token_bytes(16))
    return " ".join((secrets.token_hex(4), *draw.choices(WORDS, k=max(1, words - 8))))


def _ask(engine: Engine, prompt: str) -> tuple[int | None, float, int | None]:
    """Prompt tokens, seconds of an answer of one token, and cached tokens where they are counted."""
    reply = engine.ask(engine.user(prompt), 1)
    if not reply.ok or not (reply.text or reply.count("prompt_tokens")):
        raise EndpointError(f"the long prompt was not answered: {reply.said()}")
    cached = reply.count("prompt_tokens_details", "cached_tokens")
    return reply.count("prompt_tokens"), reply.seconds, cached
