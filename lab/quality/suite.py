"""A quality suite: a folder with `suite.yaml` and JSONL data, read into one frozen value, pinned by a digest.

    suite.yaml   suite, version, about, least_context, and tasks with the keys of `TaskConfig`
    *.jsonl      one item a line: the keys of `Item` that the task's output and metric read
    *.lock.json  only where data come from a hub: what was fetched (`lab/quality/hub.py`)

Suites are immutable once used: a change is a new version, and the digest notices what the version hides.

    output        route                what is asked                        metrics
    chat          /chat/completions    an answer, free or under a schema    those of `lab/quality/scoring.py`
    completion    /completions         text that goes on from the prompt    those of `lab/quality/scoring.py`
    choice        /completions, echo   which of `choices` is likeliest      acc, acc_norm, acc_bytes
    continuation  /completions, echo   is `accept` what greedy writes       acc
    perplexity    /completions, echo   how likely the text itself is        bits_per_byte
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from lab.errors import ParamsError, QualityError, UnknownKey, nearest
from lab.params import PARAMS_FOLDER, parse, read_mapping
from lab.quality.hub import HubSource, read_locked
from lab.quality.quiet import import_jsonschema
from lab.quality.scoring import KEYS, LOWER_IS_BETTER, METRICS, MetricName, schema_fault
from lab.records import Lane
from lab.spec import Frozen, Name, Sha256, SuiteRef

Text = Annotated[str, StringConstraints(min_length=1)]
DataFile = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]*\.jsonl$")]
Semver = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+(-[0-9A-Za-z.\-]+)?$")]

Output = Literal["chat", "completion", "choice", "continuation", "perplexity"]

LikelihoodMetric = Literal["acc", "acc_norm", "acc_bytes", "bits_per_byte"]
"""lm-eval's own: the likeliest choice is right (as it is, by characters, by bytes); bits a byte of text costs."""

WRITTEN: tuple[Output, ...] = ("chat", "completion")
"""Outputs for which the model writes an answer; for the others the engine says how likely given text is."""

OUTPUT_METRICS: dict[Output, tuple[str, ...]] = {
    "chat": tuple(METRICS),
    "completion": tuple(METRICS),
    "choice": ("acc", "acc_norm", "acc_bytes"),
    "continuation": ("acc",),
    "perplexity": ("bits_per_byte",),
}


class Item(Frozen):
    """One question and what counts as its answer."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,63}$")]
    """Unique within its task; also the name of the schema that is sent."""
    question: Text
    """What the model is given; for `perplexity` the text itself."""
    accept: tuple[Text, ...] = ()
    """Accepted answers; for `choice` the right one of `choices`, for `continuation` what has to follow."""
    choices: tuple[Text, ...] = ()
    """For `choice`: what may follow the question, in the order in which it is asked."""
    answer_schema: dict[str, Any] | None = None
    """JSON schema of the answer, for `schema_valid`."""
    expected: Any = None
    """The right JSON value, for `field_accuracy`; None: not given."""


class Example(Frozen):
    """A solved question, shown to the model before each item as a turn of its own."""

    question: Text
    answer: Text


class TaskConfig(Frozen):
    """A task as `suite.yaml` states it."""

    task: Name
    output: Output = "chat"
    metric: MetricName | LikelihoodMetric
    also: tuple[MetricName, ...] = ()
    """Further metrics of the same answers, never the reason for a verdict. Those that look at characters alone look
    at every answer that has text, complete or cut."""
    data: DataFile
    """A file beside `suite.yaml`; tasks that ask the same items in several ways name the same."""
    hub: HubSource | None = None
    """Where `lab quality fetch` takes the data from; None: they are part of the suite."""
    max_tokens: int | None = Field(default=None, ge=1)
    """For written answers: one that reaches it is cut and has no score."""
    stop: tuple[Text, ...] = Field(default=(), max_length=4)
    """For written answers: stop strings, four at most: the chat route takes no more."""
    extract: Text | None = None
    """For written answers: a regular expression; its last match (its group, if it has one) is what the metric reads."""
    examples: tuple[Example, ...] = ()
    """Shown before each item, always the same: as turns on the chat route, else as text."""
    target_delimiter: str | None = None
    """Between question and answer where both are one text; None: a space, as in lm-eval."""
    fewshot_delimiter: str | None = None
    """Between examples where they are one text; None: an empty line, as in lm-eval."""
    response_format: Literal["json_schema"] | None = None
    """`json_schema` sends each item's own schema with its question; None leaves the answer free."""
    show_schema: bool = False
    """Whether the question ends with the item's schema, in words."""

    @property
    def better(self) -> Literal["higher", "lower"]:
        """Which way the metric points."""
        return "lower" if self.metric == "bits_per_byte" or self.metric in LOWER_IS_BETTER else "higher"

    @property
    def lane(self) -> Lane:
        """How its items are asked: what of the path lies between a question and its answer."""
        if self.output not in WRITTEN:
            return Lane.TOKENS  # token ids are sent
        if self.output == "completion":
            return Lane.TEXT
        return Lane.CHAT if self.response_format is None else Lane.GRAMMAR


