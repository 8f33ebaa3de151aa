"""What the quality tests ask: a few sums and two shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

SAMPLING = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "seed": 7, "repeat_penalty": 1.0}

SUMS = [{"id": f"sum-{n}", "question": f"{n} + {n}?", "accept": [str(2 * n)]} for n in range(1, 5)]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

Write = Callable[..., Path]
