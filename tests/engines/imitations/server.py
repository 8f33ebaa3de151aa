"""What the imitations share: a real HTTP server on a free port whose tokens are words.

An imitation is written from the same facts as the adapter it is tried with, so it proves that both agree with each
other and nothing about the engine: grade synthetic.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from lab.endpoint import Endpoint

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""


class Imitation:
    """A server that speaks one engine's dialect. Use it as a context manager.

    Attributes:
        model: the name it serves.
        ready: False: it answers as the engine does while it loads.
        asked: bodies of the generation requests it has been sent.
    """

    def __init__(self, model: str = "imitated", *, ready: bool = True) -> None:
        self.model, self.ready = model, ready
        self.asked: list[dict[str, Any]] = []
        imitation = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.reply(imitation.get(self.path))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = imitation.post(self.path, body)
                if isinstance(answer, tuple):
                    return self.reply(answer)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for event in answer:
                    self.wfile.write(f"data: {event}\n\n".encode())
                self.close_connection = True

            def reply(self, reply: Reply) -> None:
                status, headers, body = reply
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = Endpoint(f"http://127.0.0.1:{self._server.server_address[1]}")

    def get(self, path: str) -> Reply:
        """Answer a GET."""
        raise NotImplementedError

    def post(self, path: str, body: dict[str, Any]) -> Reply | Iterator[str]:
        """Answer a POST: a reply, or the events of a stream."""
        raise NotImplementedError

    def __enter__(self) -> Imitation:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def as_json(data: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON reply; `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"Content-Type": "application/json", **named}, json.dumps(data).encode()


def as_text(text: str) -> Reply:
    """A plain reply, as a Prometheus page is."""
    return 200, {"Content-Type": "text/plain; version=0.0.4"}, text.encode()


def prompt_of(body: dict[str, Any]) -> str:
    """The text a request holds, whichever route."""
    messages = body.get("messages")
    return str(body["prompt"]) if messages is None else " ".join(str(message["content"]) for message in messages)


def words(n: int) -> list[str]:
    """An answer of n tokens."""
    return [f"word{i} " for i in range(n)]
