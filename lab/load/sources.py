"""Prompts that come from a file: questions with a JSON schema each, the user's own conversations, or a traffic shape.

A file is read once, in pieces, and only as far as it is needed. What users wrote stays in memory and in
the requests: no sentence of this module quotes it, and no `repr` shows it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from lab.errors import ParamsError
from lab.json_array import ArrayBroken, elements
from lab.params import shown
from lab.spec import Sha256
from lab.trace import BadRow, TraceRow, row_of

MOST_ITEMS = 10_000
"""Items kept of one file, unless more are asked for."""
MOST_ITEM_CHARS = 16 * 1024 * 1024
"""A line or array element that is longer is refused, so that no file can fill the memory."""
MOST_KEPT_CHARS = 256 * 1024 * 1024
"""Reading stops after so much text, however few items that is."""

Message = Mapping[str, str]
"""`role` and `content`."""

_ROLES = {
    "system": "system", "developer": "developer", "user": "user", "human": "user",
    "assistant": "assistant", "gpt": "assistant",
}  # fmt: skip
_SCHEMA_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")

_QUESTION = '{"name": …, "question": …, "schema": {…}}'
_ROW = '{"input_tokens": …, "output_tokens": …, "at_s": …, "shared_tokens": …, "like": …}'
_CONVERSATION = '{"messages": [{"role": …, "content": …}, …]} or {"conversations": [{"from": …, "value": …}, …]}'


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One prompt of a source.

    Attributes:
        name: for records; never a word of the content.
        messages: as they are sent. Private.
        schema: JSON schema the answer has to fit; None when it may be anything.
        output_tokens: the most tokens of the answer, as recorded; None when the file does not say.
    """

    name: str
    messages: tuple[Message, ...] = field(repr=False)
    schema: dict[str, Any] | None = field(default=None, repr=False)
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The prompts of one file, in its order.

    Attributes:
        sha256: digest of the whole file.
        items: at least one, except in a traffic shape.
        rows: of a traffic shape, at least one; else none.
        skipped: conversations in which nobody asks anything.
        not_sent: fields of the recorded request bodies that the workload does not send, for instance `tools`.
        more: True when the file goes on after the last item that was kept.
    """

    sha256: Sha256
    items: tuple[SourceItem, ...] = field(repr=False)
    skipped: int = 0
    not_sent: tuple[str, ...] = ()
    more: bool = False
    rows: tuple[TraceRow, ...] = field(default=(), repr=False)

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The schema of every item that has one, by its name."""
        return {item.name: item.schema for item in self.items if item.schema is not None}


@dataclass(slots=True)
class _Kept:
    """What has been read so far."""

    items: list[SourceItem] = field(default_factory=list)
    chars: int = 0
    skipped: int = 0
    not_sent: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


def read_source(workload_content: str, path: Path, *, most_items: int = MOST_ITEMS) -> Source:
    """The prompts in the file at `path`.

    Args:
        workload_content: `structured-output` (JSON Lines of name, question and schema) or `own-traffic`
            (JSON Lines of request bodies with `messages`, or ShareGPT as a JSON array or as JSON Lines), or `trace`
            (a traffic shape, JSON Lines of `lab.trace.TraceRow`).
        path: the file.
        most_items: reading stops after so many items; at least 1.

    Raises:
        ParamsError: the file is missing, empty or laid out otherwise; with file and line, never with its text.
    """
    rows: list[TraceRow] = []

    def row(document: Any, line: int, where: str, kept: _Kept) -> SourceItem:
        try:
            rows.append(row_of(document, rows))
        except BadRow as problem:
            raise ParamsError(f"{where}:{line}: {problem}; expected {_ROW}") from None
        return SourceItem(f"row-{line}", ())

    readers: dict[str, Callable[[Any, int, str, _Kept], SourceItem | None]] = {
        "structured-output": _question,
        "own-traffic": _conversation,
        "trace": row,
    }
    if workload_content not in readers:
        raise ParamsError(f"content {workload_content} has no source; a source is read for: {', '.join(readers)}")
    read = readers[workload_content]
    where = shown(path)
    kept, more = _Kept(), False
    try:
        with path.open("rb") as raw:
            sha256 = hashlib.file_digest(raw, "sha256").hexdigest()
        with path.open(encoding="utf-8-sig", newline="\n") as text:
            for line, document, chars in _documents(text, where):
                if len(kept.items) >= most_items or kept.chars > MOST_KEPT_CHARS:
                    more = True
                    break
                item = read(document, line, where, kept)
                if item is None:
                    kept.skipped += 1
                    continue
                kept.chars += chars
                kept.items.append(item)
    except FileNotFoundError:
        raise ParamsError(
            f"{where} does not exist; the workload takes its prompts from it", "set 'source' of the workload to a file"
        ) from None
    except UnicodeDecodeError:
        raise ParamsError(f"{where} is not UTF-8 text") from None
    except OSError as problem:
        raise ParamsError(f"{where} cannot be read: {problem.strerror}") from None
    if not kept.items:
        expected = {"structured-output": _QUESTION, "trace": _ROW}.get(workload_content, _CONVERSATION)
        found = f"{kept.skipped} conversations in which nobody asks anything" if kept.skipped else "nothing"
        raise ParamsError(f"{where} holds {found}; expected one object a line: {expected}")
    if rows:
        return Source(sha256, (), rows=tuple(rows), more=more)
    return Source(sha256, tuple(kept.items), kept.skipped, tuple(sorted(kept.not_sent)), more)


