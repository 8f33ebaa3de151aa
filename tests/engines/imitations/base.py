"""What every imitation is: a small real HTTP server that speaks one engine's dialect as the facts describe it.

An imitation and the adapter for its engine come from the same facts, so they show that the two are consistent and
nothing about the engine. Every answer is made of counted words; nothing is timed.

A dialect is a subclass: where its routes lie, what it answers beside the OpenAI routes, what its chunks look like.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, Self

from lab.endpoint import Endpoint
from lab.engines.process import free_port

NATURAL_END = 3
"""Words after which it stops by itself."""
THINK = "THINK"
"""In a prompt: the first two words of the answer are reasoning."""
BREAK = "BREAK"
"""In a prompt: it fails after two words."""
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
FAILURE = "the engine ran into something"


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, body and headers of an answer that is no stream; a text body is sent as it is."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    body: dict[str, Any]
    key: str | None


class Imitation:
    """A server of one dialect. Use it as a context manager.

    Args:
        model: the name it serves.
        loading: whether it starts in the state before it is ready.

    Attributes:
        port: where it listens, or will once it is ready, on 127.0.0.1.
        asked: every request it got.
    """

    key: ClassVar[str]
    """Engine or gateway in the roster."""
    api_path: ClassVar[str] = "/v1"
    ready_path: ClassVar[str] = "/health"
    binds_late: ClassVar[bool] = False
    """The port opens only once the engine is loaded."""
    loading: ClassVar[Reply] = Reply("", 503)
    """What `ready_path` answers before it is ready."""
    ready: ClassVar[Reply] = Reply("")
    owner: ClassVar[str] = "unknown"
    """`owned_by` of its list of models."""
    role: ClassVar[dict[str, Any] | None] = {"role": "assistant", "content": ""}
    """Delta of the chunk before the first word; None: the role rides on the first word."""
    reasoning_field: ClassVar[str | None] = "reasoning_content"
    exact_fields: ClassVar[frozenset[str]] = frozenset({"ignore_eos"})
    """Fields by which it writes the whole length."""
    length_fields: ClassVar[tuple[str, ...]] = ("max_tokens", "max_completion_tokens")
    metrics_path: ClassVar[str | None] = None
    metrics: ClassVar[Mapping[str, float]] = {}

    def __init__(self, model: str = "m", *, loading: bool = False) -> None:
        self.model, self.is_ready = model, not loading
        self.asked: list[Asked] = []
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        if loading and self.binds_late:
            self.port = free_port()
        else:
            self._listen(0)

    def become_ready(self) -> None:
        """Answer as an engine that has loaded."""
        self.is_ready = True
        if self._server is None:
            self._listen(self.port)

    @property
    def url(self) -> str:
        """Root of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> Endpoint:
        """The same, to be asked."""
        return Endpoint(self.url)

    @property
    def generations(self) -> list[dict[str, Any]]:
        """Bodies of the generation requests it got."""
        return [asked.body for asked in self.asked if asked.path.endswith("/completions")]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    # --- the dialect ---------------------------------------------------------------------------------------

    def get(self, path: str) -> Reply | None:
        """Answers to GET beside readiness, models and metrics; None: 404."""
        return None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        """Answers to POST beside the OpenAI routes; None: 404."""
        return None

    def knows(self, path: str) -> frozenset[str] | None:
        """Request fields of a route; others are refused with 400. None: unknown fields are ignored."""
        return None

    def model_entry(self) -> dict[str, Any]:
        """Its entry in the list of models."""
        return {"id": self.model, "object": "model", "owned_by": self.owner}

    def refusal(self, what: str) -> Reply:
        """A request it does not take."""
        return Reply({"error": {"message": what, "type": "invalid_request_error", "code": 400}}, 400)

    def failure(self) -> tuple[Any, ...]:
        """The events by which a stream that fails goes on; after them it ends. Text is sent as it is."""
        return ({"error": {"message": FAILURE, "type": "internal_error", "code": 500}},)

    # --- what all dialects have in common ------------------------------------------------------------------

    def answer(self, asked: Asked) -> Reply | Iterator[Any]:
        """What is sent back: a reply, or the events of a stream."""
        path = asked.path.partition("?")[0]
        if not self.is_ready:
            return self.loading
        if asked.method == "GET":
            if path == self.api_path + "/models":
                return Reply({"object": "list", "data": [self.model_entry()]})
            if path == self.ready_path:
                return self.ready
            if path == self.metrics_path:
                return Reply("".join(f"{name} {value}\n" for name, value in self.metrics.items()))
            return self.get(path) or Reply({"detail": "Not Found"}, 404)
        if path in (self.api_path + "/chat/completions", self.api_path + "/completions"):
            known = self.knows(path)
            unknown = set() if known is None else set(asked.body) - known
            if unknown:
                return self.refusal(f"Extra inputs are not permitted: {', '.join(sorted(unknown))}")
            return self._complete(asked.body, chat="chat" in path)
        return self.post(path, asked.body) or Reply({"detail": "Not Found"}, 404)

    def _complete(self, body: dict[str, Any], *, chat: bool) -> Reply | Iterator[Any]:
        if body.get("model") != self.model:
            return Reply({"error": {"message": f"The model `{body.get('model')}` does not exist."}}, 404)
        prompt = " ".join(str(m.get("content")) for m in body["messages"]) if chat else str(body["prompt"])
        limit = next((body[name] for name in self.length_fields if name in body), NATURAL_END)
        whole = any(body.get(name) for name in self.exact_fields)
        count = limit if whole else min(limit, NATURAL_END)
        finish = "length" if count == limit else "stop"
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": count}
        usage["total_tokens"] = sum(usage.values())
        words = [f"{WORDS[i % len(WORDS)]} " for i in range(count)]
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(words)} if chat else None
            choice = {"message": message} if chat else {"text": "".join(words)}
            return Reply({"choices": [{"index": 0, **choice, "finish_reason": finish}], "usage": usage})
        return self._stream(body, prompt, words, finish, usage, chat=chat)

    def _stream(
        self, body: dict[str, Any], prompt: str, words: list[str], finish: str, usage: dict[str, int], *, chat: bool
    ) -> Iterator[Any]:
        if chat and self.role is not None:
            yield self._chunk({"delta": self.role})
        for i, word in enumerate(words):
            if BREAK in prompt and i == 2:
                yield from self.failure()
                return
            thinks = chat and THINK in prompt and i < 2 and self.reasoning_field is not None
            delta = {self.reasoning_field: word} if thinks else {"content": word}
            if chat and self.role is None and i == 0:
                delta = {"role": "assistant", **delta}
            yield self._chunk({"delta": delta} if chat else {"text": word})
        yield self._chunk({"delta": {}} if chat else {"text": ""}, finish)
        if (body.get("stream_options") or {}).get("include_usage"):
            yield {"object": "chat.completion.chunk", "model": self.model, "choices": [], "usage": usage}
        yield "[DONE]"

    def _chunk(self, part: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, **part, "finish_reason": finish}
        return {"object": "chat.completion.chunk", "model": self.model, "choices": [choice]}

    def _listen(self, port: int) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


def _handler(imitation: Imitation) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, self.path, json.loads(raw or b"{}"), self.headers.get("Authorization"))
            imitation.asked.append(asked)
            reply = imitation.answer(asked)
            if isinstance(reply, Reply):
                self._send(reply)
            else:
                self._stream(reply)

        def _send(self, reply: Reply) -> None:
            text = isinstance(reply.body, str)
            data = reply.body.encode() if text else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "text/plain" if text else "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, events: Iterator[Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in events:
                data = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """Nothing: a test says what it saw."""

    return Handler
