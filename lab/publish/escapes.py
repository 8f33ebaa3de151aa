"""Text with its escapes undone, and the other texts that a reader of it could put together."""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

ROUNDS = 6
"""How often escapes within escapes are undone."""


def folded(text: str) -> str:
    """One case, one form of each character, one dash, and nothing that is not seen."""
    if "\x1b" in text:
        text = _STEERING.sub("", text)
    if "\x08" in text:
        text = _RUBBED_OUT.sub("", text)
    return unicodedata.normalize("NFKC", text.translate(_TAGS)).translate(_SAME).casefold()


def squeezed(text: str) -> str:
    """Text without any space."""
    return _SPACE.sub("", text)


def bare(text: str) -> str:
    """Letters and digits alone, without accents; letters that look Latin are Latin."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).translate(_LOOKS_LATIN)
    return _NO_WORD.sub("", text)


def unescaped(text: str) -> str:
    """Text with entities, JSON, C and percent escapes undone, also where they are nested."""
    for _ in range(ROUNDS):
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text:
            text = _ESCAPE.sub(_character, text)
        if "%" in text:
            text = _PERCENT_U.sub(lambda match: _chr(match.group(1)), text)
        if text != before and _HALF.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "%" in text:
            text = unquote(text, errors="replace")
        if text == before:
            break
    return text


def without_tags(text: str) -> str:
    """Markup taken out; the lines stay where they were."""
    text, at = text.replace("<![CDATA[", "").replace("]]>", ""), 0
    shown = []
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        shown += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + 3
    return _TAG.sub(lambda match: "\n" * match.group(0).count("\n"), "".join((*shown, text[at:])))


def written_otherwise(text: str) -> Iterator[str]:
    """The same text where it is written by the rules of something other than a page.

    Args:
        text: with its entities, JSON and percent escapes undone.
    """
    if "\\" in text:
        if _CSS_ESCAPE.search(text):
            yield _CSS_ESCAPE.sub(lambda match: _chr(match.group(1)), text)
        if _OCTAL.search(text):
            yield _OCTAL.sub(_octets, text)
    if "=" in text and _MAYBE_QUOTED.search(text):
        yield _QUOTED.sub(_quoted, text)
    if "+" in text and _UTF7.search(text):
        yield _UTF7.sub(_utf7, text)
    yield from map(_of_selectors, _SELECTORS.findall(text))


def put_together(text: str) -> Iterator[str]:
    """Texts that stand in this one in pieces.

    Args:
        text: markup and all, with its entities, JSON and percent escapes undone.
    """
    if "<" in text:
        if (shown := _HIDDEN.sub("", text)) != text:
            yield without_tags(shown)
        yield "".join(match.group(1) or match.group(2) for match in _ATTRIBUTE.finditer(text))
    if _JOINT.search(text):
        yield _JOINT.sub("", text)
    if _SINGLE.search(text):
        yield _SINGLE.sub(lambda match: squeezed(match.group(0)), text)


def listed_bytes(text: str) -> Iterator[bytes]:
    """Bytes that are written down one by one: in hexadecimal, decimal or binary digits, or as base32."""
    for match in _HEX.finditer(text):
        yield bytes.fromhex(match.group(1))
    for match in _HEX_LIST.finditer(text):
        yield bytes(int(one[-2:], 16) for one in re.findall(r"[0-9a-fA-F]{2}", match.group(0).replace("0x", "")))
    for expression, base in ((_DECIMALS, 10), (_BINARY, 2)):
        for match in expression.finditer(text):
            numbers = [int(one, base) for one in re.findall(r"\d+", match.group(0))]
            if max(numbers) < 256:
                yield bytes(numbers)
    for match in _BASE32.finditer(text):
        word = match.group(0).rstrip("=").upper()
        for plain in {word, word.translate(_FROM_BASE32HEX)}:
            try:
                yield base64.b32decode(plain[: len(plain) - len(plain) % 8] + _padded(plain[len(plain) // 8 * 8 :]))
            except (binascii.Error, ValueError):
                continue
    for match in _UU.finditer(text):
        lines = [line for line in match.group(1).splitlines() if line]
        try:
            yield b"".join(binascii.a2b_uu(line) for line in lines)
        except (binascii.Error, ValueError):
            continue
    for match in _ASCII85.finditer(text):
        try:
            yield base64.a85decode(match.group(0), adobe=True)
        except ValueError:
            continue


def _padded(rest: str) -> str:
    """The last group of base32, cut to whole bytes and filled."""
    whole = {1: 0, 3: 2, 6: 5}.get(len(rest), len(rest))
    return rest[:whole] + "=" * (8 - whole) if whole else ""


def _character(match: re.Match[str]) -> str:
    digits = match.group(1) or match.group(2) or match.group(3)
    if digits:
        return _chr(digits)
    if match.group(4):
        raw = bytes.fromhex(match.group(4).replace("\\", "").replace("x", "").replace("X", ""))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")
    return match.group(5)


def _chr(digits: str) -> str:
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"


def _octets(match: re.Match[str]) -> str:
    return bytes(int(one, 8) for one in re.findall(r"[0-3][0-7]{2}", match.group(0))).decode("utf-8", "replace")


def _quoted(match: re.Match[str]) -> str:
    digits = re.findall(r"=([0-9A-Fa-f]{2})", match.group(0))
    return bytes.fromhex("".join(digits)).decode("utf-8", "replace")


def _utf7(match: re.Match[str]) -> str:
    word = match.group(1)
    try:
        return base64.b64decode(word + "=" * (-len(word) % 4)).decode("utf-16-be")
    except (binascii.Error, ValueError):
        return match.group(0)


def _of_selectors(run: str) -> str:
    """Bytes that are hidden in variation selectors, one in each."""
    numbers = (ord(char) - 0xFE00 if ord(char) < 0xFE10 else ord(char) - 0xE0100 + 16 for char in run)
    return bytes(numbers).decode("utf-8", "replace")


_SPACE = re.compile(r"\s+")
_NO_WORD = re.compile(r"[\W_]+")
_TAG = re.compile(r"<[^<>]*>")
_ESCAPE = re.compile(
    r"\\{1,64}(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|"
    r"(x[0-9a-fA-F]{2}(?:\\{1,4}x[0-9a-fA-F]{2}){0,4000})|([/\"']))"
)
_HALF = re.compile("[\ud800-\udfff]")
_PERCENT_U = re.compile(r"%u([0-9a-fA-F]{4})")
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_OCTAL = re.compile(r"(?:\\{1,4}[0-3][0-7]{2}){4,4000}")
_QUOTED = re.compile(r"(?:=[0-9A-Fa-f]{2}|=\r?\n){1,4000}")
_MAYBE_QUOTED = re.compile(r"(?:=[0-9A-Fa-f]{2}){4}|=\r?\n|\w=[2-7][0-9A-Fa-f]\w")
_UTF7 = re.compile(r"\+([A-Za-z0-9+/]{3,4000})-?")
_HIDDEN = re.compile(
    r"<(\w{1,20})\b[^<>]{0,2000}(?:\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)[^<>]{0,2000}>"
    r"[^<]{0,2000}</\1\s*>",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""=\s?(?:"([^"<>]{1,2000})"|'([^'<>]{1,2000})')""")
