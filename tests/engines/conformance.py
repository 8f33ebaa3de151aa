"""Runs the tests that carry a conformance mark and writes what passed beside the adapters.

    python -m tests.engines.conformance [PATHS]

A test says what it shows: `@pytest.mark.conformance("vllm", "parser")`. A level of an engine is written when every
test of it that ran passed; levels that did not run are left as they were. `real` is for tests that drive a real
program, and for no other.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from lab.engines.conformance import RECORD, Conformance, Level, Passed, adapter_sha256, read_conformance
from lab.version import __version__

DEFAULT_PATHS = ("tests/engines", "tests/test_run_attached.py")


class Recorder:
    """A pytest plugin that counts the marked tests by what became of them."""

    def __init__(self) -> None:
        self.passed: dict[tuple[str, Level], int] = defaultdict(int)
        self.broken: set[tuple[str, Level]] = set()
        self._marks: dict[str, list[tuple[str, Level]]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            marks = [mark.args for mark in item.iter_markers("conformance")]
            for engine, level in marks:
                assert level in get_args(Level), f"{item.nodeid}: no level is called {level}"
                adapter_sha256(engine)  # an engine without an adapter cannot conform
            self._marks[item.nodeid] = list(marks)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for mark in self._marks.get(report.nodeid, ()):
            if report.failed or report.skipped:
                self.broken.add(mark)
            elif report.when == "call":
                self.passed[mark] += 1

    def levels(self) -> dict[tuple[str, Level], int]:
        """Tests of every level of which none failed and none was skipped."""
        return {mark: count for mark, count in self.passed.items() if mark not in self.broken}


def write(levels: dict[tuple[str, Level], int], path: Path = RECORD) -> None:
    """Put these levels into the record; the others stay."""
    record = {engine: dict(passed) for engine, passed in read_conformance(path).root.items()}
    for (engine, level), tests in levels.items():
        record.setdefault(engine, {})[level] = Passed(
            tests=tests,
            lab_version=__version__,
            date=datetime.now(UTC).date().isoformat(),
            adapter_sha256=adapter_sha256(engine),
        )
    ordered = Conformance({engine: record[engine] for engine in sorted(record)})
    path.write_text(ordered.model_dump_json(indent=1) + "\n", encoding="utf-8")


def main(paths: Iterable[str]) -> int:
    """Run the marked tests below `paths` and write what passed; returns pytest's exit code."""
    recorder = Recorder()
    code = pytest.main(["-m", "conformance", *paths], plugins=[recorder])
    levels = recorder.levels()
    write(levels)
    for (engine, level), tests in sorted(levels.items()):
        print(f"{engine:<14} {level:<10} {tests} tests")
    for engine, level in sorted(recorder.broken):
        print(f"{engine:<14} {level:<10} not written: a test failed or was skipped")
    return int(code)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or DEFAULT_PATHS))
