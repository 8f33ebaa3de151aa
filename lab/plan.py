"""A params file becomes a `RunPlan`: every value decided, every problem found, before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from lab import rules, weights
from lab.conditions import DECIDE, wanted
from lab.endpoint import split_url
from lab.engines import INSIDE, adapter_for, adapter_of
from lab.engines.attachment import attached_endpoint, find_fault
from lab.engines.base import Adapter, Place
from lab.environment import capture
from lab.errors import EndpointError, LabError, OpenQuestions, ParamsError, UndecidedPlan, nearest
from lab.load.prompts import longest_tokens
from lab.load.sources import read_source
from lab.params import PARAMS_FOLDER, open_questions, parse, read_mapping, shown
from lab.quality.suite import Suite, find_suite, load_suite
from lab.roster import ROSTER, find
from lab.spec import (
    CacheTier,
    Frozen,
    LaunchProfile,
    Name,
    Quantization,
    RunSpec,
    Sampling,
    SuiteRef,
    Table,
    Workload,
    digest,
    match_id,
)
from lab.suite_pins import ref_of
from lab.support import look_up, read_support

P = ParamSpec("P")
T = TypeVar("T")

_NAME = TypeAdapter(Name)

SHARED_PROFILES = "any"
"""params/engines/any.yaml holds profiles that every engine can be launched with."""

TEMPLATE_ALLOWANCE = 64
"""Tokens kept free for the chat template when a workload is checked against the context limit."""

AS_FOUND = "as-found"
"""Name of the profile of an attached engine of which nothing is declared."""


class RunEntry(Frozen):
    """One run of a group, as the file names it."""

    engine: str
    profile: str | None = None
    """A profile of params/engines/ENGINE.yaml. An attached engine may do without: then nothing is declared."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Settings of the profile that this run changes."""
    kv_cache: Name | None = None
    """Format of the KV cache in the place of the model file's: only in a pipeline check, where it is what varies."""
    url: str | None = Field(default=None, max_length=500)
    """Root of an engine that runs already; the profile then declares how it was launched. Private."""
    served_as: str | None = Field(default=None, min_length=1, max_length=200)
    """Name by which an attached engine knows the model; None: the model series."""
    gateway: str | None = None
    """The gateway that `url` leads to, in front of the engine."""
    behind: str | None = None
    """The engine inside, where `engine` is a packaging of another one."""


class GroupEntry(Frozen):
    """Runs that are to stand side by side; what is left out is the plan's."""

    runs: tuple[RunEntry, ...] = Field(min_length=1)
    model: str | None = None
    workload: str | dict[str, Any] | None = None
    context_limit: int | None = Field(default=None, ge=1)


class PlanFile(Frozen):
    """What a plan file holds."""

    model: str
    """A file of params/models/."""
    workload: str | dict[str, Any]
    """A file of params/workloads/, or a mapping with `use` and the fields to change."""
    sampling: Sampling
    quality: str
    """A folder of params/quality/."""
    context_limit: int = Field(ge=1)
    preparation_counts: bool | None = None
    """Whether preparation time counts; there is no default, leaving it out is refused."""
    repeats: int = Field(default=1, ge=1, le=100)
    """Fresh launches of every run; intervals need at least two."""
    cache_tier: CacheTier = "as-found"
    """What every launch starts from."""
    isolation: Literal["exclusive", "shared"] | None = None
    """Whether the team says that nothing else runs on the machine."""
    chat_template_kwargs: dict[str, bool | int | str] = Field(default_factory=dict)
    """Variables of the chat template, for instance enable_thinking: false."""
    comparison: GroupEntry | None = None
    pipeline_check: GroupEntry | None = None
    instrument_check: GroupEntry | None = None


class Group(Frozen):
    """One match of the plan."""

    table: Table
    subject: str | None
    """The field that varies; None when the group has one run."""
    source: Path | None
    """Where the workload's prompts or schemas come from; None for words. Private."""
    specs: tuple[RunSpec, ...]
    urls: tuple[str | None, ...]
    """For each spec, where its engine runs already; None: the lab launches it. Private."""
    match_id: str


class PlannedRun(Frozen):
    """One launch."""

    plan: Name
    plan_digest: str
    """The plan it belongs to: runs of one plan are reported together."""
    group: Group
    spec: RunSpec
    models_folder: Path
    """Where the model file lies. Private."""
    source: Path | None
    """Where prompts or schemas come from; None for words. Private."""
    url: str | None = None
    """Where the engine runs already; None: the lab launches it. Private."""
    repeat: int
    """0 for the first launch of this spec."""


