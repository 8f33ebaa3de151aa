"""How close two paths are token by token, over HTTP alone, beside what one path differs from itself.

A score is a coarse instrument: two paths can differ in every fourth answer and score the same. Here both continue the
same prompts greedily, and the second one says how likely it finds each token of the first.

The floor comes first. A path is asked the same alone and under load, and it scores its own tokens as parts of a prompt.
What two paths differ by is called a difference only where it is larger than what either does by itself.

    identical        share of prompts that are continued with the same tokens
    first divergence index of the first token that differs, median over the prompts where one does
    top-1            share of tokens that the second finds likeliest too, the same tokens before them
    KL               over tokens, from the first to the second, in nats: over the first's k likeliest tokens and one
                     bucket for the rest. A token that the second does not name counts with the least likely one that
                     it names: the divergence is understated there
    |Δ logprob|      of the first's tokens, mean
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from lab.endpoint import Endpoint
from lab.errors import EndpointError, QualityError
from lab.params import PARAMS_FOLDER
from lab.quality.suite import load_suite
from lab.spec import Frozen, Sha256, digest

SOURCES = ("smoke", "japanese", "structured")
"""Suites whose questions are asked, their tasks in turn; keys and metrics play no part."""

FRAME = "Q: {}\nA:"
"""What stands around a question: after a bare one, models that were taught to chat write nothing."""

LONGEST_CHARS = 1200
"""A longer question is no prompt here: reading it would be most of the time."""

ITEM_LIMIT_S = 120.0
"""Limit for one request."""

LEAST_SHARE = 1e-9
"""Probability of the rest where rounding leaves nothing."""

Say = Callable[[str, int, int], None]
"""Told what is asked, how many prompts are done, and of how many."""


class Asked(Frozen):
    """What is asked of every path; only readings of the same are set side by side."""

    prompts_sha256: Sha256
    prompts: int = Field(ge=1)
    tokens: int = Field(ge=1, le=1024)
    k: int = Field(ge=1, le=20)

    @classmethod
    def of(cls, texts: Sequence[str], tokens: int, k: int) -> Asked:
        """What asking these prompts is."""
        return cls(prompts_sha256=digest(list(texts)), prompts=len(texts), tokens=tokens, k=k)


class Step(Frozen):
    """One token as a path sees it."""

    token: str
    logprob: float
    top: dict[str, float]
    """The likeliest tokens at this place, with their logprobs."""


class Reading(Frozen):
    """What followed one prompt, or how likely a path finds given tokens after it. Private."""

    text: str = ""
    steps: tuple[Step, ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    error: str | None = None
    """Why there is nothing to compare; None when there is. It may quote the server."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens in order."""
        return tuple(step.token for step in self.steps)


class Trace(Frozen):
    """One path, read: what it writes, alone and under load, and its own tokens as parts of a prompt. Private."""

    model: str
    asked: Asked
    concurrency: int
    scored_by: Literal["echo", "token-by-token"]
    """How given tokens are scored: a request a prompt where the engine echoes, else a request a token."""
    alone: tuple[Reading, ...]
    under_load: tuple[Reading, ...]
    prefilled: tuple[Reading, ...]


class Closeness(Frozen):
    """How close a second reading of the same prompts is to a first one."""

    prompts: int
    """Compared."""
    left_out: int
    """Failed on a side, or cut into other tokens: nothing can be set side by side."""
    tokens: int
    """Compared: those with the same tokens before them on both sides."""
    top1: float | None
    """None, as all below, when no token is compared."""
    kl_mean: float | None
    kl_p99: float | None
    kl_max: float | None
    logprob: float | None
    identical: float | None
    """None, as all below, where the tokens were given to the second side."""
    first_divergence: float | None
    """None too when nothing diverges."""
    length_ratio: float | None
    """Tokens of the second over tokens of the first, all prompts together."""
    finish_reasons: tuple[dict[str, int], dict[str, int]] | None


