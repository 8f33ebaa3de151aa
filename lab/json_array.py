"""The elements of a JSON array out of a text, one at a time: no more than one element and a piece is in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TextIO

Why = Literal["ends", "separator", "element", "encoding"]
"""What is broken: the text ends before its array does, no comma stands behind an element, an element cannot be read,
the text is in another encoding."""

_PIECE = 256 * 1024
_BLANK = re.compile(r"[ \t\r\n]*")


class ArrayBroken(Exception):
    """Nothing says where the next element begins.

    Attributes:
        line: where it is broken.
        why: in what way.
    """

    def __init__(self, line: int, why: Why) -> None:
        super().__init__(f"line {line}: {why}")
        self.line, self.why = line, why


def elements(text: TextIO, line: int, most_chars: int) -> Iterator[tuple[int, Any, int]]:
    """Line, value and length in characters of each element.

    Args:
        text: behind the `[` that opens the array.
        line: number of the line it stands in there.
        most_chars: an element that is longer is not read on.

    Raises:
        ArrayBroken: the rest cannot be read; its cause says what is no JSON.
    """
    decoder = json.JSONDecoder()
    buffer, at, after_value = "", 0, False

    def refill() -> bool:
        nonlocal buffer, at
        # doubling keeps the repeated attempts at a long element linear
        try:
            more = text.read(max(_PIECE, len(buffer) - at))
        except UnicodeDecodeError as problem:
            raise ArrayBroken(line, "encoding") from problem
        buffer, at = buffer[at:] + more, 0
        return bool(more)

    while True:
        blank = _BLANK.match(buffer, at)
        assert blank is not None
        line += buffer.count("\n", at, blank.end())
        at = blank.end()
        if at == len(buffer):
            if not refill():
                raise ArrayBroken(line, "ends")
            continue
        if buffer[at] == "]":
            return
        if after_value:
            if buffer[at] != ",":
                raise ArrayBroken(line, "separator")
            at, after_value = at + 1, False
            continue
        try:
            value, end = decoder.raw_decode(buffer, at)
        except (ValueError, RecursionError) as problem:
            if len(buffer) - at <= most_chars and refill():
                continue
            raise ArrayBroken(line, "element") from problem
        if end == len(buffer) and refill():
            continue  # a number may go on behind the piece that was read
        yield line, value, end - at
        line += buffer.count("\n", at, end)
        at, after_value = end, True
