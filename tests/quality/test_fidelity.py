"""Two paths token by token: an engine of letters that goes through the alphabet, and what is a difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.endpoint import Endpoint
from lab.errors import QualityError
from lab.quality.fidelity import (
    Asked,
    Reader,
    Reading,
    Step,
    check_same,
    compare_free,
    compare_given,
    divergence,
    read_prompts,
    record,
    score_given,
)
from tests.test_cli import lab

from .fake_engine import Exchange, serve

TEXTS = ("ab", "kl")
ASKED = Asked.of(TEXTS, 3, 2)


def after(letter: str) -> str:
    return chr(ord(letter) + 1)


def alphabet(dialect: str, sure: float = 0.9, skips: str = "") -> Callable[[Exchange], None]:
    """After each letter comes the next one, so sure of it; after those in `skips` it goes back to a."""

    def likely(letter: str) -> dict[str, float]:
        best = "a" if letter in skips else after(letter)
        return {best: math.log(sure), "?": math.log((1 - sure) / 2)}

    def answer(x: Exchange) -> None:
        prompt, made = x.asked["prompt"], ""
        for _ in range(x.asked["max_tokens"]):
            made += max(tops := likely((prompt + made)[-1]), key=tops.__getitem__)
        before = prompt if x.asked.get("echo") and dialect == "arrays" else ""
        whole = prompt + made
        places = range(0 if before else len(prompt), len(whole))
        rows: list[dict[str, float] | None] = [likely(whole[i - 1]) if i else None for i in places]
        values = [None if row is None else row.get(whole[i], -9.0) for i, row in zip(places, rows, strict=True)]
        logprobs: dict[str, Any] = {
            "tokens": [whole[i] for i in places], "token_logprobs": values, "top_logprobs": rows,
        }  # fmt: skip
        if dialect == "content":
            content = [
                {"token": whole[i], "logprob": value, "top_logprobs": [
                    {"token": token, "logprob": logprob} for token, logprob in (row or {}).items()]}
                for i, value, row in zip(places, values, rows, strict=True)
            ]  # fmt: skip
            logprobs = {"content": content}
        choice = {"text": before + made, "finish_reason": "length", "logprobs": logprobs}
        x.send({"choices": [choice], "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(made)}})

    return answer


def step(token: str, **top: float) -> Step:
    """A token among shares, as logprobs."""
    logs = {name: math.log(share) for name, share in top.items()}
    return Step(token=token, logprob=logs[token], top=logs)


def reading(*steps: Step, finish: str = "length") -> Reading:
    return Reading(text="".join(one.token for one in steps), steps=steps, finish_reason=finish)


def reader(url: str) -> Reader:
    return Reader(Endpoint(url.removesuffix("/v1")), "/v1/completions", "m", {"temperature": 0}, 2)


def quiet(what: str, done: int, total: int) -> None:
    """Nobody watches."""


def test_divergence_is_over_the_first_ones_tokens_and_the_rest() -> None:
    first, second = step("a", a=0.5, b=0.25), step("a", a=0.25, b=0.5)
    assert divergence(first, first) == 0
    assert divergence(first, second) == pytest.approx(0.25 * math.log(2))
    # c is not named by the second: it counts with the least likely that is, 0.25, and the rest is what then remains
    unnamed = divergence(step("a", a=0.5, c=0.25), step("a", a=0.5, b=0.25))
    assert unnamed == pytest.approx(0)


def test_free_readings_are_compared_up_to_the_first_token_that_differs() -> None:
    a, b = step("a", a=0.9, b=0.05), step("b", b=0.9, a=0.05)
    same, turned = reading(a, a, a), reading(a, b)
    found = compare_free((same, same, same), (same, turned, Reading(error="gone")))
    assert (found.prompts, found.left_out, found.identical, found.first_divergence) == (2, 1, 0.5, 1)
    assert found.tokens == 3 + 2
    assert found.top1 == pytest.approx(4 / 5)
    assert found.length_ratio == pytest.approx(5 / 6)
    assert found.finish_reasons == ({"length": 2}, {"length": 2})


def test_given_tokens_are_all_compared() -> None:
    first = reading(step("a", a=0.5, b=0.25), step("b", b=0.5, a=0.25))
    second = reading(step("a", a=0.5, b=0.25), step("b", a=0.5, b=0.25))
    found = compare_given((first,), (second,))
    assert (found.tokens, found.top1, found.identical, found.finish_reasons) == (2, 0.5, None, None)
    assert found.logprob == pytest.approx(math.log(2) / 2)
    assert found.kl_max == pytest.approx(0.25 * math.log(2))
    nothing = compare_given((first,), (Reading(error="gone"),))
    assert (nothing.tokens, nothing.top1, nothing.kl_mean) == (0, None, None)


@pytest.mark.parametrize(("dialect", "way"), [("arrays", "echo"), ("content", "token-by-token")])
def test_both_dialects_give_the_same_reading_of_a_path_and_of_another_one(dialect: str, way: str) -> None:
    with serve(alphabet(dialect)) as first, serve(alphabet(dialect, sure=0.6, skips="m")) as second:
        reference = record(reader(first.base_url), "m", TEXTS, ASKED, 2, quiet)
        other = record(reader(second.base_url), "m", TEXTS, ASKED, 2, quiet)
        scored = score_given(reader(second.base_url), other, reference, TEXTS, quiet)
    assert reference.scored_by == way
    assert [one.text for one in reference.alone] == ["cde", "mno"]
    own = compare_given(reference.alone, reference.prefilled)
    assert (own.tokens, own.top1, own.kl_max) == (6, 1.0, 0.0)
    assert compare_free(reference.alone, reference.under_load).identical == 1.0
    free = compare_free(reference.alone, other.alone)
    assert (free.identical, free.first_divergence) == (0.5, 1)
    assert (scored.prompts, scored.tokens, scored.top1) == (2, 6, pytest.approx(5 / 6))
    assert scored.kl_max is not None and own.kl_max is not None and scored.kl_max > own.kl_max


def test_text_that_is_cut_into_other_tokens_is_left_out() -> None:
    given = reading(step("cd", cd=0.9, x=0.05))
    for dialect in ("arrays", "content"):
        with serve(alphabet(dialect)) as engine:
            ask = reader(engine.base_url)
            longer = Reading(text="cde", steps=(*given.steps, step("e", e=0.9, x=0.05)))
            found = ask.score("ab", longer, by_echo=dialect == "arrays")
        assert "other tokens" in str(found.error)


def test_an_engine_without_logprobs_gives_no_reading() -> None:
    bare = {"choices": [{"text": "c", "finish_reason": "length", "logprobs": None}]}
    with serve(lambda x: x.send(bare)) as engine, pytest.raises(QualityError, match="no logprobs beside the text"):
        record(reader(engine.base_url), "m", TEXTS, ASKED, 2, quiet)


def test_two_empty_continuations_are_not_the_same_but_nothing() -> None:
    empty = {"choices": [{"text": "", "finish_reason": "stop", "logprobs": {"content": []}}]}
    with serve(lambda x: x.send(empty)) as engine:
        found = reader(engine.base_url).follow("ab", 3)
        assert found.error == "nothing was written"
    assert compare_free((found,), (found,)).identical is None


def test_only_what_was_asked_the_same_is_held_against_each_other() -> None:
    with pytest.raises(QualityError, match=r"the reference was asked 2 prompts \(\w{8}\) of 4 tokens"):
        check_same(ASKED, Asked.of(TEXTS, 4, 2))


def test_prompts_are_the_same_every_time_and_not_more_than_there_are() -> None:
    texts = read_prompts(200)
    assert len(set(texts)) == 200
    assert texts == read_prompts(200)
    assert len({text[3:5] for text in texts[:12]}) > 6  # every task in turn, not one task first
    with pytest.raises(QualityError, match="have 1 to"):
        read_prompts(5000)


def test_the_command_keeps_a_reading_and_holds_another_path_against_it(tmp_path: Path) -> None:
    trace, other = tmp_path / "reference.json", tmp_path / "other.json"
    with serve(alphabet("arrays")) as first, serve(alphabet("arrays", sure=0.6)) as second:
        asked = ("--engine", "vllm", "--model", "m", "--prompts", "3", "--tokens", "2", "--top", "2")
        done = lab("quality", "fidelity", first.base_url, *asked, "--out", str(trace))
        assert done.returncode == 0, done.stderr
        assert "itself under load" in done.stdout and "reference" not in done.stdout
        done = lab("quality", "fidelity", second.base_url, *asked, "--out", str(other), "--reference", str(trace))
        assert done.returncode == 0, done.stderr
        assert "either path by itself: up to 0.0000" in done.stdout
        refused = lab(
            "quality", "fidelity", second.base_url, *asked, "--out", str(other), "--reference", str(tmp_path / "x")
        )
    assert refused.returncode == 2
    assert "cannot be read" in refused.stderr
