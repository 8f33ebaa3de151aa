"""Fuzz of the streaming client: seeded streams, damaged in every way, and an oracle that knows what may come of them.

The generator starts from valid streams in many dialects and spoils documents, events, bytes, encodings and
HTTP framing. The oracle is written from the rule and from the RFCs, not from the client: it has its own SSE
reading, its own HTTP reading and its own rule of success, and it says "undecided" where the rule leaves room.

    python -m tests.load.fuzz --in-memory 95000 --sockets 5000 --seed 1
    python -m tests.load.fuzz --seed 1 --show m17        # one stream again: m in memory, s over a socket
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import random
import re
import signal
import socket
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

from lab.evidence import EvidenceStore, new_run_id
from lab.load.answer import read_answer
from lab.load.driver import LevelJob, LoadJob, run_load
from lab.load.spool import Exchange, read_exchanges, write_exchange
from lab.records import ChunkKind, Outcome, RequestRecord
from tests.load.raw_server import RawServer

READ_LIMIT_S = 5.0
"""Reading one stream in memory may take this long before it counts as a hang."""
TIMEOUT_S = 20.0
"""Client limit over sockets; no stream of an ordinary batch lasts a tenth of it."""
HANG_TIMEOUT_S = 0.5
"""Client limit of the batches in which every stream hangs."""
LINGER_S = 0.05
"""A client that takes an unclear response for complete has sent its next request by then; one that waits has not."""
TOGETHER = 16
BATCH = 1250
STORED_TOGETHER = 4000
"""Records that go through parquet in one go."""

KINDS = {
    "r": ChunkKind.ROLE, "c": ChunkKind.CONTENT, "g": ChunkKind.REASONING,
    "t": ChunkKind.TOOL, "f": ChunkKind.FINISH, "u": ChunkKind.USAGE,
}  # fmt: skip
FOREIGN = "FOREIGN"
"""Text of responses that nobody asked for: no record may hold it."""

Doc = dict[str, Any] | str | tuple[str, Any]
"""What an event carries: an object, raw data, or the event's name with either."""


# --- valid streams ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Style:
    """How the events of one stream are written."""

    ends: tuple[str, ...]
    space: str
    ascii: bool
    bom: bool
    multi_line: float
    comments: float
    fields: float


@dataclass(slots=True)
class Valid:
    """A stream without fault, and the record that has to come of it."""

    docs: list[Doc]
    style: Style
    asked: int
    exact: bool
    kinds: str
    text: str
    tokens: int | None
    finish: str | None


@dataclass(slots=True)
class Case:
    """One stream, its body before and inside the encoding, and how it is sent."""

    number: int
    asked: int
    exact: bool
    plain: bytes = b""
    body: bytes = b""
    status: int | None = 200
    encoding: str = ""
    content_type: str = "text/event-stream"
    damage: list[str] = field(default_factory=list)
    expect: Valid | None = None
    """Set while nothing was done that could change the record."""
    failure: str | None = None
    """In memory: how the exchange ended."""
    raw: bytes = b""
    """Over a socket: the whole response, sent in `cuts` pieces with pauses."""
    cuts: list[int] = field(default_factory=list)
    pause_s: float = 0.0
    end: str = "keep"
    """What the server does then: keep, close, linger (close unless another request comes soon), reset or hang."""


WORDS = (
    "one", " two", " three", "日本語", "é", "\U0001f600", "\U0001f468\u200d\U0001f469", "a\u2028b", "\u2029", "\u0085",
    "\x0b", "\x00", "\\", '"', "data: x", "\n\n", "\r", "[DONE]", "<html>", "\ufeff", "\u202e", " ", "0", "null",
    '{"error": 1}',
)  # fmt: skip
HALVES = ("\ud83d", "\ude00", "a\ud83d", "\ude00b", "\udc00", "x\ud800y")
REASONS = ("stop", "length", "length", "tool_calls", "content_filter", "function_call")
TOOLS: tuple[dict[str, Any], ...] = (
    {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '"x": 1}'}}], "content": None},
    {"function_call": {"name": "f", "arguments": "{}"}},
)


def valid(rng: random.Random) -> Valid:
    """A stream without fault in a random dialect."""
    chance = rng.random
    count = rng.randint(1, 7)
    text_route = chance() < 0.08
    kinds = ["c"] * count
    if not text_route and chance() < 0.3:
        reasoned = rng.randint(1, count)
        kinds[:reasoned] = "g" * reasoned
    if not text_route and chance() < 0.15:
        called = rng.randint(1, count)
        kinds[-called:] = "t" * called
    sizes = [rng.randint(1, 4) if chance() < 0.5 else 1 for _ in kinds] if chance() < 0.3 else [1] * count
    usage = rng.choice(("none", "last", "last", "finish", "each", "null"))
    finish = rng.choice(("own", "own", "last", "none"))
    if finish == "none" and usage == "finish":
        usage = "last"
    done = finish == "none" or chance() < 0.8
    reason = None if finish == "none" else rng.choice(REASONS)
    thought = rng.choice(("reasoning", "reasoning_content"))
    halves = chance() < 0.06
    more: dict[str, Any] = rng.choice(({}, {"error": None}, {"service_tier": "x"}, {"usage": None, "error": None}))
    base = {"id": "x", "object": "text_completion" if text_route else "chat.completion.chunk", "model": "m"}
    docs: list[Doc] = []
    seen: list[str] = []
    said: list[str] = []
    produced = 0

    def put(letter: str, delta: dict[str, Any], ends: str | None = None) -> None:
        choice: dict[str, Any] = {"index": 0, "finish_reason": ends}
        choice |= {"text": delta.get("content", "")} if text_route else {"delta": delta}
        doc: dict[str, Any] = {**base, "choices": [choice], **more}
        if usage == "each" or (usage == "finish" and ends is not None):
            doc["usage"] = _usage(produced)
        elif usage == "null":
            doc["usage"] = None
        docs.append(doc)
        seen.append(letter)

    if not text_route and chance() < 0.7:
        role = {"role": "assistant"}
        put("r", role | rng.choice(({}, {"content": ""}, {"content": None})))
    for at, (letter, size) in enumerate(zip(kinds, sizes, strict=True)):
        produced += size
        word = rng.choice(HALVES if halves else WORDS) * (1 if size == 1 else size)
        ends = reason if finish == "last" and at == count - 1 else None
        if letter == "c":
            said.append(word)
            put("c", {"content": word}, ends)
        elif letter == "g":
            put("g", {thought: word} | rng.choice(({}, {"content": None}, {"content": ""})), ends)
        else:
            put("t", rng.choice(TOOLS), ends)
        if chance() < 0.05:
            put("r", rng.choice(({}, {"content": ""})))
            if finish == "last" and at == count - 1 and chance() < 0.5:
                docs.pop()
                seen.pop()
    if finish == "own":
        put("f", rng.choice(({}, {"content": ""})), reason)
    if usage in ("last", "null") or (usage == "each" and chance() < 0.5):
        docs.append({**base, "choices": [], "usage": _usage(produced)})
        seen.append("u")
    if done:
        docs.append("[DONE]")
    counted = usage != "none"
    exact = chance() < 0.6
    asked = produced if counted else rng.randint(1, count)
    if not exact:
        asked = rng.randint(1, 9)
    end = rng.choice(("\n", "\n", "\r\n", "\r", "mixed"))
    style = Style(
        ends=("\n", "\r\n", "\r") if end == "mixed" else (end,),
        space=rng.choice((" ", " ", "")),
        ascii=halves or chance() < 0.4,
        bom=chance() < 0.06,
        multi_line=0.5 if chance() < 0.1 else 0.0,
        comments=0.3 if chance() < 0.2 else 0.0,
        fields=0.5 if chance() < 0.15 else 0.0,
    )
    return Valid(docs, style, asked, exact, "".join(seen), _whole("".join(said)), produced if counted else None, reason)