class RunPlan(Frozen):
    """Everything that will be run, in order."""

    name: Name
    file: str
    """The params file as it was named. Private."""
    repeats: int
    groups: tuple[Group, ...]
    runs: tuple[PlannedRun, ...]
    """Repeats are interleaved: every spec once, then every spec again."""

    def pick(self, engine: str, profile: str) -> PlannedRun:
        """The first launch of one engine and profile.

        Raises:
            ParamsError: the plan has no such run; the sentence lists those it has.
        """
        for run in self.runs:
            if (run.spec.engine, run.spec.profile.name) == (engine, profile):
                return run
        there = ", ".join(f"{spec.engine} / {spec.profile.name}" for group in self.groups for spec in group.specs)
        raise ParamsError(f"{self.file} has no run of {engine} with profile {profile}; it has: {there}")


def load_plan(path: Path) -> RunPlan:
    """Read a plan file and the pieces it names.

    Raises:
        ParamsError: something in it cannot be followed; when there are several problems, all are named.
    """
    if not path.is_absolute() and not path.exists() and (PARAMS_FOLDER.parent / path).exists():
        path = PARAMS_FOLDER.parent / path  # a notebook runs in its own folder
    where = shown(path)
    try:
        name = _NAME.validate_python(path.stem)
    except ValidationError:
        raise ParamsError(
            f"a plan's file name becomes part of its evidence; '{path.name[:80]}' has to be "
            "letters, digits and . _ + -, 80 at most",
            "rename the file",
        ) from None
    raw = read_mapping(path)
    _check_answered(path, where)
    plan_file = parse(PlanFile, raw, where)
    folder = path.parent if (path.parent / "models").is_dir() else PARAMS_FOLDER
    if plan_file.preparation_counts is None:
        raise UndecidedPlan(
            f"{where} has not decided whether preparation time (build, cold start) counts in the decision; "
            "there is no default",
            f"write 'preparation_counts: true' or 'preparation_counts: false' into {where}",
        )
    entries: list[tuple[Table, GroupEntry | None]] = [
        ("comparison", plan_file.comparison),
        ("pipeline-check", plan_file.pipeline_check),
        ("instrument-check", plan_file.instrument_check),
    ]
    if not any(entry for _, entry in entries):
        raise ParamsError(f"{where} names no runs; it needs comparison, pipeline_check or instrument_check")
    suite = _suite(plan_file.quality, folder, where)
    problems: list[LabError] = []
    groups: list[Group] = []
    for table, entry in entries:
        if entry is not None:
            group = _attempt(problems, _group, plan_file, table, entry, suite, folder, where)
            if group is not None:
                groups.append(group)
    _raise_all(problems)
    labels = [(spec.engine, spec.profile.name) for group in groups for spec in group.specs]
    for engine, profile in labels:
        if labels.count((engine, profile)) > 1:
            raise ParamsError(
                f"{where} has two runs called {engine} / {profile}", "give one of them another name: set: {name: …}"
            )
    plan_digest = "p-" + digest([spec.spec_digest for group in groups for spec in group.specs])[:12]
    runs = tuple(
        PlannedRun(
            plan=name,
            plan_digest=plan_digest,
            group=group,
            spec=spec,
            models_folder=folder / "models",
            source=group.source,
            url=url,
            repeat=repeat,
        )
        for repeat in range(plan_file.repeats)
        for group in groups
        for spec, url in zip(group.specs, group.urls, strict=True)
    )
    return RunPlan(name=name, file=where, repeats=plan_file.repeats, groups=tuple(groups), runs=runs)


def find_problems(plan: RunPlan) -> tuple[LabError, ...]:
    """What on this machine would stop the plan: missing engines, missing weights, settings that do not fit."""
    problems: list[LabError] = []
    known, machine = read_support(), capture()
    for run in plan.runs:
        verdict = look_up(known, run.spec, machine)
        if verdict.support == "refused":
            row = verdict.rows[0]
            problems.append(
                LabError(
                    f"{run.spec.engine} does not serve {run.spec.model.series} so: {row.source} (read {row.read})",
                    "change the plan, or the row in params/support.yaml",
                )
            )
        spec, adapter = run.spec, adapter_of(run.spec)
        if run.url is not None:
            fault = find_fault(adapter, attached_endpoint(run.url, adapter.api_path), spec)
            if fault is not None:
                problems.append(fault)
            continue
        missing = adapter.installed()
        if missing:
            problems.append(LabError(missing))
        before = len(problems)
        place = _attempt(problems, find_weights, run)
        if len(problems) == before:
            _attempt(problems, adapter.render, spec, Place(place, 1, Path()))
    unique = {problem.what: problem for problem in problems}
    return tuple(unique.values())


