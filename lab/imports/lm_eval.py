"""Results of lm-eval, and the samples beside them: scores of tasks, and how the questions reached the model.

The layout was read in files that lm-eval 0.4.13 wrote with --log_samples. Its file names no engine behind a URL, never
sees a template that a server applies, and holds no finish reason: such a score belongs to a path that nobody recorded.
Nothing of its `model_args` is kept but the names of weights and tokenizer and the numbers of requests in flight: there
may be keys among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from lab.conditions import Condition
from lab.errors import ImportRefused
from lab.imports.reading import (
    FileRead,
    Result,
    flag,
    folders_with,
    is_finite,
    number,
    part,
    read_documents,
    read_lines,
    text,
    whole,
)
from lab.imports.record import (
    EngineStated,
    ImportedScore,
    ModelStated,
    SampleTally,
    ScorePath,
    Setting,
)
from lab.imports.stream import not_a_number
from lab.params import shown

VERSION = 1
"""Version of this importer."""

INSIDE = {"hf": "transformers", "hf-auto": "transformers", "huggingface": "transformers", "vllm": "vllm",
          "sglang": "sglang"}  # fmt: skip
"""Model classes that compute in lm-eval's own process, and the engine they are."""

KNOWN = frozenset(
    {
        "results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples",
        "config", "git_hash", "date", "pretty_env_info", "transformers_version", "lm_eval_version", "upper_git_hash",
        "task_hashes", "model_source", "model_name", "model_name_sanitized", "system_instruction",
        "system_instruction_sha", "fewshot_as_multiturn", "chat_template", "chat_template_sha", "start_time",
        "end_time", "total_evaluation_time_seconds", "license", "licence", "max_length", "eot_token_id",
        "tokenizer_pad_token", "tokenizer_eos_token", "tokenizer_bos_token",
    }
)  # fmt: skip
"""Keys of a file that are read, or known and left alone."""

NO_SCORE = frozenset({"name", "alias", "sample_len", "sample_count", "samples"})
"""Keys of a task's results that are no metric."""

NOTHING_FOUND = "[invalid]"
"""What its extracting filters write where they find nothing."""


class _Tally:
    """What the samples of one task and filter show, taken one at a time."""

    def __init__(self) -> None:
        self.values: dict[str, list[float | None]] = {}
        self.rows = self.empty = self.not_extracted = self.all_zero = 0

    def take(self, line: Result) -> None:
        self.rows += 1
        for metric in filter(_is_text, _list(line, "metrics")):
            value = line.get(metric)
            good = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
            self.values.setdefault(metric, []).append(float(value) if good and value is not None else None)
        answers = [one[0] if isinstance(one, list) and one else one for one in _list(line, "resps")]
        texts = [one for one in answers if one is None or isinstance(one, str)]
        likelihoods = [one[0] for one in answers if isinstance(one, list) and one]
        self.empty += bool(texts) and all(not (one or "").strip() for one in texts)
        self.all_zero += bool(likelihoods) and all(_is_zero(one) for one in likelihoods)
        self.not_extracted += line.get("filtered_resps") == [NOTHING_FOUND]

    def shown(self, metric: str) -> SampleTally:
        """The tally beside the score of one metric."""
        values = [one for one in self.values.get(metric, []) if one is not None]
        return SampleTally(
            rows=self.rows,
            mean=fmean(values) if values and len(values) == self.rows else None,
            empty=self.empty,
            not_extracted=self.not_extracted,
            all_zero=self.all_zero,
        )


Tallies = dict[tuple[str, str | None], _Tally]
"""Task and filter → what its samples show."""


def read_runs(path: Path, _: object) -> tuple[tuple[tuple[FileRead, ...], tuple[dict[str, Any], ...]], ...]:
    """The results of a path: their files, and fields of an `ImportedRecord`.

    Args:
        path: results_*.json, or the folder that lm-eval wrote it and the samples into.

    Raises:
        ImportRefused: there are no results, or a file is not what it should be.
    """
    return tuple(_run(one, with_samples=path.is_dir()) for one in _results(path))


def _results(path: Path) -> tuple[Path, ...]:
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise ImportRefused(f"{shown(path)} does not exist")
    found = tuple(sorted(path.glob("results*.json")))
    if found:
        return found
    inside = folders_with(path, "results*.json")
    if inside:
        raise ImportRefused(
            f"{shown(path)} holds no results itself; {len(inside)} folder(s) in it do: "
            f"{', '.join(shown(one) for one in inside[:4])}",
            f"lab import lm-eval {shown(inside[0])}",
        )
    samples = len(list(path.glob("samples_*.jsonl")))
    there = f"{samples} file(s) of samples" if samples else ", ".join(sorted(one.name for one in path.iterdir())[:6])
    raise ImportRefused(
        f"{shown(path)} has no results_*.json, which holds the scores; it holds {there or 'nothing'}",
        "name the folder that lm-eval wrote to: OUTPUT_PATH/MODEL",
    )


