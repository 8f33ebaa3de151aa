"""How one answer becomes a number from 0 to 1. The digest of every suite covers this file.

Only complete answers are scored for being right: what is empty, cut or failed has no score (`lab/quality/replies.py`).
The metrics without a key look at the characters of an answer, right or wrong; their mean over answers is a rate.
jsonschema is imported where it is used: with its optional format checkers it takes most of a second.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Literal, get_args

from lab.quality.japanese import foreign_letters, japanese_form

MetricName = Literal[
    "exact_match",
    "number_match",
    "schema_valid",
    "field_accuracy",
    "japanese_match",
    "japanese_number",
    "verbatim_match",
    "replacement_char",
    "wrong_script",
]
KeyName = Literal["accept", "answer_schema", "expected"]

_NUMBER = re.compile(r"(?<!\w)-?\d+(?:,\d{3})*(?:\.\d+)?")
_JAPANESE_NUMBER = re.compile(r"(?<![a-z\d.])-?\d+(?:\.\d+)?")
_ARTICLES = re.compile(r"^(?:a|an|the)\s+")
_FENCED = re.compile(r"\s*```[a-zA-Z]*\n(.*?)\n?```\s*", re.DOTALL)
_QUOTES = {"「": "」", "『": "』", "“": "”", '"': '"', "`": "`"}


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
        value = read_json(answer)
    except ValueError:
        return 0.0
    validator = validator_for(schema, default=Draft202012Validator)
    return float(validator(schema, registry=Registry()).is_valid(value))


def score_fields(answer: str, expected: Any) -> float:
    """The share of fields that are right, over all fields that are expected or given; 0 when it is not JSON.

    A field is a value that holds no other, at its place; an empty list or object is one. Types have to agree
    ("3" is not 3, true is not 1; 3.0 is 3), texts character by character after NFC. A code fence around the
    whole answer is passed over here, unlike in `schema_valid`: it says nothing about the fields.
    """
    fenced = _FENCED.fullmatch(answer)
    try:
        given = leaves(read_json(fenced[1] if fenced else answer))
    except ValueError:
        return 0.0
    wanted = leaves(expected)
    right = sum(place in given and _same(given[place], value) for place, value in wanted.items())
    return right / len(wanted.keys() | given.keys())


def score_japanese(answer: str, accept: tuple[str, ...]) -> float:
    """1 when the answer is an accepted one in the form that `japanese_form` gives both."""
    return float(japanese_form(answer) in {japanese_form(accepted) for accepted in accept})


def score_japanese_number(answer: str, accept: tuple[str, ...]) -> float:
    """1 when the last number of the answer is an accepted one; 十二, 12 and １２個 are the same number."""
    number = last_japanese_number(answer)
    return float(number is not None and number in {last_japanese_number(accepted) for accepted in accept})


def score_verbatim(answer: str, accept: tuple[str, ...]) -> float:
    """1 when the answer is an accepted one, character by character after NFC.

    Width, kana and numerals count. Outer white space, a final 。 and one pair of quotation marks do not.
    """
    return float(_bare(answer) in {_bare(accepted) for accepted in accept})


def score_replacement(answer: str, key: None = None) -> float:
    """1 when the answer holds U+FFFD, the sign of bytes that were no text: here 0 is good."""
    return float("\N{REPLACEMENT CHARACTER}" in answer)


def score_wrong_script(answer: str, key: None = None) -> float:
    """1 when the answer holds a letter that Japanese is not written with (`foreign_letters`): here 0 is good."""
    return float(bool(foreign_letters(answer)))


METRICS: dict[MetricName, Callable[[str, Any], float]] = {
    "exact_match": score_exact,
    "number_match": score_number,
    "schema_valid": score_schema,
    "field_accuracy": score_fields,
    "japanese_match": score_japanese,
    "japanese_number": score_japanese_number,
    "verbatim_match": score_verbatim,
    "replacement_char": score_replacement,
    "wrong_script": score_wrong_script,
}
assert set(METRICS) == set(get_args(MetricName))

KEYS: dict[MetricName, KeyName | None] = {
    "exact_match": "accept",
    "number_match": "accept",
    "schema_valid": "answer_schema",
    "field_accuracy": "expected",
    "japanese_match": "accept",
    "japanese_number": "accept",
    "verbatim_match": "accept",
    "replacement_char": None,
    "wrong_script": None,
}
"""What a metric reads of an item; None: nothing, it looks at the answer alone and may look at a cut one."""
assert set(KEYS) == set(METRICS)

LOWER_IS_BETTER: frozenset[MetricName] = frozenset({"replacement_char", "wrong_script"})
"""Metrics whose good end is 0."""


def normalise(text: str) -> str:
    """The text without what does not change an answer: Unicode form, case, outer punctuation, article."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _ARTICLES.sub("", _strip_punctuation(folded))


def last_number(text: str) -> Decimal | None:
    """The last number written in digits, or None when there is none."""
    found = _NUMBER.findall(unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-"))
    return Decimal(found[-1].replace(",", "")) if found else None


def last_japanese_number(text: str) -> Decimal | None:
    """The last number of a Japanese text, in digits or kanji, or None; the 2 of cm2 is none."""
    found = _JAPANESE_NUMBER.findall(japanese_form(text))
    return Decimal(found[-1]) if found else None


def read_json(text: str) -> Any:
    """The one JSON value that the whole text is.

    Raises:
        ValueError: it is not one, or it is nested too deeply to be read. NaN and Infinity are not JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def leaves(value: Any) -> dict[tuple[str | int, ...], Any]:
    """Every value of a JSON value that holds no other, by its place: keys and list positions from the root."""
    found: dict[tuple[str | int, ...], Any] = {}
    rest: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while rest:
        place, part = rest.pop()
        if isinstance(part, dict) and part:
            rest += [((*place, key), inner) for key, inner in part.items()]
        elif isinstance(part, list) and part:
            rest += [((*place, i), inner) for i, inner in enumerate(part)]
        else:
            found[place] = part
    return found


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


def _same(given: Any, wanted: Any) -> bool:
    """Whether two values that hold no other are one JSON value."""
    if isinstance(given, str) and isinstance(wanted, str):
        return unicodedata.normalize("NFC", given) == unicodedata.normalize("NFC", wanted)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (given, wanted))
    return bool(given == wanted) and (numbers or type(given) is type(wanted))


def _bare(text: str) -> str:
    text = unicodedata.normalize("NFC", text).strip().removesuffix("。")
    return text[1:-1] if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] else text


def _strip_punctuation(text: str) -> str:
    inside = [i for i, char in enumerate(text) if unicodedata.category(char)[0] not in "PZ"]
    return text[inside[0] : inside[-1] + 1] if inside else ""


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
