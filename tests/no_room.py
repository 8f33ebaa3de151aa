"""Takes the room away: files that may not grow, disks that are full, folders that cannot be written.

    python -m tests.no_room --rounds 60 [--seed N]

Each round gives one place a random, small amount of room and runs `lab run`, or a command that writes something else:

- file size: no file may grow beyond a limit (RLIMIT_FSIZE);
- runs, temporary: the disk of the runs or of temporary files is full at a random point;
- read-only: runs, reports, home and cache, or every temporary folder cannot be written.

Disks are small tmpfs in a mount namespace of the harness's own; where that is not allowed they are left out, and said.
The laws:

- the command ends by itself, with exit code 0, or with 2, a sentence and a next step, and without a traceback;
- no run is said to be running; finished runs verify, and those of before are as they were;
- nothing is left: no temporary folder, no half of a file, no folder that is no bundle;
- a page or a file is the old one, the new one, or not there;
- with room again, the plan is resumed and measured.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lab.evidence import EvidenceStore
from lab.records import RunState
from tests.conftest import CHECKOUT
from tests.imports.others_files import atlas_record, write
from tests.kills import place_plan

INSIDE = "LAB_NO_ROOM_INSIDE"
"""Set in the process that has a mount namespace of its own."""
LIMIT_S = 120.0


@dataclass(slots=True)
class Tally:
    """What became of the rounds."""

    rounds: Counter[str] = field(default_factory=Counter)
    left_out: str | None = None
    """Why there are no disks of our own; None when there are."""
    broken: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The tally for a person."""
        counts = ", ".join(f"{n} {name}" for name, n in sorted(self.rounds.items()))
        return [
            f"rounds: {sum(self.rounds.values())} ({counts})",
            *([f"left out: disks and read-only folders: {self.left_out}"] if self.left_out else []),
            f"broken laws: {len(self.broken)}",
            *self.broken[:20],
        ]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the rounds take place.

    Attributes:
        folder: everything lies in it.
        plan: the small plan.
        kept: a store with one measured run; copied for each round.
        run_id: that run.
    """

    folder: Path
    plan: Path
    kept: EvidenceStore
    run_id: str

    def fresh(self, place: Path) -> EvidenceStore:
        """A store of this round, with the measured run in it."""
        shutil.copytree(self.kept.root, place, dirs_exist_ok=True)
        return EvidenceStore(place)


def prepare(folder: Path) -> Ground:
    """Measure the one run that must not be lost."""
    plan, store, _ = place_plan(folder, requests=8)
    done = lab(folder, "run", str(plan), "--runs-dir", str(store.root))
    assert done.returncode == 0, done.stderr
    return Ground(folder, plan, store, store.run_ids()[0])


def lab(
    temporary: Path, *words: str, limit: int | None = None, cwd: Path = CHECKOUT, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command, perhaps with a limit for the size of files, bytes."""

    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "lab.cli", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"TMPDIR": str(temporary), "NO_COLOR": "1", "PYTHONPATH": str(CHECKOUT)} | variables,
        timeout=LIMIT_S,
        check=False,
        preexec_fn=restrict,
    )


def hold_said(done: subprocess.CompletedProcess[str], what: str, tally: Tally) -> None:
    """It ended well, or said what was wrong and what to do."""
    said = done.stdout + done.stderr
    if "Traceback" in said:
        tally.broken.append(f"{what}: a traceback: {said.strip().splitlines()[-1]}")
    elif done.returncode not in (0, 2):
        tally.broken.append(f"{what}: exit code {done.returncode}: {said[-200:]!r}")
    elif done.returncode == 2 and not ("error: " in done.stderr and "next: " in done.stderr):
        tally.broken.append(f"{what}: no sentence or no next step: {done.stderr[-300:]!r}")


