"""How long a weekly edition takes over 10, 100 and 1,000 runs of history, and how much memory.

`python -m tests.report.speed` makes a store of made-up runs for each size, with the editions of all weeks but the
newest, publishes the newest week with the real `lab publish`, twice, and prints what it took. `--sizes 10 100` asks for
other sizes. Exit code 1 when the largest size takes longer than 30 s or more than 1 GB, or when a page is larger than
1.5 MB. CPU seconds are worth something on a busy machine too; the time only on a quiet one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.conftest import CHECKOUT
from tests.report.made_up_store import WEEK, make_store, publish_file, publish_history

MOST_S = 30.0
MOST_BYTES = 1_000_000_000
MOST_PAGE_BYTES = 1_500_000
EVERY_S = 0.02


class Took(NamedTuple):
    """What one command took."""

    seconds: float
    cpu_s: float
    peak_bytes: int
    """Most memory of the command and everything it started, at one look; shared pages count once for each."""


class Line(NamedTuple):
    """One size."""

    runs: int
    editions: int
    took: Took
    again: Took
    """The same command once more: the edition stands already."""
    page_bytes: int
    edition_bytes: int


def watched(command: list[str]) -> Took:
    """Run a command and look at its memory while it runs; it has to succeed."""
    began, before = time.perf_counter(), os.times()
    process = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tree, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        held = 0
        try:
            for one in (tree, *tree.children(recursive=True)):
                held += one.memory_info().rss
        except psutil.Error:
            pass  # one of them ended between two looks
        peak = max(peak, held)
        time.sleep(EVERY_S)
    assert process.stdout is not None
    said = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} gave {process.returncode}:\n{said}")
    after = os.times()
    cpu_s = after.children_user - before.children_user + after.children_system - before.children_system
    return Took(time.perf_counter() - began, cpu_s, peak)


def measure(runs: int, folder: Path) -> Line:
    """Make everything of one size and publish its newest week, twice."""
    made = make_store(folder / "runs", runs)
    reports, file = folder / "reports", folder / "publish.yaml"
    file.write_text(publish_file(made.match_id), encoding="utf-8")
    publish_history(made, reports, _usual_page())
    command = [
        sys.executable, "-m", "lab.cli", "publish", "--week", WEEK, "--params", str(file),
        "--runs-dir", str(folder / "runs"), "--out", str(reports),
    ]  # fmt: skip
    took, again = watched(command), watched(command)
    edition = reports / WEEK / "r1"
    pages = [path.stat().st_size for path in (*edition.rglob("*.html"), *reports.glob("*/index.html"))]
    whole = [path.stat().st_size for path in edition.rglob("*") if path.is_file()]
    assert len(list(edition.glob("m-*/evidence/r-*.json"))) == min(runs, 12) // 3 * 3
    return Line(runs, len(made.weeks), took, again, max(pages), sum(whole))


def _usual_page() -> bytes:
    """A page as large as a report: what lies in the archive has to be read and held against its digest."""
    from lab.report.weekly import archive_pages

    page = archive_pages((), frozenset())["en/index.html"]
    return page.replace(b"</main>", b"<p>" + b"made up " * 50_000 + b"</p></main>")


def main(sizes: list[int]) -> int:
    """Print a line for each size, and what is not kept."""
    lines, wrong = [], []
    print(f"{'runs':>6} {'weeks':>6} {'s':>7} {'CPU s':>7} {'peak MB':>8} {'ms/run':>8} {'again s':>8} {'page kB':>8}")
    for runs in sizes:
        with tempfile.TemporaryDirectory(prefix="lab-speed-") as folder:
            line = measure(runs, Path(folder))
        lines.append(line)
        took = line.took
        print(
            f"{line.runs:>6} {line.editions:>6} {took.seconds:>7.2f} {took.cpu_s:>7.2f} {took.peak_bytes / 1e6:>8.0f} "
            f"{1000 * took.seconds / runs:>8.1f} {line.again.seconds:>8.2f} {line.page_bytes / 1e3:>8.0f}",
            flush=True,
        )
    for small, large in pairwise(lines):
        more_s, more_runs = large.took.cpu_s - small.took.cpu_s, large.runs - small.runs
        print(
            f"{large.runs} runs beside {small.runs}: {large.took.seconds / small.took.seconds:.2f} times the time, "
            f"{1000 * more_s / more_runs:.2f} ms of CPU for each further run"
        )
    last = lines[-1]
    wrong += [f"{last.took.seconds:.1f} s, at most {MOST_S:g}"] if last.took.seconds > MOST_S else []
    wrong += (
        [f"{last.took.peak_bytes} bytes of memory, at most {MOST_BYTES}"] if last.took.peak_bytes > MOST_BYTES else []
    )
    wrong += [f"a page of {line.page_bytes} bytes" for line in lines if line.page_bytes > MOST_PAGE_BYTES]
    for one in wrong:
        print(f"not kept: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    options.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000])
    sys.exit(main(options.parse_args().sizes))
