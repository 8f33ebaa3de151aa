"""Every text a reader could get out of a file: as it stands, with each kind of escape undone, and from what is inside.

A file is opened by what its bytes are, not by its name: archives, compressed data, pictures, fonts, documents and
tables are taken apart, data URIs and bytes that are written down as digits are opened, and each part is looked at in
the same way again. What cannot be opened is said, so that nothing passes because it could not be read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import time
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from lab.publish.containers import Unreadable, says_what_it_is, strings_of, take_apart
from lab.publish.escapes import folded, listed_bytes, put_together, squeezed, unescaped, without_tags, written_otherwise

MOST_BYTES = 64 * 1024 * 1024
"""Most bytes that are unpacked from one file."""

MOST_S = 300.0
"""Most CPU seconds that one file is read for; what is left then is a finding."""

DEEPEST = 8
"""Most layers of packing; more than that is a finding, not a silence."""

SHORTEST_ENCODED = 8
"""Fewest characters that are tried as base64."""

SURELY_MEANT = 96
"""Bytes of base64 or hexadecimal digits that begin as a file of some kind by chance are shorter than this."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One text that can be got out of a file.

    Attributes:
        place: which part it came from, for instance `data URI 2: PNG`; empty for the file as it stands.
        text: folded: one case, one form of each character, nothing invisible.
        form: `plain`, `split` (markup taken out: values that stand over several elements show), `tight` (to be
            looked through with space and punctuation taken out) or `noise` (bytes read as text, where only known
            values mean anything).
        markup: the text unfolded, where a browser would read it as a page; None elsewhere.
        style: the text unfolded, where a browser would read it as a style sheet; None elsewhere.
        problem: why this part could not be read; None where it could.
    """

    place: str
    text: str
    form: str = "plain"
    markup: str | None = None
    style: str | None = None
    problem: str | None = None


def readings(name: str, payload: bytes) -> Iterator[Reading]:
    """Every reading of one file.

    Args:
        name: decides only whether text is looked at as a page or as a style sheet.
        payload: the whole file.
    """
    ending = name.lower().rpartition(".")[2]
    yield from _Opener().open(payload, "", _KINDS.get(ending, ""), 0)


def readings_of_name(name: str) -> Iterator[Reading]:
    """Every reading of a file's name."""
    yield from _Opener().text(name, "", "", DEEPEST - 2)


