"""Lines of a Mooncake trace: a moment, two lengths, and one id for each block of the prompt; no text at all.

Source of the layout: the traces of the Mooncake paper (FAST 2025) give milliseconds from the start and blocks of 512
tokens. Other writers keep the names and change both, so the block size is what the lines themselves allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from lab.traffic.requests import NotARequest

USUAL_BLOCKS = (512, 16, 32, 64, 128, 256, 1024, 8, 1)
"""Tried in this order among the sizes that fit every line."""
MOST_LENGTH = 100_000_000


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One request of a trace.

    Attributes:
        at: its moment, in the unit of the file; None when it has none.
        blocks: ids of its blocks; None when the line has none.
    """

    at: float | None
    at_broken: bool
    input_tokens: int
    output_tokens: int | None
    blocks: tuple[int, ...] | None


def trace_line(value: Any) -> TraceLine:
    """One line of a trace.

    Raises:
        NotARequest: it is none.
    """
    if not isinstance(value, Mapping):
        raise NotARequest("not-an-object")
    if "input_length" not in value:
        raise NotARequest("no-request")
    length, answer, ids, at = (value.get(k) for k in ("input_length", "output_length", "hash_ids", "timestamp"))
    if not _is_length(length) or length == 0 or not (answer is None or _is_length(answer)):
        raise NotARequest("bad-lengths")
    if ids is not None and not (isinstance(ids, list) and all(isinstance(one, int) for one in ids)):
        raise NotARequest("bad-lengths")
    timed = isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at < 1e18
    return TraceLine(
        at=float(at) if timed and at is not None else None,
        at_broken=at is not None and not timed,
        input_tokens=length,
        output_tokens=answer,
        blocks=tuple(ids) if ids else None,
    )


def _is_length(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_LENGTH


class BlockSize:
    """The sizes of a block that fit: n blocks hold more than n - 1 of them and no more than n."""

    def __init__(self) -> None:
        self.least, self.most = 1, MOST_LENGTH
        self.lines = 0
        self.off = 0
        """Lines that fit no size the earlier ones allow."""

    def look(self, line: TraceLine) -> None:
        """Take one line into account."""
        if line.blocks is None:
            return
        n = len(line.blocks)
        least = -(-line.input_tokens // n)
        most = (line.input_tokens - 1) // (n - 1) if n > 1 else MOST_LENGTH
        if max(least, self.least) > min(most, self.most):
            self.off += 1
            return
        self.lines += 1
        self.least, self.most = max(least, self.least), min(most, self.most)

    def size(self) -> int | None:
        """The usual size among those that fit, or the only one; None when nothing decides."""
        fits = [size for size in USUAL_BLOCKS if self.least <= size <= self.most]
        if fits and self.lines:
            return fits[0]
        return self.least if self.lines and self.least == self.most else None
