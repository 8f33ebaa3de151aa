"""What came back for one item, and why it has or has not an answer to score.

lm-eval reads only `message.content`: an answer that is empty or cut, or an error inside HTTP 200, would be
scored as wrong. Here each of them gets a reason instead, and only a complete answer goes on to a score.
The digest of every suite covers this file.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import Field

from lab.records import Outcome, RunId, Unscored
from lab.spec import Frozen, Name

COMPLETE = frozenset({"stop", "eos_token", "stop_sequence"})
"""Finish reasons of an answer that ended by itself; the last two are TGI's."""

REFUSALS = frozenset({400, 422, 501})
"""Statuses with which servers refuse a `response_format` they cannot follow."""

TOO_LONG = re.compile(r"context (length|size|window)|max_(seq|input|model)_len", re.IGNORECASE)
"""How servers say that a request does not fit; the same status, but nothing to do with the format."""

ERROR_CHARS = 300
"""How much of a server's own words is kept."""


class Reply(Frozen):
    """One request and what came back."""

    text: str | None = None
    """The answer as it arrived; None when there was none."""
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
    """Requests sent: 1, or 0 when the engine was gone before this item's turn. Nothing is sent twice."""
    latency_s: float | None = Field(default=None, ge=0)
    """From sending to the last byte, or to the failure; None when nothing was sent."""


class QualityItem(Reply):
    """One item of a suite on one running engine: a line of `samples.jsonl`."""

    run_id: RunId
    suite: Name
    version: Name
    task: Name
    item_id: Name
    score: float | None = Field(default=None, ge=0, le=1)
    """None exactly when `unscored` says why."""


def failed(outcome: Outcome, error: str, **facts: Any) -> Reply:
    """A reply to a request that brought no answer."""
    return Reply(outcome=outcome, unscored=Unscored.REQUEST_FAILED, error=error, **facts)


def read_reply(status: int, body: bytes, latency_s: float, constrained: bool) -> Reply:
    """What an HTTP response of the chat route holds.

    Args:
        status: HTTP status.
        body: the whole body.
        latency_s: from sending to the last byte, seconds.
        constrained: whether the request carried a `response_format`; only then is a refusal NOT_SUPPORTED.
    """
    facts: dict[str, Any] = {"status": status, "latency_s": latency_s}
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if status != 200:
        words = f"HTTP {status}: {_words(data, body)}"
        if constrained and status in REFUSALS and not TOO_LONG.search(words):
            return Reply(outcome=Outcome.HTTP_ERROR, unscored=Unscored.NOT_SUPPORTED, error=words, **facts)
        return failed(Outcome.HTTP_ERROR, words, **facts)
    if not isinstance(data, dict):
        return failed(Outcome.MALFORMED, f"the body is no JSON object: {_words(None, body)}", **facts)
    if data.get("error"):
        return failed(Outcome.IN_BAND_ERROR, f"an error inside HTTP 200: {_words(data, body)}", **facts)
    match data.get("choices"):
        case [{"message": dict(message), **choice}, *_]:
            return _read_choice(choice, message, facts | _usage(data))
    return failed(Outcome.MALFORMED, "the body has no choices[0].message", **facts, **_usage(data))


def _read_choice(choice: dict[Any, Any], message: dict[Any, Any], facts: dict[str, Any]) -> Reply:
    content, finish = message.get("content"), choice.get("finish_reason")
    if not isinstance(content, str | None) or not isinstance(finish, str | None):
        return failed(Outcome.MALFORMED, "content and finish_reason must each be a text or null", **facts)
    facts |= {"text": content, "finish_reason": finish}

    def unscored(why: Unscored, outcome: Outcome, error: str) -> Reply:
        return Reply(outcome=outcome, unscored=why, error=error, **facts)

    if finish == "length":
        return unscored(Unscored.TRUNCATED, Outcome.TRUNCATED, "cut at the token limit")
    if not (content or "").strip():
        if message.get("reasoning_content") or message.get("reasoning"):
            return unscored(Unscored.REASONING_ONLY, Outcome.EMPTY, "reasoning, but no answer")
        return unscored(Unscored.EMPTY, Outcome.EMPTY, f"content is {'null' if content is None else 'empty'}")
    if finish is None:
        return unscored(Unscored.TRUNCATED, Outcome.TRUNCATED, "no finish reason says that it is whole")
    if finish not in COMPLETE:
        return failed(Outcome.IN_BAND_ERROR, f"finish_reason is '{finish}'", **facts)
    return Reply(outcome=Outcome.SUCCESS, **facts)


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
