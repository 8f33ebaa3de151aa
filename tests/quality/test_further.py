"""Further metrics of the same answers, and one file of items asked in several ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.quality import load_suite, run_suite
from lab.records import Unscored

from .fake_engine import Exchange, chat, serve
from .small_suite import SAMPLING, SCHEMA, Write

SUITES = Path(__file__).parents[2] / "params" / "quality"
LOST = "\N{REPLACEMENT CHARACTER}"


def test_rates_look_at_every_text_and_forgive_where_the_limit_cut_a_character(write_suite: Write) -> None:
    answers = {
        "right": chat("東京"),
        "wrong": chat("东京"),
        "broken": chat(f"東{LOST}"),
        "cut inside": chat(f"東{LOST}京", "length"),
        "cut at the end": chat(f"東京{LOST}", "length"),
        "empty": chat(""),
    }
    items = [{"id": f"i{n}", "question": name, "accept": ["東京"]} for n, name in enumerate(answers)]
    settings = {"metric": "japanese_match", "also": ["replacement_char", "wrong_script"], "max_tokens": 8}
    suite = load_suite(write_suite(more={"capital": (settings, items)}))
    with serve(lambda exchange: exchange.send(answers[exchange.question])) as engine:
        result, asked = run_suite(
            suite, base_url=engine.base_url, model="m", sampling=SAMPLING, context_limit=512, run_id="r-abcdefgh23"
        )
    assert [item.also.get("replacement_char") for item in asked] == [0, 0, 1, 1, 0, None]
    assert [item.also.get("wrong_script") for item in asked] == [0, 1, 0, 0, 0, None]
    assert result.tasks[0].also == {"replacement_char": 2 / 5, "wrong_script": 1 / 5}
    assert result.tasks[0].unscored == {Unscored.TRUNCATED: 2, Unscored.EMPTY: 1}
    assert result.tasks[0].score == 1 / 6


def test_further_metrics_with_a_key_read_complete_answers_only(write_suite: Write) -> None:
    answers = {"whole": chat('{"n": 1}'), "cut": chat('{"n": 1}', "length")}
    items = [{"id": name, "question": name, "answer_schema": SCHEMA, "expected": {"n": 2}} for name in answers]
    settings = {"metric": "field_accuracy", "also": ["schema_valid"], "max_tokens": 8}
    suite = load_suite(write_suite(more={"shaped": (settings, items)}))
    with serve(lambda exchange: exchange.send(answers[exchange.question])) as engine:
        result, asked = run_suite(
            suite, base_url=engine.base_url, model="m", sampling=SAMPLING, context_limit=512, run_id="r-abcdefgh23"
        )
    assert [(item.score, item.also) for item in asked] == [(0, {"schema_valid": 1}), (None, {})]
    assert result.tasks[0].also == {"schema_valid": 1}


def test_structured_is_asked_three_times_in_order_and_only_the_middle_is_constrained() -> None:
    suite = load_suite(SUITES / "structured")
    bodies: list[dict[str, Any]] = []

    def note(exchange: Exchange) -> None:
        bodies.append(exchange.asked)
        exchange.send(chat("{}"))

    with serve(note) as engine:
        run_suite(
            suite, base_url=engine.base_url, model="m", sampling=SAMPLING, context_limit=4096, run_id="r-abcdefgh23"
        )
    count = len(suite.tasks[0].items)
    free, constrained, again = bodies[:count], bodies[count : 2 * count], bodies[2 * count :]
    for item, body in zip(suite.tasks[1].items, constrained, strict=True):
        schema = body.pop("response_format")["json_schema"]["schema"]
        assert schema == item.answer_schema
        assert json.loads(body["messages"][-1]["content"].splitlines()[-1]) == schema
    assert free == constrained == again


@pytest.mark.parametrize("suite", ["structured", "japanese"])
def test_own_suites_are_sound(suite: str) -> None:
    loaded = load_suite(SUITES / suite)
    assert loaded.ref().sha256 == load_suite(SUITES / suite).ref().sha256
    assert {task.config.better for task in loaded.tasks} == {"higher"}
