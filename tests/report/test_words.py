"""The lint finds ranking words whole, in both languages, and lets plain words pass."""

from __future__ import annotations

import pytest

from lab.report.words import ranking_words


@pytest.mark.parametrize(
    "text",
    ["the best engine", "Fastest of all", "P beats Q", "it outperforms", "ranked first", "best-in-class",
     "P is faster than Q", "the #1 choice", "最速のエンジン", "これが最強です", "１位", "第1位", "勝者は P",
     "P のほうが優れています"],
)  # fmt: skip
def test_ranking_is_found(text: str) -> None:
    assert ranking_words(text)


@pytest.mark.parametrize(
    "text",
    ["the steady window", "bestow", "upbeat", "Frankfurt", "#12", "単位は秒", "上位の層", "10 位置", "p50 / p99",
     "速さの単位のひとつ",
     "nothing is sorted by result"],
)  # fmt: skip
def test_plain_words_pass(text: str) -> None:
    assert ranking_words(text) == ()


def test_words_come_in_their_order() -> None:
    assert ranking_words("P wins; the best, 最速") == ("wins", "best", "最速")
