"""What became of the requests that asked for JSON of a schema: counted, never repaired."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from lab.records import Outcome, RequestRecord, Structured

REFUSALS = frozenset({400, 422, 501})
"""Statuses with which an engine says that it does not take a schema."""


def classify(records: Iterable[RequestRecord], schemas: Mapping[str, dict[str, Any]]) -> dict[Structured, int] | None:
    """How many requests ended in each way.

    An answer is valid when the whole text is one JSON value (RFC 8259: no NaN, no code fence around it)
    that fits the schema of its item, read by the draft its `$schema` names, else by 2020-12. `format` is
    not asserted. An answer cut at the length limit is truncated even where what arrived happens to fit.

    Args:
        records: of one level; warm-up is left out.
        schemas: JSON schema of every item that has one, by its name; checked when they were loaded.

    Returns:
        A count for every kind, zeros too; None when no record has an item with a schema.
    """
    counts = dict.fromkeys(Structured, 0)
    validators: dict[str, Any] = {}
    for record in records:
        if record.warmup or record.item is None or record.item not in schemas:
            continue
        if record.item not in validators:
            validators[record.item] = _validator(schemas[record.item])
        counts[_kind(record, validators[record.item])] += 1
    return counts if any(counts.values()) else None


def _kind(record: RequestRecord, validator: Any) -> Structured:
    if record.outcome is Outcome.HTTP_ERROR and record.status in REFUSALS:
        return Structured.REFUSED
    if record.outcome is not Outcome.SUCCESS:
        return Structured.FAILED
    if record.finish_reason == "length":
        return Structured.TRUNCATED
    return Structured.VALID if _fits(record.text, validator) else Structured.INVALID


def _fits(text: str, validator: Any) -> bool:
    try:
        value = json.loads(text, parse_constant=_refuse)
        return bool(validator.is_valid(value))
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _validator(schema: dict[str, Any]) -> Any:
    # only where schemas are asked for: jsonschema is slow to import
    import jsonschema
    from referencing import Registry

    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    # an empty registry: nothing is ever fetched
    return draft(schema, registry=Registry())
