"""The reference engine: a real HTTP server whose every token is due at a known moment.

It is the test double, the calibration standard and the example of an engine to adapt. What it says and when
is arithmetic (`lab/load/reference_model.py`); this file puts it on the wire and writes down what it did:
`GET /emitted` tells for each request the moments, on the clock of `time.perf_counter`, at which each chunk
was handed to the operating system, stamped immediately before the call.

    python -m lab.load.reference --port 8099

One process, one event loop, one timer for all streams. The schedule is absolute: a server that is late sends
late and says so (`saturation`), it never skips a token and never shifts the ticks that follow. A chunk goes
straight to the socket, so that the stamp and the send are one step apart; only what the socket does not take
at once is buffered. `saturation` is the time from a tick's due moment to its last write, over the tick;
at 1 the server no longer keeps its schedule, and what a client reports beyond that is not the client's fault.

Not covered: sampling (temperature and its kin are accepted and change nothing), tools, log-probabilities,
several answers to one request, structured output and HTTP/1.0 streaming (each refused with a sentence),
TLS, authentication.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import resource
import signal
import socket
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

import httptools

from lab.load.reference_model import (
    Answer,
    Behaviour,
    PrefixCache,
    compose,
    first_tick,
    ready_after_s,
    split_words,
)
from lab.version import __version__

clock = time.perf_counter

GRACE_S = 0.5
"""How long running streams may go on after SIGTERM."""
_MAX_HEADER_BYTES = 64 * 1024
_MAX_PIPELINED = 32
_EARLY_S = 0.001
"""The loop's timer counts milliseconds: it is set this much early and the rest is polled away."""

_REASONS = {
    100: "Continue",
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    505: "HTTP Version Not Supported",
}


class Refusal(Exception):
    """A request that is answered with an OpenAI-style error.

    Args:
        status: HTTP status.
        message: one sentence.
        code: machine-readable reason, or None.
        param: the field it is about, or None.
    """

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind = "NotFoundError" if status == 404 else "invalid_request_error"
        self.body = dump({"error": {"message": message, "type": kind, "param": param, "code": code}})