def hold_kept(store: EvidenceStore, ground: Ground, what: str, tally: Tally) -> None:
    """Nothing finished is lost, nothing half is there, and nobody says otherwise."""
    for run_id in store.run_ids():
        try:
            status = store.status(run_id)
        except Exception as problem:  # whatever it is, the law is broken
            tally.broken.append(f"{what}: the status of {run_id} cannot be read: {problem}")
            continue
        if status.state is RunState.RUNNING:
            tally.broken.append(f"{what}: {run_id} is said to be running")
        if (store.is_sealed(run_id) or status.state is RunState.MEASURED) and (problems := store.verify(run_id)):
            tally.broken.append(f"{what}: {run_id} is {status.state} and damaged: {problems[0]}")
    manifest = "manifest.json"
    try:
        same = (store.path(ground.run_id) / manifest).read_bytes() == (
            ground.kept.path(ground.run_id) / manifest
        ).read_bytes()
    except Exception as problem:  # whatever it is, the law is broken
        tally.broken.append(f"{what}: the finished run is gone: {problem}")
        return
    if not same:
        tally.broken.append(f"{what}: the finished run is not as it was")
    hold_tidy(store.root, what, tally, allowed={".open", "certificates", *store.run_ids()})


def hold_tidy(place: Path, what: str, tally: Tally, allowed: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """No temporary folder and no half of a file."""
    left = {path.name for path in place.iterdir()} - allowed
    left |= {path.name for path in place.rglob("*.tmp") if (path.parent / "manifest.json").exists()}
    if left:
        tally.broken.append(f"{what}: left in {place.name}: {', '.join(sorted(left)[:5])}")


def resume(ground: Ground, store: EvidenceStore, temporary: Path, what: str, tally: Tally) -> None:
    """With room again the plan is measured, and what was open is sealed."""
    done = lab(temporary, "run", str(ground.plan), "--resume", "--runs-dir", str(store.root))
    if done.returncode != 0:
        tally.broken.append(f"{what}: with room again it ended with {done.returncode}: {done.stderr[-200:]!r}")
    open_ = [run_id for run_id in store.run_ids() if not store.is_sealed(run_id)]
    if open_:
        tally.broken.append(f"{what}: with room again {', '.join(open_)} was not sealed")


def file_size(ground: Ground, own: Path, choose: random.Random, what: str, tally: Tally) -> None:
    """`lab run` while no file may grow beyond a limit."""
    store, temporary = ground.fresh(own / "runs"), own / "tmp"
    temporary.mkdir()
    limit = int(2 ** choose.uniform(9, 17))
    what = f"{what} {limit} bytes"
    done = lab(temporary, "run", str(ground.plan), "--runs-dir", str(store.root), limit=limit)
    hold_said(done, what, tally)
    hold_kept(store, ground, what, tally)
    hold_tidy(temporary, what, tally)
    if choose.random() < 0.3:
        resume(ground, store, temporary, what, tally)


def writing(ground: Ground, own: Path, choose: random.Random, what: str, tally: Tally) -> None:
    """A command that writes something else while no file may grow: the old file stands, or the new one, or none."""
    store, temporary, out = ground.fresh(own / "runs"), own / "tmp", own / "out"
    temporary.mkdir()
    out.mkdir()
    word = choose.choice(("report", "export", "handout", "import"))
    words = {
        "report": ("report", ground.run_id, "--out", str(out / "report")),
        "handout": ("handout", ground.run_id, "--out", str(out / "handout")),
        "export": ("export", ground.run_id, "--as", "csv", "--out", str(out / "run.csv")),
        "import": ("import", "inference-atlas", str(out / "other.json")),
    }[word]
    write(out, "other.json", atlas_record("P"))
    where = ("--runs-dir", str(store.root))
    stood = word != "import" and choose.random() < 0.5
    if stood:
        assert lab(temporary, *words, *where).returncode == 0
    before = contents(out)
    limit = int(2 ** choose.uniform(7, 19))
    what = f"{what} {word} {limit} bytes"
    done = lab(temporary, *words, *where, limit=limit)
    hold_said(done, what, tally)
    hold_tidy(temporary, what, tally)
    hold_tidy(out, what, tally, {"report", "handout", "run.csv", "other.json"})
    if done.returncode != 0:
        if contents(out) != before:
            tally.broken.append(f"{what}: it was refused and something was written")
        imported = store.imported_ids()
        if imported:
            tally.broken.append(f"{what}: it was refused and {imported} is there")
    for run_id in store.imported_ids():
        if problems := store.verify(run_id):
            tally.broken.append(f"{what}: half an import: {problems}")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def disk(place: Path, options: str) -> None:
    """A small disk of our own at a place."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)


def again(place: Path, options: str) -> None:
    """The same disk with other options."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def gone(place: Path) -> None:
    """No disk there any more."""
    subprocess.run(["umount", "-l", str(place)], check=True)


def runs_full(ground: Ground, own: Path, choose: random.Random, what: str, tally: Tally) -> None:
    """`lab run` on a disk that is full at some point."""
    place, temporary = own / "runs", own / "tmp"
    temporary.mkdir()
    disk(place, "size=16m")
    try:
        store = ground.fresh(place)
        used = sum(-(-path.stat().st_size // 4096) + 1 for path in place.rglob("*")) * 4
        room = 4 * int(2 ** choose.uniform(0, 6))
        again(place, f"size={used + room}k")
        what = f"{what} {room} KiB"
        hold_said(lab(temporary, "run", str(ground.plan), "--runs-dir", str(place)), what, tally)
        hold_kept(store, ground, what, tally)
        hold_tidy(temporary, what, tally)
        again(place, "size=16m")
        resume(ground, store, temporary, what, tally)
    finally:
        gone(place)


def temporary_full(ground: Ground, own: Path, choose: random.Random, what: str, tally: Tally) -> None:
    """`lab run` while the disk of temporary files is full at some point; it may go to another one."""
    store, temporary = ground.fresh(own / "runs"), own / "tmp"
    room = 4 * int(2 ** choose.uniform(0, 5))
    what = f"{what} {room} KiB"
    disk(temporary, f"size={room}k")
    try:
        hold_said(lab(temporary, "run", str(ground.plan), "--runs-dir", str(store.root)), what, tally)
        hold_kept(store, ground, what, tally)
        hold_tidy(temporary, what, tally)
    finally:
        gone(temporary)


def read_only(ground: Ground, own: Path, choose: random.Random, what: str, tally: Tally) -> None:
    """A folder that cannot be written: of runs, of reports, of the home and the cache, or every temporary one."""
    kind = choose.choice(("runs", "reports", "home", "temporary"))
    what, place, temporary = f"{what} {kind}", own / kind, own / "tmp"
    temporary.mkdir()
    disk(place, "size=16m")
    try:
        store = ground.fresh(place if kind == "runs" else own / "store")
        where = ("--runs-dir", str(store.root))
        again(place, "ro")
        if kind == "runs":
            hold_refused(lab(temporary, "run", str(ground.plan), *where), what, tally)
            for words in (("runs",), ("show", ground.run_id), ("verify", "--all"), ("metrics", ground.run_id)):
                done = lab(temporary, *words, *where)
                hold_said(done, f"{what} {words[0]}", tally)
                if done.returncode:
                    tally.broken.append(f"{what}: lab {words[0]} does not read what cannot be written")
        elif kind == "reports":
            for words in (("report", ground.run_id), ("handout", ground.run_id)):
                hold_refused(lab(temporary, *words, "--out", str(place / "x"), *where), what, tally)
            publish = (CHECKOUT / "params" / "publish.yaml").read_text(encoding="utf-8")
            (own / "publish.yaml").write_text(publish, encoding="utf-8")
            words = ("publish", "--params", str(own / "publish.yaml"), "--out", str(place))
            hold_refused(lab(temporary, *words, *where), what, tally)
        elif kind == "home":
            variables = {"HOME": str(place), "LAB_CACHE": str(place / "cache"), "XDG_CACHE_HOME": str(place / "xdg")}
            done = lab(temporary, "run", str(ground.plan), *where, **variables)
            hold_said(done, what, tally)
            if done.returncode:
                tally.broken.append(f"{what}: a run needs nothing of the home folder: {done.stderr[-300:]!r}")
            model = ("model", "fetch", "smollm2-135m-instruct-q4_1")
            hold_refused(lab(temporary, *model, **variables), f"{what} model fetch", tally)
        else:
            hold_nowhere(ground, store, place, what, tally)
        hold_kept(store, ground, what, tally)
        hold_tidy(temporary, what, tally)
    finally:
        gone(place)


def hold_nowhere(ground: Ground, store: EvidenceStore, place: Path, what: str, tally: Tally) -> None:
    """No temporary folder anywhere: every one that Python knows is the disk that cannot be written."""
    covered = [path for path in map(Path, ("/var/tmp", "/usr/tmp")) if path.is_dir() and path not in place.parents]
    for path in covered:
        subprocess.run(["mount", "--bind", str(place), str(path)], check=True)
        again(path, "bind,ro")
    try:
        # /tmp may hold what is tested itself, so it is named away: TMPDIR and the working folder come first and last
        variables = {"TEMP": str(place), "TMP": str(place)}
        done = lab(place, "run", str(ground.plan), "--runs-dir", str(store.root), cwd=place, **variables)
        hold_said(done, what, tally)
    finally:
        for path in covered:
            gone(path)


def hold_refused(done: subprocess.CompletedProcess[str], what: str, tally: Tally) -> None:
    """It was refused, in a sentence."""
    hold_said(done, what, tally)
    if done.returncode != 2:
        tally.broken.append(f"{what}: expected exit code 2, got {done.returncode}: {done.stdout[-200:]!r}")


Round = Callable[[Ground, Path, random.Random, str, Tally], None]

ROUNDS: dict[str, Round] = {"file size": file_size, "writing": writing}
DISK_ROUNDS: dict[str, Round] = {"runs full": runs_full, "temporary full": temporary_full, "read-only": read_only}


def take_away(rounds: int, folder: Path, seed: int, left_out: str | None) -> Tally:
    """So many rounds, each on a fresh copy of a store, and the laws after each.

    Args:
        rounds: how many.
        folder: empty.
        seed: of rounds and limits.
        left_out: why there can be no disks of our own; None: there can.
    """
    choose, tally = random.Random(seed), Tally(left_out=left_out)
    ground = prepare(folder / "ground")
    kinds = ROUNDS if left_out else ROUNDS | DISK_ROUNDS
    for n in range(rounds):
        kind = list(kinds)[n % len(kinds)]
        own = folder / f"round-{n}"
        own.mkdir()
        tally.rounds[kind] += 1
        kinds[kind](ground, own, choose, f"round {n}, {kind}", tally)
        shutil.rmtree(own, ignore_errors=True)
    return tally


def main(argv: list[str]) -> int:
    """Print the tally; 0 when every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.no_room")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args(argv)
    left_out = None
    if INSIDE not in os.environ:
        asked = ("unshare", "--map-root-user", "--mount", "--propagation", "private")
        tried = ["sh", "-c", 'd=$(mktemp -d) && mount -t tmpfs none "$d" && umount "$d"; s=$?; rmdir "$d"; exit $s']
        can = shutil.which("unshare") and subprocess.run([*asked, *tried], capture_output=True, check=False)
        if can and can.returncode == 0:
            words = [*asked, sys.executable, "-m", "tests.no_room"]
            words += ["--rounds", str(options.rounds), "--seed", str(options.seed)]
            return subprocess.run(words, env=os.environ | {INSIDE: "1"}, check=False).returncode
        left_out = "this system lets nobody mount" if can else "there is no unshare(1)"
    print(f"seed {options.seed}", flush=True)
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-no-room-") as folder:
        tally = take_away(options.rounds, Path(folder), options.seed, left_out)
    print("\n".join(tally.lines()))
    print(f"{time.monotonic() - start_s:.0f} s")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
