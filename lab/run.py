"""The main path: one run, four steps, one bundle.

`run_one` is the whole of it. A notebook does the same four steps, one a cell; `run_plan` executes that
notebook once for every run of a plan, in a process of its own, and seals what came of it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from lab import clock
from lab.checks import needed
from lab.engines import adapter_of
from lab.engines.attached import disagreements, unseen
from lab.engines.attachment import KEY_VARIABLE, EngineAttachment, is_here
from lab.engines.process import EngineProcess, child_environment
from lab.engines.reference import read_emissions
from lab.environment import Environment, capture
from lab.errors import STORAGE, EngineDied, EngineError, LabError, ModelError
from lab.evidence import DONE, EvidenceStore, Isolation, LaunchRecord, LoadFacts, PromptFacts, RunRecord
from lab.gpu import open_gpus
from lab.hardware import limits_of, read_hardware
from lab.leash import Leashed
from lab.limits import Limits, MemoryBandwidth
from lab.load.driver import LoadFailed, LoadJob, LoadResult, Progress, StopLoad, run_load
from lab.load.ladder import build_levels
from lab.load.prompts import PATHS, first_request, longest_tokens
from lab.load.sources import Source, read_source
from lab.load.tokens import LocalTokenizer, chat_template, open_tokenizer
from lab.membandwidth import measure_apart
from lab.params import PARAMS_FOLDER
from lab.plan import PlannedRun, RunPlan, load_suite_of
from lab.preflight import probe
from lab.quality.arms import arms_of
from lab.quality.harness import run_suite
from lab.records import Capabilities, Event, Outcome, Preparation, RunState
from lab.scratch import scratch
from lab.serving import Serving, bring_up
from lab.support import look_up, read_support
from lab.watch import RunWatch, other_cores
from lab.weights import find_model, locate

COLLECT = PARAMS_FOLDER.parent / "notebooks" / "20_collect.ipynb"
"""The notebook that collects one engine column."""

PROGRESS_VARIABLE = "LAB_PROGRESS"
"""Names the file a supervised run tells its progress to."""

_kept_cells = 1
"""In an interactive notebook: the first executed cell that no bundle has kept yet; 0 is IPython's placeholder."""

LOOK_S = 0.5
"""How long the machine is looked at before the launch and after the stop."""

BUILD_LIMIT_S = 4 * 3600.0
"""The most a build may take, all its steps together."""

ITEM_LIMIT_S = 60.0
"""Limit for one request of a quality suite."""

Tell = Callable[[str, Mapping[str, Any]], None]
"""Told a step's name and how far it is: done, total, detail."""


def run_one(planned: PlannedRun, store: EvidenceStore) -> RunRecord:
    """Measure one run in this process and return what came of it."""
    with open_run(planned, store) as run:  # the bundle exists from the first second and survives a crash
        run.prepare()  # environment, launch, first request, preflight
        run.throughput()
        run.quality()  # after the load, so that its prompts cannot warm a prefix cache for the timed part
    return store.read(run.run_id)


def open_run(planned: PlannedRun, store: EvidenceStore, run_id: str | None = None) -> Run:
    """Open a bundle, new or, under a supervisor, the one it has made.

    Args:
        planned: from `RunPlan.pick` or `RunPlan.runs`.
        store: where the bundle goes.
        run_id: of a bundle that a supervisor made; it will seal it. None makes a bundle that this run seals.

    Raises:
        LabError: the bundle that was named was made for another spec.
    """
    if run_id is None:
        return Run(planned, store, _create(planned, store), owner=True)
    if store.spec(run_id).spec_digest != planned.spec.spec_digest:
        raise LabError(f"{run_id} was made for another spec than the one these parameters name", "leave run_id empty")
    return Run(planned, store, run_id, owner=False)