def _usage(tokens: int) -> dict[str, Any]:
    return {"prompt_tokens": 7, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": 3}}


def _whole(text: str) -> str:
    """Halves of a character put together where they meet, U+FFFD where they do not."""
    joined = re.sub(
        "([\ud800-\udbff])([\udc00-\udfff])",
        lambda pair: chr(0x10000 + ((ord(pair[1]) - 0xD800) << 10) + ord(pair[2]) - 0xDC00),
        text,
    )
    return re.sub("[\ud800-\udfff]", "\ufffd", joined)


def render(rng: random.Random, style: Style, docs: Sequence[Doc]) -> tuple[list[bytes], list[int]]:
    """The events of a stream as bytes, and for each the offset just behind its last data line."""
    events, offsets = [], []
    for at, doc in enumerate(docs):
        end = rng.choice(style.ends).encode()
        name, data = doc if isinstance(doc, tuple) else ("", doc)
        lines: list[bytes] = []
        if rng.random() < style.comments:
            lines += rng.choice(([b": ping", b""], [b":"], [b": a", b": b", b""]))
        if name:
            lines.append(b"event:" + style.space.encode() + name.encode())
        if rng.random() < style.fields:
            lines += rng.sample([b"id: 1", b"retry: 10", b"event: message" if not name else b"x: y", b"made-up"], 2)
        pieces = _dump(data, style.ascii, rng.random() < style.multi_line)
        lines += [b"data:" + style.space.encode() + piece for piece in pieces]
        written = len(end.join(lines))
        if rng.random() < style.comments:
            lines.append(b": behind")
        if rng.random() < style.fields:
            lines.append(b"id: 2")
        head = b"\xef\xbb\xbf" if style.bom and at == 0 else b""
        events.append(head + end.join(lines) + end * 2)
        offsets.append(len(head) + written)
    return events, offsets


_RAW = re.compile(rb'"@@(\w+):(\d+)@@"')


def _dump(data: Any, ascii_only: bool, multi_line: bool) -> list[bytes]:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass").split(b"\n")
    indent, separators = (0, None) if multi_line else (None, (",", ":"))
    text = json.dumps(data, ensure_ascii=ascii_only, indent=indent, separators=separators)
    dumped = text.encode("utf-8", "surrogatepass")
    if b"@@" in dumped:
        dumped = _RAW.sub(_raw, dumped)
    return dumped.split(b"\n") if multi_line else [dumped]


def _raw(found: re.Match[bytes]) -> bytes:
    """JSON that no dump would write: numbers of thousands of digits, nesting of any depth."""
    kind, size = found[1].decode(), int(found[2])
    if kind == "digits":
        return b"9" * size
    opening, closing = {"lists": (b"[", b"]"), "objects": (b'{"a":', b"}"), "texts": (b'[{"text":', b"}]")}[kind]
    return opening * size + b'"x"' + closing * size


# --- damage -----------------------------------------------------------------------------------------------

JUNK: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 4, 3.0, 4.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63 - 1, 2**63, 10**30,
    10**400, "", "x", "4", "null", "error", "\ud83d", "\x00", "x" * 3000, [], {}, [[]], [None], [1, 2], {"a": 1},
    {"message": "boom"}, [{"text": "part"}], [{"type": "text", "text": "p"}, 7], [{"delta": {"content": "x"}}],
    "@@digits:5000@@", "@@digits:4300@@", "@@lists:50@@", "@@texts:40@@",
)  # fmt: skip
DETAIL: dict[str, Any] = {"message": "the GPU fell off the bus", "type": "server_error", "code": 500}
ERRORS: tuple[Doc, ...] = (
    {"error": DETAIL},
    {"error": {"object": "error", "param": None, **DETAIL}},
    {"object": "error", "param": None, **DETAIL},
    {"error": "boom", "error_type": "generation"},
    ("error", {"error": DETAIL}),
    ("error", DETAIL),
    ("error", "boom"),
    {"error": {"message": "boom"}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]},
    {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}], "error": DETAIL},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": DETAIL}]},
    {"error": {"message": {"deep": ["boom"]}}},
    {"error": {}},
    {"error": ""},
    {"error": {"message": " "}},
    {"error": True},
    {"error": 500},
    {"error": ["boom"]},
    {"error": {"message": "\ud800 half"}},
    {"detail": "boom"},
    {"message": "boom", "code": 500},
    ("error", ""),
)
DOCUMENTS = (
    b"<!doctype html><h1>502 Bad Gateway</h1>", b"<html>" + b"x" * 5000, b'{"error":"boom"}', b'{"error":""}',
    b'{"choices":[{"message":{"content":"one"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}', b"[1,2,3]",
    b'{"object":"error","message":"boom"}', b'"text"', b"null", b"Internal Server Error", b"", b"\n\n\n", b"{",
    b"\xef\xbb\xbf", b"[" * 2000, b"\x00" * 50, b"\xff\xfe{\x00}\x00", b'{"a":' * 990 + b"1" + b"}" * 990,
)  # fmt: skip


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _places(value)


DATA = ("oops", "[DONE]", " [DONE] ", "[done]", "{}", "[1]", "", " ", "{", "x\n[DONE]", "\u2028", "[DONE]\u00a0")
DOC_DAMAGE = "type type type type key error error error remove twice swap event shuffle end choices count deep".split()


