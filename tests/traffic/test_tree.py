"""What a request shares with those before it: the tree says what comparing with every earlier one says."""

from __future__ import annotations

import random

import numpy as np

from lab.traffic.tree import BlockTable, PrefixTree


def units(*values: int) -> bytes:
    return np.asarray(values, np.uint32).tobytes()


def common(one: list[int], two: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def test_prompts_that_begin_alike_share_what_they_begin_with() -> None:
    tree = PrefixTree()
    shared = [tree.add(units(*prompt), i, None).size for i, prompt in enumerate(
        [(1, 2, 3, 4), (1, 2, 9), (1, 2, 3, 4), (1, 2), (5,), (1, 2, 3, 4, 5, 6), (1, 2, 9, 9)])]  # fmt: skip
    assert shared == [0, 2, 4, 2, 0, 4, 3]


def test_the_tree_agrees_with_comparing_every_pair() -> None:
    chance = random.Random(5)
    tree, before = PrefixTree(), list[list[int]]()
    for number in range(300):
        start = chance.choice(before)[: chance.randrange(12)] if before and chance.random() < 0.7 else []
        prompt = [*start, *(chance.randrange(3) for _ in range(chance.randrange(1, 12)))]
        met = tree.add(units(*prompt), number, float(number))
        assert met.size == max((common(prompt, other) for other in before), default=0)
        assert sum(size for size, _, _ in met.parts) == met.size
        at = 0
        for size, last, _ in met.parts:  # each part was had last by the request it names
            at += size
            assert max(i for i, other in enumerate(before) if common(prompt, other) >= at) == last
        before.append(prompt)


def test_a_full_tree_lets_go_of_what_was_touched_longest_ago_and_says_so() -> None:
    tree = PrefixTree(budget_bytes=60_000)
    kept = [7] * 50
    for number in range(400):
        fresh = tree.add(units(*(number + 100 for _ in range(50))), number, None)
        assert fresh.size == 0
        assert tree.add(units(*kept), number, None).size == (50 if number else 0)  # used all the time, never let go
    assert tree.horizon is not None and 0 < tree.units * 4 < 60_000
    assert tree.add(units(*(100 for _ in range(50))), 400, None).size == 0  # the first one is long forgotten
    assert tree.add(units(*(499 for _ in range(50))), 401, None).size == 50  # the newest one is not


def test_blocks_count_up_to_the_first_one_that_is_new() -> None:
    table = BlockTable(most=4)
    assert [table.add(blocks, i, None).size for i, blocks in enumerate([(1, 2), (1, 3), (1, 3), (5, 3)])] == [
        0,
        1,
        2,
        0,
    ]
    assert table.horizon is None
    table.add((8, 9), 4, None)
    assert table.horizon == 4
    assert table.add((1, 2), 5, None).size == 0  # it was let go
