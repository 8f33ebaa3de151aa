"""Runs a load job in processes of its own and brings back the records.

The load processes (`lab.load.worker`) stamp and spool; this side says when a level starts, renders progress,
waits with a limit, and reads the spools when the clock no longer matters. Raw exchanges are merged, never
summaries, so several processes give exactly what one would.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.load.answer import read_answer
from lab.load.spool import read_exchanges
from lab.load.worker import STOCK
from lab.records import LevelCost, RequestRecord
from lab.scratch import scratch

START_LIMIT_S = 60.0
"""How long load processes may take to start and connect, beside the limits of their requests."""

DISMISS_S = 60.0
"""How long a process may take to end after it has said its last word."""

HEAD_START_S = 0.02
"""Between the order to start and the start, so that every process has read the order."""


@dataclass(frozen=True, slots=True)
class LevelJob:
    """One rung of the ladder, requests rendered to bytes before the clock starts.

    Attributes:
        concurrency: requests in flight in a closed loop; None in an open loop.
        bodies: measured requests.
        warmup: requests sent before, in a closed loop.
        asked_tokens: output length that is asked for.
        asked_each: the same for each measured body, where they differ; empty: `asked_tokens` holds for all.
        exact: whether exactly that length is asked for.
        items: which item of the workload's source each body was made from; empty for none.
        offsets_s: when each body is to be sent, seconds from the start of the level; None in a closed loop.
        duration_s: a closed loop sends no request later than this; None: it sends all.
    """

    concurrency: int | None
    bodies: tuple[bytes, ...]
    warmup: tuple[bytes, ...] = ()
    asked_tokens: int = 1
    exact: bool = False
    asked_each: tuple[int, ...] = ()
    items: tuple[str | None, ...] = ()
    offsets_s: tuple[float, ...] | None = None
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class LoadJob:
    """Everything the load processes need.

    Attributes:
        url: base URL with its /v1.
        path: route below it.
        headers: further request headers; secrets in them stay in the job file, which is deleted.
        timeout_s: limit of one request, connection included.
        workers: load processes; one for each core that the engine does not need.
    """

    url: str
    path: str
    levels: tuple[LevelJob, ...]
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 600.0
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; `tokens` counts finished requests only."""

    level: int
    levels: int
    phase: str
    done: int
    total: int
    in_flight: int
    tokens: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The records of a job, warm-up included, in the order of level and index.

    Attributes:
        complete: False when the job was stopped; the records are then those that had been started.
        zero_s: the `perf_counter` second that is 0 in the records.
    """

    records: tuple[RequestRecord, ...]
    costs: tuple[LevelCost, ...]
    complete: bool
    zero_s: float


class StopLoad(Exception):
    """Raised by a caller's `on_progress` to stop the load in order; what was measured until then is kept."""


class LoadFailed(LabError):
    """A load process failed; what had been measured until then is in `kept`."""

    def __init__(self, what: str, kept: LoadResult) -> None:
        super().__init__(what)
        self.kept = kept


def run_load(job: LoadJob, on_progress: Callable[[Progress], None] | None = None) -> LoadResult:
    """Drive an endpoint and return what every request did.

    KeyboardInterrupt, and a `StopLoad` that `on_progress` raises, stop the load; what had been measured until
    then is returned with `complete=False`.

    Raises:
        LoadFailed: a load process itself failed, with its last words and what had been measured until then.
    """
    with scratch("load") as folder:
        name = "lab" + secrets.token_hex(4)
        documents = [_share(job, name, worker) for worker in range(job.workers)]
        crew = _Crew(folder, documents, _limit_s(job))
        failed: LabError | None = None
        try:
            costs, complete = crew.work(len(job.levels), on_progress)
        except LabError as problem:
            costs, complete, failed = crew.costs, False, problem
        finally:
            crew.dismiss()
        exchanges = sorted(
            (exchange for spool in crew.spools for exchange in read_exchanges(spool)),
            key=lambda exchange: (exchange.level, not exchange.warmup, exchange.index),
        )
    zero_s = min((exchange.send_s for exchange in exchanges), default=0.0)
    records = []
    for exchange in exchanges:
        level = job.levels[exchange.level]
        mark = "w" if exchange.warmup else "m"
        records.append(
            read_answer(
                exchange,
                asked_tokens=level.asked_each[exchange.index]
                if level.asked_each and not exchange.warmup
                else level.asked_tokens,
                exact=level.exact,
                request_id=f"{name}-{exchange.level}-{mark}{exchange.index}",
                item=level.items[exchange.index] if level.items and not exchange.warmup else None,
                zero_s=zero_s,
            )
        )
    result = LoadResult(tuple(records), costs, complete, zero_s)
    if failed is not None:
        raise LoadFailed(failed.what, result)
    return result


def _share(job: LoadJob, name: str, worker: int) -> dict[str, Any]:
    """The part of a job that one process carries: its slots, and the requests that fall to them in turn."""
    levels = []
    for level in job.levels:
        every = job.workers if level.concurrency is None else min(job.workers, level.concurrency)
        mine = [i for i in range(len(level.bodies)) if i % every == worker] if worker < every else []
        slots = len(mine) if level.concurrency is None else len(range(worker, level.concurrency, every))
        levels.append(
            {
                "slots": min(slots, STOCK) if level.concurrency is None else (slots if worker < every else 0),
                "bodies": [(i, level.bodies[i].decode()) for i in mine],
                "warmup": [
                    (i, body.decode()) for i, body in enumerate(level.warmup) if worker < every and i % every == worker
                ],
                "offsets": None if level.offsets_s is None else [level.offsets_s[i] for i in mine],
                "duration_s": level.duration_s,
            }
        )
    return {
        "name": name,
        "url": job.url,
        "path": job.path,
        "headers": job.headers,
        "timeout_s": job.timeout_s,
        "levels": levels,
    }


