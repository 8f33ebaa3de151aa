"""A remembered digest is the computed one, and is forgotten as soon as anything it follows from differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.plan import load_plan, load_suite_of
from lab.quality.suite import find_suite, load_suite
from lab.suite_pins import ref_of
from tests.conftest import CHECKOUT

ASK = "import sys; from pathlib import Path; from lab.plan import load_plan; load_plan(Path(sys.argv[1])); "


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "suites"


def test_the_second_time_it_is_the_digest_that_was_computed_the_first_time(own_cache: Path) -> None:
    suite = load_suite(find_suite("smoke-mini"))
    assert ref_of(suite) == suite.ref()
    (kept,) = own_cache.iterdir()
    assert kept.read_text() == suite.ref().sha256
    assert ref_of(suite) == suite.ref()


def test_another_suite_and_a_broken_note_are_computed_anew(own_cache: Path) -> None:
    suite = load_suite(find_suite("smoke-mini"))
    first = ref_of(suite)
    fewer = suite.model_copy(update={"tasks": suite.tasks[:1]})
    assert ref_of(fewer) == fewer.ref() != first
    for kept in own_cache.iterdir():
        kept.write_text("no digest")
    assert ref_of(suite) == first


def test_a_plan_that_was_read_before_imports_no_lm_eval(small_plan: tuple[object, Path]) -> None:
    code = ASK + "print('lm_eval' in sys.modules)"
    seen = subprocess.run(
        [sys.executable, "-c", code, str(small_plan[1])], capture_output=True, text=True, cwd=CHECKOUT, check=True
    )
    assert seen.stdout.split() == ["False"]


def test_a_run_believes_no_note(plan_folder: Path, own_cache: Path) -> None:
    path = plan_folder / "harness-check.yaml"
    ref_of(load_suite(find_suite("smoke-mini")))
    (kept,) = own_cache.iterdir()
    kept.write_text("0" * 64)
    asked = next(run for run in load_plan(path).runs if run.spec.quality is not None)
    assert load_suite_of(asked, remembered=True) is not None
    with pytest.raises(LabError, match="has changed since the run was planned"):
        load_suite_of(asked)
