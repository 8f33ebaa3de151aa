"""Every text a reader could get out of a file: as it stands, with each kind of escape undone, and from what is inside.

A file is opened by what its bytes are, not by its name: archives, compressed data, pictures, fonts, documents and
tables are taken apart, data URIs and base64 are opened, and each part is looked at in the same way again. What
cannot be opened is said, so that nothing passes because it could not be read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import html
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, unquote_to_bytes

from lab.publish.containers import Unreadable, strings_of, take_apart

MOST_BYTES = 256 * 1024 * 1024
"""Most bytes that are unpacked from one file."""

DEEPEST = 6
"""Most layers of packing; more than that is a finding, not a silence."""

SHORTEST_ENCODED = 8
"""Fewest characters that are tried as base64."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One text that can be got out of a file.

    Attributes:
        place: which part it came from, for instance `data URI 2: PNG`; empty for the file as it stands.
        text: folded: one case, one form of each character, nothing invisible.
        form: `plain`, `split` (markup taken out: values that stand over several elements show), `squeezed` (all
            space taken out as well) or `noise` (bytes read as text, where only known values mean anything).
        markup: the text unfolded, where a browser would read it as a page; None elsewhere.
        problem: why this part could not be read; None where it could.
    """

    place: str
    text: str
    form: str = "plain"
    markup: str | None = None
    problem: str | None = None


def readings(name: str, payload: bytes) -> Iterator[Reading]:
    """Every reading of one file.

    Args:
        name: decides only whether text is looked at as a page.
        payload: the whole file.
    """
    yield from _Opener().open(payload, "", name.lower().endswith((".html", ".htm", ".xhtml", ".svg", ".xml")), 0)


def readings_of_name(name: str) -> Iterator[Reading]:
    """Every reading of a file's name."""
    yield from _Opener().text(name, "", False, DEEPEST)


def folded(text: str) -> str:
    """One case, one form of each character, one dash, and nothing that is not seen."""
    return unicodedata.normalize("NFKC", text).translate(_SAME).lower()


def squeezed(text: str) -> str:
    """Text without any space."""
    return _SPACE.sub("", text)


def unescaped(text: str) -> str:
    """Text with entities, JSON, C and percent escapes undone, also where they are nested."""
    for _ in range(4):
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text:
            text = _ESCAPE.sub(_character, text)
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "%" in text:
            text = unquote(text, errors="replace")
        if text == before:
            break
    return text


class _Opener:
    """Takes one file apart, each different part once, within a budget."""

    def __init__(self) -> None:
        self.left = MOST_BYTES
        self.seen: set[bytes] = set()

    def open(self, payload: bytes, place: str, page: bool, depth: int) -> Iterator[Reading]:
        """Every reading of one part."""
        key = hashlib.sha256(payload).digest()
        if key in self.seen:
            return
        self.seen.add(key)
        self.left -= len(payload)
        if self.left < 0 or depth > DEEPEST:
            yield Reading(place, "", problem="packed too deep or too large to be read")
            return
        try:
            parts = take_apart(payload, self.left)
        except Unreadable as problem:
            yield Reading(place, "", problem=str(problem))
            parts = None
        if parts is not None:
            for part in parts:
                inner = f"{place}: {part.label}" if place else part.label
                yield from self.open(part.payload, inner, False, depth + 1)
            return
        text = _decoded(payload)
        if text is not None:
            yield from self.text(text, place, page, depth)
            return
        plain, noise = strings_of(payload)
        yield from self.text(plain, place, False, depth)
        for text in noise:
            yield Reading(place, folded(text), "noise")

    def text(self, text: str, place: str, page: bool, depth: int) -> Iterator[Reading]:
        """Every reading of a text."""
        page = page or text.lstrip("\ufeff \t\r\n")[:1] == "<"
        whole = unescaped(text)
        packed = list(_DATA_URI.finditer(whole))
        plain, whole = _DATA_URI.sub("data:", text), _DATA_URI.sub("data:", whole)
        shown = folded(plain)
        yield Reading(place, shown, markup=text if page else None)
        if (opened := folded(whole)) != shown:
            yield Reading(place, opened)
        joined = opened
        if "<" in plain:
            joined = folded(unescaped(_TAG.sub("", plain)))
            yield Reading(place, joined, "split")
        if "\\" in whole and "<" in plain:
            yield Reading(place, folded(_CSS_ESCAPE.sub(lambda m: _chr(m.group(1)), whole)))
        yield Reading(place, squeezed(joined), "squeezed")
        if depth >= DEEPEST:
            return
        for number, match in enumerate(packed, 1):
            label = f"{place}: data URI {number}" if place else f"data URI {number}"
            media, encoded = match.group("media").lower(), match.group("body")
            payload = _base64(encoded) if match.group("base64") else unquote_to_bytes(encoded)
            if payload is None:
                yield Reading(label, "", problem="not the base64 it says it is")
            else:
                yield from self.open(payload, label, "html" in media or "svg" in media, depth + 1)
        yield from self._json(plain, place, depth)
        yield from self._words(whole, place, depth)

    def _json(self, text: str, place: str, depth: int) -> Iterator[Reading]:
        """The strings of a JSON document or of JSON lines; the lines of a notebook's cell are put together."""
        if text.lstrip()[:1] not in ("{", "["):
            return
        try:
            documents = [json.loads(text)]
        except (ValueError, RecursionError):
            try:
                documents = [json.loads(line) for line in text.splitlines() if line.strip()]
            except (ValueError, RecursionError):
                return
        found: list[str] = []
        for document in documents:
            _strings(document, found)
        label = f"{place}: JSON strings" if place else "JSON strings"
        pages = [one for one in found if one.lstrip()[:1] == "<"]
        yield from self.text("\n".join(one for one in found if one not in pages), label, False, depth + 1)
        for one in pages:
            yield from self.text(one, label, True, depth + 1)

    def _words(self, text: str, place: str, depth: int) -> Iterator[Reading]:
        """What base64 and hexadecimal digits give, where they give something."""
        small: list[str] = []
        for match in _LINES_OF_BASE64.finditer(text):
            payload = _base64(match.group(0))
            if payload:
                yield from self.open(payload, f"{place}: base64" if place else "base64", False, depth + 1)
        for match in _WORD.finditer(text):
            word = match.group(0)
            for start in range(4):
                payload = _base64(word[start:])
                if payload is None or len(payload) < SHORTEST_ENCODED * 3 // 4 - 1:
                    continue
                if payload[:4] in _MAGIC or payload[:2] in _MAGIC:
                    yield from self.open(payload, f"{place}: base64" if place else "base64", False, depth + 1)
                elif (inner := _readable(payload)) is not None:
                    small.append(inner)
        for match in _HEX.finditer(text):
            if (inner := _readable(bytes.fromhex(match.group(0)))) is not None:
                small.append(inner)
        if small:
            label = f"{place}: base64 or hexadecimal" if place else "base64 or hexadecimal"
            yield from self.text("\n".join(dict.fromkeys(small)), label, False, depth + 1)


