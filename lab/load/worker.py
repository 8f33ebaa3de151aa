"""The load process: one event loop that sends, stamps and spools, and imports nothing heavy.

Run by `lab.load.driver` as `python -m lab.load.worker JOB SPOOL`. On standard output it says, one JSON object
a line, when it is ready for a level, how far it is and what the level cost. On standard input it is told
`go SECONDS` (monotonic) for each level; when that input ends, because the driver stops it or has died, it
ends too, and what was in flight is spooled as cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import re
import resource
import sys
from collections import deque
from collections.abc import Iterator
from time import perf_counter
from typing import Any, BinaryIO

from lab.load.client import Manners, Slot, Target
from lab.load.spool import Exchange, write_exchange

PROGRESS_EVERY_S = 0.25
LAG_EVERY_S = 0.02
"""How often the loop's own lateness is looked at."""
SPIN_S = 0.0015
"""Timers of the loop are a millisecond coarse; the last bit before a planned send is waited out awake."""
KEEP_EVERY_S = 1.0
"""What has been spooled is handed to the system this often: no more is lost when this process is killed."""
SPOOL_AFTER_S = 0.005
"""An exchange that has ended is spooled this much later: its successor is sent first."""
STOCK = 32
"""Connections an open loop keeps ready."""
_COMPLETION_TOKENS = re.compile(rb'"completion_tokens"\s*:\s*(\d{1,9})(?!\d)')


class _Phase:
    """Counters of what is running, for the progress line."""

    def __init__(self, level: int, total: int, name: str) -> None:
        self.level, self.total, self.name = level, total, name
        self.done = self.in_flight = self.tokens = self.packets = 0
        self.start_s = perf_counter()

    def say(self) -> None:
        _say(
            kind="progress",
            level=self.level,
            phase=self.name,
            total=self.total,
            done=self.done,
            in_flight=self.in_flight,
            tokens=self.tokens,
            elapsed_s=perf_counter() - self.start_s,
        )


