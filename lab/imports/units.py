"""Times of other tools in seconds, and what a declared unit does to them."""

from __future__ import annotations

from typing import Literal

Unit = Literal["s", "ms"]
"""What a person can declare."""

Known = Literal["in-the-names", "checked", "declared"]
"""How a unit is known: the file says it, its own numbers allow one only, or it was declared."""

FACTORS: dict[str, float] = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "min": 60.0,
}
"""What makes seconds of a number, by the word the file has for its unit."""

ASK = "say what they are: --unit s or --unit ms"
"""The next step where a unit is open or contradicted."""

SLACK = 1.5
"""How far requests in flight, computed from rate and latency, may lie above the concurrency before a unit is wrong."""

APART = 0.05
"""Share by which two statements of one time may differ before their units are taken to be different."""


def contradiction(
    *,
    ttft_s: float | None,
    latency_s: float | None,
    rate_rps: float | None,
    concurrency: int | None,
    duration_s: float | None,
    row_latency_s: float | None,
) -> str | None:
    """Why the times of a summary cannot be in the unit that was taken; None: nothing speaks against it.

    Args:
        ttft_s: mean time to the first token.
        latency_s: mean latency.
        rate_rps: requests a second, over the run.
        concurrency: most requests in flight, as asked.
        duration_s: of the run.
        row_latency_s: mean latency of the rows, in their own unit.
    """
    if latency_s is None:
        return None
    if row_latency_s and abs(latency_s - row_latency_s) > APART * row_latency_s:
        return f"the summary's mean latency is {latency_s:g} s, that of its rows {row_latency_s:g} s"
    if ttft_s is not None and ttft_s > latency_s * (1 + APART):
        return f"the first token comes after {ttft_s:g} s, and the whole answer takes {latency_s:g} s"
    if duration_s is not None and latency_s > duration_s * (1 + APART):
        return f"a request takes {latency_s:g} s in the mean, and the whole run {duration_s:g} s"
    if rate_rps and concurrency and latency_s * rate_rps > concurrency * SLACK:
        return f"{latency_s:g} s at {rate_rps:g} requests a second are more than the {concurrency} asked in flight"
    return None
