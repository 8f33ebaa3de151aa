"""Artifact folders of AIPerf: its summary, its rows, and the inputs it sent.

The definitions were read in aiperf 0.13.0 (metrics/types/*.py, transports/aiohttp_client.py), and both layouts of
`input_config` in files that 0.5.0 and 0.13.0 wrote. AIPerf counts tokens with a tokenizer of its own unless it is told
to take the server's counts; only counts of the server are taken for counts here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from lab.errors import ImportRefused
from lab.imports.reading import (
    Documents,
    FileRead,
    Result,
    flag,
    folders_with,
    mappings,
    number,
    part,
    prompt_name,
    read_documents,
    read_lines,
    sum_of,
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

FOLDER = "profile_export_aiperf.json"
"""The summary, whose name may have been changed with --profile-export-prefix."""

BEFORE = "counted from before a connection is taken; the lab counts from the hand-over to the socket"
CLIENT = "tokens counted by the client's tokenizer, without the chat template"
ITL = "(last token − first token) / (n − 1) of each request, as the lab's tpot_s, but "
SAID: dict[str, tuple[str, ...]] = {
    "time_to_first_token": (f"the same event, {BEFORE}",),
    "time_to_first_output_token": (f"the first token that is no reasoning, {BEFORE}",),
    "time_to_second_token": ("from the first chunk with a token to the second; the lab has no such metric",),
    "request_latency": (f"to the last chunk with a token, the finish chunk left out; {BEFORE}",),
    "inter_token_latency": (
        f"{ITL}n is of the client's tokenizer",
        f"{ITL}the tokens of the first chunk are subtracted, not one",
        f"{ITL}0 for an answer that came at once",
    ),
    "request_throughput": ("as the lab's request_rps_whole, but what fails after the last success is outside",),
    "output_token_throughput": (CLIENT, "as the lab's output_tok_per_s_whole, but failures after the last success "
                                "are outside"),
    "output_token_throughput_per_user": ("1 / inter_token_latency of each request",),
    "e2e_output_token_throughput": ("output tokens / latency of each request",),
    "prefill_throughput_per_user": ("prompt tokens / TTFT of each request: waiting counts as prefill",),
    "goodput": ("over the whole run and against this tool's own times",),
    "effective_concurrency": ("requests in flight, weighted by time; the lab reports what was asked",),
    "input_sequence_length": (CLIENT, "tokens of a prompt as the server counts them"),
    "output_sequence_length": (CLIENT, "tokens of an answer as the server counts them"),
}  # fmt: skip
"""How each metric differs from the lab's, in one way or, by how it was measured, in several."""

TIMES = (
    "time_to_first_token",
    "time_to_first_output_token",
    "time_to_second_token",
    "request_latency",
    "inter_token_latency",
    "inter_chunk_latency",
)
"""Times; gaps between chunks with a token, pooled, are the lab's chunk_gap_s."""

RATES = {
    "request_throughput": "req/s",
    "output_token_throughput": "tok/s",
    "output_token_throughput_per_user": "tok/s",
    "e2e_output_token_throughput": "tok/s",
    "prefill_throughput_per_user": "tok/s",
    "goodput": "req/s",
    "effective_concurrency": "requests",
    "input_sequence_length": "tokens",
    "output_sequence_length": "tokens",
}
"""Rates and lengths, and their units."""

STATISTICS = {
    "avg": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "min": "min", "max": "max", "std": "std",
}  # fmt: skip
COUNTED = frozenset(
    {
        "request_count", "completed_request_count", "error_request_count", "benchmark_duration",
        "total_usage_prompt_tokens", "total_usage_completion_tokens", "total_isl", "total_osl",
        "total_output_tokens",
    }
)  # fmt: skip
ABOUT = frozenset(
    {
        "schema_version", "aiperf_version", "benchmark_id", "input_config", "run_info", "was_cancelled", "is_complete",
        "error_summary", "start_time", "end_time", "warmup_metrics", "license", "licence",
    }
)  # fmt: skip
"""Keys of the summary that are no metric."""

