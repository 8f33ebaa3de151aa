"""What records betray beside their labels: why runs that carry the same names are not the same match.

`lab.match` compares what the lab asked and read back. A record of somebody else's has neither, and a label may be equal
where the run was not: one workload id with other prompts behind it, one machine name with two hosts. So this looks at
what was counted and timed: tokens read and written, finish reasons, gaps between chunks, rounds over the same prompts.

It reads imported records and the lab's own runs through one view, `Trace`. A field nobody recorded is not recorded,
so not comparable: it never passes.
"""

from __future__ import annotations

import base64
import hashlib
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from statistics import fmean
from typing import Any

from pydantic import Field

from lab.conditions import Condition, Value, agree
from lab.environment import Environment
from lab.evidence import RunRecord
from lab.imports.record import ImportedRecord, ImportedScore
from lab.match import MAY_DIFFER, MUST_BE_KNOWN, Kind, Mismatch, Side, Topic, side_of
from lab.metrics.counted import Counted
from lab.records import EvidenceGrade, RunId
from lab.spec import Frozen

BURST = 0.05
"""A median gap below this share of the mean gap: most chunks come at once with the one before."""

SEVERAL = 1.3
"""Mean gap over mean time per token from which a chunk holds several tokens."""

WARMED = 0.15
"""Share by which the TTFT of a later round, or of a measured repeat, differs before it is named."""

MORE_CACHED = 0.05
"""Share of the prompt tokens from the cache beyond what the prompts have in common: the template is common too."""

OFF_LENGTH = 0.05
"""Share by which the mean prompt may miss the asked length: the template takes some tokens."""


class Sign(StrEnum):
    """What a record betrays."""

    DIFFERS = "differs"
    """A field that is recorded everywhere, or in part, with other values."""
    NOT_RECORDED = "not-recorded"
    """A field that at least one record does not say: not comparable, never passed."""
    KV_NAMED_OR_RESOLVED = "kv-named-or-resolved"
    """One record names the KV format it asked for, another what the engine made of it."""
    PROMPT_TOKENS = "prompt-tokens"
    """One workload, other numbers of tokens read."""
    SAME_PROMPT = "same-prompt"
    """One prompt by its id, other numbers of tokens."""
    PROMPT_LENGTH = "prompt-length"
    """Prompts are not as long as the workload says."""
    ANSWER_LENGTH = "answer-length"
    """Other numbers of tokens written."""
    SAME_QUESTION = "same-question"
    """One prompt by its id, answered with other numbers of tokens."""
    FINISH = "finish"
    """Answers end for other reasons."""
    VERSION_KIND = "version-kind"
    """A release, a branch, a bare commit."""
    SPECULATION = "speculation"
    """Other ways of drafting tokens ahead."""
    HOSTS = "hosts"
    """One machine class, several hosts or drivers."""
    CHUNKS = "chunks"
    """Chunks hold several tokens, or come in bursts: gaps between them are no times of a token."""
    WARMED_BY_WARMUP = "warmed-by-warmup"
    """Warm-up and the measured part have prompts in common."""
    SENT_AGAIN = "sent-again"
    """The same prompts are sent several times to one running engine."""
    FIRST_ROUND = "first-round"
    """TTFT of the first round over the prompts is another than later."""
    PROMPTS_AGAIN = "prompts-again"
    """A run of the lab sends prompts of its source again."""
    CACHED = "cached"
    """More of the prompts came from the cache than they have in common."""
    ONE_ROUND_SHOWN = "one-round-shown"
    """The run's numbers are those of one round out of several."""
    OTHER_TASKS = "other-tasks"
    """Scores of other tasks, or of the same with other items, shots or versions."""
    SCORE_PATH = "score-path"
    """A score whose path (engine, template, formats) was not recorded whole."""
    OTHER_TOOL = "other-tool"
    """Measured by other tools, or by this lab and somebody else's tool."""
    IMPORTED = "imported"
    """Nobody here saw it."""


class Limit(StrEnum):
    """What no record of the kind at hand can tell."""

    CAUSE = "cause"
    TEXT = "text"
    SUCCESS = "success"
    LAUNCHES = "launches"
    ROWS = "rows"
    UNNAMED = "unnamed"
    NOTES = "notes"
    QUALITY = "quality"
    SCORED = "scored"


class Finding(Frozen):
    """One thing that speaks against standing side by side, or a footnote."""

    topic: Topic
    sign: Sign
    field: str | None
    """What DIFFERS and NOT_RECORDED are about, as `field-…` of the catalogue or a condition."""
    values: tuple[dict[str, str] | None, ...]
    """One for each run: the arguments of the sentence about it; None: this record does not say."""
    refuses: bool
    run_ids: tuple[RunId, ...]


class Unknown(Frozen):
    """What cannot be known from these records."""

    limit: Limit
    values: tuple[dict[str, str] | None, ...]
    """One for each run, or empty where it holds for all alike."""


class Asked(Frozen):
    """One request as far as it is recorded."""

    prompt: str | None
    iteration: int | None
    warmup: bool | None
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str | None
    ttft_s: float | None


class Round(Frozen):
    """One round of the load."""

    ttft_mean_s: float | None
    ttft_p50_s: float | None
    ttft_p99_s: float | None