def read_prompts(count: int, folder: Path = PARAMS_FOLDER / "quality") -> tuple[str, ...]:
    """Questions of the suites `SOURCES`, one of each task in turn, each text once.

    Raises:
        QualityError: there are not so many.
    """
    tasks = [task for name in SOURCES for task in load_suite(folder / name).tasks]
    columns = [[item.question for item in task.items if len(item.question) <= LONGEST_CHARS] for task in tasks]
    turns = (question for row in zip_longest(*columns) for question in row if question is not None)
    found = tuple(dict.fromkeys(FRAME.format(question) for question in turns))
    if not 1 <= count <= len(found):
        raise QualityError(f"{count} prompts are asked for; the suites {', '.join(SOURCES)} have 1 to {len(found)}")
    return found[:count]


class Reader:
    """Asks a running path on the completions route, greedily, every sampling field in every request.

    Args:
        endpoint: root of the server.
        route: of completions, for instance /v1/completions.
        model: name the server knows the model by.
        sampling: fields as the engine spells them.
        k: alternatives asked for at each place.
    """

    def __init__(self, endpoint: Endpoint, route: str, model: str, sampling: dict[str, Any], k: int) -> None:
        self._endpoint, self._route, self._k = endpoint, route, k
        self._body = {**sampling, "model": model, "stream": False}

    def follow(self, prompt: str, tokens: int) -> Reading:
        """What the path writes after a prompt; tokens behind its text, such as an end token, are left out."""
        body = self._ask(prompt, tokens)
        if isinstance(body, Reading):
            return body
        choice, prompt_tokens = body
        steps, text = _steps(choice.get("logprobs")), choice.get("text")
        if not isinstance(text, str) or not text:
            return Reading(error="nothing was written")  # two empty texts would be the same, and say nothing
        if not steps:
            return Reading(error="no logprobs beside the text")
        kept: list[Step] = []
        for step in steps:
            if sum(len(one.token) for one in kept) >= len(text):
                break
            kept.append(step)
        if "".join(step.token for step in kept) != text:
            return Reading(error="the tokens do not spell the text: bytes of a character in several of them")
        finish = choice.get("finish_reason")
        return Reading(text=text, steps=tuple(kept), finish_reason=str(finish), prompt_tokens=prompt_tokens)

    def echoes(self, prompt: str) -> bool:
        """Whether the server says how likely a prompt is: an entry for each of its tokens, the first one null."""
        body = self._ask(prompt, 1, echo=True)
        if isinstance(body, Reading):
            return False
        choice, prompt_tokens = body
        arrays = choice.get("logprobs")
        values = arrays.get("token_logprobs") if isinstance(arrays, dict) else None
        return isinstance(values, list) and len(values) == (prompt_tokens or 0) + 1 > 2 and values[0] is None

    def score(self, prompt: str, given: Reading, *, by_echo: bool) -> Reading:
        """How likely the path finds given tokens after a prompt; they have to be cut into the same tokens again."""
        if given.error is not None:
            return given
        return self._score_echoed(prompt, given) if by_echo else self._score_each(prompt, given)

    def _score_echoed(self, prompt: str, given: Reading) -> Reading:
        body = self._ask(prompt + given.text, 1, echo=True)
        if isinstance(body, Reading):
            return body
        steps, count = _steps(body[0].get("logprobs"), after_first=True), len(given.steps)
        scored = steps[-1 - count : -1]
        if tuple(step.token for step in scored) != given.tokens:
            return Reading(error="the text is cut into other tokens")
        return Reading(text=given.text, steps=scored)

    def _score_each(self, prompt: str, given: Reading) -> Reading:
        scored: list[Step] = []
        before, start = "", None
        for place, step in enumerate(given.steps):
            body = self._ask(prompt + before, 1)
            if isinstance(body, Reading):
                return body
            choice, prompt_tokens = body
            start = prompt_tokens if start is None else start
            if start is None or prompt_tokens != start + place:
                return Reading(error="the text is cut into other tokens, or the server does not count them")
            told = _steps(choice.get("logprobs"))
            if not told:
                return Reading(error="no logprobs beside the text")
            top = told[0].top | {told[0].token: told[0].logprob}
            scored.append(Step(token=step.token, logprob=top.get(step.token, min(top.values())), top=top))
            before += step.token
        return Reading(text=given.text, steps=tuple(scored))

    def _ask(self, prompt: str, tokens: int, **more: Any) -> Reading | tuple[dict[str, Any], int | None]:
        """The first choice and the count of prompt tokens; a reading with an error where there is none."""
        body = {**self._body, "prompt": prompt, "max_tokens": tokens, "logprobs": self._k, **more}
        try:
            answer = self._endpoint.post(self._route, body, ITEM_LIMIT_S)
        except EndpointError as problem:
            return Reading(error=problem.what)
        document = answer.json()
        match document:
            case {"choices": [dict(choice), *_]} if answer.status == 200:
                usage = document.get("usage")
                counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
                return choice, counted if isinstance(counted, int) else None
        return Reading(error=f"HTTP {answer.status}: {answer.body[:200].decode(errors='replace')}")


