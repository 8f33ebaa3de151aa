"""How many items a question needs, and how small a difference the items at hand can show.

Paired on the same items, normal approximation. `discordance` is the share of items on which the two sides score
differently: for scores of 0 and 1 it bounds the difference, which can come from no other item.

Source: Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics 43
(1987): n = ((z(1 - alpha/2) sqrt(psi) + z(power) sqrt(psi - d^2)) / d)^2 with discordance psi and difference d.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from pydantic import Field

from lab.errors import ParamsError
from lab.spec import Frozen

POWER = 0.8
"""Chance of seeing a difference that is there."""

ALPHA = 0.05
"""Chance of seeing one that is not there, two-sided."""

DISCORDANCES = (0.02, 0.04, 0.06, 0.1)
"""Shares printed where nobody names one: two sane paths of the same weights, up to a change of quantization."""


class Need(Frozen):
    """What one discordance asks for, and what the items at hand give."""

    discordance: float
    to_see: int | None
    """Items needed to see a difference as large as the margin; None: it cannot be larger than the discordance."""
    to_rule_out: int = Field(ge=1)
    """Items needed to rule out a loss beyond the margin where there is no difference."""
    visible: float | None
    """Smallest difference the items at hand can show; None: none, or no number of items was named."""


def needs(
    discordances: tuple[float, ...],
    margin: float,
    items: int | None = None,
    power: float = POWER,
    alpha: float = ALPHA,
) -> tuple[Need, ...]:
    """What a question needs, for each discordance.

    Args:
        discordances: shares of items on which the two sides differ, above 0, at most 1.
        margin: the difference in question, a share: 0.01 is one point of a score in per cent.
        items: items at hand; None when nobody asks what they can show.
        power: chance of seeing what is there.
        alpha: chance of seeing what is not there, two-sided.

    Raises:
        ParamsError: a value outside its range, with the range.
    """
    for name, value in (("margin", margin), ("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ParamsError(f"{name} has to be above 0 and below 1, got {value:g}; one point is 0.01")
    for discordance in discordances:
        if not 0 < discordance <= 1:
            raise ParamsError(f"discordance has to be above 0 and at most 1, got {discordance:g}; 10 % is 0.1")
    if items is not None and items < 1:
        raise ParamsError(f"items has to be 1 or more, got {items}")
    return tuple(
        Need(
            discordance=discordance,
            to_see=None if margin > discordance else items_to_see(margin, discordance, power, alpha),
            to_rule_out=items_to_rule_out(margin, discordance, power, alpha),
            visible=None if items is None else visible_difference(items, discordance, power, alpha),
        )
        for discordance in discordances
    )


def items_to_see(difference: float, discordance: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Items needed so that a `difference` of paired proportions is seen with chance `power`.

    Args:
        difference: above 0, at most `discordance`.
        discordance: share of items that differ.
        power: chance of seeing it.
        alpha: two-sided.
    """
    return math.ceil(_items(difference, discordance, power, alpha))


def items_to_rule_out(margin: float, discordance: float, power: float = POWER, alpha: float = ALPHA) -> int:
    """Items needed so that a loss beyond `margin` is ruled out with chance `power` where there is no difference.

    Source: the interval of confidence 1 - alpha lies above -margin: n = (z(1 - alpha/2) + z(power))^2 psi / margin^2.
    """
    z_alpha, z_power = _quantiles(power, alpha)
    return math.ceil((z_alpha + z_power) ** 2 * discordance / margin**2)


def visible_difference(
    items: int, discordance: float, power: float = POWER, alpha: float = ALPHA, *, whole: bool = True
) -> float | None:
    """The smallest difference that `items` paired items show with chance `power`.

    Args:
        items: items scored on both sides.
        discordance: share of items that differ; where scores are no whole numbers, the mean squared difference.
        power: chance of seeing it.
        alpha: two-sided.
        whole: scores are 0 or 1. Then a difference needs at least as many items that differ, so a difference
            beyond `discordance` is looked for among paths that differ on that many items.

    Returns:
        A share between 0 and 1; None when no difference can be seen: fewer than log2(2 / alpha) items cannot
        get below alpha even if all of them change in one direction.
    """
    from scipy.optimize import brentq  # only where it is asked for: it is slow to import

    def spread(difference: float) -> float:
        return max(discordance, difference if whole else difference**2)

    def lacking(difference: float) -> float:
        return _items(difference, spread(difference), power, alpha) - items

    if 2 * 0.5**items > alpha or lacking(1.0) > 0:
        return None
    return float(brentq(lacking, 1e-9, 1.0))


def _items(difference: float, discordance: float, power: float, alpha: float) -> float:
    z_alpha, z_power = _quantiles(power, alpha)
    rest = math.sqrt(max(discordance - difference**2, 0.0))
    return ((z_alpha * math.sqrt(discordance) + z_power * rest) / difference) ** 2


def _quantiles(power: float, alpha: float) -> tuple[float, float]:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2), normal.inv_cdf(power)
