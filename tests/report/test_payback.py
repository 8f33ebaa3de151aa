"""Preparation beside speed: when a longer preparation has paid for itself, and when nobody can say so."""

from __future__ import annotations

from typing import Any

import pytest

from lab.publish.evidence import PublicRun
from lab.report.messages import LANGS, messages
from lab.report.numbers import duration, week
from lab.report.payback import break_even_s, payback_table
from tests.report.report_examples import level, run

EN = messages("en")


def prepared(startup_s: float, build_s: float | None = None, **changes: Any) -> dict[str, Any]:
    return {"build_s": build_s, "startup_s": startup_s, "first_request_s": 0.5, "cache_state": "warm", **changes}


def one(engine: str, startup_s: float, rate: float | None, launch: str = "1", **changes: Any) -> PublicRun:
    levels = [level(4, rate)] if rate is not None else [level(4, None, None, good=0, bad=12)]
    return run(engine, "base", launch, **{"preparation": prepared(startup_s), "levels": levels, **changes})


def table(*runs: PublicRun) -> list[list[str]]:
    rows = payback_table(runs, {run.run_id: () for run in runs}, EN).rows
    return [[" | ".join(line.text for line in cell.lines) for cell in row.cells] for row in rows]


def after(*runs: PublicRun) -> str:
    """What the second row says about the break-even."""
    base, other = table(*runs)
    assert base[3] == "the row the others are set against"
    return other[3]


def test_both_have_put_out_the_same_at_the_break_even() -> None:
    # 20 s later than the other one; 20 s after that both have put out 100 · 40 = 200 · 20 tokens
    assert break_even_s((10, 100), (30, 200)) == break_even_s((30, 200), (10, 100)) == 20


@pytest.mark.parametrize("second", [(30, 100), (30, 80), (10, 200), (5, 200), (10, 100)])
def test_there_is_none_where_one_serves_earlier_and_puts_out_no_less(second: tuple[float, float]) -> None:
    assert break_even_s((10, 100), second) is None


def test_the_longer_preparation_is_named_whichever_row_it_stands_in() -> None:
    quick, slow = one("P", 9.5, 100), one("Q", 29.5, 200)
    said = "Q · base has made up for its longer preparation after 20.0 s of this load | no interval (one launch)"
    assert after(quick, slow) == said
    turned = after(one("P", 29.5, 200), one("Q", 9.5, 100))
    assert turned.startswith("P · base has made up for its longer preparation after 20.0 s")


def test_a_build_counts_as_preparation_and_none_is_no_zero() -> None:
    rows = table(one("P", 9.5, 100), one("Q", 9.5, 200, preparation=prepared(9.5, 20.0)))
    assert [row[1] for row in rows] == ["10.0 | no build step", "30.0"]
    assert "after 20.0 s" in rows[1][3]


def test_nothing_is_paid_back_where_nothing_was_lost() -> None:
    assert after(one("P", 9.5, 100), one("Q", 29.5, 100)) == (
        "nothing to pay back: P · base serves earlier and puts out no less"
    )


def test_what_the_team_excluded_or_left_open_has_no_break_even() -> None:
    quick, slow = (9.5, 100), (29.5, 200)
    for decided, said in ((False, "excluded by the team"), (None, "not decided")):
        counts = {"preparation_counts": decided}
        assert after(one("P", *quick, **counts), one("Q", *slow, **counts)).startswith(said)
    assert after(one("P", *quick), one("Q", *slow, preparation_counts=False)).startswith("not decided")


def test_only_equal_cache_tiers_are_compared() -> None:
    cold = one("Q", 29.5, 200, preparation=prepared(29.5, cache_tier="disk-cold"))
    assert "launched from another cache tier" in after(one("P", 9.5, 100), cold)


def test_intervals_that_overlap_leave_it_undecided_and_apart_they_decide() -> None:
    quick = (one("P", 9.5, 100), one("P", 9.5, 102, "2"))
    assert after(*quick, one("Q", 29.5, 101), one("Q", 29.5, 103, "2")).startswith("undecided")
    assert "no interval" not in after(*quick, one("Q", 29.5, 200), one("Q", 29.5, 202, "2"))


def test_without_a_shared_load_or_a_seen_start_there_is_a_dash_and_its_reason() -> None:
    assert after(one("P", 9.5, 100), one("Q", 29.5, None)).startswith("—")
    unseen = table(one("P", 9.5, 100), one("Q", 0, 200, preparation={**prepared(0), "startup_s": None}))[1]
    assert unseen[1] == "— | a part of it was not seen" and unseen[3].startswith("—")


def test_time_is_said_in_the_unit_a_person_would_use() -> None:
    assert [duration(s, EN) for s in (59, 90, 9000)] == ["59.0 s", "1.50 min", "2.50 h"]


@pytest.mark.parametrize("lang", LANGS)
def test_a_week_is_printed_with_its_days_as_the_language_writes_them(lang: str) -> None:
    said = week("2026-W49", messages(lang))
    assert said == {
        "en": "2026-W49 (November 30, 2026 to December 6, 2026)",
        "ja": "2026-W49（2026年11月30日～2026年12月6日）",
    }[lang]  # fmt: skip
