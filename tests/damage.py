"""Damages every file of a stored bundle, in many ways and places, and asks every command that reads bundles.

    python -m tests.damage --damages 1000 [--seed N]

A run is measured with the reference engine and kept. Each round copies its store, damages one thing in the copy, and
asks `lab verify`, `verify --all`, `runs`, `show`, `metrics`, `export`, `match`, `report`, `handout` and the choice of a
weekly edition. The laws:

- verify names the run and the file;
- `lab runs` says that the run is damaged, or it is no run any more and verify says so;
- nothing else gives a value: it refuses, in a sentence and with exit code 2;
- no command ends with a traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from typer.testing import CliRunner

from lab.cli import app
from lab.errors import LabError
from lab.evidence import EvidenceStore
from lab.params import PARAMS_FOLDER
from lab.plan import RunPlan, load_plan
from lab.publish.cells import choose
from lab.publish.schedule import WantedMatch
from lab.quality.replies import QualityItem
from lab.records import Outcome, QualityResult, TaskScore
from lab.run import open_run
from tests.conftest import SMALL_PLAN

Damage = Callable[[Path, random.Random], str]


@dataclass(slots=True)
class Tally:
    """What became of the damages."""

    damages: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    broken: list[str] = field(default_factory=list)
    """Laws that did not hold, in words."""

    def lines(self) -> list[str]:
        """The tally for a person."""
        return [
            f"damages: {sum(self.damages.values())} ({_counted(self.damages)})",
            f"files: {_counted(self.files)}",
            f"commands asked: {self.asked}",
            f"broken laws: {len(self.broken)}",
            *self.broken[:20],
        ]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))


def _flip(path: Path, choose_: random.Random) -> str:
    data = bytearray(path.read_bytes())
    at, bit = choose_.randrange(len(data)), choose_.randrange(8)
    data[at] ^= 1 << bit
    path.write_bytes(data)
    return f"bit {bit} of byte {at} flipped"


def _flip_edge(path: Path, choose_: random.Random) -> str:
    data = bytearray(path.read_bytes())
    at = choose_.choice((0, len(data) - 1))
    data[at] ^= 1 << choose_.randrange(8)
    path.write_bytes(data)
    return f"byte {at} flipped"


def _truncate(path: Path, choose_: random.Random) -> str:
    data = path.read_bytes()
    keep = choose_.choice((0, 1, len(data) - 1, choose_.randrange(len(data))))
    path.write_bytes(data[:keep])
    return f"truncated to {keep} of {len(data)} bytes"


def _blank(path: Path, choose_: random.Random) -> str:
    data = bytearray(path.read_bytes())
    at = choose_.randrange(len(data))
    end = min(at + 512, len(data))
    data[at:end] = bytes(end - at)
    if data == path.read_bytes():
        data[at] = 1
    path.write_bytes(data)
    return f"bytes {at} to {end} zeroed"


def _digit(path: Path, choose_: random.Random) -> str:
    """A number becomes another number: nothing but a digest can see it."""
    data = bytearray(path.read_bytes())
    places = [at for at, byte in enumerate(data) if byte in b"0123456789"]
    if not places:
        return _flip(path, choose_)
    at = choose_.choice(places)
    data[at] = choose_.choice([digit for digit in b"0123456789" if digit != data[at]])
    path.write_bytes(data)
    return f"digit at {at} changed"


def _append(path: Path, choose_: random.Random) -> str:
    with path.open("ab") as out:
        out.write(choose_.choice((b"\n", b" ", b"\x00" * 4096)))
    return "appended to"


def _remove(path: Path, _: random.Random) -> str:
    path.unlink()
    return "removed"


def _folder(path: Path, _: random.Random) -> str:
    path.unlink()
    path.mkdir()
    return "a folder"


def _link(path: Path, choose_: random.Random) -> str:
    path.unlink()
    path.symlink_to(choose_.choice(("nowhere", "/dev/null")))
    return "a link to nothing"


def _other(path: Path, choose_: random.Random) -> str:
    other = choose_.choice(sorted(one for one in path.parent.iterdir() if one != path))
    shutil.copyfile(other, path)
    return f"replaced by {other.name}"


def _stray(path: Path, choose_: random.Random) -> str:
    (path.parent / choose_.choice(("stranger", "quality.json.bak", ".hidden", "arms.json"))).write_text("{}")
    return "a stranger beside it"


DAMAGES: dict[str, Damage] = {
    "bit flipped": _flip,
    "edge flipped": _flip_edge,
    "truncated": _truncate,
    "zeroed": _blank,
    "digit changed": _digit,
    "appended": _append,
    "removed": _remove,
    "folder": _folder,
    "link": _link,
    "other file": _other,
    "stranger": _stray,
}


def make_bundle(folder: Path) -> tuple[EvidenceStore, RunPlan, str]:
    """A store with one measured run, every kind of file in it."""
    params = folder / "params"
    params.mkdir(parents=True)
    for piece in ("models", "engines", "workloads", "quality"):
        (params / piece).symlink_to(PARAMS_FOLDER / piece)
    (params / "small.yaml").write_text(SMALL_PLAN, encoding="utf-8")
    plan, store = load_plan(params / "small.yaml"), EvidenceStore(folder / "runs")
    with open_run(plan.runs[0], store) as run:
        run.prepare()
        run.throughput()
        run.quality()
        # the model of this plan has no quality to ask for: what a suite would have left
        item = QualityItem(
            run_id=run.run_id, suite="smoke-mini", version="1.0.0", task="facts", item_id="i0", text="yes", score=1.0,
            outcome=Outcome.SUCCESS,
        )  # fmt: skip
        store.write_samples(run.run_id, [item])
        task = TaskScore(task="facts", metric="exact_match", n=1, unscored={}, score=1.0, stderr=None)
        result = QualityResult(
            suite="smoke-mini",
            version="1.0.0",
            suite_sha256="0" * 64,
            lm_eval_version="0.4.13",
            tasks=(task,),
            seconds=1.0,
        )
        store.write(run.run_id, "quality.json", result)
        store.write(run.run_id, "notebook.ipynb", (PARAMS_FOLDER.parent / "notebooks/20_collect.ipynb").read_bytes())
    return store, plan, run.run_id


def damage_many(damages: int, folder: Path, seed: int) -> Tally:
    """Damage a bundle so many times, each time a fresh copy, and hold the laws.

    Args:
        damages: how many; every way of damage comes to every file before any comes again.
        folder: empty; receives the stores.
        seed: of ways, files and places.
    """
    choose_, tally = random.Random(seed), Tally()
    with contextlib.redirect_stdout(io.StringIO()):
        store, plan, run_id = make_bundle(folder / "whole")
    names = sorted(path.name for path in store.path(run_id).iterdir())
    pairs = [(name, kind) for name in names for kind in DAMAGES]
    for n in range(damages):
        if n % len(pairs) == 0:
            choose_.shuffle(pairs)
        name, kind = pairs[n % len(pairs)]
        copy = folder / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store.root, copy)
        how = DAMAGES[kind](copy / run_id / name, choose_)
        tally.damages[kind] += 1
        tally.files[name] += 1
        _hold_laws(copy, plan, run_id, name if kind != "stranger" else "", f"{name}: {how}", tally)
    return tally


def _hold_laws(root: Path, plan: RunPlan, run_id: str, name: str, what: str, tally: Tally) -> None:
    where = ["--runs-dir", str(root)]

    def ask(*words: str) -> tuple[str | None, str]:
        """The sentence with which a command refuses, or None, and what it printed."""
        tally.asked += 1
        done = CliRunner().invoke(app, [*words, *where])
        if isinstance(done.exception, LabError):
            return done.exception.what, done.output
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            tally.broken.append(f"{what}: lab {words[0]} ended with {done.exception!r}")
            return "", done.output
        return (None, done.output) if done.exit_code == 0 else ("", done.output)

    refused, _ = ask("verify", run_id)
    if refused is None or name not in refused:
        tally.broken.append(f"{what}: lab verify said {refused!r}")
    refused, printed = ask("verify", "--all")
    if refused is None or run_id not in refused or name not in printed:
        tally.broken.append(f"{what}: lab verify --all said {refused!r}: {printed!r}")
    _, printed = ask("runs")
    rows = [line.split() for line in printed.splitlines()]
    if [row[1] for row in rows if row[:1] == [run_id]] != ["damaged"]:
        tally.broken.append(f"{what}: lab runs said {printed!r}")
    for words in (
        ("show", run_id),
        ("metrics", run_id),
        ("export", run_id, "--as", "csv", "--out", str(root.parent / "out.csv")),
        ("export", run_id, "--as", "vllm-bench", "--out", str(root.parent / "out.json")),
        ("match", run_id, run_id),
        ("report", run_id, "--out", str(root.parent / "report")),
        ("report", "--out", str(root.parent / "report")),
        ("handout", run_id, "--out", str(root.parent / "handout")),
    ):
        refused, printed = ask(*words)
        if refused is None:
            tally.broken.append(f"{what}: lab {' '.join(words[:2])} gave a value: {printed[:200]!r}")
    _hold_choice(EvidenceStore(root), plan, what, tally)
    made = [path.name for path in root.parent.iterdir() if path.name in ("out.csv", "out.json", "report", "handout")]
    if made:
        tally.broken.append(f"{what}: {', '.join(made)} was written")


def _hold_choice(store: EvidenceStore, plan: RunPlan, what: str, tally: Tally) -> None:
    group = plan.groups[0]
    wanted = WantedMatch(match_id=group.match_id, plan=plan.name, table=group.table, planned=group.specs)
    tally.asked += 1
    try:
        (found,) = choose(store, [wanted], datetime.now(UTC) + timedelta(days=1))
    except Exception as problem:  # whatever it is, the law is broken
        tally.broken.append(f"{what}: the weekly choice ended with {problem!r}")
        return
    if any(cell.launches for cell in found.match.cells):
        tally.broken.append(f"{what}: the weekly choice counts the launch")


def main(argv: list[str]) -> int:
    """Print the tally; 0 when every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.damage")
    parser.add_argument("--damages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args(argv)
    print(f"seed {options.seed}", flush=True)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-damage-") as folder:
        tally = damage_many(options.damages, Path(folder), options.seed)
    print("\n".join(tally.lines()))
    print(f"{time.monotonic() - start_s:.0f} s")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