ARRIVALS = {"concurrency": "closed", "concurrency_burst": "closed", "poisson": "poisson", "constant": "constant"}
"""Its laws of arrival in the lab's words; another keeps its name."""


class _Rows:
    """What the rows of a run add up to, taken one at a time."""

    def __init__(self, prompts: Mapping[tuple[str, int], str], server: bool, unit: Unit | None) -> None:
        self.kept: list[ImportedRequest] = []
        self._prompts = prompts
        self._server = server
        self._unit = unit
        self._latencies: list[float] = []
        self._gaps = [0.0, 0]
        self._tpots: list[float] = []
        self._asked: Counter[str] = Counter()

    def take(self, line: dict[str, Any]) -> None:
        about, metrics = part(line, "metadata"), part(line, "metrics")
        warmup = (text(about, "phase_kind") or text(about, "benchmark_phase")) == "warmup"
        failed = line.get("error") is not None
        turn = whole(about, "turn_index") or 0
        prompt = self._prompts.get((text(about, "conversation_id") or "", turn))
        tokens = self._count(metrics, "usage_prompt_tokens", "input_sequence_length")
        wrote = self._count(metrics, "usage_completion_tokens", "output_sequence_length")
        ttft_s, latency_s = (self._time(metrics, key) for key in ("time_to_first_token", "request_latency"))
        if not warmup and not failed:
            self._paced(metrics, ttft_s, latency_s, wrote)
        if not warmup and prompt is not None:
            self._asked[prompt] += 1
        if len(self.kept) < MOST_ROWS:
            self.kept.append(
                ImportedRequest(
                    prompt=prompt,
                    warmup=warmup,
                    succeeded=not failed,
                    prompt_tokens=tokens,
                    completion_tokens=None if failed else wrote,
                    ttft_s=None if failed else ttft_s,
                    e2e_s=None if failed else latency_s,
                )
            )

    @property
    def latency_s(self) -> float | None:
        """Mean latency of the measured rows."""
        return fmean(self._latencies) if self._latencies else None

    @property
    def repeats(self) -> int | None:
        """How often each prompt was sent; None: not known of each, or not equally often."""
        counts = set(self._asked.values())
        return counts.pop() if len(counts) == 1 else None

    def pacing(self, gap_p50_s: float | None) -> Pacing | None:
        """Gaps and times per token; None: the rows hold neither."""
        total, count = self._gaps
        if not count and not self._tpots:
            return None
        return Pacing(
            gap_mean_s=total / count if count else None,
            gap_p50_s=gap_p50_s,
            tpot_mean_s=fmean(self._tpots) if self._tpots else None,
        )

    def _paced(self, metrics: Result, ttft_s: float | None, latency_s: float | None, wrote: int | None) -> None:
        if latency_s is not None:
            self._latencies.append(latency_s)
        gaps = part(metrics, "inter_chunk_latency").get("value")
        if isinstance(gaps, list):
            total = sum_of(gaps)
            if total is None:
                raise ImportRefused("inter_chunk_latency has to be a list of numbers")
            self._gaps[0] += total * _factor(part(metrics, "inter_chunk_latency"), "inter_chunk_latency", self._unit)
            self._gaps[1] += len(gaps)
        if ttft_s is not None and latency_s is not None and wrote is not None and wrote > 1 and latency_s > ttft_s:
            self._tpots.append((latency_s - ttft_s) / (wrote - 1))

    def _count(self, metrics: Result, usage: str, own: str) -> int | None:
        """A count of the server's; the client's own is none."""
        found = whole(part(metrics, usage), "value")
        return whole(part(metrics, own), "value") if found is None and self._server else found

    def _time(self, metrics: Result, key: str) -> float | None:
        entry = part(metrics, key)
        value = number(entry, "value")
        return None if value is None else value * _factor(entry, key, self._unit)


