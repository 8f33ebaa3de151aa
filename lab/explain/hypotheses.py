"""What the source texts claim, as hypotheses: one thing varies, one metric is read, and a smallest effect counts.

A verdict needs evidence that may carry a claim, with an interval over launches. All other evidence is shown as an
observation, without a verdict; a claim that no run tests is "not measured here". Engines are set beside each other only
where the text itself does so, and nothing is sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, Self

import yaml
from pydantic import ConfigDict, Field, model_validator

from lab.errors import ParamsError, nearest
from lab.explain.claims import Interval, may_claim, preparation_of
from lab.match import match, refusals
from lab.metrics.stats import interval_over_launches
from lab.params import PARAMS_FOLDER, QUESTION, parse, read_mapping, shown
from lab.publish.contrasts import IN_BITS
from lab.publish.evidence import PublicContrast, PublicLevel, PublicRun
from lab.quality.coverage import NoVerdict
from lab.records import EvidenceGrade, RunId, Structured
from lab.roster import find
from lab.scratch import write_atomically
from lab.spec import Frozen, Name
from lab.weights import read_model

FOLDER = PARAMS_FOLDER / "hypotheses"

Runs = Sequence[PublicRun]
Contrasts = Sequence[PublicContrast]
Metric = Literal[
    "output_tok_per_s",
    "ttft_p50_s",
    "tpot_p50_s",
    "chunk_gap_p99_s",
    "preparation_s",
    "quality_loss",
    "schema_broken",
]
Varies = Literal[
    "profile.prefix_caching",
    "profile.chunked_prefill",
    "profile.speculative",
    "profile.torch_compile",
    "profile.cuda_graphs",
    "quantization.kv_cache",
    "engine",
    "cache_tier",
    "load",
    "nothing",
]
Expected = Literal["rises", "falls", "stays", "never"]
Verdict = Literal["holds", "does-not-hold", "undecided", "observation", "not-measured", "untestable"]
Lacks = Literal["no-pair", "condition", "not-comparable", "no-level", "no-value"]
"""Why a hypothesis is not measured, the one that comes nearest to a test last."""
Untestable = Literal["no-switch", "not-of-an-engine", "preflight"]
Value = bool | str

AT_LOAD: frozenset[Metric] = frozenset({"output_tok_per_s", "ttft_p50_s", "tpot_p50_s", "chunk_gap_p99_s"})
"""Metrics that are read at one load."""

_GO_ALONG = {"cache_tier": frozenset({"cache_tier", "cache_state"})}
"""Fields that differ because the varied one does."""


class Source(Frozen):
    """Where a claim stands."""

    text: Literal["primer", "article"]
    line: int = Field(ge=1)


class Figure(Frozen):
    """The figure of the text, in per cent; no rule reads it."""

    low: float
    high: float


class Where(Frozen):
    """The conditions under which it is claimed; what is left out is open."""

    shared_prefix_share_at_least: float | None = Field(default=None, ge=0, le=1)
    shared_prefix_share_at_most: float | None = Field(default=None, ge=0, le=1)
    input_tokens_at_least: int | None = Field(default=None, ge=1)
    concurrency_at_least: int | None = Field(default=None, ge=1)
    concurrency_at_most: int | None = Field(default=None, ge=1)
    content: Name | None = None
    engine: Name | None = None
    prefix_caching: bool | None = None


class Pieces(Frozen):
    """What a plan that tests it is made of."""

    workload: dict[str, Any]
    quality: Name
    context_limit: int = Field(ge=1)
    set: dict[str, bool | int] = Field(default_factory=dict)
    """Settings of every launch profile."""


class Hypothesis(Frozen):
    """One claim, and what would test it."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    name: Name
    source: Source
    varies: Varies | None = None
    from_: Value | None = Field(default=None, alias="from")
    to: Value | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    """Values of `from` and `to` that belong together, where there are several."""
    with_to: dict[str, int | str | bool] = Field(default_factory=dict)
    """Settings that belong to the value `to`, for instance how many tokens are drafted."""
    metric: Metric | None = None
    at: Literal["lowest", "highest"] | None = None
    expected: Expected | None = None
    counts: float | None = Field(default=None, gt=0)
    """The smallest effect that counts: per cent of the value at `from`, points of a score, or answers."""
    claimed: Figure | None = None
    where: Where = Where()
    plan: Pieces | None = None
    untestable: Untestable | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        tested = (self.varies, self.metric, self.expected, self.counts, self.plan)
        if self.untestable is not None:
            if any(one is not None for one in tested):
                raise ValueError("a claim that is untestable has no test")
            return self
        if any(one is None for one in tested):
            raise ValueError("a test needs varies, metric, expected, counts and plan")
        values = self.varies in ("load", "nothing")
        if values == (bool(self.pairs) or (self.from_ is not None and self.to is not None)):
            raise ValueError("from and to (or pairs) go with a field that varies")
        if (self.at is not None) != (self.metric in AT_LOAD and self.varies != "load"):
            raise ValueError("at goes with a metric that is read at a load")
        return self

    @property
    def ends(self) -> tuple[tuple[Value, Value], ...]:
        """Every `from` with its `to`; empty where no field varies."""
        if self.pairs:
            return self.pairs
        return () if self.from_ is None or self.to is None else ((self.from_, self.to),)


