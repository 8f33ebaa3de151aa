"""Private values, arranged so that a text is searched once for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from lab.publish.escapes import bare, folded, squeezed
from lab.publish.private import SHORTEST_TEXT, WINDOW, PrivateFact
from lab.publish.readings import Reading
from lab.publish.spellings import spellings

_GRAM = 4
_FEW = 64
"""So many beginnings of values are looked for one by one; of more, all that a text holds are collected first."""
_SPLIT_WORD = 8
"""Fewest characters of a value that is looked for with all space taken out; letters that set none need fewer."""
_PLAIN_WORD = 12
"""The same for a value of letters alone: words run together make other words."""
_BARE_WORD = 9
"""Fewest characters of a value with letters and digits that is looked for without its punctuation."""
_NOISE_WORD = 6
"""The same in bytes that may be no text at all."""


class Known:
    """Private values to look for.

    Args:
        facts: from `private_facts`.
    """

    def __init__(self, facts: Iterable[PrivateFact]) -> None:
        self._words: dict[str, list[tuple[str, str]]] = {}
        self._squeezed: dict[str, list[tuple[str, str]]] = {}
        self._bare: dict[str, list[tuple[str, str]]] = {}
        self._windows: dict[str, str] = {}
        seen: set[tuple[str, str]] = set()
        for fact in sorted(facts, key=lambda fact: (fact.kind, fact.value)):
            if fact.is_text:
                self._add_text(bare(folded(fact.value)), fact.kind)
                continue
            for value in spellings(folded(fact.value).strip()):
                if (value, fact.kind) not in seen:
                    seen.add((value, fact.kind))
                    self._add(value, fact.kind)

    def _add(self, value: str, kind: str) -> None:
        tight, plain = squeezed(value), bare(value)
        if len(value) >= _GRAM:
            self._words.setdefault(value[:_GRAM], []).append((value, kind))
        if len(tight) >= (_PLAIN_WORD if _is_latin(tight) else _SPLIT_WORD if tight.isascii() else _GRAM):
            self._squeezed.setdefault(tight[:_GRAM], []).append((tight, kind))
        if plain.isdigit() or len(plain) < (_PLAIN_WORD if _is_latin(plain) else _BARE_WORD):
            return
        for way in {plain, plain[::-1]}:
            self._bare.setdefault(way[:_GRAM], []).append((way, kind))

    def _add_text(self, plain: str, kind: str) -> None:
        if len(plain) < SHORTEST_TEXT or len(set(plain)) < 8:
            return  # a row of the same few letters is nobody's words
        if len(plain) < 2 * WINDOW:
            self._bare.setdefault(plain[:_GRAM], []).append((plain, kind))
        for start in range(0, len(plain) - WINDOW + 1, WINDOW // 4):
            window = plain[start : start + WINDOW]
            if len(set(window)) >= 8 and not window.isdigit():
                self._windows.setdefault(window, kind)

    def found_in(self, reading: Reading) -> Iterator[tuple[str, int]]:
        """Kind and line of every private value in one reading; the first line of each value."""
        text = reading.text
        if reading.form != "tight":
            shortest = _NOISE_WORD if reading.form == "noise" else 0
            for kind, at, _ in _all_in(text, self._words, shortest, whole_words=True):
                yield kind, text.count("\n", 0, at) + 1
            return
        for kind, at, _ in _all_in(squeezed(text), self._squeezed):
            yield kind, _spot(text, at, 1, squeezed)[0]
        plain = bare(text)
        for kind, at, size in _all_in(plain, self._bare):
            line, words = _spot(text, at, size, bare)
            if not _is_prose(words):
                yield kind, line
        seen = set()
        for at in range(len(plain) - WINDOW + 1) if self._windows else ():
            found = self._windows.get(plain[at : at + WINDOW])
            if found is not None and found not in seen:
                seen.add(found)
                yield found, _spot(text, at, 1, bare)[0]


def _all_in(
    text: str, index: dict[str, list[tuple[str, str]]], shortest: int = 0, *, whole_words: bool = False
) -> Iterator[tuple[str, int, int]]:
    """Kind, place and length of every value in a text."""
    if not index:
        return
    if len(index) < _FEW:
        grams = {gram for gram in index if gram in text}
    else:
        grams = {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)} & index.keys()
    for gram in grams:
        for value, kind in index[gram]:
            if len(value) >= shortest and (at := _find(text, value, whole_words)) >= 0:
                yield kind, at, len(value)


def _find(text: str, value: str, whole_words: bool) -> int:
    """Where a value stands in a text; -1 where it does not. A short name inside a longer word is another word."""
    at = text.find(value)
    while (
        at >= 0
        and whole_words
        and (
            _goes_on(text[at - 1 : at] + value[0]) or _goes_on(value[-1] + text[at + len(value) : at + len(value) + 1])
        )
    ):
        at = text.find(value, at + 1)
    return at


def _goes_on(pair: str) -> bool:
    """Whether two characters are inside one word. Japanese sets no space between words, so there it says nothing."""
    return len(pair) == 2 and pair.isascii() and pair.isalnum()


def _spot(text: str, at: int, size: int, shrunk: Callable[[str], str]) -> tuple[int, str]:
    """Line, from 1, of what stands at a place of the shrunk text, and how it is written there."""
    begin, line = 0, 1
    for words in text.split("\n"):
        left = len(shrunk(words))
        if at < left:
            break
        at, begin, line = at - left, begin + len(words) + 1, line + 1
    first, shown = None, 0
    for place in range(begin, len(text)):
        shown += len(shrunk(text[place]))
        if first is None and shown > at:
            first = place
        if shown >= at + size:
            return line, text[first : place + 1]
    return line, text[first or begin :]


def _is_prose(words: str) -> bool:
    """Whether what reads as a value without its punctuation is a row of ordinary words that happen to make it up."""
    pieces = re.split(r"[,.;:]?\s+", words)
    return len(pieces) > 1 and all(piece.isalpha() and piece.isascii() and len(piece) > 2 for piece in pieces)


def _is_latin(word: str) -> bool:
    return word.isascii() and word.isalpha()
