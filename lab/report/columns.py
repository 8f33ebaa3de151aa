"""The fixed columns of the first screen, and what was equal in the pipeline check."""

from __future__ import annotations

import re
from collections.abc import Callable

from lab.publish.evidence import PublicRun
from lab.records import EngineUse, GpuUse, MachineClass
from lab.report.loads import ladder, slo_text
from lab.report.messages import Messages
from lab.report.numbers import count, day, month, percent, plain, significant
from lab.report.series import engine_title
from lab.spec import Frozen, Workload

Runs = tuple[PublicRun, ...]

CONDITIONS = {
    "model": "column-model",
    "quantization": "column-quantization",
    "context_limit": "column-context",
    "engine": "column-engine",
    "gateway": "column-gateway",
    "profile": "column-profile",
    "workload": "column-workload",
    "sampling": "column-sampling",
    "preparation_counts": "column-preparation",
    "machine": "card-machine",
    "grade": "column-label",
}
"""Fields of `PublicRun` that are compared when the page says what was equal, and what they are called."""


class FixedColumn(Frozen):
    """One column that was fixed before measuring."""

    title: str
    values: tuple[str, ...]
    """Every value that occurs; one when the column is fixed."""
    fixed: bool
    """True when one value holds for all, or when this column was the one to vary."""
    wide: bool = False
    """True when its values are sentences and need the whole width."""


def subjects(runs: Runs) -> Runs:
    """The runs the first screen speaks of: the comparison if there is one, else the pipeline check."""
    for table in ("comparison", "pipeline-check"):
        chosen = tuple(run for run in runs if run.table == table)
        if chosen:
            return chosen
    return ()


def fixed_columns(runs: Runs, t: Messages) -> tuple[FixedColumn, ...]:
    """The columns of the first screen, with every value that occurs among the subjects."""
    asked: tuple[tuple[str, Callable[[PublicRun], str], str], ...] = (
        ("column-model", lambda run: f"{run.model.series} ({run.model.revision}, {_digest(run, t)})", "model"),
        ("column-engine", _engine, "engine"),
        ("column-workload", lambda run: workload(run, t), "workload"),
        ("column-quantization", lambda run: quantization(run), "quantization"),
        ("column-context", lambda run: t("value-tokens", count=count(run.context_limit)), "context_limit"),
        ("column-profile", lambda run: run.profile.name, "profile"),
        ("column-label", lambda run: t(f"grade-{run.grade.value}"), "grade"),
        ("column-quality", lambda run: suite(run, t), "quality"),
        ("column-preparation", lambda run: decided(run.preparation_counts, t), "preparation_counts"),
    )
    chosen = subjects(runs)
    varied = {name.split(".")[0] for run in chosen for name in run.varied}
    columns = []
    for key, value_of, field in asked:
        values = tuple(dict.fromkeys(value_of(run) for run in chosen))
        labels_only = (
            field == "profile" and len({run.profile.model_copy(update={"name": "any"}) for run in chosen}) <= 1
        )
        fixed = len(values) <= 1 or field in varied or labels_only
        columns.append(FixedColumn(title=t(key), values=values, fixed=fixed, wide=field == "workload"))
    return tuple(columns)


def equal_fields(runs: Runs, t: Messages) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """What was declared as varied, what was equal, and what differs without having been declared.

    A field that varies in one part, for instance `profile.prefix_caching`, counts as varied as a whole; the
    name of a profile and of a workload are labels and do not count.
    """
    varied = tuple(dict.fromkeys(name for run in runs for name in run.varied))
    allowed = {name.split(".")[0] for name in varied}
    equal, differs = [], []
    for field, key in CONDITIONS.items():
        values = [_without_name(getattr(run, field)) for run in runs]
        if all(value == values[0] for value in values):
            equal.append(t(key))
        elif field not in allowed:
            differs.append(t(key))
    return varied, tuple(equal), tuple(differs)


def quantization(run: PublicRun) -> str:
    """The three places of quantization, apart."""
    return f"{run.quantization.weights} / {run.quantization.activations} / {run.quantization.kv_cache}"


def workload(run: PublicRun, t: Messages) -> str:
    """The workload of a run in one line."""
    return workload_text(run.workload, t)


def workload_text(asked: Workload, t: Messages) -> str:
    """A workload in one line: load, input, output, time limit of a level, SLO."""
    source = t(f"content-{asked.content}")
    if asked.input_tokens is not None:
        source = t("value-input", input=count(asked.input_tokens), shared=_shared(asked, t))
    parts = [
        t("load", arrival=asked.arrival, ladder=ladder(asked)),
        source,
        t("value-output", output=count(asked.output_tokens), exact=_exact(asked)),
    ]
    if asked.duration_s is not None:
        parts.append(t("value-duration", s=plain(asked.duration_s)))
    if asked.slo is not None:
        parts.append(t("value-slo", slo=slo_text(asked.slo, t)))
    return t("value-workload", name=asked.name, what=t("list-separator").join(parts))


