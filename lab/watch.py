"""Watches a run: the engine's own metrics, its processes, the GPUs, and what else the machine did.

Once a second, on the run's clock, from a thread of its own. What is not exposed stays away; nothing here
raises into a measurement.
"""

from __future__ import annotations

import contextlib
import threading
import time
from types import TracebackType
from typing import Protocol

import psutil

from lab.endpoint import Endpoint
from lab.errors import EndpointError
from lab.records import GpuReading, GpuSample, HostSample, Sample
from lab.spec import Frozen

EVERY_S = 1.0
MIB = 2**20


class GpuReader(Protocol):
    """Reads every GPU that can be seen; see `lab.gpu`."""

    def read(self, engine_pids: frozenset[int]) -> tuple[GpuReading, ...]:
        """One reading for each GPU; processes of `engine_pids` are the engine's."""


class HostReader:
    """Reads CPU and memory of the engine's process tree and of the rest of the machine.

    Args:
        engine_pid: root of the engine's process tree; None when it is not on this machine.
    """

    def __init__(self, engine_pid: int | None) -> None:
        self._engine_pid = engine_pid
        self._last = self._look()

    def read(self) -> HostSample:
        """What happened since the last look."""
        before, now = self._last, self._look()
        self._last = now
        span_s = max(now.at_s - before.at_s, 1e-6)
        ours_s = _spent(before.ours, now.ours)
        engine_s = _spent(before.engine, now.engine)
        return HostSample(
            at_s=now.at_s,
            engine_cores=None if self._engine_pid is None else engine_s / span_s,
            engine_rss_mib=None if self._engine_pid is None else now.engine_rss / MIB,
            other_cores=max(now.busy_s - before.busy_s - ours_s - engine_s, 0.0) / span_s,
        )

    def pids(self) -> frozenset[int]:
        """The engine's processes at the last look."""
        return frozenset(self._last.engine)

    def _look(self) -> _Look:
        engine, rss = _tree(self._engine_pid)
        ours, _ = _tree(psutil.Process().pid)
        return _Look(
            at_s=time.perf_counter(),
            busy_s=_busy_s(),
            engine=engine,
            engine_rss=rss,
            ours={pid: spent for pid, spent in ours.items() if pid not in engine},
        )


class _Look(Frozen):
    at_s: float
    busy_s: float
    engine: dict[int, float]
    engine_rss: int
    ours: dict[int, float]


class RunWatch:
    """Watches from entering the block until leaving it.

    Args:
        endpoint: the engine.
        metrics_path: its Prometheus page, or None when it has none.
        engine_pid: root of its process tree; None when it is not on this machine.
        gpus: from `open_gpus`, or None.

    Attributes:
        samples: what the engine exposed.
        host: what the machine did.
        gpu: what the GPUs did.
        reason: why there are no `samples`; None when there are.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        metrics_path: str | None,
        *,
        engine_pid: int | None = None,
        gpus: GpuReader | None = None,
    ) -> None:
        self._endpoint, self._path, self._gpus = endpoint, metrics_path, gpus
        self._host = HostReader(engine_pid)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples: list[Sample] = []
        self.host: list[HostSample] = []
        self.gpu: list[GpuSample] = []
        self.reason: str | None = "the engine exposes no metrics" if metrics_path is None else None

    def __enter__(self) -> RunWatch:
        self._look()  # before the load begins, or the rise of a counter would lack what came first
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._look()
        self._look()

    def _look(self) -> None:
        self.host.append(self._host.read())
        if self._gpus is not None:
            at_s = time.perf_counter()
            readings = self._gpus.read(self._host.pids())
            self.gpu += [GpuSample(at_s=at_s, **dict(reading)) for reading in readings]
        if self._path is not None:
            self._scrape(self._path)

    def _scrape(self, path: str) -> None:
        try:
            answer = self._endpoint.get(path)
        except EndpointError as problem:
            self.reason = problem.what
            return
        if answer.status != 200:
            self.reason = f"the metrics page answered HTTP {answer.status}"
            return
        self.samples += read_metrics(answer.body.decode("utf-8", "replace"), time.perf_counter())
        self.reason = None if self.samples else "the metrics page holds no metric"


def other_cores(seconds: float) -> float:
    """CPU seconds a second that processes outside this one's tree spend during the next `seconds`."""
    reader = HostReader(None)
    time.sleep(seconds)
    return reader.read().other_cores


def read_metrics(text: str, at_s: float) -> list[Sample]:
    """Finite values of a Prometheus page; a page that is none gives none."""
    from prometheus_client.parser import text_string_to_metric_families

    samples = []
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
                value = float(sample.value)
                if value == value and abs(value) != float("inf"):
                    name = f"{sample.name}{{{labels}}}" if labels else sample.name
                    samples.append(Sample(at_s=at_s, name=name, value=value))
    except ValueError:
        return samples
    return samples


def _busy_s() -> float:
    """CPU seconds the machine has spent on work since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0) + getattr(times, "irq", 0.0))


def _tree(pid: int | None) -> tuple[dict[int, float], int]:
    """CPU seconds of every process of a tree, by process id, and their resident bytes."""
    spent: dict[int, float] = {}
    rss = 0
    if pid is None:
        return spent, rss
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                spent[process.pid] = times.user + times.system
                rss += process.memory_info().rss
    return spent, rss


def _spent(before: dict[int, float], now: dict[int, float]) -> float:
    """CPU seconds spent between two looks at a tree; one that is new counts from its start."""
    return sum(max(seconds - before.get(pid, 0.0), 0.0) for pid, seconds in now.items())
