"""Two labs at work on one store and one reports folder at once.

    python -m tests.two_labs --rounds 20 [--seed N]

Each round starts two commands at nearly the same moment: `run`, `run --resume`, `report`, `publish`, `verify --all`,
`export`. The laws:

- each ends by itself, with exit code 0, or with 2, a sentence and a next step, and without a traceback;
- every run is measured, verifies, and is there once; nothing that was there before has changed;
- the report holds exactly the files of a report; every published edition is as it was published, and there is one;
- nothing is left in the temporary folder, in the store or beside the reports.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.evidence import EvidenceStore
from lab.publish.archive import editions
from lab.records import RunState
from tests.conftest import CHECKOUT
from tests.kills import place_plan

KINDS = ("run", "run --resume", "report", "publish", "verify --all", "export")
LIMIT_S = 240.0
PUBLISH = "time_zone: Asia/Tokyo\ncut_off: {weekday: friday, time: '18:00'}\nmatches: [{plan: small}]\n"


@dataclass(slots=True)
class Tally:
    """What became of the rounds."""

    pairs: Counter[str] = field(default_factory=Counter)
    stepped_aside: int = 0
    """A command that found another at work and said so."""
    broken: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The tally for a person."""
        counts = ", ".join(f"{n} {name}" for name, n in sorted(self.pairs.items()))
        return [
            f"rounds: {sum(self.pairs.values())} ({counts})",
            f"stepped aside: {self.stepped_aside}",
            f"broken laws: {len(self.broken)}",
            *self.broken[:20],
        ]


@dataclass(frozen=True, slots=True)
class Ground:
    """One store, one reports folder, one temporary folder for both labs."""

    plan: Path
    store: EvidenceStore
    temporary: Path
    reports: Path

    def words(self, kind: str) -> list[str]:
        """The command of a kind."""
        first = next(iter(self.store.run_ids()), "")
        words = {
            "run": ["run", str(self.plan)],
            "run --resume": ["run", str(self.plan), "--resume"],
            "report": ["report", first, "--out", str(self.reports / "report")],
            "publish": ["publish", "--params", str(self.plan.parent / "publish.yaml"), "--out", str(self.reports)],
            "verify --all": ["verify", "--all"],
            "export": ["export", first, "--as", "csv", "--out", str(self.reports / "run.csv")],
        }[kind]
        return [sys.executable, "-m", "lab.cli", *words, "--runs-dir", str(self.store.root)]

    def start(self, kind: str) -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            self.words(kind),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env=os.environ | {"TMPDIR": str(self.temporary), "NO_COLOR": "1", "PYTHONPATH": str(CHECKOUT)},
        )


def two_at_once(pairs: Sequence[tuple[str, str]], folder: Path, seed: int) -> Tally:
    """One round for each pair of commands, all on one store, and the laws after each.

    Args:
        pairs: of `KINDS`.
        folder: empty.
        seed: of the moments.
    """
    choose, tally = random.Random(seed), Tally()
    plan, store, temporary = place_plan(folder, requests=4)
    (plan.parent / "publish.yaml").write_text(PUBLISH, encoding="utf-8")
    ground = Ground(plan, store, temporary, folder / "reports")
    ground.reports.mkdir()
    first = ground.start("run")
    first.communicate(timeout=LIMIT_S)
    for pair in pairs:
        what = f"round {sum(tally.pairs.values())}, {pair[0]} and {pair[1]}"
        before = {run_id: _manifest(store, run_id) for run_id in store.run_ids()}
        one = ground.start(pair[0])
        time.sleep(choose.choice((0.0, 0.0, choose.uniform(0.0, 3.0))))
        other = ground.start(pair[1])
        for process in (one, other):
            _hold_said(process, what, tally)
        tally.pairs[" and ".join(sorted(pair))] += 1
        _hold_laws(ground, before, sum(kind == "run" for kind in pair), what, tally)
    return tally


def _hold_said(process: subprocess.Popen[str], what: str, tally: Tally) -> None:
    out, err = process.communicate(timeout=LIMIT_S)
    tally.stepped_aside += "steps aside" in out
    if "Traceback" in err or process.returncode not in (0, 2):
        tally.broken.append(f"{what}: exit code {process.returncode}: {err[-300:]!r}")
    elif process.returncode == 2 and "next: " not in err:
        tally.broken.append(f"{what}: no next step: {err[-300:]!r}")
    elif process.returncode == 2:
        tally.broken.append(f"{what}: refused: {err[-300:]!r}")


def _hold_laws(ground: Ground, before: dict[str, bytes], fresh: int, what: str, tally: Tally) -> None:
    store = ground.store
    for run_id in store.run_ids():
        status, problems = store.status(run_id), store.verify(run_id)
        if status.state is not RunState.MEASURED or problems:
            tally.broken.append(f"{what}: {run_id} is {status.state}: {status.reason}; {problems}")
    if len(store.run_ids()) != len(before) + fresh:
        tally.broken.append(f"{what}: {len(store.run_ids())} runs, expected {len(before) + fresh}")
    changed = [run_id for run_id, manifest in before.items() if _manifest(store, run_id) != manifest]
    if changed:
        tally.broken.append(f"{what}: {', '.join(changed)} changed")
    report = ground.reports / "report"
    if report.exists():
        names = sorted(path.relative_to(report).as_posix() for path in report.rglob("*") if path.is_file())
        if [name for name in names if name.startswith("evidence/r-")] != [f"evidence/{store.run_ids()[0]}.json"]:
            tally.broken.append(f"{what}: the report holds {names}")
    try:
        found = editions(ground.reports)
        if len(found) > 1:
            tally.broken.append(f"{what}: {len(found)} editions of one week and the same runs")
    except Exception as problem:  # whatever it is, the law is broken
        tally.broken.append(f"{what}: {problem}")
    left = [path.name for path in ground.temporary.iterdir()]
    left += [path.name for path in (*store.root.glob(".lab-*"), *ground.reports.glob(".lab-*"))]
    left += [path.name for path in (store.root / ".open").iterdir()]
    if left:
        tally.broken.append(f"{what}: left: {', '.join(left[:5])}")


def _manifest(store: EvidenceStore, run_id: str) -> bytes:
    return (store.path(run_id) / "manifest.json").read_bytes()


def main(argv: list[str]) -> int:
    """Print the tally; 0 when every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.two_labs")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-two-") as folder:
        choose = random.Random(options.seed)
        pairs = [(choose.choice(KINDS), choose.choice(KINDS)) for _ in range(options.rounds)]
        tally = two_at_once(pairs, Path(folder), options.seed)
    print("\n".join(tally.lines()))
    print(f"{time.monotonic() - start_s:.0f} s")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
