"""One request has one limit, whatever the server does within it."""

from __future__ import annotations

import socket
import time

import pytest

from lab.endpoint import Endpoint
from lab.errors import EndpointError
from tests.load.raw_server import RawServer


class Dripping(RawServer):
    """Sends a byte now and then, for ever: no single wait is long."""

    timeout_s = 10.0

    def serve(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            connection.sendall(b" ")
            time.sleep(0.02)


def test_an_answer_that_drips_ends_at_the_limit() -> None:
    with Dripping() as server, pytest.raises(EndpointError, match=r"not complete within 0\.3 s"):
        Endpoint(f"http://127.0.0.1:{server.port}").get("/", timeout_s=0.3)
