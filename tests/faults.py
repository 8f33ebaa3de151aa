"""Engine faults at random moments of a run: it dies, hangs, answers errors or nonsense, cuts its sockets.

    python -m tests.faults --faults 100 [--seed N]

Each round measures the small plan. Process faults hit the launched reference engine: signals KILL, SEGV, TERM, STOP.
Network faults hit it attached, behind a relay that after so many requests answers 500 or garbage, cuts or resets
streams half-way, or says nothing more. The laws:

- the run ends within its limits, and says failed with a reason, or measured;
- its bundle is sealed and verifies; every request that had succeeded under load is in it, none twice;
- no process and no temporary folder is left, and the next run is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from lab.engines import adapter_for
from lab.engines.base import Launch
from lab.engines.process import EngineProcess, free_port
from lab.engines.reference import PROGRAM
from lab.errors import LabError
from lab.evidence import EvidenceStore
from lab.params import PARAMS_FOLDER
from lab.plan import PlannedRun, load_plan
from lab.records import Outcome, RunState
from lab.run import open_run
from tests.conftest import SMALL_PLAN

SIGNALS = {"killed": signal.SIGKILL, "crashed": signal.SIGSEGV, "ended": signal.SIGTERM, "stopped": signal.SIGSTOP}
SILENT = frozenset({"stopped", "silent"})
RELAYED = ("answers 500", "garbage", "cut", "reset", "silent")
REQUESTS = 12
TIMEOUT_S = 3
LIMIT_S = 240.0
"""Far beyond every limit inside a run of this plan."""


@dataclass(slots=True)
class Tally:
    """What became of the faults."""

    faults: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    too_late: int = 0
    """The run was over before the fault."""
    kept: int = 0
    """Requests that had succeeded before a fault under load, and are in the bundle."""
    broken: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The tally for a person."""
        return [
            f"faults: {sum(self.faults.values())} ({_counted(self.faults)})",
            f"too late: {self.too_late}",
            f"runs: {_counted(self.states)}",
            f"requests kept of runs that failed: {self.kept}",
            f"broken laws: {len(self.broken)}",
            *self.broken[:20],
        ]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))