class _Crew:
    """The load processes of one job, started together and stopped together."""

    def __init__(self, folder: Path, documents: list[dict[str, Any]], limit_s: float) -> None:
        self._said: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        self._deadline = time.monotonic() + limit_s
        self.spools = [folder / f"spool-{worker}" for worker in range(len(documents))]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._costs: dict[int, list[dict[str, Any]]] = {}
        checkout = str(Path(__file__).parents[2])
        path = os.pathsep.join([checkout, *filter(None, [os.environ.get("PYTHONPATH")])])
        for worker, document in enumerate(documents):
            job_path = folder / f"job-{worker}.json"
            job_path.touch(mode=0o600)
            job_path.write_text(json.dumps(document), encoding="utf-8")
            self.spools[worker].touch()
            # its own session: Ctrl-C reaches this side only, which then stops the load in order
            process = subprocess.Popen(
                [sys.executable, "-m", "lab.load.worker", str(job_path), str(self.spools[worker])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": path},
            )
            self._processes.append(process)
            threading.Thread(target=self._listen, args=(worker, process), daemon=True).start()

    def work(self, levels: int, on_progress: Callable[[Progress], None] | None) -> tuple[tuple[LevelCost, ...], bool]:
        """See the job through; returns what each level cost and whether all of it was done."""
        crew = len(self._processes)
        progress: dict[int, dict[str, Any]] = {}
        costs = self._costs
        ready: dict[int, int] = {}
        complete = True
        listening = crew
        while listening:
            try:
                for worker, line in self._lines():
                    if not line:
                        listening -= 1
                        if self._processes[worker].wait(DISMISS_S) not in (0, 3):
                            self._release()  # the others would wait for it
                        break
                    facts = json.loads(line)
                    kind, level = facts.pop("kind"), facts["level"]
                    if kind == "progress":
                        progress[worker] = facts
                        if on_progress is not None:
                            on_progress(_together(progress, level, facts["phase"], levels))
                    elif kind == "ready":
                        ready[level] = ready.get(level, 0) + 1
                        if ready[level] == crew:
                            self._order(f"go {time.perf_counter() + HEAD_START_S!r}\n")
                    else:
                        costs.setdefault(level, []).append(facts)
            except (KeyboardInterrupt, StopLoad):
                complete = False
                self._release()
        codes = [process.wait() for process in self._processes]
        for worker, code in enumerate(codes):
            if code not in (0, 3):
                raise LabError(f"a load process failed: {self._last_words(worker, code)}")
        return self.costs, complete and not any(codes)

    @property
    def costs(self) -> tuple[LevelCost, ...]:
        """What each level cost that has ended, as far as every process said."""
        return tuple(_cost(level, shares) for level, shares in sorted(self._costs.items()))

    def dismiss(self) -> None:
        """End what still runs and close every pipe."""
        self._release()
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """What the processes say, as it comes; when the limit of the job has passed, they are killed."""
        while True:
            try:
                yield self._said.get(timeout=1.0)
            except queue.Empty:
                if time.monotonic() > self._deadline:
                    for process in self._processes:
                        process.kill()

    def _listen(self, worker: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with contextlib.suppress(ValueError):  # the pipe was closed on this side
            for line in process.stdout:
                self._said.put((worker, line))
        self._said.put((worker, b""))

    def _order(self, words: str) -> None:
        for process in self._processes:
            assert process.stdin is not None
            with contextlib.suppress(OSError, ValueError):  # it ended, or it was told to stop meanwhile
                process.stdin.write(words.encode())
                process.stdin.flush()

    def _release(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()

    def _last_words(self, worker: int, code: int) -> str:
        pipe = self._processes[worker].stderr
        assert pipe is not None
        words = pipe.read().decode("utf-8", "replace").strip().splitlines()
        return words[-1] if words else f"it ended with code {code} and said nothing"


def _together(progress: dict[int, dict[str, Any]], level: int, phase: str, levels: int) -> Progress:
    shares = [facts for facts in progress.values() if (facts["level"], facts["phase"]) == (level, phase)]
    return Progress(
        level=level,
        levels=levels,
        phase=phase,
        done=sum(facts["done"] for facts in shares),
        total=sum(facts["total"] for facts in shares),
        in_flight=sum(facts["in_flight"] for facts in shares),
        tokens=sum(facts["tokens"] for facts in shares),
        elapsed_s=max(facts["elapsed_s"] for facts in shares),
    )


def _cost(level: int, shares: list[dict[str, Any]]) -> LevelCost:
    return LevelCost(
        level=level,
        cpu_s=sum(share["cpu_s"] for share in shares),
        packets=sum(share["packets"] for share in shares),
        connections=sum(share["connections"] for share in shares),
        rss_mib=max(share["rss_mib"] for share in shares),
        loop_lag_s=tuple(lag for share in shares for lag in share["loop_lag_s"]),
    )


def _limit_s(job: LoadJob) -> float:
    """The most a job can take: every slot runs its share of requests, each into its limit."""
    total = START_LIMIT_S
    for level in job.levels:
        slots = level.concurrency or max(len(level.bodies), 1)
        waves = -(-len(level.bodies) // slots) - (-len(level.warmup) // min(slots, STOCK))
        total += (waves + 2) * (job.timeout_s + 1.0) + (level.offsets_s[-1] if level.offsets_s else 0.0)
    return total
