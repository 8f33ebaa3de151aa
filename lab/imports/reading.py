"""Files of other tools: found, recognized by the keys they hold, and read without being held in memory."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.errors import ImportRefused
from lab.imports.record import KINDS
from lab.imports.secrets import secret_in
from lab.imports.stream import Constant, Keys, Shape, Stream
from lab.params import shown
from lab.spec import Frozen, Sha256

Result = Mapping[str, Any]
"""One result of a file."""

MARKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("inference-atlas", frozenset({"config_id", "workload_id", "metrics", "engine"})),
    ("SGLang's bench_serving", frozenset({"completed", "total_output_tokens_retokenized"})),
    ("vllm-bench", frozenset({"completed", "request_throughput", "total_output_tokens"})),
    ("aiperf", frozenset({"input_config", "request_latency"})),
    ("aiperf", frozenset({"input_config", "request_throughput"})),
    ("aiperf", frozenset({"input_config", "aiperf_version"})),
    ("the rows of aiperf", frozenset({"metadata", "metrics"})),
    ("guidellm", frozenset({"benchmarks", "metadata"})),
    ("guidellm", frozenset({"benchmarks", "args"})),
    ("lm-eval", frozenset({"results", "configs", "versions"})),
    ("the samples of lm-eval", frozenset({"doc_id", "doc", "target", "resps"})),
    ("an llm-d benchmark report", frozenset({"version", "run", "results"})),
    ("an llm-d benchmark report", frozenset({"scenario", "metrics", "version"})),
    ("optimum-benchmark", frozenset({"config", "report"})),
    ("genai-bench", frozenset({"aggregated_metrics"})),
    ("this lab's `lab bench`", frozenset({"levels", "workload"})),
    ("this lab's own run", frozenset({"spec_version", "engine", "workload"})),
)
"""Keys that give a tool's file away, the most telling first."""

PARTS = {
    "the rows of aiperf": "lab import aiperf FOLDER, the folder that profile_export_aiperf.json is in",
    "the samples of lm-eval": "lab import lm-eval FOLDER, the folder that results_*.json is in",
}
"""Files that are a part of what is imported, and how the whole is."""

FORMS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "it is compressed with gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with zstd: unpack it first"),
    (b"PK\x03\x04", "it is a zip archive: unpack it first"),
    (b"PAR1", "it is a Parquet table; `lab export --as parquet` writes such files, and no importer reads them"),
    (b"level,index,outcome,", "it looks like a file of this lab's `lab export --as csv`"),
    (b"<!doctype html", "it is a page of HTML"),
    (b"<html", "it is a page of HTML"),
)
"""How files begin that are no JSON, and what they are."""


PROMPT_NAME = re.compile(r"p-[0-9a-f]{10}")
"""How `prompt_name` names a prompt."""


class FileRead(Frozen):
    """A file as it was read."""

    path: Path
    sha256: Sha256
    size_bytes: int


class Documents(Frozen):
    """A file and the results in it."""

    file: FileRead
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


def folders_with(path: Path, name: str) -> list[Path]:
    """Folders within a folder, three deep at most, that hold a file of a name."""
    return sorted({one.parent for depth in ("*", "*/*", "*/*/*") for one in path.glob(f"{depth}/{name}")})


def size_of(path: Path) -> int:
    """Bytes of a file, or of the files right in a folder; 0 where neither is there."""
    found = (path,) if path.is_file() else tuple(path.iterdir()) if path.is_dir() else ()
    return sum(one.stat().st_size for one in found if one.is_file())


def read_documents(
    path: Path, kind: str | None, shape: Shape | None = None, constant: Constant | None = None
) -> Documents:
    """A file and the results in it: one JSON document, several one under the other, or a list of them.

    The file is read twice: once for its keys, which say whose it is, and once for what the shape asks for.

    Args:
        path: the file.
        kind: whose it has to be; None: it is no result, but a part of one that is known by its name.
        shape: what is built of each result.
        constant: what becomes of NaN and infinity; None: they are refused.

    Raises:
        ImportRefused: not JSON, cut off, the file of another tool, or it changed meanwhile.
    """
    with _open(path, constant) as stream:
        empty = True
        for keys in stream.documents(Keys()):
            empty = False
            if kind is not None or not isinstance(keys, dict):
                _belongs(path, kind or "its tool", keys)
        first = stream.sha256
        if empty:
            raise ImportRefused(f"{shown(path)} is empty")
    with _open(path, constant) as stream:
        results = tuple(stream.documents(shape))
        if stream.sha256 != first:
            raise ImportRefused(f"{shown(path)} was written to while it was read")
        if kind is not None and (place := secret_in(list(results))) is not None:
            raise ImportRefused(
                f"{shown(path)} holds a secret in clear: {place.partition('.')[2] or place}; none is kept in a bundle",
                "write *** in its place and import again; if others have the file, the secret is no longer one",
            )
        return Documents(file=FileRead(path=path, sha256=first, size_bytes=stream.size), results=results)


