"""A suite against real HTTP servers: right is 1, wrong is 0, and a fault is never a wrong answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.errors import QualityError
from lab.quality import QualityItem, load_suite, run_suite
from lab.records import Outcome, QualityResult, Unscored

from .fake_engine import Exchange, FakeEngine, Script, chat, serve
from .small_suite import SAMPLING, SUMS, Write

ANSWERS = {item["question"]: item["accept"][0] for item in SUMS} | {f"shape {n}": f'{{"n": {n}}}' for n in range(2)}
LAST = "sum-4"
FAILED, EMPTY, CUT = Unscored.REQUEST_FAILED, Unscored.EMPTY, Unscored.TRUNCATED


def right(exchange: Exchange) -> None:
    exchange.send(chat(ANSWERS[exchange.question]))


def ask(engine: FakeEngine, folder: Path, **changes: Any) -> tuple[QualityResult, tuple[QualityItem, ...]]:
    arguments: dict[str, Any] = {
        "base_url": engine.base_url,
        "model": "m",
        "sampling": SAMPLING,
        "context_limit": 512,
        "run_id": "r-abcdefgh23",
    }
    return run_suite(load_suite(folder), **arguments | changes)


def test_right_answers_score_one(write_suite: Write) -> None:
    steps: list[tuple[int, int]] = []
    with serve(right) as engine:
        result, items = ask(
            engine, write_suite(schemas=True), on_progress=lambda done, total: steps.append((done, total))
        )
    assert [(task.task, task.metric, task.n, task.score) for task in result.tasks] == [
        ("sums", "number_match", 4, 1.0),
        ("shaped", "schema_valid", 2, 1.0),
    ]
    assert all(task.stderr == 0 and task.unscored == {} for task in result.tasks)
    assert [item.item_id for item in items] == ["sum-1", "sum-2", "sum-3", "sum-4", "shape-0", "shape-1"]
    assert steps == [(n, 6) for n in range(1, 7)]
    first = items[0]
    assert (first.run_id, first.suite, first.version, first.task) == (
        "r-abcdefgh23",
        "small",
        "1.0.0",
        "sums",
    )
    assert (first.text, first.score, first.finish_reason, first.attempts) == ("2", 1.0, "stop", 1)
    assert (first.prompt_tokens, first.completion_tokens, first.outcome) == (7, 3, Outcome.SUCCESS)


def test_wrong_answers_score_zero(write_suite: Write) -> None:
    with serve(lambda exchange: exchange.send(chat("no idea"))) as engine:
        result, items = ask(engine, write_suite(schemas=True))
    assert [task.score for task in result.tasks] == [0.0, 0.0]
    assert all(item.unscored is None for item in items)


def test_half_right_has_a_standard_error(write_suite: Write) -> None:
    with serve(lambda exchange: exchange.send(chat("2" if exchange.question[0] in "1" else "0"))) as engine:
        result, _ = ask(engine, write_suite())
    (task,) = result.tasks
    assert task.score == 0.25
    assert task.stderr == pytest.approx((0.25 * 0.75 / 3) ** 0.5)


def test_payload_says_everything(write_suite: Write) -> None:
    with serve(right) as engine:
        ask(engine, write_suite(schemas=True))
    plain, shaped = engine.seen[0], engine.seen[-1]
    assert plain.path == "/v1/chat/completions"
    assert plain.asked == SAMPLING | {
        "model": "m",
        "messages": [
            {"role": "user", "content": "9 + 0?"},
            {"role": "assistant", "content": "9"},
            {"role": "user", "content": "1 + 1?"},
        ],
        "stream": False,
        "max_tokens": 16,
        "stop": ["\n"],
    }
    named = shaped.asked["response_format"]["json_schema"]
    assert (named["name"], named["schema"]["title"], named["strict"]) == ("shape-1", "number 1", True)
    assert "stop" not in shaped.asked


def test_same_bytes_at_any_concurrency(write_suite: Write) -> None:
    folder, sent = write_suite(schemas=True), []
    for concurrency in (1, 4):
        with serve(right) as engine:
            ask(engine, folder, concurrency=concurrency)
        sent.append(sorted(exchange.raw for exchange in engine.seen))
    assert sent[0] == sent[1]
    assert len(sent[0]) == 6


FAULTS: dict[str, tuple[Script, Unscored, Outcome]] = {
    "http 500": (lambda x: x.send({"error": {"message": "boom"}}, 500), FAILED, Outcome.HTTP_ERROR),
    "http 400 without a schema": (lambda x: x.send({"error": {}}, 400), FAILED, Outcome.HTTP_ERROR),
    "redirect": (lambda x: x.send(chat("8"), 307), FAILED, Outcome.HTTP_ERROR),
    "error inside 200": (lambda x: x.send({"error": {"message": "boom"}}), FAILED, Outcome.IN_BAND_ERROR),
    "error beside choices": (lambda x: x.send(chat("0") | {"error": "boom"}), FAILED, Outcome.IN_BAND_ERROR),
    "no choices": (lambda x: x.send({"choices": []}), FAILED, Outcome.MALFORMED),
    "no message": (lambda x: x.send({"choices": [{"text": "8"}]}), FAILED, Outcome.MALFORMED),
    "not json": (lambda x: x.send(b"<html>"), FAILED, Outcome.MALFORMED),
    "not an object": (lambda x: x.send([1]), FAILED, Outcome.MALFORMED),
    "not text": (lambda x: x.send(b'"\xff"'), FAILED, Outcome.MALFORMED),
    "content is a list": (lambda x: x.send(chat([{"text": "8"}])), FAILED, Outcome.MALFORMED),
    "odd finish reason": (lambda x: x.send(chat("0", {"type": "stop"})), FAILED, Outcome.MALFORMED),
    "aborted": (lambda x: x.send(chat("0", "abort")), FAILED, Outcome.IN_BAND_ERROR),
    "empty": (lambda x: x.send(chat("")), EMPTY, Outcome.EMPTY),
    "blank": (lambda x: x.send(chat(" \n")), EMPTY, Outcome.EMPTY),
    "null": (lambda x: x.send(chat(None)), Unscored.NULL, Outcome.EMPTY),
    "reasoning only": (
        lambda x: x.send(chat(None, reasoning_content="hm")),
        Unscored.REASONING_ONLY,
        Outcome.EMPTY,
    ),
    "other reasoning field": (
        lambda x: x.send(chat("", reasoning="hm")),
        Unscored.REASONING_ONLY,
        Outcome.EMPTY,
    ),
    "cut": (lambda x: x.send(chat("it is clearly 5", "length")), CUT, Outcome.TRUNCATED),
    "no finish reason": (lambda x: x.send(chat("0", None)), CUT, Outcome.TRUNCATED),
    "body cut": (lambda x: x.send(chat("8"), length=9999), FAILED, Outcome.TRUNCATED),
    "not http": (lambda x: (x.wfile.write(b"hello\r\n\r\n"), None)[1], FAILED, Outcome.MALFORMED),
    "reset": (Exchange.reset, FAILED, Outcome.CONNECTION),
    "hang": (Exchange.hang, FAILED, Outcome.TIMEOUT),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_unscored_and_never_wrong(write_suite: Write, fault: str) -> None:
    script, why, outcome = FAULTS[fault]
    third = SUMS[2]["question"]
    with serve(lambda x: script(x) if x.question == third else right(x)) as engine:
        result, items = ask(engine, write_suite(), timeout_s=0.3)
    (task,) = result.tasks
    assert (task.n, task.score, task.answered_score, task.unscored) == (4, 0.75, 1.0, {why: 1})
    odd = items[2]
    assert (odd.score, odd.unscored, odd.outcome, odd.attempts) == (None, why, outcome, 1)
    assert odd.error
    assert odd.latency_s is not None
    assert [item.score for item in items] == [1.0, 1.0, None, 1.0]
    assert len(engine.seen) == 4


def test_words_of_the_server_are_kept_and_the_key_is_not(write_suite: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with serve(lambda x: x.send({"error": {"message": "bad key sk-very-secret"}}, 401)) as engine:
        result, items = ask(engine, write_suite())
    assert engine.seen[0].headers["Authorization"] == "Bearer sk-very-secret"
    assert items[0].error == "HTTP 401: bad key [key]"
    assert "sk-very" not in result.model_dump_json() + "".join(item.model_dump_json() for item in items)


def test_no_key_is_sent_when_none_is_set(write_suite: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serve(right) as engine:
        ask(engine, write_suite())
    assert "Authorization" not in engine.seen[0].headers


def test_refused_response_format_is_not_supported(write_suite: Write) -> None:
    def refuse(exchange: Exchange) -> None:
        if "response_format" in exchange.asked:
            exchange.send({"error": {"message": "no grammar here"}}, 400)
        else:
            right(exchange)

    with serve(refuse) as engine:
        result, items = ask(engine, write_suite(schemas=True))
    sums, shaped = result.tasks
    assert sums.score == 1.0
    assert (shaped.n, shaped.score, shaped.stderr, shaped.unscored) == (
        2,
        None,
        None,
        {Unscored.NOT_SUPPORTED: 2},
    )
    assert items[-1].error == "HTTP 400: no grammar here"


def test_request_that_does_not_fit_is_not_a_refused_format(write_suite: Write) -> None:
    words = "request (3031 tokens) exceeds the available context size (2048 tokens)"  # llama.cpp
    with serve(lambda x: x.send({"error": {"message": words}}, 400)) as engine:
        result, _ = ask(engine, write_suite(schemas=True))
    assert [task.unscored for task in result.tasks] == [{Unscored.DOES_NOT_FIT: 4}, {Unscored.DOES_NOT_FIT: 2}]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_engine_that_goes_away_keeps_what_was_scored(write_suite: Write, concurrency: int) -> None:
    sums = [{"id": f"sum-{n}", "question": f"{n} + {n}?", "accept": [str(2 * n)]} for n in range(1, 21)]
    key = {item["question"]: item["accept"][0] for item in sums}

    def answer(exchange: Exchange) -> None:
        if exchange.question == "5 + 5?":
            exchange.die()
        else:
            exchange.send(chat(key[exchange.question]))

    with serve(answer) as engine:
        result, items = ask(engine, write_suite(sums=sums), concurrency=concurrency)
    (task,) = result.tasks
    scored = [item for item in items if item.score is not None]
    lost = task.unscored[Unscored.REQUEST_FAILED]
    assert result.incomplete == "engine-gone"
    assert task.answered_score == 1.0
    assert task.score == task.coverage == len(scored) / 20
    assert task.unscored[Unscored.NOT_ASKED] == 20 - len(scored) - lost
    assert 4 <= len(scored) <= 4 + concurrency - 1
    assert items[4].outcome is Outcome.CONNECTION
    assert items[-1].attempts == 0
    assert items[-1].error == "not asked: the engine was gone"
    assert items[-1].latency_s is None


def test_engine_that_never_was(write_suite: Write) -> None:
    with serve(right) as engine:
        pass
    result, items = ask(engine, write_suite())
    assert result.tasks[0].score is None
    assert [item.attempts for item in items] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"base_url": "localhost:80/v1"}, "expected http://HOST:PORT/v1"),
        ({"run_id": "r-1"}, "'r-1' is no run_id"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"timeout_s": 0}, "timeout_s 0"),
        ({"sampling": SAMPLING | {"stop": []}}, "Sampling sets stop"),
        ({"sampling": {"seed": 1}}, "no temperature"),
        ({"context_limit": 16}, "answers of up to 16 tokens, but a whole sequence has 16"),
    ],
    ids=lambda part: next(iter(part)) if isinstance(part, dict) else "",
)
def test_argument_that_cannot_be_followed(write_suite: Write, changes: dict[str, Any], sentence: str) -> None:
    with serve(right) as engine, pytest.raises(QualityError, match=sentence):
        ask(engine, write_suite(), **changes)
    assert engine.seen == []


def test_runs_inside_a_running_loop(write_suite: Write) -> None:
    import asyncio

    async def notebook_cell() -> float | None:
        with serve(right) as engine:
            return ask(engine, write_suite())[0].tasks[0].score

    assert asyncio.run(notebook_cell()) == 1.0


def test_nothing_is_left_behind(write_suite: Write, tmp_path: Path) -> None:
    """In a fresh process, from another folder: light import, no file, no chatter, environment as before."""
    code = f"""
import json, os, sys
from pathlib import Path
from lab.quality import load_suite, run_suite
assert not {{"lm_eval", "datasets", "jsonschema"}} & sys.modules.keys()
before = dict(os.environ)
result, _ = run_suite(load_suite(Path(sys.argv[2])), base_url=sys.argv[1], model="m", sampling={SAMPLING},
                      context_limit=512, run_id="r-abcdefgh23")
print(json.dumps([result.model_dump(mode="json"), sorted(set(os.environ) ^ set(before))]))
"""
    home, folder = tmp_path / "home", write_suite()
    home.mkdir()
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(home),
    }
    with serve(right) as engine:
        done = subprocess.run(
            [sys.executable, "-c", code, engine.base_url, str(folder)],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    result, changed = json.loads(done.stdout)
    assert result["tasks"][0]["score"] == 1.0
    assert changed in ([], ["HF_XET_HIGH_PERFORMANCE"])  # lm-eval sets it when it is imported
    assert list(home.rglob("*")) == []
    chatter = [line for line in done.stderr.splitlines() if not line.startswith("fatal: not a git")]
    assert chatter == []  # simple_evaluate asks git for the commit of the folder it runs in
    assert str(tmp_path) not in json.dumps(result)
