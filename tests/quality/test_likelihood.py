"""Likelihoods over HTTP: right by the engine's own echo, and without a score wherever the echo is not kept."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.quality import QualityItem, load_suite, run_suite
from lab.quality.replies import Echo, read_echo
from lab.records import Capabilities, Check, Lack, Lane, Outcome, QualityResult, TaskScore, Unscored

from .fake_engine import CharTokenizer, Exchange, FakeEngine, Script, completion, echo, serve
from .small_suite import SAMPLING, Write

ECHO = Capabilities(checks=(Check(name="echo", result="pass", detail="seen"),))

CHOICE = {"output": "choice", "metric": "acc", "target_delimiter": ""}
LETTERS = [{"id": f"letter-{n}", "question": f"{n}>", "choices": ["x", "y"], "accept": ["y"]} for n in range(10)]
FOLLOWS = {"output": "continuation", "metric": "acc"}
TEXTS = {"output": "perplexity", "metric": "bits_per_byte"}


def ask(engine: FakeEngine, folder: Path, **changes: Any) -> tuple[QualityResult, tuple[QualityItem, ...]]:
    arguments: dict[str, Any] = {
        "base_url": engine.base_url,
        "model": "m",
        "sampling": SAMPLING,
        "context_limit": 512,
        "run_id": "r-abcdefgh23",
        "capabilities": ECHO,
        "tokenizer": CharTokenizer(),
    }
    return run_suite(load_suite(folder), **arguments | changes)


def likes_y(text: str) -> float:
    return -0.25 if text.endswith("y") else -2.0


def faithful(exchange: Exchange) -> None:
    exchange.send(echo(exchange.question, likes_y))


def test_the_likeliest_choice_is_the_answer(write_suite: Write) -> None:
    wrong_key = [LETTERS[0] | {"accept": ["x"]}]
    with serve(faithful) as engine:
        result, items = ask(engine, write_suite(more={"letters": (CHOICE, LETTERS[1:] + wrong_key)}))
    (task,) = result.tasks
    assert (task.n, task.score, task.answered_score, task.coverage) == (10, 0.9, 0.9, 1.0)
    assert task.attempts == 20
    first = items[0]
    assert (first.loglikelihoods, first.text, first.score) == ((-2.0, -0.25), None, 1.0)
    assert (first.attempts, first.prompt_tokens, first.finish_reason) == (2, 6, "length")
    assert items[-1].score == 0


def test_a_choice_is_asked_as_the_ids_of_its_text(write_suite: Write) -> None:
    settings = {**CHOICE, "target_delimiter": " ", "examples": [{"question": "a>", "answer": "x"}]}
    with serve(faithful) as engine:
        ask(engine, write_suite(more={"letters": (settings, LETTERS[:1])}))
    assert engine.seen[1].path == "/v1/completions"
    assert engine.seen[1].asked == SAMPLING | {
        "model": "m",
        "prompt": [[ord(char) for char in "a> x\n\n0> y"]],
        "echo": True,
        "logprobs": 1,
        "max_tokens": 1,
        "stream": False,
    }


def test_length_decides_between_choices_only_where_it_is_asked_to(write_suite: Write) -> None:
    items = [{"id": "long", "question": ">", "choices": ["b", "aaaa"], "accept": ["aaaa"]}]
    with serve(lambda x: x.send(echo(x.question, lambda text: -1.0 if text[-1] == "a" else -2.0))) as engine:
        by_sum, _ = ask(engine, write_suite("a", more={"letters": (CHOICE, items)}))
        by_length, _ = ask(engine, write_suite("b", more={"letters": (CHOICE | {"metric": "acc_norm"}, items)}))
    assert by_sum.tasks[0].score == 0  # -4 against -2
    assert by_length.tasks[0].score == 1  # -4 / 4 against -2 / 1


def test_a_continuation_is_right_when_greedy_writes_it(write_suite: Write) -> None:
    items = [
        {"id": "yes", "question": "a>", "accept": ["yy"]},
        {"id": "no", "question": "a>", "accept": ["yx"]},
    ]

    def answer(exchange: Exchange) -> None:
        body = echo(exchange.question)
        arrays = body["choices"][0]["logprobs"]
        arrays["top_logprobs"] = [None, *({"y": -1.0} if t in "y >" else {"y": -0.5} for t in arrays["tokens"][1:])]
        exchange.send(body)

    with serve(answer) as engine:
        result, found = ask(engine, write_suite(more={"follows": (FOLLOWS, items)}))
    assert engine.seen[0].question == "a> yy"
    assert [item.score for item in found] == [1, 0]
    assert result.tasks[0].score == 0.5


def test_bits_per_byte_weigh_every_byte_alike(write_suite: Write) -> None:
    """One bit a character: 3 bytes cost 3 bits, 3 more cost 1, since あ is three bytes of one character."""
    items = [{"id": "ascii", "question": "abc"}, {"id": "kana", "question": "あ"}]
    with serve(lambda x: x.send(echo(x.question, lambda text: -math.log(2)))) as engine:
        result, found = ask(engine, write_suite(more={"texts": (TEXTS, items)}))
    assert engine.seen[0].asked["prompt"] == [[1, ord("a"), ord("b"), ord("c")]]
    assert [item.score for item in found] == [pytest.approx(1), pytest.approx(1 / 3)]
    (task,) = result.tasks
    assert task.score == pytest.approx(4 / 6)
    assert (task.better, task.stderr) == ("lower", None)


def test_a_hole_cannot_make_bits_per_byte_smaller(write_suite: Write) -> None:
    items = [{"id": "one", "question": "abc"}, {"id": "two", "question": "abd"}]

    def answer(exchange: Exchange) -> None:
        if exchange.question.endswith("d"):
            exchange.send({"error": "boom"}, 500)
        else:
            exchange.send(echo(exchange.question, lambda text: -math.log(2)))

    with serve(answer) as engine:
        result, _ = ask(engine, write_suite(more={"texts": (TEXTS, items)}))
    (task,) = result.tasks
    assert (task.score, task.answered_score, task.coverage) == (None, pytest.approx(1), 0.5)


def _changed(**changes: Callable[[list[Any]], list[Any]]) -> Script:
    """A faithful echo whose arrays are changed."""

    def script(exchange: Exchange) -> None:
        body = echo(exchange.question, likes_y)
        arrays = body["choices"][0]["logprobs"]
        for name, change in changes.items():
            arrays[name] = change(arrays[name])
        exchange.send(body)

    return script


def _counts(tokens: int | None) -> Script:
    def script(exchange: Exchange) -> None:
        body = echo(exchange.question, likes_y)
        if tokens is None:
            del body["usage"]
        else:
            body["usage"]["prompt_tokens"] += tokens
        exchange.send(body)

    return script


def echo_ignored(exchange: Exchange) -> None:
    """What llama-cpp-python and trtllm-serve do: logprobs of the new token alone, HTTP 200."""
    body = completion("!", "length", prompt_tokens=len(exchange.question))
    body["choices"][0]["logprobs"] = {"tokens": ["!"], "token_logprobs": [-0.1], "top_logprobs": [{"!": -0.1}]}
    exchange.send(body)


def other_dialect(exchange: Exchange) -> None:
    """What llama.cpp does."""
    body = completion("!", "length", prompt_tokens=len(exchange.question))
    body["choices"][0]["logprobs"] = {"content": [{"token": "!", "logprob": -0.1}]}
    exchange.send(body)


def bos_added(exchange: Exchange) -> None:
    """The engine puts its own token in front of the ids that were sent."""
    exchange.send(echo("\x01" + exchange.question, likes_y))


def bos_added_and_hidden(exchange: Exchange) -> None:
    """The same, cut out of the answer again; only the count tells."""
    body = echo(exchange.question, likes_y)
    body["usage"]["prompt_tokens"] += 1
    exchange.send(body)


def shifted(exchange: Exchange) -> None:
    """Every logprob stands where the one before it belongs."""
    body = echo(exchange.question, likes_y)
    arrays = body["choices"][0]["logprobs"]
    arrays["token_logprobs"] = [*arrays["token_logprobs"][1:], -0.1]
    exchange.send(body)


CONTRACT = Unscored.CONTRACT
FAULTS: dict[str, tuple[Script, Unscored, Outcome, str]] = {
    "echo ignored": (echo_ignored, CONTRACT, Outcome.MALFORMED, "1 logprobs for 3 tokens"),
    "other dialect": (other_dialect, CONTRACT, Outcome.MALFORMED, "another dialect"),
    "logprobs null": (lambda x: x.send(completion("!", "length")), CONTRACT, Outcome.MALFORMED, "no logprobs"),
    "bos added": (bos_added, CONTRACT, Outcome.MALFORMED, "5 logprobs for 3 tokens"),
    "bos hidden": (bos_added_and_hidden, CONTRACT, Outcome.MALFORMED, "counts 4 prompt tokens, 3 were sent"),
    "no usage": (_counts(None), CONTRACT, Outcome.MALFORMED, "counts no prompt tokens"),
    "cut": (_counts(-1), CONTRACT, Outcome.MALFORMED, "counts 2 prompt tokens, 3 were sent"),
    "shifted": (shifted, CONTRACT, Outcome.MALFORMED, "first logprob is not null"),
    "one missing": (_changed(token_logprobs=lambda row: row[:-1]), CONTRACT, Outcome.MALFORMED, "3 logprobs for 3"),
    "nan": (_changed(token_logprobs=lambda row: [*row[:-1], math.nan]), CONTRACT, Outcome.MALFORMED, "no number"),
    "minus infinity": (
        _changed(token_logprobs=lambda row: [*row[:-1], -math.inf]),
        CONTRACT,
        Outcome.MALFORMED,
        "no number",
    ),
    "above 0": (_changed(token_logprobs=lambda row: [None, 0.5, *row[2:]]), CONTRACT, Outcome.MALFORMED, "above 0"),
    "hole": (_changed(token_logprobs=lambda row: [None, None, *row[2:]]), CONTRACT, Outcome.MALFORMED, "no number"),
    "other tokens": (_changed(tokens=lambda row: ["a", *row[1:]]), CONTRACT, Outcome.MALFORMED, "token 0 came back"),
    "other ids": (_changed(tokens=lambda row: ["token_id:7", *row[1:]]), CONTRACT, Outcome.MALFORMED, "token_id:7"),
    "no tokens": (_changed(tokens=lambda row: None), CONTRACT, Outcome.MALFORMED, "name every token"),  # type: ignore[dict-item,arg-type,return-value]
    "http 500": (lambda x: x.send({"error": "boom"}, 500), Unscored.REQUEST_FAILED, Outcome.HTTP_ERROR, "boom"),
    "error inside 200": (
        lambda x: x.send({"error": {"message": "boom"}}),
        Unscored.REQUEST_FAILED,
        Outcome.IN_BAND_ERROR,
        "inside HTTP 200",
    ),
    "no choices": (lambda x: x.send({"choices": []}), Unscored.REQUEST_FAILED, Outcome.MALFORMED, "exactly one choice"),
    "too long": (
        lambda x: x.send({"error": "maximum context length is 2 tokens"}, 400),
        Unscored.DOES_NOT_FIT,
        Outcome.HTTP_ERROR,
        "HTTP 400",
    ),
    "reset": (Exchange.reset, Unscored.REQUEST_FAILED, Outcome.CONNECTION, "connection was lost"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_echo_is_unscored_and_never_chance(write_suite: Write, fault: str) -> None:
    script, why, outcome, words = FAULTS[fault]
    with serve(lambda x: script(x) if x.question.startswith("3") else faithful(x)) as engine:
        result, items = ask(engine, write_suite(more={"letters": (CHOICE, LETTERS)}))
    (task,) = result.tasks
    assert (task.score, task.answered_score, task.unscored) == (0.9, 1.0, {why: 1})
    broken = items[3]
    assert (broken.score, broken.loglikelihoods, broken.outcome, broken.unscored) == (None, (), outcome, why)
    assert words in str(broken.error)
    assert str(broken.error).startswith("request 1 of 2: ")


@pytest.mark.parametrize("settings", [CHOICE, FOLLOWS, TEXTS], ids=lambda one: one["output"])
def test_engine_that_ignores_echo_gets_no_number_at_all(write_suite: Write, settings: dict[str, Any]) -> None:
    item: dict[str, Any] = {"id": "one", "question": "a>"}
    if settings is not TEXTS:
        item["accept"] = ["y"]
    if settings is CHOICE:
        item["choices"] = ["x", "y"]
    with serve(echo_ignored) as engine:
        result, _ = ask(engine, write_suite(more={"any": (settings, [item])}))
    (task,) = result.tasks
    assert (task.score, task.answered_score, task.stderr) == (None, None, None)
    assert task.unscored == {Unscored.CONTRACT: 1}


def test_greedy_needs_the_likeliest_tokens(write_suite: Write) -> None:
    items = [{"id": "one", "question": "a>", "accept": ["y"]}]
    with serve(_changed(top_logprobs=lambda row: [None] * len(row))) as engine:
        result, (item,) = ask(engine, write_suite(more={"follows": (FOLLOWS, items)}))
    assert result.tasks[0].unscored == {Unscored.CONTRACT: 1}
    assert "top_logprobs" in str(item.error)


@pytest.mark.parametrize(
    ("changes", "lack", "words"),
    [
        ({"capabilities": None}, Lack.ECHO_NOT_PROBED, "needs 'echo' of the engine, which was not probed"),
        ({"capabilities": Capabilities(checks=())}, Lack.ECHO_NOT_PROBED, "was not probed"),
        (
            {"capabilities": Capabilities(checks=(Check(name="echo", result="fail", detail="3 of 4 entries"),))},
            Lack.ECHO_BROKEN,
            "needs 'echo', which the engine does not keep: 3 of 4 entries",
        ),
        (
            {"capabilities": Capabilities(checks=(Check(name="echo", result="not-exposed", detail="HTTP 404"),))},
            Lack.ECHO_NOT_EXPOSED,
            "does not expose: HTTP 404",
        ),
        ({"tokenizer": None}, Lack.NO_TOKENIZER, "needs token ids, and the model's tokenizer is not at hand"),
    ],
)
def test_what_the_engine_cannot_do_is_not_asked_and_says_why(
    write_suite: Write, changes: dict[str, Any], lack: Lack, words: str
) -> None:
    steps: list[tuple[int, int]] = []
    chat = {"output": "completion", "metric": "number_match", "max_tokens": 4}
    tasks = {"letters": (CHOICE, LETTERS), "sums": (chat, [{"id": "one", "question": "1+1=", "accept": ["2"]}])}
    with serve(lambda x: x.send(completion("2"))) as engine:
        result, items = ask(engine, write_suite(more=tasks), on_progress=lambda *at: steps.append(at), **changes)
    letters, sums = result.tasks
    assert len(engine.seen) == 1
    assert (letters.n, letters.score, letters.answered_score, letters.attempts) == (10, None, None, 0)
    assert letters.unscored == {Unscored.NOT_SUPPORTED: 10}
    assert (letters.lack, sums.lack) == (lack, None)
    assert (letters.lane, sums.lane) == (Lane.TOKENS, Lane.TEXT)
    assert words in str(letters.reason)
    assert items[0].error == f"not asked: {letters.reason}"
    assert (sums.score, sums.reason, result.incomplete) == (1.0, None, None)
    assert steps == [(1, 1)]


def test_text_that_does_not_fit_is_not_sent_and_never_cut(write_suite: Write) -> None:
    items = [{"id": "long", "question": "a" * 20}, {"id": "full", "question": "a" * 18}]
    with serve(lambda x: x.send(echo(x.question))) as engine:
        result, found = ask(engine, write_suite(more={"texts": (TEXTS, items)}), context_limit=20)
    assert len(engine.seen) == 1  # 1 + 18 tokens and one for the answer fill 20
    assert (found[0].unscored, found[0].attempts) == (Unscored.DOES_NOT_FIT, 0)
    assert found[0].error == "21 tokens and 1 for the answer do not fit into 20; nothing was cut"
    assert found[1].unscored is None
    assert result.tasks[0].score is None


class Merging(CharTokenizer):
    """Draws `>` and what follows into one token, as real tokenizers do at some boundaries."""

    def encode(self, text: str) -> list[int]:
        return super().encode(text.replace(">y", "\N{GREEK SMALL LETTER PSI}"))


def test_choice_that_has_no_token_of_its_own_has_no_score(write_suite: Write) -> None:
    with serve(faithful) as engine:
        result, items = ask(engine, write_suite(more={"letters": (CHOICE, LETTERS[:1])}), tokenizer=Merging())
    assert result.tasks[0].unscored == {Unscored.NOT_SUPPORTED: 1}
    assert "into one token" in str(items[0].error)
    assert (items[0].attempts, items[0].prompt_tokens) == (1, 3)


def test_tokenizer_without_a_first_token_has_no_perplexity(write_suite: Write) -> None:
    tokenizer = CharTokenizer()
    tokenizer.prefix_id = None
    with serve(faithful) as engine:
        result, _ = ask(
            engine, write_suite(more={"texts": (TEXTS, [{"id": "a", "question": "a"}])}), tokenizer=tokenizer
        )
    assert result.tasks[0].unscored == {Unscored.NOT_SUPPORTED: 1}


def test_same_bytes_at_any_concurrency(write_suite: Write) -> None:
    texts = [{"id": "text", "question": "abc"}]
    written = {"output": "completion", "metric": "exact_match", "max_tokens": 4, "stop": ["\n"]}
    words = [{"id": "word", "question": "say y:", "accept": ["y"]}]
    folder, sent = write_suite(more={"letters": (CHOICE, LETTERS), "texts": (TEXTS, texts), "w": (written, words)}), []
    for concurrency in (1, 4):
        with serve(lambda x: faithful(x) if "echo" in x.asked else x.send(completion(" y"))) as engine:
            result, _ = ask(engine, folder, concurrency=concurrency)
        assert [task.coverage for task in result.tasks] == [1, 1, 1]
        sent.append(sorted(exchange.raw for exchange in engine.seen))
    assert sent[0] == sent[1]
    assert len(sent[0]) == 22


def test_engine_that_dies_between_two_choices_keeps_what_was_scored(write_suite: Write) -> None:
    with serve(lambda x: x.die() if x.question == "4>x" else faithful(x)) as engine:
        result, items = ask(engine, write_suite(more={"letters": (CHOICE, LETTERS)}))
    (task,) = result.tasks
    assert result.incomplete == "engine-gone"
    assert (task.score, task.answered_score) == (0.4, 1.0)
    assert task.unscored == {Unscored.REQUEST_FAILED: 1, Unscored.NOT_ASKED: 5}
    assert [item.attempts for item in items] == [2, 2, 2, 2, 2, 0, 0, 0, 0, 0]


def test_score_of_an_old_bundle_is_read_over_all_items() -> None:
    old = {"task": "sums", "metric": "number_match", "n": 4, "unscored": {"empty": 1}, "score": 1.0, "stderr": 0.0}
    task = TaskScore.model_validate(old)
    assert (task.score, task.answered_score, task.stderr, task.coverage) == (0.75, 1.0, None, 0.75)
    assert TaskScore.model_validate_json(task.model_dump_json()) == task


def test_a_kept_contract_is_read_as_lm_eval_reads_it() -> None:
    """The same sum and the same greedy flag from the same body, whichever of the two is asked."""
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    body = echo("ab>yxy", likes_y)
    body["choices"][0]["logprobs"]["top_logprobs"][4] = {"y": -0.25}  # x is not the likeliest
    for start, greedy in ((3, False), (5, True)):
        (theirs,) = LocalCompletionsAPI.parse_logprobs(body, ctxlens=[start])
        sent = Echo(tuple(map(ord, "ab>yxy")), start, CharTokenizer().decode, needs_greedy=True)
        ours = read_echo(200, json.dumps(body).encode(), 0.1, sent)
        assert theirs == (ours.reply.loglikelihoods[0], ours.greedy)
        assert ours.greedy is greedy
