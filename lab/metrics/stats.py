"""Statistics of the lab: summaries over requests, intervals over launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import numpy as np

from lab.records import QUANTILES, Summary


def summarize(values: Sequence[float], reason: str = "no value was measured") -> Summary:
    """Mean and quantiles of `values`.

    Quantiles interpolate linearly between order statistics (numpy's default).

    Args:
        values: any length, any order.
        reason: printed instead of numbers when `values` is empty.
    """
    if not len(values):
        return Summary(n=0, mean=None, p50=None, p90=None, p99=None, min=None, max=None, reason=reason)
    p50, p90, p99 = (float(q) for q in np.quantile(np.asarray(values, dtype=float), (0.5, 0.9, 0.99)))
    return Summary(
        n=len(values), mean=fmean(values), p50=p50, p90=p90, p99=p99, min=float(min(values)), max=float(max(values))
    )


def quantile_grid(values: Sequence[float]) -> tuple[float, ...]:
    """The quantiles at `QUANTILES`, interpolated as in `summarize`; at least one value."""
    return tuple(float(q) for q in np.quantile(np.asarray(values, dtype=float), QUANTILES))


def interval_over_launches(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval for the mean over fresh launches.

    Args:
        values: one value for each launch.
        confidence: coverage, between 0 and 1.

    Returns:
        Low and high end, or None for fewer than two launches: one launch has no interval.
    """
    if len(values) < 2:
        return None
    half = _t_quantile((1 + confidence) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    centre = fmean(values)
    return centre - half, centre + half


def interval_of_difference(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Welch's interval for the mean of `second` minus the mean of `first`, over fresh launches.

    Args:
        first: one value for each launch.
        second: the same of the other side; its launches are others.
        confidence: coverage, between 0 and 1.

    Returns:
        Low and high end, or None where a side has fewer than two launches.

    Source:
        B. L. Welch, Biometrika 34 (1947): degrees of freedom by Welch and Satterthwaite.
    """
    if len(first) < 2 or len(second) < 2:
        return None
    shares = [stdev(values) ** 2 / len(values) for values in (first, second)]
    difference = fmean(second) - fmean(first)
    if not sum(shares):
        return difference, difference
    freedom = sum(shares) ** 2 / sum(
        share**2 / (len(values) - 1) for share, values in zip(shares, (first, second), strict=True)
    )
    half = _t_quantile((1 + confidence) / 2, freedom) * math.sqrt(sum(shares))
    return difference - half, difference + half


def _t_quantile(share: float, freedom: float) -> float:
    """Quantile of Student's t distribution; `scipy.stats.t.ppf` is this function after a second of imports."""
    from scipy.special import stdtrit  # only where intervals are asked for

    return float(stdtrit(freedom, share))