def spoil_docs(rng: random.Random, docs: list[Doc]) -> str:
    """Change what the events say, in place; returns what was done."""
    at = rng.randrange(len(docs)) if docs else 0
    what = rng.choice(DOC_DAMAGE)
    doc = docs[at] if docs else None
    if what in ("type", "key", "choices") and isinstance(doc, dict) and doc:
        docs[at] = doc = json.loads(json.dumps(doc))
        assert isinstance(doc, dict)
        box, key = rng.choice(list(_places(doc)))
        if what == "type":
            box[key] = rng.choice(JUNK)
        elif what == "key" and isinstance(box, dict):
            value = box.pop(key)
            if rng.random() < 0.5:
                box[rng.choice(("error", "content", "usage", "choices", "finish_reason", "x"))] = value
        elif what == "choices" and isinstance(doc.get("choices"), list):
            other = rng.choice((None, {}, [], {"index": 1, "delta": {"content": "b"}}))
            doc["choices"].insert(rng.randint(0, 1), other)
    elif what == "count" and isinstance(doc, dict):
        count = rng.choice(("@@digits:5000@@", 2**63, 10**30, -1, 3.0, "4", None, True, [], 0, 1))
        docs[at] = doc | {"usage": {"prompt_tokens": rng.choice(JUNK), "completion_tokens": count}}
    elif what == "deep" and isinstance(doc, dict):  # about as deep as Python reads, and deeper
        deep = (
            f"@@{rng.choice(('lists', 'objects', 'texts', 'texts'))}:{rng.choice((rng.randint(100, 1100), 20_000))}@@"
        )
        box = rng.choice(({"delta": {"content": deep}}, {"delta": {}, "finish_reason": deep}, {"error": deep}))
        docs[at] = {"choices": [box]} if "error" not in box else box
    elif what == "error":
        docs.insert(rng.randint(0, len(docs)), rng.choice(ERRORS))
    elif what == "remove" and docs:
        del docs[at]
    elif what == "twice" and docs:
        docs.insert(rng.randint(0, len(docs)), docs[at])
    elif what == "swap" and docs:
        there = rng.randrange(len(docs))
        docs[at], docs[there] = docs[there], docs[at]
    elif what == "shuffle":
        rng.shuffle(docs)
    elif what == "end":
        del docs[at:]
    else:
        name = rng.choice(("", "", "ping", "message", "error"))
        docs.insert(at, (name, rng.choice(JUNK) if rng.random() < 0.3 else rng.choice(DATA)))
    return what


BYTE_DAMAGE = "cut cut flip flip insert delete repeat move null utf8 ends long".split()
INSERTED = (
    b"", b"\n\n", b"\r", b"\n", b":", b"data: [DONE]\n\n", b'data: {"error":{"message":"boom"}}\n\n', b"event: error\n",
    b"\xe2\x80\xa8", b'"', b"}", b" ", b"\xef\xbb\xbf",
)  # fmt: skip


def spoil_bytes(rng: random.Random, body: bytes) -> tuple[bytes, str]:
    """Change the bytes; returns them with what was done."""
    at, until = sorted((rng.randint(0, len(body)), rng.randint(0, len(body))))
    what = rng.choice(BYTE_DAMAGE)
    if what == "cut":
        return body[:at], what
    if what == "flip":
        flipped = bytearray(body)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            if flipped:
                flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return bytes(flipped), what
    if what == "insert":
        inserted = rng.choice(INSERTED) or rng.randbytes(rng.randint(1, 20))
        return body[:at] + inserted + body[at:], what
    if what == "delete":
        return body[:at] + body[min(until, at + rng.choice((1, 2, 30, 300))) :], what
    if what == "repeat":
        return body[:until] + body[at:], what
    if what == "move":
        return body[until:] + body[:until], what
    if what == "null":
        return body[:at] + b"\x00" * rng.randint(1, 5) + body[at:], what
    if what == "utf8":
        return body[:at] + rng.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc0\x80")) + body[at:], what
    if what == "ends":
        return rng.choice((body.replace(b"\n", b"\r"), body.replace(b"\n", b""), body.replace(b"\r", b"\n"))), what
    line = rng.choice((b": ", b"data: ", b"x", b"\n")) + b"y" * rng.choice((5_000, 60_000)) + rng.choice((b"", b"\n"))
    return body[:at] + line + body[at:], what


def encode(rng: random.Random, case: Case) -> None:
    """Put the body into a content encoding, rightly or wrongly."""
    plain = case.plain
    half = rng.randint(0, len(plain))
    what = rng.choice("gzip gzip members flushed deflate cut flip bomb unlabelled lie br".split())
    case.encoding = rng.choice(("gzip", "gzip", "x-gzip", "GZIP", " gzip"))
    packed = gzip.compress(plain, 6, mtime=0)
    if what == "members":
        packed = gzip.compress(plain[:half], 1, mtime=0) + gzip.compress(plain[half:], 9, mtime=0)
    elif what == "flushed":
        packer = zlib.compressobj(wbits=31)
        parts = [packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH) for part in (plain[:half], plain[half:])]
        packed = b"".join(parts) + packer.flush()
    elif what == "deflate":
        case.encoding = "deflate"
        packer = zlib.compressobj(wbits=rng.choice((15, 15, -15)))
        packed = packer.compress(plain) + packer.flush()
    elif what == "cut":
        packed = packed[: rng.randint(0, len(packed))]
    elif what == "flip":
        spoiled = bytearray(packed)
        spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
        packed = bytes(spoiled)
    elif what == "bomb":
        packed = gzip.compress(b":" + b" " * 300_000 + b"\n" + plain, 1, mtime=0)
    elif what == "unlabelled":
        case.encoding = ""
    elif what == "lie":
        packed = plain
    elif what == "br":
        case.encoding = rng.choice(("br", "zstd", "gzip, gzip", "identity", "IDENTITY"))
        packed = plain
    case.body = packed
    case.damage.append(f"encoding {what}")
    if what == "bomb" and case.expect is not None and case.expect.style.bom:
        case.expect = None  # the mark is no longer at the start
    if what in ("cut", "flip", "unlabelled", "lie", "br") or what == "deflate":
        case.expect = None


def make(seed: int, number: int, channel: str) -> Case:
    """Stream `number` of a seed; `channel` is `m` (in memory) or a kind of socket batch: keeping, hostile, hanging."""
    rng = random.Random(f"{seed}:{channel}:{number}")
    good = valid(rng)
    case = Case(number, good.asked, good.exact, expect=good)
    docs = list(good.docs)
    spoil = rng.random()
    if spoil < 0.45:
        for _ in range(rng.choice((1, 1, 2, 3))):
            case.damage.append(spoil_docs(rng, docs))
    if 0.40 < spoil < 0.5 and case.exact:
        case.asked = max(1, case.asked + rng.choice((-1, 1, 3)))
        case.damage.append("asked")
    case.plain = b"".join(render(rng, good.style, docs)[0])
    if 0.35 < spoil < 0.75:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            case.plain, what = spoil_bytes(rng, case.plain)
            case.damage.append(what)
    elif 0.75 < spoil < 0.79:
        case.plain = rng.choice(DOCUMENTS)
        case.damage.append("document")
    case.body = case.plain
    if case.damage:
        case.expect = None
    if rng.random() < 0.08:
        encode(rng, case)
    if rng.random() < 0.1:
        case.content_type = rng.choice(("text/html", "application/json", "", "text/event-stream; charset=latin-1", "x"))
    if channel == "m":
        if rng.random() < 0.04:
            case.status = rng.choice((None, 100, 201, 204, 206, 301, 307, 400, 401, 404, 429, 500, 503, 599))
            case.damage.append("status")
            case.failure = "connection" if case.status is None else None
        if rng.random() < 0.08:
            case.failure = rng.choice(("cut", "cut", "connection", "connection", "timeout", "cancelled", "malformed"))
            case.damage.append(f"ends in {case.failure}")
    else:
        respond(rng, case, channel)
    if "status" in case.damage or case.failure or case.end in ("reset", "hang"):
        case.expect = None
    return case


# --- HTTP -------------------------------------------------------------------------------------------------

