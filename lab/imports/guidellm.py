"""Reports of GuideLLM (`--output kind=json`): one record for each benchmark of a report.

The definitions were read in guidellm 0.8.1 (schemas/base/request_stats.py, backends/openai/http.py); files of 0.5.0 and
0.8.1 were tried. A metric that no request has is written there as a row of zeros, and a first token that never came as
0: a time that is 0 throughout is missing.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from lab.errors import ImportRefused
from lab.imports.reading import (
    FileRead,
    Result,
    files_of,
    flag,
    mappings,
    number,
    part,
    prompt_name,
    read_documents,
    text,
    whole,
)
from lab.imports.record import (
    MOST_ROWS,
    Counts,
    ImportedMetric,
    ImportedRequest,
    LoadStated,
    ModelStated,
    Pacing,
)
from lab.imports.stream import Each, Shape, Skip
from lab.imports.units import ASK, FACTORS, Known, Unit, contradiction
from lab.params import shown

VERSION = 1
"""Version of this importer."""

WALL = "on the wall clock; by version, the time to connect is inside"
TIMES = {
    "time_to_first_token_ms": f"the same event as the lab's ttft_s, {WALL}",
    "time_to_first_output_token_ms": f"the first token that is no reasoning, {WALL}",
    "time_per_output_token_ms": "send to last token / n, the first token inside; the mean is weighted by tokens",
    "inter_token_latency_ms": "(last token − first token) / (n − 1) of each request, as the lab's tpot_s, but the mean "
    "is weighted by tokens",
    "request_latency": f"to the end of the response, usage chunk and [DONE] included, {WALL}",
}
"""Times, and how each differs from the lab's."""

RATES = {
    "requests_per_second": ("req/s", "a distribution over time, its mean weighted by time; the lab divides a total"),
    "output_tokens_per_second": (
        "tok/s",
        "a distribution over time, its mean weighted by time; the lab divides a total",
    ),
    "prompt_tokens_per_second": ("tok/s", "prompt tokens over time; the lab has no such metric"),
    "tokens_per_second": ("tok/s", "prompt and output tokens added; the lab never adds them"),
    "request_concurrency": ("requests", "requests in flight, weighted by time; the lab reports what was asked"),
    "output_tokens_per_iteration": ("tokens", "tokens of a chunk"),
    "prompt_token_count": ("tokens", "tokens of a prompt"),
    "output_token_count": ("tokens", "tokens of an answer"),
    "request_goodput": ("req/s", "over the measured window and against this tool's own times"),
}
"""Rates and lengths: the unit, and how each differs from what the lab has."""

CLIENT = "tokens counted by the client's tokenizer"


def _ways(key: str, differs: str) -> tuple[str, ...]:
    """How a rate differs where the server counts tokens, and where the client does."""
    return (differs, f"{differs}; {CLIENT}") if "token" in key else (differs,)


SAID: dict[str, tuple[str, ...]] = {key: (differs,) for key, differs in TIMES.items()} | {
    key: _ways(key, differs) for key, (_, differs) in RATES.items()
}
"""How each metric differs from the lab's, in one way or, by who counts tokens, in two."""

STATISTICS = {"mean": "mean", "median": "p50", "min": "min", "max": "max", "std_dev": "std"}
PERCENTILES = ("p90", "p95", "p99")
UNREAD = frozenset(
    {
        "request_streaming_iterations_count", "total_token_count", "time_to_last_round_trip_ms",
        "avg_round_trip_time_ms", "iter_tokens_per_iteration", "root_dispatch_delay", "text", "image", "video", "audio",
        "tool_call", "turns", "slo_attainment", "slo_determined_requests", "request_totals", "request_dispatch_delay",
        "request_scheduled_latency", "turn_predecessor_delay", "turn_scheduling_delay",
    }
)  # fmt: skip
"""Metrics that are left alone: what the lab measures has nothing beside them, or they repeat another."""

ARRIVALS = {
    "concurrent": "closed",
    "synchronous": "closed",
    "constant": "constant",
    "poisson": "poisson",
    "throughput": "all at once",
}
"""Its strategies as laws of arrival; another keeps its name."""


def _row(one: Any) -> Any:
    """Of a request what a record keeps; its answer is not built further."""
    if not isinstance(one, dict):
        return one
    timings = part(part(one, "info"), "timings")
    body = _body(one)
    return {
        "prompt": prompt_name(body) if body else None,
        "asked": {
            "temperature": body.get("temperature"),
            "ignore_eos": body.get("ignore_eos"),
            "length": body.get("max_completion_tokens", body.get("max_tokens")),
        }
        if body is not None
        else None,
        "prompt_tokens": one.get("prompt_tokens"),
        "output_tokens": one.get("output_tokens"),
        "ttft_ms": one.get("time_to_first_token_ms"),
        "latency_s": one.get("request_latency"),
        "first_s": timings.get("first_token_iteration", timings.get("first_iteration")),
        "last_s": timings.get("last_token_iteration", timings.get("last_iteration")),
        "chunks": timings.get("token_iterations", timings.get("iterations")),
    }


