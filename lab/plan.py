"""A params file becomes a `RunPlan`: every value decided, every problem found, before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from lab import rules, weights
from lab.engines import adapter_for
from lab.errors import LabError, ParamsError, UndecidedPlan, nearest
from lab.load.sources import read_source
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.quality.suite import load_suite
from lab.roster import find
from lab.spec import Frozen, LaunchProfile, Name, RunSpec, Sampling, SuiteRef, Table, Workload, digest, match_id

P = ParamSpec("P")
T = TypeVar("T")

_NAME = TypeAdapter(Name)

TEMPLATE_ALLOWANCE = 64
"""Tokens kept free for the chat template when a workload is checked against the context limit."""


class RunEntry(Frozen):
    """One run of a group, as the file names it."""

    engine: str
    profile: str
    """A profile of params/engines/ENGINE.yaml."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Settings of the profile that this run changes."""


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
    plan_file = parse(PlanFile, read_mapping(path), where)
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
            repeat=repeat,
        )
        for repeat in range(plan_file.repeats)
        for group in groups
        for spec in group.specs
    )
    return RunPlan(name=name, file=where, repeats=plan_file.repeats, groups=tuple(groups), runs=runs)


def find_problems(plan: RunPlan) -> tuple[LabError, ...]:
    """What on this machine would stop the plan: missing engines, missing weights, settings that do not fit."""
    problems: list[LabError] = []
    for run in plan.runs:
        spec, adapter = run.spec, adapter_for(run.spec.engine)
        missing = adapter.installed()
        if missing:
            problems.append(LabError(missing))
        before = len(problems)
        place = _attempt(problems, find_weights, run)
        if len(problems) == before:
            _attempt(problems, adapter.render, spec, place, 1)
    unique = {problem.what: problem for problem in problems}
    return tuple(unique.values())


def find_weights(run: PlannedRun) -> Path | None:
    """The verified weights of a run, None for a model without weights. Raises ModelError."""
    return weights.locate(*weights.find_model(run.spec.model, run.models_folder))


def _group(plan: PlanFile, table: Table, entry: GroupEntry, suite: SuiteRef, folder: Path, where: str) -> Group:
    model = weights.read_model(entry.model or plan.model, folder / "models")
    workload, source = _workload(entry.workload or plan.workload, folder, where)
    context_limit = entry.context_limit or plan.context_limit
    longest = (workload.input_tokens or 0) + workload.output_tokens + TEMPLATE_ALLOWANCE
    if longest > context_limit:
        raise ParamsError(
            f"{where}: workload {workload.name} needs up to {longest} tokens of context "
            f"({workload.input_tokens or 'unknown'} in, {workload.output_tokens} out, "
            f"{TEMPLATE_ALLOWANCE} for the template); "
            f"context_limit is {context_limit}"
        )
    if workload.content == "structured-output" and workload.endpoint != "chat":
        raise ParamsError(f"{where}: workload {workload.name}: structured output is asked for on the chat endpoint")
    assert plan.preparation_counts is not None
    specs = []
    for run in entry.runs:
        adapter = adapter_for(run.engine)
        _check_seat(table, adapter.key, where)
        specs.append(
            RunSpec(
                table=table,
                model=model.model,
                quantization=model.quantization,
                context_limit=context_limit,
                engine=adapter.key,
                profile=_profile(run, adapter.key, folder, where),
                workload=workload,
                sampling=plan.sampling,
                quality=suite if adapter.has_quality else None,
                preparation_counts=plan.preparation_counts,
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
    return Group(table=table, subject=varied, source=source, specs=tuple(specs), match_id=match_id(tuple(specs)))


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


def _suite(name: str, folder: Path, where: str) -> SuiteRef:
    path = folder / "quality" / name
    if not (path / "suite.yaml").is_file():
        there = sorted(entry.parent.name for entry in (folder / "quality").glob("*/suite.yaml"))
        near = nearest(name, there)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(there)}"
        raise ParamsError(f"{where}: no quality suite is called {name!r:.80}; {hint}")
    return load_suite(path).ref()


def _workload(value: str | dict[str, Any], folder: Path, where: str) -> tuple[Workload, Path | None]:
    """A workload and the file its prompts come from: a name, or `use` with the fields to change."""
    changed = {} if isinstance(value, str) else dict(value)
    use = value if isinstance(value, str) else changed.pop("use", None)
    if not isinstance(use, str):
        raise ParamsError(f"{where}: workload: a mapping needs 'use' with the name of a file of params/workloads/")
    path = folder / "workloads" / f"{use}.yaml"
    fields = {"name": use} | read_mapping(path)
    place = shown(path)
    if changed:
        if changed.get("arrival", fields.get("arrival", "closed")) != fields.get("arrival", "closed"):
            fields.pop("concurrency", None)  # a ladder belongs to its arrival law
            fields.pop("rate_rps", None)
        fields, place = fields | changed, f"{where}: workload"
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
        raise ParamsError(f"{place}: content words has no source; say content: own-traffic or structured-output")
    return parse(Workload, fields | {"source_sha256": read_source(content, source).sha256}, place), source


def _profile(run: RunEntry, engine: str, folder: Path, where: str) -> LaunchProfile:
    path = folder / "engines" / f"{engine}.yaml"
    profiles = read_mapping(path)
    if run.profile not in profiles:
        near = nearest(run.profile, profiles)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(profiles)}"
        raise ParamsError(f"{where}: {shown(path)} has no profile '{run.profile}'; {hint}")
    settings = {} if profiles[run.profile] is None else profiles[run.profile]
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
