"""A real HTTP server that misbehaves byte by byte, and every way in which it does, with what has to come of it.

A scenario is a script: bytes are sent as one packet, numbers are pauses in seconds, and two actions end a
connection badly (`RESET`) or not at all (`HANG`). The request body names the scenario, so one server plays
them all, and it counts the requests it gets: a client that retries in silence is found out.

Where a scenario comes from is said beside it; the numbers are those of section 3 of
`facts/peers-and-quirks.md`.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lab.records import ChunkKind, Outcome
from tests.load.raw_server import RawServer

PAUSE_S = 0.2
"""Long enough that a clock that starts too early is seen."""
HANG_S = 60.0
"""The longest a hanging server waits for its client to leave."""


class Act(Enum):
    """What a script can do apart from sending and pausing."""

    RESET = "close with RST"
    HANG = "say nothing more until the client leaves"


RESET, HANG = Act.RESET, Act.HANG
Step = bytes | float | Act

KINDS = {
    "r": ChunkKind.ROLE,
    "c": ChunkKind.CONTENT,
    "g": ChunkKind.REASONING,
    "t": ChunkKind.TOOL,
    "f": ChunkKind.FINISH,
    "u": ChunkKind.USAGE,
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way to answer, and the record that has to come of it."""

    name: str
    script: tuple[Step, ...]
    outcome: Outcome = Outcome.SUCCESS
    tokens: int | None = 4
    """`completion_tokens` of the record."""
    text: str = "one two three four"
    kinds: str = "rccccfu"
    """Kinds of all chunks, in the letters of `KINDS`."""
    finish: str | None = "length"
    status: int | None = 200
    error: str = ""
    """Has to occur in the record's error."""
    waits_s: float = 0.0
    """The first token comes at least this long after the request was sent."""
    exact: bool = True
    route: str = "/chat/completions"


# --- building blocks --------------------------------------------------------------------------------------


def event(data: Any) -> bytes:
    """One well-formed event."""
    return b"data: " + (data.encode() if isinstance(data, str) else dump(data)) + b"\n\n"


def dump(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def say(text: str | None, finish: str | None = None, **more: Any) -> bytes:
    return event(chunk({"content": text}, finish, **more))


def finished(reason: str = "length") -> bytes:
    return event(chunk({}, reason))


def usage(tokens: int) -> dict[str, Any]:
    return {"prompt_tokens": 7, "completion_tokens": tokens, "total_tokens": 7 + tokens}


def counted(tokens: int) -> bytes:
    return event({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage(tokens)})


def head(*headers: str, status: str = "200 OK", version: str = "1.1", kind: str | None = "text/event-stream") -> bytes:
    lines = [f"HTTP/{version} {status}", *([f"Content-Type: {kind}"] if kind else []), *headers, "", ""]
    return "\r\n".join(lines).encode()


def framed(data: bytes, extension: bytes = b"") -> bytes:
    """One chunk of the chunked encoding."""
    return b"%x%b\r\n%b\r\n" % (len(data), extension, data)


def chunked(*steps: Step, headers: tuple[str, ...] = (), kind: str | None = "text/event-stream") -> tuple[Step, ...]:
    """A whole chunked response; each piece of bytes is one chunk and one packet."""
    body = (framed(step) if isinstance(step, bytes) else step for step in steps)
    return (head("Transfer-Encoding: chunked", *headers, kind=kind), *body, LAST)


def whole(
    body: bytes, *headers: str, status: str = "200 OK", kind: str | None = "text/event-stream"
) -> tuple[Step, ...]:
    """A response with its length announced, in one packet."""
    return (head(f"Content-Length: {len(body)}", *headers, status=status, kind=kind) + body,)


LAST = b"0\r\n\r\n"
ROLE = event(chunk({"role": "assistant", "content": ""}))
WORDS = (say("one"), say(" two"), say(" three"), say(" four"))
FINISH = finished()
USAGE = counted(4)
DONE = b"data: [DONE]\n\n"
NORMAL = (ROLE, *WORDS, FINISH, USAGE, DONE)
BODY = b"".join(NORMAL)
TOOL = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]}
ERROR = {"message": "the GPU fell off the bus", "type": "server_error", "code": 500}
SAID = "the GPU fell off the bus"


