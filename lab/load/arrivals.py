"""Arrival laws of an open loop: when each request is to be sent, decided before the first one."""

from __future__ import annotations

import random
from typing import Literal


def schedule(
    law: Literal["constant", "poisson"], rate_rps: float, count: int, duration_s: float | None, seed: int
) -> tuple[float, ...]:
    """Moments of an open loop, seconds from its start.

    Args:
        law: `constant` spaces requests evenly; `poisson` draws exponential gaps, so that arrivals are independent.
        rate_rps: mean rate.
        count: the most requests.
        duration_s: none is later than this; None for no limit.
        seed: the same seed gives the same moments.

    Returns:
        Not decreasing; the first constant one is at 0, the first Poisson one after its gap.
    """
    if law == "constant":
        moments = [i / rate_rps for i in range(count)]
    else:
        draw = random.Random(seed)
        moments, at_s = [], 0.0
        for _ in range(count):
            at_s += draw.expovariate(rate_rps)
            moments.append(at_s)
    return tuple(at_s for at_s in moments if duration_s is None or at_s <= duration_s)