def find_weights(run: PlannedRun) -> Path | None:
    """The verified weights of a run, None for a model without weights. Raises ModelError.

    None as well for an attached engine: its weights are wherever it was started.
    """
    if run.url is not None:
        return None
    return weights.locate(*weights.find_model(run.spec.model, run.models_folder))


def load_suite_of(run: PlannedRun, *, remembered: bool = False) -> Suite | None:
    """The suite that a run asks; None where quality cannot be asked of its engine.

    Args:
        run: as it was planned.
        remembered: its digest may be one that was computed before; a run computes it itself.

    Raises:
        LabError: it is not the suite that was planned any more.
    """
    ref = run.spec.quality
    if ref is None:
        return None
    suite = load_suite(run.models_folder.parent / "quality" / ref.name)
    if (ref_of(suite) if remembered else suite.ref()) != ref:
        raise LabError(f"the suite {ref.name} has changed since the run was planned", "plan and run again")
    return suite


def _quality_of(adapter: Adapter, suite: Suite, context_limit: int, where: str) -> SuiteRef | None:
    """The suite, pinned, where the engine can be asked it at all. Raises ParamsError when the context is too short."""
    if not adapter.has_quality:
        return None
    if context_limit < suite.needs_context:
        raise ParamsError(
            f"{where}: quality suite {suite.name} needs a context of {suite.needs_context} tokens; "
            f"context_limit is {context_limit}",
            f"write context_limit: {suite.needs_context} or more, or take a smaller suite",
        )
    return ref_of(suite)


def _group(plan: PlanFile, table: Table, entry: GroupEntry, suite: Suite, folder: Path, where: str) -> Group:
    model = weights.read_model(entry.model or plan.model, folder / "models")
    workload, source = _workload(entry.workload or plan.workload, folder, where)
    context_limit = entry.context_limit or plan.context_limit
    longest = (workload.input_tokens or 0) + workload.output_tokens + TEMPLATE_ALLOWANCE
    if workload.content == "trace" and source is not None:
        longest = (longest_tokens(workload, read_source("trace", source)) or 0) + TEMPLATE_ALLOWANCE
    if longest > context_limit:
        inputs = "as its rows say" if workload.content == "trace" else workload.input_tokens or "unknown"
        raise ParamsError(
            f"{where}: workload {workload.name} needs up to {longest} tokens of context "
            f"({inputs} in, {workload.output_tokens} out, {TEMPLATE_ALLOWANCE} for the template); "
            f"context_limit is {context_limit}"
        )
    if workload.content == "structured-output" and workload.endpoint != "chat":
        raise ParamsError(f"{where}: workload {workload.name}: structured output is asked for on the chat endpoint")
    assert plan.preparation_counts is not None
    specs = []
    urls = []
    for run in entry.runs:
        around = _seats_around(run, where)
        adapter = adapter_for(
            run.engine, attached=run.url is not None, gateway=around["gateway"], behind=around["behind"]
        )
        _check_seat(table, adapter.key, where)
        urls.append(_root(run, adapter, plan, where))
        specs.append(
            RunSpec(
                table=table,
                model=model.model,
                quantization=_quantization(run, model.quantization, table, where),
                context_limit=context_limit,
                engine=adapter.key,
                profile=_profile(run, adapter.key, folder, where),
                workload=workload,
                sampling=plan.sampling,
                chat_template_kwargs=plan.chat_template_kwargs,
                quality=_quality_of(adapter, suite, context_limit, where),
                preparation_counts=plan.preparation_counts,
                cache_tier=plan.cache_tier,
                isolation=plan.isolation,
                attached=run.url is not None,
                served_as=run.served_as,
                gateway=around["gateway"],
                behind=around["behind"] or INSIDE.get(adapter.key),
            )
        )
    twice = [spec for i, spec in enumerate(specs) if any(not rules.differences((spec, other)) for other in specs[:i])]
    if twice:
        raise ParamsError(
            f"{where}: profile {twice[0].profile.name} of {twice[0].engine} is the same as another run of its group",
            "use 'repeats' for fresh launches of one run",
        )
    try:
        varied = rules.subject(specs)
    except LabError as problem:
        raise type(problem)(f"{where}, {table}: {problem.what}", problem.next_step) from None
    _check_decided(table, specs, where)
    return Group(
        table=table,
        subject=varied,
        source=source,
        specs=tuple(specs),
        urls=tuple(urls),
        match_id=match_id(tuple(specs)),
    )


