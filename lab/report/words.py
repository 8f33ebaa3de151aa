"""Words that rank: the lint that keeps them out of every page.

A page sets runs side by side; it never says which of them comes first.
"""

from __future__ import annotations

import re
import unicodedata

ENGLISH = (
    r"best", r"fastest", r"quickest", r"slowest", r"worst", r"win", r"wins", r"won", r"winning", r"winners?",
    r"losers?", r"beat", r"beats", r"beaten", r"outperform\w*", r"outclass\w*", r"superior", r"champions?",
    r"rank", r"ranks", r"ranked", r"rankings?", r"leaderboards?", r"top[- ]ranked", r"number one", r"no\. ?1",
    r"(?:faster|slower|better|worse) than",
)  # fmt: skip
JAPANESE = (
    "最速", "最強", "最良", "最善", "最優秀", "最下位", "勝者", "敗者", "勝ち", "負け", "勝利", "優勝",
    "圧勝", "首位", "ベスト", "ランキング", "順位", "一位", r"\d+ ?位(?![置相数])", "より速い",
    "より遅い", "優れて", "ナンバーワン",
)  # fmt: skip

_PATTERN = re.compile(rf"(?<!\w)(?:{'|'.join(ENGLISH)})(?!\w)|{'|'.join(JAPANESE)}|#1(?!\d)", re.IGNORECASE)


def ranking_words(text: str) -> tuple[str, ...]:
    """Ranking words of both languages in `text`, in the order they occur.

    English words are matched whole (`window` holds no `win`); full-width forms count like plain ones.
    """
    return tuple(found.group() for found in _PATTERN.finditer(unicodedata.normalize("NFKC", text)))
