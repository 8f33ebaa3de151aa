"""An attached engine: one that runs already, reached by URL. The lab neither starts nor stops it."""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit

import psutil

from lab.endpoint import Endpoint, split_url
from lab.engines.attached import served
from lab.engines.base import Adapter
from lab.engines.gateway import ThroughGateway
from lab.errors import EndpointError, EngineDied, EngineError, LabError
from lab.roster import find
from lab.spec import RunSpec

KEY_VARIABLE = "OPENAI_API_KEY"
"""Sent as a bearer token to attached engines when it is set; never written anywhere."""

POLL_EVERY_S = 0.2

LOADING = frozenset({400, 429, *range(500, 600)})
"""Statuses of a server that is there and does not take requests yet; Triton's frontend says 400."""

OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp"}
"""`owned_by` of a model list to the engine that writes it: an engine that says its own name."""


def attached_endpoint(url: str, api_path: str = "/v1") -> Endpoint:
    """The server below `url`, asked with the key of the environment. Raises EndpointError for what is no URL."""
    root, _ = split_url(url, api_path)
    key = os.environ.get(KEY_VARIABLE, "").strip()
    return Endpoint(root, (("Authorization", f"Bearer {key}"),) if key else ())


def is_here(url: str) -> bool:
    """Whether a URL leads to this machine's loopback interface, where the lab can look at the process behind."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def find_fault(adapter: Adapter, endpoint: Endpoint, spec: RunSpec) -> LabError | None:
    """What would stop a run against a server, found without loading it; None when nothing was found.

    One that answers and is still loading is no fault: a run waits for it.
    """
    try:
        answer = endpoint.get(adapter.ready_path)
    except EndpointError as problem:
        return EngineError(
            f"nothing answers for {adapter.key}: {problem.what}", "start it, or correct its url in the plan"
        )
    if answer.status in (401, 403):
        return EngineError(
            f"{endpoint.url} answers HTTP {answer.status}: it wants an API key", f"export {KEY_VARIABLE}=…"
        )
    if answer.status not in LOADING and answer.status != 200:
        return EngineError(
            f"{endpoint.url}{adapter.ready_path} answers HTTP {answer.status}, which is not how "
            f"{spec.gateway or adapter.key} says that it is ready",
            "check url, engine and gateway in the plan",
        )
    return _wrong_model(adapter, endpoint, spec) if answer.status == 200 else None


class EngineAttachment:
    """An engine that somebody else started, under the interface of a launched one. Leaving it stops nothing.

    Args:
        adapter: knows when it is ready.
        url: its root, with or without the path of the OpenAI routes.

    Attributes:
        launched_s: `perf_counter` second at which the lab turned to it; nobody saw it start.
        endpoint: its root URL, with the key of the environment.
    """

    def __init__(self, adapter: Adapter, url: str) -> None:
        self._adapter = adapter
        self.endpoint = attached_endpoint(url, adapter.api_path)
        self.launched_s = time.perf_counter()

    def wait_ready(self, on_wait: Callable[[float], None] = lambda _: None) -> float:
        """Wait until it answers requests.

        Args:
            on_wait: told about once a second how long it has been.

        Returns:
            `perf_counter` second at which it was ready.

        Raises:
            EngineError: it was not ready within the adapter's limit.
        """
        told_s = 0.0
        while not self._adapter.is_ready(self.endpoint):
            waited_s = time.perf_counter() - self.launched_s
            if waited_s > self._adapter.start_limit_s:
                raise EngineError(
                    f"{self._adapter.key} at {self.endpoint.url} was not ready within "
                    f"{self._adapter.start_limit_s:g} s: {self._state()}",
                    "look at its own log",
                )
            if waited_s - told_s >= 1.0:
                told_s = waited_s
                on_wait(waited_s)
            time.sleep(POLL_EVERY_S)
        return time.perf_counter()

    @property
    def pid(self) -> int | None:
        """The process behind the URL, to be watched; None on another host, behind a gateway, or where it is hidden."""
        if not is_here(self.endpoint.url) or isinstance(self._adapter, ThroughGateway):
            return None
        port = urlsplit(self.endpoint.url).port
        try:
            sockets = psutil.net_connections("tcp")
        except (psutil.Error, OSError):
            return None
        listening = (one for one in sockets if one.status == psutil.CONN_LISTEN and one.laddr[1:2] == (port,))
        return next((one.pid for one in listening if one.pid is not None), None)

    @property
    def ended(self) -> bool:
        """False: nobody can tell without asking it, and a load is not disturbed by questions."""
        return False

    def check_alive(self, when: str, patience_s: float = 0.0) -> None:
        """Raise EngineDied when it does not answer as ready any more.

        Args:
            when: what was going on, for the sentence.
            patience_s: how long it may take to answer again.
        """
        deadline = time.monotonic() + patience_s
        while not self._adapter.is_ready(self.endpoint):
            if time.monotonic() >= deadline:
                raise EngineDied(
                    f"{self._adapter.key} at {self.endpoint.url} was not ready {when}: {self._state()}",
                    "look at its own log; the lab did not start it",
                )
            time.sleep(POLL_EVERY_S)

    def log(self) -> str:
        """Empty: what it prints goes to whoever started it."""
        return ""

    def stop(self) -> None:
        """Leave it running."""

    def __enter__(self) -> EngineAttachment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _state(self) -> str:
        try:
            return f"{self._adapter.ready_path} answers HTTP {self.endpoint.get(self._adapter.ready_path).status}"
        except EndpointError as problem:
            return problem.what


def _wrong_model(adapter: Adapter, endpoint: Endpoint, spec: RunSpec) -> LabError | None:
    """Another model or another engine than the plan names, by the list of models where there is one."""
    try:
        entries = served(endpoint, adapter.api_path)
    except EndpointError:
        return None  # the first request will tell
    names = [str(entry.get("id")) for entry in entries]
    wanted = adapter.served_name(spec)
    if names and wanted not in names:
        return EngineError(
            f"{endpoint.url} does not serve '{wanted}'; it serves: {', '.join(names[:10])}",
            f"write served_as: {names[0]} into the run of the plan, if that is the same model",
        )
    named = find(spec.behind or spec.engine)
    owner = next((OWNERS[str(entry.get("owned_by"))] for entry in entries if entry.get("owned_by") in OWNERS), None)
    if owner is not None and named is not None and owner != named.key:
        return EngineError(
            f"{endpoint.url} says that its model is served by {owner}; the plan names {named.key}",
            "name the engine that runs there",
        )
    return None
