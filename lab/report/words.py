"""Words that rank: the lint that keeps them out of every page.

A page sets runs side by side; it never says which of them comes first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from html import unescape

from lab.errors import ParamsError

ENGLISH = (
    r"best", r"fastest", r"quickest", r"slowest", r"worst", r"win", r"wins", r"won", r"winning", r"winners?",
    r"losers?", r"beat", r"beats", r"beaten", r"outperform\w*", r"outclass\w*", r"superior", r"champions?",
    r"rank", r"ranks", r"ranked", r"rankings?", r"leaderboards?", r"top[- ]ranked", r"number one", r"no\. ?1",
    r"(?:faster|slower|better|worse) than", r"(?:is|are|was|were) (?:the )?(?:faster|slower|better|worse)",
    r"first place", r"top performers?", r"top engines?", r"unbeatable", r"unrivall?ed", r"most performant",
    r"the (?:optimal|ideal|preferred|recommended) (?:engine|choice)",
)  # fmt: skip
JAPANESE = (
    "最速", "最強", "最良", "最善", "最優秀", "最下位", "勝者", "敗者", "勝ち", "負け", "勝利", "優勝",
    "圧勝", "首位", "ベスト", "ランキング", "順位", "一位", r"\d+ ?位(?![置相数])", "より速い",
    "より遅い", "優れて", "ナンバーワン", "最も(?:速|優|高速|強)", "一番(?:速|優|強|良)", "最適(?!化)",
    "最高(?:速|性能|の)", "(?<![ァ-ヶー])トップ(?![ァ-ヶー])", "圧倒的", "より(?:高速|優)",
    "(?:ほう|方)が(?:速|遅|優|良|よ)", "推奨エンジン",
)  # fmt: skip

_PATTERN = re.compile(rf"(?<!\w)(?:{'|'.join(ENGLISH)})(?!\w)|{'|'.join(JAPANESE)}|#1(?!\d)", re.IGNORECASE)


def ranking_words(text: str) -> tuple[str, ...]:
    """Ranking words of both languages in `text`, in the order they occur.

    English words are matched whole (`window` holds no `win`); full-width forms count like plain ones.
    """
    return tuple(found.group() for found in _PATTERN.finditer(unicodedata.normalize("NFKC", text)))


def refuse_ranking(pages: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The same pages, when none of them ranks: names and reasons that a team wrote are on them too.

    Commands and digests, which stand in `<code>`, are no sentences and are not read.

    Raises:
        ParamsError: a page ranks, with the words around each.
    """
    found = [
        f"{name} would rank: “{place}”"
        for name, page in pages.items()
        if name.endswith(".html")
        for place in _places(_SILENT.sub(" ", page.decode()))
    ]
    if found:
        raise ParamsError(
            "\n".join(found[:10]),
            "say what holds, not which comes first; the words come from params/ or from the facts of the team",
        )
    return pages


_SILENT = re.compile(r"<style\b.*?</style>|<code\b.*?</code>", re.DOTALL)


def _places(html: str) -> list[str]:
    """Ranking words with what stands around them, each once."""
    text = unicodedata.normalize("NFKC", " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split()))
    return list(dict.fromkeys(text[max(0, one.start() - 30) : one.end() + 30] for one in _PATTERN.finditer(text)))
