"""Two paths on the same items: flips both ways, an interval, a verdict against a stated margin.

Scores lie between 0 and 1, bits per byte apart. What is compared is second minus first on the items that both sides
have scored; every other item is counted with its reason. "p > 0.05" is never read as "equal": that takes an interval
and a margin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from enum import StrEnum
from typing import Literal

import numpy as np
from pydantic import Field

from lab.quality.coverage import NoVerdict, no_verdict
from lab.quality.power import visible_difference
from lab.spec import Frozen, Name

MARGIN = 0.01
"""The loss a team accepts where it states no other: one point."""

CONFIDENCE = 0.95

FEW_CHANGED = 10
"""With fewer changed items than this, scores that are no whole numbers say too little about how far one can change."""

RESAMPLES = 9_999

NOT_ASKED = "not_asked"
"""Reason of an item that only the other side was asked."""

Scores = Mapping[str, float | str]
"""Item id to its score, or to the reason why it has none."""


class NonInferiority(StrEnum):
    """Whether a loss beyond the margin is ruled out, from the interval alone."""

    SHOWN = "shown"
    """The whole interval lies above -margin."""
    NOT_SHOWN = "not-shown"
    """The whole interval lies below -margin: the loss is larger."""
    UNDECIDED = "undecided"
    """The interval crosses -margin."""


class Paired(Frozen):
    """One task on two paths, item by item. A difference is second minus first, a share."""

    items: int = Field(ge=0)
    """Asked on either side."""
    n: int = Field(ge=0)
    """Scored on both; only these are compared."""
    unscored_first: dict[Name, int]
    """Items without a score on the first side, by reason."""
    unscored_second: dict[Name, int]
    mean_first: float | None
    """Over the `n` items; None when there is none. So are the numbers below."""
    mean_second: float | None
    down: int = Field(ge=0)
    """Items that score lower on the second side."""
    up: int = Field(ge=0)
    """Items that score higher on the second side."""
    difference: float | None
    low: float | None
    """Ends of the 95 % interval of the difference."""
    high: float | None
    method: Literal["score", "bootstrap", "bootstrap-by-source"] | None
    """How the interval was made."""
    p: float | None
    """Of a difference at least as large if it were chance: exact McNemar for scores of 0 and 1."""
    visible: float | None
    """The smallest difference these items can show with chance 0.8; None: none."""
    margin: float | None
    """The loss that was stated as acceptable; None: none was."""
    verdict: NonInferiority | None
    no_verdict: NoVerdict | None
    """Why there is no verdict; None when there is one."""

    @property
    def coverage(self) -> tuple[float, float] | None:
        """Share of the items that have a score, first and second; None without items."""
        if not self.items:
            return None
        missing = (sum(self.unscored_first.values()), sum(self.unscored_second.values()))
        return 1 - missing[0] / self.items, 1 - missing[1] / self.items


def compare(
    first: Scores,
    second: Scores,
    *,
    margin: float | None = MARGIN,
    better: Literal["higher", "lower"] = "higher",
    sources: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Paired:
    """Compare two paths on the items both have scored.

    Args:
        first: the path that is compared against.
        second: the path in question.
        margin: the acceptable loss, a share; None: nobody stated one for this metric.
        better: which way the metric points. A difference stays second minus first; a loss is one the other way.
        sources: item id to what it shares with others, for instance a passage. Items of one source are not
            independent: interval and p then come from whole sources. An item without one stands for itself.
        seed: of the bootstrap.
    """
    ids = tuple(dict.fromkeys((*first, *second)))
    missing = tuple(
        Counter(side.get(item, NOT_ASKED) for item in ids if not _is_scored(side, item)) for side in (first, second)
    )
    both = [item for item in ids if _is_scored(first, item) and _is_scored(second, item)]
    left, right = (np.array([side[item] for item in both], dtype=float) for side in (first, second))
    groups: list[Hashable] = [(sources or {}).get(item, place) for place, item in enumerate(both)]
    none = no_verdict(len(ids), sum(missing[0].values()), sum(missing[1].values()), len(both))
    none = none or (NoVerdict.NO_MARGIN if margin is None else None)
    change = _change(left, right, groups, seed) if both else None
    verdict = None
    if none is None and change is not None and margin is not None:
        low, high = change.interval
        verdict = non_inferiority((low, high) if better == "higher" else (-high, -low), margin)
    return Paired(
        items=len(ids),
        n=len(both),
        unscored_first=dict(missing[0]),
        unscored_second=dict(missing[1]),
        mean_first=float(left.mean()) if both else None,
        mean_second=float(right.mean()) if both else None,
        down=int((right < left).sum()),
        up=int((right > left).sum()),
        difference=float((right - left).mean()) if both else None,
        low=change.interval[0] if change else None,
        high=change.interval[1] if change else None,
        method=change.method if change else None,
        p=change.p if change else None,
        visible=change.visible if change else None,
        margin=margin,
        verdict=verdict,
        no_verdict=none,
    )


def non_inferiority(interval: tuple[float, float], margin: float) -> NonInferiority:
    """Whether an interval rules out a loss beyond `margin`."""
    low, high = interval
    if low > -margin:
        return NonInferiority.SHOWN
    return NonInferiority.NOT_SHOWN if high < -margin else NonInferiority.UNDECIDED


def mcnemar(down: int, up: int) -> float:
    """Exact two-sided p that flips one way and the other are equally likely.

    Source: McNemar 1947 in its exact form: the flips of one direction are binomial with chance one half.
    """
    from scipy import stats  # here and below only where it is asked for: it is slow to import

    return float(stats.binomtest(down, down + up).pvalue) if down + up else 1.0


def score_interval(down: int, up: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval of (up - down) / n, a difference of paired proportions, that holds for few items too.

    It excludes 0 exactly when McNemar's statistic (up - down)^2 / (up + down) does at that confidence, and
    without any flip it is not empty but ± z^2 / (n + z^2).

    Source: Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design", Statistics in Medicine 17 (1998): the score test inverted.

    Args:
        down: items that went from 1 to 0.
        up: items that went from 0 to 1.
        n: all items, at least 1.
        confidence: coverage.
    """
    from scipy import optimize, stats

    z = float(stats.norm.ppf((1 + confidence) / 2))

    def statistic(delta: float) -> float:
        # share of items that went down, most likely under a difference of delta
        b = -up - down + (2 * n - up + down) * delta
        root = max(b * b + 8 * n * down * delta * (1 - delta), 0.0)
        share = (root**0.5 - b) / (4 * n)
        variance = n * (2 * share + delta * (1 - delta))
        return float((up - down - n * delta) / max(variance, 1e-300) ** 0.5)

    centre = (up - down) / n
    edge = 1 - 1e-12
    low = -1.0 if statistic(-edge) <= z else optimize.brentq(lambda d: statistic(d) - z, -edge, centre)
    high = 1.0 if statistic(edge) >= -z else optimize.brentq(lambda d: statistic(d) + z, centre, edge)
    return float(low), float(high)


