"""Kills parts of a running lab at random moments and looks at what is left.

    python -m tests.kills --kills 200 [--seed N]

One run is measured first. Each round starts `lab run` on another small plan with the reference engine, sometimes with
--resume, waits a random while, and kills with signal 9: the lab, the process that executes the notebook, its kernel,
the engine, a load process, a leash, or everything at once, as a power cut does. After each:

- `lab run` has ended, and so has every process it started;
- `lab runs` says of no run that it is running, and each has a state that can be read, with a reason;
- every run that was finished before is as it was, and every finished run verifies;
- nothing is left in the temporary folder; after everything at once: nothing when the next `lab run` has ended;
- what an earlier round left open has been sealed, and a resumed run has a new run_id that names the one it replaces.

At the end the plan is resumed, and has to be measured.
"""

from __future__ import annotations

import argparse
import contextlib
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
    "leash": "lab/leash.py",
    "everything": "",
}
"""What is killed, and what its command line holds."""

LEAVES = frozenset({"leash", "everything"})
"""After these nobody is left who could tidy at once: the next lab does."""

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


def kill_many(kills: int, folder: Path, seed: int, targets: tuple[str, ...] = tuple(TARGETS)) -> Tally:
    """Kill until `kills` kills have hit something, and hold the laws after each.

    Args:
        kills: how many.
        folder: empty; receives plan, store and temporary files.
        seed: of targets and moments.
        targets: what may be killed.
    """
    choose = random.Random(seed)
    plan, store, scratch = place_plan(folder, requests=4)
    tally = Tally()
    began_s = time.monotonic()
    if start_run(plan, store, scratch).wait(ENDS_WITHIN_S) != 0:  # the finished run that must not be lost
        tally.broken.append("the first run, which nobody killed, was not measured")
    longest_s = time.monotonic() - began_s  # a kill may come at any moment of a run, on a busy machine too
    longer = plan.read_text(encoding="utf-8").replace("requests_per_level: 4", "requests_per_level: 40")
    plan.write_text(longer, encoding="utf-8")  # another plan, with a load that can be hit
    while sum(tally.killed.values()) < kills:
        resume, target, after_s = choose.random() < 0.3, choose.choice(targets), choose.uniform(0.0, longest_s)
        _round(plan, store, scratch, target, after_s, tally, resume=resume)
        print(f"{sum(tally.killed.values())} kills, {len(tally.broken)} broken laws", file=sys.stderr, flush=True)
    _resume(plan, store, scratch, tally)
    tally.states.update(str(store.status(run_id).state) for run_id in store.run_ids())
    return tally


def place_plan(folder: Path, requests: int = 40) -> tuple[Path, EvidenceStore, Path]:
    """A small plan with so many requests, an empty store, an empty temporary folder."""
    params = folder / "params"
    params.mkdir(parents=True)
    for piece in ("models", "engines", "workloads", "quality"):
        (params / piece).symlink_to(PARAMS_FOLDER / piece)
    plan = params / "small.yaml"
    slower = SMALL_PLAN.replace("requests_per_level: 4", f"requests_per_level: {requests}")  # a load that can be hit
    plan.write_text(slower, encoding="utf-8")
    scratch = folder / "tmp"
    scratch.mkdir()
    return plan, EvidenceStore(folder / "runs"), scratch


def start_run(plan: Path, store: EvidenceStore, scratch: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start `lab run` on the plan."""
    return subprocess.Popen(
        [sys.executable, "-m", "lab.cli", "run", str(plan), "--runs-dir", str(store.root), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(scratch)},
        start_new_session=True,
    )


@dataclass(frozen=True, slots=True)
class _Before:
    """What stood before a round."""

    run_ids: frozenset[str]
    finished: dict[str, bytes]
    """Measured, sealed runs and their manifests."""
    unfinished: tuple[str, ...]
    """Runs that were not measured, oldest first."""
    open: frozenset[str]
    """Runs that nobody had sealed."""
    litter: frozenset[str]


def _look(store: EvidenceStore, scratch: Path) -> _Before:
    run_ids = frozenset(store.run_ids())
    sealed = {run_id for run_id in run_ids if store.is_sealed(run_id)}
    measured = {run_id for run_id in sealed if store.status(run_id).state is RunState.MEASURED}
    return _Before(
        run_ids=run_ids,
        finished={run_id: (store.path(run_id) / "manifest.json").read_bytes() for run_id in measured},
        unfinished=tuple(run_id for run_id in store.run_ids() if run_id not in measured),
        open=run_ids - sealed,
        litter=frozenset(path.name for path in scratch.iterdir()),
    )


def _round(
    plan: Path, store: EvidenceStore, scratch: Path, target: str, after_s: float, tally: Tally, *, resume: bool
) -> None:
    before = _look(store, scratch)
    lab = start_run(plan, store, scratch, *(["--resume"] if resume else []))
    root = psutil.Process(lab.pid)
    deadline = time.monotonic() + after_s
    victims: list[psutil.Process] = []
    while time.monotonic() < deadline + ENDS_WITHIN_S and lab.poll() is None:
        if time.monotonic() >= deadline and (victims := _find(_tree(root), target)):
            break
        time.sleep(0.02)
    for victim in victims:
        with contextlib.suppress(psutil.Error):
            victim.kill()
    if victims:
        tally.killed[target] += 1
    else:
        tally.too_late += 1
    what = f"kill {sum(tally.killed.values())}, of {target if victims else 'nothing'}, after {after_s:.2f} s"
    try:
        lab.wait(ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        tally.broken.append(f"{what}: lab run did not end")
        os.killpg(lab.pid, signal.SIGKILL)
        lab.wait()
    _, alive = psutil.wait_procs(_ours(scratch), timeout=30)
    tally.broken += [f"{what}: process {process.pid} outlived it" for process in alive]
    _hold_laws(store, scratch, before, what, tally, leaves=bool(victims) and target in LEAVES)
    if resume and before.unfinished:
        for run_id in set(store.run_ids()) - before.run_ids:
            if (named := store.status(run_id).replaces) != before.unfinished[-1]:
                tally.broken.append(f"{what}: {run_id} replaces {named}, not {before.unfinished[-1]}")


def _find(family: list[psutil.Process], target: str) -> list[psutil.Process]:
    """The processes to kill; of a part, the first one that runs."""
    if target == "everything":
        return family
    for process in family:
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        # the leash's own command line holds that of what it holds
        if TARGETS[target] in words and ("leash.py" in words) == (target == "leash"):
            return [process]
    return []


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _ours(scratch: Path) -> list[psutil.Process]:
    """Every process that was started with our temporary folder, whoever its parent is by now."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TMPDIR", "").startswith(str(scratch)):
                found.append(process)
    return found