def slowly(data: bytes, size: int = 1, pause_s: float = 0.0001) -> Iterator[Step]:
    """Bytes in packets of `size`, with a pause after each so that the kernel does not put them together."""
    for start in range(0, len(data), size):
        yield data[start : start + size]
        yield pause_s


def deflated(steps: tuple[bytes, ...], wbits: int) -> tuple[bytes, ...]:
    """Each piece compressed and flushed, as a compressing proxy that streams does."""
    packer = zlib.compressobj(wbits=wbits)
    pieces = [packer.compress(step) + packer.flush(zlib.Z_SYNC_FLUSH) for step in steps]
    return (*pieces, packer.flush())


# --- scenarios that are a success -------------------------------------------------------------------------

SPLIT = say("日本語").partition("本".encode())
_GOOD = (
    Scenario("plain", chunked(*NORMAL)),
    # chunks: 1, 4, 7, 8, 9, 10
    Scenario("role-only first chunk", chunked(ROLE, PAUSE_S, *NORMAL[1:]), waits_s=PAUSE_S),
    Scenario(
        "role-only first chunk with null content",
        chunked(event(chunk({"role": "assistant", "content": None})), PAUSE_S, *NORMAL[1:]),
        waits_s=PAUSE_S,
    ),
    Scenario(
        "role-only first chunk without content",
        chunked(event(chunk({"role": "assistant"})), PAUSE_S, *NORMAL[1:]),
        waits_s=PAUSE_S,
    ),
    Scenario(
        "headers long before the first token",
        (head("Transfer-Encoding: chunked"), PAUSE_S, framed(BODY), LAST),
        waits_s=PAUSE_S,
    ),
    Scenario("no role chunk", chunked(*NORMAL[1:]), kinds="ccccfu"),
    Scenario(
        "role rides on the first content",
        chunked(event(chunk({"role": "assistant", "content": "one"})), *NORMAL[2:]),
        kinds="ccccfu",
    ),
    Scenario(
        "finish reason on the last token",
        chunked(ROLE, *WORDS[:3], say(" four", "length"), USAGE, DONE),
        kinds="rccccu",
    ),
    Scenario(
        "usage on the finish chunk",
        chunked(ROLE, *WORDS, event(chunk({}, "length", usage=usage(4))), DONE),
        kinds="rccccf",
    ),
    Scenario(
        "usage in every chunk",
        chunked(
            *(say(t, usage=usage(i + 1)) for i, t in enumerate(("one", " two", " three", " four"))), FINISH, USAGE, DONE
        ),
        kinds="ccccfu",
    ),
    Scenario(
        "usage is null until the end",
        chunked(*(say(t, usage=None) for t in ("one", " two", " three", " four")), FINISH, USAGE, DONE),
        kinds="ccccfu",
    ),
    Scenario("usage missing", chunked(ROLE, *WORDS, FINISH, DONE), tokens=None, kinds="rccccf"),
    Scenario(
        "usage that is nonsense",
        chunked(
            ROLE,
            *WORDS,
            FINISH,
            event(
                {"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "4", "prompt_tokens_details": []}}
            ),
            DONE,
        ),
        tokens=None,
    ),
    Scenario(
        "error is null in every chunk",
        chunked(*(say(t, error=None) for t in ("one", " two", " three", " four")), FINISH, USAGE, DONE),
        kinds="ccccfu",
    ),
    Scenario(
        "several tokens a chunk", chunked(ROLE, say("one two"), say(" three four"), FINISH, USAGE, DONE), kinds="rccfu"
    ),
    Scenario(
        "first chunk holds most tokens",
        chunked(ROLE, say("one two three"), say(" four"), FINISH, USAGE, DONE),
        kinds="rccfu",
    ),
    Scenario(
        "reasoning",
        chunked(
            ROLE,
            event(chunk({"reasoning": "hm"})),
            event(chunk({"reasoning": " so"})),
            say("three"),
            say(" four"),
            FINISH,
            USAGE,
            DONE,
        ),
        text="three four",
        kinds="rggccfu",
    ),
    Scenario(
        "reasoning_content",
        chunked(
            ROLE, event(chunk({"reasoning_content": "hm", "content": None})), PAUSE_S, say("two"), FINISH, USAGE, DONE
        ),
        text="two",
        kinds="rgcfu",
    ),
    Scenario(
        "reasoning only",
        chunked(ROLE, event(chunk({"reasoning_content": "hm"})), FINISH, USAGE, DONE),
        text="",
        kinds="rgfu",
    ),
    Scenario(
        "tool calls",
        chunked(ROLE, event(chunk(TOOL)), event(chunk(TOOL)), finished("tool_calls"), USAGE, DONE),
        text="",
        kinds="rttfu",
        finish="tool_calls",
    ),
    Scenario(
        "content is null in the middle",
        chunked(ROLE, WORDS[0], say(None), *WORDS[1:], FINISH, USAGE, DONE),
        kinds="rcrcccfu",
    ),
    Scenario(
        "delta is null in the middle",
        chunked(ROLE, WORDS[0], event(chunk(None)), *WORDS[1:], FINISH, USAGE, DONE),
        kinds="rcrcccfu",
    ),
    Scenario(
        "empty choices in the middle",
        chunked(ROLE, WORDS[0], event({"choices": []}), *WORDS[1:], FINISH, USAGE, DONE),
        kinds="rcrcccfu",
    ),
    # terminal events: 6, 12
    Scenario("finish reason without [DONE]", chunked(*NORMAL[:-1])),
    Scenario("[DONE] without finish reason", chunked(ROLE, *WORDS, USAGE, DONE), kinds="rccccu", finish=None),
    Scenario("content after [DONE]", chunked(*NORMAL, say(" five"), DONE)),
    Scenario("[DONE] without its blank line after a finish reason", chunked(*NORMAL[:-1], b"data: [DONE]")),
    Scenario("[DONE] with spaces around", chunked(*NORMAL[:-1], b"data:  [DONE] \n\n")),
    Scenario("usage and [DONE] long after the last token", chunked(*NORMAL[:6], PAUSE_S, *NORMAL[6:])),
    Scenario("connection cut after [DONE]", (head("Transfer-Encoding: chunked"), framed(BODY))),
    Scenario("connection reset after [DONE]", (head("Transfer-Encoding: chunked"), framed(BODY), PAUSE_S, RESET)),
    # event streams: 13, 14, 43 and the SSE table
    Scenario("data without a space", chunked(*(step.replace(b"data: ", b"data:") for step in NORMAL))),
    Scenario("lines end with CRLF", chunked(*(step.replace(b"\n", b"\r\n") for step in NORMAL))),
    Scenario("lines end with CR", chunked(*(step.replace(b"\n", b"\r") for step in NORMAL))),
    Scenario(
        "line ends mixed",
        chunked(
            *(
                step[:-2] + end
                for step, end in zip(
                    NORMAL,
                    (b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r", b"\n\r\n", b"\r\n\n", b"\r\n\r", b"\n\n"),
                    strict=True,
                )
            )
        ),
    ),
    Scenario(
        "CR and LF in two packets",
        chunked(*(piece for step in NORMAL for piece in (step[:-2] + b"\r", b"\n\r", b"\n"))),
    ),
    Scenario(
        "comments as keep-alive",
        chunked(b": hello\n\n", PAUSE_S, *(s + b": ping\n\n:\n\n" for s in NORMAL)),
        waits_s=PAUSE_S,
    ),
    Scenario("comment inside an event", chunked(*(b": ping\n" + step for step in NORMAL))),
    Scenario("comment of a megabyte", chunked(b":" + b"x" * 1_000_000 + b"\n\n", *NORMAL)),
    Scenario("empty data as keep-alive", chunked(b"data:\n\ndata\n\ndata: \n\n", *NORMAL)),
    Scenario(
        "event, id and retry fields",
        chunked(*(b"event: message\nid: %d\nretry: 10\nmade-up: field\n" % i + step for i, step in enumerate(NORMAL))),
    ),
    Scenario("fields without data", chunked(b"id: 1\n\nevent: ping\n\nretry: 5\n\n", *NORMAL)),
    Scenario("multi-line data", chunked(*(step.replace(b',"', b',\ndata: "') for step in NORMAL))),
    Scenario("byte order mark at the start", chunked(b"\xef\xbb\xbf" + ROLE, *NORMAL[1:])),
    Scenario(
        "UTF-8 split over packets",
        chunked(ROLE, SPLIT[0] + SPLIT[1][:1], PAUSE_S, SPLIT[1][1:2], PAUSE_S, SPLIT[1][2:] + SPLIT[2], *NORMAL[5:]),
        text="日本語",
        kinds="rcfu",
        waits_s=2 * PAUSE_S,
    ),
    Scenario(
        "U+2028 and U+0085 in the text",
        chunked(ROLE, say("a\u2028b\u0085c\u2029d\x0be"), FINISH, USAGE, DONE),
        text="a\u2028b\u0085c\u2029d\x0be",
        kinds="rcfu",
    ),
    Scenario(
        "an emoji in two halves, each escaped alone",
        chunked(
            ROLE,
            event('{"choices":[{"delta":{"content":"a\\ud83d"}}]}'),
            event('{"choices":[{"delta":{"content":"\\ude00b"}}]}'),
            FINISH,
            USAGE,
            DONE,
        ),
        text="a\U0001f600b",
        kinds="rccfu",
    ),
    Scenario(
        "invalid UTF-8",
        chunked(ROLE, WORDS[0].replace(b"one", b"\xffone"), *WORDS[1:], FINISH, USAGE, DONE),
        text="\ufffdone two three four",
    ),
    Scenario("[DONE] glued to the last chunks", chunked(*NORMAL[:5], b"".join(NORMAL[5:]))),
    Scenario("several events a packet", chunked(b"".join(NORMAL[:3]), b"".join(NORMAL[3:6]), b"".join(NORMAL[6:]))),
    Scenario("events across chunks", chunked(*(BODY[i : i + 37] for i in range(0, len(BODY), 37)))),
    Scenario("one byte a chunk", chunked(*(BODY[i : i + 1] for i in range(len(BODY))))),
    Scenario("one byte a packet", tuple(slowly(head("Transfer-Encoding: chunked") + framed(BODY) + LAST))),
    Scenario("buffering proxy", whole(BODY)),  # 35
    Scenario(
        "a token of a megabyte",
        chunked(ROLE, say("x" * 1_000_000), FINISH, USAGE, DONE),
        text="x" * 1_000_000,
        kinds="rcfu",
    ),
    # HTTP
    Scenario("length announced", (head(f"Content-Length: {len(BODY)}"), *NORMAL)),
    Scenario("gzip", chunked(*deflated(NORMAL, 31), headers=("Content-Encoding: gzip",))),
    Scenario("gzip in one block", whole(gzip.compress(BODY), "Content-Encoding: gzip")),
    Scenario(
        "gzip in two members", whole(gzip.compress(BODY[:300]) + gzip.compress(BODY[300:]), "Content-Encoding: gzip")
    ),
    Scenario("deflate", chunked(*deflated(NORMAL, 15), headers=("Content-Encoding: deflate",))),
    Scenario("close-delimited", (head("Connection: close"), *NORMAL)),
    Scenario("close-delimited without saying so", (head(), *NORMAL)),
    Scenario("close-delimited HTTP/1.0", (head(version="1.0"), *NORMAL)),
    Scenario(
        "chunk extensions and trailers",
        (
            head("Transfer-Encoding: chunked", "Trailer: X-Time"),
            *(framed(s, b';name="a b";x') for s in NORMAL),
            b"0\r\nX-Time: 3\r\nX-More: 4\r\n\r\n",
        ),
    ),
    Scenario(
        "chunk sizes with zeros and capitals",
        (head("Transfer-Encoding: chunked"), b"000%X\r\n%b\r\n" % (len(BODY), BODY), b"000\r\n\r\n"),
    ),
    Scenario("slow headers", (*slowly(head("Transfer-Encoding: chunked"), 20, 0.02), framed(BODY), LAST)),
    Scenario("100 Continue first", (b"HTTP/1.1 100 Continue\r\n\r\n", 0.05, *chunked(*NORMAL))),
    Scenario(
        "103 Early Hints first",
        (
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
            + b"".join(step for step in chunked(*NORMAL) if isinstance(step, bytes)),
        ),
    ),
    Scenario("no content type", chunked(*NORMAL, kind=None)),
    Scenario("content type of a document", chunked(*NORMAL, kind="application/json")),
    Scenario("no reason phrase", (head("Transfer-Encoding: chunked").replace(b"200 OK", b"200"), framed(BODY), LAST)),
    Scenario("a second response nobody asked for", (*chunked(*NORMAL), *whole(BODY))),
    Scenario("content type with a charset", chunked(*NORMAL, kind="Text/Event-Stream; charset=UTF-8")),
    # lengths
    Scenario(
        "short, and nobody asked for the exact length",
        chunked(ROLE, *WORDS[:2], finished("stop"), counted(2), DONE),
        tokens=2,
        text="one two",
        kinds="rccfu",
        finish="stop",
        exact=False,
    ),
    Scenario(
        "text route",
        chunked(
            *(
                event({"object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": reason}]})
                for text, reason in (("one two", None), (" three four", None), ("", "length"))
            ),
            USAGE,
            DONE,
        ),
        kinds="ccfu",
        route="/completions",
    ),
)

