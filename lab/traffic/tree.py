"""Prefixes seen so far: a radix tree over tokens, or a table over blocks, in bounded memory.

Both are exact until their budget is used. Then they let go of what was touched longest ago, as a cache would: a
prefix that comes back later than that counts as new, and `horizon` says after how many other tokens or blocks.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

TREE_BUDGET_BYTES = 384 * 1024 * 1024
"""What the tree may take, by its own account."""
NODE_BYTES = 520
"""One node, its bytes object and its places in the parent and the queue: 380 with 300,000 of them, and slack."""
TABLE_BLOCKS = 2_000_000
"""Blocks the table keeps."""
WIDTH = 4
"""Bytes of one unit: a token, a character or a mark, as a little-endian number of 32 bits."""


class Node:
    """A run of units that nothing branches off; the path from the root to its end is a prefix somebody sent."""

    __slots__ = ("children", "index", "label", "parent", "size", "time")

    def __init__(self, label: bytes, parent: Node | None, index: int, time: float | None) -> None:
        self.label = label
        self.size = len(label) // WIDTH
        self.parent = parent
        self.children: dict[bytes, Node] | None = None
        self.index, self.time = index, time


@dataclass(frozen=True, slots=True)
class Met:
    """What a request met of earlier ones.

    Attributes:
        size: units of its longest prefix that an earlier request had.
        parts: how that prefix is made up: units, the number and the moment of the request that had them last.
        end: the node its own path ends in.
    """

    size: int
    parts: tuple[tuple[int, int, float | None], ...] = ()
    end: Node | None = field(default=None, repr=False)


class PrefixTree:
    """A radix tree; see the module for what it forgets.

    Args:
        budget_bytes: what it may take.
    """

    def __init__(self, budget_bytes: int = TREE_BUDGET_BYTES) -> None:
        self._budget = budget_bytes
        self._root = Node(b"", None, -1, None)
        self._queue: list[tuple[int, int, Node]] = []
        self._made = 0
        self._nodes = self._units = 0
        self.horizon: int | None = None
        """Fewest units it held whenever it let something go; None: it never did."""

    @property
    def units(self) -> int:
        """Units it holds."""
        return self._units

    def add(self, units: bytes, index: int, time: float | None) -> Met:
        """Take in one request.

        Args:
            units: its prompt, `WIDTH` bytes each.
            index: its number, upwards.
            time: its moment.
        """
        node, at, parts = self._root, 0, []
        while at < len(units):
            child = node.children.get(units[at : at + WIDTH]) if node.children else None
            if child is None:
                break
            if not units.startswith(child.label, at):
                child = self._split(child, _common(child.label, units, at))
            parts.append((child.size, child.index, child.time))
            child.index, child.time = index, time
            node, at = child, at + len(child.label)
        if at < len(units):
            node = self._leaf(node, units[at:], index, time)
        if self._nodes * NODE_BYTES + self._units * WIDTH > self._budget:
            self._let_go()
        return Met(at // WIDTH, tuple(parts), node)

    def _leaf(self, parent: Node, label: bytes, index: int, time: float | None) -> Node:
        leaf = Node(label, parent, index, time)
        if parent.children is None:
            parent.children = {}
        parent.children[label[:WIDTH]] = leaf
        self._nodes += 1
        self._units += leaf.size
        self._enqueue(leaf)
        return leaf

    def _split(self, child: Node, length: int) -> Node:
        """Part a node in two; returns the upper one. The lower one stays the node it was."""
        assert child.parent is not None and child.parent.children is not None
        upper = Node(child.label[:length], child.parent, child.index, child.time)
        child.parent.children[upper.label[:WIDTH]] = upper
        child.label, child.parent = child.label[length:], upper
        child.size -= upper.size
        upper.children = {child.label[:WIDTH]: child}
        self._nodes += 1
        return upper

    def _enqueue(self, leaf: Node) -> None:
        self._made += 1
        heapq.heappush(self._queue, (leaf.index, self._made, leaf))

    def _let_go(self) -> None:
        """Drop the leaves that were touched longest ago, until a tenth of the budget is free."""
        self.horizon = self._units if self.horizon is None else min(self.horizon, self._units)
        while self._queue and self._nodes * NODE_BYTES + self._units * WIDTH > self._budget * 0.9:
            index, _, leaf = heapq.heappop(self._queue)
            parent = leaf.parent
            if leaf.children or parent is None or parent.children is None or not leaf.label:
                continue
            if leaf.index > index:
                self._enqueue(leaf)  # touched since it was put there
                continue
            del parent.children[leaf.label[:WIDTH]]
            self._nodes -= 1
            self._units -= leaf.size
            leaf.label = b""  # its size stays: a request that was drawn may still know it
            if not parent.children:
                parent.children = None
                if parent.parent is not None:
                    self._enqueue(parent)


def _common(label: bytes, units: bytes, at: int) -> int:
    """Bytes that a label and the units from `at` have in common, whole units only; at least one is."""
    count = min(len(label), len(units) - at) // WIDTH
    ours = np.frombuffer(label, np.uint32, count)
    theirs = np.frombuffer(units, np.uint32, count, at)
    differ = ours != theirs
    first = int(differ.argmax())
    return (first if differ[first] else count) * WIDTH


class BlockTable:
    """Which blocks were seen, and by whom last. An id stands for its block and for everything before it."""

    def __init__(self, most: int = TABLE_BLOCKS) -> None:
        self._most = most
        self._seen: OrderedDict[int, tuple[int, float | None]] = OrderedDict()
        self.horizon: int | None = None
        """Blocks it held when it began to let go; None: it never did."""

    def add(self, blocks: Sequence[int], index: int, time: float | None) -> Met:
        """Take in one request by its blocks."""
        now = (index, time)
        runs: list[tuple[int, tuple[int, float | None]]] = []
        size, whole = 0, True
        for block in blocks:
            last = self._seen.pop(block, None)
            whole = whole and last is not None
            if whole and last is not None:
                size += 1
                if runs and runs[-1][1] is last:  # one request has them all
                    runs[-1] = (runs[-1][0] + 1, last)
                else:
                    runs.append((1, last))
            self._seen[block] = now
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)
            self.horizon = self._most
        return Met(size, tuple((length, *last) for length, last in runs))
