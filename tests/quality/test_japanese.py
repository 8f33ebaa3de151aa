"""Japanese spellings of one answer fall together, different answers do not, and foreign letters are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.quality.japanese import digits, foreign_letters, japanese_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("５，７，１２", "5,7,12"),
        ("五、七、十二", "5,7,12"),
        ("犬 → 猫 → 鳥", "犬,猫,鳥"),
        ("１，４００円", "1400円"),
        ("1,400、2,500", "1400,2500"),
        ("テレビ", "てれび"),
        ("ﾃﾚﾋﾞ", "てれび"),
        ("コーヒー", "こーひー"),
        ("**「水」**です。", "水"),
        ("正解：水", "水"),
        ("水です。水", "水です。水"),
        ("CO₂", "co2"),
        ("－５℃", "-5°c"),
        ("-5", "-5"),
        ("25％", "25%"),
        ("20:00", "20:00"),
        ("清少納言（せいしょうなごん）", "清少納言"),
        ("（水）", "水"),
        ("午後八時", "午後8時"),
        ("三分の一", "3分の1"),
        ("千葉", "1000葉"),
        ("万葉集", "万葉集"),
        ("。", ""),
    ],
)
def test_form(text: str, form: str) -> None:
    assert japanese_form(text) == form


@pytest.mark.parametrize(
    ("numeral", "written"),
    [
        ("〇", "0"),
        ("十", "10"),
        ("二十", "20"),
        ("二〇七四", "2074"),
        ("二千七十四", "2074"),
        ("2千74", "2074"),
        ("四千八", "4008"),
        ("一万", "10000"),
        ("1万5千", "15000"),
        ("1.5万", "15000"),
        ("1.5", "1.5"),
        ("007", "007"),
        ("千二百万", "12000000"),
        ("一億二千三百万四", "123000004"),
        ("十百", "十百"),
        ("十十", "十十"),
        ("万", "万"),
        ("万億", "万億"),
        ("1.5〇2.5千", "1.5〇2.5千"),
    ],
)
def test_digits(numeral: str, written: str) -> None:
    assert digits(numeral) == written


def _kanji(number: int) -> str:
    """The ordinary kanji numeral of 1 to 9999, built from its own digits."""
    thousands, hundreds, tens, ones = map(int, f"{number:04}")
    units = ((thousands, "千"), (hundreds, "百"), (tens, "十"))
    head = "".join(("" if count == 1 else "〇一二三四五六七八九"[count]) + unit for count, unit in units if count)
    return head + ("〇一二三四五六七八九"[ones] if ones else "")


@given(st.integers(1, 9999), st.integers(0, 9999), st.integers(0, 9999))
def test_kanji_numerals_come_back_as_their_number(high: int, middle: int, low: int) -> None:
    numeral = f"{_kanji(high)}億" + (f"{_kanji(middle)}万" if middle else "") + (_kanji(low) if low else "")
    assert digits(numeral) == str(high * 10**8 + middle * 10**4 + low)


@given(st.text(st.characters(min_codepoint=ord("ぁ"), max_codepoint=ord("ゖ"))))
def test_katakana_has_the_form_of_hiragana(hiragana: str) -> None:
    katakana = "".join(chr(ord(char) + 0x60) for char in hiragana)
    assert japanese_form(katakana) == japanese_form(hiragana)


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("漢字、ひらがな、カタカナ、ﾊﾝｶｸ、々〆ヶー〼、ＡＢＣ、α、Å、½、①、㌔、🌸", ""),
        ("𠮷野家の𩸽、髙島、山﨑、森鷗外", ""),
        ("你好、臺灣", ""),
        ("图书馆", "图书馆"),
        ("これは这语言", "这语"),
        ("東京は 서울 です", "서울"),
        ("да, да", "да"),
        ("กขค", "กขค"),
        ("ㄅㄆ", "ㄅㄆ"),
        ("مرحبا", "مرحبا"),
        ("\N{REPLACEMENT CHARACTER}", ""),
    ],
)
def test_foreign_letters(text: str, letters: str) -> None:
    assert "".join(foreign_letters(text)) == letters


CYRILLIC = "".join(map(chr, range(0x400, 0x500)))
JIS = st.characters(codec="shift_jis", exclude_characters=CYRILLIC + "¥‾")  # the last two do not come back from it


@given(st.text(JIS))
def test_what_shift_jis_can_write_is_not_foreign_but_for_cyrillic(text: str) -> None:
    assert foreign_letters(text) == ()
