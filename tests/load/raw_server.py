"""A real server on raw sockets, one thread a connection: what is sent, and when, is up to the subclass."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from typing import Self


class RawServer(ABC):
    """Accepts connections from the moment it is made until it is left as a context manager.

    Attributes:
        port: where it listens, on 127.0.0.1.
    """

    timeout_s: float
    """Limit of one wait on a connection, seconds."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @abstractmethod
    def serve(self, connection: socket.socket) -> None:
        """Carry one connection to its end; it is closed afterwards, and OSError ends it quietly."""

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(connection,), daemon=True).start()

    def _carry(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(self.timeout_s)
            self.serve(connection)
