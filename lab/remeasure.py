"""An imported record becomes a plan that would measure it again here: what it does not say is a question.

The plan varies one thing: the engine of its second run. Everything else is the record's, or asked. Nothing is
taken from a default of this lab without being written into the file, and a plan with open questions is refused by
`lab plan` and `lab run`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from lab.conditions import Condition, Value
from lab.errors import ParamsError
from lab.imports.record import ImportedRecord
from lab.params import QUESTION, OpenQuestion, open_questions, shown
from lab.roster import Entry, find
from lab.scratch import write_atomically

ENDPOINTS = {
    "chat": "chat",
    "openai-chat": "chat",
    "vllm-chat": "chat",
    "completions": "completions",
    "openai": "completions",
    "vllm": "completions",
}
"""Names of routes in imported records, and the route."""

DRAFTERS = ("off", "ngram")
"""Ways of drafting that a launch profile of this lab can say."""


KV_BLOCK = 64
"""Tokens of the largest block of an engine's KV cache."""

_KV_WORDS = f"tokens for all sequences: a multiple of {KV_BLOCK}, at least the context limit; "


def write_plan(record: ImportedRecord, path: Path, *, against: str | None = None) -> tuple[OpenQuestion, ...]:
    """Write the plan of one record and return its open questions.

    Args:
        record: what is to be measured again.
        path: a new file; an existing one is somebody's answers and is not replaced.
        against: the engine it is set against, in a second run that differs in nothing else; None: asked in the file.

    Raises:
        ParamsError: the file is there already or cannot be written, or `against` is no engine of the roster.
    """
    if path.exists():
        raise ParamsError(f"{shown(path)} is there already, and may hold answers", "name another file with --out")
    if path.suffix != ".yaml":
        raise ParamsError(f"a plan is a .yaml file, got {shown(path)}")
    other = None if against is None else find(against)
    if against is not None and (other is None or other.seat not in ("on", "off")):
        raise ParamsError(f"no engine is called '{against}'", "lab engines")
    own = find(record.engine.name or "")
    own = own if own is not None and own.seat in ("on", "off") else None
    if other is not None and own is not None and other.key == own.key:
        raise ParamsError(f"{other.key} is the record's own engine; --against names another one")
    lines = (" ".join(line.splitlines()) for line in _lines(record, own, other))  # words of a file may hold breaks
    text = "\n".join(lines) + "\n"
    try:
        write_atomically(path, text.encode())
    except OSError as problem:
        raise ParamsError(f"{shown(path)} cannot be written: {problem.strerror}") from None
    return open_questions(path)


def _lines(record: ImportedRecord, own: Entry | None, other: Entry | None) -> Iterator[str]:
    load, model = record.load, record.model
    yield f"# Would measure {record.run_id} again here: a record of {record.source.tool}, file digest"
    yield f"# {record.source.sha256}."
    yield "# A value '?' is something the record does not say, or that this lab says otherwise. Nothing is guessed."
    if record.speculation is not None and record.speculation.method not in DRAFTERS:
        yield f"# The record drafted tokens ahead ({record.speculation.method}); its numbers stand for that as well."
    if record.engine.version or record.engine.commit:
        version = record.engine.version or record.engine.commit
        yield f"# Engine version of the record: {version}. The version that runs here is read back."
    weights = ", ".join(
        (
            model.name or "model not recorded",
            f"revision {model.revision or 'not recorded'}",
            f"quantization {model.quantization or 'not recorded'}",
            f"KV cache {_kv(record)}",
        )
    )
    words = (
        "a file of params/models/ (write one like qwen3-8b-bf16.yaml, then lab model digest NAME) with these weights"
    )
    yield _asked("model", f"{words}: {weights}")
    yield "workload:"
    yield "  use: chat # a workload has a name; every field of it is said here"
    yield from (f"  {line}" for line in _workload(record))
    yield "sampling:"
    yield f"  {_known('temperature', load.temperature, 'not recorded')}"
    for field, neutral in (
        ("top_p", 1),
        ("top_k", 0),
        ("min_p", 0),
        ("presence_penalty", 0),
        ("frequency_penalty", 0),
        ("repetition_penalty", 1),
    ):
        yield f"  {_asked(field, f'not recorded; {neutral} turns it off')}"
    yield f"  {_known('seed', load.seed, 'of the sampling; not recorded')}"
    thinking = record.thinking
    if thinking is None:
        yield _asked(
            "chat_template_kwargs", "whether the model thought first is not recorded: {enable_thinking: false}, or {}"
        )
    else:
        yield f"chat_template_kwargs: {{enable_thinking: {json.dumps(thinking)}}} # as the model's template names it"
    tasks = ", ".join(dict.fromkeys(f"{one.task} {one.version or ''}".strip() for one in record.scores))
    yield _asked(
        "quality",
        f"a folder of params/quality/ that asks what the record asked: {tasks}"
        if tasks
        else "a folder of params/quality/ (smoke is at hand): the record has no quality under the same run",
    )
    yield _known("context_limit", record.named(Condition.CONTEXT_LIMIT), "tokens; not recorded")
    yield _asked("preparation_counts", "true or false: does preparation time count in the decision?")
    yield (
        "repeats: 3 # fresh launches; the record had rounds on one engine"
        if (load.repeats or 0) > 1
        else "repeats: 3 # fresh launches"
    )
    yield _asked(
        "cache_tier", "as-found, download, disk-cold or warm: the record does not say what its launch started from"
    )
    alone = record.machine.alone
    yield (
        "isolation: exclusive # as the record says"
        if alone
        else _asked(
            "isolation", "exclusive or shared: " + ("the record says shared" if alone is False else "not recorded")
        )
    )
    seats = {entry.seat for entry in (own, other) if entry is not None}
    yield "pipeline_check:" if "off" in seats else "comparison:"
    yield "  runs:"
    if own is not None:
        yield f"    - engine: {_quoted(own.key)}"
    else:
        words = f"the record names {record.engine.name}" if record.engine.name else "not recorded"
        yield f"    - {_asked('engine', words)}"
    yield "      profile: equal # every setting of it is said below"
    yield "      set: &same"
    yield from (f"        {line}" for line in _profile(record))
    if other is not None:
        yield f"    - engine: {_quoted(other.key)} # the one thing that varies"
    else:
        words = "the one thing that varies: the engine it is set against; or delete these three lines"
        yield f"    - {_asked('engine', words)}"
    yield "      profile: equal"
    yield "      set: *same"


