"""Progress in the terminal: which run of how many, which step, requests done, tok/s so far."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from lab.load.driver import Progress
from lab.run import RunEvent
from lab.spec import Rung
from lab.traffic.reading import Progress as Reading

PLAIN_EVERY_S = 5.0
"""Without a terminal a line is printed at each step and at most this often within one."""


class _Line:
    """One line that changes in place in a terminal, and single lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
        self._told_s = 0.0
        self._last_step = ""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def change(self, words: str, step: str, *, complete: bool = False) -> None:
        """Replace the line; without a terminal, print it when the step is new or `complete`, or time has passed."""
        if self._live is not None:
            self._live.update(Text(words, no_wrap=True, overflow="ellipsis"))
        elif complete or step != self._last_step or time.monotonic() - self._told_s >= PLAIN_EVERY_S:
            self._console.print(escape(words), soft_wrap=True)
            self._told_s, self._last_step = time.monotonic(), step

    def leave(self, words: str) -> None:
        """Print a line that stays."""
        self._console.print(escape(words), soft_wrap=True)


class PlanProgress(_Line):
    """Progress of `lab run`."""

    def show(self, event: RunEvent) -> None:
        """Show one event of a plan."""
        spec = event.planned.spec
        head = f"run {event.number} of {event.total}  {event.run_id}  {spec.engine} / {spec.profile.name}"
        if event.kind == "step":
            step = str(event.facts.get("step", ""))
            done, total = event.facts.get("done"), event.facts.get("total")
            count = f"  {done}/{total} {'items' if step == 'quality' else 'requests'}" if done is not None else ""
            detail = str(event.facts.get("detail") or "")
            self.change(
                f"{head}  {step}{count}  {detail}".rstrip(),
                f"{event.run_id} {step}",
                complete=done is not None and done == total,
            )
        elif event.kind == "end":
            self.leave(f"{head}  {event.facts['state']}")
        elif event.kind == "skip":
            self.leave(f"{head}  measured already")


class BenchProgress(_Line):
    """Progress of `lab bench`."""

    def show(self, progress: Progress) -> None:
        """Show how far the load is."""
        rate = progress.tokens / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
        self.change(
            f"{progress.phase}  {progress.done}/{progress.total} requests  {progress.in_flight} in flight  "
            f"{rate:.0f} tok/s so far",
            progress.phase,
            complete=progress.done == progress.total,
        )


class TrafficProgress(_Line):
    """Progress of `lab traffic`; it names no file."""

    def show(self, progress: Reading) -> None:
        """Show how far the reading is."""
        done, size = progress.done_bytes, progress.size_bytes
        self.change(
            f"{done / 1e6:,.1f} of {size / 1e6:,.1f} MB read  {progress.requests:,} requests",
            "reading",
            complete=done == size,
        )


class CalibrateProgress(_Line):
    """Progress of `lab calibrate`."""

    def show(self, rung: Rung, progress: Progress) -> None:
        """Show how far a rung is."""
        level = f"{rung.concurrency} streams" if rung.concurrency else f"{rung.rate_rps:g} requests a second"
        self.change(f"{level}  {progress.phase}  {progress.done}/{progress.total} requests", level)