class Trace(Frozen):
    """What is looked at of one run, imported or the lab's own."""

    run_id: RunId
    grade: EvidenceGrade
    tool: str
    facts: dict[str, Value | None]
    """Plain fields by the names of `FIELDS`; None and left out mean the same: not recorded."""
    named: dict[Condition, Value]
    """Conditions as they were asked for."""
    resolved: dict[Condition, Value]
    """Conditions as the running engine showed them, or as a note says it did."""
    engine: str | None
    version: str | None
    commit: str | None
    speculation: str | None
    """Method and tokens in the engine's own words; None: not recorded."""
    speculation_detail: str = ""
    requests: int | None
    """Successes that the token counts are over."""
    input_tokens: int | None
    """None where a request failed: then the mean is over other prompts."""
    output_tokens: int | None
    asked_input: int | None
    asked_output: int | None
    cached_tokens: int | None = None
    """Prompt tokens the server says it took from its cache."""
    planned_share: float | None = None
    """Share of a prompt that the workload makes common; None: nobody planned it."""
    gap_mean_s: float | None
    gap_p50_s: float | None
    tpot_mean_s: float | None
    ends: dict[str, int] = Field(default_factory=dict)
    """How all answers ended; empty: only rows say it, or nothing does."""
    again: int = 0
    """Requests whose prompt the run had sent before."""
    rows: tuple[Asked, ...]
    rounds: tuple[Round, ...]
    chosen_round: int | None
    unnamed: tuple[str, ...] = ()
    """Launch arguments that the lab has no name for."""
    scores: tuple[ImportedScore, ...] = ()
    """Of somebody else's record; the lab's own scores are compared elsewhere, item by item."""
    timed: bool = True
    """False: the record holds scores and nothing else."""
    notes: int = 0
    """Pieces of free text."""


FIELDS: tuple[tuple[Topic, str, bool], ...] = (
    (Topic.MODEL, "model.name", True),
    (Topic.MODEL, "model.revision", True),
    (Topic.MODEL, "model.weights", True),
    (Topic.QUANTIZATION, "quantization", True),
    (Topic.PROMPT, "chat_template", True),
    (Topic.PROMPT, "thinking", True),
    (Topic.PROMPT, "temperature", True),
    (Topic.PROMPT, "sampling", True),
    (Topic.WORKLOAD, "workload.name", False),
    (Topic.WORKLOAD, "workload.arrival", True),
    (Topic.WORKLOAD, "workload.concurrency", True),
    (Topic.WORKLOAD, "workload.requests", True),
    (Topic.WORKLOAD, "workload.input_tokens", True),
    (Topic.WORKLOAD, "workload.output_tokens", True),
    (Topic.WORKLOAD, "workload.exact_output", True),
    (Topic.WORKLOAD, "workload.warmup_requests", True),
    (Topic.WORKLOAD, "workload.seed", True),
    (Topic.SETTINGS, "install", False),
    (Topic.HARDWARE, "machine.name", True),
    (Topic.HARDWARE, "machine.accelerators", True),
    (Topic.MEASUREMENT, "isolation", True),
    (Topic.MEASUREMENT, "cache_state", True),
)
"""Topic, field, and whether it refuses; in the order in which to fix them within their topic."""

SCORE_FIELDS = ("model.name", "model.revision", "quantization", "chat_template")
"""Plain fields that a score's path has beside engine and version."""

FURTHER_FIELDS = ("workload.read", "workload.wrote", "engine", "engine_version")
"""Fields that findings are about beside `FIELDS` and conditions: computed, or never a reason by differing alone."""

CONDITIONS = tuple(
    one
    for one in Condition
    if one
    not in {
        Condition.KV_CACHE_DTYPE,  # a sign of its own: named or resolved
        Condition.SPECULATIVE,  # so is this
        Condition.CHAT_TEMPLATE,
        Condition.CHAT_TEMPLATE_KWARGS,
        Condition.SAMPLING_DEFAULTS,
        Condition.SEED,
        Condition.METRICS,
        Condition.REQUEST_LOG,
        Condition.TELEMETRY,
    }
)
"""Conditions that are compared by the value the launch or the running engine gives them."""

HOST_FACTS = (
    "machine.fingerprint",
    "machine.gpus",
    "machine.driver",
    "machine.cuda",
    "machine.kernel",
    "machine.memory_gb",
)


