"""What the engine said of itself while the load ran, under the lab's names.

An engine spells its counters its own way, and not each has each: what it does not expose is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.records import EngineUse, Sample

SHARES = frozenset({"kv_use"})
"""Values between 0 and 1, one for each engine inside an engine: two halves are no whole."""


def engine_use(samples: Sequence[Sample], names: Mapping[str, str]) -> EngineUse | None:
    """A summary of what was scraped; None when nothing was.

    Args:
        samples: in order of time.
        names: the lab's name to the engine's, without labels; a name that ends in `_total` is a counter. Several
            series of one name (by engine, by source) are added up; of shares the largest counts.
    """
    if not samples:
        return None

    def series(name: str) -> list[float]:
        return [value for _, value in sorted(combined(samples, names, name).items())]

    def most(name: str) -> float | None:
        return max(series(name), default=None)

    def rise(name: str) -> float | None:
        values = series(name)
        if not values:
            return None
        return values[-1] - values[0] if names[name].endswith("_total") else max(values)

    hits, queries = rise("prefix_hits"), rise("prefix_queries")
    return EngineUse(
        running_max=most("running"),
        waiting_max=most("waiting"),
        kv_use_max=most("kv_use"),
        prefix_hit_share=None if hits is None or not queries else hits / queries,
        preemptions=rise("preemptions"),
        prompt_tokens=rise("prompt_tokens"),
        generated_tokens=rise("generated_tokens"),
    )


def combined(samples: Sequence[Sample], names: Mapping[str, str], name: str) -> dict[float, float]:
    """One value of the lab for each moment, out of all series that the engine spells so; empty: not exposed."""
    metric = names.get(name)
    found: dict[float, float] = {}
    for sample in samples:
        if metric is None or sample.name.partition("{")[0] != metric:
            continue
        before = found.get(sample.at_s, 0.0)
        found[sample.at_s] = max(before, sample.value) if name in SHARES else before + sample.value
    return found