class Relay:
    """Passes bytes to an engine until so many requests have come, and then does something else.

    Args:
        port: of the engine.
        fault: one of `RELAYED`.
        after: requests that are passed on untouched.
    """

    def __init__(self, port: int, fault: str, after: int) -> None:
        self._port, self._fault, self._left = port, fault, after
        self._lock = threading.Lock()
        self.struck = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)) as engine, client:
            back = threading.Thread(target=self._back, args=(engine, client), daemon=True)
            back.start()
            while data := client.recv(1 << 16):
                with self._lock:
                    self._left -= data.count(b"POST /v1/")
                    self.struck = self.struck or self._left < 0
                if self.struck and self._fault == "answers 500":
                    client.sendall(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops")
                elif self.struck and self._fault == "garbage":
                    client.sendall(os.urandom(200))
                    return
                elif not (self.struck and self._fault == "silent"):
                    engine.sendall(data)

    def _back(self, engine: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := engine.recv(1 << 16):
                if self.struck and self._fault == "silent":
                    continue
                if self.struck and self._fault in ("cut", "reset"):
                    client.sendall(data[: len(data) // 2])
                    if self._fault == "reset":
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.close()
                    return
                client.sendall(data)


def strike_many(faults: int, folder: Path, seed: int, kinds: tuple[str, ...] = (*SIGNALS, *RELAYED)) -> Tally:
    """Strike until so many faults have hit a run, and hold the laws after each.

    Args:
        faults: how many.
        folder: empty.
        seed: of faults and moments.
        kinds: which faults.
    """
    choose, tally = random.Random(seed), Tally()
    params = folder / "params"
    params.mkdir(parents=True)
    for piece in ("models", "engines", "workloads", "quality"):
        (params / piece).symlink_to(PARAMS_FOLDER / piece)
    store = EvidenceStore(folder / "runs")
    temporary = folder / "tmp"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)  # this process makes the lab's temporary folders
    try:
        n = 0
        while sum(tally.faults.values()) < faults:
            # silence costs every request its whole limit, so it comes less often
            kind = choose.choices(kinds, [1 if kind in SILENT else 5 for kind in kinds])[0]
            strike = _signal if kind in SIGNALS else _relayed
            strike(kind, params, store, choose, f"round {n}, {kind}", tally)
            left = [path.name for path in temporary.iterdir()]
            if left:
                tally.broken.append(f"round {n}, {kind}: left: {', '.join(left)}")
            n += 1
            print(f"{n}: {kind}, {len(tally.broken)} broken laws", file=sys.stderr, flush=True)
            if n % 10 == 0:
                _next(params, store, f"after round {n}", tally)
        _next(params, store, "after the last", tally)
    finally:
        tempfile.tempdir = None
    return tally


def _planned(params: Path, url: str | None = None) -> PlannedRun:
    text = SMALL_PLAN.replace("requests_per_level: 4", f"requests_per_level: {REQUESTS}, timeout_s: {TIMEOUT_S}")
    if url is not None:
        line = f"{{engine: reference, url: '{url}/v1', served_as: team-model}}"
        text = f"{text.partition('instrument_check')[0]}instrument_check:\n  runs:\n    - {line}\n"
    path = params / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path).runs[0]


def _next(params: Path, store: EvidenceStore, what: str, tally: Tally) -> None:
    run_id = _run(_planned(params), store)
    status = store.status(run_id)
    if status.state is not RunState.MEASURED:
        tally.broken.append(f"{what}: the next run is {status.state}: {status.reason}")


def _run(planned: PlannedRun, store: EvidenceStore) -> str:
    before = set(store.run_ids())
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(LabError), open_run(planned, store) as run:
        run.prepare()
        run.throughput()
        run.quality()
    (run_id,) = set(store.run_ids()) - before
    return run_id


def _signal(kind: str, params: Path, store: EvidenceStore, choose: random.Random, what: str, tally: Tally) -> None:
    """A signal hits the launched engine at a random moment after it appeared; a stopped one hangs for good."""
    over, struck, before = threading.Event(), threading.Event(), set(store.run_ids())
    # preflight waits long for an engine that says nothing, so silence falls under load
    wait_s = choose.uniform(0.0, 0.4 if kind == "stopped" else 4.0)

    def begun() -> bool:
        new = set(store.run_ids()) - before
        return kind != "stopped" or any(store.status(run_id).step == "throughput" for run_id in new)

    def strike() -> None:
        while not over.is_set():
            if (engines := list(_engines())) and begun():
                if not over.wait(wait_s):
                    with contextlib.suppress(psutil.Error):
                        engines[0].send_signal(SIGNALS[kind])
                        struck.set()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=strike)
    thread.start()
    began_s = time.monotonic()
    try:
        run_id = _run(_planned(params), store)
    finally:
        over.set()
        thread.join()
    _hold_laws(kind, store, run_id, struck.is_set(), time.monotonic() - began_s, f"{what} after {wait_s:.2f} s", tally)


def _engines() -> Iterator[psutil.Process]:
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            words = " ".join(process.cmdline())
            if "lab.load.reference" in words and "leash.py" not in words:
                yield process


def _relayed(kind: str, params: Path, store: EvidenceStore, choose: random.Random, what: str, tally: Tally) -> None:
    """A network fault, from a random request on: in preflight, or under load."""
    port = free_port()
    argv = (*PROGRAM, "--port", str(port), "--model", "team-model", "--context-limit", "1024", "--ttft-s", "0.01",
            "--tick-s", "0.005")  # fmt: skip
    # preflight waits long for a silent engine, so silence falls under load
    after = choose.randrange(60, 75) if kind == "silent" else choose.randrange(0, 75)
    log = params.parent / "log"
    with EngineProcess(adapter_for("reference"), Launch(argv, {}, argv), port, log) as engine:
        engine.wait_ready()
        relay = Relay(port, kind, after)
        began_s = time.monotonic()
        try:
            run_id = _run(_planned(params, f"http://127.0.0.1:{relay.port}"), store)
        finally:
            relay.close()
    what = f"{what} after {after} requests"
    _hold_laws(kind, store, run_id, relay.struck, time.monotonic() - began_s, what, tally)


def _hold_laws(
    kind: str, store: EvidenceStore, run_id: str, struck: bool, took_s: float, what: str, tally: Tally
) -> None:
    if struck:
        tally.faults[kind] += 1
    else:
        tally.too_late += 1
    status = store.status(run_id)
    tally.states[str(status.state)] += 1
    if took_s > LIMIT_S:
        tally.broken.append(f"{what}: it took {took_s:.0f} s")
    if status.state not in (RunState.MEASURED, RunState.FAILED):
        tally.broken.append(f"{what}: {run_id} is {status.state}")
    if status.state is RunState.FAILED and not status.reason:
        tally.broken.append(f"{what}: failed without a reason")
    if problems := store.verify(run_id):
        tally.broken.append(f"{what}: {problems[0]}")
    records = [record for record in store.requests(run_id) if not record.warmup]
    good = [record for record in records if record.outcome is Outcome.SUCCESS]
    if len({record.index for record in records}) != len(records):
        tally.broken.append(f"{what}: a request is there twice")
    if status.state is RunState.FAILED:
        tally.kept += len(good)
        if status.step == "quality" and len(records) != REQUESTS:
            tally.broken.append(f"{what}: {len(records)} of {REQUESTS} requests are kept")
    elif len(records) != REQUESTS:
        tally.broken.append(f"{what}: measured with {len(records)} of {REQUESTS} requests")
    deadline = time.monotonic() + 20
    while (alive := list(_engines())) and time.monotonic() < deadline:
        time.sleep(0.1)
    tally.broken += [f"{what}: the engine {process.pid} outlived its run" for process in alive]


def main(argv: list[str]) -> int:
    """Print the tally; 0 when every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-faults-") as folder:
        tally = strike_many(options.faults, Path(folder), options.seed)
    print("\n".join(tally.lines()))
    print(f"{time.monotonic() - start_s:.0f} s")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
