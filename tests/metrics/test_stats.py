"""Summaries and intervals against values known elsewhere."""

from __future__ import annotations

import pytest

from lab.metrics.stats import interval_of_difference, interval_over_launches, summarize


def test_quantiles_interpolate_between_order_statistics() -> None:
    summary = summarize([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (summary.n, summary.mean, summary.p50, summary.min, summary.max) == (5, 3.0, 3.0, 1.0, 5.0)
    assert summary.p90 == pytest.approx(4.6)


def test_nothing_measured_is_none_with_a_reason() -> None:
    assert summarize([], "the server was silent").reason == "the server was silent"
    assert summarize([]).mean is None


def test_one_launch_has_no_interval() -> None:
    assert interval_over_launches([10.0]) is None


def test_students_interval_over_three_launches() -> None:
    # mean 10, s = 1, t(0.975, 2) = 4.3027: 10 ± 4.3027 / sqrt(3)
    assert interval_over_launches([9.0, 10.0, 11.0]) == pytest.approx((10 - 2.4841, 10 + 2.4841), abs=1e-4)


def test_difference_of_two_weeks_has_welchs_interval() -> None:
    # both sides scatter by 1 over three launches: 2.7764 (t with 4 degrees of freedom) times sqrt(1/3 + 1/3)
    low, high = interval_of_difference((1, 2, 3), (2, 3, 4)) or (0, 0)
    assert (low, high) == pytest.approx((1 - 2.26696, 1 + 2.26696), abs=1e-4)
    assert interval_of_difference((1.0, 1.0), (3.0, 3.0)) == (2.0, 2.0)
    assert interval_of_difference((1.0,), (3.0, 3.0)) is None
