"""Counting in one pass: lengths, shares with an interval, and what has been seen before, each in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

EXACT_UP_TO = 1 << 16
"""Lengths up to here are kept as they are, longer ones to one part in a thousand."""
MOST_BATCHES = 64
LEAST_BATCHES = 20
LEAST_IN_BATCH = 5
MOST_KNOWN = 1 << 20
"""Different things a `Seen` remembers."""


class LengthTally:
    """Every length that occurred and how often."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def add(self, length: int) -> None:
        """Count one."""
        if length > EXACT_UP_TO:
            step = 1 << (length.bit_length() - 11)
            length = length // step * step
        self.counts[length] += 1

    @property
    def n(self) -> int:
        """How many were counted."""
        return self.counts.total()

    def quantile(self, share: float) -> int:
        """The smallest length that at least `share` of all do not exceed."""
        wanted, seen = max(1, math.ceil(share * self.n)), 0
        for length in sorted(self.counts):
            seen += self.counts[length]
            if seen >= wanted:
                return length
        raise ValueError("no length was counted")

    def mean(self) -> float:
        """The mean."""
        return sum(length * times for length, times in self.counts.items()) / self.n

    def histogram(self) -> tuple[tuple[int, int, int], ...]:
        """From, up to and including, how many; every bar is twice as wide as the one before it."""
        bars: Counter[int] = Counter()
        for length, times in self.counts.items():
            bars[length.bit_length()] += times
        if not bars:
            return ()
        return tuple(((1 << bit) >> 1, (1 << bit) - 1, bars.get(bit, 0)) for bit in range(min(bars), max(bars) + 1))


class Batches:
    """Sums over consecutive requests, at most `MOST_BATCHES` rows of the same number of requests each.

    When there are too many rows, neighbours are added up: the number of requests in one doubles.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._each = 1
        self._rows: list[list[float]] = []
        self._open = [0.0] * width
        self._in_open = 0

    def add(self, *values: float) -> None:
        """Take one request."""
        for place, value in enumerate(values):
            self._open[place] += value
        self._in_open += 1
        if self._in_open < self._each:
            return
        self._rows.append(self._open)
        self._open, self._in_open = [0.0] * self._width, 0
        if len(self._rows) == MOST_BATCHES:
            self._rows = [
                [a + b for a, b in zip(one, two, strict=True)]
                for one, two in zip(self._rows[::2], self._rows[1::2], strict=True)
            ]
            self._each *= 2

    def rows(self) -> list[list[float]]:
        """The whole batches; none where they are too few or too small to say how much a share varies."""
        return self._rows if len(self._rows) >= LEAST_BATCHES and self._each >= LEAST_IN_BATCH else []


def ratio_interval(parts: Sequence[float], wholes: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the share that `parts` are of `wholes`, batch by batch.

    Source: ratio estimator with linearised residuals, Student's t over the batches (Cochran, Sampling Techniques, 6.3).
    """
    from scipy import stats  # only where intervals are asked for: it is slow to import

    part, whole = np.asarray(parts, float), np.asarray(wholes, float)
    share, n = part.sum() / whole.sum(), len(part)
    error = float(np.sqrt(((part - share * whole) ** 2).sum() / (n - 1) / n) / whole.mean())
    half = float(stats.t.ppf(0.975, n - 1)) * error
    return max(0.0, share - half), min(1.0, share + half)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of a mean, Student's t."""
    from scipy import stats

    seen = np.asarray(values, float)
    half = float(stats.t.ppf(0.975, len(seen) - 1) * seen.std(ddof=1) / np.sqrt(len(seen)))
    return float(seen.mean()) - half, float(seen.mean()) + half


class Seen:
    """What has been seen before, by digest; nothing further is remembered than `MOST_KNOWN` things."""

    def __init__(self) -> None:
        self._known: Counter[int] = Counter()
        self.full = False

    def add(self, *parts: bytes) -> bool:
        """True when the same was seen before; False as well for what is new once nothing more is remembered."""
        digest = blake2b(digest_size=8)
        for part in parts:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        number = int.from_bytes(digest.digest(), "little")
        if number in self._known:
            self._known[number] += 1
            return True
        if len(self._known) >= MOST_KNOWN:
            self.full = True
        else:
            self._known[number] = 1
        return False

    def __len__(self) -> int:
        return len(self._known)

    def largest(self) -> int:
        """How often the most frequent one was seen; 0 when nothing was."""
        return max(self._known.values(), default=0)


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Smallest, median and largest of some values."""
    seen = np.fromiter(values, float)
    return float(seen.min()), float(np.median(seen)), float(seen.max())
