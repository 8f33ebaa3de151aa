"""Reads what one exchange answered: raw bytes in, a `RequestRecord` out.

This is where an exchange is judged. It becomes a success only with HTTP 200, no in-band error, a terminal
event (a finish reason or `[DONE]`), at least one token, and the length that was asked for where the exact
length was asked. Everything else is a labelled failure with the reason in words.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from lab.load import sse
from lab.load.spool import Exchange
from lab.records import ChunkKind, Outcome, RequestRecord

MOST_DECODED_BYTES = 256 * 1024 * 1024
"""A body that unpacks to more is malformed, so that no server can fill the memory."""

BROKEN_OFF = frozenset({"error", "abort", "timeout"})
"""Finish reasons by which a server says that it did not finish."""

MOST_MEMBERS = 1000
"""Members of one compressed body; more is not how anybody compresses a stream."""

_FAILURES = {
    "connection": Outcome.CONNECTION,
    "timeout": Outcome.TIMEOUT,
    "cancelled": Outcome.CANCELLED,
    "malformed": Outcome.MALFORMED,
    "cut": Outcome.TRUNCATED,
}


@dataclass(slots=True)
class _Stream:
    """What the events of one stream said, filled in order."""

    arrivals: list[float] = field(default_factory=list)
    kinds: list[ChunkKind] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    done: bool = False
    before_end: int = 0
    """Token-bearing chunks up to the terminal event: what comes after the end is not an answer."""
    outcome: Outcome | None = None
    """Set as soon as something in the stream decides against success."""
    error: str | None = None


def read_answer(
    exchange: Exchange,
    *,
    asked_tokens: int,
    exact: bool,
    request_id: str = "",
    item: str | None = None,
    zero_s: float = 0.0,
) -> RequestRecord:
    """The record of one exchange.

    Args:
        exchange: as the load process saw it.
        asked_tokens: output length that was asked for.
        exact: whether exactly that length was asked for.
        request_id: X-Request-Id as it was sent.
        item: which item of the workload's source the request was made from.
        zero_s: `perf_counter` second that counts as 0 in the record.
    """
    stream = _Stream()
    if exchange.status == 200:
        _read_body(exchange, stream)
    outcome, error = _judge(exchange, stream, asked_tokens, exact)

    def since_zero(at_s: float | None) -> float | None:
        return None if at_s is None else at_s - zero_s

    return RequestRecord(
        level=exchange.level,
        index=exchange.index,
        request_id=request_id,
        item=item,
        warmup=exchange.warmup,
        intended_send_s=exchange.intended_s - zero_s,
        send_s=exchange.send_s - zero_s,
        first_byte_s=since_zero(exchange.first_byte_s),
        end_s=since_zero(exchange.end_s),
        status=exchange.status,
        chunk_s=tuple(at_s - zero_s for at_s in stream.arrivals),
        chunk_kind=tuple(stream.kinds),
        prompt_tokens=_count(stream.usage, "prompt_tokens"),
        cached_tokens=_count(stream.usage.get("prompt_tokens_details"), "cached_tokens"),
        completion_tokens=_count(stream.usage, "completion_tokens"),
        asked_tokens=asked_tokens,
        finish_reason=_clean(stream.finish_reason),
        outcome=outcome,
        error=_clean(error),
        text=_clean("".join(stream.text)) or "",
    )


def error_words(body: bytes) -> str | None:
    """What an error body says, in whichever dialect: nested, flat, a bare string, or plain text."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace").strip()[:300] or None
    if isinstance(document, dict):
        return _error_of(document) or json.dumps(document)[:300]
    return str(document)[:300]


def _read_body(exchange: Exchange, stream: _Stream) -> None:
    try:
        packets = _decoded(exchange)
    except (zlib.error, ValueError) as problem:
        stream.outcome, stream.error = Outcome.MALFORMED, f"the body could not be decoded: {problem}"
        return
    for event in sse.parse(packets, exchange.arrivals):
        if stream.done:
            break
        _read_event(event, stream)
        if stream.outcome is not None:
            break
    if not stream.kinds and not stream.done and stream.outcome is None and any(packets):
        # bytes but not one event: an HTML page, a JSON document, or a stream cut in its first event
        head = b"".join(packets).lstrip(b"\xef\xbb\xbf \r\n\t")
        if head[:1] in (b"<", b"{", b"["):
            _read_document(head, stream)


def _decoded(exchange: Exchange) -> list[bytes]:
    """The packets with the content encoding undone, one output for each input so that arrivals still match."""
    encoding = exchange.content_encoding.strip().lower()
    if encoding in ("", "identity"):
        return exchange.packets
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"content encoding '{encoding}' was not asked for and is not understood")
    wbits = zlib.MAX_WBITS if encoding == "deflate" else zlib.MAX_WBITS | 32
    inflate = zlib.decompressobj(wbits)
    decoded, room, members = [], MOST_DECODED_BYTES, 1
    for packet in exchange.packets:
        out = b""
        while packet:
            out += inflate.decompress(packet, room - len(out) + 1)
            if len(out) > room:
                raise ValueError(f"it unpacks to more than {MOST_DECODED_BYTES} bytes")
            packet = inflate.unused_data
            if inflate.eof:  # several members follow each other in one body
                members += 1
                if members > MOST_MEMBERS:
                    raise ValueError(f"it has more than {MOST_MEMBERS} members")
                inflate = zlib.decompressobj(wbits)
        decoded.append(out)
        room -= len(out)
    return decoded


