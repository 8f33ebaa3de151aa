"""Private bundle in, public evidence out: fields copied by name, numbers rounded, nothing else."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from lab.betray import Host, host_of
from lab.checks import CheckName, rule_of
from lab.errors import EvidenceError
from lab.evidence import EvidenceStore, RunRecord
from lab.match import comparable
from lab.metrics.counted import finish_word
from lab.publish.evidence import (
    PublicArm,
    PublicArms,
    PublicCheck,
    PublicEffective,
    PublicLevel,
    PublicPreparation,
    PublicQuality,
    PublicRun,
    PublicSetting,
    PublicTask,
)
from lab.publish.identity import Namer, open_namer
from lab.publish.paths import path_of
from lab.quality.arms import Arm, ArmComparison
from lab.records import (
    Certificate,
    Concern,
    EvidenceGrade,
    FinishReason,
    InstrumentLevel,
    LaunchTally,
    LevelResult,
    RunState,
    Summary,
    TaskScore,
)
from lab.roster import find
from lab.spec import Frozen

DIGITS = 4
"""Significant digits of a published measurement; one launch supports no more."""

GradeReason = Literal["no-gpu-seen", "engine-not-seen-on-gpu", "attached-elsewhere", "nvml", "generated", "imported"]


def project(
    store: EvidenceStore,
    run_id: str,
    until: datetime | None = None,
    namer: Namer | None = None,
    launches: LaunchTally | None = None,
) -> PublicRun:
    """The public evidence of one measured, whole run.

    Args:
        store: where its bundle is.
        run_id: the run.
        until: launches of its spec are counted up to this moment; None counts all.
        namer: what may be said of models and machines; None: as params/publish.yaml says.
        launches: how the launches of its spec went, where that is known already; None: they are counted.

    Raises:
        EvidenceError: the run is not measured, or its bundle is damaged: it cannot carry a report.
    """
    record = store.read(run_id)  # refuses what is damaged
    if record.status.state is not RunState.MEASURED:
        raise EvidenceError(
            f"{run_id} is {record.status.state}, not measured: {record.status.reason or 'no reason recorded'}",
            "lab runs",
        )
    if record.manifest_sha256 is None:
        raise EvidenceError(f"{run_id} is damaged: {'; '.join(store.verify(run_id))}", f"lab verify {run_id}")
    if record.environment is None or record.launch is None or record.preparation is None:
        raise EvidenceError(f"{run_id} lacks its environment, launch or preparation", f"lab show {run_id}")
    try:
        tally = launches or store.launches(run_id, until)
        return _public(record, record.manifest_sha256, tally, namer or open_namer())
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise EvidenceError(
            f"{run_id} holds something that may not be published as it is: {place}: {first['msg']}"
        ) from None


def grade_of(record: RunRecord) -> tuple[EvidenceGrade, GradeReason]:
    """What a run may be used for, derived from what was seen; nobody types it in.

    `real-gpu` needs NVML to show the engine's own process computing while the load ran.
    """
    entry = find(record.spec.engine)
    if entry is not None and entry.seat == "synthetic":
        return EvidenceGrade.SYNTHETIC, "generated"
    if record.launch is not None and record.launch.attached_to == "elsewhere":
        return EvidenceGrade.HARNESS_CHECK, "attached-elsewhere"
    if record.gpu_use is not None and record.gpu_use.engine_seen:
        return EvidenceGrade.REAL_GPU, "nvml"
    seen = record.environment is not None and record.environment.gpus
    return EvidenceGrade.HARNESS_CHECK, "engine-not-seen-on-gpu" if seen else "no-gpu-seen"


def rounded(value: float) -> float:
    """`value` to the published number of significant digits."""
    return float(f"{value:.{DIGITS}g}")


def maybe(value: float | None) -> float | None:
    """`value` rounded; None stays None."""
    return None if value is None else rounded(value)


def _public(record: RunRecord, manifest_sha256: str, launches: LaunchTally, namer: Namer) -> PublicRun:
    spec, status = record.spec, record.status
    assert record.environment is not None and record.launch is not None and record.preparation is not None
    grade, grade_reason = grade_of(record)
    year, week, _ = status.started_at.isocalendar()
    preparation, support = record.preparation, record.launch.support
    model, machine = namer.model(spec.model), namer.machine(record.environment.machine_class)
    exact = machine == record.environment.machine_class
    path = path_of(record)
    host = Host() if namer.identity.machine == "class" else host_of(record.environment, status.match_id)
    if not exact:
        path = path.model_copy(update={"hardware": machine.accelerator or machine.machine})
    if namer.hides(spec.model):
        digests = {
            name: namer.digest_of(spec.model, getattr(path, name))
            for name in ("weights_sha256", "chat_template_sha256")
        }
        path = path.model_copy(update=digests)
    build = rounded_tree(preparation.build)
    if build is not None:
        build = build.model_copy(update={"key": namer.digest_of(spec.model, build.key)})
    # what bounds a run follows from the exact machine and the exact weights, and names both
    ceilings = rounded_tree(record.ceilings) if exact and not namer.hides(spec.model) else None
    return PublicRun(
        run_id=record.run_id,
        spec_digest=namer.digest_of(spec.model, spec.spec_digest),
        match_id=namer.digest_of(spec.model, status.match_id),
        manifest_sha256=manifest_sha256,
        week=f"{year}-W{week:02d}",
        lab_version=status.lab_version,
        grade=grade,
        grade_reason=grade_reason,
        table=spec.table,
        engine=spec.engine,
        engine_version=record.launch.engine_version,
        model=model,
        quantization=spec.quantization,
        context_limit=spec.context_limit,
        gateway=spec.gateway,
        behind=spec.behind,
        attached=spec.attached,
        profile=spec.profile,
        varied=status.varied,
        workload=spec.workload,
        sampling=spec.sampling,
        preparation_counts=spec.preparation_counts,
        preparation=PublicPreparation(
            build_s=maybe(preparation.build_s),
            build=build,
            startup_s=maybe(preparation.startup_s),
            first_request_s=rounded(preparation.first_request_s),
            fetch_s=maybe(preparation.fetch_s),
            cache_tier=preparation.cache_tier,
            cache_state=preparation.cache_state,
            wiped=preparation.wiped,
            phases=tuple(phase.model_copy(update={"seconds": rounded(phase.seconds)}) for phase in preparation.phases),
            launches=rounded_tree(launches) if launches.attempts else None,
        ),
        levels=tuple(map(_level, record.levels)),
        not_expressible=record.launch.not_expressible,
        chat_template_kwargs=spec.chat_template_kwargs,
        cache_tier=spec.cache_tier,
        suite=spec.quality,
        settings=tuple(
            PublicSetting(condition=one.condition, wanted=comparable(one.wanted), how=one.how)
            for one in record.launch.settings
        ),
        effective=tuple(
            PublicEffective(condition=one.condition, value=value)
            for one in record.launch.effective
            if (value := comparable(one.value)) is not None
        ),
        checks=tuple(
            PublicCheck(name=CheckName(check.name), result=check.result, counts=check.counts)
            for check in record.launch.capabilities.checks
            if rule_of(check.name) is not None
        ),
        quality=_quality(record),
        quality_reason=_quality_reason(record),
        arms=_arms(record.arms),
        instrument=tuple(map(_instrument, record.instrument)),
        certificate=_certificate(record.certificate, namer),
        support=support.support if support else None,
        support_sources=tuple(f"{row.source}, read {row.read}" for row in support.rows) if support else (),
        machine=machine,
        pseudonym_key=namer.key_of(spec.model.series),
        isolation=spec.isolation,
        host_use=rounded_tree(record.host_use),
        gpu_use=rounded_tree(record.gpu_use),
        engine_use=rounded_tree(record.engine_use),
        engine_series=rounded_tree(record.engine_series),
        ceilings=ceilings,
        counted=rounded_tree(record.counted),
        driver=host.driver,
        host=host.gpus,
        command=tuple(word.replace(spec.model.series, model.series) for word in record.launch.command),
        path=path,
    )


F = TypeVar("F", bound=Frozen)


def rounded_tree(whole: F | None) -> F | None:
    """A record with every float rounded, however deep."""

    def inner(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: inner(one) for key, one in value.items()}
        return [inner(one) for one in value] if isinstance(value, list) else _number(value)

    return None if whole is None else type(whole).model_validate_json(json.dumps(inner(whole.model_dump(mode="json"))))


def _level(level: LevelResult) -> PublicLevel:
    return PublicLevel(
        concurrency=level.concurrency,
        rate_rps=level.rate_rps,
        requests=level.requests,
        outcomes=level.outcomes,
        duration_s=rounded(level.duration_s),
        steady_s=maybe(level.steady_s),
        prompt_tokens=_summary(level.prompt_tokens),
        completion_tokens=_summary(level.completion_tokens),
        metrics={name: _summary(summary) for name, summary in level.metrics.items()},
        scalars={name: maybe(value) for name, value in level.scalars.items()},
        quantiles={
            name: tuple(_number(value, _step(level.metrics[name])) for value in grid)
            for name, grid in level.quantiles.items()
        },
        began_s=maybe(level.began_s),
        structured=level.structured,
        energy_j_per_output_token=maybe(level.energy_j_per_output_token),
        concerns=tuple(
            Concern(code=concern.code, value=maybe(concern.value), limit=concern.limit) for concern in level.concerns
        ),
    )


def _instrument(level: InstrumentLevel) -> InstrumentLevel:
    return InstrumentLevel(
        **{name: _summary(value) if isinstance(value, Summary) else _number(value) for name, value in level}
    )


def _certificate(certificate: Certificate | None, namer: Namer) -> Certificate | None:
    if certificate is None:
        return None
    levels = tuple(map(_instrument, certificate.levels))
    return certificate.model_copy(update={"levels": levels, "machine": namer.machine(certificate.machine)})


def _quality(record: RunRecord) -> PublicQuality | None:
    result = record.quality
    if result is None:
        return None
    return PublicQuality(
        suite=result.suite,
        version=result.version,
        suite_sha256=result.suite_sha256,
        lm_eval_version=result.lm_eval_version,
        tasks=tuple(
            PublicTask(
                task=task.task,
                metric=task.metric,
                n=task.n,
                unscored=task.unscored,
                score=maybe(task.score),
                stderr=maybe(task.stderr),
                answered_score=maybe(task.answered_score),
                better=task.better,
                lane=task.lane,
                lack=task.lack,
                finish_reasons=_finish_reasons(task),
            )
            for task in result.tasks
        ),
    )


def _finish_reasons(task: TaskScore) -> dict[FinishReason, int]:
    """The engine's words, those that nobody knows together."""
    found: Counter[FinishReason] = Counter()
    for word, n in task.finish_reasons.items():
        found[finish_word(word)] += n
    return dict(found)