def _strings(document: object, found: list[str]) -> None:
    """Collects keys and strings; a list of strings also as the one text it is in a notebook."""
    todo = [document]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            found.extend(map(str, one))
            todo.extend(one.values())
        elif isinstance(one, list):
            if len(one) > 1 and all(isinstance(line, str) for line in one):
                found.append("".join(one))
            else:
                todo.extend(one)


def _decoded(payload: bytes) -> str | None:
    """Bytes as the text they are; None where they are something else."""
    if payload[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return payload.decode("utf-16", "replace")
    if b"\x00" in payload[:4096]:
        return None
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError as problem:
        # one bad byte does not make a page a binary
        good = payload.decode("utf-8", "replace")
        return good if good.count("\ufffd") * 50 < len(good) and problem.start > 64 else None


def _base64(text: str) -> bytes | None:
    """What base64 of either alphabet holds, padded or not; None where it is none."""
    plain = _SPACE.sub("", text).replace("-", "+").replace("_", "/").rstrip("=")
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _readable(payload: bytes) -> str | None:
    """Bytes as a text somebody may have written; None for noise."""
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        return None
    noise = ("Cc", "Cn", "Co", "Cs")
    return text if all(char in "\r\n\t" or unicodedata.category(char) not in noise for char in text) else None


def _character(match: re.Match[str]) -> str:
    digits = match.group(1) or match.group(2) or match.group(3)
    return _chr(digits) if digits else match.group(4)


def _chr(digits: str) -> str:
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"


_SPACE = re.compile(r"\s+")
_TAG = re.compile(r"<!--.*?-->|<[^<>]*>", re.DOTALL)
_ESCAPE = re.compile(r"\\{1,4}(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|([/\"']))")
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_DATA_URI = re.compile(
    r"data:(?P<media>[\w.+-]+/[\w.+-]+|)(?:;[\w=.+\"-]+)*?(?P<base64>;base64)?,"
    r"(?P<body>(?(base64)[\w+/-]+(?:\s+[\w+/-]{20,})*={0,2}|[^\"'<>)\s]+))",
    re.IGNORECASE,
)
_LINES_OF_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{40,}\r?\n\s*)+[A-Za-z0-9+/]+={0,2}")
_WORD = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){6,}(?![0-9A-Za-z])")
_MAGIC = frozenset({b"PK\x03\x04", b"\x89PNG", b"\x1f\x8b", b"%PDF", b"wOF2", b"wOFF", b"PAR1", b"\xfd7zX", b"BZ"})
_SAME: dict[int, str | None] = {
    **dict.fromkeys(
        code
        for low, high in ((0x0, 0x3100), (0xFE00, 0xFFFF), (0x1BCA0, 0x1D17B), (0xE0000, 0xE01F0))
        for code in range(low, high)
        if unicodedata.category(chr(code)) == "Cf" or 0xFE00 <= code <= 0xFE0F or code >= 0xE0100
    ),
    0x034F: None,
    0x115F: None,
    0x1160: None,
    0x17B4: None,
    0x17B5: None,
    **dict.fromkeys([*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63], "-"),
}
"""Characters that are not seen, to nothing, and every dash to one."""
