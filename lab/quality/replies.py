"""What came back for one item, and why it has or has not an answer to score.

lm-eval reads the text, or adds up whatever logprobs there are: an answer that is empty or cut, an error inside
HTTP 200, a prompt that was not echoed, all would be scored as wrong or by chance. Here each of them gets a reason
instead, and only what keeps the contract of its route goes on to a score.
The digest of every suite covers this file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from lab.records import Outcome, RunId, Unscored
from lab.spec import Frozen, Name

COMPLETE = frozenset({"stop", "eos_token", "stop_sequence"})
"""Finish reasons of an answer that ended by itself; the last two are TGI's."""

REFUSALS = frozenset({400, 422, 501})
"""Statuses with which servers refuse a `response_format` they cannot follow."""

TOO_LONG = re.compile(r"context (length|size|window)|max_(seq|input|model)_len", re.IGNORECASE)
"""How servers say that a request does not fit."""

ERROR_CHARS = 300
"""How much of a server's own words is kept."""

ROUNDING = 1e-3
"""How far above 0 a logprob may be: servers round."""

_ID_TOKEN = re.compile(r"token_id:(\d+)")


class Reply(Frozen):
    """What was sent for one item and what came back; for `choice` all requests of the item together."""

    text: str | None = None
    """The answer as it arrived; None when there was none, and where likelihoods are asked for."""
    loglikelihoods: tuple[float, ...] = ()
    """Where likelihoods are asked for: natural logarithm of the probability of each text, in the order of the item."""
    outcome: Outcome
    unscored: Unscored | None = None
    """Why there is nothing to score; None for a complete answer."""
    error: str | None = None
    """What went wrong, in words; None for a complete answer. Private: it may quote the server."""
    status: int | None = None
    """HTTP status; None when there was no response."""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    """From the server's usage; None when it sent none."""
    completion_tokens: int | None = None
    """From the server's usage; None when it sent none."""
    attempts: int = Field(default=1, ge=0)
    """Requests sent; nothing is sent twice. 0: the item was not asked, `unscored` says why."""
    latency_s: float | None = Field(default=None, ge=0)
    """From sending to the last byte, or to the failure, requests of one item added; None when nothing was sent."""


class QualityItem(Reply):
    """One item of a suite on one running engine: a line of `samples.jsonl`."""

    run_id: RunId
    suite: Name
    version: Name
    task: Name
    item_id: Name
    score: float | None = Field(default=None, ge=0)
    """0 to 1, for `bits_per_byte` any number; None exactly when `unscored` says why."""
    also: dict[str, float] = Field(default_factory=dict)
    """The task's further metrics by name; one that has nothing to look at is not in it."""


