"""Traffic that a reader can check in the head, and a seeded log that looks like a busy day."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

SYSTEM = "you are a helpful assistant"
"""Five words."""


def words(texts: Sequence[str]) -> list[list[int]]:
    """A tokenizer of one token a word."""
    return [[crc32(word.encode("utf-8", "surrogatepass")) & 0x7FFF_FFFF for word in text.split()] for text in texts]


def written(folder: Path, records: Iterable[Any], name: str = "log.jsonl") -> Path:
    """A file of JSON Lines."""
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def chat(*contents: str, system: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chat body; contents are the user's and the assistant's in turn."""
    turns = [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]
    first = [] if system is None else [{"role": "system", "content": system}]
    return {"model": "m", "messages": [*first, *turns], **fields}


def answered(body: dict[str, Any], answer: str, **fields: Any) -> dict[str, Any]:
    """A body with its answer, as a gateway logs them."""
    return {"request": {"body": body}, "response": {"choices": [{"message": {"content": answer}}]}, **fields}


def busy_log(requests: int, seed: int = 1, *, mean_gap_s: float = 1.0) -> list[dict[str, Any]]:
    """A log of conversations over some shared instructions, with moments, durations and answers."""
    chance = random.Random(seed)
    vocabulary = [f"w{i}" for i in range(3000)]

    def text(least: int, most: int) -> str:
        return " ".join(chance.choices(vocabulary, k=chance.randrange(least, most)))

    instructions = [text(40, 200) for _ in range(12)]
    open_: list[list[dict[str, str]]] = []
    records, at_s = [], 1.7e9
    for number in range(requests):
        at_s += chance.gammavariate(0.5, 2 * mean_gap_s)
        if open_ and chance.random() < 0.4:
            turns = open_.pop(chance.randrange(len(open_)))
            turns = [*turns, {"role": "assistant", "content": text(5, 80)}, {"role": "user", "content": text(3, 40)}]
        else:
            first = instructions[min(int(chance.expovariate(0.5)), 11)]
            turns = [{"role": "system", "content": first}, {"role": "user", "content": text(5, 150)}]
        if len(turns) < 8:
            open_.append(turns)
        body = {"model": "m", "messages": turns, "stream": True, "temperature": 0.7}
        records.append(
            answered(body, text(5, 100), timestamp=at_s, duration_ms=chance.randrange(200, 9000), id=f"r{number}")
        )
    return records


MOONCAKE = [
    {"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [*range(14)]},
    {"timestamp": 0, "input_length": 7319, "output_length": 490, "hash_ids": [0, *range(14, 28)]},
    {"timestamp": 3052, "input_length": 7234, "output_length": 794, "hash_ids": [0, *range(28, 42)]},
    {"timestamp": 3052, "input_length": 2287, "output_length": 316, "hash_ids": [0, *range(42, 46)]},
]
"""The first lines of the trace of the Mooncake paper, blocks of 512 tokens."""
