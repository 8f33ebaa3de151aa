"""How much of the input earlier requests began with: over the whole file, by how long ago, and window by window."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Literal

from lab.traffic.moments import Moments
from lab.traffic.shape import Prefixes, Within
from lab.traffic.tally import Batches, ratio_interval, spread
from lab.traffic.traces import USUAL_BLOCKS, BlockSize
from lab.traffic.tree import BlockTable, Met, PrefixTree

AGO_S = (10.0, 60.0, 600.0, 3600.0)
AGO_REQUESTS = (10, 100, 1_000, 10_000)
_FINE_S = 10.0
_COARSE = (1, 6, 60, 360, 2160, 8640)
"""Windows of time in units of the fine one: up to a day."""
MOST_FINE = 500_000
WANTED_WINDOWS = 12


class PrefixCount:
    """Sums over requests. At the level of blocks, sums are of blocks until the size of one is known.

    Args:
        level: what is compared.
        budget_bytes: memory of the tree.
    """

    def __init__(self, level: Literal["tokens", "characters", "blocks"], budget_bytes: int) -> None:
        self._level = level
        self._tree = PrefixTree(budget_bytes) if level != "blocks" else None
        self._table = BlockTable() if level == "blocks" else None
        self._requests = self._whole = 0
        # blocks: shared blocks of prompts that are shared in part, tokens of those that are shared whole, all tokens,
        # and prompts that have a tail; else: shared units, nothing, all units, nothing
        self._batches = Batches(4)
        self._sums = [0.0, 0.0, 0.0, 0.0]
        self._ago_s = [0.0] * len(AGO_S)
        self._ago_requests = [0.0] * len(AGO_REQUESTS)
        self._met = 0.0
        self._fine: dict[int, list[float]] = {}
        self._began_s: float | None = None

    def add_units(self, units: bytes, marks: Sequence[int], index: int, time: float | None) -> tuple[Met, int]:
        """Take a prompt by its units; returns what it met and how many of the shared ones are no marks."""
        assert self._tree is not None
        met = self._tree.add(units, index, time)
        at, parts = 0, []
        for size, last, last_s in met.parts:
            own = size - (bisect_left(marks, at + size) - bisect_left(marks, at))
            parts.append((own, last, last_s))
            at += size
        shared = met.size - bisect_left(marks, met.size)
        total = len(units) // 4 - len(marks)
        self._add((shared, 0, total, 0), parts, index, time)
        self._whole += shared == total
        return met, shared

    def add_blocks(self, blocks: Sequence[int], tokens: int, index: int, time: float | None) -> Met:
        """Take a prompt by its blocks."""
        assert self._table is not None
        met = self._table.add(blocks, index, time)
        whole = met.size == len(blocks)
        self._whole += whole
        self._add((0, tokens, tokens, 0) if whole else (met.size, 0, tokens, 1), met.parts, index, time)
        return met

    def _add(
        self,
        sums: tuple[int, int, int, int],
        parts: Sequence[tuple[int, int, float | None]],
        index: int,
        time: float | None,
    ) -> None:
        self._requests += 1
        self._batches.add(*sums)
        for place, value in enumerate(sums):
            self._sums[place] += value
        for own, last, last_s in parts:
            self._met += own
            for place, ago in enumerate(AGO_REQUESTS):
                self._ago_requests[place] += own if index - last <= ago else 0
            if time is not None and last_s is not None:
                for place, ago_s in enumerate(AGO_S):
                    self._ago_s[place] += own if time - last_s <= ago_s else 0
        if time is None:
            return
        if self._began_s is None:
            self._began_s = time
        window = int((time - self._began_s) // _FINE_S)
        if window in self._fine or len(self._fine) < MOST_FINE:
            fine = self._fine.setdefault(window, [0.0] * 4)
            for place, value in enumerate(sums):
                fine[place] += value

    def result(self, moments: Moments, block: int | None, sizes: BlockSize, *, asked: bool) -> Prefixes | None:
        """The shares; None where there was no prompt, or blocks whose size nobody knows."""
        if not self._sums[2] or (self._level == "blocks" and block is None):
            return None
        size = block if self._level == "blocks" else None

        def shared(row: Sequence[float]) -> float:
            return row[0] * (size or 1) + row[1]

        share = shared(self._sums) / self._sums[2]
        rows = self._batches.rows()
        low = high = None
        if rows:
            low, high = ratio_interval([shared(row) for row in rows], [row[2] for row in rows])
            if size is not None:
                # a prompt that has a tail may share up to a block of it, less one token
                most = [min(row[2], shared(row) + row[3] * (size - 1)) for row in rows]
                high = max(high, ratio_interval(most, [row[2] for row in rows])[1])
            low, high = min(low, share), max(high, share)
        arrivals, _ = moments.arrivals()
        within: list[Within] = []
        # what lies so far back is a share of what was met; a block at the end of a prompt is not whole
        scale = share / self._met if self._met else 0.0
        if arrivals is not None:
            within = [Within(seconds=ago, share=met * scale) for ago, met in zip(AGO_S, self._ago_s, strict=True)
                      if ago < arrivals.span_s]  # fmt: skip
        else:
            by_requests = zip(AGO_REQUESTS, self._ago_requests, strict=True)
            within = [Within(requests=ago, share=met * scale) for ago, met in by_requests if ago < self._requests]
        window_s, windows, shares = None, 0, None
        if arrivals is not None and len(self._fine) < MOST_FINE:
            window_s, windows, shares = self._by_window(arrivals.span_s, shared)
        usual = [one for one in USUAL_BLOCKS if sizes.least <= one <= sizes.most]
        memory = self._tree.horizon if self._tree is not None else self._table.horizon if self._table else None
        horizon = None if memory is None else memory * (size or 1)
        return Prefixes(
            level=self._level,
            block_tokens=size,
            block_open=size is not None and not asked and len(usual) != 1,
            requests=self._requests,
            total=round(self._sums[2]),
            shared=round(shared(self._sums)),
            share=share,
            low=low,
            high=high,
            whole=self._whole,
            within=(*within, Within(share=share)),
            window_s=window_s,
            windows=windows,
            window_shares=shares,
            horizon=horizon,
        )

    def _by_window(
        self, span_s: float, shared: Callable[[Sequence[float]], float]
    ) -> tuple[float | None, int, tuple[float, float, float] | None]:
        fits = [one for one in _COARSE if span_s / (one * _FINE_S) >= WANTED_WINDOWS]
        coarse = fits[-1] if fits else _COARSE[0]
        sums: dict[int, list[float]] = {}
        for window, fine in self._fine.items():
            whole = sums.setdefault(window // coarse, [0.0] * 4)
            for place, value in enumerate(fine):
                whole[place] += value
        if len(sums) < 2:
            return None, len(sums), None
        return coarse * _FINE_S, len(sums), spread(shared(row) / row[2] for row in sums.values() if row[2])