def read_lines(
    path: Path, kind: str, take: Callable[[dict[str, Any]], None], constant: Constant | None = None
) -> FileRead:
    """Hand every line of a file on, and say which bytes it had.

    Args:
        path: the file.
        kind: whose lines they have to be, as `recognize` names it.
        take: what is done with each.
        constant: what becomes of NaN and infinity; None: they are refused.

    Raises:
        ImportRefused: not JSON, cut off, or lines of something else.
    """
    with _open(path, constant) as stream:
        for number, line in enumerate(stream.lines(), 1):
            if not isinstance(line, dict) or recognize(line) != kind:
                found = f"the keys {_some(line)}" if isinstance(line, dict) else type(line).__name__
                raise ImportRefused(f"{shown(path)}: line {number} is no line of {kind}, it has {found}")
            try:
                take(line)
            except ImportRefused as problem:
                raise ImportRefused(f"{shown(path)}: line {number}: {problem.what}", problem.next_step) from None
        return FileRead(path=path, sha256=stream.sha256, size_bytes=stream.size)


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
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
        raise ImportRefused(f"'{key}' has to be a finite number, got {value!r:.60}")
    return float(value)


def is_finite(value: float) -> bool:
    """Whether a number is one that can be kept: a whole number may be too large for any other."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def sum_of(values: Any) -> float | None:
    """All numbers of a list added up; None where it is no list of finite numbers."""
    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        return None
    try:
        total = float(sum(values))
    except OverflowError:
        return None
    return total if math.isfinite(total) else None


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


def mappings(result: Result, key: str) -> list[dict[str, Any]]:
    """A list of mappings under a key; empty where there is none. Raises ImportRefused."""
    value = result.get(key) or []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ImportRefused(f"'{key}' has to be a list of mappings")
    return value


def flag(result: Result, key: str) -> bool | None:
    """True or false under a key; None where neither stands there."""
    value = result.get(key)
    return value if isinstance(value, bool) else None


def prompt_name(body: Result) -> str | None:
    """A name for what a request asks, the same in the files of every tool; None where it holds no words.

    It is a digest of roles and texts; what surrounds them (lists of parts, names of authors) is left out.
    """
    asked: list[list[str]] = []
    messages = body.get("messages")
    if isinstance(messages, list):
        for message in messages:
            if not isinstance(message, dict):
                return None
            content = message.get("content")
            pieces = content if isinstance(content, list) else [content]
            words = [piece.get("text") if isinstance(piece, dict) else piece for piece in pieces]
            if not all(isinstance(word, str) for word in words):
                return None  # an image, a tool's result: two of them may be two prompts
            asked.append([str(message.get("role")), "".join(map(str, words))])
    elif isinstance(body.get("prompt"), str):
        asked.append(["prompt", str(body["prompt"])])
    if not asked:
        return None
    return "p-" + hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode()).hexdigest()[:10]


@contextmanager
def _open(path: Path, constant: Constant | None) -> Iterator[Stream]:
    try:
        with path.open("rb") as file:
            beginning = file.read(32).lstrip()
            odd = next((words for mark, words in FORMS if beginning.lower().startswith(mark.lower())), None)
            if odd is not None:
                raise ImportRefused(f"{shown(path)} is no JSON: {odd}")
            file.seek(0)
            yield Stream(path, file, constant)
    except OSError as problem:
        raise ImportRefused(f"{shown(path)} cannot be read: {problem.strerror}") from None


def _belongs(path: Path, kind: str, keys: Any) -> None:
    """Refuse a result of another tool."""
    if not isinstance(keys, dict):
        raise ImportRefused(f"{shown(path)} has to hold results as mappings, got {type(keys).__name__}")
    found = recognize(keys)
    if found == kind:
        return
    looks = f"it looks like a file of {found}" if found else f"it has the keys {_some(keys)}"
    step = f"lab import {found} {shown(path)}" if found in KINDS else PARTS.get(found or "")
    raise ImportRefused(f"{shown(path)} is no result of {kind}: {looks}", step)


def _some(result: Result) -> str:
    keys = list(result)
    return ", ".join(keys[:6]) + (" …" if len(keys) > 6 else "") if keys else "none at all"
