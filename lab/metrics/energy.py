"""Energy of a span of time, from a counter that was read now and then."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def energy_between(readings: Sequence[tuple[float, float]], start_s: float, end_s: float) -> float | None:
    """Joules a counter rose between two moments.

    Args:
        readings: (second, joules) in order of time, from one counter.
        start_s: begin of the span, same clock.
        end_s: its end.

    Returns:
        The rise, linear between two readings; None when the readings do not cover the span.
    """
    if not readings or readings[0][0] > start_s or readings[-1][0] < end_s or end_s <= start_s:
        return None
    return _at(readings, end_s) - _at(readings, start_s)


def _at(readings: Sequence[tuple[float, float]], at_s: float) -> float:
    after = bisect_left(readings, at_s, key=lambda reading: reading[0])
    if readings[after][0] == at_s:
        return readings[after][1]
    (left_s, left_j), (right_s, right_j) = readings[after - 1], readings[after]
    return left_j + (right_j - left_j) * (at_s - left_s) / (right_s - left_s)