# --- scenarios that are none ------------------------------------------------------------------------------

IN_BAND, TRUNCATED, MALFORMED = Outcome.IN_BAND_ERROR, Outcome.TRUNCATED, Outcome.MALFORMED
START = (ROLE, *WORDS[:2])
_CUT: dict[str, Any] = {"tokens": None, "text": "one two", "kinds": "rcc", "finish": None}
_NOTHING: dict[str, Any] = {"tokens": None, "text": "", "kinds": "", "finish": None}


def _in_band(name: str, error: bytes, words: str = SAID) -> tuple[Scenario, ...]:
    """An error dialect in the middle of a stream with `[DONE]` behind it, without, and as the only event."""
    return (
        Scenario(f"error in a 200: {name}, then [DONE]", chunked(*START, error, DONE), IN_BAND, error=words, **_CUT),
        Scenario(f"error in a 200: {name}, no [DONE]", chunked(*START, error), IN_BAND, error=words, **_CUT),
        Scenario(f"error in a 200: {name}, nothing else", chunked(error), IN_BAND, error=words, **_NOTHING),
    )


def _status(code: str, body: bytes, kind: str, *headers: str, words: str = "") -> Scenario:
    return Scenario(
        f"{code} with {kind} {len(body)}",
        whole(body, *headers, status=code, kind=kind),
        Outcome.HTTP_ERROR,
        status=int(code[:3]),
        error=words or code[:3],
        **_NOTHING,
    )


