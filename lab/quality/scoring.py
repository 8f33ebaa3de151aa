"""How one complete answer becomes 0 or 1. The digest of every suite covers this file.

Only complete answers arrive here: what is empty, cut or failed has no score (`lab/quality/replies.py`).
jsonschema is imported where it is used: with its optional format checkers it takes most of a second.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Literal, get_args

MetricName = Literal["exact_match", "number_match", "schema_valid"]

_NUMBER = re.compile(r"(?<!\w)-?\d+(?:,\d{3})*(?:\.\d+)?")
_ARTICLES = re.compile(r"^(?:a|an|the)\s+")


def score_exact(answer: str, accept: tuple[str, ...]) -> float:
    """1 when the answer is an accepted one; case, outer punctuation and a first article do not count."""
    return float(normalise(answer) in {normalise(accepted) for accepted in accept})


def score_number(answer: str, accept: tuple[str, ...]) -> float:
    """1 when the last number of the answer is an accepted one, so that "7 + 8 = 15" is read as 15."""
    number = last_number(answer)
    return float(number is not None and number in {last_number(accepted) for accepted in accept})


def score_schema(answer: str, schema: dict[str, Any]) -> float:
    """1 when the whole answer is one JSON value that fits the schema."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    try:
        value = json.loads(answer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return 0.0
    validator = validator_for(schema, default=Draft202012Validator)
    return float(validator(schema, registry=Registry()).is_valid(value))


METRICS: dict[MetricName, Callable[[str, Any], float]] = {
    "exact_match": score_exact,
    "number_match": score_number,
    "schema_valid": score_schema,
}
assert set(METRICS) == set(get_args(MetricName))


def normalise(text: str) -> str:
    """The text without what does not change an answer: Unicode form, case, outer punctuation, article."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _ARTICLES.sub("", _strip_punctuation(folded))


def last_number(text: str) -> Decimal | None:
    """The last number written in digits, or None when there is none."""
    found = _NUMBER.findall(unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-"))
    return Decimal(found[-1].replace(",", "")) if found else None


def schema_fault(schema: dict[str, Any]) -> str | None:
    """What keeps a JSON schema from being used, or None: a bad keyword, a reference that leads outside it."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    validator = validator_for(schema, default=Draft202012Validator)
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        return str(error.message)
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().resolver_with_root(resource)
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f"'{reference}' leads nowhere inside the schema, and nothing is fetched"
    return None


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _strip_punctuation(text: str) -> str:
    inside = [i for i, char in enumerate(text) if unicodedata.category(char)[0] not in "PZ"]
    return text[inside[0] : inside[-1] + 1] if inside else ""


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
