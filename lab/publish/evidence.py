"""Public evidence: the only facts a report can see.

Every field is named here and typed: a string is an enumeration, a pattern or bounded. What is not
listed cannot be published, because there is nowhere to put it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from lab.records import (
    Build,
    CacheState,
    Certificate,
    Concern,
    EvidenceGrade,
    InstrumentLevel,
    MachineClass,
    Outcome,
    RunId,
    Structured,
    Summary,
    Unscored,
)
from lab.spec import (
    Frozen,
    LaunchProfile,
    ModelSpec,
    Name,
    Quantization,
    Sampling,
    Sha256,
    Table,
    Workload,
)

Week = Annotated[str, StringConstraints(pattern=r"^\d{4}-W\d{2}$")]
Sentence = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^<>\x00-\x1f/\\]*$")]
"""Short plain text without markup, control characters or path separators."""
Argument = Annotated[str, StringConstraints(max_length=120, pattern=r"^[A-Za-z0-9 ._:=,+\-{}\[\]\"<>]*$")]
"""One argument of a redacted command; a path is `<model>`, a port `<port>`."""


class PublicPreparation(Frozen):
    """Preparation times, seconds; see `lab.records.Preparation`."""

    build_s: float | None
    """Of this run; None: it built nothing."""
    build: Build | None = None
    """The artefact that was served, built by this run or by an earlier one; None: the engine has no build step."""
    startup_s: float | None
    """None: the engine ran already."""
    first_request_s: float
    cache_state: CacheState

    @property
    def build_took_s(self) -> float | None:
        """What the build took, in this run or in the one whose artefact it reused; None: no build step."""
        return self.build.seconds if self.build is not None and self.build.reused else self.build_s


class PublicLevel(Frozen):
    """One rung of the ladder; see `lab.records.LevelResult`."""

    concurrency: int | None
    rate_rps: float | None = None
    requests: int
    outcomes: dict[Outcome, int]
    duration_s: float
    steady_s: float | None
    prompt_tokens: Summary
    completion_tokens: Summary
    metrics: dict[Name, Summary]
    scalars: dict[Name, float | None]
    structured: dict[Structured, int] | None = None
    concerns: tuple[Concern, ...] = ()

    @property
    def valid(self) -> bool:
        """False when the level must not be read."""
        return not any(concern.invalidates for concern in self.concerns)


class PublicTask(Frozen):
    """One task of the quality suite; see `lab.records.TaskScore`."""

    task: Name
    metric: Name
    n: int
    unscored: dict[Unscored, int]
    score: float | None
    stderr: float | None


class PublicQuality(Frozen):
    """The quality suite under the same run_id."""

    suite: Name
    version: Name
    suite_sha256: Sha256
    lm_eval_version: Name
    tasks: tuple[PublicTask, ...]


class PublicRun(Frozen):
    """Everything of one run that may leave the machine."""

    public_version: Literal[1] = 1
    run_id: RunId
    spec_digest: Annotated[str, StringConstraints(pattern=r"^s-[0-9a-f]{16}$")]
    match_id: Annotated[str, StringConstraints(pattern=r"^m-[0-9a-f]{12}$")]
    manifest_sha256: Sha256
    """Digest of the private manifest: the paper can be matched to the evidence."""
    week: Week
    """ISO week in which the run was measured, UTC."""
    lab_version: Name
    grade: EvidenceGrade
    grade_reason: Literal["no-gpu-seen", "engine-not-seen-on-gpu", "nvml", "generated", "imported"]
    table: Table
    engine: Name
    engine_version: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._+\-()]{1,60}$")] | None
    """As the running engine states it; None when it does not."""
    model: ModelSpec
    quantization: Quantization
    context_limit: int
    gateway: Name | None
    profile: LaunchProfile
    varied: tuple[Name, ...]
    """What differs between the runs of this match, for instance `profile.prefix_caching`."""
    workload: Workload
    sampling: Sampling
    preparation_counts: bool | None
    """None: the source of this run had not decided it."""
    preparation: PublicPreparation | None
    levels: tuple[PublicLevel, ...]
    not_expressible: tuple[Name, ...] = ()
    """Request fields that were asked for and that this engine cannot express."""
    quality: PublicQuality | None
    quality_reason: Literal["not-applicable-seeded-text", "not-measured"] | None
    """Why there is no quality result; None when there is one."""
    instrument: tuple[InstrumentLevel, ...] = ()
    """Levels of the instrument check; only for the reference engine."""
    certificate: Certificate | None = None
    """The certificate of the instrument this run stands on; None: it was not calibrated on this machine."""
    machine: MachineClass
    command: tuple[Argument, ...]
    """The launch command, redacted."""
