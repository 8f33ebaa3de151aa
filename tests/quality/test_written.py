"""Answers that go on from a prompt; prompts that are not cut, words that are not kept, runs that are stopped."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lab.quality import QualityItem, load_suite, run_suite
from lab.quality.lmeval import Asking, Transport, WatchedChat, WatchedCompletions
from lab.records import Outcome, QualityResult, Unscored

from .fake_engine import CharTokenizer, Exchange, FakeEngine, Script, chat, completion, serve
from .small_suite import SAMPLING, SUMS, Write

GOES_ON = {"output": "completion", "metric": "number_match", "max_tokens": 8, "stop": ["\n"]}
ANSWERS = {item["question"]: item["accept"][0] for item in SUMS}


def ask(engine: FakeEngine, folder: Path, **changes: Any) -> tuple[QualityResult, tuple[QualityItem, ...]]:
    arguments: dict[str, Any] = {
        "base_url": engine.base_url,
        "model": "m",
        "sampling": SAMPLING,
        "context_limit": 512,
        "run_id": "r-abcdefgh23",
    }
    return run_suite(load_suite(folder), **arguments | changes)


def right(exchange: Exchange) -> None:
    exchange.send(completion(" " + ANSWERS[exchange.question]))


def test_a_completion_is_asked_as_text_with_its_examples(write_suite: Write) -> None:
    settings = GOES_ON | {"examples": [{"question": "9 + 0?", "answer": "9"}]}
    with serve(lambda x: x.send(completion(" 2"))) as engine:
        result, (item,) = ask(engine, write_suite(more={"sums": (settings, SUMS[:1])}))
    assert engine.seen[0].path == "/v1/completions"
    assert engine.seen[0].asked == SAMPLING | {
        "model": "m",
        "prompt": "9 + 0? 9\n\n1 + 1?",
        "stream": False,
        "max_tokens": 8,
        "stop": ["\n"],
    }
    assert (item.text, item.score, item.finish_reason, result.tasks[0].finish_reasons) == (" 2", 1, "stop", {"stop": 1})


FAULTS: dict[str, tuple[Script, Unscored, Outcome]] = {
    "http 500": (lambda x: x.send({"error": "boom"}, 500), Unscored.REQUEST_FAILED, Outcome.HTTP_ERROR),
    "error inside 200": (lambda x: x.send({"error": "boom"}), Unscored.REQUEST_FAILED, Outcome.IN_BAND_ERROR),
    "no choices": (lambda x: x.send({"choices": []}), Unscored.REQUEST_FAILED, Outcome.MALFORMED),
    "a chat answer": (lambda x: x.send(chat("6")), Unscored.REQUEST_FAILED, Outcome.MALFORMED),
    "empty": (lambda x: x.send(completion("")), Unscored.EMPTY, Outcome.EMPTY),
    "null": (lambda x: x.send(completion(None)), Unscored.NULL, Outcome.EMPTY),
    "cut": (lambda x: x.send(completion(" 6", "length")), Unscored.TRUNCATED, Outcome.TRUNCATED),
    "no finish reason": (lambda x: x.send(completion(" 6", None)), Unscored.TRUNCATED, Outcome.TRUNCATED),
    "reset": (Exchange.reset, Unscored.REQUEST_FAILED, Outcome.CONNECTION),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_a_completion_is_unscored_and_never_wrong(write_suite: Write, fault: str) -> None:
    script, why, outcome = FAULTS[fault]
    with serve(lambda x: script(x) if x.question == "3 + 3?" else right(x)) as engine:
        result, items = ask(engine, write_suite(more={"sums": (GOES_ON, SUMS)}))
    (task,) = result.tasks
    assert (task.score, task.answered_score, task.coverage, task.unscored) == (0.75, 1.0, 0.75, {why: 1})
    assert (items[2].score, items[2].outcome) == (None, outcome)
    assert items[2].error
    assert len(engine.seen) == 4


def test_server_that_fails_one_in_ten_costs_coverage_and_is_not_asked_again(write_suite: Write) -> None:
    sums = [{"id": f"sum-{n}", "question": f"{n}+0", "accept": [str(n)]} for n in range(20)]

    def answer(exchange: Exchange) -> None:
        number = int(exchange.question.removesuffix("+0"))
        if number % 10:
            exchange.send(completion(str(number)))
        else:
            exchange.send({"error": "busy"}, 500)

    with serve(answer) as engine:
        result, _ = ask(engine, write_suite(more={"sums": (GOES_ON, sums)}))
    (task,) = result.tasks
    assert (task.attempts, task.coverage, task.score, task.answered_score) == (20, 0.9, 0.9, 1.0)
    assert len(engine.seen) == 20


def test_server_that_always_fails_gives_no_score(write_suite: Write) -> None:
    with serve(lambda x: x.send({"error": "boom"}, 500)) as engine:
        result, _ = ask(engine, write_suite(more={"sums": (GOES_ON, SUMS)}))
    (task,) = result.tasks
    assert (task.score, task.answered_score, task.coverage) == (None, None, 0)
    assert result.incomplete is None  # it was there, and was asked everything


@pytest.mark.parametrize("settings", [GOES_ON, GOES_ON | {"output": "chat"}], ids=["completion", "chat"])
def test_prompt_that_the_server_cut_has_no_score(write_suite: Write, settings: dict[str, Any]) -> None:
    item = {"id": "long", "question": "0" * 100 + " 1 + 1?", "accept": ["2"]}
    body = completion("2", prompt_tokens=51) if settings is GOES_ON else chat("2")
    with serve(lambda x: x.send(body)) as engine:
        result, (found,) = ask(engine, write_suite(more={"sums": (settings, [item])}), tokenizer=CharTokenizer())
    assert result.tasks[0].unscored == {Unscored.CONTRACT: 1}
    assert "the prompt was cut: the server counts" in str(found.error)


@pytest.mark.parametrize("settings", [GOES_ON, GOES_ON | {"output": "chat"}], ids=["completion", "chat"])
def test_prompt_that_cannot_fit_is_not_sent(write_suite: Write, settings: dict[str, Any]) -> None:
    items = [{"id": "long", "question": "x" * 94, "accept": ["2"]}, {"id": "fits", "question": "x", "accept": ["2"]}]
    body = completion("2") if settings is GOES_ON else chat("2")
    with serve(lambda x: x.send(body)) as engine:
        result, found = ask(
            engine,
            write_suite(more={"sums": (settings, items)}),
            tokenizer=CharTokenizer(),
            context_limit=100,
        )
    assert [x.question for x in engine.seen] == ["x"]
    assert (found[0].unscored, found[0].attempts, found[0].latency_s) == (Unscored.DOES_NOT_FIT, 0, None)
    assert (result.tasks[0].score, result.tasks[0].answered_score) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("answer", "score"), [("The answer is 6. I had 7.", 1), ("answer is 5, no: answer is 6.", 1), ("6", 0)]
)
def test_the_last_match_of_extract_is_what_is_scored(write_suite: Write, answer: str, score: float) -> None:
    settings = GOES_ON | {"extract": "answer is ([0-9]+)"}
    with serve(lambda x: x.send(completion(answer))) as engine:
        result, _ = ask(engine, write_suite(more={"sums": (settings, SUMS[2:3])}))
    assert result.tasks[0].score == score


def test_names_of_hosts_paths_and_keys_are_not_kept(write_suite: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    home, host = "/home/alice/models/m.gguf", socket.gethostname()
    words = f"{home} and ~/.cache/m and C:\\Users\\alice\\m on {host} at http://10.1.2.3:8000/v1 key sk-very-secret"
    folder = write_suite(more={"sums": (GOES_ON, SUMS[:2])})
    script: Script = lambda x: (  # noqa: E731
        x.send({"error": words}, 500) if x.question == "1 + 1?" else x.send(completion(f"4 {'sk-very-secret'}"))
    )
    with serve(script) as engine:
        result, items = ask(engine, folder)
    assert items[0].error == "HTTP 500: [path] and [path] and [path] on [host] at [url] key [key]"
    assert items[1].text == "4 [key]"
    stored = result.model_dump_json() + "".join(item.model_dump_json() for item in items)
    for secret in ("sk-very", "alice", "10.1.2.3", engine.base_url, str(folder), str(folder.parent)):
        assert secret not in stored


def test_stopped_run_keeps_what_was_scored(write_suite: Write) -> None:
    """Ctrl-C during the second of four requests: that one is waited for, the others are not asked."""
    asked = threading.Event()

    def answer(exchange: Exchange) -> None:
        if exchange.question == "2 + 2?":
            asked.set()
            time.sleep(0.3)
        right(exchange)

    def interrupt() -> None:
        asked.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    stopper = threading.Thread(target=interrupt)
    with serve(answer) as engine:
        stopper.start()
        result, items = ask(engine, write_suite(more={"sums": (GOES_ON, SUMS)}))
        stopper.join()
    assert result.incomplete == "stopped"
    assert [item.score for item in items] == [1, 1, None, None]
    assert items[3].error == "not asked: the run was stopped"
    assert result.tasks[0].unscored == {Unscored.NOT_ASKED: 2}


@pytest.mark.parametrize("model", [WatchedChat, WatchedCompletions])
def test_models_take_no_argument_that_nobody_knows(model: Any) -> None:
    """lm-eval's own take `tempreature` and any other name without a word."""
    asking = Asking(Transport("http://127.0.0.1:1/v1", 1, 1, lambda *_: None, 0), "m", {}, 100, None)
    with pytest.raises(TypeError, match="tempreature"):
        model(asking, tempreature=0.7)