def read_runs(path: Path, unit: Unit | None) -> tuple[tuple[tuple[FileRead, ...], tuple[dict[str, Any], ...]], ...]:
    """The runs of an artifact folder, or of a summary alone: its files, and fields of an `ImportedRecord`.

    Raises:
        ImportRefused: the folder has no summary, or a file is not what it should be.
    """
    if path.is_file():
        summaries: tuple[Path, ...] = (path,)
    else:
        summaries = _summaries(path)
    return tuple(_run(summary, whole_folder=path.is_dir(), unit=unit) for summary in summaries)


def _summaries(folder: Path) -> tuple[Path, ...]:
    if not folder.is_dir():
        raise ImportRefused(f"{shown(folder)} does not exist")
    named = folder / FOLDER
    found = (named,) if named.is_file() else tuple(sorted(folder.glob("*_aiperf.json")))
    if found:
        return found
    inside = [one for one in folders_with(folder, FOLDER) if one.parent.name != "phases"]
    if inside:
        names = ", ".join(shown(one) for one in inside[:4])
        raise ImportRefused(
            f"{shown(folder)} is no artifact folder itself: it holds {len(inside)} of them, {names}",
            f"lab import aiperf {shown(inside[0])}",
        )
    there = sorted(one.name for one in folder.iterdir())
    raise ImportRefused(
        f"{shown(folder)} is no artifact folder of aiperf: {FOLDER} is missing; it holds "
        f"{', '.join(there[:6]) or 'nothing'}",
        "name the folder that was given as --artifact-dir; a run in which no request succeeded has no summary",
    )


def _run(
    summary: Path, *, whole_folder: bool, unit: Unit | None
) -> tuple[tuple[FileRead, ...], tuple[dict[str, Any], ...]]:
    documents: Documents = read_documents(summary, "aiperf", SHAPE)
    if len(documents.results) != 1:
        raise ImportRefused(f"{shown(summary)} holds {len(documents.results)} summaries; a run has one")
    files = [documents.file]
    (result,) = documents.results
    try:
        server = flag(part(part(result, "input_config"), "endpoint"), "use_server_token_count") is True
        rows = _Rows(_prompts(summary.parent, files) if whole_folder else {}, server, unit)
        lines = summary.with_name(summary.name.removesuffix("_aiperf.json") + ".jsonl")
        if whole_folder and lines.is_file():
            files.append(read_lines(lines, "the rows of aiperf", rows.take))
        return tuple(files), (_fields(result, rows, server, unit),)
    except ImportRefused as problem:
        known = shown(summary.parent) in problem.what
        raise problem if known else ImportRefused(f"{shown(summary)}: {problem.what}", problem.next_step) from None


def _prompts(folder: Path, files: list[FileRead]) -> dict[tuple[str, int], str]:
    """What each turn of each session asks, by a name that is the same for the same words."""
    path = folder / "inputs.json"
    if not path.is_file():
        return {}
    found: dict[tuple[str, int], str] = {}

    def take(session: Any) -> None:
        if not isinstance(session, dict):
            return
        payloads = session.get("payloads")
        for turn, payload in enumerate(payloads if isinstance(payloads, list) else ()):
            name = prompt_name(payload) if isinstance(payload, dict) else None
            if name is not None:
                found[str(session.get("session_id")), turn] = name

    documents = read_documents(path, None, {"data": Each(keep=take)})
    files.append(documents.file)
    return found


SHAPE: Shape = {"warmup_metrics": Skip()}
"""What is built of a summary: everything but the metrics of the warm-up."""


