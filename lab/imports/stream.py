"""JSON out of files of any size: what an importer does not ask for is passed over and never built.

The bytes are searched for quotes and brackets only; a value that is wanted is cut out and handed to `json`. A file of
a gigabyte takes the memory of its largest wanted value and of what is made of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from lab.errors import ImportRefused
from lab.params import shown

CHUNK_BYTES = 2**20
VALUE_BYTES = 64 * 2**20
"""The largest value that is built at once."""
DEPTH = 200
"""How deep a document may be nested."""

Constant = Callable[[str], Any]
"""What becomes of NaN and infinity, which are no JSON: a value, or a ValueError."""


@dataclass(frozen=True, slots=True)
class Each:
    """A list whose elements are built one at a time, and what is kept of each.

    Attributes:
        keep: makes of an element what is kept.
        shape: what is built of an element; None: the whole.
    """

    keep: Callable[[Any], Any]
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """A value that nobody asks for: its key is left out."""


@dataclass(frozen=True, slots=True)
class Keys:
    """An object of which only the keys are wanted."""


Shape: TypeAlias = "Mapping[str, Shape] | Each | Skip | Keys"
"""What is built of a value; of an object the keys that are not named are built whole."""


class Stream:
    """The bytes of one file, read once from its beginning to its end.

    Attributes:
        size: bytes read so far.
    """

    def __init__(self, path: Path, file: BinaryIO, constant: Constant | None = None) -> None:
        self._path = path
        self._file = file
        self._constant = constant or _no_number
        self._buffer = b""
        self._at = 0
        self._mark: int | None = None
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        """Digest of what was read so far."""
        return self._hash.hexdigest()

    def documents(self, shape: Shape | None) -> Iterator[Any]:
        """Every document of the file, one under the other or as the elements of lists.

        Raises:
            ImportRefused: not JSON, or cut off.
        """
        if self._fill() and self._buffer.startswith(b"\xef\xbb\xbf"):
            self._at = 3
        while self._next() is not None:
            if self._next() == b"[":
                yield from self._elements(shape)
            else:
                yield self._value(shape)

    def lines(self) -> Iterator[Any]:
        """Every line as a value; empty lines are left out. Raises ImportRefused."""
        while self._buffer or self._fill():
            end = self._find(b"\n")
            line, last = self._buffer[self._at : end].strip(), end == len(self._buffer)
            self._at = min(end + 1, len(self._buffer))
            if line:
                yield self._parse(line, last=last)
            if self._at >= len(self._buffer) and not self._fill():
                return

    # walking

    def _value(self, shape: Shape | None) -> Any:
        first = self._next()
        if isinstance(shape, Skip):
            self._pass()
            return None
        if isinstance(shape, Each) and first == b"[":
            return [shape.keep(one) for one in self._elements(shape.shape)]
        if isinstance(shape, Keys | Mapping) and first == b"{":
            return self._object(shape)
        return self._whole()

    def _object(self, shape: Mapping[str, Shape] | Keys) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        if self._after(b"}"):
            return found
        while True:
            if (first := self._next()) != b'"':
                raise self._cut() if first is None else self._refused("a key has to stand here")
            key = self._whole()
            if not self._after(b":"):
                raise self._refused(f"':' has to follow the key '{key[:40]}'")
            if self._next() is None:
                raise self._cut()
            of_key = Skip() if isinstance(shape, Keys) else shape.get(key)
            value = self._value(of_key)
            if isinstance(shape, Keys) or not isinstance(of_key, Skip):
                found[key] = value
            if self._after(b"}"):
                return found
            if not self._after(b","):
                raise self._refused("',' or '}' has to stand here")

    def _elements(self, shape: Shape | None) -> Iterator[Any]:
        self._at += 1
        if self._after(b"]"):
            return
        while True:
            if self._next() is None:
                raise self._cut()
            yield self._value(shape)
            if self._after(b"]"):
                return
            if not self._after(b","):
                raise self._refused("',' or ']' has to stand here")

    def _after(self, sign: bytes) -> bool:
        """Whether a sign stands next; then it is passed."""
        found = self._next()
        if found is None:
            raise self._cut()
        if found != sign:
            return False
        self._at += 1
        return True

    # values

    def _whole(self) -> Any:
        self._mark = self._at
        last = self._pass()
        value = self._buffer[self._mark : self._at]
        self._mark = None
        return self._parse(value, last=last)

    def _parse(self, value: bytes, *, last: bool = False) -> Any:
        """A value; `last`: the file ends behind it, so that what is wrong with it may be that it was cut off."""
        try:
            return json.loads(value.decode(), parse_constant=self._constant)
        except UnicodeDecodeError:
            raise ImportRefused(f"{shown(self._path)} is not text in UTF-8, so it is no JSON") from None
        except RecursionError:
            raise self._refused("it is nested too deeply") from None
        except json.JSONDecodeError as problem:
            if last and (value[:1] in _OPEN or any(word.startswith(value) for word in _WORDS)):
                raise self._cut() from None
            raise self._refused(f"{problem.msg} at '{value[:40].decode(errors='replace')}'") from None
        except ValueError as problem:
            raise self._refused(str(problem)) from None

    def _pass(self) -> bool:
        """Go behind the next value, and say whether it is one whose end only the end of the file is."""
        first = self._next()
        if first == b'"':
            self._at += 1
            self._pass_string()
        elif first in (b"{", b"["):
            self._pass_nested()
        elif _DELIMITER.match(self._buffer, self._at):
            raise self._refused(f"a value has to stand where {self._buffer[self._at : self._at + 1].decode()!r} does")
        else:
            return not self._pass_to(_DELIMITER, open_ended=True)
        return False

    def _pass_nested(self) -> None:
        closers: list[bytes] = []
        while True:
            sign = self._pass_to(_STRUCTURE)
            self._at += 1
            if sign == b'"':
                self._pass_string()
            elif sign in _CLOSER:
                closers.append(_CLOSER[sign])
                if len(closers) > DEPTH:
                    raise self._refused(f"it is nested more than {DEPTH} deep")
            elif not closers or closers.pop() != sign:
                raise self._refused(f"{sign.decode()!r} closes what was not opened")
            if not closers:
                return

    def _pass_string(self) -> None:
        """Go behind the string whose opening quote was passed: at once where it lies in the buffer whole."""
        if (rest := _REST.match(self._buffer, self._at)) is not None:
            self._at = rest.end()
            return
        while self._pass_to(_STRING) == b"\\":
            self._at += 2
            while self._at > len(self._buffer):
                if not self._fill():
                    raise self._cut()
        self._at += 1

    def _pass_to(self, pattern: re.Pattern[bytes], *, open_ended: bool = False) -> bytes:
        """Go to the first byte of a kind and return it; at the end of the file nothing, where that is allowed."""
        while (found := pattern.search(self._buffer, self._at)) is None:
            self._at = len(self._buffer)
            if not self._fill():
                if open_ended:
                    return b""
                raise self._cut()
        self._at = found.start()
        return found[0]

    # bytes

    def _next(self) -> bytes | None:
        """The next byte that is no space, without going behind it; None: the file is at its end."""
        while (found := _WORD.search(self._buffer, self._at)) is None:
            self._at = len(self._buffer)
            if not self._fill():
                return None
        self._at = found.start()
        return found[0]

    def _find(self, sign: bytes) -> int:
        """Where a byte stands from here on, or the end of the file; what lies before it is kept."""
        self._mark = self._at
        while (end := self._buffer.find(sign, self._at)) < 0 and self._fill():
            pass
        self._mark = None
        return end if end >= 0 else len(self._buffer)

    def _fill(self) -> bool:
        """Read on; False at the end. What was passed, and is not marked, is let go."""
        chunk = self._file.read(CHUNK_BYTES)
        if not chunk:
            return False
        self._hash.update(chunk)
        self.size += len(chunk)
        cut = self._at if self._mark is None else self._mark
        cut = min(cut, len(self._buffer))
        if self._mark is not None and len(self._buffer) - cut > VALUE_BYTES:
            raise ImportRefused(
                f"{shown(self._path)} holds one value of more than {VALUE_BYTES // 2**20} MiB, which no result of "
                "this kind has"
            )
        self._buffer = self._buffer[cut:] + chunk
        self._at -= cut
        if self._mark is not None:
            self._mark -= cut
        return True

    def _cut(self) -> ImportRefused:
        return ImportRefused(f"{shown(self._path)} ends in the middle: it is cut off", _AGAIN)

    def _refused(self, why: str) -> ImportRefused:
        return ImportRefused(f"{shown(self._path)} is not JSON: {why}", _AGAIN)


_AGAIN = "fetch or write the file again; nothing was imported"
_CLOSER = {b"{": b"}", b"[": b"]"}
_OPEN = tuple(bytes([sign]) for sign in b'{["-0123456789')
_WORDS = (b"true", b"false", b"null")
_STRUCTURE = re.compile(rb'["{}\[\]]')
_STRING = re.compile(rb'["\\]')
_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_DELIMITER = re.compile(rb"[\s,:{}\[\]\"]")
_WORD = re.compile(rb"\S")


def _no_number(word: str) -> Any:
    """NaN and infinity are no JSON, and no measurement."""
    raise ValueError(f"{word} stands where a number should; a value that is missing has to be null")


def not_a_number(_: str) -> None:
    """For tools that write NaN where a value is missing: it is missing."""
    return