def _workload(record: ImportedRecord) -> Iterator[str]:
    load, counts = record.load, record.counts
    n = counts.succeeded
    read = f"; {counts.input_tokens / n:.1f} were read on average" if counts.input_tokens is not None and n else ""
    wrote = (
        f"; {counts.output_tokens / n:.1f} were written on average" if counts.output_tokens is not None and n else ""
    )
    endpoint = ENDPOINTS.get(load.endpoint or "")
    yield _known("endpoint", endpoint, f"chat or completions; the record says {load.endpoint or 'nothing'}")
    yield _asked(
        "content",
        "words, or own-traffic with source: FILE in place of the next two lines: the record's prompts were its own and "
        "are not in it",
    )
    if load.input_tokens is not None and read:
        yield _asked("input_tokens", f"{load.input_tokens} were asked{read}, the template counted")
    else:
        yield _known("input_tokens", load.input_tokens, f"length of a prompt{read}")
    yield _asked(
        "shared_prefix_tokens", "0 makes every prompt unique; what the record's prompts had in common is not recorded"
    )
    yield _known("output_tokens", load.output_tokens, f"length of an answer{wrote}")
    yield _known(
        "exact_output",
        load.exact_output,
        f"true or false: whether the engine was told not to stop is not recorded{wrote}",
    )
    if load.rate_rps is not None:
        yield _asked("arrival", f"poisson or constant: the record says {load.arrival}")
        yield f"rate_rps: [{load.rate_rps:g}]"
    elif load.concurrency is not None and load.arrival == "closed":
        yield "arrival: closed"
        yield f"concurrency: [{load.concurrency}]"
    else:
        yield _asked("arrival", f"closed, poisson or constant: the record says {load.arrival or 'nothing'}")
        yield _asked("concurrency", f"a list such as [8]; the record says {load.concurrency or 'nothing'}")
    yield _known("requests_per_level", load.requests, "requests measured; not recorded")
    yield _known("warmup_requests", load.warmup_requests, "not recorded; here they have prompts of their own")
    yield _known("timeout_s", load.timeout_s, "limit of a request, seconds; not recorded")
    yield _asked("slo", "null for no goodput, or {ttft_s: …, tpot_s: …}: the record names none")
    yield _known("seed", load.seed, "of the prompts; not recorded")
    yield "workers: 1 # load processes of this lab"


def _profile(record: ImportedRecord) -> Iterator[str]:
    """Every setting of a launch profile that a record may say."""
    yield f"name: as-{record.run_id}"
    for condition, words in (
        (Condition.PREFIX_CACHING, "true or false; not recorded"),
        (Condition.CHUNKED_PREFILL, "true or false; not recorded"),
        (Condition.KV_CACHE_TOKENS, _KV_WORDS + "not recorded"),
        (Condition.MAX_NUM_SEQS, "not recorded"),
        (Condition.MAX_BATCHED_TOKENS, "tokens of one prefill step; not recorded"),
        (Condition.CUDA_GRAPHS, "true or false; not recorded"),
        (Condition.TENSOR_PARALLEL, "GPUs that share a layer; not recorded"),
    ):
        noted = next((one.value for one in record.from_notes if one.condition is condition), None)
        value = record.named(condition)
        said = noted if value is None else value
        if condition is Condition.KV_CACHE_TOKENS and isinstance(said, int) and said % KV_BLOCK:
            yield _asked(condition.value, f"{_KV_WORDS}the record says {said}, which is none")
        elif value is None and noted is not None:
            yield f"{condition.value}: {json.dumps(noted)} # as a note of the record says"
        else:
            yield _known(condition.value, value, words)
    drafts = record.speculation
    if drafts is None:
        yield _asked("speculative", "off or ngram; not recorded")
    elif drafts.method in DRAFTERS:
        yield f"speculative: {_quoted(drafts.method)}"
        if drafts.tokens is not None and drafts.method != "off":
            yield f"speculative_tokens: {drafts.tokens}"
    else:
        yield _asked(
            "speculative", f"off or ngram: the record drafted with {drafts.method}, which a profile here cannot say"
        )


def _kv(record: ImportedRecord) -> str:
    named = record.named(Condition.KV_CACHE_DTYPE)
    noted = next((one.value for one in record.from_notes if one.condition is Condition.KV_CACHE_DTYPE), None)
    if named is not None:
        return str(named)
    return f"{noted} by a note" if noted is not None else "not recorded"


def _known(key: str, value: Value | None, words: str) -> str:
    """A value of the record, or the question for it."""
    return (
        _asked(key, words)
        if value is None
        else f"{key}: {_quoted(value) if isinstance(value, str) else json.dumps(value)}"
    )


def _asked(key: str, words: str) -> str:
    """A question; `words` go onto its line, so they hold no line break."""
    return f'{key}: "{QUESTION}" # {" ".join(words.split())}'


def _quoted(value: str) -> str:
    """Text as YAML reads it back unchanged: `off` is no boolean."""
    return json.dumps(value, ensure_ascii=False)