def _fields(result: Result, rows: _Rows, server: bool, unit: Unit | None) -> dict[str, Any]:
    config = part(result, "input_config")
    counts = _counts(result, unit)
    known: Known = "in-the-names" if unit is None else "declared"
    load = _load(config, rows.repeats)
    summary = _Summary(result, unit)
    why = contradiction(
        ttft_s=summary.time("time_to_first_token", "avg"),
        latency_s=summary.time("request_latency", "avg"),
        rate_rps=number(part(result, "request_throughput"), "avg"),
        concurrency=load.concurrency,
        duration_s=counts.duration_s,
        row_latency_s=rows.latency_s,
    )
    if why is not None and unit is None:
        raise ImportRefused(f"the units of the file contradict each other: {why}", ASK)
    cancelled = flag(result, "was_cancelled") is True or flag(result, "is_complete") is False
    return {
        "tool_version": text(result, "aiperf_version"),
        "measured_at": text(result, "start_time"),
        "model": ModelStated(name=_model(config), tokenizer=text(part(config, "tokenizer"), "name")),
        "load": load,
        "counts": counts,
        "metrics": tuple(_metrics(result, summary, server, counts.failed)),
        "requests": tuple(rows.kept),
        "pacing": rows.pacing(summary.time("inter_chunk_latency", "p50")),
        "incomplete": "cancelled" if cancelled else None,
        "unread": tuple(
            key
            for key, value in result.items()
            if key not in ABOUT and key not in COUNTED and key not in TIMES and key not in RATES and value is not None
        ),
        "units": known,
        "licence": text(result, "license") or text(result, "licence"),
    }


class _Summary:
    """The metrics of a summary, each with the unit it names."""

    def __init__(self, result: Result, unit: Unit | None) -> None:
        self._result = result
        self._unit = unit

    def time(self, key: str, statistic: str) -> float | None:
        """One statistic of one time, seconds. Raises ImportRefused where its unit is not known."""
        entry = part(self._result, key)
        value = number(entry, statistic)
        return None if value is None else value * _factor(entry, key, self._unit)


def _factor(entry: Result, key: str, unit: Unit | None) -> float:
    """What makes seconds of a time. Raises ImportRefused where the file's word for its unit is none."""
    if unit is not None:
        return FACTORS[unit]
    word = text(entry, "unit")
    if word is None or word not in FACTORS:
        raise ImportRefused(f"the unit of {key} is '{word}', which is no unit of time", ASK)
    return FACTORS[word]


def _counts(result: Result, unit: Unit | None) -> Counts:
    succeeded, failed, completed = (
        whole(part(result, key), "avg") for key in ("request_count", "error_request_count", "completed_request_count")
    )
    if failed is None:
        if completed is not None and succeeded is not None:
            failed = completed - succeeded if completed >= succeeded else None
        elif "error_summary" in result:
            failed = sum(whole(one, "count") or 0 for one in mappings(result, "error_summary"))
    duration = part(result, "benchmark_duration")
    seconds = number(duration, "avg")
    unit = None if text(duration, "unit") in FACTORS else unit  # declared is the unit of latencies
    return Counts(
        requests=completed if completed is not None else _sum(succeeded, failed),
        succeeded=succeeded,
        failed=failed,
        input_tokens=whole(part(result, "total_usage_prompt_tokens"), "avg"),
        output_tokens=whole(part(result, "total_usage_completion_tokens"), "avg"),
        duration_s=None if seconds is None else seconds * _factor(duration, "benchmark_duration", unit),
    )


def _metrics(result: Result, summary: _Summary, server: bool, failed: int | None) -> Iterator[ImportedMetric]:
    endpoint = part(part(result, "input_config"), "endpoint")
    for key in (*TIMES, *RATES):
        entry = part(result, key)
        name, differs = _definition(key, entry, endpoint, server=server, whole_run=failed == 0)
        one = all(number(entry, short) is None for short in STATISTICS if short != "avg")
        for short, statistic in STATISTICS.items():
            value = summary.time(key, short) if key in TIMES else number(entry, short)
            if value is not None:
                yield ImportedMetric(
                    name=name or f"aiperf:{key}",
                    statistic=None if one and key in RATES else statistic,
                    value=value,
                    unit=RATES.get(key, "s"),
                    key=f"{key}.{short}",
                    differs=differs,
                )