def _exact(asked: Workload) -> str:
    if not asked.exact_output:
        return "false"
    return "each" if asked.content == "trace" else "true"


def _shared(asked: Workload, t: Messages) -> str:
    shared, groups = count(asked.shared_prefix_tokens), asked.prefix_groups
    if not asked.shared_prefix_tokens:
        return t("shared-none")
    return t("shared-one", shared=shared) if groups == 1 else t("shared-groups", shared=shared, groups=count(groups))


def suite(run: PublicRun, t: Messages) -> str:
    """The quality suite and its version, or why there is none."""
    if run.quality is None:
        return t(f"quality-{run.quality_reason or 'not-measured'}")
    return f"{run.quality.suite} {run.quality.version} · {run.quality.suite_sha256[:12]}"


def decided(preparation_counts: bool | None, t: Messages) -> str:
    """Whether preparation counts, in words."""
    if preparation_counts is None:
        return t("value-undecided")
    return t("value-yes") if preparation_counts else t("value-no")


def sampling(run: PublicRun) -> str:
    """All sampling values, sent with every request."""
    return ", ".join(f"{name}={value:g}" for name, value in run.sampling.model_dump().items())


def _engine(run: PublicRun) -> str:
    return f"{engine_title(run.engine)} {run.engine_version}" if run.engine_version else engine_title(run.engine)


def _digest(run: PublicRun, t: Messages) -> str:
    return run.model.weights_sha256[:12] if run.model.weights_sha256 else t("value-no-weights")


def _without_name(value: object) -> object:
    return value.model_dump(exclude={"name"}) if isinstance(value, Frozen) else value


def hardware(machine: MachineClass, t: Messages) -> str:
    """A class of machine in words."""
    return t(
        "card-machine-value",
        accelerator=machine.accelerator or t("card-no-accelerator"),
        cores=str(machine.cpu_cores),
        memory=str(machine.memory_gib),
        system=machine.system,
        machine=machine.machine,
        python=machine.python,
    )


def isolation(run: PublicRun, t: Messages) -> str:
    """What else ran on the machine: what the team declared and what was measured, apart."""
    said = run.isolation or "not-declared"
    declared = t(f"isolation-{said}")
    use = run.host_use
    if use is None:
        return t("isolation-value", declared=declared, measured=t("isolation-not-measured"))

    def cores(value: float | None) -> str:
        return t("state-unknown") if value is None else significant(value)

    measured = t(
        "isolation-measured",
        before=cores(use.other_cores_before),
        during=cores(use.other_cores_during),
        after=cores(use.other_cores_after),
        engine=cores(use.engine_cores_mean),
    )
    return t("isolation-value", declared=declared, measured=measured)


def engine_use(use: EngineUse, t: Messages) -> str:
    """What the engine's own counters said under load; what it does not expose says so."""

    def said(value: float | None, form: Callable[[float], str]) -> str:
        return t("not-exposed") if value is None else form(value)

    return t(
        "engine-use-value",
        running=said(use.running_max, count),
        waiting=said(use.waiting_max, count),
        kv=said(use.kv_use_max, percent),
        prefix=said(use.prefix_hit_share, percent),
        preemptions=said(use.preemptions, count),
        prompt=said(use.prompt_tokens, count),
        generated=said(use.generated_tokens, count),
    )


def gpu_use(use: GpuUse, t: Messages) -> str:
    """What the GPUs did under load."""

    def said(value: float | None, form: Callable[[float], str]) -> str:
        return t("state-unknown") if value is None else form(value)

    return t(
        "gpu-use-value",
        gpus=count(use.gpus),
        seen="yes" if use.engine_seen else "no",
        utilization=said(use.utilization_mean, percent),
        memory=said(use.memory_max_mib, count),
        power=said(use.power_mean_w, significant),
        throttled="unknown" if use.throttled is None else "yes" if use.throttled else "no",
        others=t("state-unknown") if use.others is None else count(use.others),
    )


def support(run: PublicRun, t: Messages) -> str:
    """What the support table said of this combination, with its sources."""
    found = run.support or "not-asked"
    said = t(f"support-{found}")
    sources = t("support-separator").join(_source(source, t) for source in run.support_sources)
    return t("support-value", said=said, sources=sources) if sources else said


_READ = re.compile(r"(?P<source>.*), read (?P<when>\d{4}-(?:0[1-9]|1[0-2])(?:-\d{2})?)")
"""How public evidence writes a source, and the month or the day on which it was read."""


def _source(text: str, t: Messages) -> str:
    found = _READ.fullmatch(text)
    if found is None:
        return text
    written = month if len(found["when"]) == len("2026-11") else day
    return t("support-read", source=found["source"], month=written(found["when"], t))