_JOINT = re.compile(r"""["'`]\s{0,50}(?:[+.,]\s{0,50})?(?:/\*[^*]{0,100}\*/\s{0,50})?["'`]|\\\r?\n|/\*\*/""")
_SINGLE = re.compile(r"(?<![\w+/=-])(?:[\w+/=-][ \t]){11,4000}[\w+/=-](?![\w+/=-])")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0[xX])?((?:[0-9a-fA-F]{2}){6,})(?![0-9A-Za-z])")
_HEX_LIST = re.compile(
    r"(?<![0-9A-Za-z])(?:0x)?[0-9a-fA-F]{2}(?:[\s,;:._-]{1,8}(?:0x)?[0-9a-fA-F]{2}(?![0-9a-zA-Z])){5,}"
)
_DECIMALS = re.compile(r"(?<![\w.])\d{1,3}(?:[\s,;|]{1,8}\d{1,3}(?![\w.])){5,}")
_BINARY = re.compile(r"(?<!\w)[01]{8}(?:[\s,]{0,4}[01]{8}){5,}(?!\w)")
_BASE32 = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Z0-9]{11,}|[a-z0-9]{11,})(?![A-Za-z0-9+/])={0,6}")
_UU = re.compile(r"^begin [0-7]{3} \S{1,200}\r?\n((?:[ -`]{1,62}\r?\n){1,100000})", re.MULTILINE)
_ASCII85 = re.compile(r"<~[!-uz\s]{5,1000000}~>")
_STEERING = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])")
_RUBBED_OUT = re.compile(r"[^\x08]\x08")
_FROM_BASE32HEX = str.maketrans("0123456789ABCDEFGHIJKLMNOPQRSTUV", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Characters of tags, which are not seen, to the characters they stand for."""
_SAME: dict[int, str | None] = {
    **dict.fromkeys(code for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)),
    **dict.fromkeys(
        code
        for low, high in ((0x7F, 0x3100), (0xFE00, 0xFFFF), (0x1BCA0, 0x1D17B), (0xE0000, 0xE01F0))
        for code in range(low, high)
        if unicodedata.category(chr(code)) in ("Cf", "Cc")
        or 0xFE00 <= code <= 0xFE0F
        or code >= 0xE0100
        or code == 0xFFFD
    ),
    **dict.fromkeys(range(0x300, 0x370)),  # marks that make no letter with what they stand on
    **dict.fromkeys((0xFFFD, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800)),
    **dict.fromkeys(
        [*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63, 0x058A, 0x05BE, 0x2043, 0x2796, 0x30FC, 0x3030, 0x2053], "-"
    ),
}
"""Characters that are not seen, to nothing, and every dash to one."""
_LOOKS_LATIN = str.maketrans(
    "авеѕіјкмнортсухԁһӏԛԝгαβγεηικνορτυχωϲ" + "ɑɡıⅼ",
    "abesijkmhoptcyxdhlqwrabyenikvoptuxwc" + "agil",
)
"""Letters of Cyrillic, Greek and phonetic alphabets that look like Latin ones."""