class _Opener:
    """Takes one file apart, each different part once, within a budget."""

    def __init__(self) -> None:
        self.until = time.process_time() + MOST_S
        self.left = MOST_BYTES
        self.seen: set[bytes] = set()

    def open(self, payload: bytes, place: str, kind: str, depth: int, *, whole: bool = True) -> Iterator[Reading]:
        """Every reading of one part.

        Args:
            payload: its bytes.
            place: what it is called.
            kind: `page` or `style` where a browser would read it as one.
            depth: layers of packing around it.
            whole: it is a file, so that not being able to read it is a finding; False: it is a piece of one, or
                only looks like one.
        """
        key = hashlib.sha256(payload).digest()
        if key in self.seen:
            return
        self.seen.add(key)
        self.left -= len(payload)
        if self.left < 0 or depth > DEEPEST or time.process_time() > self.until:
            yield Reading(place, "", problem="packed too deep, or too large to be read")
            return
        parts = None
        try:
            parts = take_apart(payload, self.left)
        except Unreadable as problem:
            yield Reading(place, "", problem=str(problem))
            whole = False
        if parts is not None:
            # what lies between, before and behind the parts is read as the bytes it is
            yield from self._strings(payload, place, DEEPEST)
            for part in parts:
                inner = f"{place}: {part.label}" if place else part.label
                yield from self.open(part.payload, inner, part.kind, depth + 1, whole=part.whole)
            return
        texts = _decoded(payload)
        for text in texts:
            yield from self.text(text, place, kind, depth)
        if not texts:
            yield from self._strings(payload, place, depth)
            if whole:
                yield Reading(place, "", problem="a kind of file that is not known")

    def _strings(self, payload: bytes, place: str, depth: int) -> Iterator[Reading]:
        """Text that stands in bytes of another kind."""
        plain, noise = strings_of(payload)
        if depth < DEEPEST:
            yield from self.text(plain, place, "", depth)
        else:
            noise = [plain, *noise]
        for text in noise:
            yield Reading(place, folded(text), "noise")

    def text(self, text: str, place: str, kind: str, depth: int) -> Iterator[Reading]:
        """Every reading of a text."""
        if time.process_time() > self.until:
            yield Reading(place, "", problem="packed too deep, or too large to be read")
            return
        page = kind == "page" or (not kind and text.lstrip("\ufeff \t\r\n")[:1] == "<")
        packed, plain = _data_uris(text)
        more, whole = _data_uris(unescaped(plain))
        shown = folded(plain)
        yield Reading(
            place,
            shown,
            markup=text if page else None,
            style=text if kind == "style" else None,
        )
        if (opened := folded(whole)) != shown:
            yield Reading(place, opened)
        joined, lone = opened, whole
        if "<" in plain:
            lone = unescaped(without_tags(plain))
            joined = folded(lone)
            yield Reading(place, joined, "split")
        yield Reading(place, joined, "tight")
        others = [lone] if lone != whole else []
        for other in put_together(whole):
            others.append(other)
            if (found := folded(unescaped(other))) != opened:
                yield Reading(place, found, "split")
                yield Reading(place, found, "tight")
        if depth >= DEEPEST:
            return
        for other in written_otherwise(whole):
            if (key := hashlib.sha256(other.encode("utf-8", "replace")).digest()) not in self.seen:
                self.seen.add(key)
                yield from self.text(other, place, "words", depth + 1)
        for number, (media, payload) in enumerate((*packed, *more), 1):
            label = f"{place}: data URI {number}" if place else f"data URI {number}"
            if payload is None:
                yield Reading(label, "", problem="not the base64 it says it is")
            else:
                inner = "page" if "html" in media or "svg" in media else "style" if "css" in media else ""
                yield from self.open(payload, label, inner, depth + 1)
        yield from self._json(plain, place, depth)
        known: set[str] = set()
        for one in (whole, *others):
            yield from self._digits(one, place, depth, known)

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
        yield from self.text("\n".join(one for one in found if one not in pages), label, "", depth + 1)
        for one in pages:
            yield from self.text(one, label, "page", depth + 1)

    def _digits(self, text: str, place: str, depth: int, known: set[str]) -> Iterator[Reading]:
        """What bytes that are written down as base64 and as digits give, where they give something."""
        small: list[str] = []
        noise: list[str] = []
        label = f"{place}: base64 or digits" if place else "base64 or digits"
        for payload in _written_down(text, known):
            if says_what_it_is(payload):
                yield from self.open(payload, label, "", depth + 1, whole=False)
            elif (inner := _readable(payload) or _inflated(payload)) is not None:
                small.append(inner)
            elif len(payload) >= 8:
                noise += [run.decode("ascii") for run in _RUNS.findall(payload)]
                noise += [payload.hex()] if len(payload) <= 64 else []
        if small:
            yield from self.text("\n".join(dict.fromkeys(small)), label, "", depth + 1)
        if noise:
            yield Reading(label, folded("\n".join(noise)), "noise")


def _written_down(text: str, known: set[str]) -> Iterator[bytes]:
    """Bytes that are written as base64, in lines too, or as digits; each word once."""
    for match in _LINES_OF_BASE64.finditer(text):
        if payload := _base64(match.group(0)):
            yield payload
    for match in _WORD.finditer(text):
        word = match.group(0)
        if word in known:
            continue
        known.add(word)
        for start in range(4):
            payload = _base64(word[start:])
            if payload is not None and len(payload) >= SHORTEST_ENCODED * 3 // 4 - 1:
                yield payload
    yield from listed_bytes(text)


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


def _data_uris(text: str) -> tuple[list[tuple[str, bytes | None]], str]:
    """Media type and bytes of every data URI, None where they are not the base64 they should be; and the rest."""
    found: list[tuple[str, bytes | None]] = []
    rest, at = [], 0
    while (match := _DATA_URI.search(text, at)) is not None:
        rest.append(text[at : match.start()] + "data:")
        closing = _CLOSING.get(text[match.start() - 1 : match.start()], "")
        end = text.find(closing, match.end()) if closing else -1
        if end < 0 or end - match.end() > MOST_BYTES:
            body = _BODY.match(text, match.end())
            end = body.end() if body else match.end()
        encoded = text[match.end() : end].rstrip("\\")
        payload: bytes | None = unquote_to_bytes(encoded)
        if "base64" in match.group("params").lower():
            payload = _base64(unquote_to_bytes(encoded).decode("latin-1"))
        if payload or (payload is None and len(encoded) >= SURELY_MEANT):
            found.append((match.group("media").lower(), payload))
        if payload is None or "base64" not in match.group("params").lower():
            rest.append(text[match.end() : end])  # it may be words as they are, or only the first of them
        at = end
    return found, "".join((*rest, text[at:]))


