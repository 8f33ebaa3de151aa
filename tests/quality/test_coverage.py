"""Coverage decides before the scores do, and no rounding decides at its limits."""

from __future__ import annotations

import pytest

from lab.quality.coverage import NoVerdict, is_low, no_verdict


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (100, 100, None),
        (98, 98, None),
        (99, 98, None),  # 0.99 - 0.98 is more than 0.01 in binary fractions
        (100, 98, NoVerdict.COVERAGE_APART),
        (97, 97, NoVerdict.COVERAGE_LOW),
        (100, 97, NoVerdict.COVERAGE_LOW),
        (0, 100, NoVerdict.NO_ITEM),
    ],
)
def test_verdict_needs_two_coverages_that_are_high_and_alike(one: int, other: int, reason: NoVerdict | None) -> None:
    assert no_verdict(100, 100 - one, 100 - other, min(one, other)) is reason
    assert no_verdict(100, 100 - other, 100 - one, min(one, other)) is reason


@pytest.mark.parametrize(("items", "unscored", "low"), [(100, 2, False), (100, 3, True), (50, 1, False), (49, 1, True)])
def test_one_side_alone_can_be_too_low(items: int, unscored: int, low: bool) -> None:
    assert is_low(items, unscored) is low
