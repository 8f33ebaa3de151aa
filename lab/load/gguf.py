"""Reads the head of a GGUF file, version 2 or 3, little-endian: its key-value part and the list of its tensors.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from lab.errors import ModelError
from lab.params import shown

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_BYTES = 1 << 24
_MOST_VALUES = 1 << 24
_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor of the file.

    Attributes:
        name: for instance `blk.0.attn_q.weight`.
        elements: numbers it holds.
        bytes: from its beginning to that of the next one, so up to 31 bytes of padding count.
    """

    name: str
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Gguf:
    """The head of a GGUF file.

    Attributes:
        fields: the key-value part.
        tensors: in the order in which they lie in the file.
    """

    fields: dict[str, Any]
    tensors: tuple[GgufTensor, ...]


def read_gguf(path: Path) -> Gguf:
    """The head of a GGUF file. Raises ModelError."""
    try:
        with path.open("rb") as file:
            magic, version = file.read(4), _number(file, "I")
            if magic != b"GGUF" or version not in (2, 3):
                raise ModelError(f"{shown(path)} is not a GGUF file of version 2 or 3")
            tensors, fields = _number(file, "Q"), _number(file, "Q")
            if tensors > _MOST_VALUES:
                raise ValueError("too many tensors")
            found = {_text(file): _value(file, _number(file, "I")) for _ in range(fields)}
            infos = [_info(file) for _ in range(tensors)]
            step = int(found.get("general.alignment", _ALIGNMENT))
            begin = -(-file.tell() // step) * step
            end = file.seek(0, 2) - begin
    except OSError as problem:
        raise ModelError(f"{shown(path)} cannot be read: {problem.strerror}") from None
    except (struct.error, ValueError, KeyError, ZeroDivisionError):
        raise ModelError(f"{shown(path)} is cut or damaged: its GGUF metadata cannot be read") from None
    infos.sort(key=lambda info: info[2])
    offsets = [offset for _, _, offset in infos] + [end]
    return Gguf(
        found,
        tuple(
            GgufTensor(name, size, max(last - at, 0)) for (name, size, at), last in zip(infos, offsets[1:], strict=True)
        ),
    )


def _info(file: BinaryIO) -> tuple[str, int, int]:
    """Name, number of elements and offset of a tensor."""
    name, dimensions = _text(file), _number(file, "I")
    if dimensions > 8:
        raise ValueError("a tensor of more than 8 dimensions")
    elements = math.prod(_number(file, "Q") for _ in range(dimensions))
    _number(file, "I")  # its format: the bytes follow from the offsets
    return name, elements, _number(file, "Q")


def _number(file: BinaryIO, code: str) -> Any:
    return struct.unpack("<" + code, file.read(struct.calcsize("<" + code)))[0]


def _text(file: BinaryIO) -> str:
    length = _number(file, "Q")
    data = file.read(length) if length <= _MOST_BYTES else b""
    if len(data) != length:
        raise ValueError("a string is cut")
    return data.decode()


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _number(file, _NUMBERS[kind])
    inner, count = _number(file, "I"), _number(file, "Q")
    if count > _MOST_VALUES or inner == _ARRAY:
        raise ValueError("an array of arrays, or one that is too long")
    if inner == _STRING:
        return [_text(file) for _ in range(count)]
    code = f"<{count}{_NUMBERS[inner]}"
    return list(struct.unpack(code, file.read(struct.calcsize(code))))
