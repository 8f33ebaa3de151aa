"""Kills parts of a running lab at random moments and looks at what is left.

    python -m tests.kills --kills 200 [--seed N]

Each round starts `lab run` on a small plan with the reference engine, waits a random while, and kills one process
with signal 9: the lab, the process that executes the notebook, its kernel, the engine or a load process. After each:

- `lab run` has ended, and so has every process it started;
- no run of the store is said to be running, and each has a state that can be read;
- every finished run verifies;
- nothing is left in the temporary folder.

At the end the plan is resumed: it has to be measured, under a new run_id that names the run it replaces.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from lab.evidence import EvidenceStore
from lab.params import PARAMS_FOLDER
from lab.records import RunState
from tests.conftest import SMALL_PLAN

TARGETS: dict[str, str] = {
    "lab": "lab.cli run",
    "notebook": "-m lab.notebook",
    "kernel": "ipykernel_launcher",
    "engine": "lab.load.reference",
    "load": "lab.load.worker",
}
"""What is killed, and what its command line holds."""

ENDS_WITHIN_S = 90.0
"""Every limit inside a run of the small plan is far below this."""


@dataclass(slots=True)
class Tally:
    """What became of the kills."""

    killed: Counter[str] = field(default_factory=Counter)
    too_late: int = 0
    """The target had not begun, or was gone, when its moment came."""
    states: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """Laws that did not hold, in words."""

    def lines(self) -> list[str]:
        """The tally for a person."""
        return [
            f"kills: {sum(self.killed.values())} ({_counted(self.killed)})",
            f"too late: {self.too_late}",
            f"runs: {_counted(self.states)}",
            f"broken laws: {len(self.broken)}",
            *self.broken[:20],
        ]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))


def kill_many(kills: int, folder: Path, seed: int, longest_s: float = 6.0) -> Tally:
    """Kill until `kills` processes have been killed, and hold the laws after each.

    Args:
        kills: how many.
        folder: empty; receives plan, store and temporary files.
        seed: of targets and moments.
        longest_s: the latest moment of a kill after the start.
    """
    choose = random.Random(seed)
    plan, store, scratch = _place(folder)
    tally = Tally()
    while sum(tally.killed.values()) < kills:
        target = choose.choice(list(TARGETS))
        _round(plan, store, scratch, target, choose.uniform(0.0, longest_s), tally)
    _resume(plan, store, scratch, tally)
    tally.states.update(str(store.status(run_id).state) for run_id in store.run_ids())
    return tally


def _place(folder: Path) -> tuple[Path, EvidenceStore, Path]:
    params = folder / "params"
    params.mkdir(parents=True)
    for piece in ("models", "engines", "workloads", "quality"):
        (params / piece).symlink_to(PARAMS_FOLDER / piece)
    plan = params / "small.yaml"
    slower = SMALL_PLAN.replace("requests_per_level: 4", "requests_per_level: 40")  # a load that can be hit
    plan.write_text(slower, encoding="utf-8")
    scratch = folder / "tmp"
    scratch.mkdir()
    return plan, EvidenceStore(folder / "runs"), scratch


def _start(plan: Path, store: EvidenceStore, scratch: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "lab.cli", "run", str(plan), "--runs-dir", str(store.root), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(scratch)},
        start_new_session=True,
    )


def _round(plan: Path, store: EvidenceStore, scratch: Path, target: str, after_s: float, tally: Tally) -> None:
    before = set(store.run_ids())
    lab = _start(plan, store, scratch)
    root = psutil.Process(lab.pid)
    family: dict[int, psutil.Process] = {}
    deadline = time.monotonic() + after_s
    victim = None
    while time.monotonic() < deadline + ENDS_WITHIN_S and lab.poll() is None:
        family |= {process.pid: process for process in _tree(root)}
        if time.monotonic() >= deadline and (victim := _find(family, target)) is not None:
            break
        time.sleep(0.02)
    if victim is None:
        tally.too_late += 1
    else:
        os.kill(victim.pid, signal.SIGKILL)
        tally.killed[target] += 1
    what = f"kill {sum(tally.killed.values())} of {target} after {after_s:.2f} s"
    try:
        lab.wait(ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        tally.broken.append(f"{what}: lab run did not end")
        os.killpg(lab.pid, signal.SIGKILL)
        lab.wait()
    _, alive = psutil.wait_procs(list(family.values()), timeout=30)
    tally.broken += [f"{what}: process {process.pid} outlived it" for process in alive]
    _hold_laws(store, scratch, before, what, tally)


def _find(family: dict[int, psutil.Process], target: str) -> psutil.Process | None:
    for process in family.values():
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        # the leash's own command line holds that of what it holds
        if TARGETS[target] in words and "leash.py" not in words:
            return process
    return None


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _hold_laws(store: EvidenceStore, scratch: Path, before: set[str], what: str, tally: Tally) -> None:
    for run_id in store.run_ids():
        try:
            status = store.status(run_id)
        except Exception as problem:  # whatever it is, the law is broken
            tally.broken.append(f"{what}: the status of {run_id} cannot be read: {problem}")
            continue
        if status.state is RunState.RUNNING:
            tally.broken.append(f"{what}: {run_id} is said to be running")
        if status.state is RunState.MEASURED and (problems := store.verify(run_id)):
            tally.broken.append(f"{what}: {run_id} is measured and damaged: {problems[0]}")
        if run_id not in before and status.state is not RunState.MEASURED and not status.reason:
            tally.broken.append(f"{what}: {run_id} is {status.state} without a reason")
    deadline = time.monotonic() + 10
    while (litter := sorted(path.name for path in scratch.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    if litter:
        tally.broken.append(f"{what}: left in the temporary folder: {', '.join(litter[:5])}")


def _resume(plan: Path, store: EvidenceStore, scratch: Path, tally: Tally) -> None:
    unfinished = [run_id for run_id in store.run_ids() if store.status(run_id).state is not RunState.MEASURED]
    before = set(store.run_ids())
    finished = len(before) - len(unfinished)
    code = _start(plan, store, scratch, "--resume").wait(ENDS_WITHIN_S * 2)
    newest = store.run_ids()[-1]
    if code != 0:
        tally.broken.append(f"resuming ended with code {code}")
    elif finished:
        if newest not in before:
            tally.broken.append(f"resuming measured {newest} although the plan had been measured")
    elif store.status(newest).state is not RunState.MEASURED:
        tally.broken.append(f"resuming measured nothing: {newest} is {store.status(newest).state}")
    elif unfinished and store.status(newest).replaces != unfinished[-1]:
        tally.broken.append(f"{newest} does not name the run it replaces")


def main(argv: list[str]) -> int:
    """Print the tally; 0 when every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-kills-") as folder:
        tally = kill_many(options.kills, Path(folder), options.seed)
    print("\n".join(tally.lines()))
    print(f"{time.monotonic() - start_s:.0f} s")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