class Task(Frozen):
    """A task with its data."""

    config: TaskConfig
    items: tuple[Item, ...] = Field(min_length=1)
    data_sha256: Sha256

    @property
    def name(self) -> str:
        """The name of the task, unique in its suite."""
        return self.config.task

    @property
    def requests(self) -> int:
        """Requests that asking every item once takes: one for each choice, else one for each item."""
        return sum(max(len(item.choices), 1) for item in self.items)


class Suite(Frozen):
    """A whole suite in memory; it knows no path."""

    name: Name
    version: Semver
    about: str
    """One sentence: what the suite can say, and what it cannot."""
    least_context: int | None = None
    """Tokens of context that its longest item takes, prompt and answer; None: nobody said, only answers are known."""
    tasks: tuple[Task, ...] = Field(min_length=1)

    @property
    def requests(self) -> int:
        """Requests that asking the whole suite once takes."""
        return sum(task.requests for task in self.tasks)

    @property
    def needs_context(self) -> int:
        """Fewer tokens of context than this cannot ask the whole suite."""
        return max(self.least_context or 0, *(1 + (task.config.max_tokens or 0) for task in self.tasks))

    def ref(self) -> SuiteRef:
        """The suite, pinned: the same on every machine and in every folder; see `lab/quality/identity.py`.

        Raises:
            QualityError: lm-eval is not installed.
        """
        from lab.quality.identity import suite_digest  # imports lm-eval: a second that reading a suite need not take

        return SuiteRef(name=self.name, version=self.version, sha256=suite_digest(self))


class _SuiteFile(Frozen):
    suite: Name
    version: Semver
    about: Text
    least_context: int | None = Field(default=None, ge=1)
    tasks: tuple[dict[str, Any], ...] = Field(min_length=1)


def find_suite(name: str, folder: Path = PARAMS_FOLDER / "quality") -> Path:
    """The folder of the suite `name`. Raises QualityError with the nearest known one."""
    path = folder / name
    if (path / "suite.yaml").is_file():
        return path
    there = sorted(entry.parent.name for entry in folder.glob("*/suite.yaml"))
    near = nearest(name, there)
    hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(there) or 'none'}"
    raise QualityError(f"no quality suite is called {name!r:.80}; {hint}", "name one of them")


def load_suite(folder: Path) -> Suite:
    """Read and check the suite in `folder`.

    Args:
        folder: holds `suite.yaml` and the data files it names.

    Raises:
        NotLocked: its data come from a hub and were never fetched.
        UnknownKey: a key nobody knows, in `suite.yaml` or in an item.
        QualityError: anything else that is wrong with the suite, with the file and the place.
    """
    head, configs = _read_head(folder)
    tasks = tuple(_load_task(Path(folder), head.suite, config) for config in configs)
    return Suite(name=head.suite, version=head.version, about=head.about, least_context=head.least_context, tasks=tasks)


def read_configs(folder: Path) -> tuple[str, tuple[TaskConfig, ...]]:
    """Name and tasks of the suite in `folder`, without its data; raises as `load_suite`."""
    head, configs = _read_head(folder)
    return head.suite, configs


