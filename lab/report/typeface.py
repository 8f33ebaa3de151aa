"""The Japanese typeface a page carries with it: only the characters that stand on that page.

The glyphs come from IPAexGothic in the package matplotlib-fontja. Its licence (IPA Font License v1.0,
article 2.5) lets a document embed them for its own display without further duties; the embedded face has a
name of its own, as article 3.1(4) asks of derived fonts.
"""

from __future__ import annotations

import base64
import io
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FAMILY = "lab-gothic"
"""Name of the embedded face in CSS."""


@cache
def font_path() -> Path:
    """The font file. The package is only located, because importing it would change matplotlib's settings."""
    spec = find_spec("matplotlib_fontja")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("matplotlib-fontja is not installed", name="matplotlib_fontja")
    return Path(spec.origin).parent / "fonts" / "ipaexg.ttf"


_RANGES = ((0x2190, 0x21FF), (0x2E80, 0xFFFF))
"""Arrows, then everything from the CJK radicals on: kana, kanji, full-width forms."""


def covered(text: str) -> str:
    """The characters of `text` that the embedded face draws, each once, sorted."""
    return "".join(sorted(char for char in set(text) if any(low <= ord(char) <= high for low, high in _RANGES)))


def face_css(text: str, *, everything: bool = False) -> str:
    """An @font-face rule with the glyphs `text` needs, or nothing when it needs none.

    Args:
        text: what stands on the page.
        everything: True embeds Latin letters, digits and signs as well, for paper that may not depend on the
            typefaces of the machine it is made on.
    """
    if everything:
        characters = "".join(sorted(char for char in set(text) if char.isprintable()))
        data = base64.b64encode(subset(characters)).decode()
        return f"@font-face{{font-family:{FAMILY};src:url(data:font/woff2;base64,{data}) format('woff2')}}"
    characters = covered(text)
    if not characters:
        return ""
    data = base64.b64encode(subset(characters)).decode()
    ranges = ",".join(f"U+{low:X}-{high:X}" for low, high in _RANGES)
    return (
        f"@font-face{{font-family:{FAMILY};src:url(data:font/woff2;base64,{data}) format('woff2');"
        f"unicode-range:{ranges}}}"
    )


@cache
def subset(characters: str) -> bytes:
    """A WOFF2 font with these characters only; the same characters give the same bytes."""
    options = Options(
        flavor="woff2",
        hinting=False,
        layout_features=[],
        name_IDs=[],
        notdef_outline=True,
        recalc_timestamp=False,
    )
    with TTFont(font_path(), recalcTimestamp=False, lazy=True) as font:
        subsetter = Subsetter(options)
        subsetter.populate(text=characters)
        subsetter.subset(font)
        font.flavor = "woff2"
        buffer = io.BytesIO()
        font.save(buffer)
    return buffer.getvalue()