def trace_of_import(record: ImportedRecord) -> Trace:
    """The view of somebody else's record."""
    load, machine, counts = record.load, record.machine, record.counts
    tool = record.source.tool
    explained = {"disable-thinking"} if record.thinking is not None else set()
    explained |= set(record.speculation.arguments) if record.speculation else set()
    whole = not counts.failed and (counts.requests is None or counts.succeeded == counts.requests)
    kinds = {"gap": "itl", "tpot": "tpot"}
    mean = {short: record.metric(f"{tool}:{name}", "mean") for short, name in kinds.items()}
    pacing, path = record.pacing, record.score_path
    template: str | None = None  # one that a server applied is not recorded
    if path is not None and path.chat_template in ("by-the-tool", "none"):
        template = path.chat_template_sha256 if path.chat_template == "by-the-tool" else "none"
    return Trace(
        run_id=record.run_id,
        grade=EvidenceGrade.IMPORTED,
        tool=f"{tool} {record.source.tool_version or ''}".strip(),
        facts={
            "model.name": record.model.name,
            "model.revision": record.model.revision,
            "quantization": record.model.quantization,
            "chat_template": template,
            "thinking": record.thinking,
            "install": record.engine.install,
            "temperature": load.temperature,
            "workload.name": load.workload,
            "workload.arrival": load.arrival,
            "workload.concurrency": load.concurrency,
            "workload.requests": load.requests,
            "workload.input_tokens": load.input_tokens,
            "workload.output_tokens": load.output_tokens,
            "workload.exact_output": load.exact_output,
            "workload.warmup_requests": load.warmup_requests,
            "workload.seed": load.seed,
            "workload.repeats": load.repeats,
            "machine.name": machine.name,
            "machine.accelerators": machine.accelerators,
            "machine.fingerprint": machine.fingerprint,
            "machine.driver": machine.driver,
            "machine.cuda": machine.cuda,
            "machine.kernel": machine.kernel,
            "machine.memory_gb": machine.memory_gb,
            "isolation": machine.alone,
        },
        named={one: value for one in Condition if (value := record.named(one)) is not None},
        resolved={one.condition: one.value for one in record.from_notes},
        engine=record.engine.name,
        version=record.engine.version,
        commit=record.engine.commit,
        speculation=None
        if record.speculation is None
        else record.speculation.method
        + ("" if record.speculation.tokens is None else f", {record.speculation.tokens}"),
        speculation_detail=record.speculation.detail if record.speculation else "",
        requests=counts.succeeded,
        input_tokens=counts.input_tokens if whole else None,
        output_tokens=counts.output_tokens if whole else None,
        asked_input=load.input_tokens,
        asked_output=load.output_tokens,
        gap_mean_s=pacing.gap_mean_s if pacing else mean["gap"],
        gap_p50_s=pacing.gap_p50_s if pacing else record.metric(f"{tool}:itl", "p50"),
        tpot_mean_s=pacing.tpot_mean_s if pacing else mean["tpot"],
        rows=tuple(
            Asked(
                prompt=one.prompt,
                iteration=one.iteration,
                warmup=one.warmup,
                prompt_tokens=one.prompt_tokens,
                completion_tokens=one.completion_tokens,
                finish_reason=one.finish_reason,
                ttft_s=one.ttft_s,
            )
            for one in record.requests
            if one.succeeded is not False
        ),
        rounds=tuple(
            Round(ttft_mean_s=one.ttft_mean_s, ttft_p50_s=one.ttft_p50_s, ttft_p99_s=one.ttft_p99_s)
            for one in record.iterations
        ),
        chosen_round=record.chosen_iteration,
        unnamed=tuple(one.name for one in record.settings if one.condition is None and one.name not in explained),
        scores=record.scores,
        timed=bool(record.metrics or record.requests or not record.scores),
        notes=len(record.notes),
    )


class Host(Frozen):
    """What tells one host of a machine class from another."""

    driver: str | None = None
    """Of its GPUs; None: it has none, or they tell no plain version."""
    gpus: str | None = None
    """`h-` and a digest of the serial numbers of its GPUs; None: it has none."""


def host_of(environment: Environment | None, within: str = "") -> Host:
    """The host of a run. One without a GPU has nothing that stays the same in a container: it is not known.

    Args:
        environment: what was captured; None: nothing.
        within: what the name of the host holds for, a match_id: a host has another name in every match, so that
            published pages cannot be joined by it. A serial number is random and 122 bits long: no digest gives it
            away.
    """
    gpus = environment.gpus if environment else ()
    if not gpus:
        return Host()
    serials = " ".join(sorted(gpu.uuid for gpu in gpus))
    serial = hashlib.sha256(f"lab/host/1/{within}/{serials}".encode()).digest()
    driver = gpus[0].driver
    return Host(
        driver=driver if re.fullmatch(r"\d{2,4}(\.\d{1,4}){1,3}", driver) else None,
        gpus="h-" + base64.b32encode(serial).decode().lower()[:10],
    )


def trace_of_run(record: RunRecord, grade: EvidenceGrade) -> Trace:
    """The view of one of the lab's own runs."""
    isolation = None if record.spec.isolation is None else record.spec.isolation == "exclusive"
    return trace_of_side(side_of(record, grade), record.counted, host_of(record.environment), isolation)