def dump(data: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


# --- one request ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Request:
    """One request as it came over the wire."""

    method: str
    path: str
    query: dict[str, list[str]]
    request_id: str
    body: bytes
    keep_alive: bool
    http_1_0: bool
    received_s: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What a completion request asks for, after every check."""

    tokens: Sequence[str]
    answer: Answer
    stream: bool
    include_usage: bool


def read_asked(body: bytes, chat: bool, behaviour: Behaviour) -> Asked:
    """Check the body of a completion request and decide its answer.

    Raises:
        Refusal: the engine cannot do what the body asks.
    """
    asked = _json_object(body)
    model = asked.get("model", behaviour.model)
    if model != behaviour.model:
        raise Refusal(
            404,
            f"The model `{model}` does not exist; this engine serves `{behaviour.model}`.",
            "model_not_found",
            "model",
        )
    _refuse_unsupported(asked)
    prompt, tokens = _chat_prompt(asked) if chat else _text_prompt(asked)
    room = behaviour.context_limit - len(tokens)
    limit = _count(asked, "max_completion_tokens", 1) if chat else None
    limit = limit or _count(asked, "max_tokens", 1) or (max(1, room) if chat else 16)
    if limit > room:
        raise Refusal(
            400,
            f"This model's maximum context length is {behaviour.context_limit} tokens, but "
            f"{len(tokens)} prompt tokens and {limit} answer tokens were asked.",
            "context_length_exceeded",
            "max_tokens",
        )
    stop = asked.get("stop") or ()
    stop = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stop, (list, tuple)) or not all(isinstance(item, str) for item in stop):
        raise Refusal(400, "`stop` has to be a string or a list of strings.", param="stop")
    options = asked.get("stream_options") or {}
    answer = compose(
        prompt,
        limit,
        f"{behaviour.seed}.{_count(asked, 'seed') or 0}",
        stop=stop,
        ignore_eos=bool(asked.get("ignore_eos")),
        min_tokens=min(limit, _count(asked, "min_tokens") or 0),
    )
    return Asked(
        tokens, answer, bool(asked.get("stream")), isinstance(options, dict) and bool(options.get("include_usage"))
    )


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The body is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise Refusal(400, f"The body has to be a JSON object, not {type(data).__name__}.")
    return data


def _refuse_unsupported(asked: dict[str, Any]) -> None:
    """Refuse what would change the answer and cannot be done; sampling values are accepted without effect."""
    shape = asked.get("response_format")
    if shape and (not isinstance(shape, dict) or shape.get("type") != "text"):
        raise Refusal(
            400,
            "`response_format` is not supported: the reference engine says seeded words and cannot follow a schema.",
            "not_supported",
            "response_format",
        )
    for field in ("tools", "functions", "logprobs", "echo", "suffix"):
        if asked.get(field):
            raise Refusal(400, f"`{field}` is not supported by the reference engine.", "not_supported", field)
    for field in ("n", "best_of"):
        if (_count(asked, field) or 1) != 1:
            raise Refusal(400, f"`{field}` has to be 1: one request, one answer.", "not_supported", field)


def _count(asked: dict[str, Any], field: str, least: int | None = None) -> int | None:
    """An optional whole number; None when it was left out."""
    value = asked.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        bound = "" if least is None else f" of at least {least}"
        got = repr(value)[:40]
        raise Refusal(400, f"`{field}` has to be a whole number{bound}, got {got}.", param=field)
    return value


def _chat_prompt(asked: dict[str, Any]) -> tuple[str, list[str]]:
    """The prompt as one string, roles included, and its tokens, roles not counted."""
    messages = asked.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refusal(400, "`messages` has to be a list with at least one message.", param="messages")
    turns: list[str] = []
    texts: list[str] = []
    for message in messages:
        if not isinstance(message, dict):
            raise Refusal(400, "Each message has to be an object with role and content.", param="messages")
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        texts.append(str(content))
        turns.append(f"{message.get('role')}\0{content}\0")
    return "".join(turns), split_words(texts)


def _text_prompt(asked: dict[str, Any]) -> tuple[str, list[str]]:
    """The prompt as one string and its tokens; a list of token ids is as many tokens."""
    prompt = asked.get("prompt", "")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return prompt, split_words((prompt,))
    if isinstance(prompt, list) and all(isinstance(token, int) for token in prompt):
        tokens = [str(token) for token in prompt]
        return " ".join(tokens), tokens
    raise Refusal(400, "`prompt` has to be one string or one list of token ids.", param="prompt")


# --- what was emitted -------------------------------------------------------------------------------------


class Emission:
    """What the server did for one request, in 8 bytes a chunk."""

    __slots__ = (
        "admitted_s",
        "cached_tokens",
        "first",
        "origin_s",
        "path",
        "prompt_tokens",
        "received_s",
        "request_id",
        "stamps",
        "state",
        "step",
        "stream",
        "tail",
        "tail_s",
        "tick_s",
        "tokens",
    )

    def __init__(self, request: Request, asked: Asked, behaviour: Behaviour, origin_s: float) -> None:
        self.request_id = request.request_id
        self.path = request.path
        self.received_s = request.received_s
        self.prompt_tokens = len(asked.tokens)
        self.stream = asked.stream
        self.tokens = len(asked.answer.pieces)
        self.step = behaviour.tokens_per_chunk
        self.tick_s = behaviour.tick_s
        self.origin_s = origin_s
        self.state = "waiting"
        self.admitted_s: float | None = None
        self.cached_tokens: int | None = None
        self.first = 0
        self.stamps: list[float] | array[float] = []
        self.tail_s: float | None = None
        self.tail: tuple[str, ...] = ()

    def close(self, state: str) -> None:
        """No more chunks will come."""
        self.state = state
        self.stamps = array("d", self.stamps)

    def as_json(self) -> dict[str, Any]:
        """One line of `/emitted`; times are seconds of `time.perf_counter` on this host."""
        stamps = list(self.stamps)
        role = self.stream and self.path.endswith("/chat/completions") and bool(stamps)
        chunk_s = stamps[:1] * role + stamps
        kinds = ["role"] * role + ["content"] * len(stamps)
        if self.tail_s is not None:
            chunk_s += [self.tail_s] * len(self.tail)
            kinds += self.tail
        due: list[float] = []
        if self.admitted_s is not None:
            due = [self.origin_s + (self.first + i // self.step) * self.tick_s for i in range(self.tokens)]
        late = [stamps[i // self.step] - t for i, t in enumerate(due) if i // self.step < len(stamps)]
        if not self.stream and self.tail_s is not None:
            late = [self.tail_s - due[-1]]
        return {
            "request_id": self.request_id,
            "path": self.path,
            "state": self.state,
            "received_s": self.received_s,
            "admitted_s": self.admitted_s,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.tokens,
            "chunk_s": chunk_s,
            "chunk_kind": kinds,
            "token_due_s": due,
            "token_late_s": [round(x, 9) for x in late],
            "saturation": round(max(late) / self.tick_s, 6) if late else None,
        }


# --- streams ----------------------------------------------------------------------------------------------


class Stream:
    """One answer on its way, from admission to the last chunk."""

    __slots__ = (
        "asked",
        "connection",
        "emission",
        "head",
        "identity",
        "live",
        "pieces",
        "position",
        "request",
        "step",
        "tail",
    )

    def __init__(
        self, connection: Connection, request: Request, asked: Asked, emission: Emission, identity: str, model: str
    ) -> None:
        self.connection = connection
        self.request = request
        self.asked = asked
        self.emission = emission
        self.pieces = asked.answer.pieces
        self.position = 0
        self.step = emission.step
        self.live = True
        chat = self.chat
        self.identity = {
            "id": ("chatcmpl-" if chat else "cmpl-") + identity,
            "object": "text_completion" if not chat else "chat.completion" + ".chunk" * asked.stream,
            "created": int(time.time()),
            "model": model,
        }
        start = b"data: " + dump(self.identity)[:-1] + b',"choices":[{"index":0,'
        end = b',"logprobs":null,"finish_reason":null}]}\n\n'
        self.head = start + (b'"delta":{"content":"' if chat else b'"text":"')
        self.tail = (b'"}' if chat else b'"') + end

    @property
    def chat(self) -> bool:
        return self.request.path.endswith("/chat/completions")

    def emit(self) -> bool:
        """Send what is due on this tick; False when it was the last."""
        position = self.position
        last = position + self.step
        self.position = last
        if self.asked.stream:
            piece = self.pieces[position] if self.step == 1 else b"".join(self.pieces[position:last])
            if piece:
                data = _frame(self.head + piece + self.tail)
                if position == 0 and self.chat:
                    data = _frame(self._chunk({"role": "assistant", "content": ""}, None)) + data
                self.emission.stamps.append(clock())
                self.connection.send(data)
        if last < len(self.pieces):
            return True
        if self.live:
            self._finish()
        return False

    def usage(self) -> dict[str, Any]:
        prompt, completion = len(self.asked.tokens), len(self.pieces)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": self.emission.cached_tokens},
        }

    def _finish(self) -> None:
        """Send finish chunk, usage and `[DONE]` in one write; or the whole answer when it is not streamed."""
        reason = self.asked.answer.finish_reason
        emission = self.emission
        if self.asked.stream:
            data = _frame(self._chunk({}, reason))
            emission.tail = ("finish", "done")
            if self.asked.include_usage:
                data += _frame(_event({**self.identity, "choices": [], "usage": self.usage()}))
                emission.tail = ("finish", "usage", "done")
            data += _frame(b"data: [DONE]\n\n") + b"0\r\n\r\n"
        else:
            text = self.asked.answer.text
            said = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
            choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason}
            body = dump({**self.identity, "choices": [choice], "usage": self.usage()})
            data = response_head(200, self.request, "application/json", len(body)) + body
            emission.tail = ("body",)
        emission.tail_s = clock()
        self.connection.send(data)
        if self.live:
            emission.close("done")
            self.connection.finished(self.request)

    def _chunk(self, delta: dict[str, str], reason: str | None) -> bytes:
        said = {"delta": delta} if self.chat else {"text": ""}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason}
        return _event({**self.identity, "choices": [choice]})


def _event(data: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + dump(data) + b"\n\n"


def _frame(data: bytes) -> bytes:
    """One chunk of HTTP's chunked encoding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def response_head(status: int, request: Request | None, content_type: str, length: int | None) -> bytes:
    """Status line and headers; `length` None announces the chunked encoding, `request` None closes."""
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", "server: reference", f"content-type: {content_type}"]
    lines.append("transfer-encoding: chunked" if length is None else f"content-length: {length}")
    if request is not None:
        lines.append(f"x-request-id: {request.request_id}")
    if request is None or not request.keep_alive:
        lines.append("connection: close")
    elif request.http_1_0:
        lines.append("connection: keep-alive")
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1", "replace")


# --- the engine -------------------------------------------------------------------------------------------


class Engine:
    """Admits requests, ticks for all streams at once and answers every route.

    Args:
        behaviour: what it does.
        loop: the loop it ticks on.
    """

    def __init__(self, behaviour: Behaviour, loop: asyncio.AbstractEventLoop) -> None:
        self.behaviour = behaviour
        self.loop = loop
        self.origin_s = clock()
        self.cache = PrefixCache(behaviour.kv_cache_tokens)
        self.connections: set[Connection] = set()
        self.emissions: dict[str, Emission] = {}
        self._running: list[Stream] = []
        self._starting: dict[int, list[Stream]] = {}
        self._waiting: deque[Stream] = deque()
        self._admitted = 0
        self._served = 0
        self._armed: int | None = None
        self._timer: asyncio.Handle | None = None
        self._last_tick = -1
        self._totals = {"prompt": 0, "generation": 0, "cache_queries": 0, "cache_hits": 0}
        self._totals |= {"ticks": 0, "cancelled": 0}
        self._reset_load()
        self.routes: dict[str, dict[str, Callable[[Connection, Request], None]]] = {
            "/v1/chat/completions": {"POST": self._complete},
            "/v1/completions": {"POST": self._complete},
            "/v1/models": {"GET": self._models},
            "/health": {"GET": lambda to, request: to.reply(request, 200, {"status": "ok"})},
            "/version": {"GET": lambda to, request: to.reply(request, 200, {"version": __version__})},
            "/metrics": {"GET": self._metrics},
            "/tokenize": {"POST": self._tokenize},
            "/reset_prefix_cache": {"POST": self._reset_prefix_cache},
            "/emitted": {"GET": self._emitted, "DELETE": self._forget_emitted},
        }

    @property
    def busy(self) -> bool:
        """True while any answer is on its way or queued."""
        return self._admitted > 0 or bool(self._waiting)

    def answer(self, connection: Connection, request: Request) -> None:
        """Route one request; a refusal becomes an error response."""
        try:
            methods = self.routes.get(request.path)
            if methods is None:
                raise Refusal(404, f"There is no {request.path} here; routes: {', '.join(self.routes)}.")
            act = methods.get(request.method)
            if act is None:
                raise Refusal(405, f"{request.path} takes {' or '.join(methods)}, not {request.method}.")
            act(connection, request)
        except Refusal as refusal:
            connection.reply(request, refusal.status, refusal.body)

    # streams

    def _complete(self, connection: Connection, request: Request) -> None:
        asked = read_asked(request.body, request.path.endswith("/chat/completions"), self.behaviour)
        if asked.stream and request.http_1_0:
            raise Refusal(505, "Streaming needs HTTP/1.1.")
        request.body = b""
        emission = Emission(request, asked, self.behaviour, self.origin_s)
        self.emissions.pop(request.request_id, None)
        self.emissions[request.request_id] = emission
        while len(self.emissions) > self.behaviour.remembered_requests:
            del self.emissions[next(iter(self.emissions))]
        self._served += 1
        stream = Stream(connection, request, asked, emission, f"{self._served:016x}", self.behaviour.model)
        connection.stream = stream
        if asked.stream:
            connection.send(response_head(200, request, "text/event-stream; charset=utf-8", None))
        if self._admitted < self.behaviour.max_num_seqs:
            self._admit(stream, request.received_s)
        else:
            self._waiting.append(stream)

    def _admit(self, stream: Stream, start_s: float) -> None:
        tokens, emission = stream.asked.tokens, stream.emission
        cached = self.cache.take(tokens) if self.behaviour.prefix_caching else 0
        self._totals["prompt"] += len(tokens)
        self._totals["cache_queries"] += len(tokens) if self.behaviour.prefix_caching else 0
        self._totals["cache_hits"] += cached
        ready_s = start_s + ready_after_s(self.behaviour, len(tokens) - cached)
        tick = max(self._last_tick + 1, first_tick(ready_s, self.behaviour.tick_s, self.origin_s))
        emission.admitted_s, emission.cached_tokens, emission.first = start_s, cached, tick
        emission.state = "running"
        self._admitted += 1
        self._starting.setdefault(tick, []).append(stream)
        if self._armed is None or tick < self._armed:
            self._arm(tick)

    def cancel(self, stream: Stream) -> None:
        """The client has gone: nothing more is emitted and the slot is free from now on."""
        if not stream.live or stream.emission.state == "done":
            return
        stream.live = False
        self._totals["cancelled"] += 1
        if stream.emission.state == "waiting":
            self._waiting.remove(stream)
        else:
            tick = stream.emission.first
            if tick in self._starting:
                self._starting[tick].remove(stream)
                if not self._starting[tick]:
                    del self._starting[tick]
            self._release(clock())
        stream.emission.close("cancelled")

    def _release(self, free_s: float) -> None:
        """One slot is free: the head of the queue takes it."""
        self._admitted -= 1
        while self._waiting and self._admitted < self.behaviour.max_num_seqs:
            self._admit(self._waiting.popleft(), free_s)

    def _due_s(self, tick: int) -> float:
        return self.origin_s + tick * self.behaviour.tick_s

    def _arm(self, tick: int) -> None:
        """Set the one timer to a tick."""
        if self._timer is not None:
            self._timer.cancel()
        self._armed = tick
        wait_s = self._due_s(tick) - clock() - _EARLY_S
        call = self.loop.call_soon if wait_s <= 0 else partial(self.loop.call_later, wait_s)
        self._timer = call(self._wake)

    def _wake(self) -> None:
        tick = cast(int, self._armed)
        due_s = self._due_s(tick)
        if clock() < due_s:
            self._arm(tick)
            return
        self._armed = self._timer = None
        self._last_tick = tick
        self._running += self._starting.pop(tick, ())
        on_tick, self._running = self._running, []
        going: list[Stream] = []
        generated = ended = 0
        for stream in on_tick:
            if not stream.live:
                continue
            before = stream.position
            more = stream.emit()
            if stream.live:
                if more:
                    going.append(stream)
                else:
                    ended += 1
            generated += min(len(stream.pieces), stream.position) - before
        self._running = going
        for _ in range(ended):
            self._release(due_s)
        self._totals["generation"] += generated
        self._note_load(clock() - due_s)
        if self._running:
            self._arm(tick + 1)
        elif self._starting:
            self._arm(min(self._starting))

    def _reset_load(self) -> None:
        self._load_ticks, self._load_sum_s, self._load_max_s = 0, 0.0, 0.0

    def _note_load(self, took_s: float) -> None:
        self._totals["ticks"] += 1
        self._load_ticks += 1
        self._load_sum_s += took_s
        self._load_max_s = max(self._load_max_s, took_s)

    # routes

    def _models(self, connection: Connection, request: Request) -> None:
        card = {
            "id": self.behaviour.model,
            "object": "model",
            "created": 0,
            "owned_by": "lab",
            "max_model_len": self.behaviour.context_limit,
        }
        connection.reply(request, 200, {"object": "list", "data": [card]})

    def _tokenize(self, connection: Connection, request: Request) -> None:
        asked = _json_object(request.body)
        text = asked.get("prompt", asked.get("content"))
        if not isinstance(text, str):
            raise Refusal(400, "`prompt` (or `content`) has to be a string.", param="prompt")
        tokens = [crc32(word.encode("utf-8", "surrogatepass")) for word in text.split()]
        connection.reply(
            request, 200, {"tokens": tokens, "count": len(tokens), "max_model_len": self.behaviour.context_limit}
        )

    def _reset_prefix_cache(self, connection: Connection, request: Request) -> None:
        self.cache.clear()
        connection.reply(request, 200, {"reset": True})

    def _metrics(self, connection: Connection, request: Request) -> None:
        totals, tick_s = self._totals, self.behaviour.tick_s
        mean_s = self._load_sum_s / self._load_ticks if self._load_ticks else 0.0
        rows = (
            ("num_requests_running", "gauge", "Requests being decoded.", self._admitted),
            ("num_requests_waiting", "gauge", "Requests in the queue.", len(self._waiting)),
            ("prompt_tokens_total", "counter", "Prompt tokens of admitted requests.", totals["prompt"]),
            ("generation_tokens_total", "counter", "Tokens generated.", totals["generation"]),
            ("prefix_cache_queries_total", "counter", "Prompt tokens looked up.", totals["cache_queries"]),
            ("prefix_cache_hits_total", "counter", "Prompt tokens found.", totals["cache_hits"]),
            ("requests_cancelled_total", "counter", "Requests whose client left.", totals["cancelled"]),
            ("ticks_total", "counter", "Ticks with at least one stream.", totals["ticks"]),
            ("saturation_mean", "gauge", "Due moment to last write, over the tick; mean.", mean_s / tick_s),
            ("saturation_max", "gauge", "The same, largest.", self._load_max_s / tick_s),
        )
        text = "".join(
            f"# HELP reference:{name} {about}\n# TYPE reference:{name} {kind}\n"
            f"reference:{name}{{model_name={json.dumps(self.behaviour.model)}}} {value}\n"
            for name, kind, about, value in rows
        )
        connection.reply(request, 200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def _emitted(self, connection: Connection, request: Request) -> None:
        wanted = request.query.get("request_id")
        if wanted is None:
            emissions = tuple(self.emissions.values())
            connection.reply_lines(request, (dump(emission.as_json()) + b"\n" for emission in emissions))
            return
        emission = self.emissions.get(wanted[0])
        if emission is None:
            raise Refusal(404, f"No request `{wanted[0][:80]}` is remembered.", param="request_id")
        connection.reply(request, 200, emission.as_json())

    def _forget_emitted(self, connection: Connection, request: Request) -> None:
        count = len(self.emissions)
        self.emissions.clear()
        self._reset_load()
        connection.reply(request, 200, {"forgotten": count})


# --- one connection ---------------------------------------------------------------------------------------


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection; requests are answered in the order they came, one at a time."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.stream: Stream | None = None
        self._parser: Any = httptools.HttpRequestParser(self)
        self._requests: deque[Request] = deque()
        self._current: Request | None = None
        self._lines: Iterator[bytes] | None = None
        self._writable = True
        self._closing = False
        self._direct = True
        self._held = False
        self._received_s = 0.0
        self.on_message_begin()

    # the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A descriptor of our own: the transport closes its one before it tells, and numbers are reused.
        self._fd = os.dup(sock.fileno())
        self.engine.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._leave()
        self.engine.connections.discard(self)
        os.close(self._fd)

    def eof_received(self) -> bool:
        self._leave()
        return False

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._pump()

    def send(self, data: bytes) -> None:
        """Hand bytes to the operating system at once; only what it does not take is buffered."""
        if self._direct:
            try:
                sent = os.write(self._fd, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self.abort()
                return
            if sent == len(data):
                return
            data = data[sent:]
        elif self._transport.get_write_buffer_size() == 0:
            self._direct = True
            self.send(data)
            return
        self._buffer(data)

    def _buffer(self, data: bytes) -> None:
        self._direct = False
        self._transport.write(data)

    def abort(self) -> None:
        """Drop the connection and what it was waiting for."""
        self._leave()
        self._transport.abort()

    def _leave(self) -> None:
        self._closing = True
        self._lines = None
        if self.stream is not None:
            self.engine.cancel(self.stream)
            self.stream = None

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._received_s = clock()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # the request itself was answered; what follows is not HTTP/1.1
            self._closing = True
            if self._current is None:
                self._transport.close()
        except httptools.HttpParserError as error:
            if not self._closing:
                self._refuse(400, f"This is not HTTP/1.1: {error}.")

    # the parser

    def on_message_begin(self) -> None:
        self._url = b""
        self._request_id = ""
        self._body: list[bytes] = []
        self._header_bytes = 0
        self._body_bytes = 0
        self._expects = False

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._grow_headers(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow_headers(len(name) + len(value) + 4)
        name = name.lower()
        if name == b"x-request-id":
            self._request_id = value.decode("latin-1")[:200]
        elif name == b"expect":
            self._expects = value.lower() == b"100-continue"
        elif name == b"content-length" and value.isdigit():
            self._grow_body(int(value))
            self._body_bytes = 0

    def on_headers_complete(self) -> None:
        if self._expects and not self._closing:
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._grow_body(len(body))
        if not self._closing:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._closing:
            return
        url = urlsplit(self._url.decode("latin-1"))
        self._requests.append(
            Request(
                method=self._parser.get_method().decode("latin-1"),
                path=url.path,
                query=parse_qs(url.query),
                request_id=self._request_id or f"req-{os.urandom(8).hex()}",
                body=b"".join(self._body),
                keep_alive=self._parser.should_keep_alive(),
                http_1_0=self._parser.get_http_version() == "1.0",
                received_s=self._received_s,
            )
        )
        if len(self._requests) > _MAX_PIPELINED and not self._held:
            self._held = True
            self._transport.pause_reading()
        # after the other sockets that are readable now: their requests are stamped before this one costs anything
        self.engine.loop.call_soon(self._serve)

    def _grow_headers(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > _MAX_HEADER_BYTES and not self._closing:
            self._refuse(431, f"The headers are longer than {_MAX_HEADER_BYTES} bytes.")

    def _grow_body(self, count: int) -> None:
        self._body_bytes += count
        limit = self.engine.behaviour.max_body_bytes
        if self._body_bytes > limit and not self._closing:
            self._refuse(413, f"The body is longer than {limit} bytes.")

    # answers

    def _serve(self) -> None:
        if self._current is None and self._requests and not self._closing and self in self.engine.connections:
            self._current = self._requests.popleft()
            if self._held and not self._requests:
                self._held = False
                self._transport.resume_reading()
            self.engine.answer(self, self._current)

    def reply(self, request: Request, status: int, body: Any, content_type: str = "application/json") -> None:
        """Answer with a whole body: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else dump(body)
        self.send(response_head(status, request, content_type, len(data)) + data)
        self.finished(request)

    def reply_lines(self, request: Request, lines: Iterator[bytes]) -> None:
        """Answer with JSON lines, made as fast as the client reads them."""
        self.send(response_head(200, request, "application/x-ndjson", None))
        self._lines = lines
        self._pump()

    def _pump(self) -> None:
        if self._lines is None or self._current is None or not self._writable:
            return
        block = b"".join(islice(self._lines, 16))
        if block:
            self._buffer(_frame(block))
            self.engine.loop.call_soon(self._pump)
        else:
            self._lines = None
            self._buffer(b"0\r\n\r\n")
            self.finished(self._current)

    def finished(self, request: Request) -> None:
        """The response is complete; the next pipelined request may be answered."""
        self.stream = self._current = None
        if self._closing or not request.keep_alive:
            self._closing = True
            self._transport.close()
        elif self._requests:
            self.engine.loop.call_soon(self._serve)

    def _refuse(self, status: int, message: str) -> None:
        """Answer what is not a request, and let the client read the answer before the connection goes."""
        self._closing = True
        if self._current is not None:
            return
        body = Refusal(status, message).body
        self._buffer(response_head(status, None, "application/json", len(body)) + body)
        self._transport.write_eof()
        self.engine.loop.call_later(GRACE_S, self._transport.close)


# --- the process ------------------------------------------------------------------------------------------


async def serve(behaviour: Behaviour, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; running streams get `GRACE_S` to end.

    Args:
        behaviour: what to do.
        listener: a bound, listening socket.
    """
    loop = asyncio.get_running_loop()
    engine = Engine(behaviour, loop)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(lambda: Connection(engine), sock=listener, backlog=4096)
    host, port = listener.getsockname()[:2]
    at = f"[{host}]" if ":" in host else host
    print(f"reference engine listening on http://{at}:{port} (model {behaviour.model})", flush=True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    await stop.wait()
    server.close()
    deadline = clock() + GRACE_S
    while engine.busy and clock() < deadline:
        await asyncio.sleep(0.02)
    for connection in tuple(engine.connections):
        connection.abort()
    await asyncio.sleep(0)


def _parser() -> argparse.ArgumentParser:
    known = Behaviour()
    parser = argparse.ArgumentParser(
        prog="reference-engine",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="An OpenAI-compatible server with exactly known timing and text.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=_whole(0, 65_535), default=8099, help="port; 0 picks a free one")
    parser.add_argument("--model", default=known.model, help="name of the model it serves")
    parser.add_argument("--ttft-s", type=_seconds, default=known.ttft_s, help="first token, empty prompt")
    parser.add_argument("--tick-s", type=_tick, default=known.tick_s, help="between two ticks, all streams")
    parser.add_argument(
        "--prefill-s-per-token",
        type=_seconds,
        default=known.prefill_s_per_token,
        help="added for each prompt token that is not cached",
    )
    parser.add_argument(
        "--prefix-caching",
        action=argparse.BooleanOptionalAction,
        default=known.prefix_caching,
        help="reuse the prefix shared with earlier prompts",
    )
    for name, least, about in (
        ("kv-cache-tokens", 1, "prompt tokens the prefix cache holds"),
        ("max-num-seqs", 1, "requests decoded together; further ones queue"),
        ("context-limit", 1, "most tokens of prompt and answer together"),
        ("tokens-per-chunk", 1, "tokens each stream gets on a tick, in one chunk"),
        ("seed", 0, "chooses the text"),
        ("max-body-bytes", 1, "longest request body"),
        ("remembered-requests", 1, "requests whose emission times are kept"),
    ):
        default = getattr(known, name.replace("-", "_"))
        parser.add_argument(f"--{name}", type=_whole(least), default=default, help=about)
    return parser


def _whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not within {least} to {most}")
        return value

    return whole_number


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds, 0 or more")
    return value


def _tick(text: str) -> float:
    value = _seconds(text)
    if value < 0.0005:
        raise argparse.ArgumentTypeError(f"{text}: a tick shorter than 0.0005 s cannot be kept")
    return value


def main(argv: list[str] | None = None) -> int:
    """Run the reference engine until it is stopped.

    Returns:
        0 after SIGTERM or SIGINT, 2 when it could not listen.
    """
    args = vars(_parser().parse_args(argv))
    host, port = args.pop("host"), args.pop("port")
    behaviour = Behaviour(**args)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=4096)
    except OSError as error:
        print(
            f"reference engine: cannot listen on {host} port {port}: {error.strerror or error}; "
            "stop the other program or choose another --port (0 picks a free one).",
            file=sys.stderr,
        )
        return 2
    with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(behaviour, listener))
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop where it is installed, asyncio's own loop elsewhere."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


if __name__ == "__main__":
    sys.exit(main())
