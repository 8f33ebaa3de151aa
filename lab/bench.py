"""`lab bench`: drive any OpenAI-compatible endpoint once, without a plan and without a bundle."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.endpoint import Endpoint, split_url
from lab.errors import EndpointError, ParamsError
from lab.load.answer import error_words
from lab.load.driver import LoadJob, Progress, run_load
from lab.load.ladder import build_levels
from lab.load.prompts import PATHS, longest_tokens
from lab.load.sources import read_source
from lab.load.tokens import local_tokenizer
from lab.metrics.catalog import measure_level
from lab.params import parse
from lab.plan import read_workload
from lab.records import LevelResult, Outcome
from lab.spec import Workload

TOKENIZE_DIALECTS = (("content", "tokens"), ("prompt", "count"), ("prompt", "tokens"))
"""Field that carries the text, and field of the answer that gives the length: llama.cpp, vLLM, others."""

NEUTRAL = {"temperature": 0, "top_p": 1, "seed": 0}
"""Sampling that every OpenAI-compatible server accepts."""

KEY_VARIABLE = "OPENAI_API_KEY"
"""Sent as a bearer token when it is set; never written anywhere."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to drive, and how."""

    root: str
    base: str
    model: str
    workload: Workload
    headers: tuple[tuple[str, str], ...]
    count_tokens: Callable[[str], int | None] | None
    source: Path | None = None
    """Where the prompts come from; None for words."""


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What a client saw.

    Attributes:
        levels: every metric, one entry for each rung that has requests.
        complete: False after Ctrl-C; `levels` then hold what had been measured.
        inexact: prompts that were counted and are not of the asked length.
        counted_by: `server` or `tokenizer` when prompts were made exact with one, else `words`.
        first_error: the most common failure in words; None when there was none.
    """

    model: str
    workload: Workload
    levels: tuple[LevelResult, ...]
    complete: bool
    counted_by: str
    inexact: int
    first_error: str | None

    @property
    def successes(self) -> int:
        """Requests that count."""
        return sum(level.outcomes.get(Outcome.SUCCESS, 0) for level in self.levels)

    def as_json(self) -> bytes:
        """The result as a JSON document; seconds, tokens per second, requests per second.

        A single level stands at the top; a ladder stands in `levels`, which is always there.
        """
        levels = [_level_document(level) for level in self.levels]
        document = {
            "model": self.model,
            "workload": self.workload.model_dump(mode="json"),
            "complete": self.complete,
            "prompt_length_counted_by": self.counted_by,
            "prompts_inexact": self.inexact,
            "first_error": self.first_error,
            **(levels[0] if len(levels) == 1 else {}),
            "levels": levels,
        }
        return json.dumps(document, indent=1).encode() + b"\n"


def _level_document(level: LevelResult) -> dict[str, Any]:
    summaries = {name: summary.model_dump(mode="json") for name, summary in level.metrics.items()}
    return {
        "concurrency": level.concurrency,
        "rate_rps": level.rate_rps,
        "requests": level.requests,
        "duration_s": level.duration_s,
        "steady_s": level.steady_s,
        "outcomes": {str(outcome): count for outcome, count in level.outcomes.items()},
        "success_rate": level.success_rate,
        "valid": level.valid,
        "metrics": summaries | level.scalars,
        "prompt_tokens": level.prompt_tokens.model_dump(mode="json"),
        "completion_tokens": level.completion_tokens.model_dump(mode="json"),
        "concerns": [concern.model_dump(mode="json") for concern in level.concerns],
    }


def ask_for(
    url: str,
    *,
    model: str,
    workload: Mapping[str, Any] | Path,
    headers: Sequence[str] = (),
    key_variable: str = KEY_VARIABLE,
    tokenizer: Path | None = None,
) -> Asked:
    """Check what was typed.

    Args:
        url: of the server, as a person types it.
        model: name the server knows.
        workload: fields of `Workload`; name, warm-up and seed have defaults here. A file decides all.
        headers: further headers as `Name: value`.
        key_variable: environment variable that holds the API key.
        tokenizer: a tokenizer.json, or a folder that holds one.

    Raises:
        ParamsError, EndpointError: something cannot be followed.
    """
    root, base = split_url(url)
    source = None
    if isinstance(workload, Path):
        checked, source = read_workload(workload, {}, "lab bench")
    else:
        defaults = {"name": "bench", "seed": secrets.randbelow(2**31)}
        checked = parse(Workload, defaults | {k: v for k, v in workload.items() if v is not None}, "lab bench")
    key = os.environ.get(key_variable)
    if key is None and key_variable != KEY_VARIABLE:
        raise ParamsError(f"the environment variable {key_variable} is not set", f"export {key_variable}=…")
    pairs = [_header(line) for line in headers]
    if key:
        pairs.append(_header(f"Authorization: Bearer {key.strip()}", shown="the API key"))
    return Asked(root, base, model, checked, tuple(pairs), local_tokenizer(tokenizer) if tokenizer else None, source)


def bench_endpoint(asked: Asked, on_progress: Callable[[Progress], None] | None = None) -> BenchResult:
    """Measure.

    Raises:
        EndpointError: nobody answers there, or it does not know the model.
    """
    source = None if asked.source is None else read_source(asked.workload.content, asked.source)
    _check(asked, longest_tokens(asked.workload, source) or asked.workload.output_tokens)
    count = asked.count_tokens or _tokenizer(asked)
    workload = asked.workload
    fields: dict[str, Any] = {**NEUTRAL, "max_tokens": workload.output_tokens}
    if workload.exact_output:
        fields["ignore_eos"] = True
    levels = build_levels(workload, model=asked.model, fields=fields, count_tokens=count, source=source)
    job = LoadJob(
        url=asked.base,
        path=PATHS[workload.endpoint],
        levels=tuple(level.job for level in levels),
        headers=asked.headers,
        timeout_s=workload.timeout_s,
        workers=workload.workers,
    )
    result = run_load(job, on_progress)
    measured = [record for record in result.records if not record.warmup]
    failed = Counter(record.error for record in measured if record.error)
    return BenchResult(
        model=asked.model,
        workload=workload,
        levels=tuple(
            measure_level(of_level, rung, workload.slo)
            for level, rung in enumerate(workload.rungs)
            if (of_level := [record for record in measured if record.level == level])
        ),
        complete=result.complete,
        inexact=sum(level.inexact for level in levels),
        counted_by="tokenizer" if asked.count_tokens else "server" if count else "words",
        first_error=failed.most_common(1)[0][0] if failed else None,
    )


def _header(line: str, shown: str | None = None) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if (
        not colon
        or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name)
        or not re.fullmatch(r"[\t\x20-\x7e]*", value)
    ):
        raise ParamsError(f"{shown or 'a --header'} cannot be sent; a header is 'Name: value' in plain characters")
    return name, value.strip()


def _check(asked: Asked, longest: int) -> None:
    """Find out before the load whether somebody answers, lets us in and knows the model.

    A server without /v1/models is driven all the same: the first requests will tell.
    """
    answer = Endpoint(asked.base, asked.headers).get("/models", timeout_s=10.0)
    if answer.status in (401, 403):
        raise EndpointError(
            f"{asked.root} answers HTTP {answer.status}: it wants an API key", f"set {KEY_VARIABLE} and run again"
        )
    document = answer.json()
    served = document.get("data") if isinstance(document, dict) else None
    if answer.status == 200 and isinstance(served, list):
        names = [str(entry.get("id")) for entry in served if isinstance(entry, dict)]
        if names and asked.model not in names:
            raise EndpointError(
                f"{asked.root} does not serve '{asked.model}'; it serves: {', '.join(names[:10])}",
                f"--model {names[0]}",
            )
        _check_context(asked, served, longest)
    elif answer.status == 200 and document is None:
        raise EndpointError(
            f"{asked.root} is not an OpenAI-compatible server: /v1/models answers something that is not JSON "
            f"({error_words(answer.body[:60])!r})"
        )


def _check_context(asked: Asked, served: list[Any], longest: int) -> None:
    """Refuse lengths beyond the context limit where the server states one."""
    limits = [e.get("max_model_len") for e in served if isinstance(e, dict) and e.get("id") == asked.model]
    if limits and isinstance(limits[0], int) and longest > limits[0]:
        own = asked.workload.input_tokens
        lengths = (
            f"{own} tokens in and {asked.workload.output_tokens} out are {longest}"
            if own
            else f"the longest request of workload {asked.workload.name} has {longest} tokens, answer included"
        )
        raise EndpointError(
            f"{lengths}; '{asked.model}' holds {limits[0]} tokens of context",
            "use a smaller --input-len or --output-len"
            if own
            else "take the long rows out of the source of the workload",
        )


def _tokenizer(asked: Asked) -> Callable[[str], int | None] | None:
    """The server's own tokenizer in whichever dialect it has; None when it has none that can be asked."""
    endpoint = Endpoint(asked.root, asked.headers)

    def count(text: str, sent: str, got: str) -> int | None:
        try:
            answer = endpoint.post(
                "/tokenize", {sent: text, "model": asked.model, "add_special_tokens": False, "add_special": False}
            )
        except EndpointError:
            return None
        document = answer.json()
        value = document.get(got) if answer.status == 200 and isinstance(document, dict) else None
        if isinstance(value, list):
            return len(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    for sent, got in TOKENIZE_DIALECTS:
        short, longer = count("one two", sent, got), count("one two three four", sent, got)
        if short and longer and longer > short:
            return lambda text, s=sent, g=got: count(text, s, g)  # type: ignore[misc]  # lambda defaults
    return None