def trace_of_side(side: Side, counted: Counted | None, host: Host, isolation: bool | None) -> Trace:
    """The view of one of the lab's own runs, private or public: the same for both.

    Args:
        side: what was asked and read back.
        counted: what its load gives away; None: nothing is known.
        host: where it ran.
        isolation: whether the team declared that nothing else ran; None: it declared nothing.
    """
    asked, spec, machine = side.workload, side.asked, side.machine
    model, sampling, profile = spec["model"], spec["sampling"], spec["profile"]
    found = counted if counted is not None and counted.whole else None
    facts: dict[str, Value | None] = {
        "model.name": model["series"],
        "model.revision": model["revision"],
        "model.weights": model["weights_sha256"],
        "quantization": spec["quantization"]["weights"],
        "chat_template": model.get("chat_template_sha256") or model["chat_template"],
        "thinking": _flag(spec["chat_template_kwargs"].get("enable_thinking")),
        "temperature": sampling["temperature"],
        "sampling": f"top_p {sampling['top_p']:g}, top_k {sampling['top_k']}, min_p {sampling['min_p']:g}",
        "workload.name": asked.name,
        "workload.arrival": asked.arrival,
        "workload.concurrency": ", ".join(map(str, asked.concurrency)) or None,
        "workload.requests": asked.requests_per_level,
        "workload.input_tokens": asked.input_tokens,
        "workload.output_tokens": asked.output_tokens,
        "workload.exact_output": asked.exact_output,
        "workload.warmup_requests": asked.warmup_requests,
        "workload.seed": asked.seed,
        "machine.name": None if machine is None else machine.accelerator or machine.machine,
        "machine.driver": host.driver,
        "machine.gpus": host.gpus,
        "isolation": isolation,
        "cache_state": side.cache_state,
    }
    return Trace(
        run_id=side.run_id,
        grade=side.grade,
        tool=f"lab {side.lab_version}",
        facts=facts,
        named={condition: value for condition, value in side.wanted.items() if value is not None},
        resolved=dict(side.effective),
        engine=spec["engine"],
        version=side.engine_version,
        commit=None,
        speculation=profile["speculative"]
        + ("" if profile["speculative_tokens"] is None else f", {profile['speculative_tokens']}"),
        requests=counted.requests if counted else None,
        input_tokens=found.input_tokens if found else None,
        output_tokens=found.output_tokens if found else None,
        asked_input=asked.input_tokens,
        asked_output=asked.output_tokens,
        cached_tokens=counted.cached_tokens if counted else None,
        planned_share=asked.shared_prefix_tokens / asked.input_tokens if asked.input_tokens else None,
        gap_mean_s=counted.gap_mean_s if counted else None,
        gap_p50_s=counted.gap_p50_s if counted else None,
        tpot_mean_s=counted.tpot_mean_s if counted else None,
        ends={str(reason): n for reason, n in counted.finish_reasons.items()} if counted else {},
        rows=tuple(
            Asked(
                prompt=f"#{one.index + 1}",
                iteration=None,
                warmup=False,
                prompt_tokens=one.prompt_tokens,
                completion_tokens=one.completion_tokens,
                finish_reason=None,
                ttft_s=None,
            )
            for one in (counted.sample if counted else ())
        ),
        rounds=tuple(
            Round(ttft_mean_s=one.ttft_mean_s, ttft_p50_s=one.ttft_p50_s, ttft_p99_s=one.ttft_p99_s)
            for one in (counted.sendings if counted else ())
        ),
        again=counted.again if counted else 0,
        chosen_round=None,
    )


class Betrayal(Mismatch):
    """A finding as one of the reasons that `lab.match` gives."""

    finding: Finding


def betrayals(traces: Sequence[Trace]) -> tuple[Betrayal, ...]:
    """What the lab's own runs betray beside each other, as reasons and footnotes; nothing for fewer than two."""
    return tuple(
        Betrayal(
            topic=one.topic,
            field=one.sign.value,
            kind=Kind.BETRAYED,
            values=(None,) * len(one.values),
            refuses=one.refuses,
            run_ids=one.run_ids,
            finding=one,
        )
        for one in (betray(traces) if len(traces) > 1 else ())
    )


def betray(traces: Sequence[Trace]) -> tuple[Finding, ...]:
    """Everything these records betray, in the order in which a meeting should fix it: what refuses, then footnotes.

    Plain fields are compared only where an imported record is among them: of the lab's own runs `lab.match` compares
    what was asked and read back.
    """
    looks = _Looks(traces)
    plain = any(one.grade is EvidenceGrade.IMPORTED for one in traces)
    found = [*(looks.fields() if plain else ()), *looks.signs(plain=plain)]
    topics = list(Topic)
    order = {one: number for number, one in enumerate(_ORDER)}
    return tuple(
        sorted(found, key=lambda one: (not one.refuses, topics.index(one.topic), order.get(one.sign, len(order))))
    )


_ORDER = (Sign.DIFFERS, *(one for one in Sign if one not in (Sign.DIFFERS, Sign.NOT_RECORDED)), Sign.NOT_RECORDED)
"""Within a topic: what is known to differ, what is betrayed, what nobody wrote down."""


def unknown(traces: Sequence[Trace]) -> tuple[Unknown, ...]:
    """What these records cannot tell, whatever is done with them."""
    imported = [one for one in traces if one.grade is EvidenceGrade.IMPORTED]
    if not imported:
        return ()
    if not any(one.timed for one in traces):
        return (Unknown(limit=Limit.SCORED, values=()), Unknown(limit=Limit.LAUNCHES, values=()))
    rows: list[dict[str, str] | None] = [
        {"rows": str(len(one.rows)), "requests": "?" if one.requests is None else f"{one.requests:,}"}
        if one.grade is EvidenceGrade.IMPORTED and one.timed
        else None
        for one in traces
    ]
    found = [Unknown(limit=limit, values=()) for limit in (Limit.CAUSE, Limit.TEXT, Limit.SUCCESS, Limit.LAUNCHES)]
    if any(one.timed and (one.requests is None or len(one.rows) < one.requests) for one in imported):
        found.append(Unknown(limit=Limit.ROWS, values=tuple(rows)))
    if any(one.unnamed for one in traces):
        names: list[dict[str, str] | None] = [
            {"names": ", ".join(one.unnamed)} if one.unnamed else None for one in traces
        ]
        found.append(Unknown(limit=Limit.UNNAMED, values=tuple(names)))
    if any(one.notes for one in traces):
        notes: list[dict[str, str] | None] = [{"notes": str(one.notes)} if one.notes else None for one in traces]
        found.append(Unknown(limit=Limit.NOTES, values=tuple(notes)))
    return (*found, Unknown(limit=Limit.QUALITY, values=()))