def _read_document(body: bytes, stream: _Stream) -> None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    words = _error_of(document) if isinstance(document, dict) else None
    if words is not None:
        stream.outcome, stream.error = Outcome.IN_BAND_ERROR, words
    else:
        stream.outcome = Outcome.MALFORMED
        stream.error = "a stream was asked for and one document came back: its tokens have no arrival times"


def _read_event(event: sse.Event, stream: _Stream) -> None:
    data = event.data.strip()
    if event.name == "error":
        stream.outcome, stream.error = Outcome.IN_BAND_ERROR, error_words(data.encode("utf-8", "replace"))
        stream.error = stream.error or "an error event without words"
        return
    if data == "[DONE]":
        stream.done = True
        stream.before_end = sum(kind.bears_token for kind in stream.kinds)
        return
    if not data:
        return
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        chunk = None
    if not isinstance(chunk, dict):
        stream.outcome, stream.error = Outcome.MALFORMED, f"an event is not a JSON object: {data[:80]!r}"
        return
    words = _error_of(chunk)
    if words is not None:
        stream.outcome, stream.error = Outcome.IN_BAND_ERROR, words
        return
    if isinstance(usage := chunk.get("usage"), dict):
        stream.usage = {**stream.usage, **{key: value for key, value in usage.items() if value is not None}}
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        stream.outcome, stream.error = Outcome.MALFORMED, f"an event has no list of choices: {data[:80]!r}"
        return
    choice = choices[0] if choices and isinstance(choices[0], dict) else None
    words = None if choice is None else _error_of(choice)
    if words is not None:
        stream.outcome, stream.error = Outcome.IN_BAND_ERROR, words
        return
    kind, text = _kind_of(choice, has_usage=isinstance(usage, dict))
    reason = choice.get("finish_reason") if choice is not None else None
    if isinstance(reason, str) and reason:
        stream.finish_reason = reason
        if reason in BROKEN_OFF:
            stream.outcome, stream.error = Outcome.IN_BAND_ERROR, f"the server broke off: finish_reason is '{reason}'"
            return
    stream.arrivals.append(event.at_s)
    stream.kinds.append(kind)
    if isinstance(reason, str) and reason:
        stream.before_end = sum(kind.bears_token for kind in stream.kinds)
    if text:
        stream.text.append(text)


def _kind_of(choice: dict[str, Any] | None, *, has_usage: bool) -> tuple[ChunkKind, str]:
    """What a chunk carried and its visible text; content counts before reasoning, reasoning before tools."""
    if choice is None:
        return (ChunkKind.USAGE if has_usage else ChunkKind.ROLE), ""
    delta = choice.get("delta")
    delta = delta if isinstance(delta, dict) else {}
    content = _text(delta.get("content")) or _text(choice.get("text")) or _text(delta.get("refusal"))
    if content:
        return ChunkKind.CONTENT, content
    if _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")):
        return ChunkKind.REASONING, ""
    calls, call = delta.get("tool_calls"), delta.get("function_call")
    if (isinstance(calls, list) and calls) or (isinstance(call, dict) and call):
        return ChunkKind.TOOL, ""
    finished = isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]
    return (ChunkKind.FINISH if finished else ChunkKind.ROLE), ""


def _clean(text: str | None) -> str | None:
    """Halves of a character that JSON escaped in two chunks put together, and lone halves as U+FFFD."""
    return None if text is None else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _text(value: Any) -> str:
    """A delta's text, given as a string or as a list of text parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = (part.get("text") for part in value if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _error_of(chunk: dict[str, Any]) -> str | None:
    """The words of an in-band error, or None when the chunk is none; `"error": null` is none."""
    error = chunk.get("error")
    if error is None and chunk.get("object") == "error":
        error = chunk
    if error is None or error is False:
        return None
    message = error.get("message") if isinstance(error, dict) else error
    words = str(message if message else error)[:300].strip()
    return words or "an error without words"


def _count(container: Any, key: str) -> int | None:
    value = container.get(key) if isinstance(container, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _judge(exchange: Exchange, stream: _Stream, asked: int, exact: bool) -> tuple[Outcome, str | None]:
    if exchange.status is not None and exchange.status != 200:
        words = error_words(b"".join(exchange.packets))
        return Outcome.HTTP_ERROR, f"HTTP {exchange.status}" + (f": {words}" if words else "")
    if stream.outcome is not None:
        return stream.outcome, stream.error
    terminal = stream.done or stream.finish_reason is not None
    if exchange.failure is not None and not (terminal and exchange.failure in ("cut", "connection")):
        # a connection that breaks after the terminal event has lost nothing
        return _FAILURES[exchange.failure], exchange.detail or exchange.failure
    if not terminal:
        return Outcome.TRUNCATED, "the stream ended without a finish reason and without [DONE]"
    tokens = sum(kind.bears_token for kind in stream.kinds)
    if not stream.before_end:
        return Outcome.EMPTY, "the stream ended properly and carried no token"
    if exact:
        counted = _count(stream.usage, "completion_tokens")
        if counted is None and tokens < asked:
            return (
                Outcome.SHORT,
                f"{asked} tokens were asked for; no usage was sent and only {tokens} chunks carried any",
            )
        if counted is not None and counted < asked:
            return Outcome.SHORT, f"{asked} tokens were asked for, the server counts {counted}"
        if counted is not None and counted > asked:
            return Outcome.OVERLONG, f"{asked} tokens were asked for, the server counts {counted}"
    return Outcome.SUCCESS, None