_BAD = (
    # 11: the dialects of engines.md, row "error inside stream"
    *_in_band("object", event({"error": ERROR})),
    *_in_band("object of SGLang", event({"error": {"object": "error", "param": None, **ERROR}})),
    *_in_band("flat object", event({"object": "error", "param": None, **ERROR})),
    *_in_band("string with its type", event({"error": SAID, "error_type": "generation"})),
    *_in_band("event: error with an object", b"event: error\n" + event({"error": ERROR})),
    *_in_band("event: error with a flat object", b"event: error\n" + event(ERROR)),
    *_in_band("event: error with plain text", b"event: error\n" + event(SAID)),
    *_in_band("empty object", event({"error": {}}), ""),
    Scenario(
        "error after the finish reason",
        chunked(*NORMAL[:6], event({"error": ERROR}), DONE),
        IN_BAND,
        tokens=None,
        kinds="rccccf",
        error=SAID,
    ),
    Scenario(
        "error beside content",
        chunked(ROLE, event(chunk({"content": "one"}, error=ERROR)), DONE),
        IN_BAND,
        tokens=None,
        text="",
        kinds="r",
        finish=None,
        error=SAID,
    ),
    Scenario(
        "error masked as an empty chunk",
        chunked(*START, event({"choices": [{"index": 0, "delta": {}}]})),
        TRUNCATED,
        tokens=None,
        text="one two",
        kinds="rccr",
        finish=None,
    ),
    Scenario(
        "error document in a 200",
        whole(dump({"error": ERROR}), kind="application/json"),
        IN_BAND,
        error=SAID,
        **_NOTHING,
    ),
    Scenario(
        "error document in a 200 without its type", whole(dump({"error": ERROR})), IN_BAND, error=SAID, **_NOTHING
    ),
    # 12: ends that are none
    Scenario("neither finish reason nor [DONE]", chunked(*START), TRUNCATED, **_CUT),
    Scenario("nothing at all in a 200", chunked(), TRUNCATED, **_NOTHING),
    Scenario("only comments", chunked(b": ping\n\n" * 3), TRUNCATED, **_NOTHING),
    Scenario("the last event has no blank line", chunked(*START, FINISH.rstrip(b"\n") + b"\n"), TRUNCATED, **_CUT),
    Scenario("the last event has no line end", chunked(*START, b"data: [DONE]"), TRUNCATED, **_CUT),
    Scenario("cut in the middle of an event", chunked(*START, FINISH[:20]), TRUNCATED, **_CUT),
    Scenario(
        "closed inside a chunked body", (head("Transfer-Encoding: chunked"), framed(b"".join(START))), TRUNCATED, **_CUT
    ),
    Scenario(
        "closed inside a chunk",
        (head("Transfer-Encoding: chunked"), framed(b"".join(START)), b"ff\r\ndata"),
        TRUNCATED,
        **_CUT,
    ),
    Scenario("closed before the announced length", (head("Content-Length: 100000"), *START), TRUNCATED, **_CUT),
    Scenario("close-delimited and cut", (head(), *START), TRUNCATED, **_CUT),
    Scenario(
        "gzip cut",
        (head("Transfer-Encoding: chunked", "Content-Encoding: gzip"), *map(framed, deflated(NORMAL, 31)[:3])),
        TRUNCATED,
        **_CUT,
    ),
    Scenario(
        "reset in the middle",
        (head("Transfer-Encoding: chunked"), *map(framed, START), PAUSE_S, RESET),
        Outcome.CONNECTION,
        error="reset",
        **_CUT,
    ),
    # 2, 15: lengths
    Scenario(
        "short although the exact length was asked",
        chunked(ROLE, *WORDS[:2], finished("stop"), counted(2), DONE),
        Outcome.SHORT,
        tokens=2,
        text="one two",
        kinds="rccfu",
        finish="stop",
    ),
    Scenario(
        "one chunk, no usage, exact length asked",
        chunked(ROLE, WORDS[0], finished("stop"), DONE),
        Outcome.SHORT,
        tokens=None,
        text="one",
        kinds="rcf",
        finish="stop",
    ),
    Scenario(
        "longer than was asked",
        chunked(ROLE, *WORDS, say(" five"), FINISH, counted(5), DONE),
        Outcome.OVERLONG,
        tokens=5,
        text="one two three four five",
        kinds="rcccccfu",
    ),
    Scenario("no token", chunked(ROLE, FINISH, counted(0), DONE), Outcome.EMPTY, tokens=0, text="", kinds="rfu"),
    Scenario(
        "only empty strings",
        chunked(ROLE, say(""), say(None), FINISH, USAGE, DONE),
        Outcome.EMPTY,
        text="",
        kinds="rrrfu",
    ),
    Scenario("only [DONE]", chunked(DONE), Outcome.EMPTY, **_NOTHING),
    # bodies that are no stream
    Scenario("a page with 200", whole(b"<!doctype html><h1>Sign in</h1>", kind="text/html"), MALFORMED, **_NOTHING),
    Scenario(
        "one document although a stream was asked",
        whole(dump({"choices": [{"message": {"content": "one"}}]}), kind="application/json"),
        MALFORMED,
        **_NOTHING,
    ),
    Scenario("data that is not JSON", chunked(*START, event("oops"), DONE), MALFORMED, error="oops", **_CUT),
    Scenario("data that is half JSON", chunked(*START, FINISH[:30] + b"\n\n", DONE), MALFORMED, **_CUT),
    Scenario("data that is no object", chunked(*START, event("[1]"), DONE), MALFORMED, **_CUT),
    Scenario("an object without choices", chunked(*START, event({"hello": 1}), DONE), MALFORMED, **_CUT),
    Scenario("gzip that is none", whole(BODY, "Content-Encoding: gzip"), MALFORMED, **_NOTHING),
    Scenario("an encoding nobody asked for", whole(BODY, "Content-Encoding: br"), MALFORMED, error="br", **_NOTHING),
    # HTTP that says no
    _status("401 Unauthorized", dump({"error": {"message": "bad key"}}), "application/json", words="bad key"),
    _status("404 Not Found", dump({"error": {"message": "no such model"}}), "application/json", words="no such model"),
    _status("404 Not Found", b"", "text/plain"),
    _status(
        "429 Too Many Requests",
        dump({"error": {"message": "slow down"}}),
        "application/json",
        "Retry-After: 0",
        words="slow down",
    ),
    _status("429 Too Many Requests", b"", "text/plain", "Retry-After: 0"),
    _status("500 Internal Server Error", b"Internal Server Error", "text/plain", words="Internal Server Error"),
    _status("500 Internal Server Error", BODY, "text/event-stream"),
    _status("503 Service Unavailable", b"<html>upstream</html>", "text/html", "Retry-After: 0", words="upstream"),
    _status("503 Service Unavailable", dump({"detail": "loading"}), "application/json", words="loading"),
    _status("307 Temporary Redirect", b"", "text/plain", "Location: /elsewhere"),
    _status("201 Created", BODY, "text/event-stream"),
    Scenario(
        "204 without a body",
        (head(status="204 No Content", kind=None),),
        Outcome.HTTP_ERROR,
        status=204,
        error="204",
        **_NOTHING,
    ),
    # no HTTP at all
    Scenario(
        "garbage instead of HTTP",
        (b"\x15\x03\x01\x00\x02\x02\x46 not HTTP\r\n\r\n",),
        MALFORMED,
        status=None,
        error="not HTTP",
        **_NOTHING,
    ),
    Scenario(
        "a chunk size that is none",
        (head("Transfer-Encoding: chunked"), framed(b"".join(START)), b"xyz\r\n"),
        MALFORMED,
        error="not HTTP",
        **_CUT,
    ),
    Scenario("headers without end", (head()[:-2] + b"X: " + b"x" * 600_000,), MALFORMED, **_NOTHING),
    Scenario(
        "a switch of protocols",
        (head("Connection: upgrade", "Upgrade: h2c", status="101 Switching Protocols"),),
        MALFORMED,
        status=None,
        **_NOTHING,
    ),
    Scenario("closed without a word", (), Outcome.CONNECTION, status=None, **_NOTHING),
    Scenario("reset without a word", (RESET,), Outcome.CONNECTION, status=None, **_NOTHING),
    Scenario("closed inside the status line", (head()[:8],), Outcome.CONNECTION, status=None, **_NOTHING),
    Scenario("closed inside the headers", (head()[:-10],), Outcome.CONNECTION, **_NOTHING),
    # 24, 39: waiting
    Scenario("hangs before the headers", (HANG,), Outcome.TIMEOUT, status=None, **_NOTHING),
    Scenario("hangs inside the headers", (head()[:-10], HANG), Outcome.TIMEOUT, **_NOTHING),
    Scenario("hangs after the headers", (head("Transfer-Encoding: chunked"), HANG), Outcome.TIMEOUT, **_NOTHING),
    Scenario(
        "hangs in the middle", (head("Transfer-Encoding: chunked"), *map(framed, START), HANG), Outcome.TIMEOUT, **_CUT
    ),
    Scenario("hangs after [DONE]", (head("Transfer-Encoding: chunked"), framed(BODY), HANG), Outcome.TIMEOUT),
    Scenario(
        "keep-alive comments for ever",
        chunked(*(step for _ in range(600) for step in (b": ping\n\n", 0.1))),
        Outcome.TIMEOUT,
        **_NOTHING,
    ),
)