STATUSES = (
    "201 Created", "202 Accepted", "204 No Content", "206 Partial Content", "301 Moved", "304 Not Modified", "422 No",
    "307 Temporary Redirect", "400 Bad Request", "401 Unauthorized", "404 Not Found", "413 Large", "429 Slow down",
    "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "599 X", "999 Y",
)  # fmt: skip
STATUS_LINES = (
    b"HTTP/1.1 abc", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK", b"HTTP/9.9 200 OK", b"http/1.1 200 OK", b"HTTP/1.1 0 OK",
    b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"ICY 200 OK", b"HTTP/1.1 -200 OK", b"HTTP/1.1\t200 OK", b"\x16\x03\x01\x02",
    b"HTTP/1.1 200 \xff\xfe", b"HTTP/1.1 200 OK\x00", b"200 OK", b"", b"HTTP/2 200 OK", b"HTTP/1.1  200 OK",
)  # fmt: skip
HEADER_JUNK = (
    b"no colon", b": empty name", b"X : space", b"X: \x00", b"X: a\r\n folded", b"X: a\nY: b", b"\xff: x", b"X:", b"\r",
    b"X: \xff\xfe", b"X-Long: " + b"x" * 50_000, b"X-Longer: " + b"x" * 300_000, b"Connection: close, keep-alive",
    b"Content-Encoding: ", b"Content-Type: a\r\nContent-Type: b", b"Upgrade: h2c\r\nConnection: Upgrade", b"\tX: y",
    b"Content-Length : 5", b"Set-Cookie: a=b; c", b"Retry-After: -1", b"X-Request-Id: other", b"Connection: upgrade",
)  # fmt: skip
INTERIM = (
    b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
    b"HTTP/1.1 102 Processing\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\n", b"HTTP/1.1 100 \r\n\r\n" * 40,
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"HTTP/1.1 150 X\r\nContent-Type: y\r\n\r\n",
)  # fmt: skip
TRAILERS = (
    b"X-Time: 3\r\n", b"X-A: 1\r\nX-B: 2\r\n", b"Content-Encoding: gzip\r\n", b"Content-Type: text/html\r\n",
    b"X: \x00\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"junk\r\n",
)  # fmt: skip
EXTENSIONS = (b";a", b";a=b", b';a="b c"', b";a=b;c=d", b"; a", b" ", b";", b";\x00", b';a="', b";a=b\n")
SIZES = (
    b"xyz", b"-1", b"", b"0x5", b"fffffffffffffffff", b"7fffffffffffffff", b"1g", b" 5", b"5 ", b"+5", b"0", b"00",
    b"\xff", b"5,5", b"5\n",
)  # fmt: skip


def respond(rng: random.Random, case: Case, channel: str) -> None:
    """Put the body into an HTTP response, damaged or not, and choose how it is sent and how the connection ends."""
    framing = rng.choice(("chunked", "chunked", "length") if channel == "keeping" else ("chunked", "length", "close"))
    status_line, headers, before, after = b"HTTP/1.1 200 OK", [], b"", b""
    kind, encoding = case.content_type.encode(), case.encoding.encode()
    headers += [b"Content-Type: " + kind] if kind else []
    headers += [b"Content-Encoding: " + encoding] if encoding else []
    pieces = _pieces(case.body, sorted(rng.choices(range(len(case.body) + 1), k=rng.choice((0, 1, 5, 20)))))
    extension = trailer = b""
    last = b"0\r\n"
    what = rng.choice(HTTP_DAMAGE[channel]) if rng.random() < 0.5 else ""
    length = b"%d" % len(case.body)
    if what == "status":
        status_line = b"HTTP/1.1 " + rng.choice(STATUSES).encode()
    elif what == "statusline":
        status_line = rng.choice(STATUS_LINES)
    elif what == "header":
        headers.insert(rng.randint(0, len(headers)), rng.choice(HEADER_JUNK))
    elif what == "interim":
        before = rng.choice(INTERIM)
    elif what == "extension":
        framing, extension = "chunked", rng.choice(EXTENSIONS[:4] if channel == "keeping" else EXTENSIONS)
    elif what == "trailer":
        framing, trailer = "chunked", rng.choice(TRAILERS[:4] if channel == "keeping" else TRAILERS)
    elif what == "length":
        framing = "length"
        again = b"\r\nContent-Length: "
        wrong = (b"%d" % rng.randint(0, len(case.body)), b"%d" % (len(case.body) + rng.choice((1, 50, 10**6))))
        twice = (length + b", " + length, length + again + b"3", length + again + length)
        odd = (b"-1", b"x", b"", b"+5", b"9" * 20, b"0" + length, length + b".0")
        length = rng.choice((*wrong, *wrong, *twice, *odd, length + b"\r\nTransfer-Encoding: chunked"))
    elif what == "extra":
        said = b'data: {"choices":[{"delta":{"content":"%b"},"finish_reason":"stop"}]}\n\n' % FOREIGN.encode()
        second = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said)
        after = rng.choice((b"\r\n", b"garbage", b"\x00", second, second, second[:40], second * 2, b"0\r\n\r\n"))
        if after.startswith(second):
            # the client has seen that more came than it asked for; what follows belongs to nobody
            after = b"HTTP/1.1 100 Continue\r\n\r\n" + after
    if framing == "chunked":
        headers.append(b"Transfer-Encoding: " + rng.choice((b"chunked", b"chunked", b"Chunked")))
        sizes = [b"%x" % len(piece) for piece in pieces]
        ends = [b"\r\n"] * len(pieces)
        if what == "chunk" and pieces:
            at = rng.randrange(len(pieces))
            how = rng.choice(("size", "size", "wrong", "end", "last", "last", "twice"))
            if how == "size":
                sizes[at] = rng.choice(SIZES)
            elif how == "wrong":
                sizes[at] = b"%x" % max(0, len(pieces[at]) + rng.choice((-3, -1, 1, 2, 40)))
            elif how == "end":
                ends[at] = rng.choice((b"", b"\n", b"\r", b"\r\r\n", b"xx"))
            elif how == "last":
                last = rng.choice((b"", b"0", b"0\n", b"000\r\n", b"0;x=y\r\n", b"0\r\nX"))
            else:
                headers.append(b"Transfer-Encoding: " + rng.choice((b"chunked", b"gzip", b"identity", b"x")))
        chunks = zip(sizes, pieces, ends, strict=True)
        body = b"".join(size + extension + b"\r\n" + piece + end for size, piece, end in chunks)
        body += last + trailer + b"\r\n"
    else:
        body = case.body
        if framing == "length":
            headers.append(b"Content-Length: " + length)
        elif rng.random() < 0.5:
            headers.append(b"Connection: close")
    rng.shuffle(headers)
    case.raw = before + b"\r\n".join((status_line, *headers, b"", b"")) + body
    if what == "head":
        flipped = bytearray(case.raw)
        for _ in range(rng.choice((1, 1, 2))):
            flipped[rng.randrange(min(len(flipped), len(case.raw) - len(body)))] ^= 1 << rng.randrange(8)
        case.raw = bytes(flipped)
    if what in ("break", "reset") or channel == "hanging":
        case.raw = case.raw[: rng.randint(0, len(case.raw) - 1 if channel == "hanging" else len(case.raw))]
    case.end = "reset" if what == "reset" else "hang" if channel == "hanging" else "close"
    reply = read_response(case.raw, case.end)
    if case.end == "close" and read_response(case.raw, "hang").state == "complete":
        case.end = "keep"  # the response has an end of its own
    elif case.end == "close" and reply.unclear:
        case.end = "linger"
    if channel == "hanging":
        case.asked, case.exact = 1, False  # all in one level
        if reply.state == "complete":
            case.raw, reply = b"", read_response(b"", "hang")
    surplus = len(case.raw) - reply.used if reply.state == "complete" else 0
    if surplus:  # one packet, so that the client can see that more came than the response
        case.raw = case.raw[: reply.used + 4000] if len(case.raw) < 30_000 else case.raw[: reply.used]
        case.cuts = []
    elif after and case.end == "keep" and len(case.raw) < 30_000:
        if rng.random() < 0.7:
            case.cuts, case.pause_s = [len(case.raw) + rng.randint(1, min(len(after), 30))], 0.001
        if after.startswith(b"HTTP/1.1 100"):
            case.cuts, case.pause_s = [len(case.raw) + after.index(b"\r\n\r\n") + 4], 0.001
        case.raw += after
    elif case.raw:
        case.cuts = sorted(rng.choices(range(len(case.raw) + 1), k=rng.choice((0, 0, 1, 3, 12))))
        case.pause_s = rng.choice((0.0, 0.0, 0.0005, 0.002)) if case.cuts else 0.0
    if what:
        case.damage.append(f"http {what}")
        if what not in ("extra", "interim", "extension", "trailer"):
            case.expect = None
    if reply.unclear or (reply.state, reply.status) != ("complete", 200) or reply.body != case.body:
        case.expect = None