def _decoded(payload: bytes) -> list[str]:
    """Bytes as the text they are, in every way they may be meant; nothing where they are something else."""
    for mark, kind in _MARKS:
        if payload.startswith(mark):
            return [payload.decode(kind, "replace")]
    zeros = payload.count(0)
    if zeros * 5 > len(payload):
        kinds = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
        wide = [text for kind in kinds if (text := _strictly(payload, kind)) is not None]
        plain = payload.replace(b"\x00", b"")
        text = None if _CONTROLS.search(plain) else _strictly(plain, "utf-8")
        return [*wide, text] if text else wide
    if zeros:
        payload = payload.replace(b"\x00", b"")  # a browser does not see them
    if _CONTROLS.search(payload) is not None:
        return []
    try:
        return [payload.decode("utf-8")]
    except UnicodeDecodeError:
        if zeros:
            return []
    # an older encoding, or a few bytes that are none
    older = {kind: payload.decode(kind, "replace") for kind in ("utf-8", "cp932", "euc_jp", "cp1252", "cp037")}
    wrong = {kind: text.count("\ufffd") * 20 > len(text) for kind, text in older.items()}
    return [] if wrong["utf-8"] and wrong["cp932"] and wrong["euc_jp"] else list(dict.fromkeys(older.values()))


def _base64(text: str) -> bytes | None:
    """What base64 of either alphabet holds, padded or not; None where it is none."""
    plain = squeezed(text).replace("-", "+").replace("_", "/").rstrip("=")
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _readable(payload: bytes) -> str | None:
    """Bytes as a text somebody may have written; None for noise."""
    if b"\x00" in payload:
        wide = (_strictly(payload, kind) for kind in ("utf-16-le", "utf-16-be"))
        found = next((text for text in wide if text and sum(map(str.isascii, text)) * 2 > len(text)), None)
        return found or _strictly(payload.replace(b"\x00", b""), "utf-8")
    return _strictly(payload, "utf-8")


def _strictly(payload: bytes, kind: str) -> str | None:
    """Bytes as a text of one encoding; None where they are none."""
    try:
        text = payload.decode(kind)
    except UnicodeDecodeError:
        return None
    return text if _is_text(text) else None


def _inflated(payload: bytes) -> str | None:
    """The text that was deflated without a header; None where there is none."""
    if len(payload) < 12:
        return None
    stream = zlib.decompressobj(-15)
    try:
        text = stream.decompress(payload, 4 * 1024 * 1024).decode("utf-8")
    except (zlib.error, UnicodeDecodeError):
        return None
    return text if stream.eof and len(text) > 5 and _is_text(text) else None


def _is_text(text: str) -> bool:
    noise = ("Cc", "Cn", "Co", "Cs")
    return all(char in "\r\n\t\x1b" or unicodedata.category(char) not in noise for char in text)


_KINDS = {"html": "page", "htm": "page", "xhtml": "page", "svg": "page", "xml": "page", "css": "style"}
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CONTROLS = re.compile(rb"[\x01-\x07\x0b\x0e-\x1a\x1c-\x1f]")
_RUNS = re.compile(rb"[\x20-\x7e]{6,}")
_DATA_URI = re.compile(
    r"data:\s{0,8}(?P<media>[\w.+-]{1,80}/[\w.+-]{1,80}|)"
    r"(?P<params>(?:\s{0,8};\s{0,8}[\w.+-]{1,60}(?:=(?:\"[^\"]{0,200}\"|[^\s;,\"'<>]{0,200}))?){0,8})\s{0,8},\s{0,100}",
    re.IGNORECASE,
)
_CLOSING = {'"': '"', "'": "'", "(": ")", "`": "`"}
_BODY = re.compile(r"[^\s\"'<>)]+(?:\s+[\w+/%-]{20,}={0,2}(?![^\s\"'<>)]))*")
_LINES_OF_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{16,}+\r?\n[ \t]*+)++[A-Za-z0-9+/]+={0,2}")
_WORD = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}")
