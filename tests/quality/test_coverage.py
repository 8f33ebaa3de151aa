"""Coverage decides before the scores do, and no rounding decides at its limits."""

from __future__ import annotations

import pytest

from lab.quality.coverage import no_verdict
from lab.records import TaskScore, Unscored


def covered(scored: int, n: int) -> TaskScore:
    unscored = {Unscored.EMPTY: n - scored} if scored < n else {}
    score = scored / n if scored else None
    answered = 1.0 if scored else None
    return TaskScore(task="t", metric="m", n=n, unscored=unscored, score=score, answered_score=answered, stderr=None)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (100, 100, None),
        (98, 98, None),
        (99, 98, None),  # 0.99 - 0.98 is more than 0.01 in binary fractions
        (100, 98, "coverage-differs"),
        (97, 97, "coverage-low"),
        (100, 97, "coverage-low"),
        (0, 100, "coverage-low"),
    ],
)
def test_verdict_needs_two_coverages_that_are_high_and_alike(one: int, other: int, reason: str | None) -> None:
    assert no_verdict(covered(one, 100), covered(other, 100)) == reason
    assert no_verdict(covered(other, 100), covered(one, 100)) == reason
