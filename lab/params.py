"""YAML that a person edits, read strictly: no key twice, no key unknown, every value typed."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from lab.errors import ParamsError, UnknownKey, nearest

PARAMS_FOLDER = Path(__file__).resolve().parents[1] / "params"
"""The params/ of this checkout."""

MOST_BYTES = 4 * 1024 * 1024
"""A larger file is no file that a person edits."""

MOST_VALUES = 200_000
"""Most values of a file, an alias counted as often as it stands: a few lines of aliases can mean billions."""

T = TypeVar("T", bound=BaseModel)


class _StrictLoader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, without duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        merge = "tag:yaml.org,2002:merge"
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != merge]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key '{key}' stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def shown(path: Path) -> str:
    """A path as a person would type it: relative to the working directory where that is shorter."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping a YAML file holds.

    Raises:
        ParamsError: the file is missing, is not YAML, or holds something else.
    """
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise ParamsError(f"{shown(path)} has {path.stat().st_size} bytes; a params file has at most {MOST_BYTES}")
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:  # a device or a pipe says no size
            raise ParamsError(f"{shown(path)} never ends; a params file has at most {MOST_BYTES} bytes")
    except FileNotFoundError:
        folder = path.parent
        there = sorted(p.stem for p in folder.glob("*.yaml")) if folder.is_dir() else []
        near = nearest(path.stem, there)
        hint = f"did you mean {shown(folder / near)}.yaml?" if near else f"there are: {', '.join(there) or 'none'}"
        raise ParamsError(f"{shown(path)} does not exist; {hint}") from None
    except (OSError, ValueError) as problem:
        words = getattr(problem, "strerror", None) or problem
        raise ParamsError(f"{shown(path)!r:.200} cannot be read: {words}") from None
    try:
        data = yaml.load(text, Loader=_StrictLoader)  # noqa: S506  a SafeLoader, only stricter
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as problem:
        raise ParamsError(f"{shown(path)} is not valid YAML: {' '.join(str(problem).split())}") from None
    if _values(data, MOST_VALUES) > MOST_VALUES:
        raise ParamsError(f"{shown(path)} means more than {MOST_VALUES} values: its aliases multiply")
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ParamsError(f"{shown(path)} has to hold a mapping of names to values, got {type(data).__name__}")
    return data


def _values(data: Any, most: int) -> int:
    """How many values plain data hold, counted no further than just past `most`."""
    count, todo = 0, [data]
    while todo and count <= most:
        one = todo.pop()
        count += 1
        if isinstance(one, dict | list):
            todo.extend(one.values() if isinstance(one, dict) else one)
    return count


class OpenQuestion(BaseModel):
    """A value of a params file that is still a question for whoever runs it."""

    key: str
    """Path of the key, for instance workload.exact_output."""
    line: int
    words: str
    """What the comment on its line says; empty where there is none."""


QUESTION = "?"
"""A value that stands for a question."""


def open_questions(path: Path) -> tuple[OpenQuestion, ...]:
    """Every value of a YAML file that is a question, in the order of the file; the file was read before."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: dict[int, OpenQuestion] = {}

    def walk(node: yaml.Node | None, key: str) -> None:
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                walk(value, f"{key}.{name.value}" if key else str(name.value))
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value, 1):
                walk(value, f"{key}.{number}")
        elif isinstance(node, yaml.ScalarNode) and node.value == QUESTION:
            line, column = node.start_mark.line, node.end_mark.column
            words = lines[line][column:].partition("#")[2].strip()
            found.setdefault(id(node), OpenQuestion(key=key, line=line + 1, words=words))

    walk(yaml.compose(text, Loader=yaml.SafeLoader), "")
    return tuple(found.values())


def parse(cls: type[T], data: Any, where: str) -> T:
    """`data` as a `cls`, or a sentence that names the field.

    Args:
        cls: a closed pydantic model.
        data: plain data.
        where: file and key path, printed in front of the sentence.

    Raises:
        UnknownKey: a key nobody knows.
        ParamsError: a value that does not fit; all of them in one sentence each.
    """
    try:
        # through JSON, because there a list is the one form of a tuple, and strictly: yes is not 1, "2" is not 2
        return cls.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
    for error in errors:
        if error["type"] == "extra_forbidden":
            *path, key = error["loc"]
            model = _model_at(cls, path)
            raise UnknownKey(str(key), model.model_fields, _place(where, path)) from None
    sentences = [
        f"{_place(where, error['loc'])}: {_words(error['msg'])}"
        + ("" if error["type"] == "missing" else f", got {error['input']!r:.60}")
        for error in errors
    ]
    raise ParamsError("\n".join(sentences))


def _place(where: str, path: Iterable[Any]) -> str:
    # pydantic puts the arms of a union into the path; a person never wrote them
    inner = ".".join(str(key) for key in path if key not in ("str", "dict[str,any]"))
    return f"{where}: {inner}" if inner else where


def _words(message: str) -> str:
    if message == "Field required":
        return "is missing"
    # values pass through JSON; a person wrote YAML
    plain = message.replace("an object", "a mapping").replace("a valid array", "a list").removeprefix("Value error, ")
    return plain[:1].lower() + plain[1:]


def _model_at(cls: type[BaseModel], path: Iterable[Any]) -> type[BaseModel]:
    """The model that a path of field names leads to; list indices are passed over."""
    for key in path:
        if isinstance(key, int) or key not in cls.model_fields:
            continue
        inner = _model_in(cls.model_fields[key].annotation)
        if inner is None:
            break
        cls = inner
    return cls


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
