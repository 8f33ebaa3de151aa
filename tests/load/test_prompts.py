"""Prompts: seeded, exact, unique, and warm-up apart from what is measured."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.errors import ParamsError
from lab.load.prompts import FIRST_WORD, WORDS, build_prompts, first_request, longest_tokens
from lab.load.sources import Source, SourceItem
from lab.spec import Workload

SCHEMA = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}


def workload(**changes: Any) -> Workload:
    values = {
        "name": "w", "endpoint": "chat", "input_tokens": 20, "shared_prefix_tokens": 12, "output_tokens": 4,
        "exact_output": True, "concurrency": (1, 2), "requests_per_level": 6, "warmup_requests": 2,
        "timeout_s": 5.0, "seed": 3,
    }  # fmt: skip
    return Workload.model_validate(values | changes)


def from_source(content: str, **changes: Any) -> Workload:
    values = {"content": content, "input_tokens": None, "shared_prefix_tokens": 0, "exact_output": False}
    return workload(**(values | changes))


def texts(bodies: tuple[bytes, ...]) -> list[list[str]]:
    return [json.loads(body)["messages"][0]["content"].split() for body in bodies]


def pieces(text: str, longest: int, heavy_start: bool = False) -> list[str]:
    """Toy tokenizer: words are cut into pieces of at most `longest` letters; a first word may cost one more."""
    cut = [word[i : i + longest] for word in text.split() for i in range(0, len(word), longest)]
    return ["^", *cut] if heavy_start and cut and cut[0] > "m" else cut


def test_the_same_seed_gives_the_same_requests_and_another_seed_others() -> None:
    first = build_prompts(workload(), 0, model="m", fields={}).job
    assert first == build_prompts(workload(), 0, model="m", fields={}).job
    assert first.bodies != build_prompts(workload(seed=4), 0, model="m", fields={}).job.bodies


def test_a_prefix_is_shared_within_a_group_of_a_level_and_nowhere_else() -> None:
    job = build_prompts(workload(), 0, model="m", fields={}).job
    measured, warm = texts(job.bodies), texts(job.warmup)
    assert len({tuple(words[:12]) for words in measured}) == 1
    assert len({words[12] for words in measured}) == 6
    other = texts(build_prompts(workload(), 1, model="m", fields={}).job.bodies)
    assert len({words[0] for words in (measured[0], warm[0], other[0])}) == 3


def test_requests_take_turns_over_the_groups() -> None:
    asked = workload(prefix_groups=3, shared_prefix_tokens=7, requests_per_level=9)
    measured = texts(build_prompts(asked, 0, model="m", fields={}).job.bodies)
    prefixes = [tuple(words[:7]) for words in measured]
    assert prefixes[:3] * 3 == prefixes
    assert set(Counter(prefixes).values()) == {3}
    assert len({prefix[0] for prefix in prefixes}) == 3
    assert {len(words) for words in measured} == {20}


@settings(deadline=None, max_examples=60)
@given(
    longest=st.integers(4, 9),
    heavy_start=st.booleans(),
    length=st.integers(8, 90),
    shared=st.integers(0, 60),
    groups=st.integers(1, 4),
    amount=st.integers(2, 40),
    seed=st.integers(0, 2**31),
)
def test_every_prompt_has_the_exact_length_and_begins_like_no_other(
    longest: int, heavy_start: bool, length: int, shared: int, groups: int, amount: int, seed: int
) -> None:
    shared = min(shared, length - 4)
    if 0 < shared < 4:
        shared = 0
    asked = workload(
        input_tokens=length, shared_prefix_tokens=shared, prefix_groups=groups, requests_per_level=amount, seed=seed
    )

    def count(text: str) -> int:
        return len(pieces(text, longest, heavy_start))

    levels = [build_prompts(asked, level, model="m", fields={}, count_tokens=count) for level in (0, 1)]
    assert [(level.inexact, level.uncounted) for level in levels] == [(0, 0), (0, 0)]
    every = [words for level in levels for words in texts(level.job.bodies + level.job.warmup)]
    assert {count(" ".join(words)) for words in every} == {length}
    # what has to differ is short: the three words that follow whatever is shared
    starts = [tuple(pieces(" ".join(words), longest, heavy_start)[: shared + 4]) for words in every]
    assert len(set(starts)) == len(starts) == 2 * (amount + 2)
    if shared:
        used = {start[:shared] for start in starts}
        assert len(used) == 2 * (min(groups, amount) + min(groups, 2))
        assert all(count(" ".join(words[: len(words) - length + shared])) <= shared for words in every)
    assert levels[1] == build_prompts(asked, 1, model="m", fields={}, count_tokens=count)


def test_two_thousand_prompts_cost_one_count_each_and_what_is_learned_costs_a_hundred() -> None:
    calls, lock = 0, threading.Lock()

    def count(text: str) -> int:
        nonlocal calls
        with lock:
            calls += 1
        return len(text.split())

    asked = workload(input_tokens=1000, shared_prefix_tokens=0, requests_per_level=2000, warmup_requests=0)
    begin = time.perf_counter()
    built = build_prompts(asked, 0, model="m", fields={}, count_tokens=count)
    assert set(built.tokens) == {1000}
    assert 2000 < calls < 2100
    assert time.perf_counter() - begin < 10


def test_what_cannot_be_exact_is_said() -> None:
    def only_even(text: str) -> int:
        return 2 * len(text.split())

    built = build_prompts(
        workload(input_tokens=21, shared_prefix_tokens=0), 0, model="m", fields={}, count_tokens=only_even
    )
    assert (built.inexact, built.uncounted) == (6, 0)
    assert set(built.tokens) <= {20, 22}
    even = build_prompts(
        workload(input_tokens=20, shared_prefix_tokens=0), 0, model="m", fields={}, count_tokens=only_even
    )
    assert (even.inexact, set(even.tokens)) == (0, {20})
    odd_prefix = workload(input_tokens=20, shared_prefix_tokens=11)
    assert build_prompts(odd_prefix, 0, model="m", fields={}, count_tokens=only_even).inexact == 6


def test_a_prompt_nobody_counted_is_not_called_exact() -> None:
    built = build_prompts(workload(), 0, model="m", fields={})
    assert (built.inexact, built.uncounted, built.tokens) == (0, 6, (None,) * 6)
    silent = build_prompts(workload(), 0, model="m", fields={}, count_tokens=lambda text: None)
    assert (silent.uncounted, silent.job) == (6, built.job)


def test_a_bos_the_tokenizer_always_adds_is_not_counted() -> None:
    built = build_prompts(workload(), 0, model="m", fields={}, count_tokens=lambda text: 1 + len(text.split()))
    assert (built.inexact, set(built.tokens)) == (0, {20})
    assert {len(words) for words in texts(built.job.bodies)} == {20}


def test_too_many_prompts_for_their_length_are_refused() -> None:
    asked = workload(input_tokens=1, shared_prefix_tokens=0, requests_per_level=500)
    with pytest.raises(ParamsError, match=r"1004 prompts cannot all begin differently within 1 tokens"):
        build_prompts(asked, 0, model="m", fields={})


def test_the_first_request_is_like_no_other() -> None:
    (body,) = first_request(workload(), model="m", fields={}).bodies
    (words,) = texts((body,))
    assert len(words) == 20
    assert words[0] == FIRST_WORD
    assert FIRST_WORD not in WORDS
    assert len(set(WORDS)) == len(WORDS)


def test_an_open_loop_has_no_concurrency() -> None:
    asked = workload(arrival="poisson", concurrency=(), rate_rps=(2.0, 4.0))
    assert build_prompts(asked, 1, model="m", fields={}).job.concurrency is None


def test_a_completions_request_carries_a_prompt_and_every_field() -> None:
    job = build_prompts(workload(endpoint="completions"), 0, model="m", fields={"temperature": 0, "max_tokens": 4}).job
    body = json.loads(job.bodies[0])
    assert len(body.pop("prompt").split()) == 20
    assert body == {
        "model": "m", "stream": True, "stream_options": {"include_usage": True}, "temperature": 0, "max_tokens": 4
    }  # fmt: skip


def questions(amount: int) -> Source:
    ask = ({"role": "user", "content": "Is it?"},)
    return Source("0" * 64, tuple(SourceItem(f"q{i}", ask, SCHEMA) for i in range(amount)))


def test_structured_output_asks_for_the_schema_by_name_and_never_sends_a_question_twice() -> None:
    asked = from_source("structured-output", requests_per_level=6)
    levels = [build_prompts(asked, level, model="m", fields={}, source=questions(4)) for level in (0, 1)]
    assert [level.job.items for level in levels] == [("q0", "q1", "q2", "q3", "q0", "q1")] * 2
    body = json.loads(levels[0].job.bodies[1])
    wanted = {"name": "q1", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    assert body["messages"][0]["content"].endswith(". Is it?")
    every = [json.loads(b)["messages"][0]["content"] for level in levels for b in level.job.bodies + level.job.warmup]
    assert len(set(every)) == len(every) == 16


def conversations(*output_tokens: int | None) -> Source:
    return Source(
        "0" * 64,
        tuple(
            SourceItem(
                f"line-{i}",
                ({"role": "system", "content": "s"}, {"role": "user", "content": f"text {i}"}),
                None,
                tokens,
            )
            for i, tokens in enumerate(output_tokens, 1)
        ),
    )


def test_own_traffic_is_sent_in_file_order_and_repeats_are_counted() -> None:
    asked = from_source("own-traffic", requests_per_level=3, output_tokens=40)
    source = conversations(None, 7, 90, None)
    fields = {"max_tokens": 40, "temperature": 0}
    first, second = (build_prompts(asked, level, model="m", fields=fields, source=source) for level in (0, 1))
    assert first.job.items == ("line-1", "line-2", "line-3")
    assert second.job.items == ("line-4", "line-1", "line-2")
    assert (first.repeated, second.repeated) == (0, 2)
    assert [json.loads(body)["max_tokens"] for body in first.job.bodies] == [40, 7, 40]
    assert json.loads(first.job.bodies[0])["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "text 1"},
    ]
    # warm-up never sends what is measured
    assert all(set(words) <= set(WORDS) for words in texts(first.job.warmup))


def test_a_source_that_does_not_fit_the_workload_is_refused() -> None:
    with pytest.raises(ParamsError, match="needs a source"):
        build_prompts(from_source("own-traffic"), 0, model="m", fields={})
    with pytest.raises(ParamsError, match="endpoint has to be chat"):
        build_prompts(from_source("own-traffic", endpoint="completions"), 0, model="m", fields={}, source=questions(1))
    exact = from_source("own-traffic", exact_output=True)
    with pytest.raises(ParamsError, match="1 of 2 requests of the source bring their own max_tokens"):
        build_prompts(exact, 0, model="m", fields={}, source=conversations(None, 7))
    with pytest.raises(ParamsError, match="takes no source"):
        build_prompts(workload(), 0, model="m", fields={}, source=questions(1))


def test_the_longest_request_is_known_before_the_load() -> None:
    def count(text: str) -> int:
        return len(text.split())

    assert longest_tokens(workload(output_tokens=30)) == 50
    asked = from_source("own-traffic", output_tokens=40)
    # "s" 1, "text i" 2, one further message 5, and 7 or 40 for the answer
    assert longest_tokens(asked, conversations(7), count) == 15
    assert longest_tokens(asked, conversations(7, None), count) == 48
    assert longest_tokens(asked, conversations(7), None) is None
    # "Request 123456. Is it?" 4
    assert longest_tokens(from_source("structured-output"), questions(2), count) == 8


def test_only_requests_that_could_be_the_longest_are_counted() -> None:
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    long, short = ("a" * 500, "b" * 20)
    items = tuple(SourceItem(f"i{i}", ({"role": "user", "content": t},)) for i, t in enumerate((short, long, short)))
    assert longest_tokens(from_source("own-traffic"), Source("0" * 64, items), count) == 504
    assert counted == [long]
