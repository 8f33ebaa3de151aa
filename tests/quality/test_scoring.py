"""Scores that can be checked in the head."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.quality.scoring import (
    KEYS,
    LOWER_IS_BETTER,
    METRICS,
    leaves,
    score_exact,
    score_fields,
    score_japanese,
    score_japanese_number,
    score_number,
    score_replacement,
    score_schema,
    score_verbatim,
    score_wrong_script,
)


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


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('{"a": 1, "b": {"c": "x", "d": [true, null]}}', 1),
        ('{"b": {"d": [true, null], "c": "x"}, "a": 1.0}', 1),
        ('{"a": 2, "b": {"c": "x", "d": [true, null]}}', 3 / 4),
        ('{"a": 1, "b": {"c": "x", "d": [true]}}', 3 / 4),
        ('{"a": 1, "b": {"c": "x", "d": [null, true]}}', 2 / 4),
        ('{"a": 1, "b": {"c": "x", "d": [true, null]}, "e": 0}', 4 / 5),
        ('{"a": 1}', 1 / 4),
        ('{"a": 1, "b": {}}', 1 / 5),
        ('{"a": "1", "b": {"c": "X", "d": [1, 0]}}', 0),
        ('```json\n{"a": 1}\n```', 1 / 4),
        ('{"a": 1} is it', 0),
        ('{"a": 1', 0),
        ('{"a": NaN}', 0),
        ("[" * 100_000, 0),
    ],
    ids=lambda value: str(value)[:60],
)
def test_fields_that_are_right_are_counted_over_those_expected_or_given(answer: str, score: float) -> None:
    assert score_fields(answer, {"a": 1, "b": {"c": "x", "d": [True, None]}}) == score


@pytest.mark.parametrize(
    ("answer", "expected", "score"),
    [
        ("3.0", 3, 1),
        ("true", 1, 0),
        ("1", True, 0),
        ("0", False, 0),
        ("0", None, 0),
        ('""', None, 0),
        ("[]", [], 1),
        ("[]", {}, 0),
        ('"\\u304b\\u3099"', "\N{HIRAGANA LETTER GA}", 1),
        ('"x "', "x", 0),
        ('{"0": 1}', [1], 0),
        ("1e999", 1, 0),
    ],
)
def test_fields_are_strict_about_types(answer: str, expected: Any, score: float) -> None:
    assert score_fields(answer, expected) == score


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_value_has_all_its_own_fields_right_whatever_the_order_of_its_keys(value: Any) -> None:
    assert score_fields(json.dumps(value, sort_keys=True), value) == 1


@given(json_values, json_values)
def test_fields_are_symmetrical(one: Any, other: Any) -> None:
    assert score_fields(json.dumps(one), other) == score_fields(json.dumps(other), one)


def test_leaves_have_their_places() -> None:
    assert leaves({"a": [1, {"b": []}]}) == {("a", 0): 1, ("a", 1, "b"): []}


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("富士山", 1),
        ("「富士山」です。", 1),
        ("答えは、富士山です", 1),
        ("富士山（ふじさん）", 1),
        ("フジサン", 1),
        ("ﾌｼﾞｻﾝ", 1),
        ("富士", 0),
        ("富士山とエベレスト", 0),
        ("Mount Fuji", 0),
    ],
)
def test_japanese_match(answer: str, score: float) -> None:
    assert score_japanese(answer, ("富士山", "ふじさん")) == score


@pytest.mark.parametrize(
    ("answer", "key", "score"),
    [
        ("12", "12", 1),
        ("１２個です。", "12", 1),
        ("十二", "12", 1),
        ("三個×四袋＝十二個", "12", 1),
        ("5万平方センチメートル", "50000", 1),
        ("50,000cm²", "50000", 1),
        ("12.0", "12", 1),
        ("-5度", "-5", 1),
        ("マイナス", "-5", 0),
        ("112", "12", 0),
        ("12か13", "12", 0),
    ],
)
def test_japanese_number(answer: str, key: str, score: float) -> None:
    assert score_japanese_number(answer, (key,)) == score


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("サクラ", 1),
        (" 「サクラ」。\n", 1),
        ("さくら", 0),
        ("ｻｸﾗ", 0),
        ("サクラです", 0),
        ("「サクラ", 0),
    ],
)
def test_verbatim_match(answer: str, score: float) -> None:
    assert score_verbatim(answer, ("サクラ",)) == score


@pytest.mark.parametrize(("answer", "score"), [("東京", 0), ("東\N{REPLACEMENT CHARACTER}", 1), ("東?", 0), ("", 0)])
def test_replacement_char(answer: str, score: float) -> None:
    assert score_replacement(answer) == score


@pytest.mark.parametrize(("answer", "score"), [("東京は Tokyo です", 0), ("东京", 1), ("도쿄", 1), ("", 0)])
def test_wrong_script(answer: str, score: float) -> None:
    assert score_wrong_script(answer) == score


ANY_KEY = {"accept": ("一",), "answer_schema": {"type": "integer"}, "expected": {"a": 1}, None: None}


@pytest.mark.parametrize("metric", METRICS)
@given(answer=st.text())
def test_every_metric_gives_any_text_a_number_from_0_to_1(metric: Any, answer: str) -> None:
    assert 0 <= METRICS[metric](answer, ANY_KEY[KEYS[metric]]) <= 1


def test_rates_are_the_metrics_that_need_no_key() -> None:
    assert {metric for metric, key in KEYS.items() if key is None} == LOWER_IS_BETTER
