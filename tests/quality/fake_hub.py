"""A real HTTP server that answers like the hub: what a commit of a data set holds, and its files."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

FIRST, SECOND = "a" * 40, "b" * 40
FILE = "main/test-00000-of-00001.parquet"


def parquet(rows: list[dict[str, str]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


class FakeHub(ThreadingHTTPServer):
    """Holds one data set, openai/gsm8k; `commits` are what it serves, `newest` is the head of main."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.commits: dict[str, dict[str, bytes]] = {}
        self.newest = FIRST
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Exchange(BaseHTTPRequestHandler):
    server: FakeHub

    def do_GET(self) -> None:
        hub, path = self.server, unquote(self.path)
        hub.asked.append(path)
        about, files = "/api/datasets/openai/gsm8k/revision/", "/datasets/openai/gsm8k/resolve/"
        if path.startswith(about):
            name = path.removeprefix(about)
            commit = hub.newest if name == "main" else name
            if commit in hub.commits:
                siblings = [{"rfilename": "README.md"}, *({"rfilename": one} for one in hub.commits[commit])]
                return self._send(200, json.dumps({"sha": commit, "siblings": siblings}).encode())
        elif path.startswith(files):
            commit, _, name = path.removeprefix(files).partition("/")
            if name in hub.commits.get(commit, {}):
                return self._send(200, hub.commits[commit][name])
        self._send(404, b'{"error": "not found"}')

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: the tests read `asked`."""


@contextmanager
def serve_hub() -> Iterator[FakeHub]:
    """A running hub without a commit."""
    hub = FakeHub()
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join(5)