def version_kind(version: str | None, commit: str | None) -> str | None:
    """`release`, `candidate`, `branch` or `commit`, by how a version is written; None: nothing is recorded."""
    word = (version or "").strip().rpartition(" ")[2].removeprefix("v")  # a package's name may stand in front
    if not word:
        return "commit" if commit else None
    if re.fullmatch(r"[0-9a-f]{7,40}", word) and re.search(r"[a-f]", word):
        return "commit"
    plain = re.sub(r"\+(cpu|xpu|cu\d+|rocm[\d.]*)$", "", word)  # which hardware it was built for
    if re.fullmatch(r"\d+(\.\d+)+(\.?post\d+)?|b\d{3,6}", plain):  # llama.cpp numbers its releases b1234
        return "release"
    if re.fullmatch(r"\d+(\.\d+)+[.-]?(a|b|rc|alpha|beta|pre)[.-]?[\w.-]*", plain):
        return "candidate"
    return "branch"


class _Looks:
    """What is found in several records."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        self._run_ids = tuple(one.run_id for one in traces)

    def fields(self) -> Iterator[Finding]:
        """Every plain field and condition: other values, or not recorded everywhere."""
        timed = any(one.timed for one in self._traces)
        for topic, field, refuses in FIELDS:
            if topic in (Topic.WORKLOAD, Topic.MEASUREMENT) and not timed:
                continue  # a score has no load
            values = [one.facts.get(field) for one in self._traces]
            same = _one_name if field == "model.name" else operator.eq
            yield from self._field(topic, field, values, refuses, must=refuses, same=same)
        for condition in CONDITIONS:
            asked = [one.resolved.get(condition, one.named.get(condition)) for one in self._traces]
            topic = Topic.QUANTIZATION if condition is Condition.COMPUTE_DTYPE else Topic.SETTINGS
            hard = condition not in MAY_DIFFER
            must = condition in (*MUST_BE_KNOWN, Condition.TENSOR_PARALLEL, Condition.COMPUTE_DTYPE)
            yield from self._field(topic, condition.value, asked, hard, must=must, same=partial(agree, condition))

    def _field(
        self,
        topic: Topic,
        field: str,
        values: Sequence[Value | None],
        refuses: bool,
        *,
        must: bool,
        same: Callable[[Any, Any], bool],
    ) -> Iterator[Finding]:
        known = [value for value in values if value is not None]
        if any(not same(known[0], value) for value in known):
            yield self._found(topic, Sign.DIFFERS, [_shown(value) for value in values], refuses, field)
        elif len(known) < len(values) and must:
            yield self._found(topic, Sign.NOT_RECORDED, [_shown(value) for value in values], refuses, field)

    def signs(self, *, plain: bool) -> Iterator[Finding]:
        """What counts and times give away.

        Of the lab's own runs, what two engines do otherwise with one and the same load is a footnote: each run has its
        raw streams, and the lab's metrics are computed from these.
        """
        if plain:
            yield from self._engine()
            yield from self._kv()
        yield from self._versions(plain)
        yield from self._speculation(plain)
        yield from self._hosts(plain)
        yield from self._prompts(plain)
        yield from self._same_prompt()
        if plain:  # the lab asks for a length without the template, and keeps what was not exact
            yield from self._asked_length()
        yield from self._answers(plain)
        yield from self._same_question(plain)
        yield from self._chunks(plain)
        yield from self._warmup(plain)
        yield from self._again()
        yield from self._prompts_again()
        yield from self._cached()
        yield from self._first_round(plain)
        yield from self._one_round()
        yield from self._scores()
        tools = [one.tool for one in self._traces]
        if len(set(tools)) > 1 and plain:
            yield self._found(Topic.MEASUREMENT, Sign.OTHER_TOOL, [{"tool": one} for one in tools], True)
        if plain:
            grades = [{"grade": one.grade.value} for one in self._traces]
            yield self._found(Topic.MEASUREMENT, Sign.IMPORTED, grades, True)

    def _engine(self) -> Iterator[Finding]:
        """The engine may be what differs; it has to be known."""
        if any(one.engine is None for one in self._traces):
            names = [_shown(one.engine) for one in self._traces]
            yield self._found(Topic.SETTINGS, Sign.NOT_RECORDED, names, True, "engine")

    def _kv(self) -> Iterator[Finding]:
        """The KV format: what was asked for is not what was resolved."""
        condition = Condition.KV_CACHE_DTYPE
        named = [one.named.get(condition) for one in self._traces]
        resolved = [one.resolved.get(condition) for one in self._traces]
        values: list[dict[str, str] | None] = [
            None if a is None and b is None else {"named": str(a or "—"), "resolved": str(b or "—")}
            for a, b in zip(named, resolved, strict=True)
        ]
        known = [b if b is not None else a for a, b in zip(named, resolved, strict=True)]
        if any(value is None for value in known):
            yield self._found(Topic.QUANTIZATION, Sign.NOT_RECORDED, values, True, condition.value)
        elif any(
            not agree(condition, known[0], value) for value in known if value is not None and known[0] is not None
        ):
            yield self._found(Topic.QUANTIZATION, Sign.DIFFERS, [_shown(one) for one in known], True, condition.value)
        elif any(value is None for value in resolved):
            yield self._found(Topic.QUANTIZATION, Sign.KV_NAMED_OR_RESOLVED, values, True)

    def _versions(self, refuses: bool) -> Iterator[Finding]:
        """Kinds of versions; of the lab's own runs only where they differ: `lab.match` compares the versions."""
        kinds = [version_kind(one.version, one.commit) for one in self._traces]
        values: list[dict[str, str] | None] = [
            None if kind is None else {"kind": kind, "version": str(one.version or one.commit)}
            for one, kind in zip(self._traces, kinds, strict=True)
        ]
        if set(kinds) == {None} and refuses:
            yield self._found(Topic.SETTINGS, Sign.NOT_RECORDED, values, True, "engine_version")
        elif set(kinds) != {"release"} if refuses else len(set(kinds) - {None}) > 1:
            yield self._found(Topic.SETTINGS, Sign.VERSION_KIND, values, refuses)

    def _speculation(self, refuses: bool) -> Iterator[Finding]:
        """Ways of drafting; of the lab's own runs `lab.match` compares the setting, and two engines with one word
        for it draft with two programs."""
        values = [
            None
            if one.speculation is None
            else {"how": f"{one.speculation} ({one.speculation_detail})" if one.speculation_detail else one.speculation}
            for one in self._traces
        ]
        said = [one.speculation for one in self._traces]
        drafts = [one for one in said if one not in (None, "off")]
        if drafts or None in said:
            several = len(set(said)) > 1 or len({one.engine for one in self._traces}) > 1
            sign = Sign.SPECULATION if drafts and several else Sign.NOT_RECORDED if None in said else None
            if sign is not None:
                field = None if sign is Sign.SPECULATION else Condition.SPECULATIVE.value
                shown = values if sign is Sign.SPECULATION else [_shown(one) for one in said]
                yield self._found(Topic.SETTINGS, sign, shown, refuses, field)

    def _hosts(self, plain: bool) -> Iterator[Finding]:
        """One machine class behind which stand several hosts; of the lab's own runs another driver refuses."""
        names = {one.facts.get("machine.name") for one in self._traces}
        apart = [
            field
            for field in HOST_FACTS
            if len({value for one in self._traces if (value := one.facts.get(field)) is not None}) > 1
        ]
        silent = plain and any(one.facts.get("machine.driver") is None for one in self._traces)
        if len(names) == 1 and None not in names and (apart or silent):
            fields = apart or ["machine.driver"]
            values = []
            for one in self._traces:
                values.append({field.removeprefix("machine."): _short(one.facts.get(field)) for field in fields})
            yield self._found(Topic.HARDWARE, Sign.HOSTS, values, plain or "machine.driver" in apart)

    def _prompts(self, plain: bool) -> Iterator[Finding]:
        """Tokens read: the same conversations are as long on every engine, or something else was read."""
        same = self._one("workload.name") or self._one("workload.input_tokens")
        means = [_mean(one.input_tokens, one.requests) for one in self._traces]
        known = [mean for mean in means if mean is not None]
        if not plain and len({one.requests for one in self._traces}) > 1:
            return  # bounded by time, so over other prompts
        if same and len(known) > 1 and max(known) - min(known) > 0.05:
            values: list[dict[str, str] | None] = [
                None if mean is None else {"total": f"{one.input_tokens:,}", "mean": f"{mean:.1f}"}
                for one, mean in zip(self._traces, means, strict=True)
            ]
            yield self._found(Topic.PROMPT, Sign.PROMPT_TOKENS, values, True)
        elif plain and not same:  # of the lab's own runs lab.match names the workload
            read = [None if mean is None else round(mean, 1) for mean in means]
            yield from self._field(Topic.WORKLOAD, "workload.read", read, True, must=False, same=operator.eq)

    def _same_prompt(self) -> Iterator[Finding]:
        """One prompt by its id, read with other numbers of tokens, and whether the difference is one number."""
        lengths = [_by_prompt(one.rows, "prompt_tokens") for one in self._traces]
        apart = _apart(lengths)
        if not apart:
            return
        first = next(one for one in lengths if one)
        values: list[dict[str, str] | None] = []
        for one in lengths:
            if not one:
                values.append(None)
                continue
            offsets = [one[prompt] - first[prompt] for prompt in one if prompt in first]
            same = not offsets or one is first
            values.append(
                {
                    "lengths": _listed(apart, one),
                    "shared": str(len(offsets)),
                    "least": f"{min(offsets):+d}" if offsets else "",
                    "most": f"{max(offsets):+d}" if offsets else "",
                    "offset": "none" if same else "constant" if min(offsets) == max(offsets) else "varies",
                }
            )
        yield self._found(Topic.PROMPT, Sign.SAME_PROMPT, values, True)

    def _same_question(self, refuses: bool) -> Iterator[Finding]:
        """One prompt by its id, answered with other numbers of tokens."""
        lengths = [_by_prompt(one.rows, "completion_tokens") for one in self._traces]
        apart = _apart(lengths)
        if apart:
            values = [{"lengths": _listed(apart, one)} if one else None for one in lengths]
            yield self._found(Topic.WORKLOAD, Sign.SAME_QUESTION, values, refuses)

    def _asked_length(self) -> Iterator[Finding]:
        values: list[dict[str, str] | None] = []
        off = False
        for one in self._traces:
            mean, asked = _mean(one.input_tokens, one.requests), one.asked_input
            if mean is None or asked is None:
                values.append(None)
                continue
            off = off or abs(mean - asked) > OFF_LENGTH * asked
            values.append({"asked": f"{asked:,}", "mean": f"{mean:.1f}"})
        if off:
            yield self._found(Topic.WORKLOAD, Sign.PROMPT_LENGTH, values, False)

    def _answers(self, refuses: bool) -> Iterator[Finding]:
        """Tokens written and why answers end."""
        means = [_mean(one.output_tokens, one.requests) for one in self._traces]
        known = [mean for mean in means if mean is not None]
        if self._one("workload.output_tokens") and len(known) > 1 and max(known) - min(known) > 0.05:
            values: list[dict[str, str] | None] = [
                None
                if mean is None
                else {
                    "total": f"{one.output_tokens:,}",
                    "mean": f"{mean:.1f}",
                    "full": "yes" if one.asked_output is not None and mean == one.asked_output else "no",
                }
                for one, mean in zip(self._traces, means, strict=True)
            ]
            yield self._found(Topic.WORKLOAD, Sign.ANSWER_LENGTH, values, refuses)
        elif refuses and not self._one("workload.output_tokens"):
            wrote = [None if mean is None else round(mean, 1) for mean in means]
            yield from self._field(Topic.WORKLOAD, "workload.wrote", wrote, refuses, must=False, same=operator.eq)
        ends = [one.ends or Counter(row.finish_reason for row in one.rows if row.finish_reason) for one in self._traces]
        if len({frozenset(one) for one in ends if one}) > 1:
            reasons = [
                {
                    "reasons": ", ".join(f"{reason} {count}" for reason, count in sorted(one.items())),
                    "of": "all" if trace.ends else "rows",
                }
                if one
                else None
                for trace, one in zip(self._traces, ends, strict=True)
            ]
            yield self._found(Topic.WORKLOAD, Sign.FINISH, reasons, refuses)

    def _chunks(self, refuses: bool) -> Iterator[Finding]:
        """Gaps between chunks are times of a token only where each chunk holds one and comes on its own."""
        values = [_chunking(one) for one in self._traces]
        odd = [one for one in values if one is not None and one["how"] != "single"]
        if odd:
            yield self._found(Topic.MEASUREMENT, Sign.CHUNKS, values, refuses)

    def _warmup(self, refuses: bool) -> Iterator[Finding]:
        """Warm-up prompts that the measured part sends again."""
        values = [_warmed(one.rows) for one in self._traces]
        if any(values):
            yield self._found(Topic.MEASUREMENT, Sign.WARMED_BY_WARMUP, values, refuses)

    def _again(self) -> Iterator[Finding]:
        """Rounds over the same prompts on one running engine."""
        values: list[dict[str, str] | None] = []
        for one in self._traces:
            repeats = one.facts.get("workload.repeats")
            several = isinstance(repeats, int) and repeats > 1
            values.append({"rounds": str(repeats), "cache": _prefix_cache(one)} if several else None)
        if any(one is not None and one["cache"] != "off" for one in values):
            yield self._found(Topic.MEASUREMENT, Sign.SENT_AGAIN, values, True)

    def _prompts_again(self) -> Iterator[Finding]:
        """Prompts of a source that is shorter than the load."""
        values: list[dict[str, str] | None] = [
            {"again": f"{one.again:,}", "requests": f"{one.requests or 0:,}", "cache": _prefix_cache(one)}
            for one in self._traces
        ]
        if any(one.again and _prefix_cache(one) != "off" for one in self._traces):
            yield self._found(Topic.MEASUREMENT, Sign.PROMPTS_AGAIN, values, False)

    def _cached(self) -> Iterator[Finding]:
        """Prompt tokens from the cache beyond what the workload gives the prompts in common."""
        values: list[dict[str, str] | None] = []
        more = False
        for one in self._traces:
            if one.cached_tokens is None or not one.input_tokens or one.planned_share is None:
                values.append(None)
                continue
            share = one.cached_tokens / one.input_tokens
            more = more or share > one.planned_share + MORE_CACHED
            values.append(
                {
                    "cached": f"{one.cached_tokens:,}",
                    "read": f"{one.input_tokens:,}",
                    "share": f"{share:.1%}".replace("%", " %"),
                    "planned": f"{one.planned_share:.1%}".replace("%", " %"),
                }
            )
        if more:
            yield self._found(Topic.MEASUREMENT, Sign.CACHED, values, False)

    def _first_round(self, refuses: bool) -> Iterator[Finding]:
        values = [_first_against_later(one.rounds) for one in self._traces]
        if any(one is not None and one["moved"] == "yes" for one in values):
            yield self._found(Topic.MEASUREMENT, Sign.FIRST_ROUND, values, refuses)

    def _one_round(self) -> Iterator[Finding]:
        values = [
            None if one.chosen_round is None else {"number": str(one.chosen_round + 1), "rounds": str(len(one.rounds))}
            for one in self._traces
        ]
        if any(values):
            yield self._found(Topic.MEASUREMENT, Sign.ONE_ROUND_SHOWN, values, False)

    def _scores(self) -> Iterator[Finding]:
        """Scores stand side by side only where the whole path of each is recorded, and the tasks are the same."""
        if not any(one.scores for one in self._traces):
            return
        gaps = [_path_gaps(one) for one in self._traces]
        if any(one is None or one for one in gaps):
            values: list[dict[str, str] | None] = [
                None if gap is None else {"scores": str(len(one.scores)), "missing": " ".join(gap)}
                for one, gap in zip(self._traces, gaps, strict=True)
            ]
            yield self._found(Topic.MEASUREMENT, Sign.SCORE_PATH, values, True)
        tasks: list[set[str]] = [{_task(one) for one in trace.scores} for trace in self._traces]
        if any(one != tasks[0] for one in tasks):
            everywhere = tasks[0].intersection(*tasks[1:])
            shown: list[dict[str, str] | None] = [
                {"tasks": "; ".join(sorted(one - everywhere) or ["—"])} if one else None for one in tasks
            ]
            yield self._found(Topic.WORKLOAD, Sign.OTHER_TASKS, shown, True)

    def _one(self, field: str) -> bool:
        """Whether a field is recorded everywhere with one value."""
        values = [one.facts.get(field) for one in self._traces]
        return None not in values and len(set(values)) == 1

    def _found(
        self,
        topic: Topic,
        sign: Sign,
        values: Sequence[Mapping[str, str] | None],
        refuses: bool,
        field: str | None = None,
    ) -> Finding:
        return Finding(
            topic=topic,
            sign=sign,
            field=field,
            values=tuple(None if one is None else dict(one) for one in values),
            refuses=refuses,
            run_ids=self._run_ids,
        )


