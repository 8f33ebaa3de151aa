"""A traffic shape as a load: prompts of its lengths that begin like each other, answers of its lengths, its rhythm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.errors import ParamsError
from lab.load.arrivals import replayed
from lab.load.ladder import build_levels
from lab.load.prompts import longest_tokens
from lab.load.sources import Source, read_source
from lab.spec import Workload
from lab.trace import TraceRow

ROWS = [
    {"at_s": 0.0, "input_tokens": 40, "output_tokens": 5},
    {"at_s": 1.0, "input_tokens": 30, "output_tokens": 9, "shared_tokens": 20, "like": 0},
    {"at_s": 1.5, "input_tokens": 50, "output_tokens": 7, "shared_tokens": 30, "like": 1},
    {"at_s": 4.0, "input_tokens": 10, "output_tokens": 3},
]


def source(folder: Path, rows: list[Any]) -> Source:
    path = folder / "x.shape.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_source("trace", path)


def workload(**changed: Any) -> Workload:
    fields = {"name": "mine", "endpoint": "chat", "content": "trace", "output_tokens": 100, "exact_output": True,
              "arrival": "trace", "rate_rps": (1.0,), "requests_per_level": 4, "warmup_requests": 2, "timeout_s": 9.0,
              "seed": 1}  # fmt: skip
    return Workload.model_validate({**fields, **changed})


def texts(bodies: tuple[bytes, ...]) -> list[list[str]]:
    return [json.loads(body)["messages"][0]["content"].split() for body in bodies]


def common(one: list[str], two: list[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def test_prompts_have_the_lengths_of_the_rows_and_begin_like_the_rows_they_name(tmp_path: Path) -> None:
    (level,) = build_levels(workload(), model="m", fields={"max_tokens": 100}, source=source(tmp_path, ROWS))
    prompts = texts(level.job.bodies)
    assert [len(prompt) for prompt in prompts] == [40, 30, 50, 10]
    shared = [max((common(prompt, other) for other in prompts[:i]), default=0) for i, prompt in enumerate(prompts)]
    assert shared == [0, 20, 30, 0]
    assert [len(prompt) for prompt in texts(level.job.warmup)] == [40, 30]
    assert all(common(warm, prompt) == 0 for warm in texts(level.job.warmup) for prompt in prompts)


def test_every_answer_is_asked_for_at_the_length_of_its_row(tmp_path: Path) -> None:
    fields = {"max_tokens": 100, "min_tokens": 100, "ignore_eos": True}
    (level,) = build_levels(workload(output_tokens=8), model="m", fields=fields, source=source(tmp_path, ROWS))
    asked = [json.loads(body) for body in level.job.bodies]
    assert [one["max_tokens"] for one in asked] == [one["min_tokens"] for one in asked] == [5, 8, 7, 3]
    assert level.job.asked_each == (5, 8, 7, 3)


def test_levels_and_laps_share_nothing_with_each_other(tmp_path: Path) -> None:
    twice = workload(rate_rps=(1.0, 2.0), requests_per_level=8)
    levels = build_levels(twice, model="m", fields={"max_tokens": 100}, source=source(tmp_path, ROWS))
    first, second = texts(levels[0].job.bodies), texts(levels[1].job.bodies)
    assert max(common(one, two) for one in first for two in second) == 0
    assert max(common(one, two) for one in first[:4] for two in first[4:]) == 0
    assert common(first[4], first[5]) == 20  # the second time around has the same shape


def test_the_rhythm_is_stretched_to_the_rate_that_is_asked(tmp_path: Path) -> None:
    rows = source(tmp_path, ROWS).rows
    assert replayed(rows, 0.75, 4, None) == (0.0, 1.0, 1.5, 4.0)  # three gaps in four seconds, as recorded
    assert replayed(rows, 1.5, 4, None) == (0.0, 0.5, 0.75, 2.0)
    assert replayed(rows, 0.75, 6, None)[4:] == pytest.approx((4 + 4 / 3, 5 + 4 / 3))
    assert replayed(rows, 0.75, 4, 2.0) == (0.0, 1.0, 1.5)
    with pytest.raises(ParamsError, match="moments"):
        replayed([TraceRow(input_tokens=1, output_tokens=1)], 1.0, 1, None)


def test_the_longest_request_is_known_without_a_tokenizer(tmp_path: Path) -> None:
    assert longest_tokens(workload(), source(tmp_path, ROWS)) == 57


@pytest.mark.parametrize(("row", "sentence"), [
    ({"input_tokens": 0, "output_tokens": 1}, "input_tokens: "),
    ({"input_tokens": 5, "output_tokens": 1, "at_s": 5.0, "shared_tokens": 3}, "go together"),
    ({"input_tokens": 5, "output_tokens": 1, "at_s": 5.0, "shared_tokens": 3, "like": 9}, "does not come before it"),
    ({"input_tokens": 5, "output_tokens": 1, "at_s": 5.0, "shared_tokens": 6, "like": 0}, "more than one of the two"),
    ({"input_tokens": 5, "output_tokens": 1}, "some have none"),
    ({"input_tokens": 5, "output_tokens": 1, "at_s": 3.0}, "earlier than the row before"),
    ({"input_length": 5, "output_length": 1, "hash_ids": [1]}, "lab traffic FILE --workload"),
    ({"Fujimori": 1}, "Field required"), ([1], "no row of a traffic shape"),
    ({**ROWS[0], "at_s": 9.0, "Fujimori": 1}, "no row of a traffic shape"),
])  # fmt: skip
def test_a_row_that_cannot_be_followed_is_named_by_its_line(tmp_path: Path, row: Any, sentence: str) -> None:
    with pytest.raises(ParamsError) as refused:
        source(tmp_path, [*ROWS, row])
    assert ":5: " in str(refused.value) and sentence in str(refused.value) and "Fujimori" not in str(refused.value)


def test_a_rhythm_needs_a_shape() -> None:
    with pytest.raises(ValueError, match="content has to be trace"):
        workload(content="own-traffic")
