"""Whether two scores may be held against each other at all, by how many items have one.

Leaving out what an engine failed at flatters it, and so does a hole that another engine does not have. Counted in
whole items, so that no rounding decides at the limit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from lab.records import TaskScore

LEAST_COVERAGE = Fraction(98, 100)
"""Below it a score says too little about its task."""
MOST_APART = Fraction(1, 100)
"""More than this between two coverages, and the difference of the scores may be theirs."""

NoVerdict = Literal["coverage-low", "coverage-differs"]


def no_verdict(one: TaskScore, other: TaskScore) -> NoVerdict | None:
    """Why no verdict may be drawn from two scores of one task, or None when coverage allows one.

    `coverage-low` when either covers less than 98 % of its items, `coverage-differs` when the two are more than
    1 point apart.
    """
    covered = [Fraction(task.scored, task.n) for task in (one, other)]
    if min(covered) < LEAST_COVERAGE:
        return "coverage-low"
    return "coverage-differs" if max(covered) - min(covered) > MOST_APART else None