def _prefix_cache(one: Trace) -> str:
    """`on`, `off` or `unknown`."""
    cached = one.resolved.get(Condition.PREFIX_CACHING, one.named.get(Condition.PREFIX_CACHING))
    return "unknown" if cached is None else "on" if cached else "off"


def _by_prompt(rows: Sequence[Asked], field: str) -> dict[str, int]:
    """A count of each prompt that has an id, from the first row it stands in."""
    found: dict[str, int] = {}
    for row in rows:
        count = getattr(row, field)
        if row.prompt is not None and count is not None:
            found.setdefault(row.prompt, count)
    return found


def _apart(counts: Sequence[Mapping[str, int]]) -> list[str]:
    """Prompts that stand in several records with several counts."""
    prompts = dict.fromkeys(prompt for one in counts for prompt in one)
    return [prompt for prompt in prompts if len({one[prompt] for one in counts if prompt in one}) > 1]


def _listed(prompts: Sequence[str], counts: Mapping[str, int], most: int = 6) -> str:
    return ", ".join(f"{prompt} {counts.get(prompt, '—')}" for prompt in prompts[:most])


def _chunking(one: Trace) -> dict[str, str] | None:
    """How chunks come: `several` tokens in each, `bursts` of them, or `single`; None: not recorded."""
    gap, middle, token = one.gap_mean_s, one.gap_p50_s, one.tpot_mean_s
    if middle is None and (gap is None or not token):
        return None
    per_chunk = gap / token if gap is not None and token else None
    burst = middle is not None and gap is not None and gap > 0 and middle < BURST * gap
    how = "bursts" if burst else "several" if per_chunk is not None and per_chunk >= SEVERAL else "single"
    return {
        "how": how,
        "median": "—" if middle is None else _ms(middle),
        "mean": "—" if gap is None else _ms(gap),
        "tpot": "—" if token is None else _ms(token),
        "tokens": "—" if per_chunk is None else f"{per_chunk:.1f}",
    }


