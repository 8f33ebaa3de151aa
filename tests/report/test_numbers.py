"""Numbers that can be checked in the head."""

from __future__ import annotations

import pytest

from lab.report.messages import LANGS, messages
from lab.report.numbers import (
    count,
    day,
    fraction,
    microseconds,
    milliseconds,
    month,
    percent,
    plain,
    signed_milliseconds,
    significant,
)


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


@pytest.mark.parametrize(
    ("value", "text"),
    [(4, "4"), (2.5, "2.5"), (2.0, "2"), (1e-7, "0.0000001"), (1e6, "1,000,000"), (1024, "1,024"), (0.125, "0.125")],
)
def test_a_decided_number_keeps_its_digits(value: float, text: str) -> None:
    assert plain(value) == text


def test_small_units() -> None:
    assert (microseconds(7.3e-6), percent(0.134), percent(-0.2)) == ("7.30", "13.4 %", "−20.0 %")


def test_days_and_months_are_written_as_the_language_writes_them() -> None:
    assert [day("2026-11-29", messages(lang)) for lang in LANGS] == ["November 29, 2026", "2026年11月29日"]
    assert [month("2026-11", messages(lang)) for lang in LANGS] == ["November 2026", "2026年11月"]
