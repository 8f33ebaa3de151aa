"""A launched engine: one command on a leash, its log in a file, its end always noticed."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from lab.endpoint import Endpoint
from lab.engines.base import HOST, Adapter, Launch
from lab.errors import EngineDied, EngineError, EngineNotInstalled, PortInUse
from lab.leash import Leashed

KEPT_VARIABLES = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "OMP_NUM_THREADS", "HF_HOME", "XDG_CACHE_HOME",
    "LAB_CACHE", "LAB_ENGINES", "LAB_LOCKS", "LAB_VLLM", "LAB_SGLANG", "LAB_LLAMA_SERVER", "LAB_TRTLLM_EXAMPLES",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
)  # fmt: skip
"""Variables a child process inherits; nothing else, so that no key of the user's shell reaches a log."""

QUIET_VARIABLES = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1", "PYTHONUNBUFFERED": "1"}
"""Nothing calls home."""

POLL_EVERY_S = 0.01
LOG_LINES = 12
HALF_OF_A_LOG = 16 * 2**20
"""Of a log longer than two of these the middle is not looked at: an engine that prints without end fills no memory."""
ERROR_LINE = re.compile(r"\b(ValueError|RuntimeError|OSError|MemoryError|OutOfMemoryError|KeyError): \S")
"""The line of a Python traceback that says what went wrong."""


def child_environment(**extra: str) -> dict[str, str]:
    """The cleaned environment of every process the lab starts."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return kept | QUIET_VARIABLES | extra


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def refuse_used_port(port: int) -> None:
    """Raise PortInUse when somebody listens on `port` of the loopback interface."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        if probe.connect_ex((HOST, port)) == 0:
            raise PortInUse(
                f"port {port} of {HOST} is in use by another program", "choose another port, or stop that program"
            )


class EngineProcess:
    """An engine the lab started. Use it as a context manager: the engine and its children always stop.

    Args:
        adapter: knows when it is ready.
        launch: the command.
        port: where it will listen.
        log_path: receives its output.

    Attributes:
        launched_s: `perf_counter` second right before the command ran.
        endpoint: its root URL.
    """

    def __init__(self, adapter: Adapter, launch: Launch, port: int, log_path: Path) -> None:
        missing = adapter.installed()
        if missing:
            raise EngineNotInstalled(missing)
        refuse_used_port(port)
        self._adapter, self._log_path = adapter, log_path
        self.endpoint = Endpoint(f"http://{HOST}:{port}")
        with log_path.open("wb") as log:
            try:
                self._leashed = Leashed(list(launch.argv), child_environment(**launch.env), log)
            except FileNotFoundError as problem:
                raise EngineNotInstalled(f"{adapter.key}: {problem}") from None
        self.launched_s = self._leashed.started_s
        self.pid = self._leashed.pid

    def wait_ready(self, on_wait: Callable[[float], None] = lambda _: None) -> float:
        """Wait until it answers requests.

        Args:
            on_wait: told about once a second how long it has been.

        Returns:
            `perf_counter` second at which it was ready.

        Raises:
            EngineDied: it ended; the sentence holds the last lines of its log.
            EngineError: it was not ready within the adapter's limit, or printed nothing for too long; the
                sentence says what was waited for.
        """
        adapter, told_s = self._adapter, 0.0
        printed, printed_s = -1, self.launched_s
        while True:
            if self._adapter.is_ready(self.endpoint):
                return time.perf_counter()
            self.check_alive("while starting")
            waited_s = time.perf_counter() - self.launched_s
            if (size := self._log_path.stat().st_size) != printed:
                printed, printed_s = size, time.perf_counter()
            silent_s = time.perf_counter() - printed_s
            if waited_s > adapter.start_limit_s or silent_s > adapter.start_idle_limit_s:
                late = waited_s > adapter.start_limit_s
                why = (
                    f"was not ready within {adapter.start_limit_s:g} s"
                    if late
                    else f"printed nothing for {adapter.start_idle_limit_s:g} s and was not ready"
                )
                raise EngineError(
                    f"{adapter.key} {why}; waited for HTTP 200 from {adapter.ready_path}; "
                    f"its log ends with:\n{self.last_words()}",
                    "read the log above; a large model may need a longer limit",
                )
            if waited_s - told_s >= 1.0:
                told_s = waited_s
                on_wait(waited_s)
            time.sleep(POLL_EVERY_S)

    @property
    def ended(self) -> bool:
        """True when the engine's process is gone."""
        return self._leashed.poll() is not None

    def check_alive(self, when: str, patience_s: float = 0.0) -> None:
        """Raise EngineDied when the engine has ended.

        Args:
            when: what was going on, for the sentence.
            patience_s: how long to look; an engine that just refused a connection may be about to end.
        """
        deadline = time.monotonic() + patience_s
        while (code := self._leashed.poll()) is None and time.monotonic() < deadline:
            time.sleep(POLL_EVERY_S)
        if code is not None:
            how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
            known = self._adapter.explain_end(self.log())
            why = f": {known.what}" if known else ""
            raise EngineDied(
                f"{self._adapter.key} ended {when} ({how}){why}; its log ends with:\n{self.last_words()}",
                known.next_step if known else "read the log above; the bundle keeps it as engine.log",
            )

    def log(self) -> str:
        """What it has printed so far, of a very long log the beginning and the end; empty when it cannot be read."""
        try:
            with self._log_path.open("rb") as log:
                head = log.read(HALF_OF_A_LOG)
                end = log.seek(0, os.SEEK_END)
                log.seek(max(end - HALF_OF_A_LOG, len(head)))
                return (head + log.read(HALF_OF_A_LOG)).decode("utf-8", "replace")
        except OSError:
            return ""

    def last_words(self) -> str:
        """The last lines of its log, indented."""
        whole = self.log().splitlines()
        lines = whole[-LOG_LINES:]
        # engines often end with a traceback that says less than an error further up
        told = next((line for line in reversed(whole) if ERROR_LINE.search(line)), None)
        if told is not None and told not in lines:
            lines = [told, "…", *lines]
        return "\n".join(f"  {line[:300]}" for line in lines) or "  (the log is empty)"

    def stop(self) -> None:
        """Stop the engine and every process it started."""
        self._leashed.stop()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