class Run:
    """One run while it happens. Any step that fails ends the run, with its reason, and stops the engine.

    Attributes:
        run_id: names the bundle.
        spec: what is being run.
    """

    def __init__(self, planned: PlannedRun, store: EvidenceStore, run_id: str, *, owner: bool) -> None:
        self._planned, self._store, self._owner = planned, store, owner
        self.run_id, self.spec = run_id, planned.spec
        self._adapter = adapter_of(planned.spec)
        self._tell = _teller()
        self._serving: Serving | None = None
        self._capabilities = Capabilities(checks=())
        self._ended = False
        self._other_before: float | None = None
        atexit.register(self._end, RunState.INTERRUPTED, "the process ended before the run was closed")

    def prepare(self) -> Preparation:
        """Capture the machine, launch the engine, send the first request, probe what the engine does."""
        with self._step("prepare"):
            spec, adapter = self.spec, self._adapter
            environment = capture()
            self._write("environment.json", environment)
            certificate = self._store.certificate(environment)
            if certificate is not None:
                self._write("certificate.json", certificate)
            self._other_before = other_cores(LOOK_S)
            bandwidth = self._bandwidth(environment)
            folder = self._store.path(self.run_id).resolve()
            self._serving = serving = bring_up(
                self._planned,
                folder,
                environment,
                f"lab run {self.run_id}",
                lambda words: self._say("prepare", detail=words),
            )
            engine, start, build = serving.engine, serving.start, serving.build
            self._write("limits.json", self._limits(environment, serving, bandwidth))
            ready_s = engine.wait_ready(lambda waited: self._say("prepare", detail=f"starting, {waited:.0f} s"))
            self._say("prepare", detail="first request")
            fields, not_expressible = self._request_fields()
            result = run_load(self._job(first_request(spec.workload, model=self._model, fields=fields)))
            first = result.records[0]
            if first.outcome is not Outcome.SUCCESS:
                raise EngineError(f"the first request to {spec.engine} failed ({first.outcome}): {first.error}")
            preparation = Preparation(
                events=(
                    *(build.events if build else ()),
                    *((Event(name="launch", at_s=engine.launched_s),) if start else ()),
                    Event(name="ready", at_s=ready_s),
                    Event(name="first_request_sent", at_s=first.send_s + result.zero_s),
                    Event(name="first_token", at_s=first.token_s[0] + result.zero_s),
                ),
                build_s=build.build_s if build else None,
                build=build.build if build else None,
                startup_s=None if start is None else ready_s - engine.launched_s,
                first_request_s=first.token_s[0] - first.send_s,
                fetch_s=start.fetch_s if start else None,
                cache_tier=spec.cache_tier,
                cache_state=start.state if start else "unknown",
                cache_reason=start.reason if start else "the engine ran already",
                wiped=start.wiped if start else (),
                phases=(*adapter.phases(engine.endpoint, engine.log()), *adapter.phases_in(folder)),
            )
            self._write("preparation.json", preparation)
            self._say("prepare", detail="preflight")
            effective = adapter.read_back(engine.endpoint, engine.log())
            self._capabilities = capabilities = probe(
                adapter,
                engine.endpoint,
                spec,
                effective,
                tokenizer=tokenizer.count if (tokenizer := self._tokenizer) else None,
                alive=lambda: engine.check_alive("during preflight", patience_s=2.0),
                say=lambda name: self._say("prepare", detail=f"preflight: {name}"),
            )
            version = adapter.version(engine.endpoint)
            note = adapter.version_note(version)
            warnings = [note] if note else []
            if serving.attached_to is not None:
                warnings += [
                    *disagreements(serving.launch.settings, effective),
                    *unseen(adapter, engine.endpoint, spec),
                ]
            self._write(
                "launch.json",
                LaunchRecord(
                    engine_version=version,
                    command=serving.launch.shown,
                    argv=serving.launch.argv,
                    not_expressible=not_expressible,
                    capabilities=capabilities,
                    settings=serving.launch.settings,
                    effective=effective,
                    attention_backend=adapter.attention_backend(engine.endpoint, engine.log()),
                    chat_template_sha256=self._template_sha256,
                    surface=adapter.surface,
                    attached_to=serving.attached_to,
                    support=look_up(read_support(), spec, environment),
                    gateway_version=adapter.gateway_version(engine.endpoint),
                    warnings=tuple(warnings),
                ),
            )
            return preparation

    def throughput(self) -> LoadResult:
        """Drive every rung of the ladder and keep what every request did."""
        with self._step("throughput"):
            engine, workload = self._running(), self.spec.workload
            missing = needed(workload)
            if missing is not None and not self._capabilities.can(missing):
                reason = f"the workload is not supported: this engine did not pass {missing}"
                self._write(
                    "load.json",
                    LoadFacts(zero_s=0.0, complete=True, costs=(), metrics_reason=reason, not_supported=missing),
                )
                return LoadResult((), (), complete=True, zero_s=0.0)
            self._say("throughput", detail="building prompts")
            fields, _ = self._request_fields()
            count = (
                (lambda text: self._adapter.count_tokens(engine.endpoint, text))
                if self._capabilities.can("tokenize")
                else None
            )
            source = self._source
            longest = longest_tokens(workload, source, count)
            if longest is not None and longest > self.spec.context_limit:
                raise LabError(
                    f"the longest request of workload {workload.name} needs {longest} tokens; "
                    f"context_limit is {self.spec.context_limit}",
                    "raise context_limit, or take the long items out of the source",
                )
            levels = build_levels(workload, model=self._model, fields=fields, count_tokens=count, source=source)
            if source is not None and (schemas := source.schemas):
                self._write("schemas.json", json.dumps(schemas).encode())
            with (
                open_gpus() as (gpus, gpu_reason),
                RunWatch(engine.endpoint, self._adapter.metrics_path, engine_pid=engine.pid, gpus=gpus) as watch,
            ):
                failed: LoadFailed | None = None
                try:
                    result = run_load(self._job(*(level.job for level in levels)), self._say_load)
                except LoadFailed as problem:  # what was measured until then is kept before the run ends
                    failed, result = problem, problem.kept
            self._store.write_requests(self.run_id, result.records)
            self._store.write_watch(self.run_id, watch.samples, watch.host, watch.gpu)
            self._write(
                "load.json",
                LoadFacts(
                    zero_s=result.zero_s,
                    complete=result.complete,
                    costs=result.costs,
                    prompts=tuple(
                        PromptFacts(inexact=level.inexact, uncounted=level.uncounted, repeated=level.repeated)
                        for level in levels
                    ),
                    metrics_reason=None if watch.samples else watch.reason,
                    metric_names=dict(self._adapter.metric_names),
                    gpu_reason=gpu_reason,
                ),
            )
            engine.check_alive("under load", patience_s=0.0 if result.complete else 2.0)
            if failed is not None:
                raise failed
            self._keep_emissions()
            if not result.complete:
                raise KeyboardInterrupt
            measured = [record for record in result.records if not record.warmup]
            if not any(record.outcome is Outcome.SUCCESS for record in measured):
                raise EngineError(
                    f"none of {len(measured)} requests to {self.spec.engine} succeeded; "
                    f"the first ended as {measured[0].outcome}: {measured[0].error}"
                )
            return result

    def quality(self) -> None:
        """Ask the quality suite of the same running engine; without a suite nothing is asked."""
        with self._step("quality"):
            suite, engine = load_suite_of(self._planned), self._running()
            if suite is None:
                return
            result, items = run_suite(
                suite,
                base_url=engine.endpoint.url + self._adapter.api_path,
                model=self._model,
                sampling=self._adapter.sampling_fields(self.spec.sampling).body,
                context_limit=self.spec.context_limit,
                run_id=self.run_id,
                capabilities=self._capabilities,
                tokenizer=self._tokenizer,
                timeout_s=ITEM_LIMIT_S,
                on_progress=lambda done, total: self._say("quality", done=done, total=total),
            )
            self._store.write_samples(self.run_id, items)
            self._write("quality.json", result)
            if (arms := arms_of(suite, items)) is not None:
                self._write("arms.json", arms)
            if result.incomplete == "stopped":
                raise KeyboardInterrupt
            engine.check_alive("during the quality suite")

    def close(self) -> None:
        """Stop the engine and end the run as measured."""
        self._end(RunState.MEASURED, None)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if problem is None:
            self.close()
        else:
            self._end(*_ending(problem))

    @property
    def _source(self) -> Source | None:
        planned = self._planned
        return None if planned.source is None else read_source(self.spec.workload.content, planned.source)

    @property
    def _tokenizer(self) -> LocalTokenizer | None:
        """The model's tokenizer out of its weights; None when the lab cannot read it: tasks that need it say so."""
        try:
            path = locate(*find_model(self.spec.model, self._planned.models_folder))
            return None if path is None else open_tokenizer(path)
        except ModelError:
            return None

    def _bandwidth(self, environment: Environment) -> MemoryBandwidth | None:
        """Memory bandwidth of the CPUs, where an engine with weights is to compute on them."""
        url = self._planned.url
        here = url is None or is_here(url)
        if self.spec.model.weights_format == "none" or not here or not self._on_cpu(environment):
            return None
        self._say("prepare", detail="measuring the memory bandwidth")
        return measure_apart()

    def _limits(self, environment: Environment, serving: Serving, bandwidth: MemoryBandwidth | None) -> Limits:
        weights = serving.start.weights if serving.start else None
        if serving.start is None:
            with contextlib.suppress(ModelError):  # an attached engine: as declared, if they are here at all
                weights = locate(*find_model(self.spec.model, self._planned.models_folder))
        return limits_of(
            weights,
            environment,
            has_weights=self.spec.model.weights_format != "none",
            named=self.spec.quantization.weights,
            built=self._adapter.has_build,
            here=serving.attached_to != "elsewhere",
            on_cpu=self._on_cpu(environment),
            bandwidth=bandwidth,
            table=read_hardware(),
        )

    def _on_cpu(self, environment: Environment) -> bool:
        return not environment.gpus or self._adapter.computes_on_cpu()

    @property
    def _template_sha256(self) -> str | None:
        """Digest of the chat template that the engine was launched with; None when the lab did not see it."""
        model = self.spec.model
        if model.chat_template != "in-weights" or self._planned.url is not None:
            return model.chat_template_sha256
        try:
            path = locate(*find_model(model, self._planned.models_folder))
            template = None if path is None else chat_template(path)
        except ModelError:
            return None
        return None if template is None else hashlib.sha256(template.encode()).hexdigest()

    @property
    def _model(self) -> str:
        return self._adapter.served_name(self.spec)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        if self._ended:
            raise LabError(f"{self.run_id} has ended", "open a new run")
        try:
            self._store.update(self.run_id, step=name)
            self._say(name)
            yield
        except EngineDied as problem:
            self._end(*_ending(problem))
            raise
        except BaseException as problem:
            try:
                # a refused connection is a symptom; when the engine has ended, its last words are the reason
                if self._serving is not None and isinstance(problem, LabError):
                    self._serving.engine.check_alive(f"during '{name}'", patience_s=2.0)
            except EngineDied as death:
                self._end(*_ending(death))
                raise death from problem
            self._end(*_ending(problem))
            raise

    def _end(self, state: RunState, reason: str | None) -> None:
        """Stop the engine; say what came of the run; seal the bundle if it is ours."""
        if self._ended:
            return
        self._ended = True
        atexit.unregister(self._end)
        if self._serving is not None:
            self._serving.stop()
        if state is RunState.MEASURED and self._other_before is not None:
            isolation = Isolation(other_cores_before=self._other_before, other_cores_after=other_cores(LOOK_S))
            self._write("isolation.json", isolation)
        if self._owner:
            with contextlib.suppress(OSError):
                _keep_cells(self._store, self.run_id)
            self._store.seal(self.run_id, state, reason)
        elif state is RunState.MEASURED:
            self._store.update(self.run_id, step=DONE, ended_at=clock.now())
        else:
            self._store.update(self.run_id, reason=reason)
        self._say("done" if state is RunState.MEASURED else "ended", detail=reason or "")

    def _running(self) -> EngineProcess | EngineAttachment:
        if self._serving is None:
            raise LabError("the engine has not been prepared", "call run.prepare() first")
        self._serving.engine.check_alive("between two steps")
        return self._serving.engine

    def _request_fields(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        sampling = self._adapter.sampling_fields(self.spec.sampling)
        length = self._adapter.length_fields(self.spec.workload.output_tokens, self.spec.workload.exact_output)
        template = self._adapter.template_fields(self.spec)
        return (
            sampling.body | length.body | template.body,
            (*sampling.not_expressible, *length.not_expressible, *template.not_expressible),
        )

    def _job(self, *levels: Any) -> LoadJob:
        workload = self.spec.workload
        assert self._serving is not None
        return LoadJob(
            url=self._serving.engine.endpoint.url + self._adapter.api_path,
            headers=self._serving.engine.endpoint.headers,
            path=PATHS[workload.endpoint],
            levels=levels,
            timeout_s=workload.timeout_s,
            workers=workload.workers,
        )

    def _keep_emissions(self) -> None:
        """What the reference engine says it sent; other engines do not know."""
        if self.spec.engine != "reference":
            return
        emissions = read_emissions(self._running().endpoint)
        lines = (
            json.dumps({"request_id": request_id, **emission.model_dump(mode="json")}) + "\n"
            for request_id, emission in emissions.items()
        )
        self._write("emissions.jsonl", "".join(lines).encode())

    def _write(self, name: str, data: Any) -> None:
        self._store.write(self.run_id, name, data)

    def _say(self, step: str, **facts: Any) -> None:
        self._tell(step, facts)

    def _say_load(self, progress: Progress) -> None:
        if self._serving is not None and self._serving.engine.ended:
            raise StopLoad  # what was measured until here is kept before the run ends with its reason
        rate = progress.tokens / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
        self._say(
            "throughput",
            done=progress.done,
            total=progress.total,
            detail=f"level {progress.level + 1} of {progress.levels}, {progress.phase}, "
            f"{progress.in_flight} in flight, {rate:.0f} tok/s so far",
        )


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something a person watching a plan wants to see.

    Attributes:
        kind: `start`, `step`, `end` or `skip`.
        number: which run of how many, from 1.
        facts: of a step: step, done, total, detail; of an end: state, reason.
    """

    kind: str
    number: int
    total: int
    planned: PlannedRun
    run_id: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of one run of a plan."""

    run_id: str
    state: RunState
    reason: str | None


def run_plan(
    plan: RunPlan,
    params: Path,
    store: EvidenceStore,
    on_event: Callable[[RunEvent], None] = lambda _: None,
    *,
    resume: bool = False,
) -> tuple[Ended, ...]:
    """Execute the collecting notebook once for every run, one after another.

    A run that fails is a record with its reason; the next one starts all the same.

    Args:
        plan: from `load_plan(params)`.
        params: the plan file, handed to the notebook.
        store: where bundles go.
        on_event: told what happens.
        resume: skip runs of this plan that are measured and whole; a run that was interrupted or failed is
            repeated under a new run_id that names the one it replaces.

    Returns:
        One entry for each run, in the order of the plan; skipped ones as they were.
    """
    ended = []
    store.settle()
    for number, planned in enumerate(plan.runs, 1):
        replaces = None
        if resume:
            done, replaces = store.find(
                planned.spec.spec_digest, plan_digest=planned.plan_digest, repeat=planned.repeat
            )
            if done is not None:
                ended.append(Ended(done, RunState.MEASURED, None))
                on_event(RunEvent("skip", number, len(plan.runs), planned, done, {}))
                continue
        run_id = _create(planned, store, replaces)

        tell = partial(_tell_event, on_event, number, len(plan.runs), planned, run_id)
        tell("start", {})
        state: RunState = RunState.INTERRUPTED
        reason: str | None = "stopped by the user"
        try:
            state, reason = _execute(planned, params, store, run_id, partial(tell, "step"))
        except (LabError, OSError) as problem:
            state, reason = _ending(problem)
            raise
        finally:
            store.seal(run_id, state, reason)
            ended.append(Ended(run_id, state, reason))
            tell("end", {"state": state, "reason": reason})
    return tuple(ended)


def _create(planned: PlannedRun, store: EvidenceStore, replaces: str | None = None) -> str:
    return store.create(
        planned.spec,
        plan=planned.plan,
        plan_digest=planned.plan_digest,
        match_id=planned.group.match_id,
        varied=(planned.group.subject,) if planned.group.subject else (),
        repeat=planned.repeat,
        replaces=replaces,
    )


def _tell_event(
    on_event: Callable[[RunEvent], None],
    number: int,
    total: int,
    planned: PlannedRun,
    run_id: str,
    kind: str,
    facts: Mapping[str, Any],
) -> None:
    on_event(RunEvent(kind, number, total, planned, run_id, facts))


def _execute(
    planned: PlannedRun,
    params: Path,
    store: EvidenceStore,
    run_id: str,
    tell: Callable[[Mapping[str, Any]], None],
) -> tuple[RunState, str | None]:
    """Run the notebook in a process of its own and judge by its exit code and the status, not by its cells."""
    folder, most_s = store.path(run_id).resolve(), limit_s(planned)
    with scratch("run") as own:
        progress, output = own / "progress", own / "output"
        progress.touch()
        parameters = {
            "params": str(params.resolve()),
            "engine": planned.spec.engine,
            "profile": planned.spec.profile.name,
            "runs_dir": str(store.root.resolve()),
            "run_id": run_id,
        }
        key = os.environ.get(KEY_VARIABLE) if planned.url is not None else None
        environment = child_environment(
            **({KEY_VARIABLE: key} if key else {}),  # for an attached engine; none that is launched ever sees it
            **{PROGRESS_VARIABLE: str(progress)},
            TMPDIR=str(own),  # whatever ends the notebook, what it had on the disk goes with this folder
            IPYTHONDIR=str(own / "ipython"),
            JUPYTER_RUNTIME_DIR=str(own / "jupyter"),
            JUPYTER_PREFER_ENV_PATH="1",
        )
        with output.open("wb") as out:
            process = Leashed(
                [
                    sys.executable,
                    "-m",
                    "lab.notebook",
                    str(COLLECT),
                    str(folder / "notebook.ipynb"),
                    json.dumps(parameters),
                ],
                environment,
                out,
                cwd=str(own),
                scratch=str(own),  # after a kill -9 of this process nobody else removes it
            )
            try:
                deadline = time.monotonic() + most_s
                with progress.open(encoding="utf-8") as lines:
                    while (code := process.poll()) is None and time.monotonic() < deadline:
                        _pass_on(lines, tell)
                        time.sleep(0.1)
                    _pass_on(lines, tell)
            finally:
                process.stop()
        if code is None:
            return RunState.FAILED, f"not finished within its limit of {most_s:.0f} s"
        status = store.status(run_id)
        if code == 0 and status.step == DONE:
            return RunState.MEASURED, None
        words = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = words[-1][:300] if words else "it said nothing"
        return RunState.FAILED, status.reason or f"the notebook ended during '{status.step}' with code {code}: {last}"


def _pass_on(lines: Any, tell: Callable[[Mapping[str, Any]], None]) -> None:
    for line in lines:
        if line.endswith("\n"):
            tell(json.loads(line))


def limit_s(planned: PlannedRun) -> float:
    """The most a run may take: every wait inside it runs into its own limit, and a margin."""
    workload = planned.spec.workload
    requests = workload.requests_per_level + workload.warmup_requests
    waves = sum(-(-requests // (rung.concurrency or requests)) + 1 for rung in workload.rungs)
    sending_s = sum(workload.requests_per_level / rung.rate_rps for rung in workload.rungs if rung.rate_rps)
    loading_s = (waves + 2) * workload.timeout_s + sending_s
    suite = load_suite_of(planned)
    asking_s = suite.requests * ITEM_LIMIT_S if suite else 0.0
    adapter = adapter_of(planned.spec)
    starting_s = adapter.start_limit_s * (2 if planned.spec.cache_tier == "warm" else 1)  # one more fills the caches
    building_s = BUILD_LIMIT_S if adapter.has_build else 0.0
    return starting_s + building_s + loading_s + asking_s + 1800.0


def _ending(problem: BaseException) -> tuple[RunState, str]:
    if isinstance(problem, KeyboardInterrupt):
        return RunState.INTERRUPTED, "stopped by the user"
    if isinstance(problem, LabError):
        return RunState.FAILED, problem.what
    if isinstance(problem, OSError) and problem.errno in STORAGE:
        return RunState.FAILED, f"a file could not be written: {problem.strerror}"
    return RunState.FAILED, f"{type(problem).__name__}: {problem}"


def _teller() -> Tell:
    """Where progress goes: to the supervisor's file, or to the reader of the notebook."""
    path = os.environ.get(PROGRESS_VARIABLE)

    def to_file(step: str, facts: Mapping[str, Any]) -> None:
        assert path is not None
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps({"step": step, **facts}) + "\n")

    def to_reader(step: str, facts: Mapping[str, Any]) -> None:
        count = f" {facts['done']}/{facts['total']}" if "done" in facts else ""
        print(f"\r{step}{count} {facts.get('detail', '')}".ljust(100), end="", flush=True)

    return to_file if path else to_reader


def _keep_cells(store: EvidenceStore, run_id: str) -> None:
    """In an interactive notebook: the cells as they were executed, in their order, as the bundle's notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return
    import nbformat

    global _kept_cells
    executed = shell.user_ns.get("In", [""])
    cells = [nbformat.v4.new_code_cell(source) for source in executed[_kept_cells:] if source]
    _kept_cells = len(executed)  # the next run of this kernel begins behind them
    store.write(run_id, "notebook.ipynb", nbformat.writes(nbformat.v4.new_notebook(cells=cells)).encode())
