"""A server's base URL, asked plainly: one request, one limit, no retry, no proxy.

For probes and readiness, never for measuring; load goes through `lab.load`.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

from lab.errors import EndpointError

MOST_BYTES = 64 * 1024 * 1024
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of one response."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body as JSON, or None when it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL such as http://127.0.0.1:8000, without /v1.

    Attributes:
        url: scheme, host and port, with a path prefix where the server has one.
        headers: sent with every request, for instance an Authorization.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()

    def get(self, path: str, timeout_s: float = 5.0) -> Answer:
        """GET `path`; any status is an answer. Raises EndpointError when there is none."""
        return self._ask("GET", path, None, timeout_s)

    def post(self, path: str, body: Any, timeout_s: float = 30.0) -> Answer:
        """POST `body` as JSON; any status is an answer. Raises EndpointError when there is none."""
        return self._ask("POST", path, json.dumps(body).encode(), timeout_s)

    def delete(self, path: str, timeout_s: float = 5.0) -> Answer:
        """DELETE `path`; any status is an answer. Raises EndpointError when there is none."""
        return self._ask("DELETE", path, None, timeout_s)

    def _ask(self, method: str, path: str, body: bytes | None, timeout_s: float) -> Answer:
        request = urllib.request.Request(self.url.rstrip("/") + path, data=body, method=method)  # noqa: S310  as below
        request.add_header("Content-Type", "application/json")
        for name, value in self.headers:
            request.add_header(name, value)
        deadline = time.monotonic() + timeout_s
        try:
            with _OPENER.open(request, timeout=timeout_s) as response:
                return Answer(response.status, _read(response, deadline, timeout_s))
        except urllib.error.HTTPError as response:
            with response:
                return Answer(response.code, _read(response, deadline, timeout_s))
        except urllib.error.URLError as problem:
            raise EndpointError(f"{self.url}{path}: {_words(problem.reason, timeout_s)}") from None
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise EndpointError(f"{self.url}{path}: {_words(problem, timeout_s)}") from None


def split_url(url: str, api_path: str = "/v1") -> tuple[str, str]:
    """Root and OpenAI base of a URL a person typed: with or without /v1, with or without a slash at its end.

    Args:
        url: as it was typed.
        api_path: where the OpenAI routes lie below the root.

    Returns:
        For instance ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1").

    Raises:
        EndpointError: it is not an http or https URL with a host, or it holds more than an address.
    """
    try:
        parts = urlsplit(url.strip())
        port_ok = parts.port is None or parts.port > 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        parts, port_ok = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        raise EndpointError(
            f"'{url}' is not a URL of a server; expected something like http://127.0.0.1:8000",
            "give the URL with its scheme",
        )
    if parts.username or parts.password:
        raise EndpointError(
            "the URL carries a user name or a password", "take it out; API keys come from the environment"
        )
    if parts.query or parts.fragment:
        raise EndpointError(
            "the URL carries more than an address ('?' or '#' and what follows)",
            "take it out; API keys come from the environment",
        )
    path = parts.path.rstrip("/")
    for route in ("/chat/completions", "/completions"):
        path = path.removesuffix(route)
    base = path.removesuffix(api_path)
    root = f"{parts.scheme}://{parts.netloc}{base if base != path else path.removesuffix('/v1')}"
    return root, root + api_path


def _read(response: IO[bytes], deadline: float, timeout_s: float) -> bytes:
    """The body, within the one limit: a server that sends a byte now and then would never run into a socket's."""
    parts: list[bytes] = []
    room = MOST_BYTES
    while room > 0 and (part := response.read1(min(room, 1 << 20))):  # type: ignore[attr-defined]  # has it, untyped
        parts.append(part)
        room -= len(part)
        if time.monotonic() > deadline:
            raise EndpointError(f"the answer was not complete within {timeout_s:g} s")
    return b"".join(parts)


def _words(problem: Any, timeout_s: float) -> str:
    if isinstance(problem, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(problem, socket.gaierror):
        return "no host has this name"
    if isinstance(problem, ConnectionRefusedError):
        return "nobody listens there (connection refused)"
    if isinstance(problem, ssl.SSLError):
        return f"TLS failed: {problem.reason or problem}"
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
