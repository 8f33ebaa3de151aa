"""Texts as units that can be compared: token ids with a tokenizer, characters without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

import numpy as np

from lab.traffic.requests import Request
from lab.traffic.shape import Unit

EncodeAll = Callable[[Sequence[str]], Sequence[Sequence[int]]]
"""The token ids of many texts, special tokens not added."""

_CACHED_BYTES = 48 * 1024 * 1024
_MARK = 1 << 31
"""Marks begin here, above every token and every character."""
_SERVED = _MARK + (1 << 30)
"""From here on a mark stands for a model with its adapter; it begins every prompt."""


class Counting:
    """Turns texts into units: token ids with a tokenizer, characters without one.

    Texts that come again, as instructions do, are encoded once, as long as they fit into a bounded memory.
    """

    def __init__(self, encode_all: EncodeAll | None) -> None:
        self._encode_all = encode_all
        self.unit: Unit = "tokens" if encode_all is not None else "characters"
        self._known: dict[str, bytes] = {}
        self._known_bytes = 0

    def prepare(self, texts: Iterator[str]) -> None:
        """Encode what is not known yet, all at once."""
        if self._encode_all is None:
            return
        if self._known_bytes > _CACHED_BYTES:
            # what was used last stands last
            for text in list(self._known)[: len(self._known) // 2 + 1]:
                self._forget(text)
        fresh = []
        for text in dict.fromkeys(texts):
            known = self._known.pop(text, None)
            if known is None:
                fresh.append(text)
            else:
                self._known[text] = known
        if not fresh:
            return
        for text, ids in zip(fresh, self._encode_all(fresh), strict=True):
            self._known[text] = np.asarray(ids, np.uint32).tobytes()
            self._known_bytes += len(self._known[text]) + len(text)

    def _forget(self, text: str) -> None:
        self._known_bytes -= len(self._known.pop(text)) + len(text)

    def length(self, text: str) -> int:
        """Units of a text."""
        return len(text) if self._encode_all is None else len(self._known[text]) // 4

    def units(self, request: Request) -> tuple[bytes, tuple[int, ...]] | None:
        """The units of a prompt, and at which places marks stand; None where it is token ids and nobody reads them."""
        # another model, or another adapter, has another cache
        served = f"{request.model or ''}\0{request.adapter or ''}".encode("utf-8", "surrogatepass")
        parts, marks, at = [np.uint32(_SERVED + crc32(served) % (1 << 29)).tobytes()], [0], 1
        for mark, text in request.pieces:
            if isinstance(text, str):
                own = text.encode("utf-32-le", "surrogatepass") if self._encode_all is None else self._known[text]
            elif self._encode_all is None:
                return None
            else:
                own = np.asarray(text, np.uint32).tobytes()
            marks.append(at)
            parts += [np.uint32(_MARK + mark).tobytes(), own]
            at += 1 + len(own) // 4
        return b"".join(parts), tuple(marks)
