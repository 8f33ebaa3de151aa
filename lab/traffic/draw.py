"""Draws requests of a file, a few in a row at a time, and makes them lines of a shape: lengths, gaps and who begins
like whom. What was written in them is gone then: a line says how many tokens, and of which line they are a copy.

Runs of consecutive requests are drawn without repeating, every one with the same chance, so that bursts and turns
of a conversation stay together. Where a request began like one that was not drawn, another drawn one takes its
place that shares as much with it and is at least as long as that: the share of the input that is shared stays.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lab.trace import TraceRow
from lab.traffic.tree import Node

RUN = 16
"""Requests in a row."""
_TRIES = 32


@dataclass(slots=True)
class Drawn:
    """What is kept of one request.

    Attributes:
        index: its number among the requests of the file.
        moment: its place among the moments that were kept; None when it has none.
        input_tokens, output_tokens: None where nothing says.
        shared: tokens of the prompt that an earlier request of the file began with; for a trace, blocks.
        end: where its path in the tree ends.
        marks: places of the marks in its units.
        blocks: its blocks, for a trace.
    """

    index: int
    moment: int | None
    input_tokens: int | None
    output_tokens: int | None
    shared: int
    end: Node | None = field(default=None, repr=False)
    marks: tuple[int, ...] = ()
    blocks: tuple[int, ...] | None = field(default=None, repr=False)


class Draw:
    """A reservoir of runs.

    Args:
        most: requests that are kept.
        seed: the same seed draws the same requests.
    """

    def __init__(self, most: int, seed: int) -> None:
        self._runs_kept = max(1, most // RUN)
        self._random = random.Random(seed)
        self._kept: list[list[Drawn]] = []
        self._open: list[Drawn] = []
        self._runs = 0

    def add(self, request: Drawn) -> None:
        """Take one request, in the order of the file."""
        self._open.append(request)
        if len(self._open) == RUN:
            self._close()

    def _close(self) -> None:
        run, self._open = self._open, []
        self._runs += 1
        if len(self._kept) < self._runs_kept:
            self._kept.append(run)
            return
        place = self._random.randrange(self._runs)
        if place < self._runs_kept:
            self._kept[place] = run

    @property
    def everything(self) -> bool:
        """True when no request has to be left out; a run that is not full counts as one."""
        return self._runs + bool(self._open) <= self._runs_kept

    def requests(self) -> list[Drawn]:
        """The requests that were kept, in the order of the file."""
        if self.everything:
            self._kept, self._open = [*self._kept, self._open], []
        return sorted((one for run in self._kept for one in run), key=lambda one: one.index)


def rows_of(
    drawn: Sequence[Drawn], moments: Sequence[float], seed: int, block: int | None = None
) -> tuple[TraceRow, ...]:
    """Drawn requests as lines of a shape. Requests without both lengths are left out.

    Args:
        drawn: in the order of the file.
        moments: every moment of the file that was kept.
        seed: decides who stands in for a request that was not drawn.
        block: tokens of a block, for a trace.
    """
    whole = [one for one in drawn if one.input_tokens and one.output_tokens]
    offsets = _offsets(whole, moments)
    chance = random.Random(seed)
    like = _Likeness(block)
    lengths: list[int] = []
    rows: list[TraceRow] = []
    for place, one in enumerate(whole):
        assert one.input_tokens is not None and one.output_tokens is not None
        shared, other = like.place(one)
        wanted = min(one.shared * (block or 1) if one.blocks else one.shared, one.input_tokens)
        if shared < wanted:
            near = like.neighbours(one) if other is not None else ()
            other, shared = _stand_in(wanted, near, lengths, chance)
        shared = min(shared, wanted)
        rows.append(
            TraceRow(
                at_s=None if offsets is None else offsets[place],
                input_tokens=one.input_tokens,
                output_tokens=one.output_tokens,
                shared_tokens=shared if other is not None else 0,
                like=other if shared else None,
            )
        )
        lengths.append(one.input_tokens)
        like.keep(one, place)
    return tuple(rows)


def _stand_in(
    wanted: int, near: Sequence[int], lengths: Sequence[int], chance: random.Random
) -> tuple[int | None, int]:
    """A line that is at least `wanted` tokens long, at first among those that are like the request; and the share."""
    if not lengths:
        return None, 0
    for among in (near, range(len(lengths))):
        if among:
            for _ in range(_TRIES):
                found = among[chance.randrange(len(among))]
                if lengths[found] >= wanted:
                    return found, wanted
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    return longest, min(wanted, lengths[longest])


class _Likeness:
    """Which line each drawn request shares most with."""

    def __init__(self, block: int | None) -> None:
        self._block = block
        self._nodes: dict[Node, list[int]] = {}
        self._blocks: dict[int, list[int]] = {}
        self._deepest: list[int] | None = None

    def place(self, one: Drawn) -> tuple[int, int | None]:
        """Tokens it shares with an earlier line, and the line."""
        self._deepest = None
        if one.blocks is not None:
            count = 0
            for block in one.blocks:
                if block not in self._blocks:
                    break
                self._deepest = self._blocks[block]
                count += 1
            if self._deepest is None or self._block is None or one.input_tokens is None:
                return 0, None
            return min(count * self._block, one.input_tokens), self._deepest[-1]
        node, below = one.end, 0
        while node is not None and node.parent is not None:
            if node in self._nodes:
                self._deepest = self._nodes[node]
                depth = _depth(node)
                return depth - bisect_left(one.marks, depth), self._deepest[-1]
            below += node.size
            node = node.parent
        return 0, None

    def neighbours(self, one: Drawn) -> Sequence[int]:
        """Every line that has what `place` found."""
        return self._deepest or ()

    def keep(self, one: Drawn, line: int) -> None:
        """Remember the path of a line."""
        for block in one.blocks or ():
            self._blocks.setdefault(block, []).append(line)
        node = one.end
        while node is not None and node.parent is not None:
            self._nodes.setdefault(node, []).append(line)
            node = node.parent


def _depth(node: Node | None) -> int:
    depth = 0
    while node is not None:
        depth += node.size
        node = node.parent
    return depth


def _offsets(drawn: Sequence[Drawn], moments: Sequence[float]) -> list[float] | None:
    """Moments of the lines from the first one, each as far behind the one before as it was in the file.

    None when one of them has no moment. The gap of a request is the one to whatever came before it in the file,
    drawn or not, so that drawing changes neither the rate nor the burstiness.
    """
    places = [one.moment for one in drawn if one.moment is not None]
    if len(places) < len(drawn) or len(drawn) < 2:
        return None
    seen = np.asarray(moments, float)
    order = np.argsort(seen, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    in_order = seen[order]
    ranks = rank[np.asarray(places)]
    before = np.maximum(ranks - 1, 0)
    gaps = in_order[ranks] - in_order[before]
    gaps[0] = 0.0
    return [round(float(one), 6) for one in np.cumsum(gaps)]