HTTP_DAMAGE = {
    "keeping": "status extension trailer extra extra extra interim".split(),
    "hostile": "status statusline header header interim extension trailer length length chunk chunk chunk head".split()
    + "break break reset extra".split(),
    "hanging": "interim status break".split(),
}


def _pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    """`data` cut at `cuts`, without empty pieces."""
    return [data[start:end] for start, end in pairwise((0, *cuts, len(data))) if end > start]


# --- oracle -----------------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What may come of a stream."""

    MUST = "must be a success"
    MUST_NOT = "must not be a success"
    OPEN = "undecided"


@dataclass(slots=True)
class Reply:
    """A response as RFC 9112 reads it. `state`: complete, cut, connection or timeout."""

    status: int | None
    encoding: str
    body: bytes
    state: str
    used: int = 0
    """Bytes that belong to the response."""
    unclear: bool = False
    """The bytes break the RFC: strict and lenient readers differ."""


_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [\t -~\x80-\xff]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)")
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_SIZE_LINE = re.compile(rb'([0-9A-Fa-f]{1,15})((?:;%b(?:=(?:%b|"[^"\\\x00-\x08\n]*"))?)*)' % (_TOKEN, _TOKEN))


def read_response(raw: bytes, end: str) -> Reply:
    """The first final response in `raw`, when the connection ends in `end` behind it."""
    broken = {"close": "cut", "linger": "cut", "keep": "cut", "reset": "connection", "hang": "timeout"}[end]
    at = 0
    while True:
        blank = raw.find(b"\r\n\r\n", at)
        if blank < 0:
            state = "timeout" if end == "hang" else "connection"
            return Reply(None, "", b"", state, len(raw), unclear=b"\n\n" in raw or b"\r\r" in raw or b"\n\r\n" in raw)
        status_line, *lines = raw[at:blank].split(b"\r\n")
        at = blank + 4
        found = _STATUS_LINE.fullmatch(status_line)
        headers = [_HEADER.fullmatch(line) for line in lines]
        if found is None or not all(headers) or blank > 200_000:
            return Reply(None, "", raw[at:], broken, unclear=True)
        status = int(found[2])
        if status == 101 or status < 100:
            return Reply(status, "", raw[at:], broken, unclear=True)
        if status >= 200:
            break
    values: dict[bytes, list[bytes]] = {}
    for header in headers:
        assert header is not None
        values.setdefault(header[1].lower(), []).append(header[2].strip(b" \t"))
    encodings, lengths = values.get(b"content-encoding", []), values.get(b"content-length", [])
    transfers = values.get(b"transfer-encoding", [])
    encoding = encodings[0].decode("latin-1") if encodings else ""
    reply = Reply(status, encoding, b"", "complete", at)
    reply.unclear = (
        len(encodings) > 1
        or len(lengths + transfers) > 1
        or any(transfer.lower() != b"chunked" or found[1] == b"0" for transfer in transfers)
        or any(re.fullmatch(rb"[0-9]{1,18}", length) is None for length in lengths)
        or any(b"pgrade" in value for value in values.get(b"connection", []))
    )
    if reply.unclear:
        reply.body, reply.state = raw[at:], broken
    elif status in (204, 304):
        pass
    elif transfers:
        _read_chunks(raw, reply, broken)
    elif lengths:
        size = int(lengths[0])
        reply.body = raw[at : at + size]
        reply.used = at + len(reply.body)
        reply.state = "complete" if len(reply.body) == size else broken
    else:
        reply.body, reply.used = raw[at:], len(raw)
        reply.state = "complete" if end in ("close", "linger") else broken
    return reply


def _read_chunks(raw: bytes, reply: Reply, broken: str) -> None:
    at, body = reply.used, []

    def leave(state: str, unclear: bool = False) -> None:
        reply.body, reply.state, reply.used, reply.unclear = b"".join(body), state, at, unclear

    while True:
        line_end = raw.find(b"\r\n", at)
        rest = raw[at:line_end] if line_end >= 0 else raw[at:].rstrip(b"\r")
        found = _SIZE_LINE.fullmatch(rest)
        if line_end < 0:
            return leave(broken, unclear=found is None and bool(rest))
        if found is None:
            return leave(broken, unclear=True)
        size, at = int(found[1], 16), line_end + 2
        if size == 0:
            break
        body.append(raw[at : at + size])
        at += size
        if at + 2 > len(raw):
            return leave(broken, unclear=at < len(raw) and raw[at:] != b"\r")
        if raw[at : at + 2] != b"\r\n":
            return leave(broken, unclear=True)
        at += 2
    while True:
        line_end = raw.find(b"\r\n", at)
        line = raw[at:line_end] if line_end >= 0 else raw[at:]
        if line_end < 0:
            return leave(broken, unclear=b"\n" in line)
        at = line_end + 2
        if not line:
            return leave("complete")
        found = _HEADER.fullmatch(line)
        if found is None or found[1].lower() in (b"content-length", b"transfer-encoding"):
            return leave(broken, unclear=True)


def undo(encoding: str, body: bytes) -> tuple[bytes, str]:
    """The body without its encoding, and whether it was `whole`, `cut`, `corrupt`, `unknown` or `odd`."""
    encoding = encoding.strip(" \t").lower()
    if encoding in ("", "identity"):
        return body, "whole"
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return b"", "unknown"
    wbits, out, rest, members = (15 if encoding == "deflate" else 31), b"", body, 0
    while rest:
        inflate = zlib.decompressobj(wbits)
        try:
            out += inflate.decompress(rest)
        except zlib.error:
            return out, "odd" if members or encoding == "deflate" else "corrupt"
        if not inflate.eof:
            return out, "cut"
        rest = inflate.unused_data
        members += 1
    return out, "whole"


