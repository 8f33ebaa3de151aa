"""Japanese answers: one form for spellings that mean the same, and letters that Japanese is not written with.

The digest of every suite covers this file, through `lab/quality/suite.py`.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_SMALL_UNITS = {"十": 10, "百": 100, "千": 1000}
_LARGE_UNITS = {"万": 10**4, "億": 10**8, "兆": 10**12}
_UNITS = "".join(_SMALL_UNITS | _LARGE_UNITS)

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMERAL = re.compile(rf"(?:\d+(?:\.\d+)?|[〇零一二三四五六七八九{_UNITS}])+")
_PART = re.compile(rf"[{_UNITS}]|[^{_UNITS}]+")
_READING = re.compile(r"(?<=.)\([^()]*\)$")
_AROUND = re.compile(r"^(?:答え|回答|解答|正解)(?:は|:)|(?:です|でした)$")
_TO_HIRAGANA = {code: code - 0x60 for code in range(ord("ァ"), ord("ヶ") + 1)}

_WRITTEN_WITH = (
    "CJK ",
    "IDEOGRAPHIC ",
    "HIRAGANA ",
    "HENTAIGANA ",
    "KATAKANA",
    "VERTICAL KANA ",
    "MASU ",
    "LATIN ",
    "GREEK ",
    "MODIFIER ",
)
"""How the Unicode names of letters begin that a Japanese text may hold; Latin and Greek for names and units."""


def japanese_form(text: str) -> str:
    """The text without what does not change a Japanese answer; two answers mean the same if it is equal.

    In this order: NFKC (width) and case; commas inside numbers go; 、 and ・ and → become a comma; white space
    goes; katakana becomes hiragana; a reading in brackets at the end, outer punctuation, a leading 答えは and a
    closing です go; kanji numerals become digits.
    """
    text = unicodedata.normalize("NFKC", text).casefold().replace("\N{MINUS SIGN}", "-")
    text = _THOUSANDS.sub("", text)
    text = re.sub("[、・→]", ",", "".join(text.split())).translate(_TO_HIRAGANA)
    before = None
    while text != before:
        before = text
        text = _strip(_AROUND.sub("", _strip(_READING.sub("", text.rstrip("。.")))))
    return _NUMERAL.sub(lambda found: digits(found[0]), text)


def digits(numeral: str) -> str:
    """A numeral in ASCII digits: 二〇七四, 二千七十四 and 2千74 are 2074. What is no numeral stays as it is."""
    parts = [part.translate(_DIGITS) for part in _PART.findall(numeral)]
    if not any(part in _UNITS for part in parts):
        return "".join(parts)
    try:
        value = _value(parts)
    except ArithmeticError:  # decimal's word for "1.5.2"
        value = None
    if value is None:
        return numeral
    return f"{value:f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def _value(parts: list[str]) -> Decimal | None:
    """What digits and units are worth together, or None where units do not fall: 十百, 万億, a lone 万."""
    total, section, current = Decimal(0), Decimal(0), ""
    last_small, last_large = 10**4, 10**16
    for part in parts:
        if unit := _SMALL_UNITS.get(part):
            if unit >= last_small:
                return None
            section, current, last_small = section + Decimal(current or 1) * unit, "", unit
        elif unit := _LARGE_UNITS.get(part):
            section += Decimal(current or 0)
            if unit >= last_large or not section:
                return None
            total, section, current = total + section * unit, Decimal(0), ""
            last_small, last_large = 10**4, unit
        else:
            current += part
    return total + section + Decimal(current or 0)


def foreign_letters(text: str) -> tuple[str, ...]:
    """The letters of a text that Japanese is not written with, each once, in the order of the text.

    Foreign are, after NFKC:
      letters of any script but kana, Han, Latin and Greek, for instance Hangul, Cyrillic, Thai, Arabic, Bopomofo;
      Han characters of mainland China's GB 2312 that Japan's JIS X 0213 lacks, for instance 们, 这, 语.
    Not foreign are Han characters that both have, though a Chinese sentence may be written with them alone (你好),
    traditional ones, Latin letters (an English answer is wrong, not in a wrong script), signs and emoji.
    """
    found = dict.fromkeys(char for char in unicodedata.normalize("NFKC", text) if _is_foreign(char))
    return tuple(found)


def _is_foreign(char: str) -> bool:
    if not unicodedata.category(char).startswith("L"):
        return False
    name = unicodedata.name(char, "")
    if name.startswith("CJK "):
        return _in(char, "gb2312") and not _in(char, "euc_jis_2004")
    return not name.startswith(_WRITTEN_WITH)


def _in(char: str, charset: str) -> bool:
    try:
        char.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def _strip(text: str) -> str:
    """The text without outer punctuation, but with a percent sign and the minus of a number."""
    kept = [
        i
        for i, char in enumerate(text)
        if unicodedata.category(char)[0] not in "PZ" or char == "%" or (char == "-" and text[i + 1 : i + 2].isdecimal())
    ]
    return text[kept[0] : kept[-1] + 1] if kept else ""
