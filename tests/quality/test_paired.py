"""Two paths on the same items: values that can be counted, and the same ones from scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from lab.quality.paired import (
    NonInferiority,
    NoVerdict,
    bootstrap_interval,
    compare,
    holm,
    mcnemar,
    no_verdict,
    non_inferiority,
    score_interval,
    sign_flip,
)

Z = 1.959963984540054


def flips(n: int, down: int, up: int) -> tuple[dict[str, float | str], dict[str, float | str]]:
    """`n` items of which `down` went from 1 to 0 and `up` from 0 to 1; the rest stayed at 1."""
    first = [1.0] * down + [0.0] * up + [1.0] * (n - down - up)
    second = [0.0] * down + [1.0] * up + [1.0] * (n - down - up)
    return tuple({f"i{k}": score for k, score in enumerate(side)} for side in (first, second))


# ---------------------------------------------------------------- p


def test_mcnemar_is_a_row_of_coin_tosses() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(0, 6) == pytest.approx(2 / 64)
    # 1 or fewer of 7 heads: 1 + 7 of 128, both tails
    assert mcnemar(1, 6) == mcnemar(6, 1) == pytest.approx(16 / 128)


def test_turning_signs_gives_mcnemar_for_whole_scores_whatever_stayed_the_same() -> None:
    assert sign_flip([1, 1, 1, 1, 1, 1, -1]) == pytest.approx(mcnemar(1, 6))
    assert sign_flip([0.0] * 50 + [1, 1, 1, 1, 1, 1, -1]) == pytest.approx(mcnemar(1, 6))
    assert sign_flip([0.0, 0.0]) == sign_flip([0.0, 0.4]) == 1.0


def test_turning_signs_turns_whole_groups() -> None:
    """Six items that rose together are one coin toss, not six."""
    assert sign_flip([1.0] * 6) == pytest.approx(2 / 64)
    assert sign_flip([1.0] * 6, ["one passage"] * 6) == 1.0
    assert sign_flip([1.0] * 6, ["a", "a", "b", "b", "c", "c"]) == pytest.approx(2 / 8)


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # 0.01 x 3, then 0.03 x 2, then 0.04 x 1 is smaller than the one before and takes its place
    assert holm((0.04, 0.01, 0.03)) == pytest.approx((0.06, 0.03, 0.06))
    assert holm((0.5, None, 0.6)) == (1.0, None, 1.0)
    assert holm(()) == ()
    assert holm((0.2,)) == (0.2,)


# ---------------------------------------------------------------- intervals


def test_no_flip_still_leaves_room_for_a_difference() -> None:
    """Without a flip the score interval is ± z^2 / (n + z^2)."""
    for n in (1, 12, 1319):
        assert score_interval(0, 0, n) == pytest.approx((-(Z**2) / (n + Z**2), Z**2 / (n + Z**2)))


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize(("down", "up"), [(0, 3), (0, 4), (1, 6), (1, 7), (4, 13), (4, 14)])
def test_score_interval_leaves_out_zero_when_mcnemars_statistic_is_large(down: int, up: int, n: int) -> None:
    low, high = score_interval(down, up, n)
    assert (low > 0) == ((up - down) ** 2 / (up + down) > Z**2)
    assert low < (up - down) / n < high
    assert score_interval(up, down, n) == pytest.approx((-high, -low))


def test_ends_of_the_score_interval_are_where_the_likeliest_table_is_z_away() -> None:
    """The same ends, from a direct search for the likeliest share of falling items."""
    down, up, n = 2, 9, 40
    for end, side in zip(score_interval(down, up, n), (1, -1), strict=True):

        def surprise(fell: float, end: float = end) -> float:
            rose = fell + end
            stayed = 1 - fell - rose
            return -(up * np.log(rose) + down * np.log(fell) + (n - up - down) * np.log(stayed))

        least, most = max(0.0, -end) + 1e-9, (1 - end) / 2 - 1e-9
        fell = optimize.minimize_scalar(surprise, bounds=(least, most), method="bounded", options={"xatol": 1e-10}).x
        deviation = np.sqrt(n * (2 * fell + end - end**2))
        assert (up - down - n * end) / deviation == pytest.approx(side * Z, abs=1e-3)


def test_all_items_flipped_ends_at_one() -> None:
    low, high = score_interval(0, 10, 10)
    assert high == 1.0
    assert 0.3 < low < 0.8


def test_bootstrap_is_close_to_the_t_interval_and_the_same_every_time() -> None:
    differences = np.random.default_rng(1).normal(0.1, 0.2, 400)
    low, high = bootstrap_interval(differences)
    known = stats.ttest_1samp(differences, 0).confidence_interval()
    assert (low, high) == pytest.approx((known.low, known.high), abs=0.002)
    assert bootstrap_interval(differences) == (low, high)


def test_items_of_one_source_are_drawn_together() -> None:
    """Five copies of every item say no more than one of them; taken apart they would claim sqrt(5) more."""
    once = np.random.default_rng(2).normal(0, 0.3, 60)
    copies, sources = np.repeat(once, 5), [source for source in range(60) for _ in range(5)]
    low, high = bootstrap_interval(once)
    grouped_low, grouped_high = bootstrap_interval(copies, sources)
    alone_low, alone_high = bootstrap_interval(copies)
    assert grouped_high - grouped_low == pytest.approx(high - low, rel=0.05)
    assert (high - low) / (alone_high - alone_low) == pytest.approx(5**0.5, rel=0.05)


# ---------------------------------------------------------------- comparing


def test_flips_are_counted_both_ways() -> None:
    found = compare(*flips(50, 3, 4))
    assert (found.n, found.down, found.up) == (50, 3, 4)
    assert found.difference == pytest.approx(0.02)
    assert (found.mean_first, found.mean_second) == pytest.approx((46 / 50, 47 / 50))
    assert (found.low, found.high) == score_interval(3, 4, 50)
    assert found.p == 1.0
    assert found.method == "score"
    assert found.verdict is NonInferiority.UNDECIDED


def test_equal_scores_with_other_items_right_are_not_the_same() -> None:
    quiet, busy = compare(*flips(200, 0, 0)), compare(*flips(200, 20, 20))
    assert quiet.difference == busy.difference == 0
    assert quiet.verdict is busy.verdict is NonInferiority.UNDECIDED
    assert quiet.high is not None and busy.high is not None and busy.high > 3 * quiet.high
    assert quiet.visible is not None and busy.visible is not None and busy.visible > 2 * quiet.visible


def test_verdict_comes_from_the_interval_and_the_margin() -> None:
    assert non_inferiority((-0.009, 0.02), 0.01) is NonInferiority.SHOWN
    assert non_inferiority((-0.011, 0.02), 0.01) is NonInferiority.UNDECIDED
    assert non_inferiority((-0.05, -0.011), 0.01) is NonInferiority.NOT_SHOWN
    # 3000 items, 5 flips each way: 1.96 sqrt(10) / 3000 is 0.2 points
    assert compare(*flips(3000, 5, 5)).verdict is NonInferiority.SHOWN
    assert compare(*flips(100, 20, 0)).verdict is NonInferiority.NOT_SHOWN
    assert compare(*flips(100, 20, 0), margin=0.5).verdict is NonInferiority.SHOWN


def test_only_items_scored_on_both_sides_enter_and_the_rest_has_reasons() -> None:
    found = compare(
        {"a": 1.0, "b": 0.0, "c": "truncated", "d": 1.0, "e": "empty"},
        {"a": 1.0, "b": 1.0, "c": 1.0, "d": "truncated", "f": 0.5},
    )
    assert (found.items, found.n, found.up, found.down) == (6, 2, 1, 0)
    assert found.unscored_first == {"truncated": 1, "empty": 1, "not_asked": 1}
    assert found.unscored_second == {"truncated": 1, "not_asked": 1}
    assert found.coverage == pytest.approx((3 / 6, 4 / 6))
    assert found.verdict is None
    assert found.no_verdict is NoVerdict.COVERAGE_LOW


def test_nothing_to_compare_gives_no_number() -> None:
    found = compare({"a": "empty"}, {"a": 1.0})
    assert found.no_verdict is NoVerdict.NO_ITEM
    numbers = (found.mean_first, found.difference, found.low, found.high, found.p, found.visible, found.verdict)
    assert numbers == (None,) * 7
    assert compare({}, {}).coverage is None


def test_coverage_is_counted_in_whole_items() -> None:
    assert no_verdict(100, 2, 2, 98) is None
    assert no_verdict(100, 3, 3, 97) is NoVerdict.COVERAGE_LOW
    assert no_verdict(100, 0, 1, 99) is None
    assert no_verdict(100, 0, 2, 98) is NoVerdict.COVERAGE_APART
    assert no_verdict(50, 1, 1, 48) is None


def test_scores_between_zero_and_one_get_a_bootstrap() -> None:
    generator = np.random.default_rng(3)
    first = {f"i{k}": float(score) for k, score in enumerate(generator.uniform(0.2, 0.8, 300))}
    second: dict[str, float | str] = {
        item: score + float(generator.normal(0.05, 0.05)) for item, score in first.items()
    }
    found = compare(first, second)
    known = stats.ttest_rel([second[item] for item in first], list(first.values())).confidence_interval()
    assert found.method == "bootstrap"
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=0.001)
    assert found.p is not None and found.p < 0.001
    assert found.verdict is NonInferiority.SHOWN


def test_few_changed_items_never_make_a_narrow_interval() -> None:
    """One of twelve rose by a half: a plain bootstrap would say that nothing can have fallen."""
    first: dict[str, float | str] = {f"i{k}": 0.5 for k in range(12)}
    found = compare(first, first | {"i0": 1.0})
    assert bootstrap_interval([0.5] + [0.0] * 11)[0] == 0
    assert found.low is not None and found.low < -0.1
    assert found.verdict is NonInferiority.UNDECIDED
    still = compare(first, first)
    assert still.low is not None and still.high is not None
    assert still.low < -0.1 and still.high > 0.1


def test_whole_scores_of_one_source_are_compared_by_source() -> None:
    first, second = flips(40, 0, 8)
    apart = compare(first, second)
    together = compare(first, second, sources={f"i{k}": f"passage {k // 8}" for k in range(40)})
    assert apart.method == "score" and together.method == "bootstrap-by-source"
    assert apart.p == pytest.approx(2 / 256) and together.p == 1.0
    assert apart.difference == together.difference
    assert together.visible is None  # five sources show nothing
