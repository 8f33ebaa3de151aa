"""Files of other tools: found, bounded, parsed, and recognized by the keys they hold."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.errors import ImportRefused
from lab.params import shown
from lab.spec import Frozen, Sha256

LIMIT_BYTES = 256 * 1024 * 1024
"""The largest file that is read: parsed it takes several times its size in memory."""

Result = Mapping[str, Any]
"""One result of a file."""

MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("inference-atlas", frozenset({"config_id", "workload_id", "metrics", "engine"})),
    ("SGLang's bench_serving", frozenset({"completed", "total_output_tokens_retokenized"})),
    ("vllm-bench", frozenset({"completed", "request_throughput", "total_output_tokens"})),
    ("aiperf", frozenset({"input_config", "request_latency"})),
    ("aiperf", frozenset({"input_config", "request_throughput"})),
    ("GuideLLM", frozenset({"benchmarks", "metadata"})),
    ("GuideLLM", frozenset({"benchmarks", "args"})),
    ("lm-eval", frozenset({"results", "configs", "versions"})),
    ("an llm-d benchmark report", frozenset({"scenario", "results", "run"})),
    ("optimum-benchmark", frozenset({"config", "report"})),
    ("genai-bench", frozenset({"aggregated_metrics"})),
    ("this lab's `lab bench`", frozenset({"levels", "workload"})),
)
"""Keys that give a tool's file away, the most telling first."""


class SourceFile(Frozen):
    """A file as it was read."""

    path: Path
    sha256: Sha256
    payload: bytes
    results: tuple[dict[str, Any], ...]


def files_of(path: Path, kind: str) -> tuple[Path, ...]:
    """The file that was named, or every JSON file of the folder that was. Raises ImportRefused."""
    if path.is_dir():
        found = tuple(sorted(one for one in path.iterdir() if one.suffix in (".json", ".jsonl") and one.is_file()))
        if not found:
            raise ImportRefused(f"{shown(path)} holds no .json or .jsonl file; {kind} writes its results into one")
        return found
    if not path.is_file():
        raise ImportRefused(f"{shown(path)} does not exist")
    return (path,)


def read_source(path: Path, kind: str) -> SourceFile:
    """A file and the results in it: one JSON document, or one a line.

    Raises:
        ImportRefused: too large, not JSON or cut off, or the file of another tool.
    """
    try:
        size = path.stat().st_size
        if size > LIMIT_BYTES:
            raise ImportRefused(
                f"{shown(path)} has {size / 2**20:,.0f} MiB; at most {LIMIT_BYTES // 2**20} MiB are read",
                "import the result without its per-request part: what a run says of itself stands in the summary",
            )
        payload = path.read_bytes()
    except OSError as problem:
        raise ImportRefused(f"{shown(path)} cannot be read: {problem.strerror}") from None
    results = _documents(path, payload)
    for result in results:
        found = recognize(result)
        if found != kind:
            looks = f"it looks like a file of {found}" if found else f"it has the keys {_some(result)}"
            known = f"lab import {found} {shown(path)}" if found in ("vllm-bench", "inference-atlas") else None
            raise ImportRefused(f"{shown(path)} is no result of {kind}: {looks}", known)
    return SourceFile(path=path, sha256=hashlib.sha256(payload).hexdigest(), payload=payload, results=results)


def recognize(result: Result) -> str | None:
    """The tool that writes such keys; None when none is known to."""
    return next((tool for tool, keys in MARKS if keys <= result.keys()), None)


def number(result: Result, key: str) -> float | None:
    """A finite number under a key of a result; None where there is none.

    Raises:
        ImportRefused: something else stands there.
    """
    value = result.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ImportRefused(f"'{key}' has to be a finite number, got {value!r:.60}")
    return float(value)


def whole(result: Result, key: str) -> int | None:
    """A count under a key; None where there is none. Raises ImportRefused."""
    value = number(result, key)
    if value is None:
        return None
    if value != int(value) or value < 0:
        raise ImportRefused(f"'{key}' has to be a count, got {value!r:.60}")
    return int(value)


def text(result: Result, key: str) -> str | None:
    """Words under a key; None where there are none. Raises ImportRefused."""
    value = result.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ImportRefused(f"'{key}' has to be text, got {value!r:.60}")
    return value


def part(result: Result, key: str) -> Result:
    """A mapping under a key; empty where there is none. Raises ImportRefused."""
    value = result.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ImportRefused(f"'{key}' has to be a mapping, got {type(value).__name__}")
    return value


def _documents(path: Path, payload: bytes) -> tuple[dict[str, Any], ...]:
    try:
        words = payload.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ImportRefused(f"{shown(path)} is not text in UTF-8, so it is no JSON") from None
    found: list[Any] = []
    reader, at = json.JSONDecoder(parse_constant=_no_number), 0
    while at < len(words):
        if words[at].isspace():
            at += 1
            continue
        try:
            one, at = reader.raw_decode(words, at)
        except (ValueError, RecursionError) as problem:
            cut = isinstance(problem, json.JSONDecodeError) and problem.pos >= len(words.rstrip()) - 1
            why = "ends in the middle: it is cut off" if cut or _open_string(problem) else f"is not JSON: {problem}"
            raise ImportRefused(f"{shown(path)} {why}", "fetch or write the file again; nothing was imported") from None
        found.append(one)
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    if not found:
        raise ImportRefused(f"{shown(path)} is empty")
    results = tuple(one for one in found if isinstance(one, dict))
    if len(results) < len(found):
        odd = next(one for one in found if not isinstance(one, dict))
        raise ImportRefused(f"{shown(path)} has to hold results as mappings, got {type(odd).__name__}")
    return results


def _no_number(word: str) -> None:
    """NaN and infinity are no JSON, and no measurement."""
    raise ValueError(f"{word} stands where a number should; a value that is missing has to be null")


def _open_string(problem: Exception) -> bool:
    return isinstance(problem, json.JSONDecodeError) and problem.msg.startswith("Unterminated string")


def _some(result: Result) -> str:
    keys = list(result)
    return ", ".join(keys[:6]) + (" …" if len(keys) > 6 else "") if keys else "none at all"