def _hold_laws(store: EvidenceStore, scratch: Path, before: _Before, what: str, tally: Tally, *, leaves: bool) -> None:
    told, readable = _lab_runs(store), {}
    for run_id in store.run_ids():
        try:
            readable[run_id] = status = store.status(run_id)
        except Exception as problem:  # whatever it is, the law is broken
            tally.broken.append(f"{what}: the status of {run_id} cannot be read: {problem}")
            continue
        if status.state is RunState.RUNNING:
            tally.broken.append(f"{what}: {run_id} is said to be running")
        if told.get(run_id) != status.state:
            tally.broken.append(f"{what}: lab runs says {told.get(run_id)} of {run_id}, which is {status.state}")
        if (store.is_sealed(run_id) or status.state is RunState.MEASURED) and (problems := store.verify(run_id)):
            tally.broken.append(f"{what}: {run_id} is {status.state} and damaged: {problems[0]}")
        if run_id not in before.run_ids and status.state is not RunState.MEASURED and not status.reason:
            tally.broken.append(f"{what}: {run_id} is {status.state} without a reason")
    new = [readable[run_id] for run_id in readable if run_id not in before.run_ids]
    if new:  # the lab had begun, so it had tidied what earlier ones left
        tally.broken += [
            f"{what}: {run_id} of an earlier round is still not sealed"
            for run_id in before.open
            if not store.is_sealed(run_id)
        ]
    for run_id, manifest in before.finished.items():
        path = store.root / run_id / "manifest.json"
        if not path.exists() or path.read_bytes() != manifest:
            tally.broken.append(f"{what}: finished run {run_id} is not as it was")
    tidied = any(status.step != "open" for status in new)
    _hold_tidy(scratch, before.litter, what, tally, leaves=leaves, tidied=tidied)


def _hold_tidy(scratch: Path, earlier: frozenset[str], what: str, tally: Tally, *, leaves: bool, tidied: bool) -> None:
    """Nothing of this round is left, unless nobody could tidy; nothing of an earlier one, if the lab came so far."""

    def litter() -> list[str]:
        there = {path.name for path in scratch.iterdir()}
        return sorted((set() if leaves else there - earlier) | (there & earlier if tidied else set()))

    deadline = time.monotonic() + 10
    while litter() and time.monotonic() < deadline:
        time.sleep(0.1)
    if left := litter():
        tally.broken.append(f"{what}: left in the temporary folder: {', '.join(left[:5])}")


def _lab_runs(store: EvidenceStore) -> dict[str, str]:
    """What `lab runs` says of each run."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.cli", "runs", "--runs-dir", str(store.root)],
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[0]: row[1] for row in rows if row and row[0].startswith("r-")}


def _resume(plan: Path, store: EvidenceStore, scratch: Path, tally: Tally) -> None:
    code = start_run(plan, store, scratch, "--resume").wait(ENDS_WITHIN_S * 2)
    measured = [run_id for run_id in store.run_ids() if store.status(run_id).state is RunState.MEASURED]
    if code != 0:
        tally.broken.append(f"resuming ended with code {code}")
    elif len(measured) < 2 or any(store.verify(run_id) for run_id in store.run_ids()):
        tally.broken.append("resuming did not measure the plan, or left something that does not verify")


def main(argv: list[str]) -> int:
    """Print the tally; 0 when every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), help="what may be killed")
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-kills-") as folder:
        tally = kill_many(options.kills, Path(folder), options.seed, tuple(options.targets))
    print("\n".join(tally.lines()))
    print(f"{time.monotonic() - start_s:.0f} s")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