def _arms(found: ArmComparison | None) -> PublicArms | None:
    if found is None:
        return None
    return PublicArms(
        items=sum(found.free.endings.values()),
        free=_arm(found.free),
        constrained=_arm(found.constrained),
        free_again=_arm(found.free_again),
        gained=len(found.gained),
        lost=len(found.lost),
        repeats_differ=found.repeats_differ,
        timed=found.timed,
        added_latency_s=maybe(found.added_latency_s),
        added_tokens=maybe(found.added_tokens),
        added_s_per_token=maybe(found.added_s_per_token),
    )


def _arm(arm: Arm) -> PublicArm:
    return PublicArm(task=arm.task, endings=arm.endings, field_accuracy=rounded(arm.field_accuracy))


def _quality_reason(record: RunRecord) -> Literal["not-applicable-seeded-text", "not-measured"] | None:
    if record.quality is not None:
        return None
    return "not-applicable-seeded-text" if record.spec.model.weights_format == "none" else "not-measured"


def _summary(summary: Summary) -> Summary:
    """A summary with no more digits than its own spread supports, and never more than `DIGITS`.

    All values keep the same place, so that min ≤ p50 ≤ max stays true.
    """
    step = _step(summary)
    return Summary(**{name: value if name == "reason" else _number(value, step) for name, value in summary})


def _step(summary: Summary) -> float:
    """The place of the last digit that a summary's spread supports; 0: there is none to tell.

    The half-width of the mean's 95 % interval is taken from the upper half of the distribution, as if it were
    normal: 1.96 · (p90 − p50) / 1.2816 / √n. Its second digit is the last that is kept.
    """
    if summary.n < 2 or summary.p50 is None or summary.p90 is None or summary.p90 <= summary.p50:
        return 0.0
    half = 1.96 * (summary.p90 - summary.p50) / 1.2816 / math.sqrt(summary.n)
    return float(10.0 ** (math.floor(math.log10(half)) - 1))


def _number(value: Any, step: float = 0.0) -> Any:
    if not isinstance(value, float):
        return value
    return rounded(round(value / step) * step if step else value)