class Judged(Frozen):
    """What the runs say of one hypothesis on one engine."""

    hypothesis: Hypothesis
    verdict: Verdict
    lacks: Lacks | None = None
    """Why it was not measured; None: it was."""
    engine: Name | None = None
    against: Name | None = None
    """The engine at `from`, where engines vary."""
    profile: Name | None = None
    """Launch profile, where one run stands against itself."""
    model: str | None = None
    values: tuple[str, str] | None = None
    """What varied, from and to."""
    levels: tuple[str, str] | None = None
    """The load at `from` and at `to`: concurrency, or req/s; None where the metric has no load."""
    before: float | None = None
    after: float | None = None
    effect: float | None = None
    """Per cent, points, or answers; in the unit of `counts`."""
    interval: Interval | None = None
    """Over launches, or over items for a score; None: one launch has none."""
    launches: int = 0
    items: int | None = None
    """Answers that were looked at, where answers are counted."""
    task: Name | None = None
    """`quality_loss`: the task that lost most."""
    run_ids: tuple[RunId, ...] = ()
    grade: EvidenceGrade | None = None


Hypotheses = tuple[Hypothesis, ...]


def read_hypotheses(folder: Path = FOLDER) -> Hypotheses:
    """Every hypothesis of the folder, in the order of its files. Raises ParamsError."""
    found: list[Hypothesis] = []
    for path in sorted(folder.glob("*.yaml")):
        for name, body in read_mapping(path).items():
            if not isinstance(body, dict):
                raise ParamsError(f"{shown(path)}: {name}: a hypothesis is a mapping, got {body!r:.60}")
            if any(one.name == name for one in found):
                raise ParamsError(f"{shown(path)}: {name} stands in two files")
            found.append(parse(Hypothesis, {"name": name, **body}, f"{shown(path)}: {name}"))
    return tuple(found)


def pick(name: str, hypotheses: Hypotheses) -> Hypothesis:
    """The hypothesis of a name. Raises ParamsError."""
    for one in hypotheses:
        if one.name == name:
            return one
    near = nearest(name, [one.name for one in hypotheses])
    raise ParamsError(
        f"no hypothesis is called '{name}'" + (f"; did you mean '{near}'?" if near else ""), "lab hypotheses"
    )


# ---------------------------------------------------------------- the plan that tests one


