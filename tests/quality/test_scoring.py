"""Scores that can be checked in the head."""

from __future__ import annotations

from typing import Any

import pytest

from lab.quality.scoring import score_exact, score_number, score_schema


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("Paris", 1),
        (" paris.\n", 1),
        ("**Paris**", 1),
        ("the Paris", 1),
        ("\N{FULLWIDTH LATIN CAPITAL LETTER P}aris", 1),
        ("Paris, France", 0),
        ("Par is", 0),
        ("...", 0),
    ],
)
def test_exact_match(answer: str, score: float) -> None:
    assert score_exact(answer, ("London", "Paris")) == score


@pytest.mark.parametrize(
    ("answer", "key", "score"),
    [
        ("15", "15", 1),
        ("7 + 8 = 15.", "15", 1),
        ("It is 15.0", "15", 1),
        ("15 is 7 + 8", "15", 0),
        ("fifteen", "15", 0),
        ("115", "15", 0),
        ("1,234", "1234", 1),
        ("5-8=-3", "-3", 1),
        ("5 - 8 = \N{MINUS SIGN}3", "-3", 1),
        ("\N{FULLWIDTH DIGIT FOUR}", "4", 1),
    ],
)
def test_number_match(answer: str, key: str, score: float) -> None:
    assert score_number(answer, (key,)) == score


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('{"n": 1}', 1),
        (' {"n": 1}\n', 1),
        ('{"n": "1"}', 0),
        ('{"n": 1', 0),
        ('{"n": 1} {"n": 2}', 0),
        ('```json\n{"n": 1}\n```', 0),
        ('{"n": NaN}', 0),
        ("[" * 100_000, 0),
    ],
    ids=lambda value: str(value)[:20],
)
def test_schema_valid(answer: str, score: float) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    assert score_schema(answer, schema) == score