def _read_head(folder: Path) -> tuple[_SuiteFile, tuple[TaskConfig, ...]]:
    path = Path(folder) / "suite.yaml"
    try:
        raw = read_mapping(path)
    except ParamsError as problem:
        raise QualityError(problem.what, f"edit {path}") from None
    head = _parse(_SuiteFile, raw, str(path))
    configs = tuple(_parse_task(task, f"{path}: tasks[{i}]") for i, task in enumerate(head.tasks))
    if twice := _repeated(config.task for config in configs):
        raise _wrong(str(path), f"two tasks are named '{twice}'; every task needs a name of its own.")
    if twice := _repeated(config.data for config in configs if config.hub is not None):
        raise _wrong(str(path), f"two tasks fetch '{twice}'; data of a hub belong to one task.")
    return head, configs


def _load_task(folder: Path, suite: str, config: TaskConfig) -> Task:
    path = folder / config.data
    data = _read(path) if config.hub is None else read_locked(folder, suite, config.data, config.hub)
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
    """Raise unless the item has what the task reads, and nothing that it does not read."""
    task, output = config.task, config.output
    if (config.response_format or config.show_schema) and item.answer_schema is None:
        raise _wrong(where, f"item '{item.id}' has no 'answer_schema', which task '{task}' needs.")
    for metric, key in KEYS.items() if output in WRITTEN else ():
        if metric in (config.metric, *config.also) and key is not None and getattr(item, key) in (None, ()):
            raise _wrong(where, f"item '{item.id}' has no '{key}', which metric '{metric}' needs.")
    if item.answer_schema is not None:
        import_jsonschema()
        if fault := schema_fault(item.answer_schema):
            raise _wrong(where, f"'answer_schema' of item '{item.id}' cannot be used: {fault}.")
    if output == "choice" and (len(item.choices) < 2 or _repeated(item.choices)):
        raise _wrong(where, f"item '{item.id}' needs two or more different 'choices'.")
    if output == "choice" and (len(item.accept) != 1 or item.accept[0] not in item.choices):
        raise _wrong(where, f"item '{item.id}': 'accept' has to hold one of its 'choices', the right one.")
    if output == "continuation" and len(item.accept) != 1:
        raise _wrong(where, f"item '{item.id}': 'accept' has to hold the one text that follows.")
    read = {
        "choices": output == "choice",
        "accept": output != "perplexity",
        "answer_schema": output in WRITTEN,
        "expected": output in WRITTEN,
    }
    for field, used in read.items():
        if getattr(item, field) not in (None, ()) and not used:
            raise _wrong(where, f"item '{item.id}' has '{field}', which output '{output}' does not read.")


def _parse_task(raw: dict[str, Any], where: str) -> TaskConfig:
    """A task's settings; an unknown metric gets a hint of its own."""
    metric, known = raw.get("metric"), tuple(dict.fromkeys(name for names in OUTPUT_METRICS.values() for name in names))
    if isinstance(metric, str) and metric not in known:
        near = nearest(metric, known)
        hint = f"Did you mean '{near}'?" if near else f"Known: {', '.join(known)}."
        raise _wrong(where, f"no metric is called '{metric}'. {hint}")
    config = _parse(TaskConfig, raw, where)
    if fault := _task_fault(config):
        raise _wrong(where, fault)
    return config


def _task_fault(config: TaskConfig) -> str | None:
    """What in a task does not go together, as a sentence; None when everything does."""
    output, metrics = config.output, OUTPUT_METRICS[config.output]
    if config.metric not in metrics:
        return f"metric '{config.metric}' cannot score output '{output}', which has: {', '.join(metrics)}."
    if output in WRITTEN and config.max_tokens is None:
        return f"max_tokens is missing: output '{output}' is an answer that needs a limit."
    unread = {
        "also": output in WRITTEN,
        "show_schema": output == "chat",
        "max_tokens": output in WRITTEN,
        "stop": output in WRITTEN,
        "extract": output in WRITTEN,
        "response_format": output == "chat",
        "target_delimiter": output not in ("chat", "perplexity"),
        "fewshot_delimiter": output not in ("chat", "perplexity"),
        "examples": output != "perplexity",
    }
    for field, used in unread.items():
        if getattr(config, field) not in (None, (), False) and not used:
            return f"'{field}' means nothing for output '{output}'."
    if config.extract is not None:
        try:
            groups = re.compile(config.extract).groups
        except re.error as error:
            return f"'extract' is no regular expression: {error}."
        if groups > 1:
            return f"'extract' has {groups} groups, expected one at most."
    return None


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


def _repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs twice, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