def plan_text(
    hypothesis: Hypothesis,
    model: str,
    engine: str | None,
    profile: str | None = None,
    *,
    repeats: int = 3,
    preparation_counts: bool | None = None,
    folder: Path = PARAMS_FOLDER,
) -> str:
    """A plan file that tests a hypothesis on a model and an engine; what the team has to decide is a question in it.

    Args:
        hypothesis: one with a test.
        model: a file of params/models/.
        engine: which engine; None where the claim is about two named ones.
        profile: launch profile that the varied setting is put into; None: the first of the engine's own file.
        repeats: fresh launches of every run.
        preparation_counts: None: a question in the file.
        folder: params/.

    Raises:
        ParamsError: it has no test, or the model or the engine does not go with it.
    """
    if hypothesis.plan is None:
        raise ParamsError(f"{hypothesis.name} has no test: {hypothesis.untestable}", "lab hypotheses")
    kv_cache = read_model(model, folder / "models").quantization.kv_cache
    ends = [pair for pair in hypothesis.ends if not hypothesis.pairs or pair[0] == kv_cache]
    if hypothesis.pairs and not ends:
        known = ", ".join(first for first, _ in hypothesis.pairs)
        raise ParamsError(f"{hypothesis.name} is about a KV cache of {known}; {model} has {kv_cache}")
    named = hypothesis.where.engine or engine
    if hypothesis.varies == "engine":
        more: dict[str, Any] = {"set": hypothesis.plan.set} if hypothesis.plan.set else {}
        runs: list[dict[str, Any]] = [{"engine": one, "profile": profile or "equal", **more} for one in ends[0]]
    elif named is None:
        raise ParamsError(f"{hypothesis.name} is tested on one engine", "--engine, for instance --engine vllm")
    else:
        base = {"engine": named, "profile": profile or _first_profile(named, folder)}
        runs = list(_arms(hypothesis, base, ends))
    body = {
        "model": model,
        "workload": hypothesis.plan.workload,
        "quality": hypothesis.plan.quality,
        "context_limit": hypothesis.plan.context_limit,
        "preparation_counts": QUESTION if preparation_counts is None else preparation_counts,
        "repeats": repeats,
        **({"cache_tier": str(ends[0][0])} if hypothesis.varies == "cache_tier" else {}),
        "sampling": {
            "temperature": 0, "top_p": 1, "top_k": 0, "min_p": 0, "presence_penalty": 0, "frequency_penalty": 0,
            "repetition_penalty": 1, "seed": 1,
        },
        "comparison" if hypothesis.varies == "engine" else "pipeline_check": {"runs": runs},
    }  # fmt: skip
    head = [
        f"# Tests the claim {hypothesis.name} on {model}. `lab hypotheses` says where it stands.",
        f"# What varies: {hypothesis.varies}. Put in your own workload; the claim's conditions have to hold.",
    ]
    if hypothesis.varies == "cache_tier":
        head.append(f"# Run it once so, and once more with cache_tier: {ends[0][1]}; then judge the runs together.")
    text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    asked = "does preparation time (build, cold start) count in the decision? true or false, there is no default"
    return "\n".join(head) + "\n" + text.replace(f"'{QUESTION}'", f'"{QUESTION}" # {asked}', 1)


def write_plan(
    path: Path, hypothesis: Hypothesis, model: str, engine: str | None, profile: str | None = None, *, repeats: int = 3
) -> None:
    """Write the plan as a new file. Raises ParamsError: it is there already, or cannot be written."""
    text = plan_text(hypothesis, model, engine, profile, repeats=repeats)
    if path.exists():
        raise ParamsError(f"{shown(path)} is there already; it was left alone", "name another file with --out")
    try:
        write_atomically(path, text.encode())
    except OSError as problem:
        raise ParamsError(f"{shown(path)} cannot be written: {problem.strerror}") from None


def _arms(
    hypothesis: Hypothesis, base: Mapping[str, Any], ends: Sequence[tuple[Value, Value]]
) -> Iterator[dict[str, Any]]:
    """The runs of a plan on one engine: one for each value, or one where nothing about the launch varies."""
    if hypothesis.varies == "quantization.kv_cache":
        for value in ends[0]:
            yield {**base, "set": {"name": f"kv-{str(value).lower()}"}, "kv_cache": value}
    elif hypothesis.varies is not None and hypothesis.varies.startswith("profile."):
        field = hypothesis.varies.removeprefix("profile.")
        for value in ends[0]:
            more = hypothesis.with_to if value == ends[0][1] else {}
            label = str(value).lower() if isinstance(value, str) else ("on" if value else "off")
            yield {**base, "set": {"name": f"{field.replace('_', '-')}-{label}", field: value, **more}}
    else:
        yield dict(base)