def bootstrap_interval(
    differences: Sequence[float] | np.ndarray,
    groups: Sequence[Hashable] | None = None,
    *,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of the mean difference, whole groups drawn with replacement.

    Args:
        differences: second minus first, one an item.
        groups: what each item shares with others; None: every item stands for itself. At least two groups.
        confidence: coverage.
        seed: the same seed gives the same interval.
    """
    from scipy import stats

    sums, sizes = _by_group(np.asarray(differences, dtype=float), groups)

    def mean(sums: np.ndarray, sizes: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(sums.sum(axis=axis) / sizes.sum(axis=axis))

    interval = stats.bootstrap(
        (sums, sizes),
        mean,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // len(sums)),
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def sign_flip(
    differences: Sequence[float] | np.ndarray, groups: Sequence[Hashable] | None = None, *, seed: int = 0
) -> float:
    """Two-sided p of the mean difference when each group could as well have come the other way round.

    Exact while there are few groups, else over random signs. For scores of 0 and 1 it is McNemar's test.
    """
    from scipy import stats

    sums, _ = _by_group(np.asarray(differences, dtype=float), groups)
    changed = sums[sums != 0]  # turning 0 round changes nothing
    if len(changed) < 2:
        return 1.0  # one change is as large the other way round
    found = stats.permutation_test(
        (changed,),
        lambda values, axis: values.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // len(changed)),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Each p of a family, adjusted so that the chance of one false alarm in all stays what it was for one.

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
    (1979): the k-th smallest of m is multiplied by m - k + 1, and none is smaller than the one before.

    Args:
        p_values: in any order; None where nothing was tested, which stays None and does not count.
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for smaller, (p, place) in enumerate(tested):
        highest = max(highest, min(1.0, p * (len(tested) - smaller)))
        adjusted[place] = highest
    return tuple(adjusted)


class _Change(Frozen):
    """What the items that were scored on both sides say about the difference."""

    interval: tuple[float, float]
    method: Literal["score", "bootstrap", "bootstrap-by-source"]
    p: float
    visible: float | None


def _change(left: np.ndarray, right: np.ndarray, groups: Sequence[Hashable], seed: int) -> _Change:
    differences = right - left
    whole = bool(np.isin((left, right), (0.0, 1.0)).all())
    if whole and len(set(groups)) == len(groups):
        down, up, n = int((differences < 0).sum()), int((differences > 0).sum()), len(differences)
        return _Change(
            interval=score_interval(down, up, n),
            method="score",
            p=mcnemar(down, up),
            visible=visible_difference(n, (down + up) / n),
        )
    sums, _ = _by_group(differences, groups)
    guarded, guarded_groups = differences, tuple(groups)
    if np.count_nonzero(sums) < FEW_CHANGED:
        # one item that rose and one that fell as far as scores go: without them, unchanged items would give an
        # interval without width. The same correction as Bonett and Price's (2012) for proportions.
        guarded, guarded_groups = np.append(differences, (1.0, -1.0)), (*groups, -1, -2)
    guarded_sums, guarded_sizes = _by_group(guarded, guarded_groups)
    return _Change(
        interval=bootstrap_interval(guarded, guarded_groups, seed=seed),
        method="bootstrap" if len(sums) == len(differences) else "bootstrap-by-source",
        p=sign_flip(differences, groups, seed=seed),
        visible=visible_difference(len(sums), float(np.mean((guarded_sums / guarded_sizes) ** 2)), whole=False),
    )


def _by_group(differences: np.ndarray, groups: Sequence[Hashable] | None) -> tuple[np.ndarray, np.ndarray]:
    """Sum and size of each group, in the order in which groups first occur."""
    places: dict[Hashable, int] = {}
    index = range(len(differences)) if groups is None else [places.setdefault(g, len(places)) for g in groups]
    return np.bincount(index, weights=differences), np.bincount(index).astype(float)


def _is_scored(side: Scores, item: str) -> bool:
    return not isinstance(side.get(item, NOT_ASKED), str)