def _quantization(run: RunEntry, of_model: Quantization, table: Table, where: str) -> Quantization:
    """The formats of a run: the model file's, unless the KV cache is what the pipeline check is about."""
    if run.kv_cache is None:
        return of_model
    if table != "pipeline-check":
        raise ParamsError(
            f"{where}, {table}: {run.engine}: kv_cache {run.kv_cache}: quantization is equal in this table",
            "put the runs under pipeline_check, or write the format into the model file",
        )
    return of_model.model_copy(update={"kv_cache": run.kv_cache})


def _seats_around(run: RunEntry, where: str) -> dict[str, str | None]:
    """Gateway and inner engine of a run, as keys of the roster. Raises ParamsError."""
    if (run.gateway or run.behind or run.served_as) and run.url is None:
        raise ParamsError(
            f"{where}: {run.engine}: gateway, behind and served_as go with url: the lab launches engines itself"
        )
    gateway, behind = find(run.gateway or ""), find(run.behind or "")
    if run.gateway and (gateway is None or gateway.seat != "gateway"):
        known = ", ".join(entry.key for entry in ROSTER if entry.seat == "gateway")
        raise ParamsError(f"{where}: {run.engine}: no gateway is called '{run.gateway}'; there are: {known}")
    if run.behind and (behind is None or behind.seat not in ("on", "off")):
        raise ParamsError(f"{where}: {run.engine}: no engine is called '{run.behind}'", "lab engines")
    return {"gateway": gateway.key if gateway else None, "behind": behind.key if behind else None}


def _root(run: RunEntry, adapter: Adapter, plan: PlanFile, where: str) -> str | None:
    """Root of the server an attached run is measured on, None for one that is launched. Raises ParamsError."""
    if run.url is None:
        return None
    try:
        root, _ = split_url(run.url, adapter.api_path)
    except EndpointError as problem:
        raise ParamsError(f"{where}: {run.engine}: {problem.what}", problem.next_step) from None
    if plan.repeats > 1:
        raise ParamsError(
            f"{where}: {run.engine} runs already, and {plan.repeats} repeats are to be fresh launches",
            "write repeats: 1, or put the attached runs into a plan of their own",
        )
    if plan.cache_tier != "as-found":
        raise ParamsError(
            f"{where}: {run.engine} runs already: nothing can be prepared for cache_tier {plan.cache_tier}",
            "take cache_tier out of the plan",
        )
    return root


def _check_decided(table: Table, specs: Sequence[RunSpec], where: str) -> None:
    """A comparison of engines decides every condition that engines default differently."""
    if table != "comparison" or len({spec.engine for spec in specs}) < 2:
        return
    open_ones = [want.condition for want in wanted(specs[0]) if want.condition in DECIDE and want.value is None]
    if open_ones:
        raise ParamsError(
            f"{where}: profile {specs[0].profile.name} leaves to the engines what they default differently: "
            f"{', '.join(open_ones)}",
            "decide each of them in the profile; `lab launch PARAMS --dry-run` says what each engine does else",
        )


def _check_answered(path: Path, where: str) -> None:
    """Nothing runs on a value that is still a question. Raises OpenQuestions with the list."""
    asked = open_questions(path)
    if asked:
        lines = "\n".join(f"  line {one.line}, {one.key}" + (f": {one.words}" if one.words else "") for one in asked)
        raise OpenQuestions(
            f"{where} still asks {len(asked)} question(s), each a value '?':\n{lines}",
            f"answer each of them in {where}, then: lab plan {where}",
        )


def _check_seat(table: Table, engine: str, where: str) -> None:
    """Who may stand in which table: the comparison is for the four columns, the instrument check for the reference."""
    entry = find(engine)
    seat = entry.seat if entry else "unlisted"
    if table == "comparison" and seat not in ("on", "synthetic"):
        raise ParamsError(
            f"{where}: {engine} is not one of the four columns of the comparison table",
            "put the run under pipeline_check",
        )
    if (table == "instrument-check") != (seat == "instrument"):
        raise ParamsError(
            f"{where}: instrument_check is for the reference engine and for it alone, got {engine} in {table}"
        )