def _first_profile(engine: str, folder: Path) -> str:
    path = folder / "engines" / f"{engine}.yaml"
    return next(iter(read_mapping(path)), "equal") if path.is_file() else "equal"


# ---------------------------------------------------------------- what the runs say


def judge(hypotheses: Iterable[Hypothesis], runs: Runs, contrasts: Contrasts = ()) -> tuple[Judged, ...]:
    """What these runs say of each hypothesis: once for each pair of settings that tests it, else why none does.

    The order of the runs plays no part.
    """
    groups: dict[str, list[PublicRun]] = {}
    for run in sorted(runs, key=lambda run: (run.engine, run.profile.name, run.spec_digest, run.run_id)):
        if run.table != "instrument-check":
            groups.setdefault(run.spec_digest, []).append(run)
    return tuple(one for hypothesis in hypotheses for one in _judge(hypothesis, list(groups.values()), contrasts))


def _judge(hypothesis: Hypothesis, groups: Sequence[Runs], contrasts: Contrasts) -> Iterator[Judged]:
    if hypothesis.untestable is not None:
        yield Judged(hypothesis=hypothesis, verdict="untestable")
        return
    found = [_test(hypothesis, *pair, contrasts) for pair in _pairs(hypothesis, groups)]
    told = [one for one in found if one.lacks is None]
    if told:
        yield from told
        return
    order: tuple[Lacks, ...] = ("no-pair", "condition", "not-comparable", "no-level", "no-value")
    nearest_one = max(found, key=lambda one: order.index(one.lacks or "no-pair"), default=None)
    yield nearest_one or Judged(hypothesis=hypothesis, verdict="not-measured", lacks="no-pair")


def _pairs(hypothesis: Hypothesis, groups: Sequence[Runs]) -> Iterator[tuple[Runs, Runs, tuple[str, str] | None]]:
    """Launches at `from` and launches at `to`; where no field varies, a group stands against itself."""
    if hypothesis.varies in ("load", "nothing"):
        for group in groups:
            yield group, group, None
        return
    together: dict[str, list[tuple[Value, Runs]]] = {}
    for group in groups:
        value = _value(hypothesis.varies, group[0])
        if any(value in pair for pair in hypothesis.ends):
            together.setdefault(_beside(hypothesis, group[0]), []).append((value, group))
    for beside in together.values():
        for (one, before), (other, after) in permutations(beside, 2):
            if (one, other) in hypothesis.ends:
                yield before, after, (_word(one), _word(other))


def _beside(hypothesis: Hypothesis, run: PublicRun) -> str:
    """What runs have in common that may test it: the match, or the engine where two starts are never one match."""
    return run.match_id if hypothesis.varies != "cache_tier" else f"{run.engine} {run.profile.name}"


