"""JSON values out of a file, one at a time: JSON Lines or one array, plain or gzip, whatever its size.

A line that is not JSON is handed on as a fault with its number; a broken array ends the reading, because nothing says
where its next element begins.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from lab.errors import TrafficError
from lab.json_array import ArrayBroken, elements

Fault = Literal["not-json", "not-utf-8", "too-long", "array-broken"]
"""Why a value could not be read."""

MOST_LINE_BYTES = 64 * 1024 * 1024
"""A line or an element that is longer is passed over, so that no file can fill the memory."""
_CHUNK = 256 * 1024
_HEAD = 64 * 1024
_BOM = b"\xef\xbb\xbf"

_MAGIC = (
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a zip archive or an Excel file"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
    (b"BZh", "a file compressed with bzip2"),
    (b"\xfd7zXZ\x00", "a file compressed with xz"),
    (b"SQLite format 3", "an SQLite database"),
    (b"GGUF", "a model in GGUF"),
    (b"ARROW1", "an Arrow file"),
    (b"%PDF", "a PDF"),
)


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value of a file, or why there is none in its place.

    Attributes:
        line: where it begins.
        value: what it holds; meaningless with a fault.
        raw: the bytes of a line; None for an element of an array.
        fault: why it could not be read.
    """

    line: int
    value: Any = None
    raw: bytes | None = None
    fault: Fault | None = None


class TrafficFile:
    """An open file of traffic: its values, and how far it has been read.

    Attributes:
        size_bytes: of the file on the disk.
        compressed: True for gzip.
        head: the first bytes of its content.
    """

    def __init__(self, raw: BinaryIO, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._raw = raw
        self.compressed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        self._content: Any = io.BufferedReader(gzip.GzipFile(fileobj=raw), _CHUNK) if self.compressed else raw
        self.head: bytes = self._content.read(_HEAD)
        self._content.seek(0)

    @property
    def done_bytes(self) -> int:
        """How much of the file on the disk has been read."""
        return min(self._raw.tell(), self.size_bytes)

    def values(self) -> Iterator[Value]:
        """Every value, in order."""
        text = self.head.removeprefix(_BOM).lstrip()
        return self._elements() if text[:1] == b"[" and not _is_line(text) else self._lines()

    def _lines(self) -> Iterator[Value]:
        number, content = 0, self._content
        while True:
            line = content.readline(MOST_LINE_BYTES)
            number += 1
            if not line:
                return
            if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
                while (rest := content.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    pass
                yield Value(number, fault="too-long")
                continue
            if number == 1:
                line = line.removeprefix(_BOM)
            if line.isspace():
                continue
            try:
                yield Value(number, json.loads(line.decode()), line)
            except UnicodeDecodeError:
                yield Value(number, fault="not-utf-8")
            except (ValueError, RecursionError):
                yield Value(number, fault="not-json")

    def _elements(self) -> Iterator[Value]:
        text, line = io.TextIOWrapper(self._content, encoding="utf-8-sig", newline="\n"), 1
        try:
            while (first := text.read(1)) and first != "[":  # only space stands before it
                line += first == "\n"
            for place, value, _ in elements(text, line, MOST_LINE_BYTES):
                yield Value(place, value)
        except ArrayBroken as broken:
            yield Value(broken.line, fault="not-utf-8" if broken.why == "encoding" else "array-broken")
        except UnicodeDecodeError:
            yield Value(line, fault="not-utf-8")
        finally:
            text.detach()


@contextmanager
def open_traffic(path: Path) -> Iterator[TrafficFile]:
    """The file at `path`.

    Raises:
        TrafficError: it is not there or cannot be read; the sentence does not repeat its name.
    """
    try:
        if path.is_dir():
            raise TrafficError("that is a folder; lab traffic reads one file")
        with path.open("rb") as raw:
            yield TrafficFile(raw, path.stat().st_size)
    except FileNotFoundError:
        raise TrafficError("the traffic file does not exist", "check the name that was typed") from None
    except (gzip.BadGzipFile, EOFError):
        raise TrafficError(
            "the traffic file is gzip and broken: it ends early or was damaged", "copy it again"
        ) from None
    except OSError as problem:
        raise TrafficError(f"the traffic file cannot be read: {problem.strerror or 'an input error'}") from None


def looks_like(head: bytes) -> str:
    """What a file is that holds no traffic, by its first bytes, in words."""
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return words
    text = head.removeprefix(_BOM).lstrip()
    if not text:
        return "an empty file"
    if b"\x00" in text:
        return "a binary file"
    if text[:1] == b"<":
        return "HTML or XML"
    if text[:3] == b"---":
        return "YAML"
    if text[:1] == b"{" and not _is_line(text):
        return "one JSON object over many lines"
    if text[:1] in b"{[":
        return "JSON without requests"
    first, _, rest = text.partition(b"\n")
    commas = first.count(b",")
    if commas and rest.partition(b"\n")[0].count(b",") == commas:
        return "CSV"
    return "text that is not JSON"


def _is_line(text: bytes) -> bool:
    """True when the first line is a JSON value of its own, or is longer than what was read of it."""
    first, end, _ = text.partition(b"\n")
    if not end:
        return text[:1] == b"{"
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    # an array in one line is one array; in several lines it is JSON Lines of arrays, which nobody writes
    return text[:1] != b"["