class _Load:
    """One job: its target, its spool, and the one way a request is carried."""

    def __init__(self, job: dict[str, Any], spool: BinaryIO, orders: asyncio.StreamReader) -> None:
        self._job, self._spool, self._orders = job, spool, orders
        self._target = Target.of(job["url"], job["path"], tuple(map(tuple, job["headers"])))
        self._manners = Manners()
        self._timeout_s: float = job["timeout_s"]
        self._ended: deque[Exchange] = deque()
        """Exchanges that have ended and are not spooled yet."""
        self._has_ended = asyncio.Event()

    async def run(self) -> None:
        for index, level in enumerate(self._job["levels"]):
            slots = [Slot(self._target, self._manners) for _ in range(level["slots"])]
            await self._warm_up(index, level, slots)
            await self._measure(index, level, slots)
            for slot in slots:
                slot.close()

    async def _warm_up(self, index: int, level: dict[str, Any], slots: list[Slot]) -> None:
        requests = self._requests(level["warmup"], index, "w")
        if requests:
            phase = _Phase(index, len(requests), "warm-up")
            await self._watched(phase, self._closed(phase, requests, slots, None))
            phase.say()

    async def _measure(self, index: int, level: dict[str, Any], slots: list[Slot]) -> None:
        requests = self._requests(level["bodies"], index, "m")
        phase = _Phase(index, len(requests), "measure")
        offsets = level["offsets"]
        opened = sum(slot.opened for slot in slots)
        await asyncio.gather(*(self._open(slot) for slot in slots[: len(requests) if offsets is None else STOCK]))
        gc.collect()
        gc.disable()
        _say(kind="ready", level=index)
        start_s = await self._ordered_start()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        phase.start_s = start_s
        lags: list[float] = []
        watch = asyncio.create_task(_watch_loop(lags))
        try:
            if offsets is None:
                stop_s = None if level["duration_s"] is None else start_s + level["duration_s"]
                await self._watched(phase, self._closed(phase, requests, slots, stop_s))
            else:
                await self._watched(phase, self._scheduled(phase, requests, offsets, slots, start_s))
        finally:
            watch.cancel()
            gc.enable()
            self._spool.flush()
        after = resource.getrusage(resource.RUSAGE_SELF)
        phase.say()
        _say(
            kind="level",
            level=index,
            cpu_s=after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime,
            packets=phase.packets,
            connections=sum(slot.opened for slot in slots) - opened,
            rss_mib=_peak_rss_mib(),
            loop_lag_s=[round(lag, 6) for lag in lags],
        )

    async def _closed(
        self, phase: _Phase, requests: list[tuple[int, bytes]], slots: list[Slot], stop_s: float | None
    ) -> None:
        """Every slot sends its next request as soon as its last one has ended."""
        waiting = iter(requests)
        await asyncio.gather(*(self._serve(phase, slot, waiting, stop_s) for slot in slots[: len(requests)]))

    async def _serve(
        self, phase: _Phase, slot: Slot, waiting: Iterator[tuple[int, bytes]], stop_s: float | None
    ) -> None:
        while stop_s is None or perf_counter() < stop_s:
            following = next(waiting, None)
            if following is None:
                return
            await self._carry(phase, slot, *following, intended_s=perf_counter())

    async def _scheduled(
        self,
        phase: _Phase,
        requests: list[tuple[int, bytes]],
        offsets: list[float],
        slots: list[Slot],
        start_s: float,
    ) -> None:
        """Send each request at its moment, whatever the earlier ones do."""
        idle = deque(slots)
        running: set[asyncio.Task[None]] = set()

        async def send(slot: Slot, index: int, request: bytes, intended_s: float) -> None:
            try:
                await self._carry(phase, slot, index, request, intended_s=intended_s)
                await self._open(slot)  # ready again before it is needed
            finally:
                idle.appendleft(slot)

        try:
            for (index, request), offset in zip(requests, offsets, strict=True):
                await _sleep_until(start_s + offset)
                if not idle:
                    slots.append(Slot(self._target, self._manners))
                    idle.append(slots[-1])
                task = asyncio.create_task(send(idle.popleft(), index, request, start_s + offset))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.gather(*running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _carry(self, phase: _Phase, slot: Slot, index: int, request: bytes, *, intended_s: float) -> None:
        exchange = Exchange(phase.level, index, phase.name == "warm-up", intended_s=intended_s)
        phase.in_flight += 1
        try:
            await slot.ask(exchange, request, self._timeout_s)
        finally:
            phase.in_flight -= 1
            phase.done += 1
            phase.packets += len(exchange.packets)
            if exchange.packets and (found := _COMPLETION_TOKENS.findall(b"".join(exchange.packets[-4:]))):
                phase.tokens += int(found[-1])
            self._ended.append(exchange)
            self._has_ended.set()

    async def _watched(self, phase: _Phase, work: Any) -> None:
        reporter, spooler = asyncio.create_task(_report(phase)), asyncio.create_task(self._spool_behind())
        try:
            await work
        finally:
            reporter.cancel()
            spooler.cancel()
            while self._ended:
                write_exchange(self._spool, self._ended.popleft())

    async def _spool_behind(self) -> None:
        """Write ended exchanges one at a time, so that a wave of them delays neither the next sends nor any stamp."""
        kept_s = perf_counter()
        while True:
            await self._has_ended.wait()
            await asyncio.sleep(SPOOL_AFTER_S)
            while self._ended:
                write_exchange(self._spool, self._ended.popleft())
                await asyncio.sleep(0)
            if perf_counter() - kept_s > KEEP_EVERY_S:
                self._spool.flush()
                kept_s = perf_counter()
            self._has_ended.clear()

    async def _open(self, slot: Slot) -> None:
        """Open a connection before it is needed; a failure shows when the request is sent."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await slot.connect()

    async def _ordered_start(self) -> float:
        words = (await self._orders.readline()).split()
        if len(words) != 2 or words[0] != b"go":
            raise asyncio.CancelledError
        start_s = float(words[1])
        await _sleep_until(start_s)
        return start_s

    def _requests(self, bodies: list[list[Any]], level: int, mark: str) -> list[tuple[int, bytes]]:
        name = self._job["name"]
        return [(i, self._target.request(body.encode(), f"{name}-{level}-{mark}{i}")) for i, body in bodies]


async def _sleep_until(at_s: float) -> None:
    """Wait for a `perf_counter` moment, to a fraction of a millisecond and never early."""
    while (left_s := at_s - perf_counter()) > 0:
        await asyncio.sleep(left_s - SPIN_S if left_s > SPIN_S else 0)


async def _watch_loop(lags: list[float]) -> None:
    """How late a timer of the loop fires: what arrives in that time is stamped that much too late at most."""
    due_s = perf_counter()
    while True:
        due_s += LAG_EVERY_S
        await asyncio.sleep(max(due_s - perf_counter(), 0))
        late_s = perf_counter() - due_s
        lags.append(max(late_s, 0.0))
        if late_s > LAG_EVERY_S:
            due_s += late_s  # one long stall is one long lag, not many


async def _report(phase: _Phase) -> None:
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        phase.say()


def _peak_rss_mib() -> float:
    """Most memory of this process; on Linux not from getrusage, which counts the parent's before exec too."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


class _Orders(asyncio.StreamReader):
    """Standard input; its end stops the work."""

    def __init__(self) -> None:
        super().__init__()
        self.work: asyncio.Task[None] | None = None

    def feed_eof(self) -> None:
        super().feed_eof()
        if self.work is not None:
            self.work.cancel()


async def _main(job: dict[str, Any], spool: BinaryIO) -> int:
    orders = _Orders()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    orders.work = asyncio.create_task(_Load(job, spool, orders).run())
    try:
        await orders.work
    except asyncio.CancelledError:
        return 3
    return 0


def main(argv: list[str]) -> int:
    """Run one job; 0 when it was done, 3 when it was stopped before its end."""
    job_path, spool_path = argv
    with open(job_path, encoding="utf-8") as handle:
        job = json.load(handle)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a connection is an open file
    try:
        import uvloop

        factory: Any = uvloop.new_event_loop
    except ImportError:  # the measurement is the same on asyncio's own loop, with a lower ceiling
        factory = None
    with open(spool_path, "wb", buffering=1 << 20) as spool, asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_main(job, spool))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
