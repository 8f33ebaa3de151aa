"""When requests came and how long they took: rates, burstiness, and how many were in flight."""

from __future__ import annotations

from array import array
from typing import Literal

import numpy as np
import numpy.typing as npt

from lab.traffic.shape import Arrivals, Clock, Dispersion, InFlight, Why
from lab.traffic.tally import mean_interval
from lab.traffic.times import PER_SECOND, Unit

MOST_MOMENTS = 8_000_000
"""Moments and durations that are kept: 16 bytes each."""
LEAST_MOMENTS = 20
"""Fewer say nothing about how requests arrive."""
LEAST_TIMED = 0.99
"""Share of the requests that need a moment, or a duration, before anything is said of all of them."""
WINDOWS_S = (1.0, 10.0, 60.0, 600.0, 3600.0)
LEAST_WINDOWS = 20
HOUR_S = 3600.0
_PART_S = 60.0

Floats = npt.NDArray[np.float64]


class Moments:
    """Moments and durations, request by request.

    Args:
        kind: of a trace, numbers count milliseconds; of a log, they count what `unit` says.
        unit: unit of numbers that count from anywhere; None: the one of the kind.
    """

    def __init__(self, kind: Literal["mooncake", "log"], unit: Unit | None) -> None:
        self._unit: Unit | None = unit or ("ms" if kind == "mooncake" else None)
        self._at, self._took = array("d"), array("d")
        self._n = self._calendar = self._missing = self._broken = self._back = self._no_unit = 0
        self._timed = self._with_durations = 0
        self._fractions = False
        self._assumed = kind == "mooncake" and unit is None
        self._newest: float | None = None
        self._back_most = 0.0
        self.latest: float | None = None
        """The newest moment so far, seconds; None where there is none yet, or its unit is open."""

    def add(
        self, at: float | None, calendar: bool, took_s: float | None, *, broken: bool = False, no_unit: bool = False
    ) -> int | None:
        """Take one request; returns the place of its moment, None when it has none that is kept."""
        self._n += 1
        self._broken += broken
        self._no_unit += no_unit and took_s is None
        if at is None:
            self._missing += not broken
            return None
        self._timed += 1
        self._calendar += calendar
        self._fractions |= not calendar and at != int(at)
        at_s = at if calendar else at / PER_SECOND[self._unit or "s"]
        if self._newest is not None and at_s < self._newest:
            self._back += 1
            self._back_most = max(self._back_most, self._newest - at_s)
        self._newest = at_s if self._newest is None else max(self._newest, at_s)
        if calendar or self._unit is not None:
            self.latest = self._newest
        self._with_durations += took_s is not None
        if len(self._at) >= MOST_MOMENTS:
            return None
        self._at.append(at_s)
        self._took.append(-1.0 if took_s is None else took_s)
        return len(self._at) - 1

    def seconds(self) -> array[float]:
        """Every moment that was kept, in the order of the file."""
        return self._at

    def clock(self) -> Clock:
        """What was wrong with them."""
        return Clock(missing=self._missing if self._timed else 0, broken=self._broken, back=self._back,
                     back_s=self._back_most, no_unit=self._no_unit)  # fmt: skip

    def _why_not(self) -> Why | None:
        if not self._timed:
            return "no-moments"
        if self._calendar < self._timed and (
            self._unit is None or self._calendar or (self._assumed and self._fractions)
        ):
            return "unit-open"
        if self._timed < LEAST_MOMENTS or self._timed < LEAST_TIMED * self._n:
            return "few-moments"
        return None

    def arrivals(self) -> tuple[Arrivals | None, Why | None]:
        """When requests came, or why that is not said."""
        why = self._why_not()
        if why is not None:
            return None, why
        at = np.sort(np.frombuffer(self._at, np.float64))
        span_s = float(at[-1] - at[0])
        if span_s <= 0:
            return None, "no-span"
        gaps = np.diff(at)
        above = gaps[gaps > 1e-6]  # a microsecond: below, it is the rounding of seconds since 1970
        fullest = max((w for w in WINDOWS_S if span_s / w >= LEAST_WINDOWS and w <= 60), default=None)
        counts = None if fullest is None else _counts(at, fullest)
        return Arrivals(
            n=len(at),
            unit="s" if self._calendar else self._unit or "s",
            span_s=span_s,
            rate_rps=(len(at) - 1) / span_s,
            gap_cv=float(gaps.std() / gaps.mean()) if len(gaps) > 1 else None,
            ties=int((gaps <= 1e-6).sum()),
            step_s=round(float(above.min()), 6) if len(above) else None,
            peak_window_s=fullest,
            peak_to_mean=None if counts is None else float(counts.max() / counts.mean()),
            dispersion=tuple(
                Dispersion(window_s=w, windows=len(seen), index=float(seen.var(ddof=1) / seen.mean()))
                for w in WINDOWS_S
                if span_s / w >= LEAST_WINDOWS and (seen := _counts(at, w)).mean() > 0
            ),
            more=self._timed > len(self._at),
        ), None

    def in_flight(self) -> tuple[InFlight | None, Why | None]:
        """How many requests were in flight, or why that is not said."""
        why = self._why_not()
        if why is not None:
            return None, why
        if not self._with_durations:
            return None, "no-durations"
        if self._with_durations < LEAST_TIMED * self._timed:
            return None, "few-durations"
        at, took = np.frombuffer(self._at, np.float64), np.frombuffer(self._took, np.float64)
        begun = np.sort(at[took >= 0])
        ended = np.sort((at + took)[took >= 0])
        first_s, last_s = float(begun[0]), float(begun[-1])
        if last_s <= first_s:
            return None, "no-span"
        running = np.arange(1, len(begun) + 1) - np.searchsorted(ended, begun, side="right")
        edges = np.array([first_s, last_s], np.float64)
        whole = _integral(begun, ended, edges)
        hour = low = high = None
        if last_s - first_s >= HOUR_S:
            minutes = np.arange(int((last_s - first_s) // _PART_S) + 1, dtype=np.float64) * _PART_S + first_s
            seconds = np.diff(_integral(begun, ended, minutes))
            sums = np.convolve(seconds, np.ones(60), "valid")
            start = int(sums.argmax())
            hour = float(sums[start] / HOUR_S)
            parts = seconds[start : start + 60].reshape(12, 5).sum(axis=1) / 300.0
            low, high = mean_interval(parts.tolist())
            low, high = max(0.0, low), max(high, hour)
        return InFlight(n=len(begun), mean=float((whole[1] - whole[0]) / (last_s - first_s)), peak=int(running.max()),
                        hour_mean=hour, low=low, high=high), None  # fmt: skip


def _counts(at: Floats, window_s: float) -> Floats:
    """Arrivals in each whole window."""
    windows = int((at[-1] - at[0]) // window_s)
    places = ((at - at[0]) // window_s).astype(np.int64)
    return np.bincount(places[places < windows], minlength=windows).astype(np.float64)


def _integral(begun: Floats, ended: Floats, at: Floats) -> Floats:
    """Seconds of requests in flight until each moment: of everything begun, less everything ended."""

    def until(events: Floats) -> Floats:
        sums = np.concatenate(([0.0], np.cumsum(events - begun[0])))
        n = np.searchsorted(events, at, side="right")
        seconds: Floats = n * (at - begun[0]) - sums[n]
        return seconds

    return until(begun) - until(ended)
