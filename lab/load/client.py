"""The streaming client: sends bytes, stamps bytes at arrival, reads nothing.

What arrives is stamped before anything looks at it, the HTTP framing is undone in C (httptools), and the
packets are kept as they came; `lab.load.answer` reads them after the stream ended. No request is ever
sent twice.

Some servers promise keep-alive and close the connection after each stream all the same (llama.cpp's does),
so that the next request would run into a closing socket. Therefore every request gets a connection of its
own, opened before its clock starts, until the server has been seen to leave an idle one open.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass
from time import perf_counter
from typing import cast
from urllib.parse import urlsplit

import httptools

from lab.load.spool import Exchange

MOST_BODY_BYTES = 256 * 1024 * 1024
"""A response larger than this is cut off as malformed, so that no server can fill the memory."""
MOST_HEAD_BYTES = 256 * 1024
"""The same for status line and headers."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    head: bytes
    """Request line and headers up to those that differ from request to request."""

    @classmethod
    def of(cls, url: str, path: str, headers: tuple[tuple[str, str], ...]) -> Target:
        """Target of POST requests to `url` + `path`.

        Args:
            url: base URL including its own path, for instance http://127.0.0.1:8000/v1.
            path: route below it, for instance /chat/completions.
            headers: further headers, already validated.
        """
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        shown = f"[{host}]" if ":" in host else host
        lines = [
            f"POST {parts.path.rstrip('/')}{path} HTTP/1.1",
            f"Host: {shown}:{port}",
            "User-Agent: engine-lab",
            "Content-Type: application/json",
            "Accept: text/event-stream",
            "Accept-Encoding: identity",
            *(f"{name}: {value}" for name, value in headers),
        ]
        context = ssl.create_default_context() if parts.scheme == "https" else None
        return cls(host, port, context, "\r\n".join(lines).encode("latin-1") + b"\r\n")

    def request(self, body: bytes, request_id: str) -> bytes:
        """The bytes of one request."""
        tail = f"X-Request-Id: {request_id}\r\nContent-Length: {len(body)}\r\n\r\n"
        return self.head + tail.encode() + body


class Manners:
    """Whether a server keeps idle connections open, found out by watching one.

    Attributes:
        keeps: None until it is known.
    """

    WATCH_S = 0.25

    def __init__(self) -> None:
        self.keeps: bool | None = None
        self._watched: Wire | None = None

    def may_reuse(self, wire: Wire) -> bool:
        """Whether `wire` may carry another exchange; the first one that is asked about is watched."""
        if self.keeps is None and self._watched is None:
            self._watched = wire
            asyncio.get_running_loop().call_later(self.WATCH_S, self._judge)
        return bool(self.keeps)

    def releases(self, wire: Wire) -> bool:
        """Whether a wire that is not reused may be closed now."""
        return wire is not self._watched

    def _judge(self) -> None:
        wire, self._watched = self._watched, None
        assert wire is not None
        self.keeps = wire.is_open
        wire.close()