def _value(field: Varies | None, run: PublicRun) -> Any:
    if field == "engine":
        return run.engine
    if field == "cache_tier":
        return run.cache_tier
    if field == "quantization.kv_cache":
        return run.quantization.kv_cache
    assert field is not None
    return getattr(run.profile, field.removeprefix("profile."))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _test(
    hypothesis: Hypothesis, before: Runs, after: Runs, values: tuple[str, str] | None, contrasts: Contrasts
) -> Judged:
    runs = list({run.run_id: run for run in (*before, *after)}.values())
    grade = min((run.grade for run in runs), key=_WEAKEST_FIRST.index)
    base = Judged(
        hypothesis=hypothesis,
        verdict="not-measured",
        engine=after[0].engine,
        against=before[0].engine if hypothesis.varies == "engine" else None,
        profile=after[0].profile.name if values is None else None,
        model=after[0].model.series,
        values=values,
        launches=min(len(before), len(after)),
        run_ids=tuple(run.run_id for run in runs),
        grade=grade,
    )
    if not all(_in_place(hypothesis.where, run) for run in runs):
        return _lacking(base, "condition")
    along = _GO_ALONG.get(hypothesis.varies or "", frozenset())
    if any(one.field not in along for one in refusals(match([run.side for run in runs]))):
        return _lacking(base, "not-comparable")
    if hypothesis.metric == "quality_loss":
        read = _loss(base, before, after, contrasts)
    elif hypothesis.metric == "schema_broken":
        read = _broken(base, after)
    else:
        read = _moved(base, before, after)
    if read.lacks is not None:
        return read
    claims = all(map(may_claim, runs))
    return read.model_copy(update={"verdict": _verdict(hypothesis, read) if claims else "observation"})


_WEAKEST_FIRST = (EvidenceGrade.SYNTHETIC, EvidenceGrade.IMPORTED, EvidenceGrade.HARNESS_CHECK, EvidenceGrade.REAL_GPU)


def _lacking(base: Judged, why: Lacks) -> Judged:
    return base.model_copy(update={"lacks": why})


def _in_place(where: Where, run: PublicRun) -> bool:
    """Whether a run was measured under the conditions of the claim; its load is looked at apart."""
    work = run.workload
    share = None if work.input_tokens is None else work.shared_prefix_tokens / work.input_tokens
    if where.shared_prefix_share_at_least is not None and (share or 0) < where.shared_prefix_share_at_least:
        return False
    if where.shared_prefix_share_at_most is not None and (share is None or share > where.shared_prefix_share_at_most):
        return False
    if where.input_tokens_at_least is not None and (work.input_tokens or 0) < where.input_tokens_at_least:
        return False
    if where.prefix_caching is not None and run.profile.prefix_caching is not where.prefix_caching:
        return False
    if where.engine is not None and find(where.engine) != find(run.engine):
        return False
    return where.content is None or work.content == where.content


def _verdict(hypothesis: Hypothesis, read: Judged) -> Verdict:
    """Holds or not where the whole interval says so; an effect without an interval is undecided."""
    least, expected = hypothesis.counts, hypothesis.expected
    assert least is not None
    if expected == "never":
        return "does-not-hold" if (read.effect or 0) >= least else "holds"
    if read.interval is None or read.interval.low is None or read.interval.high is None:
        return "undecided"
    low, high = read.interval.low, read.interval.high
    if expected == "falls":
        low, high = -high, -low
    if expected == "stays":
        if -least < low and high < least:
            return "holds"
        return "does-not-hold" if low >= least or high <= -least else "undecided"
    if low >= least:
        return "holds"
    return "does-not-hold" if high < least else "undecided"


def _moved(base: Judged, before: Runs, after: Runs) -> Judged:
    """By how many per cent a value at `to` lies above the one at `from`."""
    hypothesis = base.hypothesis
    rungs = _rungs(hypothesis, [*before, *after]) if hypothesis.metric in AT_LOAD else (None, None)
    if rungs is None:
        return _lacking(base, "no-level")
    sides = [
        [_read(hypothesis.metric, run, rung) for run in group]
        for group, rung in zip((before, after), rungs, strict=True)
    ]
    known = [[value for value in side if value is not None] for side in sides]
    if any(len(one) != len(side) or not one for one, side in zip(known, sides, strict=True)) or fmean(known[0]) <= 0:
        return _lacking(base, "no-value")
    means = tuple(map(fmean, known))
    return base.model_copy(
        update={
            "levels": None if rungs[0] is None else (f"{rungs[0]:g}", f"{rungs[1]:g}"),
            "before": means[0],
            "after": means[1],
            "effect": 100 * (means[1] / means[0] - 1),
            "interval": _ratio_interval(known[0], known[1]),
        }
    )