def _warmed(rows: Sequence[Asked]) -> dict[str, str] | None:
    """Prompts of the warm-up that are measured, with both TTFT; None: none is seen, or the rows do not say."""
    before = {row.prompt: row.ttft_s for row in rows if row.warmup and row.prompt}
    again = {row.prompt: row.ttft_s for row in rows if row.warmup is False and row.prompt and row.prompt in before}
    if not again:
        return None
    times = [f"{prompt} {_ms(before[prompt])} → {_ms(ttft_s)}" for prompt, ttft_s in list(again.items())[:3]]
    return {"prompts": str(len(again)), "times": ", ".join(times)}


def _first_against_later(rounds: Sequence[Round]) -> dict[str, str] | None:
    """TTFT of the first round and of each later one; None for fewer than two."""
    if len(rounds) < 2:
        return None
    moved = False
    shown = {}
    for name in ("ttft_mean_s", "ttft_p99_s"):
        values = [getattr(one, name) for one in rounds]
        if None in values:
            shown[name.split("_")[1]] = "—"
            continue
        later = fmean(values[1:])
        moved = moved or abs(values[0] - later) > WARMED * later
        shown[name.split("_")[1]] = " → ".join(_ms(value) for value in values)
    return {**shown, "moved": "yes" if moved else "no"}


