"""A small reverse proxy that stands in for a gateway: its own readiness, the OpenAI routes passed on, no more."""

from __future__ import annotations

import http.client
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Self
from urllib.parse import urlsplit


class Proxy:
    """Passes `/v1/…` on to a real engine, byte by byte as it comes. Use it as a context manager.

    Args:
        behind: root of the engine.

    Attributes:
        url: its own root.
        passed: paths that were passed on.
    """

    def __init__(self, behind: str) -> None:
        self.passed: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._serve()

            def do_POST(self) -> None:
                self._serve()

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/health/readiness":
                    return self._say({"status": "healthy", "db": "Not connected", "litellm_version": "1.80.0"}, 200)
                if not self.path.startswith("/v1/"):
                    return self._say({"detail": "Not Found"}, 404)
                proxy.passed.append(self.path)
                engine = http.client.HTTPConnection(urlsplit(behind).netloc, timeout=60)
                engine.request(self.command, self.path, body, {"Content-Type": "application/json"})
                answer = engine.getresponse()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while data := answer.read1(65536):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
                engine.close()

            def _say(self, document: object, status: int) -> None:
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
