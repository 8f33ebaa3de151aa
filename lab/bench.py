"""`lab bench`: drive any OpenAI-compatible endpoint once, without a plan and without a bundle."""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from lab.endpoint import Endpoint, split_url
from lab.errors import EndpointError, ParamsError
from lab.load.answer import error_words
from lab.load.driver import LoadJob, Progress, run_load
from lab.load.prompts import PATHS, build_level
from lab.metrics.catalog import measure_level
from lab.params import parse
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


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What a client saw.

    Attributes:
        level: every metric.
        complete: False after Ctrl-C; `level` then holds what had been measured.
        counted_by: `server` when prompts were made exact with the server's tokenizer, else `words`.
        first_error: of the first request that failed; None when none did.
    """

    model: str
    workload: Workload
    level: LevelResult
    complete: bool
    counted_by: str
    first_error: str | None

    @property
    def successes(self) -> int:
        """Requests that count."""
        return self.level.outcomes.get(Outcome.SUCCESS, 0)

    def as_json(self) -> bytes:
        """The result as a JSON document; seconds, tokens per second, requests per second."""
        summaries = {name: summary.model_dump(mode="json") for name, summary in self.level.metrics.items()}
        document = {
            "model": self.model,
            "workload": self.workload.model_dump(mode="json"),
            "complete": self.complete,
            "prompt_length_counted_by": self.counted_by,
            "requests": self.level.requests,
            "duration_s": self.level.duration_s,
            "steady_s": self.level.steady_s,
            "outcomes": {str(outcome): count for outcome, count in self.level.outcomes.items()},
            "success_rate": self.level.success_rate,
            "metrics": summaries | self.level.scalars,
            "prompt_tokens": self.level.prompt_tokens.model_dump(mode="json"),
            "completion_tokens": self.level.completion_tokens.model_dump(mode="json"),
            "first_error": self.first_error,
        }
        return json.dumps(document, indent=1).encode() + b"\n"


def ask_for(
    url: str,
    *,
    model: str,
    concurrency: int,
    requests: int,
    input_tokens: int,
    output_tokens: int,
    endpoint: str,
    exact: bool,
    warmup: int,
    timeout_s: float,
    seed: int | None,
) -> Asked:
    """Check what was typed. Raises ParamsError or EndpointError with a sentence."""
    root, base = split_url(url)
    if endpoint not in PATHS:
        raise ParamsError(f"--endpoint is {' or '.join(PATHS)}, got '{endpoint}'")
    if requests < concurrency:
        raise ParamsError(
            f"{requests} requests never keep {concurrency} in flight", f"use --requests {concurrency * 4} or more"
        )
    workload = parse(
        Workload,
        {
            "name": "bench",
            "endpoint": endpoint,
            "input_tokens": input_tokens,
            "shared_prefix_tokens": 0,
            "output_tokens": output_tokens,
            "exact_output": exact,
            "concurrency": [concurrency],
            "requests_per_level": requests,
            "warmup_requests": warmup,
            "timeout_s": timeout_s,
            "seed": secrets.randbelow(2**31) if seed is None else seed,
        },
        "lab bench",
    )
    key = os.environ.get(KEY_VARIABLE)
    if key and not key.isascii():
        raise ParamsError(f"{KEY_VARIABLE} holds characters that cannot be sent in a header")
    return Asked(root, base, model, workload, (("Authorization", f"Bearer {key.strip()}"),) if key else ())


def bench_endpoint(asked: Asked, on_progress: Callable[[Progress], None] | None = None) -> BenchResult:
    """Measure.

    Raises:
        EndpointError: nobody answers there, or it does not know the model.
    """
    _check(asked)
    count = _tokenizer(asked)
    workload = asked.workload
    fields = {**NEUTRAL, "max_tokens": workload.output_tokens}
    if workload.exact_output:
        fields |= {"ignore_eos": True}
    level = build_level(workload, 0, model=asked.model, fields=fields, count_tokens=count)
    job = LoadJob(
        url=asked.base,
        path=PATHS[workload.endpoint],
        levels=(level,),
        headers=asked.headers,
        timeout_s=workload.timeout_s,
    )
    result = run_load(job, on_progress)
    measured = [record for record in result.records if not record.warmup]
    failed = Counter(record.error for record in measured if record.error)
    return BenchResult(
        model=asked.model,
        workload=workload,
        level=measure_level(measured, workload.concurrency[0]),
        complete=result.complete,
        counted_by="server" if count else "words",
        first_error=failed.most_common(1)[0][0] if failed else None,
    )


def _check(asked: Asked) -> None:
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
    elif answer.status == 200 and document is None:
        raise EndpointError(
            f"{asked.root} is not an OpenAI-compatible server: /v1/models answers something that is not JSON "
            f"({error_words(answer.body[:60])!r})"
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
