"""Numbers as they are printed: three significant digits, the same in every language, units in the heading."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

from babel.dates import format_skeleton

from lab.report.messages import Messages


def significant(value: float, digits: int = 3) -> str:
    """`value` with that many significant digits, thousands apart, never in scientific notation."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{min(max(decimals, 0), 6)}f}"


def milliseconds(seconds: float) -> str:
    """Seconds, printed as milliseconds."""
    return significant(seconds * 1000)


def signed_milliseconds(seconds: float) -> str:
    """Seconds, printed as milliseconds with the sign in front."""
    return ("+" if seconds > 0 else "−" if seconds < 0 else "") + milliseconds(abs(seconds))


def fraction(value: float) -> str:
    """A share between 0 and 1 with three decimals, as scores are written."""
    return f"{value:.3f}"


def points(share: float) -> str:
    """A share as points of 100, one decimal."""
    return f"{100 * share:.1f}".replace("-0.0", "0.0").replace("-", "−")


def signed_points(share: float) -> str:
    """The same with the sign in front."""
    text = points(share)
    return text if text == "0.0" or text.startswith("−") else f"+{text}"


def signed(value: float) -> str:
    """A difference of counts with its sign."""
    return ("+" if value > 0 else "−" if value < 0 else "") + count(abs(value))


def bits(value: float) -> str:
    """Bits per byte, four decimals."""
    return f"{value:.4f}"


def signed_bits(value: float) -> str:
    """A difference in bits per byte, four decimals, with its sign."""
    text = f"{abs(value):.4f}"
    return text if float(text) == 0 else f"{'+' if value > 0 else '−'}{text}"


def count(value: float) -> str:
    """A whole number, thousands apart; what is not whole keeps one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def microseconds(seconds: float) -> str:
    """Seconds, printed as microseconds."""
    return significant(seconds * 1e6)


def percent(share: float) -> str:
    """A share, printed in per cent; a negative one with its sign."""
    return f"{'−' if share < 0 else ''}{significant(abs(share) * 100)} %"


def plain(value: float) -> str:
    """A number that somebody decided, such as a rate: all its digits, thousands apart, no exponent."""
    text = format(Decimal(repr(value)), ",f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float, t: Messages) -> str:
    """A time span in the unit a person would use for it: seconds, minutes or hours."""
    for key, unit in (("span-h", 3600), ("span-min", 60)):
        if seconds >= unit:
            return t(key, n=significant(seconds / unit))
    return t("span-s", n=significant(seconds))


def week(name: str, t: Messages) -> str:
    """An ISO week with its days, as the language writes dates."""
    year, number = name.split("-W")
    first, last = (date.fromisocalendar(int(year), int(number), day) for day in (1, 7))
    return t("week-days", week=name, first=first, last=last)


def day(name: str, t: Messages) -> str:
    """A day of the ISO calendar, as the language writes dates: 2026-11-29 is 2026年11月29日."""
    return t("day", day=date.fromisoformat(name))


def month(name: str, t: Messages) -> str:
    """A month of the ISO calendar, as the language writes it: 2026-11 is November 2026."""
    year, number = name.split("-")
    return format_skeleton("yMMMM", date(int(year), int(number), 1), locale=t.lang)