def _suite(name: str, folder: Path, where: str) -> Suite:
    try:
        path = find_suite(name, folder / "quality")
    except LabError as problem:
        raise ParamsError(f"{where}: {problem.what}") from None
    return load_suite(path)


def _workload(value: str | dict[str, Any], folder: Path, where: str) -> tuple[Workload, Path | None]:
    """A workload and the file its prompts come from: a name, or `use` with the fields to change."""
    changed = {} if isinstance(value, str) else dict(value)
    use = value if isinstance(value, str) else changed.pop("use", None)
    if not isinstance(use, str):
        raise ParamsError(f"{where}: workload: a mapping needs 'use' with the name of a file of params/workloads/")
    path = folder / "workloads" / f"{use}.yaml"
    return read_workload(path, changed, where)


def read_workload(path: Path, changed: Mapping[str, Any], where: str) -> tuple[Workload, Path | None]:
    """A workload file and the file its prompts come from.

    Args:
        path: the workload file; its stem is the name.
        changed: fields that are said elsewhere and hold instead.
        where: the place of these, for sentences.

    Raises:
        ParamsError: something in it cannot be followed.
    """
    fields = {"name": path.stem} | read_mapping(path)
    place = shown(path)
    if changed:
        if changed.get("arrival", fields.get("arrival", "closed")) != fields.get("arrival", "closed"):
            fields.pop("concurrency", None)  # a ladder belongs to its arrival law
            fields.pop("rate_rps", None)
        fields, place = {**fields, **changed}, f"{where}: workload"
    named = fields.pop("source", None)
    if named is None:
        workload = parse(Workload, fields, place)
        if workload.content != "words":
            raise ParamsError(f"{place}: content {workload.content} needs 'source' with the file it comes from")
        return workload, None
    if not isinstance(named, str) or not named:
        raise ParamsError(f"{place}: source is the name of a file, got {named!r:.60}")
    source = path.parent / Path(named).expanduser()
    content = str(fields.get("content", "words"))
    if content == "words":
        raise ParamsError(f"{place}: content words has no source; say content: own-traffic, structured-output or trace")
    return parse(Workload, fields | {"source_sha256": read_source(content, source).sha256}, place), source


def _profile(run: RunEntry, engine: str, folder: Path, where: str) -> LaunchProfile:
    """A profile of the engine's own file, else of the file every engine shares.

    An attached engine needs none; without a name nothing is declared beside what the run itself sets.
    """
    if run.profile is None:
        if run.url is None:
            raise ParamsError(f"{where}: {run.engine} has no profile", f"name one of params/engines/{engine}.yaml")
        return parse(LaunchProfile, {"name": AS_FOUND} | run.set, f"{where}: {run.engine}: set")
    own, shared = folder / "engines" / f"{engine}.yaml", folder / "engines" / f"{SHARED_PROFILES}.yaml"
    profiles = {path: read_mapping(path) for path in (own, shared) if path.is_file()}
    if not profiles:
        read_mapping(own)  # says what is there
    path = next((path for path, held in profiles.items() if run.profile in held), None)
    if path is None:
        names = [name for held in profiles.values() for name in held]
        near = nearest(run.profile, names)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(names)}"
        files = " and ".join(shown(path) for path in profiles)
        raise ParamsError(
            f"{where}: {files} {'have' if len(profiles) > 1 else 'has'} no profile '{run.profile}'; {hint}"
        )
    settings = {} if profiles[path][run.profile] is None else profiles[path][run.profile]
    if not isinstance(settings, dict):
        raise ParamsError(f"{shown(path)}: {run.profile}: a profile is a mapping of settings, got {settings!r:.60}")
    return parse(LaunchProfile, {"name": run.profile} | settings | run.set, f"{shown(path)}: {run.profile}")


def _attempt(problems: list[LabError], step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The step's value, or None with its problem noted."""
    try:
        return step(*args, **kwargs)
    except LabError as problem:
        problems.append(problem)
        return None


def _raise_all(problems: list[LabError]) -> None:
    if len(problems) == 1:
        raise problems[0]
    if problems:
        sentences = "\n".join(f"{i}. {problem.what}" for i, problem in enumerate(problems, 1))
        raise ParamsError(f"{len(problems)} problems:\n{sentences}", problems[0].next_step)
