"""Numbers that can be checked in the head."""

from __future__ import annotations

import pytest

from lab.report.intervals import launch_interval
from lab.report.numbers import count, fraction, milliseconds, signed_milliseconds, significant


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0123456, "0.0123"),
        (1.5, "1.50"),
        (99.96, "100"),
        (101.25, "101"),
        (12345.0, "12,300"),
        (-2.0, "-2.00"),
    ],
)
def test_three_digits(value: float, text: str) -> None:
    assert significant(value) == text


def test_times_are_printed_in_milliseconds() -> None:
    assert milliseconds(0.05) == "50.0"
    assert signed_milliseconds(0.00031) == "+0.310"
    assert signed_milliseconds(-0.001) == "−1.00"
    assert (fraction(0.5), count(1024.0), count(0.5)) == ("0.500", "1,024", "0.5")


def test_one_launch_has_no_interval() -> None:
    assert launch_interval([100.0]) is None


def test_interval_of_two_launches() -> None:
    # Mean 10, standard error 1, t(0.975, 1) = 12.706.
    assert launch_interval([9.0, 11.0]) == pytest.approx((10 - 12.706, 10 + 12.706), abs=1e-3)
