"""One line of a traffic shape: lengths, a moment, and how much of the prompt another line begins with. No text.

A file of them is what a workload with `content: trace` is driven from; `lab traffic` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field, ValidationError

from lab.spec import Frozen


class TraceRow(Frozen):
    """One request."""

    at_s: float | None = Field(default=None, ge=0)
    """When it is sent, seconds from the first one; None: nothing is known of that."""
    input_tokens: int = Field(ge=1, le=1_000_000)
    output_tokens: int = Field(ge=1, le=1_000_000)
    shared_tokens: int = Field(default=0, ge=0)
    """Tokens at its beginning that are those of another row."""
    like: int | None = Field(default=None, ge=0)
    """Which row that is: an earlier one, counted from 0; None when nothing is shared."""


class BadRow(ValueError):
    """A line is no row of a shape; the words say why and hold nothing of it."""


def row_of(value: Any, before: Sequence[TraceRow]) -> TraceRow:
    """A JSON value as the row behind those that are read already.

    Raises:
        BadRow: it is none, or points to what is not there.
    """
    if isinstance(value, dict) and "hash_ids" in value:
        raise BadRow("a line of a Mooncake trace; lab traffic FILE --workload OUT.yaml makes a shape of it")
    try:
        row = TraceRow.model_validate(value, strict=True)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        field = next((str(one) for one in first["loc"] if one in TraceRow.model_fields), None)
        raise BadRow(f"{field}: {first['msg']}" if field else "no row of a traffic shape") from None
    if (row.like is None) != (row.shared_tokens == 0):
        raise BadRow("shared_tokens and like go together")
    if row.like is not None and row.like >= len(before):
        raise BadRow(f"like: row {row.like} does not come before it")
    if row.like is not None and row.shared_tokens > min(row.input_tokens, before[row.like].input_tokens):
        raise BadRow("shared_tokens: more than one of the two prompts has")
    last_s = before[-1].at_s if before else None
    if before and (row.at_s is None) != (last_s is None):
        raise BadRow("at_s: some rows have one and some have none")
    if row.at_s is not None and last_s is not None and row.at_s < last_s:
        raise BadRow("at_s: earlier than the row before it")
    return row


def as_lines(rows: Iterable[TraceRow]) -> bytes:
    """Rows as JSON Lines."""
    return b"".join(
        json.dumps(row.model_dump(exclude_defaults=True), separators=(",", ":")).encode() + b"\n" for row in rows
    )
