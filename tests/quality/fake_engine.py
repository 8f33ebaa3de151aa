"""A real HTTP server with scripted answers: the double of an engine in the quality tests."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[["Exchange"], None]
"""Answers one request."""


class Exchange(BaseHTTPRequestHandler):
    """One request; a script answers it with `send`, `reset`, `hang` or `die`."""

    server: FakeEngine

    def do_POST(self) -> None:
        self.raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked: dict[str, Any] = json.loads(self.raw)
        self.question = self._last_words()
        self.server.seen.append(self)
        self.server.script(self)

    def _last_words(self) -> str:
        """The last turn of a chat, or the prompt; token ids are characters (`CharTokenizer`)."""
        if "messages" in self.asked:
            return str(self.asked["messages"][-1]["content"])
        prompt = self.asked["prompt"]
        return prompt if isinstance(prompt, str) else "".join(map(chr, prompt[0]))

    def send(self, body: bytes | Any, status: int = 200, length: int | None = None) -> None:
        """Send a body (JSON unless it is bytes); `length` lies about how long it is."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length or len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reset(self) -> None:
        """Reset the connection without a word."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.wfile = self.rfile = _Nothing()  # type: ignore[assignment]

    def hang(self) -> None:
        """Say nothing until the test is over."""
        self.server.over.wait()

    def die(self) -> None:
        """Stop accepting connections; this request is lost too."""
        self.server.shutdown()
        self.server.socket.close()
        self.reset()

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests read `seen`."""


class _Nothing:
    closed = False

    def flush(self) -> None: ...

    def close(self) -> None: ...


class FakeEngine(ThreadingHTTPServer):
    """Remembers what it was asked."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.script = script
        self.seen: list[Exchange] = []
        self.over = threading.Event()
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that gave up is part of the tests."""


@contextmanager
def serve(script: Script) -> Iterator[FakeEngine]:
    """A running engine that answers every request with `script`."""
    engine = FakeEngine(script)
    thread = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        engine.over.set()
        engine.shutdown()
        engine.server_close()
        thread.join(5)


def chat(content: Any, finish_reason: Any = "stop", **message: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    return {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }


def completion(text: Any, finish_reason: Any = "stop", prompt_tokens: int = 7) -> dict[str, Any]:
    """The body of a completion."""
    return {
        "choices": [{"index": 0, "text": text, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 3},
    }


class CharTokenizer:
    """One character, one token; its number is the token's id. A text without context begins after U+0001."""

    prefix_id: int | None = 1

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


def echo(prompt: str, logprob: Callable[[str], float] = lambda before: -1.0, end: str = "!") -> dict[str, Any]:
    """The body of a completion that echoes `prompt` and adds one token.

    Args:
        prompt: one token a character.
        logprob: of the last character of the text it is given.
        end: the new token.
    """
    text = prompt + end
    logprobs = [None, *(logprob(text[: n + 1]) for n in range(1, len(text)))]
    tops = [None, *({char: value} for char, value in zip(text[1:], logprobs[1:], strict=True))]
    body = completion(text, "length", prompt_tokens=len(prompt))
    body["choices"][0]["logprobs"] = {"tokens": [*text], "token_logprobs": logprobs, "top_logprobs": tops}
    return body
