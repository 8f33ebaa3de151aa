"""What would change the end: one change at a time, the nearest value of a grid, and launches drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.explain.flips import Explanation, grid
from lab.report.messages import LANGS, messages
from lab.report.path import answer_of, text_lines
from tests.explain.explain_examples import explained, launches, runs


def rows(found: Explanation) -> list[tuple[str, str, float | bool, float | bool, str, str | None]]:
    return [(one.what, one.at, one.now, one.then, one.end.kind, one.end.engine) for one in found.flips]


def vendor(one_vendor: bool) -> Any:
    return lambda block: block["facts"].update(one_vendor=one_vendor)


def test_a_grid_goes_in_steps_of_a_tenth_of_the_power_of_ten() -> None:
    below, above = grid(50)
    assert (below[:2], above[:2], below[-1], above[-1]) == ((49, 48), (51, 52), 0, 150)
    assert [side[0] for side in grid(240)] == [230, 250]
    assert [side[0] for side in grid(0.5)] == [0.49, 0.51]
    assert grid(0)[0] == () and grid(0)[1][0] == 0.1
    assert grid(-2)[0][0] == -2.1


def test_the_nearest_value_that_changes_the_end_is_found_on_each_side(tmp_path: Path) -> None:
    found = rows(explained(tmp_path))
    # the share is 71 [66, 75]: above a threshold of 66 the interval crosses it, above 75 the answer is no
    assert ("threshold", "nodes.prefix-heavy", 50, 67, "stopped", None) in found
    assert ("threshold", "nodes.prefix-heavy", 50, 76, "engine", "P") in found
    # moved with its interval, 54 [49, 58] crosses 50 and 45 [40, 49] lies below
    assert ("fact", "nodes.prefix-heavy", 71, 54, "stopped", None) in found
    assert ("fact", "nodes.prefix-heavy", 71, 45, "engine", "P") in found
    assert ("fact", "nodes.one-vendor", False, True, "engine", "R") in found
    assert ("fact", "gates.licence:Q", True, False, "engine", "P") in found
    assert {at for _, at, *_ in found} == {
        "nodes.prefix-heavy", "nodes.one-vendor", "gates.licence:Q", "gates.quality"
    }  # fmt: skip


def test_what_changes_nothing_by_itself_is_counted(tmp_path: Path) -> None:
    # break-even, gain and preparation; the licences of P and R
    assert explained(tmp_path).unmoved == 5


@pytest.mark.parametrize("lang", LANGS)
def test_one_threshold_changes_path_sentence_and_flip_table(tmp_path: Path, lang: str) -> None:
    def stricter(tree: Any) -> None:
        tree["nodes"]["prefix-heavy"]["at_least"] = 80

    t = messages(lang)
    before, after = explained(tmp_path), explained(tmp_path, rules=stricter)
    assert (before.path.end.engine, after.path.end.engine) == ("Q", "P")
    assert before.path.decision_digest != after.path.decision_digest
    assert answer_of(before, t).lead == t("path-engine", engine=t("stand-in", engine="Q"))
    assert answer_of(after, t).lead == t("path-engine", engine=t("stand-in", engine="P"))
    assert "50 %" in answer_of(before, t).rest and "80 %" in answer_of(after, t).rest
    assert ("threshold", "nodes.prefix-heavy", 80, 66, "engine", "Q") in rows(after)
    assert {row[3] for row in rows(before)}.isdisjoint({66, 75}) and {row[3] for row in rows(after)} >= {66, 75}


def test_launches_are_drawn_again_within_each_engine(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=vendor(True)).resampled
    assert found is not None
    assert [(one.end.engine, one.share, one.as_now) for one in found.ends] == [("R", 1, True)]
    assert {(one.at, one.yes, one.no) for one in found.shares} == {
        ("nodes.build-pays", 1, 0), ("gates.preparation:R", 1, 0)
    }  # fmt: skip


def test_launches_far_apart_end_elsewhere_in_a_share_of_the_draws(tmp_path: Path) -> None:
    given = (*launches("P", 100, 100), *launches("Q", 112, 112), *launches("R", 90, 130, build_s=3600))
    found = explained(tmp_path, stated=vendor(True), given=given)
    assert found.path.end.kind == "stopped" and found.resampled is not None
    (pays,) = (one for one in found.resampled.shares if one.at == "nodes.build-pays")
    # two launches of 90 gain nothing; 90 and 130 gain 10 %, which pays after 10 h; 130 twice after 3⅓ h
    assert pays.yes == pytest.approx(0.75, abs=0.05)
    assert pays.yes + pays.no == 1
    # a draw has no interval, so none stops where the path does
    assert [(one.end.engine, one.as_now) for one in found.resampled.ends] == [("Q", False), ("R", False)]
    assert [one.share for one in found.resampled.ends] == [pays.no, pays.yes]


def test_with_one_launch_nothing_is_drawn_again(tmp_path: Path) -> None:
    given = (*launches("P", 100), *launches("Q", 112), *launches("R", 110, build_s=3600))
    assert explained(tmp_path, given=given).resampled is None


def test_a_break_even_is_shown_where_preparation_does_not_count_and_says_so(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=vendor(True), given=runs(preparation_counts=False))
    (pays,) = found.break_evens
    assert pays.counts is False and pays.found.kind == "claim"
    assert [one.at for one in found.path.steps[:3]] == ["nodes.one-vendor", "nodes.build-pays", "nodes.gain"]
    text = "\n".join(text_lines(found, messages("en")))
    assert "10 h [10, 10], no, shown all the same and marked as excluded by the team" in text