def _path_gaps(one: Trace) -> list[str] | None:
    """What is not recorded of the path of a record's scores; None: it holds no score."""
    if not one.scores:
        return None
    parts: dict[str, Value | None] = {"engine": one.engine, "engine_version": one.version or one.commit}
    parts |= {field: one.facts.get(field) for field in SCORE_FIELDS}
    kv = Condition.KV_CACHE_DTYPE
    parts[kv.value] = one.resolved.get(kv, one.named.get(kv))
    return [name for name, value in parts.items() if value is None]


def _task(one: ImportedScore) -> str:
    """Everything that has to be equal of a task, in words."""
    shots = "shots not recorded" if one.fewshot is None else f"{one.fewshot}-shot"
    items = "n not recorded" if one.n is None else f"n {one.n}"
    named = f"{one.task} {one.version or 'version not recorded'}, {one.metric}"
    of_filter = f" after {one.filter}" if one.filter not in (None, "none") else ""
    return f"{named}{of_filter}, {shots}, {items}, hash {one.task_hash[:8] if one.task_hash else 'not recorded'}"


def _mean(total: int | None, n: int | None) -> float | None:
    return total / n if total is not None and n else None


def _ms(seconds: float | None) -> str:
    return "—" if seconds is None else f"{seconds * 1000:,.3g} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"


def _one_name(one: Any, other: Any) -> bool:
    """Whether two names are one model's: the owner in front and capital letters aside."""
    return bool(str(one).rpartition("/")[2].lower() == str(other).rpartition("/")[2].lower())


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _shown(value: Value | None) -> dict[str, str] | None:
    if value is None:
        return None
    return {
        "value": str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    }


def _short(value: Value | None) -> str:
    if value is None:
        return "—"
    word = _shown(value)
    assert word is not None
    return re.sub(r"sha256:([0-9a-f]{8})[0-9a-f]+", r"\1…", word["value"])
