"""Pages from pinned evidence read as they did; `python -m tests.report.golden --update` accepts a change."""

from __future__ import annotations

import pytest

from tests.report.golden import FOLDER, difference, readings


def test_every_golden_page_reads_as_it_did() -> None:
    built = readings()
    assert set(FOLDER.iterdir()) == set(built)
    changed = [found for path, text in built.items() if (found := difference(path, text))]
    if changed:
        pytest.fail("python -m tests.report.golden --update accepts this:\n" + "\n".join(changed)[:20_000])
