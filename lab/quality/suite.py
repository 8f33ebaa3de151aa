"""A quality suite: a folder with `suite.yaml` and JSONL data, read into one frozen value, pinned by a digest.

    suite.yaml   suite, version, about, and tasks with the keys of `TaskConfig`
    *.jsonl      one item a line: id, question, and `accept` or `answer_schema`, whichever the metric reads

Suites are immutable once used: a change is a new version, and the digest notices what the version hides.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from lab.errors import ParamsError, QualityError, UnknownKey, nearest
from lab.params import parse, read_mapping
from lab.quality.scoring import METRICS, MetricName, schema_fault
from lab.spec import Frozen, Name, Sha256, SuiteRef, digest

SCORING_FILES = ("scoring.py", "replies.py", "lmeval.py")
"""Source files that decide what is sent and what a score is; a suite's digest covers their bytes."""

Text = Annotated[str, StringConstraints(min_length=1)]
DataFile = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]*\.jsonl$")]
Semver = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+(-[0-9A-Za-z.\-]+)?$")]


class Item(Frozen):
    """One question and what counts as its answer."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,63}$")]
    """Unique within its task; also the name of the schema that is sent."""
    question: Text
    accept: tuple[Text, ...] = ()
    """Accepted answers, for `exact_match` and `number_match`."""
    answer_schema: dict[str, Any] | None = None
    """JSON schema of the answer, for `schema_valid`."""


class Example(Frozen):
    """A solved question, shown to the model before each item as a turn of its own."""

    question: Text
    answer: Text


class TaskConfig(Frozen):
    """A task as `suite.yaml` states it."""

    task: Name
    metric: MetricName
    data: DataFile
    """A file beside `suite.yaml`."""
    max_tokens: int = Field(ge=1)
    """An answer that reaches it is cut and has no score."""
    stop: tuple[Text, ...] = Field(default=(), max_length=4)
    """Stop strings, four at most: the chat route takes no more."""
    examples: tuple[Example, ...] = ()
    response_format: Literal["json_schema"] | None = None
    """`json_schema` sends each item's own schema with its question; None leaves the answer free."""


class Task(Frozen):
    """A task with its data."""

    config: TaskConfig
    items: tuple[Item, ...] = Field(min_length=1)
    data_sha256: Sha256

    @property
    def name(self) -> str:
        """The name of the task, unique in its suite."""
        return self.config.task


class Suite(Frozen):
    """A whole suite in memory; it knows no path."""

    name: Name
    version: Semver
    about: str
    """One sentence: what the suite can say, and what it cannot."""
    tasks: tuple[Task, ...] = Field(min_length=1)

    def ref(self) -> SuiteRef:
        """The suite, pinned: the same on every machine and in every folder.

        The digest covers the suite's name and version, lm-eval's version, every task's settings, the bytes of
        the data files in their order and the source that sends and scores. It does not cover `about`.

        Raises:
            QualityError: lm-eval is not installed.
        """
        here = Path(__file__).parent
        pinned = {
            "suite": self.name,
            "version": self.version,
            "lm_eval": lm_eval_version(),
            "tasks": [task.config.model_dump(mode="json") for task in self.tasks],
            "data": [task.data_sha256 for task in self.tasks],
            "code": {name: hashlib.sha256((here / name).read_bytes()).hexdigest() for name in SCORING_FILES},
        }
        return SuiteRef(name=self.name, version=self.version, sha256=digest(pinned))


class _SuiteFile(Frozen):
    suite: Name
    version: Semver
    about: Text
    tasks: tuple[dict[str, Any], ...] = Field(min_length=1)


def lm_eval_version() -> str:
    """The installed version of lm-eval, found without importing it.

    Raises:
        QualityError: lm-eval is not installed.
    """
    try:
        return importlib.metadata.version("lm-eval")
    except importlib.metadata.PackageNotFoundError:
        raise QualityError("Quality needs lm-eval, which is not installed here.", "make setup") from None


def load_suite(folder: Path) -> Suite:
    """Read and check the suite in `folder`.

    Args:
        folder: holds `suite.yaml` and the data files it names.

    Raises:
        UnknownKey: a key nobody knows, in `suite.yaml` or in an item.
        QualityError: anything else that is wrong with the suite, with the file and the place.
    """
    path = Path(folder) / "suite.yaml"
    try:
        raw = read_mapping(path)
    except ParamsError as problem:
        raise QualityError(problem.what, f"edit {path}") from None
    head = _parse(_SuiteFile, raw, str(path))
    configs = [_parse_task(task, f"{path}: tasks[{i}]") for i, task in enumerate(head.tasks)]
    if twice := _repeated(config.task for config in configs):
        raise _wrong(str(path), f"two tasks are named '{twice}'; every task needs a name of its own.")
    tasks = tuple(_load_task(path.parent, config) for config in configs)
    return Suite(name=head.suite, version=head.version, about=head.about, tasks=tasks)


def _load_task(folder: Path, config: TaskConfig) -> Task:
    path = folder / config.data
    data = _read(path)
    items = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            raw = json.loads(line)
        except ValueError as error:
            raise _wrong(where, f"not JSON: {error}") from None
        item = _parse(Item, raw, where)
        _check_item(item, config, where)
        items.append(item)
    if not items:
        raise _wrong(str(path), "no items, expected one JSON object a line.")
    if twice := _repeated(item.id for item in items):
        raise _wrong(str(path), f"two items have the id '{twice}'; ids are unique in a task.")
    return Task(config=config, items=tuple(items), data_sha256=hashlib.sha256(data).hexdigest())


def _check_item(item: Item, config: TaskConfig, where: str) -> None:
    """Raise unless the item has what the task's metric and response format read."""
    needs_schema = config.metric == "schema_valid" or config.response_format == "json_schema"
    if needs_schema and item.answer_schema is None:
        raise _wrong(where, f"item '{item.id}' has no 'answer_schema', which task '{config.task}' needs.")
    if config.metric != "schema_valid" and not item.accept:
        raise _wrong(where, f"item '{item.id}' has no 'accept', which metric '{config.metric}' needs.")
    if item.answer_schema is not None and (fault := schema_fault(item.answer_schema)):
        raise _wrong(where, f"'answer_schema' of item '{item.id}' cannot be used: {fault}.")


def _parse_task(raw: dict[str, Any], where: str) -> TaskConfig:
    """A task's settings; an unknown metric gets a hint of its own."""
    metric = raw.get("metric")
    if isinstance(metric, str) and metric not in METRICS:
        near = nearest(metric, METRICS)
        hint = f"Did you mean '{near}'?" if near else f"Known: {', '.join(METRICS)}."
        raise _wrong(where, f"no metric is called '{metric}'. {hint}")
    return _parse(TaskConfig, raw, where)


_Model = TypeVar("_Model", bound=BaseModel)


def _parse(model: type[_Model], raw: Any, where: str) -> _Model:
    """`raw` as a `model`, every key checked."""
    try:
        return parse(model, raw, where)
    except UnknownKey:
        raise
    except ParamsError as problem:
        raise QualityError(problem.what, f"edit {where.split(':')[0]}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise QualityError(f"{path}: cannot be read: {error.strerror}.", f"ls {path.parent}") from None


def _wrong(where: str, sentence: str) -> QualityError:
    """The error for a fault at `where`, a path that may be followed by a colon and a place."""
    return QualityError(f"{where}: {sentence}", f"edit {where.split(':')[0]}")


def _repeated(names: Any) -> str | None:
    """The first name that occurs twice, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