def events_of(body: bytes) -> list[tuple[bytes, bytes]]:
    """(name, data) of every event that a blank line closed."""
    text = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events = []
    for block in text.split(b"\n\n")[:-1]:
        name, data = b"", []
        for line in block.split(b"\n"):
            key, *rest = line.split(b":", 1)
            value = rest[0].removeprefix(b" ") if rest else b""
            if key == b"data":
                data.append(value)
            elif key == b"event":
                name = value
        if data:
            events.append((name, b"\n".join(data)))
    return events


class Reading:
    """What the rule says about the events of a body.

    Attributes:
        forbids: why it can be no success; None when nothing forbids it.
        odd: where the rule leaves room.
    """

    def __init__(self, body: bytes, asked: int, exact: bool) -> None:
        self.forbids: str | None = None
        self.odd: set[str] = set()
        self.tokens = self.maybe_tokens = 0  # token-bearing deltas, for sure and at most
        self.until = self.maybe_until = -1  # the same up to the last terminal event
        self.counts: list[int] = []
        for name, data in events_of(body):
            if self.forbids is not None or self._read(name, data):
                break
        self.forbids = self.forbids or self._lengths(asked, exact)

    def _read(self, name: bytes, data: bytes) -> bool:
        """Take one event in; True when nothing behind it counts."""
        text = data.decode("utf-8", "replace")
        bare = text.strip(" \t\r\n")
        if bare != text.strip():
            return self._vague("white space")
        if bare == "[DONE]":
            self._terminal()
            return self._vague("an error event that says [DONE]") if name == b"error" else True
        if not bare:
            return name == b"error" and self._vague("an error event without data")
        if bare.count("[") + bare.count("{") > 150 or re.search(r"\d{4000}", bare):
            return self._vague("deeper or longer than a reader needs to read")
        if name == b"error":
            return self._forbid("an error event")
        try:
            doc = json.loads(bare, parse_constant=self._constant)
        except ValueError:
            return self._forbid("an event that is not JSON")
        if not isinstance(doc, dict):
            return self._forbid("an event that is no object")
        if self._error(doc) or doc.get("object") == "error":
            return self._forbid("an error object")
        if not isinstance(doc.get("choices"), list):
            if "choices" in doc or not isinstance(doc.get("usage"), dict):
                return self._forbid("an object without a list of choices")
            return self._vague("usage without choices")
        self._count(doc.get("usage"))
        choices = doc["choices"]
        if len(choices) > 1:
            self.odd.add("several choices")
        for choice in choices:
            if isinstance(choice, dict):
                self._choice(choice, sure=len(choices) == 1)
            else:
                self.odd.add("a choice that is no object")
        return False

    def _choice(self, choice: dict[str, Any], sure: bool) -> None:
        if self._error(choice):
            if sure:
                self._forbid("an error object in a choice")
            self.odd.add("an error in one of several choices")
        delta = choice.get("delta")
        if delta is not None and not isinstance(delta, dict):
            self.odd.add("a delta that is no object")
        texts, calls, strange = [choice.get("text")], [], [choice.get("message")]
        if isinstance(delta, dict):
            texts += [delta.get("content"), delta.get("reasoning"), delta.get("reasoning_content")]
            calls += [delta.get("tool_calls"), delta.get("function_call")]
            strange += [delta.get("refusal"), delta.get("text"), delta.get("audio")]
        certain = any(isinstance(text, str) and text for text in texts)
        certain |= any(isinstance(call, dict) and call for call in calls[1:])
        certain |= any(isinstance(call, list) and call and all(isinstance(c, dict) for c in call) for call in calls[:1])
        if certain:
            self.tokens += sure
            self.maybe_tokens += 1
        elif any(value not in (None, "", [], {}) for value in (*texts, *calls, *strange)) or not isinstance(
            delta, dict | None
        ):
            self.maybe_tokens += 1
            self.odd.add("perhaps a token")
        elif any(value not in (None, "") for value in texts):
            self.odd.add("a text that is none")
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish and sure:
            self._terminal()
            if finish == "error":
                self.odd.add("a finish reason that is an error")
        elif finish not in (None, ""):
            self.maybe_until = self.maybe_tokens
            self.odd.add("perhaps a finish reason")

    def _constant(self, word: str) -> float:
        self.odd.add(word)  # NaN and the infinities are no JSON, and Python reads them
        return float(word)

    def _count(self, usage: Any) -> None:
        if usage is None:
            return
        count = usage.get("completion_tokens") if isinstance(usage, dict) else None
        if type(count) is int and 0 <= count < 2**63:
            self.counts.append(count)
        else:
            self.odd.add("usage that is none")

    def _error(self, box: dict[str, Any]) -> bool:
        error = box.get("error")
        if error is None:
            return False
        if (isinstance(error, dict) and error) or (isinstance(error, str) and error.strip()):
            return True
        self.odd.add("perhaps an error")
        return False

    def _terminal(self) -> None:
        self.until, self.maybe_until = self.tokens, self.maybe_tokens

    def _vague(self, why: str) -> bool:
        self.odd.add(why)
        self.maybe_tokens += 1_000_000
        self.maybe_until = self.maybe_tokens
        self.odd.add("usage that is none")
        return True

    def _forbid(self, why: str) -> bool:
        self.forbids = self.forbids or why
        return True

    def _lengths(self, asked: int, exact: bool) -> str | None:
        if self.maybe_until < 0:
            return "no terminal event"
        if self.maybe_until == 0:
            return "no token before the terminal event"
        if self.until <= 0:
            self.odd.add("perhaps no token before the terminal event")
        if self.tokens > self.until:
            self.odd.add("tokens behind the terminal event")
        if not exact:
            return None
        if self.counts and self.counts[-1] != max(self.counts):
            self.odd.add("usage that goes back")
        if self.odd & {"usage that goes back", "usage that is none"}:
            return None
        if self.counts:
            return None if self.counts[-1] == asked else "another length than was asked"
        if self.maybe_tokens < asked:
            return "fewer token chunks than tokens asked and no usage"
        if self.until < asked:
            self.odd.add("perhaps fewer tokens than asked")
        return None


def decide(case: Case) -> tuple[Verdict, str]:
    """What the record of a stream may say, with the reason."""
    reply = Reply(case.status, case.encoding, case.body, case.failure or "complete")
    if case.raw or case.end != "keep":
        reply = read_response(case.raw, case.end)
    if reply.unclear:
        if reply.status not in (None, 200, 101) and reply.status >= 200:
            return Verdict.MUST_NOT, f"status {reply.status}"
        if not case.encoding and b"DONE" not in case.plain and b"finish_reason" not in case.plain:
            return Verdict.MUST_NOT, "no terminal event, however it is read"
        return Verdict.OPEN, "HTTP that strict and lenient readers read differently"
    if reply.status != 200:
        return Verdict.MUST_NOT, f"status {reply.status}"
    if reply.state in ("timeout", "cancelled", "malformed"):
        return Verdict.MUST_NOT, reply.state
    plain, state = undo(reply.encoding, reply.body)
    if state in ("corrupt", "unknown"):
        return Verdict.MUST_NOT, f"{state} encoding"
    if state == "odd":
        return Verdict.OPEN, "bytes behind the encoded body, or deflate in one of its two meanings"
    reading = Reading(plain, case.asked, case.exact)
    if reading.forbids is not None:
        return Verdict.MUST_NOT, reading.forbids
    if reading.odd:
        return Verdict.OPEN, ", ".join(sorted(reading.odd))
    if state == "cut" or reply.state == "connection":
        return Verdict.OPEN, "broken behind the terminal event"
    return Verdict.MUST, "every condition holds"