def read_trace(path: Path) -> Trace:
    """A reading that was kept. Raises QualityError when it is none."""
    try:
        return Trace.model_validate_json(path.read_bytes())
    except OSError as problem:
        raise QualityError(f"{path}: cannot be read: {problem.strerror}") from None
    except ValidationError:
        raise QualityError(f"{path} is no reading of a path", "lab quality fidelity --help") from None


def check_same(asked: Asked, reference: Asked) -> None:
    """Raise QualityError unless both paths are asked the same."""
    if asked != reference:
        raise QualityError(
            f"the reference was asked {_words(reference)}; this would be {_words(asked)}",
            "ask both the same: --prompts, --tokens, --top",
        )


def record(reader: Reader, model: str, texts: Sequence[str], asked: Asked, concurrency: int, say: Say) -> Trace:
    """Read one path: alone, under load, and its own tokens as parts of a prompt.

    Raises:
        QualityError: not one prompt was continued; the sentence has the first reason.
    """
    tokens = asked.tokens
    alone = _each(lambda i: reader.follow(texts[i], tokens), len(texts), 1, "alone", say)
    if all(one.error is not None for one in alone):
        raise QualityError(f"none of {len(texts)} prompts was continued: {alone[0].error}")
    loaded = _each(lambda i: reader.follow(texts[i], tokens), len(texts), concurrency, "under load", say)
    by_echo = reader.echoes(texts[0])
    own = _each(lambda i: reader.score(texts[i], alone[i], by_echo=by_echo), len(texts), 1, "prefilled", say)
    return Trace(
        model=model,
        asked=asked,
        concurrency=concurrency,
        scored_by="echo" if by_echo else "token-by-token",
        alone=alone,
        under_load=loaded,
        prefilled=own,
    )


def score_given(reader: Reader, own: Trace, reference: Trace, texts: Sequence[str], say: Say) -> Closeness:
    """How likely the path of `own` finds the tokens of a reference path that was asked the same."""
    by_echo = own.scored_by == "echo"
    given = reference.alone
    scored = _each(lambda i: reader.score(texts[i], given[i], by_echo=by_echo), len(texts), 1, "reference", say)
    return compare_given(given, scored)


def compare_free(first: Sequence[Reading], second: Sequence[Reading]) -> Closeness:
    """Two readings that were both written freely; tokens are compared up to the first that differs, and that one."""
    pairs = [pair for pair in zip(first, second, strict=True) if pair[0].error is None and pair[1].error is None]
    places = [_divergence(one.tokens, other.tokens) for one, other in pairs]
    steps = [
        (one.steps[place], other.steps[place])
        for (one, other), end in zip(pairs, places, strict=True)
        for place in range(min(len(one.steps), len(other.steps)) if end is None else end + 1)
        if place < min(len(one.steps), len(other.steps))
    ]
    diverging = [place for place in places if place is not None]
    longer = sum(len(one.steps) for one, _ in pairs)
    return _close(
        len(first) - len(pairs),
        len(pairs),
        steps,
        identical=1 - len(diverging) / len(pairs) if pairs else None,
        first_divergence=statistics.median(diverging) if diverging else None,
        length_ratio=sum(len(other.steps) for _, other in pairs) / longer if longer else None,
        finish_reasons=(
            dict(Counter(str(one.finish_reason) for one, _ in pairs)),
            dict(Counter(str(other.finish_reason) for _, other in pairs)),
        ),
    )