def _ratio_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """At least 95 %: each mean gets an interval of 97.5 % over launches, and the ends are their outer corners."""
    ends = [interval_over_launches(values, 0.975) for values in (before, after)]
    if ends[0] is None or ends[1] is None:
        return None
    (old_low, old_high), (new_low, new_high) = ends[0], ends[1]
    high = None if old_low <= 0 else 100 * (new_high / old_low - 1)
    return Interval(low=100 * (new_low / old_high - 1), high=high)


def _rungs(hypothesis: Hypothesis, runs: Runs) -> tuple[float, float] | None:
    """The loads that are read: one that every run holds, or the two ends of the ladder where load is what varies."""
    held = [{rung for level in run.levels if level.valid and (rung := _rung(level)) is not None} for run in runs]
    where = hypothesis.where
    rungs = sorted(set.intersection(*held)) if held else []
    fitting = [
        rung
        for rung in rungs
        if (where.concurrency_at_least is None or rung >= where.concurrency_at_least)
        and (where.concurrency_at_most is None or rung <= where.concurrency_at_most)
    ]
    if not fitting:
        return None
    if hypothesis.varies == "load":
        return (rungs[0], fitting[-1]) if rungs[0] < fitting[-1] else None
    one = fitting[0] if hypothesis.at == "lowest" else fitting[-1]
    return one, one


def _rung(level: PublicLevel) -> float | None:
    return level.rate_rps if level.concurrency is None else level.concurrency


def _read(metric: Metric | None, run: PublicRun, rung: float | None) -> float | None:
    if metric == "preparation_s":
        return preparation_of(run)
    level = next((one for one in run.levels if one.valid and _rung(one) == rung), None)
    if level is None:
        return None
    if metric == "output_tok_per_s":
        return level.scalars.get("output_tok_per_s")
    name, quantile = {
        "ttft_p50_s": ("ttft_s", "p50"),
        "tpot_p50_s": ("tpot_s", "p50"),
        "chunk_gap_p99_s": ("chunk_gap_s", "p99"),
    }[str(metric)]
    summary = level.metrics.get(name)
    return None if summary is None else getattr(summary, quantile)


def _broken(base: Judged, runs: Runs) -> Judged:
    """How many finished answers do not keep the schema that was asked for."""
    counts = [level.structured for run in runs for level in run.levels if level.valid and level.structured is not None]
    broken = sum(one.get(Structured.INVALID, 0) for one in counts)
    kept = sum(one.get(Structured.VALID, 0) for one in counts)
    if not broken + kept:
        return _lacking(base, "no-value")
    return base.model_copy(update={"effect": float(broken), "items": broken + kept})


def _loss(base: Judged, before: Runs, after: Runs, contrasts: Contrasts) -> Judged:
    """By how many points the task that lost most lies below the score at `from`; the interval is over its items."""
    old, new = ({run.run_id: run for run in group} for group in (before, after))
    losses: list[tuple[float, float, float, str, int]] = []
    for one in contrasts:
        if not ((one.first in old and one.second in new) or (one.first in new and one.second in old)):
            continue
        quality = (old | new)[one.first].quality
        lower = {task.task for task in quality.tasks if task.better == "lower"} if quality else set()
        for pair in one.tasks:
            paired = pair.paired
            uncovered = paired.no_verdict in (NoVerdict.COVERAGE_LOW, NoVerdict.COVERAGE_APART)
            if pair.metric == IN_BITS or uncovered or None in (paired.difference, paired.low, paired.high):
                continue
            sign = -100 if (one.second in new) != (pair.task in lower) else 100
            low, high = sorted((sign * (paired.low or 0), sign * (paired.high or 0)))
            losses.append((sign * (paired.difference or 0) or 0.0, low, high, pair.task, paired.n))
    if not losses:
        return _lacking(base, "no-value")
    effect, low, high, task, items = max(losses)
    return base.model_copy(
        update={"effect": effect, "interval": Interval(low=low, high=high), "task": task, "items": items}
    )
