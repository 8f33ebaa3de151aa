"""The lint finds ranking words whole, in both languages, and lets plain words pass."""

from __future__ import annotations

import pytest

from lab.errors import ParamsError
from lab.report.words import ranking_words, refuse_ranking


@pytest.mark.parametrize(
    "text",
    ["the best engine", "Fastest of all", "P beats Q", "it outperforms", "ranked first", "best-in-class",
     "P is faster than Q", "the #1 choice", "最速のエンジン", "これが最強です", "１位", "第1位", "勝者は P",
     "P のほうが優れています", "P is faster", "the recommended engine", "first place", "最も速いエンジン",
     "一番速い", "この用途に最適", "トップの性能", "P の方が速い"],
)  # fmt: skip
def test_ranking_is_found(text: str) -> None:
    assert ranking_words(text)


@pytest.mark.parametrize(
    "text",
    ["the steady window", "bestow", "upbeat", "Frankfurt", "#12", "単位は秒", "上位の層", "10 位置", "p50 / p99",
     "速さの単位のひとつ", "用途が固まったあとの最適化", "the path leads to engine P", "the highest load measured",
     "最も高い負荷", "faster storage", "開発者のラップトップ",
     "nothing is sorted by result"],
)  # fmt: skip
def test_plain_words_pass(text: str) -> None:
    assert ranking_words(text) == ()


def test_words_come_in_their_order() -> None:
    assert ranking_words("P wins; the best, 最速") == ("wins", "best", "最速")


def test_a_page_that_would_rank_is_refused_with_the_words_around_it() -> None:
    plain = {"en/index.html": b"<p>P</p><style>.best{}</style><code>--node-rank 0</code>", "evidence/a.json": b'"best"'}
    assert refuse_ranking(plain) == plain
    with pytest.raises(ParamsError, match=r"ja/index\.html would rank: “実行 P · the-best-one 公開”"):
        refuse_ranking({"ja/index.html": "<td>実行</td><td>P · the-best-one</td><td>公開</td>".encode()})
