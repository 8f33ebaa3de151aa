"""Runs a load job in a process of its own and brings back the records.

The load process (`lab.load.worker`) stamps and spools; this side renders progress, waits with a limit,
and reads the spool when the clock no longer matters.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.errors import LabError
from lab.load.answer import read_answer
from lab.load.spool import read_exchanges
from lab.records import RequestRecord

START_LIMIT_S = 30.0
"""How long the load process may take to start and connect, beside the limits of its requests."""


@dataclass(frozen=True, slots=True)
class LevelJob:
    """One rung of the ladder, requests rendered to bytes before the clock starts."""

    concurrency: int
    bodies: tuple[bytes, ...]
    warmup: tuple[bytes, ...] = ()
    asked_tokens: int = 1
    exact: bool = False


@dataclass(frozen=True, slots=True)
class LoadJob:
    """Everything the load process needs.

    Attributes:
        url: base URL with its /v1.
        path: route below it.
        headers: further request headers; secrets in them stay in the job file, which is deleted.
        timeout_s: limit of one request, connection included.
    """

    url: str
    path: str
    levels: tuple[LevelJob, ...]
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is; `tokens` counts finished requests only."""

    level: int
    levels: int
    concurrency: int
    phase: str
    done: int
    total: int
    in_flight: int
    tokens: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class LevelCost:
    """What one measured level cost the client."""

    level: int
    cpu_s: float
    packets: int
    connections: int


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


def run_load(job: LoadJob, on_progress: Callable[[Progress], None] | None = None) -> LoadResult:
    """Drive an endpoint and return what every request did.

    KeyboardInterrupt stops the load process; what had been measured until then is returned with
    `complete=False`.

    Raises:
        LabError: the load process itself failed, with its last words.
    """
    with tempfile.TemporaryDirectory(prefix="lab-load-") as folder:
        job_path, spool_path = Path(folder, "job.json"), Path(folder, "spool")
        name = "lab" + secrets.token_hex(4)
        document = asdict(job) | {"name": name}
        for level in document["levels"]:
            level["bodies"] = [body.decode() for body in level["bodies"]]
            level["warmup"] = [body.decode() for body in level["warmup"]]
        job_path.touch(mode=0o600)
        job_path.write_text(json.dumps(document), encoding="utf-8")
        costs, complete = _watch(job, job_path, spool_path, on_progress)
        exchanges = sorted(read_exchanges(spool_path), key=lambda e: (e.level, not e.warmup, e.index))
    zero_s = min((e.send_s for e in exchanges), default=0.0)
    records = tuple(
        read_answer(
            exchange,
            asked_tokens=job.levels[exchange.level].asked_tokens,
            exact=job.levels[exchange.level].exact,
            request_id=f"{name}-{exchange.level}-{'w' if exchange.warmup else 'm'}{exchange.index}",
            zero_s=zero_s,
        )
        for exchange in exchanges
    )
    return LoadResult(records, costs, complete, zero_s)


def _watch(
    job: LoadJob, job_path: Path, spool_path: Path, on_progress: Callable[[Progress], None] | None
) -> tuple[tuple[LevelCost, ...], bool]:
    # its own session: Ctrl-C reaches this side only, which then stops the load process in order
    process = subprocess.Popen(
        [sys.executable, "-m", "lab.load.worker", str(job_path), str(spool_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *_python_path()])},
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    watchdog = threading.Timer(_limit_s(job), process.kill)
    watchdog.daemon = True
    watchdog.start()
    costs: list[LevelCost] = []
    complete = True
    try:
        while True:
            try:
                line = process.stdout.readline()
                if not line:
                    break
                facts = json.loads(line)
                kind = facts.pop("kind")
                if kind == "progress" and on_progress is not None:
                    on_progress(Progress(levels=len(job.levels), **facts))
                elif kind == "level" and facts.pop("phase") == "measure":
                    costs.append(LevelCost(**facts))
            except KeyboardInterrupt:
                complete = False
                process.stdin.close()
        words = process.stderr.read().decode("utf-8", "replace").strip()
        code = process.wait()
    finally:
        watchdog.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if not pipe.closed:
                pipe.close()
    if code not in (0, 3):
        last = words.splitlines()[-1] if words else f"it ended with code {code} and said nothing"
        raise LabError(f"the load process failed: {last}")
    return tuple(costs), complete and code == 0


def _limit_s(job: LoadJob) -> float:
    """The most a job can take: every slot runs its share of requests, each into its limit."""
    waves = sum(
        -(-len(bodies) // min(level.concurrency, len(bodies)))
        for level in job.levels
        for bodies in (level.bodies, level.warmup)
        if bodies
    )
    return START_LIMIT_S + (waves + len(job.levels)) * (job.timeout_s + 1.0)


def _python_path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