@dataclass(frozen=True, slots=True)
class Echo:
    """A text whose likelihood was asked for.

    Attributes:
        ids: every token sent.
        scored_from: index of the first token of the text; those before it are its context.
        decode: token ids to text.
        needs_greedy: whether it has to be known if greedy decoding writes the text.
    """

    ids: tuple[int, ...]
    scored_from: int
    decode: Callable[[Sequence[int]], str]
    needs_greedy: bool


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A reply, and whether the text is what greedy decoding writes; None where that was not asked."""

    reply: Reply
    greedy: bool | None = None


def failed(outcome: Outcome, error: str, **facts: Any) -> Reply:
    """A reply to a request that brought no answer."""
    return Reply(outcome=outcome, unscored=Unscored.REQUEST_FAILED, error=error, **facts)


def unsent(why: Unscored, error: str) -> Reply:
    """A reply that stands for a request that was never sent."""
    return Reply(outcome=Outcome.CANCELLED, unscored=why, error=error, attempts=0)


def read_chat(status: int, body: bytes, latency_s: float, *, constrained: bool = False, least_tokens: int = 0) -> Reply:
    """What an HTTP response of the chat route holds.

    Args:
        status: HTTP status.
        body: the whole body.
        latency_s: from sending to the last byte, seconds.
        constrained: whether the request carried a `response_format`; only then is a refusal NOT_SUPPORTED.
        least_tokens: what the prompt has at least; a server that counts fewer has cut it.
    """
    opened = _open(status, body, latency_s, constrained)
    if isinstance(opened, Reply):
        return opened
    data, facts = opened
    match data.get("choices"):
        case [{"message": dict(message), **choice}, *_]:
            reasoning = bool(message.get("reasoning_content") or message.get("reasoning"))
            return _read_text(message.get("content"), choice.get("finish_reason"), reasoning, least_tokens, facts)
    return failed(Outcome.MALFORMED, "the body has no choices[0].message", **facts)


def read_completion(status: int, body: bytes, latency_s: float, *, least_tokens: int = 0) -> Reply:
    """What an HTTP response of the completions route holds; arguments as for `read_chat`."""
    opened = _open(status, body, latency_s, constrained=False)
    if isinstance(opened, Reply):
        return opened
    data, facts = opened
    match data.get("choices"):
        case [{"text": text, **choice}, *_]:
            return _read_text(text, choice.get("finish_reason"), False, least_tokens, facts)
    return failed(Outcome.MALFORMED, "the body has no choices[0].text", **facts)


def read_echo(status: int, body: bytes, latency_s: float, echo: Echo) -> Likelihood:
    """How likely a text is, from a response of the completions route to `echo`, `logprobs` and one new token.

    The contract: one entry for every token sent and one for the new one, the first of them null, none above 0, the
    tokens those that were sent, and as many prompt tokens in the usage.
    """
    opened = _open(status, body, latency_s, constrained=False)
    if isinstance(opened, Reply):
        return Likelihood(opened)
    data, facts = opened
    match data.get("choices"):
        case [dict(choice)]:
            pass
        case _:
            return Likelihood(failed(Outcome.MALFORMED, "the body has not exactly one choice", **facts))
    finish = choice.get("finish_reason")
    facts |= {"finish_reason": finish if isinstance(finish, str) else None}
    arrays = choice.get("logprobs")
    arrays = arrays if isinstance(arrays, dict) else {}
    if fault := _echo_fault(arrays, facts.get("prompt_tokens"), echo):
        broken = Reply(outcome=Outcome.MALFORMED, unscored=Unscored.CONTRACT, error=fault, **facts)
        return Likelihood(broken)
    span = slice(echo.scored_from, len(echo.ids))
    logprobs = arrays["token_logprobs"][span]
    greedy = None
    if echo.needs_greedy:
        tops = arrays["top_logprobs"][span]
        greedy = all(logprob >= max(top.values()) for logprob, top in zip(logprobs, tops, strict=True))
    return Likelihood(Reply(outcome=Outcome.SUCCESS, loglikelihoods=(math.fsum(logprobs),), **facts), greedy)


def combine(replies: Sequence[Reply]) -> Reply:
    """The requests of one item as one reply: without a score as soon as one of them has nothing to score."""
    if len(replies) == 1:
        return replies[0]
    bad = next(((number, reply) for number, reply in enumerate(replies, 1) if reply.unscored is not None), None)
    number, base = bad or (0, replies[0])

    def added(name: str) -> Any:
        values = [getattr(reply, name) for reply in replies if reply.attempts]
        return None if not values or None in values else sum(values)

    return base.model_copy(
        update={
            "error": f"request {number} of {len(replies)}: {base.error}" if bad else None,
            "loglikelihoods": () if bad else tuple(ll for reply in replies for ll in reply.loglikelihoods),
            "attempts": sum(reply.attempts for reply in replies),
            **{name: added(name) for name in ("prompt_tokens", "completion_tokens", "latency_s")},
        }
    )


def _open(
    status: int, body: bytes, latency_s: float, constrained: bool
) -> Reply | tuple[dict[str, Any], dict[str, Any]]:
    """The JSON object of a 200 that carries no error, with the facts so far; or the reply that says what it is."""
    facts: dict[str, Any] = {"status": status, "latency_s": latency_s}
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if status != 200:
        words = f"HTTP {status}: {_words(data, body)}"
        if TOO_LONG.search(words):
            return Reply(outcome=Outcome.HTTP_ERROR, unscored=Unscored.DOES_NOT_FIT, error=words, **facts)
        if constrained and status in REFUSALS:
            return Reply(outcome=Outcome.HTTP_ERROR, unscored=Unscored.NOT_SUPPORTED, error=words, **facts)
        return failed(Outcome.HTTP_ERROR, words, **facts)
    if not isinstance(data, dict):
        return failed(Outcome.MALFORMED, f"the body is no JSON object: {_words(None, body)}", **facts)
    if data.get("error"):
        return failed(Outcome.IN_BAND_ERROR, f"an error inside HTTP 200: {_words(data, body)}", **facts)
    return data, facts | _usage(data)


def _read_text(content: Any, finish: Any, reasoning: bool, least_tokens: int, facts: dict[str, Any]) -> Reply:
    if not isinstance(content, str | None) or not isinstance(finish, str | None):
        return failed(Outcome.MALFORMED, "the answer and finish_reason must each be a text or null", **facts)
    facts = facts | {"text": content, "finish_reason": finish}

    def unscored(why: Unscored, outcome: Outcome, error: str) -> Reply:
        return Reply(outcome=outcome, unscored=why, error=error, **facts)

    counted = facts.get("prompt_tokens")
    if counted is not None and counted < least_tokens:
        words = f"the prompt was cut: the server counts {counted} tokens of at least {least_tokens} that were sent"
        return unscored(Unscored.CONTRACT, Outcome.MALFORMED, words)
    if finish == "length":
        return unscored(Unscored.TRUNCATED, Outcome.TRUNCATED, "cut at the token limit")
    if not (content or "").strip():
        if reasoning:
            return unscored(Unscored.REASONING_ONLY, Outcome.EMPTY, "reasoning, but no answer")
        if content is None:
            return unscored(Unscored.NULL, Outcome.EMPTY, "the answer is null")
        return unscored(Unscored.EMPTY, Outcome.EMPTY, "the answer is empty")
    if finish is None:
        return unscored(Unscored.TRUNCATED, Outcome.TRUNCATED, "no finish reason says that it is whole")
    if finish not in COMPLETE:
        return failed(Outcome.IN_BAND_ERROR, f"finish_reason is '{finish}'", **facts)
    return Reply(outcome=Outcome.SUCCESS, **facts)


def _echo_fault(arrays: dict[str, Any], prompt_tokens: int | None, echo: Echo) -> str | None:
    """What breaks the contract of echo, in words; None when it is kept."""
    sent, logprobs = len(echo.ids), arrays.get("token_logprobs")
    if not isinstance(logprobs, list):
        return "no logprobs.token_logprobs: echo is ignored, or spoken in another dialect"
    if len(logprobs) != sent + 1:
        return f"{len(logprobs)} logprobs for {sent} tokens and a new one: echo is ignored, or tokens were added"
    if prompt_tokens != sent:
        return f"the server counts {'no' if prompt_tokens is None else prompt_tokens} prompt tokens, {sent} were sent"
    if logprobs[0] is not None:
        return "the first logprob is not null: the row is shifted, or a token was put in front"
    if not all(_is_logprob(value) for value in logprobs[1:]):
        return "a logprob is no number, or above 0"
    tokens = arrays.get("tokens")
    if not isinstance(tokens, list) or len(tokens) != sent + 1:
        return "logprobs.tokens does not name every token"
    for index, (token, number) in enumerate(zip(tokens, echo.ids, strict=False)):
        if not _is_token(token, number, echo.decode):
            return f"token {index} came back as {token!r:.40}, another one was sent"
    if echo.needs_greedy:
        tops = arrays.get("top_logprobs")
        if not isinstance(tops, list) or len(tops) != sent + 1 or not all(_is_top(top) for top in tops[1:]):
            return "logprobs.top_logprobs does not hold the likeliest token of every position"
    return None


def _is_logprob(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value <= ROUNDING


def _is_top(top: Any) -> bool:
    return isinstance(top, dict) and bool(top) and all(map(_is_logprob, top.values()))


def _is_token(token: Any, number: int, decode: Callable[[Sequence[int]], str]) -> bool:
    """Whether a token as the server spells it is the one with that id; bytes that are no character cannot be told.

    Spaces at its ends do not count: some tokenizers drop them when they decode a token by itself.
    """
    if not isinstance(token, str):
        return False
    if named := _ID_TOKEN.fullmatch(token):
        return int(named.group(1)) == number
    spelled = decode([number])
    if "\N{REPLACEMENT CHARACTER}" in token + spelled or token.startswith("bytes:"):
        return True
    return not token.strip() or token.strip() == spelled.strip()


def _usage(data: dict[str, Any]) -> dict[str, int]:
    usage = data.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    keys = ("prompt_tokens", "completion_tokens")
    return {key: counts[key] for key in keys if type(counts.get(key)) is int}


def _words(data: Any, body: bytes) -> str:
    """The server's own words about an error, shortened."""
    error = data.get("error", data.get("detail")) if isinstance(data, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or body.decode(errors="replace"))[:ERROR_CHARS]
