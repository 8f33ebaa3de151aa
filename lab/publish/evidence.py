"""Public evidence: the only facts a report can see.

Every field is named here and typed: a string is an enumeration, a pattern or bounded. What is not
listed cannot be published, because there is nowhere to put it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lab.checks import CheckName
from lab.conditions import Condition
from lab.limits import RunCeilings
from lab.match import PUBLIC_WORD, Result, Side
from lab.metrics.counted import Counted
from lab.publish.identity import KeyId
from lab.quality.arms import Ending
from lab.quality.paired import Paired
from lab.quality.path import Contrast, PathId, QualityPath
from lab.records import (
    QUANTILES,
    Build,
    CacheState,
    Certificate,
    Concern,
    EngineSeries,
    EngineUse,
    EvidenceGrade,
    FinishReason,
    GpuUse,
    HostUse,
    How,
    InstrumentLevel,
    Lack,
    Lane,
    LaunchTally,
    MachineClass,
    Outcome,
    Phase,
    RunId,
    Structured,
    Summary,
    Unscored,
)
from lab.rules import looked_at
from lab.spec import (
    CacheTier,
    Frozen,
    LaunchProfile,
    ModelSpec,
    Name,
    Quantization,
    Sampling,
    Sha256,
    SuiteRef,
    Table,
    Workload,
)
from lab.support import Support

Week = Annotated[str, StringConstraints(pattern=r"^\d{4}-W\d{2}$")]
Sentence = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^<>\x00-\x1f/\\]*$")]
"""Short plain text without markup, control characters or path separators."""
DriverVersion = Annotated[str, StringConstraints(pattern=r"^\d{2,4}(\.\d{1,4}){1,3}$")]
HostId = Annotated[str, StringConstraints(pattern=r"^h-[a-z2-7]{10}$")]
"""Digest of the serial numbers of the GPUs of a host: tells two hosts apart, and leads to none."""
EngineVersion = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._+\-()]{1,60}$")]
Source = Annotated[str, StringConstraints(max_length=340, pattern=r"^[^<>\x00-\x1f\\]*$")]
"""Where something public is written: a document, a section, a commit."""
Argument = Annotated[str, StringConstraints(max_length=120, pattern=r"^[A-Za-z0-9 ._:=,+\-{}\[\]\"<>]*$")]
"""One argument of a redacted command; a path is `<model>`, a port `<port>`."""

Setting = bool | int | float | Annotated[str, StringConstraints(pattern=f"^{PUBLIC_WORD.pattern}$")]
"""Value of a condition; words that could name something private are there as their digest."""


class PublicSetting(Frozen):
    """One condition as it was put to the engine; see `lab.records.LaunchSetting`. Its words stay private."""

    condition: Condition
    wanted: Setting | None
    how: How


class PublicEffective(Frozen):
    """One condition as the running engine showed it; see `lab.records.Effective`."""

    condition: Condition
    value: Setting


class PublicCheck(Frozen):
    """One check of preflight; see `lab.checks`. What was seen in words stays private."""

    name: CheckName
    result: Result
    counts: tuple[int, ...] = ()


class PublicPreparation(Frozen):
    """Preparation times, seconds; see `lab.records.Preparation`."""

    build_s: float | None
    """Of this run; None: it built nothing."""
    build: Build | None = None
    """The artefact that was served, built by this run or by an earlier one; None: the engine has no build step."""
    startup_s: float | None
    """None: the engine ran already."""
    first_request_s: float
    fetch_s: float | None = None
    cache_tier: CacheTier = "as-found"
    cache_state: CacheState
    wiped: tuple[Name, ...] = ()
    phases: tuple[Phase, ...] = ()
    launches: LaunchTally | None = None
    """How the launches of this spec went; None: it was not counted."""

    @property
    def build_took_s(self) -> float | None:
        """What the build took, in this run or in the one whose artefact it reused; None: no build step."""
        return self.build.seconds if self.build is not None and self.build.reused else self.build_s


Grid = Annotated[tuple[float, ...], Field(min_length=len(QUANTILES), max_length=len(QUANTILES))]
"""A distribution, as its quantiles."""


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
    quantiles: dict[Name, Grid] = Field(default_factory=dict)
    """TTFT and TPOT at the shares of `lab.records.QUANTILES`; empty in evidence from before they were kept."""
    began_s: float | None = None
    """First send, seconds after that of the first level."""
    structured: dict[Structured, int] | None = None
    energy_j_per_output_token: float | None = None
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
    answered_score: float | None = None
    """None when no item has a score, and in evidence written before it was published."""
    better: Literal["higher", "lower"] = "higher"
    lane: Lane | None = None
    """How its items were asked; None: evidence from before it was recorded."""
    lack: Lack | None = None
    """Why the whole task was not asked of this engine; None: it was."""
    finish_reasons: dict[FinishReason, int] = Field(default_factory=dict)
    """How answers ended, as the engine said; those that ended without a word are not in it."""


class PublicQuality(Frozen):
    """The quality suite under the same run_id."""

    suite: Name
    version: Name
    suite_sha256: Sha256
    lm_eval_version: Name
    tasks: tuple[PublicTask, ...]


class PublicArm(Frozen):
    """All items asked in one way; see `lab.quality.arms.Arm`."""

    task: Name
    endings: dict[Ending, int]
    field_accuracy: float


class PublicArms(Frozen):
    """What a constraint adds on one engine: counts over items, never an item; see `lab.quality.arms.ArmComparison`."""

    items: int
    free: PublicArm
    constrained: PublicArm
    free_again: PublicArm
    gained: int
    """Items with more right fields under the constraint than in the free asking after it."""
    lost: int
    repeats_differ: int
    """Items whose two free answers differ: what repeating does anyway."""
    timed: int
    added_latency_s: float | None
    """Median over the timed items; so are the two below."""
    added_tokens: float | None
    added_s_per_token: float | None


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
    grade_reason: Literal[
        "no-gpu-seen", "engine-not-seen-on-gpu", "attached-elsewhere", "nvml", "generated", "imported"
    ]
    table: Table
    engine: Name
    engine_version: EngineVersion | None
    """As the running engine states it; None when it does not."""
    model: ModelSpec
    quantization: Quantization
    context_limit: int
    gateway: Name | None
    behind: Name | None = None
    """The engine inside, where the engine is a packaging of another one."""
    attached: bool = False
    """True when the engine ran already: its settings and weights are as declared."""
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
    chat_template_kwargs: dict[Name, bool | int | Name] = Field(default_factory=dict)
    """Variables of the chat template, as every chat request carried them."""
    cache_tier: CacheTier = "as-found"
    """What the launch was to start from."""
    suite: SuiteRef | None = None
    """The quality suite that was asked for; None: quality cannot be asked of this engine."""
    settings: tuple[PublicSetting, ...] = ()
    """Every condition as it was put to the engine; empty for evidence older than the conditions."""
    effective: tuple[PublicEffective, ...] = ()
    """Conditions as the running engine showed them; one that is not there was not exposed."""
    checks: tuple[PublicCheck, ...] = ()
    """What preflight saw the engine do."""
    quality: PublicQuality | None
    quality_reason: Literal["not-applicable-seeded-text", "not-measured"] | None
    """Why there is no quality result; None when there is one."""
    arms: PublicArms | None = None
    """What a constraint adds; None: the suite does not ask for it."""
    instrument: tuple[InstrumentLevel, ...] = ()
    """Levels of the instrument check; only for the reference engine."""
    certificate: Certificate | None = None
    """The certificate of the instrument this run stands on; None: it was not calibrated on this machine."""
    support: Support | None = None
    """What the support table said of this combination; None: it was not asked."""
    support_sources: tuple[Source, ...] = ()
    """The sources of its rows."""
    machine: MachineClass
    isolation: Literal["exclusive", "shared"] | None = None
    """What the team declared of the machine."""
    host_use: HostUse | None = None
    """What its CPUs did; None: nobody looked."""
    engine_use: EngineUse | None = None
    """What its engine's counters said; None: nothing was scraped."""
    engine_series: EngineSeries | None = None
    """The same over time; None: it exposes none of them, or the evidence is from before they were kept."""
    gpu_use: GpuUse | None = None
    """What its GPUs did; None: none was seen."""
    ceilings: RunCeilings | None = None
    """The most it could reach beside what it reached; None: its limits were not recorded."""
    counted: Counted | None = None
    """What its load gives away beside its labels; None: there was none, or evidence from before it was published."""
    driver: DriverVersion | None = None
    """Of the GPUs; None: none was seen, or it is not published."""
    host: HostId | None = None
    """None: no GPU was seen, or machines are published as a class only."""
    command: tuple[Argument, ...]
    """The launch command, redacted."""
    pseudonym_key: KeyId | None = None
    """Which key made the pseudonym of the model; None: its name is none."""
    path: QualityPath | None = None
    """What the answers of this run went through; None: evidence from before it was recorded."""

    @property
    def side(self) -> Side:
        """What is compared of this run; the same that its private bundle gives."""
        asked = looked_at(self.model_dump(mode="json", include=set(_ASKED)))
        return Side(
            run_id=self.run_id,
            measured=True,
            asked={"spec_version": 1, **asked, "quality": self.suite.model_dump() if self.suite else None},
            engine_version=self.engine_version,
            wanted={one.condition: one.wanted for one in self.settings},
            how={one.condition: one.how for one in self.settings},
            effective={one.condition: one.value for one in self.effective},
            results={check.name: check.result for check in self.checks},
            counts={check.name: check.counts for check in self.checks if check.counts},
            not_expressible=self.not_expressible,
            cache_state=self.preparation.cache_state if self.preparation else None,
            grade=self.grade,
            machine=None if self.grade_reason == "attached-elsewhere" else self.machine,
            certified=self.certificate is not None,
            lab_version=self.lab_version,
        )