def _body(one: Result) -> dict[str, Any] | None:
    """The body of a request, which stands in words of JSON, or of Python in older files; None where it does not."""
    words = one.get("request_args")
    found: Any = words
    if isinstance(words, str):
        try:
            found = json.loads(words)
        except ValueError:
            try:
                found = ast.literal_eval(words)  # nothing but literals is taken
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return None
    body = found.get("body", found.get("payload")) if isinstance(found, dict) else None
    return body if isinstance(body, dict) else None


SHAPE: Shape = {
    "benchmarks": Each(
        keep=lambda one: one,
        shape={
            "requests": {
                "successful": Each(keep=_row),
                "errored": Each(keep=_row),
                "incomplete": Each(keep=_row),
                "total": Skip(),
            }
        },
    )
}
"""What is built of a report: of each request what a record keeps."""


def read_runs(path: Path, unit: Unit | None) -> tuple[tuple[tuple[FileRead, ...], tuple[dict[str, Any], ...]], ...]:
    """The reports of a path: the file, and fields of an `ImportedRecord` for each benchmark in it.

    Raises:
        ImportRefused: a file is not what it should be, or its units contradict each other.
    """
    found = []
    for file in files_of(path, "guidellm"):
        documents = read_documents(file, "guidellm", SHAPE)
        results = []
        for report in documents.results:
            try:
                benchmarks = mappings(report, "benchmarks")
                if not benchmarks:
                    raise ImportRefused("the report holds no benchmark")
                for number_of, benchmark in enumerate(benchmarks, 1):
                    try:
                        results.append(_fields(report, benchmark, unit))
                    except ImportRefused as problem:
                        which = f"benchmark {number_of} of {len(benchmarks)}: " if len(benchmarks) > 1 else ""
                        raise ImportRefused(which + problem.what, problem.next_step) from None
            except ImportRefused as problem:
                raise ImportRefused(f"{shown(file)}: {problem.what}", problem.next_step) from None
        found.append(((documents.file,), tuple(results)))
    return tuple(found)


def _fields(report: Result, benchmark: Result, unit: Unit | None) -> dict[str, Any]:
    about, metrics = part(report, "metadata"), part(benchmark, "metrics")
    if "request_latency" not in metrics:
        raise ImportRefused("a benchmark without the metric request_latency is not read: it measured no generation")
    config = part(benchmark, "config")
    named: Known = "in-the-names" if unit is None else "declared"
    ms = FACTORS["ms"] if unit is None else FACTORS[unit]
    rows = part(benchmark, "requests")
    good = mappings(rows, "successful")
    other = [*mappings(rows, "errored"), *mappings(rows, "incomplete")]
    counts = _counts(benchmark, metrics)
    load = _load(report, config, good, counts)
    why = contradiction(
        ttft_s=_scaled(_statistic(metrics, "time_to_first_token_ms", "mean"), ms),
        latency_s=_statistic(metrics, "request_latency", "mean"),
        rate_rps=counts.succeeded / counts.duration_s if counts.succeeded and counts.duration_s else None,
        concurrency=load.concurrency,
        duration_s=counts.duration_s,
        row_latency_s=_mean_of(good, "latency_s"),
    )
    if why is not None and unit is None:
        raise ImportRefused(f"the units of the file contradict each other: {why}", f"{ASK}, of what ends in '_ms'")
    warm = bool(number(benchmark, "warmup_duration")) or bool(number(benchmark, "cooldown_duration"))
    backend = part(config, "backend")
    return {
        "tool_version": text(about, "guidellm_version"),
        "model": ModelStated(
            name=text(backend, "model") or text(part(report, "args"), "model"),
            tokenizer=text(part(part(part(report, "config"), "spec"), "tokenizer"), "model")
            or text(part(report, "args"), "processor"),
        ),
        "load": load,
        "counts": counts,
        "metrics": tuple(_metrics(metrics, ms, server=flag(config, "prefer_response_metrics") is not False)),
        "requests": tuple(
            _request(one, ms, good=number_of < len(good), warmup=None if warm else False)
            for number_of, one in enumerate([*good, *other][:MOST_ROWS])
        ),
        "pacing": _pacing(good),
        "notes": tuple(words for one in mappings(benchmark, "warnings") if (words := text(one, "message"))),
        "unread": tuple(
            key
            for key, value in metrics.items()
            if key not in TIMES and key not in RATES and key not in UNREAD and value is not None
        ),
        "units": named,
        "licence": text(report, "license") or text(report, "licence"),
    }


def _request(one: Result, ms: float, *, good: bool, warmup: bool | None) -> ImportedRequest:
    return ImportedRequest(
        prompt=text(one, "prompt"),
        warmup=warmup,
        succeeded=good,
        prompt_tokens=whole(one, "prompt_tokens"),
        completion_tokens=whole(one, "output_tokens") if good else None,
        ttft_s=_scaled(number(one, "ttft_ms"), ms) if good else None,
        e2e_s=number(one, "latency_s") if good else None,
    )


