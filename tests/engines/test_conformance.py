"""The status of an adapter comes from tests that passed with the adapter as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.engines.conformance import Conformance, Passed, Standing, adapter_sha256, read_conformance, standing
from tests.engines.conformance import Recorder, write

PASSED = Passed(tests=3, lab_version="1", date="2026-11-29", adapter_sha256=adapter_sha256("ollama"))


def test_an_adapter_that_no_test_has_checked_stands_at_none() -> None:
    assert standing("ollama", Conformance({})) == Standing(level=None, changed=False, date=None)


def test_the_strongest_level_that_passed_with_the_adapter_as_it_is_counts() -> None:
    older = PASSED.model_copy(update={"adapter_sha256": "0" * 64})
    both = Conformance({"ollama": {"real": older, "imitation": PASSED}})
    assert standing("ollama", both) == Standing(level="imitation", changed=False, date="2026-11-29")
    assert standing("ollama", Conformance({"ollama": {"real": older}})) == Standing(
        level="real", changed=True, date="2026-11-29"
    )


def test_a_level_is_written_only_when_each_of_its_tests_passed(tmp_path: Path, pytester_run: Recorder) -> None:
    path = tmp_path / "conformance.json"
    path.write_text(Conformance({"tgi": {"imitation": PASSED}}).model_dump_json(), encoding="utf-8")
    write(pytester_run.levels(), path)
    record = read_conformance(path).root
    assert record["ollama"]["imitation"].tests == 2
    assert "parser" not in record["ollama"]  # one of its tests failed
    assert "real" not in record["ollama"]  # its only test was skipped
    assert record["tgi"]["imitation"] == PASSED  # did not run, stays


@pytest.fixture
def pytester_run(tmp_path: Path) -> Recorder:
    """What a recorder saw of five small tests."""
    file = tmp_path / "test_five.py"
    file.write_text(
        "import pytest\n"
        "show = pytest.mark.conformance\n"
        "@show('ollama', 'imitation')\ndef test_a(): pass\n"
        "@show('ollama', 'imitation')\ndef test_b(): pass\n"
        "@show('ollama', 'parser')\ndef test_c(): pass\n"
        "@show('ollama', 'parser')\ndef test_d(): assert 0\n"
        "@show('ollama', 'real')\n@pytest.mark.skip\ndef test_e(): pass\n",
        encoding="utf-8",
    )
    recorder = Recorder()
    pytest.main(["-q", "-p", "no:cacheprovider", "--import-mode=importlib", str(file)], plugins=[recorder])
    return recorder
