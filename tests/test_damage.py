"""A few of the damages that `python -m tests.damage` does in bulk, and what lab verify --all tells of a store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.environment import capture
from lab.errors import EvidenceDamaged
from lab.evidence import EvidenceStore
from lab.metrics.instrument import LIMITS
from lab.plan import RunPlan
from lab.records import Certificate, RunState
from tests.damage import damage_many
from tests.test_cli import lab, refused


def test_whatever_is_damaged_is_named_and_gives_no_value(tmp_path: Path) -> None:
    tally = damage_many(25, tmp_path, seed=5)
    assert tally.broken == [], tally.lines()
    assert sum(tally.damages.values()) == 25


def test_verify_all_names_run_file_and_way_and_what_to_do(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path], tmp_path: Path
) -> None:
    def sealed(plan: str) -> str:
        run_id = store.create(small_plan[0].runs[0].spec, plan=plan, plan_digest="p-1", match_id="m-1", varied=())
        store.write(run_id, "engine.log", b"ready\n" * 100)
        store.seal(run_id, RunState.MEASURED)
        return run_id

    whole, cut, lost = sealed("one"), sealed("two"), sealed("three")
    where = ("--runs-dir", str(store.root))
    done = lab("verify", "--all", *where)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [f"3 runs in {store.root}: 3 whole, 0 damaged, 0 not sealed"],
    )
    (store.path(cut) / "engine.log").write_bytes(b"ready\n" * 99)
    shutil.rmtree(store.path(lost))
    store.path(whole).rename(store.root / lost)  # a bundle under the name of another
    done = lab("verify", "--all", *where)
    refused(
        done,
        f"{cut} is damaged engine.log: truncated: 594 bytes, 600 when sealed",
        f"{lost} is damaged manifest.json: it belongs to {whole}",
        f"2 runs in {store.root}: 0 whole, 2 damaged, 0 not sealed",
        "lab run params/two.yaml --resume",
    )
    refused(lab("metrics", cut, *where), f"{cut} is damaged, so nothing in it is used", f"lab verify {cut}")
    refused(lab("verify", *where), "name a run, or --all")
    refused(lab("verify", cut, "--all", *where), "name a run, or --all")


def test_a_certificate_that_has_changed_is_refused_and_named(store: EvidenceStore) -> None:
    machine = capture()
    certificate = Certificate(
        certificate_id="c-aaaaaaaaaa", lab_version="1", week="2026-W48", machine=machine.machine_class, workers=1,
        limits=LIMITS, levels=(), valid_streams=64,
    )  # fmt: skip
    path = store.keep_certificate(machine, certificate)
    assert store.certificate(machine) == certificate
    assert store.damaged_certificates() == ()
    path.write_bytes(path.read_bytes().replace(b"64", b"65"))
    with pytest.raises(EvidenceDamaged, match="not as it was written"):
        store.certificate(machine)
    refused(lab("verify", "--all", "--runs-dir", str(store.root)), "is damaged", path.name, "lab calibrate")
