"""Results of `vllm bench serve`: the summary, and with --save-detailed one row a request.

Written from vllm/benchmarks/serve.py @009e6d4a. Times of the summary carry `_ms` in their names; tools around it write
them again without the suffix and in seconds, so a unit is believed only where the file's own numbers allow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median
from typing import Any

from lab.errors import ImportRefused
from lab.imports.reading import Result, is_finite, number, sum_of, text, whole
from lab.imports.record import MOST_ROWS, Counts, ImportedMetric, ImportedRequest, LoadStated, ModelStated
from lab.imports.stream import Each, Shape, Skip
from lab.imports.units import ASK, SLACK, Known, Unit

VERSION = 1
"""Version of this importer."""

TIMES = {
    "ttft": "counts the first message with a choice, empty or role-only ones too",
    "tpot": "(latency − its TTFT) / (n − 1), the finish chunk included; 0 for answers of one token",
    "itl": "gaps between chunks, the finish chunk included: lab's chunk_gap_s has token-bearing chunks only",
    "e2el": "to the last chunk with a choice; before vllm#55508 the usage chunk counted, and the file names no version",
}
"""Times of the summary, and how each differs from the lab's ttft_s, tpot_s, chunk_gap_s and e2e_latency_s."""

RATES = {
    "output_throughput": ("output_tok_per_s_whole", "tok/s", None),
    "request_throughput": ("request_rps_whole", "req/s", None),
    "input_throughput": (None, "tok/s", "prompt tokens over the whole run; the lab has no such metric"),
    "total_token_throughput": (None, "tok/s", "prompt and output tokens added; the lab never adds them"),
    "total_throughput": (None, "tok/s", "prompt and output tokens added; the lab never adds them"),
    "request_goodput": (
        None,
        "req/s",
        "over the whole run and against this tool's own times; its SLO is not in the file",
    ),
    "max_output_tokens_per_s": (None, "tok/s", "the fullest second; the lab has no such metric"),
    "max_concurrent_requests": (None, "requests", "the most seen in flight; the lab reports what was asked"),
}
"""Rates of the summary: the lab's name where the formula is the lab's, the unit, how it differs."""

NAME = re.compile(r"^(mean|median|std|p\d+(?:\.\d+)?)_(ttft|tpot|itl|e2el)(_ms)?$")
DETAIL = (
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "errors",
    "latencies",
    "generated_texts",
    "start_times",
    "queue_times",
)
"""Lists with one entry a request."""
UNDERSTOOD = frozenset(
    {
        "date", "model_id", "tokenizer_id", "num_prompts", "request_rate", "burstiness", "max_concurrency", "duration",
        "completed", "failed", "total_input_tokens", "total_output_tokens", "backend", "endpoint_type", "label",
        "good_completed", "license", "licence", *RATES, *DETAIL,
    }
)  # fmt: skip


def _gap_sum(gaps: Any) -> float | str | None:
    """All gaps of one request added up; None: it has none; words: what stands there is no list of seconds."""
    if gaps is None:
        return None
    total = sum_of(gaps)
    return "has to be a list of seconds" if total is None else total


SHAPE: Shape = {
    "generated_texts": Each(keep=lambda _: None, shape=Skip()),
    "errors": Each(keep=bool),
    "itls": Each(keep=_gap_sum),
}
"""What is built of a file: no answer, and of the gaps of a request their sum."""


