"""Arrival laws of an open loop: when each request is to be sent, decided before the first one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from lab.errors import ParamsError
from lab.trace import TraceRow


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


def replayed(rows: Sequence[TraceRow], rate_rps: float, count: int, duration_s: float | None) -> tuple[float, ...]:
    """Moments of a traffic shape, stretched alike until their mean rate is the one asked for.

    Where the rows end they begin again, one mean gap later.

    Args:
        rows: the shape.
        rate_rps: mean rate over the rows.
        count: the most requests.
        duration_s: none is later than this; None for no limit.

    Raises:
        ParamsError: the rows have no moments, or all the same one.
    """
    known = [row.at_s for row in rows if row.at_s is not None]
    if len(known) < len(rows) or known[-1] <= known[0]:
        raise ParamsError(
            "arrival trace needs a traffic shape with moments (at_s) that are not all the same",
            "use arrival: closed with concurrency, or poisson with rate_rps",
        )
    gap_s = (known[-1] - known[0]) / (len(known) - 1)
    stretch = 1 / (rate_rps * gap_s)
    lap_s = known[-1] - known[0] + gap_s
    moments = ((known[i % len(known)] - known[0] + i // len(known) * lap_s) * stretch for i in range(count))
    return tuple(at_s for at_s in moments if duration_s is None or at_s <= duration_s)
