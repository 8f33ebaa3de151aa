"""Keys and tokens that a tool wrote into its file in clear: no file of the lab holds a secret, so it is not copied."""

from __future__ import annotations

import re
from typing import Any

NAMES = re.compile(r"(?:.*[_-])?(?:api[_-]?key|auth[_-]?token|authorization|hf[_-]?token|password)$", re.IGNORECASE)
"""Names under which tools write them."""

WITHIN = re.compile(
    r"(?:^|[\s,])(?:--)?((?:api[_-]?key|auth[_-]?token|hf[_-]?token))[=\s]['\"]?([^\s,'\"]+)", re.IGNORECASE
)
"""The same within a line of arguments."""

MASKED = re.compile(r"[*•xX.]+|.*redacted.*|<[^>]*>|\$\{?\w+\}?", re.IGNORECASE)
"""What stands there when a tool has left the secret out."""

SHORTEST = 8
"""Letters below which a word is a placeholder, as `EMPTY` and `x` are."""


def secret_in(value: Any, where: str = "") -> str | None:
    """Where a document holds a secret; None where it holds none that is known to be one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            place = f"{where}.{key}" if where else str(key)
            if isinstance(inner, str) and NAMES.match(str(key)) and _is_secret(inner):
                return place
            if (found := secret_in(inner, place)) is not None:
                return found
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            if isinstance(inner, dict | list | str) and (found := secret_in(inner, f"{where}[{number}]")) is not None:
                return found
    elif isinstance(value, str) and len(value) < 10_000:  # a line of arguments; an answer is none
        return next((f"{where} ({name})" for name, word in WITHIN.findall(value) if _is_secret(word)), None)
    return None


def _is_secret(word: str) -> bool:
    word = word.removeprefix("Bearer ")
    return len(word) >= SHORTEST and MASKED.fullmatch(word) is None
