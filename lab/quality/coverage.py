"""Whether two scores may be held against each other at all, by how many items have one.

Leaving out what an engine failed at flatters it, and so does a hole that another engine does not have. Counted in
whole items, so that no rounding decides at the limit.
"""

from __future__ import annotations

from enum import StrEnum

LEAST_PERCENT = 98
"""No verdict when less than this share of the items has a score on either side."""

APART_PERCENT = 1
"""No verdict when the two shares are further apart than this: the difference of the scores may be theirs."""


class NoVerdict(StrEnum):
    """Why there is no verdict."""

    NO_ITEM = "no-item"
    """No item has a score on both sides."""
    COVERAGE_LOW = "coverage-low"
    COVERAGE_APART = "coverage-apart"
    NO_MARGIN = "no-margin"
    """Nobody stated which loss is acceptable, in the unit of this metric."""


def is_low(items: int, unscored: int) -> bool:
    """Whether one side leaves out so many items that its score carries no verdict."""
    return 100 * (items - unscored) < LEAST_PERCENT * items


def no_verdict(items: int, unscored_first: int, unscored_second: int, n: int) -> NoVerdict | None:
    """Why scores of so many answered items carry no verdict; None when they may carry one.

    A side that leaves out its hard items scores well on the rest, so both sides need 98 % of the items, and shares
    within 1 point of each other.

    Args:
        items: asked on either side.
        unscored_first: of them, without a score on the first side.
        unscored_second: the same on the second side.
        n: scored on both.
    """
    if not n:
        return NoVerdict.NO_ITEM
    if is_low(items, max(unscored_first, unscored_second)):
        return NoVerdict.COVERAGE_LOW
    if 100 * abs(unscored_first - unscored_second) > APART_PERCENT * items:
        return NoVerdict.COVERAGE_APART
    return None