def _run(path: Path, *, with_samples: bool) -> tuple[tuple[FileRead, ...], tuple[dict[str, Any], ...]]:
    documents = read_documents(path, "lm-eval", constant=not_a_number)
    if len(documents.results) != 1:
        raise ImportRefused(f"{shown(path)} holds {len(documents.results)} results; a run has one")
    files = [documents.file]
    tallies: Tallies = {}
    (result,) = documents.results
    stamp = path.stem.removeprefix("results")
    for file in sorted(path.parent.glob(f"samples_*{escape(stamp)}.jsonl")) if with_samples else ():
        task = file.name.removeprefix("samples_").removesuffix(f"{stamp}.jsonl")
        of_task: Tallies = {}

        def take(line: dict[str, Any], task: str = task, of_task: Tallies = of_task) -> None:
            of_task.setdefault((task, text(line, "filter")), _Tally()).take(line)

        files.append(read_lines(file, "the samples of lm-eval", take, not_a_number))
        tallies |= of_task
    try:
        return tuple(files), (_fields(result, tallies),)
    except ImportRefused as problem:
        raise ImportRefused(f"{shown(path)}: {problem.what}", problem.next_step) from None


def _fields(result: Result, tallies: Tallies) -> dict[str, Any]:
    config = part(result, "config")
    arguments = _arguments(config)
    model_class = text(result, "model_source") or text(config, "model")
    scores, unread = [], [key for key in result if key not in KNOWN and not key.startswith("model_")]
    for task in part(result, "results"):
        scores += list(_scores(result, task, tallies, unread))
    inside = INSIDE.get(model_class or "")
    dtype = text(config, "model_dtype") or arguments.get("dtype")
    date = number(result, "date")
    return {
        "tool_version": text(result, "lm_eval_version"),
        "measured_at": None if date is None or not 0 < date < 2**33 else datetime.fromtimestamp(date, UTC).isoformat(),
        "engine": EngineStated(
            name=inside, version=text(result, "transformers_version") if inside == "transformers" else None
        ),
        "model": ModelStated(
            name=arguments.get("pretrained") or arguments.get("model") or text(result, "model_name"),
            revision=text(config, "model_sha") or text(config, "model_revision") or arguments.get("revision"),
            tokenizer=arguments.get("tokenizer"),
        ),
        "settings": (Setting(name="dtype", value=dtype, condition=Condition.COMPUTE_DTYPE),) if dtype else (),
        "scores": tuple(scores),
        "score_path": ScorePath(
            model_class=model_class,
            chat_template=_template(result, model_class),
            chat_template_sha256=text(result, "chat_template_sha"),
            system_instruction=bool(text(result, "system_instruction")) if "system_instruction" in result else None,
            fewshot_as_multiturn=flag(result, "fewshot_as_multiturn"),
            concurrency=int(arguments["num_concurrent"]) if arguments.get("num_concurrent", "").isdigit() else None,
            limit=number(config, "limit"),
            generation=_generation(config.get("gen_kwargs")),
        ),
        "unread": tuple(unread),
        "units": "in-the-names",
        "licence": text(result, "license") or text(result, "licence"),
    }


def _scores(result: Result, task: str, tallies: Tallies, unread: list[str]) -> Iterator[ImportedScore]:
    values, config = part(part(result, "results"), task), part(part(result, "configs"), task)
    counted = part(part(result, "n-samples"), task)
    hashes, better = part(result, "task_hashes"), part(part(result, "higher_is_better"), task)
    versions, shots = part(result, "versions"), part(result, "n-shot")
    version = versions.get(task)
    for key, value in values.items():
        metric, _, of_filter = key.partition(",")
        if key in NO_SCORE or metric.endswith("_stderr"):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            unread.append(f"results.{task}.{key}")
            continue
        error = values.get(f"{metric}_stderr,{of_filter}" if of_filter else f"{metric}_stderr")
        tally = tallies.get((task, of_filter or None))
        yield ImportedScore(
            task=task,
            version=None if version is None else str(version),
            metric=metric,
            filter=of_filter or None,
            value=number(values, key) or 0.0,
            stderr=None if not isinstance(error, int | float) else number({"stderr": error}, "stderr"),
            higher_is_better=flag(better, metric),
            n=whole(counted, "effective") if counted else whole(values, "sample_len"),
            n_original=whole(counted, "original"),
            fewshot=whole(shots, task),
            output_type=text(config, "output_type"),
            task_hash=text(hashes, task),
            samples=tally.shown(metric) if tally else None,
        )


def _template(
    result: Result, model_class: str | None
) -> Literal["by-the-server", "by-the-tool", "none", "not-recorded"]:
    """Who applied a chat template: behind a chat route the server does, whatever the file says."""
    if model_class is not None and "chat" in model_class:
        return "by-the-server"
    if text(result, "chat_template"):
        return "by-the-tool"
    return "none" if "chat_template" in result else "not-recorded"


def _arguments(config: Result) -> dict[str, str]:
    """The few model arguments that are kept, from a mapping or from words; a folder keeps its last name only."""
    given = config.get("model_args")
    if isinstance(given, str):
        given = dict(pair.partition("=")[::2] for pair in given.split(","))
    kept = ("pretrained", "model", "revision", "dtype", "tokenizer", "num_concurrent")
    found = {key: str(given[key]) for key in kept if given.get(key) is not None} if isinstance(given, dict) else {}
    return {
        key: value.rpartition("/")[2] if value.startswith(("/", "~", ".")) else value for key, value in found.items()
    }


def _generation(given: Any) -> str | None:
    """Generation settings as words; None where the tasks' own stand."""
    if not given:
        return None
    return given if isinstance(given, str) else json.dumps(given, sort_keys=True)


def _is_zero(value: Any) -> bool:
    try:
        return float(value) == 0.0
    except (TypeError, ValueError, OverflowError):
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _list(line: Result, key: str) -> list[Any]:
    """A list under a key of a sample; empty where something else stands there."""
    value = line.get(key)
    return value if isinstance(value, list) else []