def _documents(text: TextIO, where: str) -> Iterator[tuple[int, Any, int]]:
    """Line, value and length of every JSON value: one a line, or the elements of one array."""
    line = 1
    while (first := text.read(1)) and first.isspace():
        line += first == "\n"
    if first == "[":
        yield from _elements(text, where, line)
    elif first:
        yield from _lines(text, where, line, first)


def _lines(text: TextIO, where: str, line: int, first: str) -> Iterator[tuple[int, Any, int]]:
    while got := first + text.readline(MOST_ITEM_CHARS + 1):
        first = ""
        if len(got) > MOST_ITEM_CHARS:
            raise ParamsError(f"{where}:{line}: more than {MOST_ITEM_CHARS} characters in one line")
        if not got.isspace():
            try:
                yield line, json.loads(got), len(got)
            except (ValueError, RecursionError) as problem:
                raise _not_json(where, line, problem) from None
        line += 1


def _elements(text: TextIO, where: str, line: int) -> Iterator[tuple[int, Any, int]]:
    """Elements of an array whose `[` has been read."""
    try:
        yield from elements(text, line, MOST_ITEM_CHARS)
    except ArrayBroken as broken:
        at = f"{where}:{broken.line}"
        if broken.why == "encoding":
            raise ParamsError(f"{where} is not UTF-8 text") from None
        if broken.why == "ends":
            raise ParamsError(f"{at}: the file ends before its array does; expected ',' or ']'") from None
        if broken.why == "separator":
            raise ParamsError(f"{at}: expected ',' or ']' after an element of the array") from None
        raise _not_json(where, broken.line, broken.__cause__) from None


def _not_json(where: str, line: int, problem: BaseException | None) -> ParamsError:
    # the message of a JSONDecodeError names what was expected and quotes nothing
    detail = (
        problem.msg.lower() if isinstance(problem, json.JSONDecodeError) else "nested too deeply or a number too long"
    )
    return ParamsError(f"{where}:{line}: not JSON ({detail}); expected one JSON object a line, or one array of objects")


def _question(document: Any, line: int, where: str, kept: _Kept) -> SourceItem:
    place = f"{where}:{line}"
    keys = {"name", "question", "schema"}
    if not isinstance(document, dict) or set(document) != keys:
        raise ParamsError(f"{place}: expected {_QUESTION}, got {_outline(document)}")
    name, question, schema = document["name"], document["question"], document["schema"]
    if not isinstance(name, str) or not _SCHEMA_NAME.match(name):
        raise ParamsError(
            f"{place}: name has to be 1 to 64 letters, digits, '_' or '-' (OpenAI's rule for a schema name)"
        )
    if name in kept.names:
        raise ParamsError(f"{place}: the name '{name}' stands twice")
    kept.names.add(name)
    if not isinstance(question, str) or not question.strip() or not _is_text(question):
        raise ParamsError(f"{place}: question has to be a text that is not empty")
    if not isinstance(schema, dict):
        raise ParamsError(f"{place}: schema has to be a JSON schema (an object), got {_outline(schema)}")
    _check_schema(schema, f"{place}: schema of {name}")
    return SourceItem(name, ({"role": "user", "content": question},), schema)


