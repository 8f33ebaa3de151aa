"""How full an engine was over time: requests in work, requests that waited, and its KV cache, thinned for a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from lab.metrics.engine_use import combined
from lab.records import MOST_POINTS, EngineSeries, Sample


def engine_series(samples: Sequence[Sample], names: Mapping[str, str], begins: Sequence[float]) -> EngineSeries | None:
    """What the engine's own counters said over a run; None when it exposes none of the three.

    Every level keeps as many points as any other, however short it is. Of looks that become one point the largest
    value stays, so that no peak is lost.

    Args:
        samples: in order of time.
        names: the lab's name to the engine's, without labels.
        begins: `perf_counter` second of the first send of each level, in order; looks before the first are left out.
    """
    found = {name: combined(samples, names, name) for name in ("running", "waiting", "kv_use")}
    times = sorted({at_s for series in found.values() for at_s in series})
    groups: list[list[float]] = []
    for begin, end in pairwise((*begins, math.inf)):
        inside = [at_s for at_s in times if begin <= at_s < end]
        looks = math.ceil(len(inside) / max(MOST_POINTS // len(begins), 1))
        groups += [inside[start : start + looks] for start in range(0, len(inside), max(looks, 1))]
    groups = groups[:MOST_POINTS]
    if not groups:
        return None

    def most(name: str) -> tuple[float | None, ...] | None:
        series = found[name]
        if not series:
            return None
        return tuple(max((series[at_s] for at_s in group if at_s in series), default=None) for group in groups)

    return EngineSeries(
        at_s=tuple(group[0] - begins[0] for group in groups),
        running=most("running"),
        waiting=most("waiting"),
        kv_use=most("kv_use"),
    )