def read_result(result: Result, unit: Unit | None) -> dict[str, Any]:
    """Fields of an `ImportedRecord` that one result gives, and how its unit is known.

    Args:
        result: one mapping as the tool wrote it.
        unit: of every time of the summary, as declared; None: decided from the names and the numbers.

    Raises:
        ImportRefused: a value of the wrong kind, or times whose unit nothing decides.
    """
    counts = Counts(
        requests=whole(result, "num_prompts"),
        succeeded=whole(result, "completed"),
        failed=whole(result, "failed"),
        input_tokens=whole(result, "total_input_tokens"),
        output_tokens=whole(result, "total_output_tokens"),
        duration_s=number(result, "duration"),
    )
    times = [found for key in result if (found := NAME.match(key)) and number(result, key) is not None]
    rows = tuple(_rows(result))
    scale, known = _scale(result, times, counts, row_median_s(rows), unit)
    rate = result.get("request_rate")
    open_loop = isinstance(rate, int | float) and not isinstance(rate, bool)
    return {
        "measured_at": text(result, "date"),
        "model": ModelStated(name=text(result, "model_id"), tokenizer=text(result, "tokenizer_id")),
        "load": LoadStated(
            endpoint=text(result, "backend") or text(result, "endpoint_type"),
            arrival=f"rate, burstiness {number(result, 'burstiness'):g}"
            if open_loop and number(result, "burstiness") is not None
            else "closed" if rate == "inf" and result.get("max_concurrency") is not None else None,
            concurrency=whole(result, "max_concurrency"),
            rate_rps=number(result, "request_rate") if open_loop else None,
            requests=counts.requests,
        ),
        "counts": counts,
        "metrics": tuple(_metrics(result, times, scale)),
        "requests": rows[:MOST_ROWS],
        "unread": tuple(key for key in result if key not in UNDERSTOOD and not NAME.match(key)),
        "units": known,
        "licence": text(result, "license") or text(result, "licence"),
    }  # fmt: skip


def _metrics(result: Result, times: list[re.Match[str]], scale: dict[str, float]) -> Iterator[ImportedMetric]:
    for key, (name, unit, differs) in RATES.items():
        value = number(result, key)
        if value is not None:
            yield ImportedMetric(
                name=name or f"vllm-bench:{key}", statistic=None, value=value, unit=unit, key=key, differs=differs
            )
    for found in times:
        value = number(result, found[0])
        assert value is not None
        yield ImportedMetric(
            name=f"vllm-bench:{found[2]}",
            statistic="p50" if found[1] == "median" else found[1],
            value=value * scale[found[0]],
            unit="s",
            key=found[0],
            differs=TIMES[found[2]],
        )


def _scale(
    result: Result, times: list[re.Match[str]], counts: Counts, row_s: float | None, unit: Unit | None
) -> tuple[dict[str, float], Known]:
    """For each time, what makes seconds of it. Raises ImportRefused where the unit is open or contradicted."""
    factors = {"s": 1.0, "ms": 0.001}
    if unit is not None:
        return {found[0]: factors[unit] for found in times}, "declared"
    by_name: dict[str, set[str]] = {}
    for found in times:
        by_name.setdefault(f"{found[1]}_{found[2]}", set()).add(found[3] or "")
    twice = [name for name, endings in by_name.items() if len(endings) > 1]
    if twice:
        raise ImportRefused(
            f"{twice[0]} stands in the file with and without '_ms'; one of them is of another unit", ASK
        )
    if len({found[3] for found in times}) > 1:
        raise ImportRefused("some times of the file end in '_ms' and others do not: they may be of two units", ASK)
    if not times:
        return {}, "in-the-names"
    possible = [one for one in ("s", "ms") if _possible(result, times, counts, row_s, factors[one])]
    named: Unit | None = "ms" if times[0][3] else None
    if named is not None:
        if named not in possible:
            fits = "can only be seconds" if possible else "fits neither milliseconds nor seconds"
            raise ImportRefused(f"the names say milliseconds, but {_latency_words(result, counts)} {fits}", ASK)
        return {found[0]: factors[named] for found in times}, "in-the-names"
    if len(possible) != 1:
        raise ImportRefused(
            "the file does not say in which unit its times are, and its numbers allow "
            + ("both seconds and milliseconds" if possible else "neither seconds nor milliseconds"),
            ASK,
        )
    return {found[0]: factors[possible[0]] for found in times}, "checked"


