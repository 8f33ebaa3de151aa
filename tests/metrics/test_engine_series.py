"""How full an engine was over time: relative to the first send, thinned, and no peak lost."""

from __future__ import annotations

from lab.metrics.engine_series import engine_series
from lab.records import MOST_POINTS, Sample

NAMES = {"running": "e:running", "waiting": "e:waiting", "kv_use": "e:kv"}


def looks(n: int, **values: float) -> list[Sample]:
    return [Sample(at_s=100.0 + at, name=f"e:{name}", value=value) for at in range(n) for name, value in values.items()]


def test_moments_count_from_the_first_send_and_what_is_not_exposed_is_none() -> None:
    found = engine_series(looks(3, running=2, kv=0.25), NAMES, [101.0])
    assert found is not None
    assert found.at_s == (0.0, 1.0)
    assert (found.running, found.waiting, found.kv_use) == ((2, 2), None, (0.25, 0.25))
    assert engine_series(looks(3, something=1), NAMES, [0.0]) is None


def test_a_long_run_is_thinned_and_keeps_its_peak() -> None:
    samples = [one for one in looks(1000, waiting=1) if one.at_s != 600.0]
    samples.append(Sample(at_s=600.0, name="e:waiting", value=40.0))
    found = engine_series(sorted(samples, key=lambda one: one.at_s), NAMES, [100.0])
    assert found is not None and found.waiting is not None
    assert len(found.at_s) == len(found.waiting) <= MOST_POINTS
    assert max(value or 0 for value in found.waiting) == 40.0
    assert (found.at_s[0], found.at_s[1]) == (0.0, 9.0)  # 1000 looks in points of 9


def test_shares_of_two_engines_inside_are_not_added_up() -> None:
    names = [f'e:kv{{engine="{number}"}}' for number in (0, 1)]
    samples = [Sample(at_s=1.0, name=name, value=value) for name, value in zip(names, (0.6, 0.7), strict=True)]
    found = engine_series(samples, NAMES, [0.0])
    assert found is not None and found.kv_use == (0.7,)


def test_a_short_level_keeps_as_many_points_as_a_long_one() -> None:
    found = engine_series(looks(1000, running=1), NAMES, [100.0, 1050.0])
    assert found is not None
    short = [at for at in found.at_s if at >= 950.0]
    assert (len(found.at_s) - len(short), len(short)) == (60, 50)