def _definition(
    key: str, entry: Result, endpoint: Result, *, server: bool, whole_run: bool
) -> tuple[str | None, str | None]:
    """The lab's name of a metric where the definition is the lab's, else how it differs.

    Args:
        key: of the metric.
        entry: its values.
        endpoint: how the server was asked.
        server: whether tokens are counted by the server.
        whole_run: whether nothing failed, so that the run ends with the last success.
    """
    if key == "inter_chunk_latency":
        return "chunk_gap_s", None
    said = SAID[key]
    if key == "inter_token_latency":
        if not server or flag(endpoint, "per_chunk_usage"):
            return None, said[1 if server else 0]
        return ("tpot_s", None) if number(entry, "min") else (None, said[2])
    if key == "request_throughput":
        return ("request_rps_whole", None) if whole_run else (None, said[0])
    if key == "output_token_throughput" and server and whole_run:
        return "output_tok_per_s_whole", None
    return None, said[-1 if server else 0]


def _load(config: Result, repeats: int | None) -> LoadStated:
    """The load, out of either layout of the configuration."""
    endpoint = part(config, "endpoint")
    if "phases" in config:
        phases, data = mappings(config, "phases"), mappings(config, "datasets")
        measured = [one for one in phases if one.get("kind", one.get("name")) != "warmup"]
        warm = [one for one in phases if one.get("kind", one.get("name")) == "warmup"]
        one: Result = measured[0] if len(measured) == 1 else {}  # several phases are several loads
        source: Result = data[0] if len(data) == 1 else {}
        extra: Any = endpoint.get("extra")
        lengths = part(source, "prompts") or source
        isl, osl = part(lengths, "isl"), part(lengths, "osl")
        law = text(one, "type")
        requests, rate = whole(one, "requests"), number(one, "rate")
        warmup = sum(whole(phase, "requests") or 0 for phase in warm) if phases else None
        seed, concurrency = whole(source, "random_seed"), whole(one, "concurrency")
    else:
        given, load = part(config, "input"), part(config, "loadgen")
        extra = given.get("extra")
        prompt = part(given, "prompt")
        isl, osl = part(prompt, "input_tokens"), part(prompt, "output_tokens")
        rate = number(load, "request_rate")
        law = text(load, "arrival_pattern") or text(load, "request_rate_mode") or ("concurrency" if load else None)
        requests, warmup = whole(load, "request_count"), whole(load, "warmup_request_count")
        seed, concurrency = whole(given, "random_seed"), whole(load, "concurrency")
        warmup = 0 if warmup is None and load else warmup  # it sends none unless it is told to
    extras = _extras(extra)
    temperature = extras.get("temperature")
    return LoadStated(
        endpoint=text(endpoint, "type"),
        arrival=None if law is None else ARRIVALS.get(law, law),
        concurrency=concurrency,
        rate_rps=rate,
        requests=requests,
        input_tokens=_mean(isl),
        output_tokens=_mean(osl),
        exact_output=bool(extras["ignore_eos"])
        if "ignore_eos" in extras
        else None
        if "min_tokens" in extras
        else False,
        warmup_requests=warmup,
        repeats=repeats,
        seed=seed,
        temperature=None if temperature is None else number({"temperature": temperature}, "temperature"),
    )


def _extras(given: Any) -> dict[str, Any]:
    """Fields that were added to every request: a mapping, or pairs."""
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, list) and all(isinstance(one, list) and len(one) == 2 for one in given):
        return {str(name): value for name, value in given}
    return {}


def _mean(lengths: Result) -> int | None:
    """An asked length; None where it is spread."""
    mean = number(lengths, "mean")
    spread = number(lengths, "stddev") or number(lengths, "std")
    return int(mean) if mean is not None and not spread and mean == int(mean) and mean >= 0 else None


def _model(config: Result) -> str | None:
    names = part(config, "endpoint").get("model_names")
    if names is None:
        names = [text(one, "name") for one in mappings(part(config, "models"), "items")]
    return ", ".join(map(str, names)) if isinstance(names, list) and names else None


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
