"""What one record asks, however it is wrapped: prompt, answer, clock, and what it uses of the API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.traffic.requests import ASSISTANT, MEDIA, SYSTEM, TOOL, TOOLS, USER, NotARequest, Request, kind_of, requests_of
from tests.traffic.logs import answered, chat


def one(record: Any) -> Request:
    (found,) = requests_of(record, "openai")
    return found


BODY = chat("hello there", system="be kind", max_tokens=7, stream=True)
PIECES = [(SYSTEM, "be kind"), (USER, "hello there")]


@pytest.mark.parametrize("record", [
    BODY,
    {"body": BODY}, {"request": {"body": BODY, "headers": {}}}, {"requestBody": json.dumps(BODY)},
    {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": BODY},
    {"payload": {"request": {"json": BODY}}},
])  # fmt: skip
def test_a_body_is_found_in_its_wrapping(record: dict[str, Any]) -> None:
    assert kind_of(record) == "openai"
    found = one(record)
    assert (found.pieces, found.limit, found.stream, found.turns, found.follows) == (PIECES, 7, True, 1, False)


def test_the_flat_record_of_a_gateway_is_read_with_its_parameters() -> None:
    found = one({"id": "a", "messages": BODY["messages"], "model": "m", "model_parameters": {"temperature": 0.5},
                 "startTime": 1_700_000_000.0, "endTime": 1_700_000_002.5, "prompt_tokens": 12,
                 "completion_tokens": 3, "response": {"choices": [{"message": {"content": "hi"}}]}})  # fmt: skip
    assert (found.pieces, found.answer, found.usage_in, found.usage_out) == (PIECES, "hi", 12, 3)
    assert (found.at_s, found.took_s, found.sampling) == (1_700_000_000.0, 2.5, {"temperature": 0.5})


@pytest.mark.parametrize(("clock", "at_s", "took_s"), [
    ({"timestamp": "2023-11-14T22:13:20Z", "duration_ms": 250}, 1.7e9, 0.25),
    ({"timestamp": "2023-11-14 22:13:20,500"}, 1.7e9 + 0.5, None),
    ({"ts": 1_700_000_000_000, "latency_s": 2}, 1.7e9, 2.0),
    ({"time": "1700000000"}, 1.7e9, None),
    ({"created_at": "2023-11-14T23:13:20+01:00", "completed_at": "2023-11-14T22:13:21Z"}, 1.7e9, 1.0),
    ({"timestamp": 1_700_000_000_000_000_000}, 1.7e9, None),
])  # fmt: skip
def test_clocks_are_read_in_every_unit_that_a_calendar_decides(
    clock: dict[str, Any], at_s: float, took_s: float | None
) -> None:
    found = one({**clock, "body": BODY})
    assert (found.at_s, found.calendar, found.took_s) == (pytest.approx(at_s), True, took_s)


def test_a_clock_that_says_no_unit_or_nothing_is_not_believed() -> None:
    loose = one({"timestamp": 12.5, "latency": 3, "body": BODY})
    assert (loose.at_s, loose.calendar, loose.took_s, loose.no_unit) == (12.5, False, None, True)
    broken = one({"timestamp": "yesterday", "body": BODY})
    assert (broken.at_s, broken.time_broken) == (None, True)


def test_answers_are_found_whole_and_streamed_and_after_the_question() -> None:
    whole = {
        "choices": [{"message": {"content": "hi", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}]
    }
    found = one({"body": BODY, "response": {"body": whole}})
    assert found.answer is not None and found.answer.startswith("hi") and found.uses_tools
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (
        {"choices": [{"delta": {"role": "assistant"}}]}, {"choices": [{"delta": {"content": "h"}}]},
        {"choices": [{"delta": {"content": "i"}}]}, {"choices": [], "usage": {"completion_tokens": 2}},
    )) + "data: [DONE]\n\n"  # fmt: skip
    found = one({"body": BODY, "response": stream})
    assert (found.answer, found.usage_out) == ("hi", 2)
    found = one({"body": BODY, "response": {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}})
    assert (found.answer, found.usage_in, found.usage_out) == (None, 9, 4)
    found = one(chat("question", "its answer"))
    assert (found.pieces, found.answer, found.answers_last) == ([(USER, "question")], "its answer", True)


def test_later_turns_tools_and_pictures_are_seen() -> None:
    tools = [{"type": "function", "function": {"name": "look"}}]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "what is this"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "content": "a cat"},
        {"role": "user", "content": "sure"},
    ]
    found = one({"model": "m", "messages": messages, "tools": tools})
    assert (found.turns, found.follows, found.tools, found.uses_tools, found.media) == (2, True, 1, True, 1)
    marks = [mark for mark, _ in found.pieces]
    assert marks[0] == TOOLS and marks[1] == USER and marks[2] >= MEDIA and marks[3:] == [ASSISTANT, TOOL, USER]


@pytest.mark.parametrize(("fields", "constraint"), [
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "json-schema"),
    ({"guided_json": {"type": "object"}}, "json-schema"),
    ({"extra_body": {"guided_json": {"type": "object"}}}, "json-schema"),
    ({"structured_outputs": {"json": {"type": "object"}}}, "json-schema"),
    ({"response_format": {"type": "json_object"}}, "json-object"),
    ({"response_format": {"type": "text"}}, None),
    ({"guided_regex": "a+"}, "other"), ({"structured_outputs": {"choice": ["a"]}}, "other"),
    ({"grammar": "root ::= 'a'"}, "other"), ({}, None),
])  # fmt: skip
def test_what_an_answer_has_to_fit_is_told_apart(fields: dict[str, Any], constraint: str | None) -> None:
    assert one({**BODY, **fields}).constraint == constraint


def test_completions_responses_and_token_ids_are_bodies_too_and_an_embedding_is_not() -> None:
    assert [text for _, text in one({"model": "m", "prompt": "once upon"}).pieces] == ["once upon"]
    assert one({"model": "m", "prompt": ["a", "b"]}).prompts == 2
    assert [text for _, text in one({"model": "m", "prompt": [1, 2, 3]}).pieces] == [(1, 2, 3)]
    found = one({"model": "m", "instructions": "be kind", "input": [{"role": "user", "content": [
        {"type": "input_text", "text": "hello there"}]}], "text": {"format": {"type": "json_schema"}}})  # fmt: skip
    assert (found.pieces, found.constraint) == (PIECES, "json-schema")
    assert one({"model": "m", "input": "and then", "previous_response_id": "x"}).held
    assert kind_of({"model": "m", "input": "a text", "encoding_format": "float"}) is None
    with pytest.raises(NotARequest, match="other-endpoint"):
        one({"url": "/v1/embeddings", "body": {"model": "m", "input": "a text"}})


def test_every_answer_of_a_conversation_is_a_request_with_all_before_it() -> None:
    turns = [("human", "a b"), ("gpt", "c"), ("human", "d"), ("gpt", "e f g")]
    record = {"id": "x", "conversations": [{"from": who, "value": text} for who, text in turns]}
    assert kind_of(record) == "sharegpt"
    first, second = requests_of(record, "sharegpt")
    assert (first.pieces, first.answer, first.turns, first.follows) == ([(USER, "a b")], "c", 1, False)
    assert second.pieces == [(USER, "a b"), (ASSISTANT, "c"), (USER, "d")]
    assert (second.answer, second.turns, second.follows) == ("e f g", 2, True)


@pytest.mark.parametrize(("record", "why"), [
    ([], "not-an-object"), ({"a": 1}, "no-request"), ({"messages": [1]}, "bad-messages"),
    ({"messages": []}, "no-prompt"), ({"messages": [{"role": "user", "content": 5}]}, "bad-messages"),
    ({"prompt": [1.5]}, "bad-messages"),
])  # fmt: skip
def test_what_asks_nothing_is_refused_with_a_reason(record: Any, why: str) -> None:
    with pytest.raises(NotARequest) as refused:
        one(record)
    assert refused.value.why == why


def test_no_repr_shows_what_was_written() -> None:
    found = one(answered(chat("Fujimori-4711", model="Fujimori"), "Fujimori", id="Fujimori"))
    assert "Fujimori" not in repr(found)