def faults_of(record: RequestRecord) -> list[str]:
    """Laws that a record breaks, whatever the stream was."""
    faults = []
    times = list(record.chunk_s)
    if times != sorted(times):
        faults.append("arrivals are not sorted")
    end = record.end_s if record.end_s is not None else record.send_s
    if end < record.send_s or (times and not record.send_s <= times[0] <= times[-1] <= end):
        faults.append("an arrival is outside of the exchange")
    if record.first_byte_s is not None and times and times[0] < record.first_byte_s:
        faults.append("a chunk came before the first byte")
    if len(record.chunk_kind) != len(times):
        faults.append("kinds and arrivals differ in number")
    if (record.outcome is Outcome.SUCCESS) != (record.error is None):
        faults.append("a success with an error, or a failure without")
    if record.error is not None and not record.error.strip():
        faults.append("a failure without words")
    if FOREIGN in record.text:
        faults.append("text of another response")
    try:
        if RequestRecord.model_validate_json(record.model_dump_json()) != record:
            faults.append("JSON gives another record back")
        for text in (record.text, record.error or "", record.finish_reason or ""):
            text.encode()
    except Exception as problem:
        faults.append(f"no JSON or UTF-8: {type(problem).__name__}")
    return faults


def differences(record: RequestRecord, expect: Valid) -> list[str]:
    """Where the record of an undamaged stream says something else than the stream."""
    said = (record.chunk_kind, record.text, record.completion_tokens, record.finish_reason)
    meant = (tuple(KINDS[letter] for letter in expect.kinds), expect.text, expect.tokens, expect.finish)
    return [f"{a!r} instead of {b!r}" for a, b in zip(said, meant, strict=True) if a != b]


# --- running ----------------------------------------------------------------------------------------------