def _check_schema(schema: dict[str, Any], where: str) -> None:
    # only where schemas are asked for: jsonschema is slow to import
    import jsonschema
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        validator.check_schema(schema)
    except jsonschema.SchemaError as problem:
        at = "/".join(map(str, problem.absolute_path)) or "its top"
        raise ParamsError(f"{where} is not a JSON schema: {problem.message:.200} (at {at})") from None
    resource = DRAFT202012.create_resource(schema)
    resolver = Registry().with_resource("urn:schema", resource).resolver("urn:schema")
    for reference in _references(schema):
        # a reference to another document would be fetched, or fail, in the middle of a measurement
        if not reference.startswith("#"):
            raise ParamsError(f"{where}: $ref '{reference:.80}' leaves the schema; only '#…' is allowed")
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise ParamsError(f"{where}: $ref '{reference:.80}' points to nothing in the schema") from None


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from _references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _references(inner)


def _conversation(document: Any, line: int, where: str, kept: _Kept) -> SourceItem | None:
    place = f"{where}:{line}"
    layout = next(
        (key for key in ("messages", "conversations") if isinstance(document, dict) and key in document), None
    )
    if layout is None:
        raise ParamsError(f"{place}: expected {_CONVERSATION}, got {_outline(document)}")
    turns = document[layout]
    if not isinstance(turns, list):
        raise ParamsError(f"{place}: {layout} has to be a list of turns, got {_outline(turns)}")
    messages = [_message(turn, f"{place}: turn {number} of {layout}") for number, turn in enumerate(turns, 1)]
    while messages and messages[-1]["role"] == "assistant":
        messages.pop()  # the answer is what the engine is asked for
    output_tokens = None
    if layout == "messages":
        output_tokens = _output_tokens(document, place)
        kept.not_sent.update(set(document) - {"messages", "max_tokens", "max_completion_tokens"})
    if not messages or not messages[-1]["content"].strip():
        return None
    # the line alone is unique in JSON Lines; elements of an array may share one
    name = f"line-{line}"
    if name in kept.names:
        name = f"item-{len(kept.items) + kept.skipped + 1}"
    kept.names.add(name)
    return SourceItem(name, tuple(messages), None, output_tokens)


def _message(turn: Any, place: str) -> Message:
    if not isinstance(turn, dict):
        raise ParamsError(f"{place} has to be an object, got {_outline(turn)}")
    role, content = turn.get("role", turn.get("from")), turn.get("content", turn.get("value"))
    if not isinstance(role, str) or role not in _ROLES:
        got = f"'{role}'" if isinstance(role, str) and len(role) <= 20 and role.isidentifier() else "something else"
        raise ParamsError(f"{place}: the role has to be one of {', '.join(_ROLES)}, got {got}")
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if not isinstance(content, str) or not _is_text(content):
        calls = " with tool calls, which this workload does not send" if turn.get("tool_calls") else ""
        raise ParamsError(f"{place}: the content has to be text, got {_outline(content)}{calls}")
    return {"role": _ROLES[role], "content": content}


def _output_tokens(document: Mapping[str, Any], place: str) -> int | None:
    for key in ("max_completion_tokens", "max_tokens"):
        value = document.get(key)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ParamsError(f"{place}: {key} has to be a whole number of at least 1")
        return value
    return None


def _is_text(text: str) -> bool:
    """False for half a surrogate pair, which JSON can hold and no tokenizer reads."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _outline(value: Any) -> str:
    """What kind of value it is, without its content."""
    if isinstance(value, dict):
        keys = sorted(key for key in value if key.isidentifier() and len(key) <= 40)[:6]
        return f"an object with {', '.join(keys)}" if keys else "an object without known keys"
    if isinstance(value, list):
        kinds = sorted({part["type"] for part in value if isinstance(part, dict) and isinstance(part.get("type"), str)})
        return f"a list ({', '.join(kinds[:4])})" if kinds and all(k.isidentifier() for k in kinds) else "a list"
    names = {str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
    return names[type(value)]
