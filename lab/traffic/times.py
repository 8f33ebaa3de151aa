"""Moments and durations as logs write them: numbers of some unit, or ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

Unit = Literal["s", "ms", "us", "ns"]

PER_SECOND: dict[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

START_KEYS = (
    "start_time", "startTime", "request_start_time", "request_time", "requestTime", "requestedAt", "requested_at",
    "request_timestamp", "arrival_time", "arrived_at", "received_at", "created_at", "createdAt", "timestamp",
    "@timestamp", "time", "ts", "datetime", "date",
)  # fmt: skip
"""Fields that say when a request came, in the order in which they are believed."""
END_KEYS = ("end_time", "endTime", "request_end_time", "completed_at", "completedAt", "finished_at", "finishedAt",
            "responded_at", "receivedAt", "response_timestamp")  # fmt: skip
_DURATIONS = {
    "duration_s": 1.0, "latency_s": 1.0, "elapsed_s": 1.0, "duration_seconds": 1.0, "latency_seconds": 1.0,
    "duration_ms": 1e3, "latency_ms": 1e3, "elapsed_ms": 1e3, "response_time_ms": 1e3, "total_time_ms": 1e3,
    "durationMs": 1e3, "latencyMs": 1e3, "responseTimeMs": 1e3,
}  # fmt: skip
_NO_UNIT = ("duration", "latency", "elapsed", "response_time")

_EARLIEST_S = 631_152_000.0
"""1990: a number below is no moment of a calendar, in whichever unit."""
_LATEST_S = 4_102_444_800.0
"""2100."""
MOST_DURATION_S = 7 * 86_400.0


class BrokenTime(ValueError):
    """A field that ought to be a moment and is none."""


def moment(value: Any) -> tuple[float, bool]:
    """Seconds since 1970 and True, or a number that counts from anywhere and False.

    Raises:
        BrokenTime: it is neither.
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(text)
        except ValueError:
            try:
                # the logging module of Python writes a comma before the milliseconds
                read = datetime.fromisoformat(text.replace(",", "."))
                at_s = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                raise BrokenTime from None
            if not _EARLIEST_S <= at_s <= _LATEST_S:
                raise BrokenTime from None
            return at_s, True
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e20:
        raise BrokenTime
    for per_second in PER_SECOND.values():
        if _EARLIEST_S <= value / per_second <= _LATEST_S:
            return value / per_second, True
    return float(value), False


def duration(places: tuple[Mapping[str, Any], ...]) -> tuple[float | None, bool]:
    """Seconds that a request took, where a field with its unit says so; and True where only one without a unit does."""
    for place in places:
        for key, per_second in _DURATIONS.items():
            value = place.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                taken_s = value / per_second
                if 0 <= taken_s <= MOST_DURATION_S:
                    return taken_s, False
    return None, any(isinstance(place.get(key), int | float) for place in places for key in _NO_UNIT)


def first_of(places: tuple[Mapping[str, Any], ...], keys: tuple[str, ...]) -> Any:
    """The value of the first key that any place has; None when none has one."""
    ranks, best, found = _ranks(keys), len(keys), None
    for place in places:  # the fields of a record are fewer than the keys it might have
        for key, value in place.items():
            rank = ranks.get(key, best)
            if rank < best and value is not None:
                best, found = rank, value
    return found


@cache
def _ranks(keys: tuple[str, ...]) -> dict[str, int]:
    return {key: rank for rank, key in enumerate(keys)}