class Tally:
    """What came of the streams of one channel."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.streams = self.undamaged = self.undecided = 0
        self.outcomes: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.seconds = 0.0

    def fault(self, kind: str, case: Case, words: str) -> None:
        """Note something that must not happen."""
        self.faults[kind] += 1
        examples = self.examples.setdefault(f"{kind} {words[:24]}", [])
        if len(examples) < 3:
            examples.append(f"{self.channel}{case.number} {case.damage}: {words}")

    def add(self, case: Case, record: RequestRecord) -> None:
        """Compare a record with what may come of its stream."""
        self.outcomes[record.outcome] += 1
        verdict, why = decide(case)
        self.verdicts[verdict] += 1
        self.undamaged += case.expect is not None
        self.undecided += verdict is Verdict.OPEN
        success = record.outcome is Outcome.SUCCESS
        if success and verdict is Verdict.MUST_NOT:
            self.fault("false success", case, why)
        if not success and verdict is Verdict.MUST:
            self.fault("false failure", case, f"{record.outcome}: {record.error}")
        if case.expect is not None:
            if verdict is not Verdict.MUST:
                self.fault("oracle", case, f"an undamaged stream {verdict}: {why}")
            for words in differences(record, case.expect):
                self.fault("wrong record", case, words)
        for words in faults_of(record):
            self.fault("broken law", case, words)


@contextlib.contextmanager
def _alarm(limit_s: float) -> Iterator[None]:
    """TimeoutError in the block when it takes longer; the main thread only."""

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def exchange_of(case: Case, rng: random.Random) -> Exchange:
    """The exchange of a stream in memory, in packets that end anywhere."""
    body = b"" if case.status is None else case.body
    packets = _pieces(body, sorted(rng.choices(range(len(body) + 1), k=rng.choice((0, 1, 3, 10, 40)))))
    now, arrivals = 100.5, []
    for _ in packets:
        now += rng.choice((0.0, 0.001, 0.25))
        arrivals.append(now)
    return Exchange(
        level=0, index=case.number, warmup=False, intended_s=100.0, send_s=100.0, end_s=now + 0.001, status=case.status,
        first_byte_s=None if case.status is None else 100.5, content_type=case.content_type,
        content_encoding=case.encoding, failure=case.failure, detail="in words" if case.failure else "",
        arrivals=arrivals, packets=packets,
    )  # fmt: skip


def in_memory(seed: int, count: int, tally: Tally) -> None:
    """Read `count` streams from memory."""
    started = time.perf_counter()
    kept: list[tuple[Case, RequestRecord]] = []
    with tempfile.TemporaryDirectory(prefix="lab-fuzz-") as folder:
        for number in range(count):
            case = make(seed, number, "m")
            exchange = exchange_of(case, random.Random(number))
            tally.streams += 1
            try:
                with _alarm(READ_LIMIT_S):
                    record = read_answer(exchange, asked_tokens=case.asked, exact=case.exact, zero_s=99.0)
            except TimeoutError:
                tally.fault("hang", case, f"not read within {READ_LIMIT_S} s")
                continue
            except Exception as problem:
                tally.fault("crash", case, f"{type(problem).__name__}: {problem}"[:200])
                continue
            tally.add(case, record)
            kept.append((case, record))
            if number % 50 == 0:
                _respool(exchange, case, tally, Path(folder, "spool"))
            if len(kept) == STORED_TOGETHER:
                _store(kept, tally, Path(folder))
                kept = []
        _store(kept, tally, Path(folder))
    tally.seconds += time.perf_counter() - started


def _respool(exchange: Exchange, case: Case, tally: Tally, path: Path) -> None:
    with path.open("wb") as out:
        write_exchange(out, exchange)
    if list(read_exchanges(path)) != [exchange]:
        tally.fault("broken law", case, "the spool gives another exchange back")


def _store(kept: list[tuple[Case, RequestRecord]], tally: Tally, folder: Path) -> None:
    """Write records as evidence and read them again; halves until it is known whose fault a failure is."""
    if not kept:
        return
    store, run_id = EvidenceStore(folder), new_run_id()
    (folder / run_id).mkdir()
    (folder / run_id / "spec.json").touch()
    records = tuple(record for _, record in kept)
    try:
        store.write_requests(run_id, records)
        same = store.requests(run_id) == records
        problem = "the evidence gives another record back"
    except Exception as raised:
        same, problem = False, f"{type(raised).__name__} in the evidence: {raised}"[:200]
    if same:
        return
    if len(kept) == 1:
        tally.fault("crash", kept[0][0], problem)
        return
    half = len(kept) // 2
    _store(kept[:half], tally, folder)
    _store(kept[half:], tally, folder)


def over_sockets(seed: int, count: int, tally: Tally) -> None:
    """Ask a real server for `count` streams through the real load process."""
    started = time.perf_counter()
    hanging = count // 50
    keeping = (count - hanging) // 2
    kinds = ["keeping"] * keeping + ["hostile"] * (count - hanging - keeping) + ["hanging"] * hanging
    cases = [make(seed, number, kind) for number, kind in enumerate(kinds)]
    tally.streams += count
    with Server(cases) as server, tempfile.TemporaryDirectory(prefix="lab-fuzz-") as folder:
        kept: list[tuple[Case, RequestRecord]] = []
        for kind in ("keeping", "hostile", "hanging"):
            batch = [case for case in cases if kinds[case.number] == kind]
            for start in range(0, len(batch), BATCH):
                timeout_s = HANG_TIMEOUT_S if kind == "hanging" else TIMEOUT_S
                kept += _ask(server, batch[start : start + BATCH], timeout_s, tally)
        for case, record in kept:
            tally.add(case, record)
        for start in range(0, len(kept), STORED_TOGETHER):
            _store(kept[start : start + STORED_TOGETHER], tally, Path(folder))
    twice = {number: asked for number, asked in server.asked.items() if asked > 1}
    tally.seconds += time.perf_counter() - started
    for number in twice:
        if not tally.faults["crash"]:  # after a crash the rest is asked again
            tally.fault("broken law", cases[number], "asked more than once")


def _ask(server: Server, cases: list[Case], timeout_s: float, tally: Tally) -> list[tuple[Case, RequestRecord]]:
    """The records of some streams; halves them when the job dies, to find the one it died of."""
    groups: dict[tuple[int, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.asked, case.exact), []).append(case)
    levels = tuple(
        LevelJob(
            concurrency=min(TOGETHER, len(group)),
            bodies=tuple(json.dumps({"stream": case.number}).encode() for case in group),
            asked_tokens=asked,
            exact=exact,
        )
        for (asked, exact), group in groups.items()
    )
    url = f"http://127.0.0.1:{server.port}/v1"
    job = LoadJob(url=url, path="/chat/completions", levels=levels, timeout_s=timeout_s)
    try:
        records = run_load(job).records
    except Exception as problem:
        if len(cases) == 1:
            tally.fault("crash", cases[0], f"{type(problem).__name__}: {problem}"[:200])
            return []
        half = len(cases) // 2
        return _ask(server, cases[:half], timeout_s, tally) + _ask(server, cases[half:], timeout_s, tally)
    order = list(groups.values())
    kept = [(order[record.level][record.index], record) for record in records]
    there = {case.number for case, _ in kept}
    for case in cases:
        if case.number not in there:
            tally.fault("crash", case, "no record")
    for case, record in kept:
        if record.end_s is None or record.end_s - record.send_s > timeout_s + 1.0:
            tally.fault("hang", case, f"ended after {record.end_s} s")
        if record.outcome is Outcome.TIMEOUT and case.end != "hang":
            tally.fault("hang", case, f"no end within {timeout_s} s, although the server closed")
    return kept


class Server(RawServer):
    """Sends the raw bytes of the stream that a request's body names, one thread a connection.

    Attributes:
        port: where it listens, on 127.0.0.1.
        asked: how often each stream was asked for.
    """

    timeout_s = 2 * TIMEOUT_S

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = {case.number: case for case in cases}
        self.asked: Counter[int] = Counter()
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        while (number := _asked(connection)) is not None:
            self.asked[number] += 1
            case = self._cases[number]
            for at, piece in enumerate(_pieces(case.raw, case.cuts)):
                if at and case.pause_s:
                    time.sleep(case.pause_s)
                connection.sendall(piece)
            if case.end == "hang":
                while connection.recv(65536):
                    pass
            if case.end == "reset":
                time.sleep(0.005)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if case.end not in ("keep", "linger"):
                return
            connection.settimeout(LINGER_S if case.end == "linger" else 2 * TIMEOUT_S)


def _asked(connection: socket.socket) -> int | None:
    """The number of the stream that the next request names; None when the client has left."""
    received = b""
    while b"\r\n\r\n" not in received:
        packet = connection.recv(65536)
        if not packet:
            return None
        received += packet
    headers, _, body = received.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", headers)
    assert found is not None
    while len(body) < int(found[1]):
        packet = connection.recv(65536)
        if not packet:
            return None
        body += packet
    if len(body) > int(found[1]):
        return None  # the client took something else for the answer and has gone on: out of step
    return int(json.loads(body)["stream"])


# --- command line -----------------------------------------------------------------------------------------

FAULTS = ("crash", "hang", "false success", "false failure", "wrong record", "broken law", "oracle")


def table(tallies: Sequence[Tally]) -> str:
    """The tally, one column a channel."""
    outcomes = sorted({outcome for tally in tallies for outcome in tally.outcomes})
    rows: list[tuple[str, Callable[[Tally], Any]]] = [
        ("streams", lambda t: t.streams),
        ("undamaged", lambda t: t.undamaged),
        *((f"  {verdict}", lambda t, v=verdict: t.verdicts[v]) for verdict in Verdict),
        *((f"outcome {outcome}", lambda t, o=outcome: t.outcomes[o]) for outcome in outcomes),
        *((kind, lambda t, k=kind: t.faults[k]) for kind in FAULTS),
        ("seconds", lambda t: f"{t.seconds:.1f}"),
    ]
    names = {"m": "in memory", "s": "sockets"}
    lines = [" " * 26 + "".join(f"{names[tally.channel]:>12}" for tally in tallies)]
    lines += [f"{name:26}" + "".join(f"{cell(tally):>12}" for tally in tallies) for name, cell in rows]
    for tally in tallies:
        for kind, examples in sorted(tally.examples.items()):
            lines += [f"{kind.split(' ')[0]} {example}" for example in examples]
    return "\n".join(lines)


def run(seed: int, memory: int, sockets: int) -> list[Tally]:
    """Fuzz both channels."""
    tallies = [Tally("m"), Tally("s")]
    in_memory(seed, memory, tallies[0])
    over_sockets(seed, sockets, tallies[1])
    return tallies


def show(seed: int, name: str, sockets: int) -> None:
    """Print one stream, what may come of it, and in memory what came."""
    number = int(name[1:])
    hanging = sockets // 50
    keeping = (sockets - hanging) // 2
    kind = "keeping" if number < keeping else "hostile" if number < sockets - hanging else "hanging"
    case = make(seed, number, "m" if name[0] == "m" else kind)
    print(case)
    print(*decide(case), sep=": ")
    if name[0] == "m":
        print(read_answer(exchange_of(case, random.Random(number)), asked_tokens=case.asked, exact=case.exact))


def main() -> int:
    """Command line; 1 when anything happened that must not."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.fuzz", description="Fuzz the streaming client.")
    parser.add_argument("--in-memory", type=int, default=95_000)
    parser.add_argument("--sockets", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", metavar="STREAM", help="print one stream, for instance m17 or s3, and end")
    options = parser.parse_args()
    if options.show:
        show(options.seed, options.show, options.sockets)
        return 0
    tallies = run(options.seed, options.in_memory, options.sockets)
    print(table(tallies))
    return int(any(tally.faults.total() for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