_ASKED = (
    "table",
    "model",
    "quantization",
    "context_limit",
    "engine",
    "profile",
    "gateway",
    "behind",
    "attached",
    "workload",
    "sampling",
    "chat_template_kwargs",
    "preparation_counts",
    "cache_tier",
)
"""Fields that stand here under the name they have in `RunSpec`."""


class PublicPair(Frozen):
    """One task of a contrast: counts over items, never an item."""

    task: Name
    metric: Name
    paired: Paired
    same_answers: int | None
    """Of the items scored on both sides, those answered the same; None: the task asks for a number, not an answer."""
    prompts_differ: int | None = None
    """Of the items scored on both sides, those whose prompt the two count differently long; None: not counted."""
    p_holm: float | None
    """`paired.p`, adjusted over the family."""


class PublicContrast(Frozen):
    """Two runs of one match on the same items of one suite. A difference is second minus first."""

    match_id: Annotated[str, StringConstraints(pattern=r"^m-[0-9a-f]{12}$")]
    suite: Name
    version: Name
    suite_sha256: Sha256
    first: RunId
    """The run that is compared against: the earlier one of the two."""
    second: RunId
    first_path: PathId
    second_path: PathId
    contrast: Contrast
    """The class, and the fields it follows from."""
    family: int
    """Tests of this match that p is adjusted over: one for each task of each contrast."""
    tasks: tuple[PublicPair, ...]
    lanes: tuple[Lane, ...] | None = None
    """Where a difference in the answers enters; empty: in no lane that was asked; None: lanes were not recorded."""
