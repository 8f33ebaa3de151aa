"""Counters of an engine under the lab's names."""

from __future__ import annotations

from lab.metrics.engine_use import engine_use
from lab.records import Sample

NAMES = {
    "running": "e:running",
    "waiting": "e:waiting",
    "prefix_hits": "e:hits_total",
    "prefix_queries": "e:queries_total",
    "generated_tokens": "e:tokens_total",
    "preemptions": "e:paused",
}


def scrape(at_s: float, **values: float) -> list[Sample]:
    return [Sample(at_s=at_s, name=f"e:{name}", value=value) for name, value in values.items()]


def test_gauges_give_their_most_and_counters_their_rise() -> None:
    samples = [
        *scrape(1.0, running=1, hits_total=100, queries_total=1000, tokens_total=50, paused=0),
        *scrape(2.0, running=4, hits_total=130, queries_total=1040, tokens_total=90, paused=2),
        *scrape(3.0, running=2, hits_total=150, queries_total=1200, tokens_total=250, paused=0),
    ]
    use = engine_use(samples, NAMES)
    assert use is not None
    assert (use.running_max, use.prefix_hit_share, use.generated_tokens, use.preemptions) == (4, 0.25, 200, 2)


def test_what_is_not_exposed_is_none_and_never_zero() -> None:
    use = engine_use(scrape(1.0, running=3), NAMES)
    assert use is not None
    assert (use.waiting_max, use.kv_use_max, use.prompt_tokens, use.prefix_hit_share) == (None, None, None, None)
    assert engine_use([], NAMES) is None


def test_several_series_of_one_name_are_added_up() -> None:
    samples = [Sample(at_s=1.0, name=f'e:running{{engine="{i}"}}', value=2.0) for i in (0, 1, 2)]
    use = engine_use(samples, NAMES)
    assert use is not None
    assert use.running_max == 6.0


def test_a_share_of_no_queries_is_none() -> None:
    use = engine_use(scrape(1.0, hits_total=5, queries_total=7), NAMES)
    assert use is not None
    assert use.prefix_hit_share is None
