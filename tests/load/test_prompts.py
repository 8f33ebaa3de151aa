"""Prompts: seeded, exact, unique, and warm-up apart from what is measured."""

from __future__ import annotations

import json
from typing import Any

from lab.load.prompts import build_level
from lab.spec import Workload


def workload(**changes: Any) -> Workload:
    values = {
        "name": "w", "endpoint": "chat", "input_tokens": 20, "shared_prefix_tokens": 12, "output_tokens": 4,
        "exact_output": True, "concurrency": (1, 2), "requests_per_level": 6, "warmup_requests": 2,
        "timeout_s": 5.0, "seed": 3,
    }  # fmt: skip
    return Workload.model_validate(values | changes)


def texts(bodies: tuple[bytes, ...]) -> list[list[str]]:
    return [json.loads(body)["messages"][0]["content"].split() for body in bodies]


def two_for_long_words(text: str) -> int:
    """A tokenizer that takes two tokens for words of more than five letters."""
    return sum(1 + (len(word) > 5) for word in text.split())


def test_the_same_seed_gives_the_same_requests_and_another_seed_others() -> None:
    first = build_level(workload(), 0, model="m", fields={})
    assert first == build_level(workload(), 0, model="m", fields={})
    assert first.bodies != build_level(workload(seed=4), 0, model="m", fields={}).bodies


def test_measured_prompts_share_their_prefix_and_nothing_else_and_warm_up_shares_none_of_it() -> None:
    job = build_level(workload(), 0, model="m", fields={})
    measured, warm = texts(job.bodies), texts(job.warmup)
    assert len({tuple(words[:12]) for words in measured}) == 1
    assert len({tuple(words[12:]) for words in measured}) == 6
    assert {tuple(words[:12]) for words in measured}.isdisjoint({tuple(words[:12]) for words in warm})
    other = texts(build_level(workload(), 1, model="m", fields={}).bodies)
    assert other[0][:12] == measured[0][:12]
    assert {tuple(words) for words in other}.isdisjoint({tuple(words) for words in measured})


def test_lengths_are_exact_for_the_tokenizer_that_counts() -> None:
    job = build_level(workload(), 0, model="m", fields={}, count_tokens=two_for_long_words)
    assert {two_for_long_words(" ".join(words)) for words in texts(job.bodies + job.warmup)} <= {20, 21}
    plain = build_level(workload(shared_prefix_tokens=0), 0, model="m", fields={})
    assert {len(words) for words in texts(plain.bodies)} == {20}


def test_a_completions_request_carries_a_prompt_and_every_field() -> None:
    job = build_level(workload(endpoint="completions"), 0, model="m", fields={"temperature": 0, "max_tokens": 4})
    body = json.loads(job.bodies[0])
    assert len(body.pop("prompt").split()) == 20
    assert body == {
        "model": "m", "stream": True, "stream_options": {"include_usage": True}, "temperature": 0, "max_tokens": 4
    }  # fmt: skip
