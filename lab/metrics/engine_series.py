"""How full an engine was over time: requests in work, requests that waited, and its KV cache, thinned for a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lab.metrics.engine_use import combined
from lab.records import MOST_POINTS, EngineSeries, Sample


def engine_series(samples: Sequence[Sample], names: Mapping[str, str], begin_s: float) -> EngineSeries | None:
    """What the engine's own counters said over a run; None when it exposes none of the three.

    Of looks that are drawn as one point the largest value stays, so that no peak is lost.

    Args:
        samples: in order of time.
        names: the lab's name to the engine's, without labels.
        begin_s: `perf_counter` second that is 0: the first send of the load.
    """
    found = {name: combined(samples, names, name) for name in ("running", "waiting", "kv_use")}
    times = sorted({at_s for series in found.values() for at_s in series})
    if not times:
        return None
    looks = math.ceil(len(times) / MOST_POINTS)
    groups = [times[start : start + looks] for start in range(0, len(times), looks)]

    def most(name: str) -> tuple[float | None, ...] | None:
        series = found[name]
        if not series:
            return None
        return tuple(max((series[at_s] for at_s in group if at_s in series), default=None) for group in groups)

    return EngineSeries(
        at_s=tuple(group[0] - begin_s for group in groups),
        running=most("running"),
        waiting=most("waiting"),
        kv_use=most("kv_use"),
    )