SCENARIOS = _GOOD + _BAD

DEEP = b"[" * 100_000
HOSTILE = (
    Scenario("data nested too deeply", chunked(*START, event('{"choices":' + DEEP.decode()), DONE), MALFORMED, **_CUT),
    Scenario("a document nested too deeply", whole(DEEP, kind="application/json"), MALFORMED, **_NOTHING),
    Scenario(
        "a refusal nested too deeply",
        whole(DEEP, status="400 Bad Request", kind="application/json"),
        Outcome.HTTP_ERROR,
        status=400,
        error="400",
        **_NOTHING,
    ),
)
"""Asked one at a time: a client that falls over one of these loses what it measured besides."""


# --- the server -------------------------------------------------------------------------------------------


class MisbehavingServer(RawServer):
    """Plays the scenario named in each request's body, one thread a connection.

    Attributes:
        port: where it listens, on 127.0.0.1.
        asked: how many requests each scenario got.
    """

    timeout_s = HANG_S

    def __init__(self, scenarios: tuple[Scenario, ...] = SCENARIOS + HOSTILE) -> None:
        self._scripts = {scenario.name: scenario.script for scenario in scenarios}
        assert len(self._scripts) == len(scenarios), "two scenarios have one name"
        self.asked: Counter[str] = Counter()
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        name = _scenario_name(connection)
        if name is not None:
            self.asked[name] += 1
            _play(connection, self._scripts[name])


def _scenario_name(connection: socket.socket) -> str | None:
    """Read one request and return the scenario it names; None when the client left without asking."""
    received = b""
    while b"\r\n\r\n" not in received:
        packet = connection.recv(65536)
        if not packet:
            return None
        received += packet
    headers, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in headers.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    while len(body) < length:
        body += connection.recv(65536)
    return str(json.loads(body)["scenario"])


def _play(connection: socket.socket, script: tuple[Step, ...]) -> None:
    for step in script:
        if isinstance(step, bytes):
            connection.sendall(step)
        elif isinstance(step, float):
            time.sleep(step)
        elif step is RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        else:
            while connection.recv(65536):
                pass