def _counts(benchmark: Result, metrics: Result) -> Counts:
    totals = part(metrics, "request_totals")
    requests, succeeded = whole(totals, "total"), whole(totals, "successful")
    return Counts(
        requests=requests,
        succeeded=succeeded,
        failed=requests - succeeded if requests is not None and succeeded is not None else None,
        input_tokens=_total(metrics, "prompt_token_count"),
        output_tokens=_total(metrics, "output_token_count"),
        duration_s=number(benchmark, "duration"),
    )


def _metrics(metrics: Result, ms: float, *, server: bool) -> Iterator[ImportedMetric]:
    for key, differs in TIMES.items():
        spread = _spread(metrics, key)
        if not spread.get("max") and not spread.get("min"):
            continue  # a time that is 0 throughout was not measured
        scale = ms if key.endswith("_ms") else 1.0
        yield from _statistics(spread, key, "s", scale, differs)
    for key, (unit, _) in RATES.items():
        yield from _statistics(_spread(metrics, key), key, unit, 1.0, SAID[key][0 if server else -1])


def _statistics(spread: Result, key: str, unit: str, scale: float, differs: str) -> Iterator[ImportedMetric]:
    found = [(statistic, number(spread, short), short) for short, statistic in STATISTICS.items()]
    tails = part(spread, "percentiles")
    found += [(short, number(tails, short), f"percentiles.{short}") for short in PERCENTILES]
    for statistic, value, where in found:
        if value is not None:
            yield ImportedMetric(
                name=f"guidellm:{key.removesuffix('_ms')}",
                statistic=statistic,
                value=value * scale,
                unit=unit,
                key=f"metrics.{key}.successful.{where}",
                differs=differs,
            )


def _spread(metrics: Result, key: str) -> Result:
    """The distribution of a metric over the successes; empty where nothing was counted."""
    found = part(part(metrics, key), "successful")
    return found if number(found, "count") else {}


def _statistic(metrics: Result, key: str, statistic: str) -> float | None:
    return number(_spread(metrics, key), statistic)


def _total(metrics: Result, key: str) -> int | None:
    value = _statistic(metrics, key, "total_sum")
    return None if value is None else whole({key: round(value, 6)}, key)


def _load(report: Result, config: Result, good: list[dict[str, Any]], counts: Counts) -> LoadStated:
    strategy = part(config, "strategy")
    kind = text(strategy, "type_")
    args = part(report, "args")  # of older files
    formatter = args.get("data_request_formatter")
    if isinstance(formatter, dict):
        formatter = formatter.get("request_type")
    path = text(part(config, "backend"), "request_format") or (formatter if isinstance(formatter, str) else "")
    limit = part(part(part(config, "constraints"), "max_requests"), "args")
    streams = whole(strategy, "streams") if kind == "concurrent" else 1 if kind == "synchronous" else None
    asked = [one["asked"] for one in good if isinstance(one.get("asked"), dict)]
    seen = bool(asked) and len(asked) == len(good)
    ignored = {one.get("ignore_eos") is True for one in asked}
    temperature = _same(asked, "temperature") if seen else None
    length = _same(asked, "length") if seen else None
    names = Counter(one.get("prompt") for one in good)
    often = set(names.values()) if None not in names else set()
    return LoadStated(
        endpoint="chat"
        if path.endswith(("chat/completions", "chat_completions"))
        else "completions"
        if path.endswith("completions")
        else None,
        arrival=None if kind is None else ARRIVALS.get(kind, kind),
        concurrency=streams if streams is not None else whole(strategy, "max_concurrency"),
        rate_rps=number(strategy, "rate"),
        requests=whole(limit, "count") or counts.requests,
        output_tokens=None if length is None else whole({"max_tokens": length}, "max_tokens"),
        exact_output=ignored.pop() if seen and len(ignored) == 1 else None,
        repeats=often.pop() if len(often) == 1 and counts.succeeded == len(good) else None,
        seed=whole(part(part(part(report, "config"), "spec"), "seed"), "value")
        if not args
        else whole(args, "random_seed"),
        temperature=None if temperature is None else number({"temperature": temperature}, "temperature"),
    )


def _same(asked: list[dict[str, Any]], key: str) -> Any:
    """What every request asked; None where they differ."""
    values = [one.get(key) for one in asked]
    return values[0] if all(value == values[0] for value in values) else None


def _pacing(good: list[dict[str, Any]]) -> Pacing | None:
    """Gaps and times per token, from the first and the last chunk with a token of each request."""
    spans: list[float] = []
    gaps, tpots = 0, []
    for one in good:
        first, last = number(one, "first_s"), number(one, "last_s")
        chunks, tokens = whole(one, "chunks"), whole(one, "output_tokens")
        if first is None or last is None or last <= first:
            continue
        if chunks is not None and chunks > 1:
            spans.append(last - first)
            gaps += chunks - 1
        if tokens is not None and tokens > 1:
            tpots.append((last - first) / (tokens - 1))
    if not gaps and not tpots:
        return None
    return Pacing(gap_mean_s=sum(spans) / gaps if gaps else None, tpot_mean_s=fmean(tpots) if tpots else None)


def _mean_of(rows: list[dict[str, Any]], key: str) -> float | None:
    values = [value for one in rows if (value := number(one, key)) is not None]
    return fmean(values) if values else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
