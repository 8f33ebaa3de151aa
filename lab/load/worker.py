"""The load process: one event loop that sends, stamps and spools, and imports nothing heavy.

Run by `lab.load.driver` as `python -m lab.load.worker JOB SPOOL`. It says on standard output, one JSON
object a line, how far it is; it ends when the job is done, and at once when its parent goes away.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import resource
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any, BinaryIO

from lab.load.client import Manners, Slot, Target
from lab.load.spool import Exchange, write_exchange

PROGRESS_EVERY_S = 0.25
_COMPLETION_TOKENS = re.compile(rb'"completion_tokens"\s*:\s*(\d+)')


class _Level:
    """Counters of the level that is running, for the progress line."""

    def __init__(self, index: int, concurrency: int, total: int, phase: str) -> None:
        self.index, self.concurrency, self.total, self.phase = index, concurrency, total, phase
        self.done = self.in_flight = self.tokens = self.packets = 0
        self.start_s = perf_counter()

    def line(self) -> str:
        return json.dumps(
            {
                "kind": "progress",
                "level": self.index,
                "concurrency": self.concurrency,
                "phase": self.phase,
                "total": self.total,
                "done": self.done,
                "in_flight": self.in_flight,
                "tokens": self.tokens,
                "elapsed_s": perf_counter() - self.start_s,
            }
        )


async def _run(job: dict[str, Any], spool: BinaryIO) -> None:
    target = Target.of(job["url"], job["path"], tuple(map(tuple, job["headers"])))
    manners = Manners()
    for index, level in enumerate(job["levels"]):
        slots = [Slot(target, manners) for _ in range(level["concurrency"])]
        for phase, bodies in (("warm-up", level["warmup"]), ("measure", level["bodies"])):
            await _run_phase(job, index, phase, [body.encode() for body in bodies], slots, target, spool)
        for slot in slots:
            slot.close()


async def _run_phase(
    job: dict[str, Any],
    index: int,
    phase: str,
    bodies: list[bytes],
    slots: list[Slot],
    target: Target,
    spool: BinaryIO,
) -> None:
    """Closed loop: every slot sends its next request as soon as its last one has ended."""
    if not bodies:
        return
    slots = slots[: len(bodies)]
    opened = sum(slot.opened for slot in slots)
    await asyncio.gather(*(_open(slot, job["timeout_s"]) for slot in slots))
    requests = [target.request(body, f"{job['name']}-{index}-{phase[0]}{i}") for i, body in enumerate(bodies)]
    level = _Level(index, len(slots), len(bodies), phase)
    waiting = iter(enumerate(requests))
    gc.collect()
    gc.disable()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    reporter = asyncio.create_task(_report(level))
    try:
        await asyncio.gather(*(_serve(slot, waiting, level, job["timeout_s"], spool) for slot in slots))
    finally:
        reporter.cancel()
        gc.enable()
    after = resource.getrusage(resource.RUSAGE_SELF)
    _say(level.line())
    _say(
        json.dumps(
            {
                "kind": "level",
                "level": index,
                "phase": phase,
                "cpu_s": after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime,
                "packets": level.packets,
                "connections": sum(slot.opened for slot in slots) - opened,
            }
        )
    )
    spool.flush()


async def _open(slot: Slot, timeout_s: float) -> None:
    """Open a connection before the clock starts; a failure shows when the first request is sent."""
    try:
        async with asyncio.timeout(timeout_s):
            await slot.connect()
    except (OSError, TimeoutError):
        pass


async def _serve(
    slot: Slot, waiting: Iterator[tuple[int, bytes]], level: _Level, timeout_s: float, spool: BinaryIO
) -> None:
    for index, request in waiting:
        exchange = Exchange(level.index, index, level.phase == "warm-up", intended_s=perf_counter())
        level.in_flight += 1
        try:
            await slot.ask(exchange, request, timeout_s)
        finally:
            level.in_flight -= 1
            level.done += 1
            level.packets += len(exchange.packets)
            if exchange.packets and (found := _COMPLETION_TOKENS.findall(b"".join(exchange.packets[-4:]))):
                level.tokens += int(found[-1])
            write_exchange(spool, exchange)


async def _report(level: _Level) -> None:
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        _say(level.line())


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def _until_orphaned(work: asyncio.Task[None]) -> None:
    """Stop the work when the parent closes our standard input, on purpose or by dying."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    work.cancel()


async def _main(job: dict[str, Any], spool: BinaryIO) -> int:
    work = asyncio.create_task(_run(job, spool))
    leash = asyncio.create_task(_until_orphaned(work))
    try:
        await work
    except asyncio.CancelledError:
        return 3
    finally:
        leash.cancel()
    return 0


def main(argv: list[str]) -> int:
    """Run one job; 0 when it was done, 3 when it was stopped before its end."""
    job_path, spool_path = argv
    with open(job_path, encoding="utf-8") as handle:
        job = json.load(handle)
    try:
        import uvloop

        factory: Any = uvloop.new_event_loop
    except ImportError:  # the measurement is the same on asyncio's own loop, with a lower ceiling
        factory = None
    with open(spool_path, "wb", buffering=1 << 20) as spool, asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_main(job, spool))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
