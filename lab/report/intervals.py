"""Intervals over launches: the only thing that may be called an interval in a report."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from scipy.stats import t as student_t


def launch_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Student-t interval of the mean over independent launches, or None for fewer than two.

    Args:
        values: one value per fresh launch of the same spec.
        level: coverage, 0 to 1.

    Source: mean ± t(1 − (1 − level)/2, n − 1) · s / √n.
    """
    if len(values) < 2:
        return None
    centre = fmean(values)
    half = float(student_t.ppf(0.5 + level / 2, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return centre - half, centre + half
