"""Structured answers: every kind is counted, and nothing is repaired."""

from __future__ import annotations

from typing import Any

import pytest

from lab.metrics.structured import classify
from lab.records import Outcome, RequestRecord, Structured

SCHEMAS = {"n": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}


def record(text: str = '{"a": 1}', **changes: Any) -> RequestRecord:
    values = {
        "level": 0, "index": 0, "item": "n", "intended_send_s": 0.0, "send_s": 0.0, "status": 200,
        "asked_tokens": 8, "finish_reason": "stop", "outcome": Outcome.SUCCESS, "text": text,
    }  # fmt: skip
    return RequestRecord.model_validate(values | changes)


def only(*records: RequestRecord) -> dict[str, int]:
    counts = classify(records, SCHEMAS)
    assert counts is not None
    assert list(counts) == list(Structured)
    return {str(kind): count for kind, count in counts.items() if count}


@pytest.mark.parametrize("text", ['{"a": 1}', ' \n{"a":1, "b": [2]}\n', '{"a": 1.0}', '{"a": 12345678901234567890}'])
def test_json_that_fits_is_valid(text: str) -> None:
    assert only(record(text)) == {"valid": 1}


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": "1"}', "{}", "[1]", '```json\n{"a": 1}\n```', '{"a": 1} done', '{"a": NaN}', "[" * 100_000],
)
def test_a_complete_answer_that_does_not_fit_is_invalid(text: str) -> None:
    assert only(record(text)) == {"invalid": 1}


def test_an_answer_cut_at_the_limit_is_truncated_whatever_arrived() -> None:
    cut = {"finish_reason": "length"}
    assert only(record('{"a"', **cut), record('{"a": 1}', **cut), record("", **cut)) == {"truncated": 3}


def test_a_refusal_is_told_from_other_failures_by_its_status() -> None:
    failed = [
        record("", outcome=Outcome.HTTP_ERROR, status=status, finish_reason=None)
        for status in (400, 422, 501, 401, 404, 429, 500, 503)
    ]
    assert only(*failed) == {"refused": 3, "failed": 5}
    others = [record("", outcome=outcome) for outcome in Outcome if outcome not in ("success", "http_error")]
    assert only(*others) == {"failed": len(Outcome) - 2}


def test_warm_up_and_requests_without_a_schema_are_left_out() -> None:
    assert only(record(), record(warmup=True), record(item="other"), record(item=None)) == {"valid": 1}
    assert classify([record(item=None), record(item="other"), record(warmup=True)], SCHEMAS) is None
    assert classify([record()], {}) is None
    assert classify([], SCHEMAS) is None


def test_the_draft_a_schema_names_decides() -> None:
    # in draft 4 exclusiveMinimum is a flag, in 2020-12 a number
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert classify([record("1"), record("2")], {"n": draft4}) == {
        Structured.VALID: 1, Structured.INVALID: 1, Structured.TRUNCATED: 0, Structured.REFUSED: 0, Structured.FAILED: 0
    }  # fmt: skip