class Slot:
    """One of the streams in flight: carries exchanges one after another.

    Attributes:
        opened: how many connections it has opened.
    """

    def __init__(self, target: Target, manners: Manners) -> None:
        self._target, self._manners = target, manners
        self._wire: Wire | None = None
        self.opened = 0

    async def connect(self) -> Wire:
        """An open connection, a new one where there is none; raises OSError when the server cannot be reached."""
        if self._wire is None or not self._wire.is_open:
            self.opened += 1
            _, self._wire = await asyncio.get_running_loop().create_connection(
                Wire, self._target.host, self._target.port, ssl=self._target.tls
            )
        return self._wire

    async def ask(self, exchange: Exchange, request: bytes, timeout_s: float) -> None:
        """Carry one exchange to its end and fill it in; never raises for what the server does.

        The time to connect is before `send_s`: it is the client's affair, not the engine's answer time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        try:
            async with asyncio.timeout_at(deadline):
                wire = await self.connect()
        except TimeoutError:
            _fail_unsent(exchange, "timeout", f"no connection within {timeout_s:g} s")
            return
        except OSError as problem:
            _fail_unsent(exchange, "connection", f"could not connect: {problem}")
            return
        timer = loop.call_at(deadline, wire.expire, timeout_s)
        try:
            await wire.carry(exchange, request)
        finally:
            timer.cancel()
        if exchange.failure == "connection" and exchange.first_byte_s is None and wire.carried > 1:
            self._manners.keeps = False  # it closed a connection it had kept: never trust it again
        if wire.is_open and self._manners.may_reuse(wire):
            return
        if self._manners.releases(wire):
            wire.close()
        self._wire = None

    def close(self) -> None:
        """Close the connection."""
        if self._wire is not None:
            self._wire.close()


class Wire(asyncio.Protocol):
    """One connection, carrying one exchange at a time.

    Attributes:
        carried: how many exchanges it has begun.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._direct_fd: int | None = None
        """The socket itself, where nothing has to be encrypted."""
        self.carried = 0

    @property
    def is_open(self) -> bool:
        """Whether another exchange can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def carry(self, exchange: Exchange, request: bytes) -> None:
        """Send one request and wait until its response is complete or has failed."""
        assert self._transport is not None
        self._begin(exchange)
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        exchange.send_s = perf_counter()
        self._send(request)
        try:
            await waiter
        except asyncio.CancelledError:
            self._finish("cancelled", "stopped by the lab")
            raise

    def expire(self, timeout_s: float) -> None:
        """End the exchange that is running because its limit has passed."""
        self._finish("timeout", f"not complete within {timeout_s:g} s")

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        if transport.get_extra_info("sslcontext") is None:
            self._direct_fd = os.dup(transport.get_extra_info("socket").fileno())

    def data_received(self, data: bytes) -> None:
        now = perf_counter()
        exchange = self._exchange
        if exchange is None:
            self.close()  # bytes nobody asked for: the next exchange gets a fresh connection
            return
        if exchange.first_byte_s is None:
            exchange.first_byte_s = now
        self._now = now
        self._received += len(data)
        if self._received > (MOST_BODY_BYTES if self._in_body else MOST_HEAD_BYTES):
            self._finish("malformed", f"the response passed {self._received} bytes")
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._finish("malformed", "the server wanted to switch protocols")
        except httptools.HttpParserError as problem:
            if self._exchange is exchange:
                self._finish("malformed", f"not HTTP: {problem}")
            else:
                self.close()  # the answer was complete, what follows it is not HTTP

    def eof_received(self) -> None:
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._direct_fd is not None:
            os.close(self._direct_fd)
            self._direct_fd = None
        if self._exchange is None:
            return
        if exc is None and self._in_body and self._until_close:
            self._finish(None, "")
        elif self._in_body:
            how = "reset" if exc else "closed"
            self._finish("connection" if exc else "cut", f"the connection was {how} before the body was complete")
        else:
            how = f"reset ({exc})" if exc else "closed"
            self._finish("connection", f"the connection was {how} before a response")

    # httptools

    def on_message_begin(self) -> None:
        if self._exchange is None:
            self.close()

    def on_status(self, status: bytes) -> None:
        if self._exchange is not None and not self._interim():
            self._exchange.status = self._parser.get_status_code()

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._exchange
        if exchange is None or self._in_body or self._interim():
            return
        name = name.lower()
        if name == b"content-type":
            exchange.content_type = value.decode("latin-1")
        elif name == b"content-encoding":
            exchange.content_encoding = value.decode("latin-1")
        elif name in (b"content-length", b"transfer-encoding"):
            self._until_close = False

    def on_headers_complete(self) -> None:
        if self._exchange is not None and not self._interim():
            self._exchange.status = self._parser.get_status_code()
            self._in_body = True

    def on_body(self, body: bytes) -> None:
        exchange = self._exchange
        if exchange is not None:
            exchange.arrivals.append(self._now)
            exchange.packets.append(body)

    def on_message_complete(self) -> None:
        if self._exchange is None or self._interim():
            return
        keep = self._parser.should_keep_alive() and not self._until_close
        self._finish(None, "")
        if not keep:
            self.close()

    # inside

    def _send(self, request: bytes) -> None:
        """Hand the request to the kernel now; what it does not take follows through the loop.

        uvloop's `write` waits for the end of the loop's turn: of a thousand requests sent in one turn the first
        would have left long after its stamp.
        """
        assert self._transport is not None
        sent = 0
        if self._direct_fd is not None:
            try:
                sent = os.write(self._direct_fd, request)
            except BlockingIOError:
                pass
            except OSError as problem:
                self._finish(
                    "connection", f"the connection was closed before the request was sent ({problem.strerror})"
                )
                return
        if sent < len(request):
            self._transport.write(request[sent:])

    def _interim(self) -> bool:
        return 100 <= self._parser.get_status_code() < 200

    def _begin(self, exchange: Exchange) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._exchange = exchange
        self.carried += 1
        self._received = 0
        self._in_body = False
        self._until_close = True
        self._now = 0.0

    def _finish(self, failure: str | None, detail: str) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        exchange.end_s = perf_counter()
        exchange.failure, exchange.detail = failure, detail
        if failure is not None:
            self.close()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _fail_unsent(exchange: Exchange, failure: str, detail: str) -> None:
    exchange.send_s = exchange.end_s = perf_counter()
    exchange.failure, exchange.detail = failure, detail
