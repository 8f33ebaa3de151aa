"""A small real HTTP server that gives the answers it was told. Imitation: shows what is read, nothing of an engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from lab.endpoint import Endpoint


class Told:
    """Use it as a context manager.

    Args:
        answers: "GET /path" (its query included) to a body, or to a status and a body; 404 for the rest.

    Attributes:
        asked: "METHOD /path" and body of every request.
        endpoint: its root.
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.endpoint = Endpoint(f"http://127.0.0.1:{self._server.server_address[1]}")
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(told: Told) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            route = f"{self.command} {self.path}"
            told.asked.append((route, json.loads(raw or b"null")))
            answer = told.answers.get(route, (404, {"detail": "Not Found"}))
            status, body = answer if isinstance(answer, tuple) else (200, answer)
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing: a test says what it saw."""

    return Handler
