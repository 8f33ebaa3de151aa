"""Numbers of items and visible differences, against published figures and against what can be counted."""

from __future__ import annotations

import pytest

from lab.errors import ParamsError
from lab.quality.power import items_to_rule_out, items_to_see, needs, visible_difference


@pytest.mark.parametrize(("discordance", "items"), [(0.02, 1568), (0.04, 3138), (0.06, 4707), (0.1, 7847)])
def test_items_needed_for_one_point(discordance: float, items: int) -> None:
    """(1.95996 sqrt(0.02) + 0.84162 sqrt(0.0199))^2 / 0.01^2 = 1567.3, and so on down the column."""
    assert items_to_see(0.01, discordance) == items
    # ruling out a loss where there is none: (1.95996 + 0.84162)^2 is 7.849
    assert items_to_rule_out(0.01, discordance) == pytest.approx(7.849 * discordance / 0.0001, abs=1)


def test_a_visible_difference_is_the_one_that_needs_these_items() -> None:
    for items in (50, 164, 1319, 14_042):
        visible = visible_difference(items, 0.3)
        assert visible is not None
        assert items_to_see(visible, 0.3) == pytest.approx(items, abs=1)


@pytest.mark.parametrize(("items", "points"), [(164, 4.9), (541, 2.7), (1119, 1.9), (1319, 1.7), (10_042, 0.63)])
def test_visible_differences_of_well_known_suites_at_five_per_cent(items: int, points: float) -> None:
    visible = visible_difference(items, 0.05)
    assert visible is not None
    assert 100 * visible == pytest.approx(points, abs=0.05)


def test_a_difference_takes_as_many_changed_items() -> None:
    """12 items of which none changed show only paths that change half of them: 6 of one mind are p = 2 / 64."""
    visible = visible_difference(12, 0.0)
    assert visible is not None
    assert 6 / 12 < visible < 7 / 12
    assert visible == pytest.approx(visible_difference(12, 0.3))


def test_five_items_show_nothing() -> None:
    """All five changing one way has p = 2 / 32 = 0.0625; six have 2 / 64 = 0.031."""
    assert visible_difference(5, 1.0) is None
    assert visible_difference(6, 0.0) is not None


def test_scores_that_are_no_whole_numbers_use_their_mean_square() -> None:
    """Every item a tenth apart: (1.96 + 0.84) 0.1 / sqrt(n) at most, less because a mean of 0.1 has no spread left."""
    visible = visible_difference(100, 0.01, whole=False)
    assert visible is not None
    assert 0.0196 < visible < 0.028


def test_needs_says_what_cannot_be_seen() -> None:
    rare, common = needs((0.005, 0.1), 0.01, items=1000)
    assert rare.to_see is None
    assert rare.to_rule_out == 393
    assert common.to_see == 7847
    assert common.visible == visible_difference(1000, 0.1)
    assert needs((0.1,), 0.01)[0].visible is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"margin": 0.0}, "margin has to be above 0"),
        ({"margin": 1.0}, "margin has to be above 0"),
        ({"discordances": (0.1, 1.5)}, "discordance has to be above 0 and at most 1, got 1.5"),
        ({"discordances": (float("nan"),)}, "discordance"),
        ({"items": 0}, "items has to be 1 or more"),
        ({"power": 80.0}, "power has to be above 0 and below 1, got 80"),
        ({"alpha": -0.05}, "alpha"),
    ],
)
def test_values_outside_their_range_get_a_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParamsError, match=sentence):
        needs(**{"discordances": (0.1,), "margin": 0.01, **changes})
