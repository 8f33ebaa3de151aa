"""Records in which anything may stand anywhere: every one is a request or has a reason, and nothing breaks."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

from lab.errors import TrafficError
from lab.traffic.reading import measure
from tests.traffic.logs import MOONCAKE, words
from tests.traffic.test_canaries import Planting, body, mooncake, record, sharegpt

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**40, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "{", "[]", '{"a": 1}',
    "data: {", [], [None], [[]], [1, "a"], {}, {"": None}, {"content": {}}, {"type": "text"}, {"text": 1},
)  # fmt: skip


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Ways to every inner value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [one for key, below in inner for one in ((*way, key), *places(below, (*way, key)))]


def damaged(value: Any, chance: random.Random) -> Any:
    """A copy with up to three inner values replaced, or left out."""
    new = copy.deepcopy(value)
    for _ in range(chance.randrange(1, 4)):
        found = places(new)
        if not found:
            return new
        *way, last = chance.choice(found)
        holder = new
        for key in way:
            holder = holder[key]
        if chance.random() < 0.2:
            del holder[last]
        else:
            holder[last] = copy.deepcopy(chance.choice(ODD))
    return new


def others() -> list[Any]:
    """Answers of the other two forms."""
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    said = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}
    asked = {
        "model": "m",
        "input": [{"role": "user", "content": "y"}, call, {"type": "function_call_output", "output": "z"}],
    }
    chunk = {"choices": [{"delta": {"content": "h", "tool_calls": [{"function": {"name": "f"}}]}}], "usage": {}}
    return [
        {"body": asked, "response": {"object": "response", "output": [said, call], "usage": {"input_tokens": 3}}},
        {"body": {"prompt": "x"}, "response": {"choices": [{"text": "y"}]}, "usage": {"prompt_tokens": 1}},
        {"body": {"prompt": "x"}, "chunk": chunk},
    ]


def streamed(value: Any) -> Any:
    """The chunk of a record as a logged stream."""
    if isinstance(value, dict) and "chunk" in value:
        return {**value, "response": f"data: {json.dumps(value.pop('chunk'))}\n\ndata: [DONE]\n\n"}
    return value


def test_whatever_stands_in_a_record_it_is_counted_or_refused(tmp_path: Path) -> None:
    chance, plant = random.Random(3), Planting()
    kinds = {
        "openai": [record(plant, 1), body(plant), {"model": "m", "prompt": ["a", "b"]},
                   {"model": "m", "instructions": "x", "input": [{"role": "user", "content": "y"}]}, *others()],
        "sharegpt": [sharegpt(plant)],
        "mooncake": [mooncake(plant, 1), *MOONCAKE],
    }  # fmt: skip
    for kind, models in kinds.items():
        for encode_all in (words, None):
            path = tmp_path / "odd.jsonl"
            lines = [json.dumps(streamed(damaged(chance.choice(models), chance))) for _ in range(1500)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            found = measure(path, kind=kind, encode_all=encode_all).shape  # type: ignore[arg-type]  # a key of the dict
            refused = sum(one.n for one in found.bad)
            assert found.records == 1500 and found.requests > 0
            if kind != "sharegpt":  # a conversation may be several requests
                assert found.requests + refused + found.twice == 1500
            found.model_dump_json()


def test_a_file_of_nothing_but_odd_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in ODD) + "\n", encoding="utf-8")
    for kind in (None, "openai", "sharegpt", "mooncake"):
        try:
            measure(path, kind=kind)  # type: ignore[arg-type]  # one of them
        except TrafficError as refused:
            assert "looks like" in str(refused)
        else:
            raise AssertionError("it was taken for traffic")
