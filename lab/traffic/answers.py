"""The answer in a record of a log: whole or streamed, as the engine or the gateway wrote it, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ANSWERS = (
    "response", "response_body", "responseBody", "respPayload", "response_payload", "http.response.body",
    "providerResponse", "body", "json", "output", "completion", "result", "data",
)  # fmt: skip
MOST_TOKENS = 1_000_000_000
"""A larger count is none."""
DEPTH = 4
"""How deep a body may lie in its wrapping."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a record says of its answer. Private: it holds the text.

    Attributes:
        text: None where the record does not have it.
        called: True when the answer calls a tool.
        usage_in, usage_out, usage_cached: tokens as the server counted them; None where it did not say.
    """

    text: str | None = field(default=None, repr=False)
    called: bool = False
    usage_in: int | None = None
    usage_out: int | None = None
    usage_cached: int | None = None


def said_in(record: Mapping[str, Any], body: Mapping[str, Any]) -> Said:
    """The answer of a record, apart from its request body."""
    answer = _find_answer(record, body)
    text, called = (None, False) if answer is None else _answer_text(answer)
    for place in (answer.get("usage") if answer else None, record.get("usage"), record):
        if not isinstance(place, Mapping):
            continue
        read = _whole(place, "prompt_tokens", "input_tokens", "promptTokens")
        written = _whole(place, "completion_tokens", "output_tokens", "completionTokens")
        if read is None and written is None:
            continue
        details = place.get("prompt_tokens_details", place.get("input_tokens_details"))
        details = details if isinstance(details, Mapping) else {}
        return Said(text, called, read, written, _whole(details, "cached_tokens"))
    return Said(text, called)


def calls_of(calls: Any) -> list[Any]:
    """Tool calls as a template shows them: name and arguments."""
    listed = calls if isinstance(calls, list) else [calls]
    return [call.get("function", call) if isinstance(call, Mapping) else "" for call in listed]


def _find_answer(value: Any, body: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any] | None:
    if isinstance(value, str) and depth:
        text = value.lstrip()
        if text.startswith("data:"):
            return _streamed(text)
        if text[:1] != "{":
            return None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, Mapping) or depth > DEPTH or (value is body and depth):
        return None
    if isinstance(value.get("choices"), list):
        return value
    if isinstance(value.get("output"), list) and value.get("object") == "response":
        return value
    if depth and isinstance(value.get("usage"), Mapping):
        return value
    for key in _ANSWERS:
        inner = value.get(key)
        if isinstance(inner, Mapping | str) and (found := _find_answer(inner, body, depth + 1)) is not None:
            return found
    return None


def _streamed(text: str) -> Mapping[str, Any]:
    """The answer of a stream that was logged as it came."""
    said: list[str] = []
    calls: list[Any] = []
    usage: Any = None
    for line in text.split("\n"):
        if not line.startswith("data:"):
            continue
        try:
            chunk = json.loads(line[5:])
        except (ValueError, RecursionError):
            continue
        if not isinstance(chunk, Mapping):
            continue
        usage = chunk.get("usage") or usage
        for choice in _list(chunk.get("choices")):
            if not isinstance(choice, Mapping):
                continue
            inner = choice.get("delta")
            delta: Mapping[str, Any] = inner if isinstance(inner, Mapping) else choice
            said += [delta[key] for key in ("reasoning_content", "content", "text") if isinstance(delta.get(key), str)]
            calls += _list(delta.get("tool_calls"))
    message = {"content": "".join(said), "tool_calls": calls}
    return {"choices": [{"message": message}], "usage": usage}


def _answer_text(answer: Mapping[str, Any]) -> tuple[str | None, bool]:
    said: list[str] = []
    called, found = False, False
    for choice in _list(answer.get("choices")):
        if not isinstance(choice, Mapping):
            continue
        inner = choice.get("message")
        message: Mapping[str, Any] = inner if isinstance(inner, Mapping) else choice
        for key in ("reasoning_content", "reasoning", "content", "text"):
            if isinstance(message.get(key), str):
                said.append(message[key])
                found = True
        if calls := message.get("tool_calls"):
            called = found = True
            said.append(json.dumps(calls_of(calls), ensure_ascii=False))
    for item in _list(answer.get("output")) if "choices" not in answer else ():
        if isinstance(item, Mapping):
            found = True
            called |= item.get("type") == "function_call"
            said += [part["text"] for part in _list(item.get("content"))
                     if isinstance(part, Mapping) and isinstance(part.get("text"), str)]  # fmt: skip
            if isinstance(item.get("arguments"), str):
                said.append(item["arguments"])
    return ("".join(said) if found else None), called


def _list(value: Any) -> list[Any]:
    """The list in a field; nothing where something else stands there."""
    return value if isinstance(value, list) else []


def _whole(place: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = place.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
            return value
    return None