def compare_given(first: Sequence[Reading], second: Sequence[Reading]) -> Closeness:
    """What one path wrote, and how likely a second one finds it: every token is compared."""
    pairs = [pair for pair in zip(first, second, strict=True) if pair[0].error is None and pair[1].error is None]
    steps = [both for one, other in pairs for both in zip(one.steps, other.steps, strict=True)]
    return _close(len(first) - len(pairs), len(pairs), steps)


def divergence(first: Step, second: Step) -> float:
    """KL from the first to the second at one place, nats, by the floor rule of this module."""
    least = min(second.top.values())
    shares = [(math.exp(logprob), math.exp(second.top.get(token, least))) for token, logprob in first.top.items()]
    rest = [max(1 - sum(side), LEAST_SHARE) for side in zip(*shares, strict=True)]
    return max(0.0, math.fsum(p * math.log(p / q) for p, q in (*shares, (rest[0], rest[1]))))


def _close(left_out: int, prompts: int, steps: Sequence[tuple[Step, Step]], **free: Any) -> Closeness:
    divergences = sorted(divergence(one, other) for one, other in steps)
    count = len(steps)
    blank = dict.fromkeys(("identical", "first_divergence", "length_ratio", "finish_reasons"))
    return Closeness(
        prompts=prompts,
        left_out=left_out,
        tokens=count,
        top1=sum(max(other.top, key=other.top.__getitem__) == one.token for one, other in steps) / count
        if count
        else None,
        kl_mean=statistics.fmean(divergences) if count else None,
        kl_p99=divergences[math.ceil(0.99 * count) - 1] if count else None,
        kl_max=divergences[-1] if count else None,
        logprob=statistics.fmean(abs(_found(other, one.token) - one.logprob) for one, other in steps)
        if count
        else None,
        **(blank | free),
    )


def _found(step: Step, token: str) -> float:
    """How likely a step finds a token; one that it does not name is at most as likely as the least it names."""
    return step.logprob if step.token == token else step.top.get(token, min(step.top.values()))


def _divergence(one: tuple[str, ...], other: tuple[str, ...]) -> int | None:
    """Index of the first token that differs, the end of the shorter one where one goes on; None: none does."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return None if len(one) == len(other) else min(len(one), len(other))


def _steps(logprobs: Any, *, after_first: bool = False) -> tuple[Step, ...]:
    """The tokens of a response in either dialect: arrays beside each other, or a list of objects; empty if neither.

    `after_first` leaves out the first token of an echoed prompt, which has nothing before it.
    """
    try:
        if "content" in logprobs:
            return tuple(
                Step(
                    token=entry["token"],
                    logprob=entry["logprob"],
                    top={one["token"]: one["logprob"] for one in entry["top_logprobs"]},
                )
                for entry in logprobs["content"]
            )
        rows = zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True)
        return tuple(
            Step(token=token, logprob=logprob, top=top) for token, logprob, top in list(rows)[1 if after_first else 0 :]
        )
    except (KeyError, TypeError, ValueError):
        return ()


def _each(ask: Callable[[int], Reading], count: int, concurrency: int, what: str, say: Say) -> tuple[Reading, ...]:
    """Every prompt once, in order, so many in flight."""
    found = []
    with ThreadPoolExecutor(concurrency, "fidelity") as pool:
        for done, one in enumerate(pool.map(ask, range(count)), 1):
            found.append(one)
            say(what, done, count)
    return tuple(found)


def _words(asked: Asked) -> str:
    return f"{asked.prompts} prompts ({asked.prompts_sha256[:8]}) of {asked.tokens} tokens, {asked.k} alternatives"
