"""Watches a running engine: its own metrics, once a second, on the run's clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from lab.endpoint import Endpoint
from lab.errors import EndpointError
from lab.spec import Frozen

EVERY_S = 1.0


class Sample(Frozen):
    """One value the engine exposed."""

    at_s: float
    """`perf_counter` second of the scrape."""
    name: str
    """Metric name and labels as exposed."""
    value: float


class EngineWatch:
    """Scrapes a Prometheus page from a thread of its own while the load runs.

    Args:
        endpoint: the engine.
        path: the metrics page, or None when the engine has none: then nothing is watched.

    Attributes:
        reason: why there are no samples; None when there are.
    """

    def __init__(self, endpoint: Endpoint, path: str | None) -> None:
        self._endpoint, self._path = endpoint, path
        self._stop = threading.Event()
        self._samples: list[Sample] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.reason: str | None = "the engine exposes no metrics" if path is None else None

    @property
    def samples(self) -> Sequence[Sample]:
        """What was seen, in order of time."""
        return self._samples

    def __enter__(self) -> EngineWatch:
        if self._path is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._path is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while True:
            self._scrape()
            if self._stop.wait(EVERY_S):
                self._scrape()
                return

    def _scrape(self) -> None:
        assert self._path is not None
        try:
            answer = self._endpoint.get(self._path)
        except EndpointError as problem:
            self.reason = problem.what
            return
        if answer.status != 200:
            self.reason = f"the metrics page answered HTTP {answer.status}"
            return
        at_s = time.perf_counter()
        self._samples += read_metrics(answer.body.decode("utf-8", "replace"), at_s)


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