def _possible(result: Result, times: list[re.Match[str]], counts: Counts, row_s: float | None, factor: float) -> bool:
    """Whether a unit fits the file: its rows, no time beyond the run, about as many in flight as there could be."""
    stated = number(result, "median_ttft" if "median_ttft" in result else "median_ttft_ms")
    if row_s and stated is not None:
        return abs(stated * factor - row_s) <= 0.05 * row_s
    values = [number(result, found[0]) for found in times if found[1] != "std"]
    if counts.duration_s is not None and any(v * factor > counts.duration_s for v in values if v is not None):
        return False
    latency, rate = _latency(result, counts), number(result, "request_throughput")
    if latency is None or rate is None:
        return True
    in_flight = latency * factor * rate
    most = whole(result, "max_concurrency")
    # a closed loop keeps its places filled, and a thousand lies between the units; in an open loop few may be in flight
    floor = 0.02 * most if most is not None and result.get("request_rate") == "inf" else 0.0
    return floor <= in_flight and (most is None or in_flight <= most * SLACK)


def _latency(result: Result, counts: Counts) -> float | None:
    """Latency of a request in the unit of the file: stated, else out of TTFT, TPOT and the length of an answer."""
    ending = "_ms" if any(key.endswith("_ms") for key in result) else ""
    for statistic in ("mean", "median"):
        stated = number(result, f"{statistic}_e2el{ending}")
        if stated is not None:
            return stated
        ttft, tpot = number(result, f"{statistic}_ttft{ending}"), number(result, f"{statistic}_tpot{ending}")
        if ttft is not None and tpot is not None and counts.output_tokens and counts.succeeded:
            return ttft + tpot * (counts.output_tokens / counts.succeeded - 1)
    return None


def _latency_words(result: Result, counts: Counts) -> str:
    latency = _latency(result, counts)
    rate = number(result, "request_throughput")
    if latency is None or rate is None:
        return "its numbers"
    return f"a latency of {latency:g} at {rate:g} requests a second"


def _rows(result: Result) -> Iterator[ImportedRequest]:
    """Requests of a detailed file. Raises ImportRefused where its lists do not go together."""
    lists = {key: result[key] for key in DETAIL if result.get(key) is not None}
    wrong = next((key for key, value in lists.items() if not isinstance(value, list)), None)
    if wrong is not None:
        raise ImportRefused(f"'{wrong}' has to be a list with one value a request")
    lengths = {key: len(value) for key, value in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ImportRefused(
            f"the per-request lists differ in length: {', '.join(f'{key} {n}' for key, n in lengths.items())}"
        )
    inputs, outputs, firsts, gaps, errors, latencies = (lists.get(key) for key in DETAIL[:6])
    for i in range(next(iter(lengths.values()), 0)):
        failed = bool(errors[i]) if errors is not None else None
        first, between = _seconds(firsts, i), gaps[i] if gaps is not None else None
        if isinstance(between, str):
            raise ImportRefused(f"itls of request {i} {between}")
        good = failed is False
        yield ImportedRequest(
            warmup=False,
            succeeded=None if failed is None else good,
            prompt_tokens=_count(inputs, i),
            completion_tokens=_count(outputs, i) if good or failed is None else None,
            ttft_s=first if good or failed is None else None,
            e2e_s=_end(first, between, _seconds(latencies, i)) if good else None,
        )


def _end(first: float | None, between: float | None, stated: float | None) -> float | None:
    """Latency of a request: stated by newer versions, else the first token and every gap after it."""
    if stated is not None:
        return stated
    return first + between if first is not None and between is not None else None


def row_median_s(requests: tuple[ImportedRequest, ...]) -> float | None:
    """Median TTFT of the rows, which the tool always writes in seconds; None without rows."""
    found = [one.ttft_s for one in requests if one.ttft_s is not None and one.succeeded is not False]
    return median(found) if found else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)


def _seconds(values: list[Any] | None, i: int) -> float | None:
    return float(values[i]) if values is not None and _is_number(values[i]) else None


def _count(values: list[Any] | None, i: int) -> int | None:
    return int(values[i]) if values is not None and _is_number(values[i]) and values[i] >= 0 else None
