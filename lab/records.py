"""What happened: raw facts of requests, times of preparation, answers of the quality suite.

Records are never edited. Every number in a report is computed from them and can be computed again.
Times are seconds on one monotonic clock of the machine (`time.perf_counter`), counted from the start of
the level unless a field says otherwise. Missing is None with a reason, never 0.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from lab.conditions import Condition, Value
from lab.spec import CacheTier, Frozen, Name, PublicText, Sha256

RunId = Annotated[str, StringConstraints(pattern=r"^r-[a-z2-7]{10}$")]
"""`r-` and 10 random base32 characters: no time, no host, publishable."""


class Outcome(StrEnum):
    """How one request ended. Only `success` enters latency statistics."""

    SUCCESS = "success"
    """HTTP 200, no in-band error, a terminal event, the expected length."""
    HTTP_ERROR = "http_error"
    """A status other than 200."""
    IN_BAND_ERROR = "in_band_error"
    """An error object inside a stream that began with 200."""
    TRUNCATED = "truncated"
    """The stream ended without a finish reason and without `[DONE]`, or the body was cut."""
    SHORT = "short"
    """Fewer tokens than were asked for, although the exact length was asked."""
    OVERLONG = "overlong"
    """More tokens than were asked for, although the exact length was asked."""
    EMPTY = "empty"
    """A terminal event, but not one token."""
    MALFORMED = "malformed"
    """The body is not what the route promises: not JSON, not an event stream."""
    TIMEOUT = "timeout"
    """The limit of the workload passed."""
    CONNECTION = "connection"
    """The connection was refused, reset or closed before a response."""
    CANCELLED = "cancelled"
    """Stopped by the lab, for instance after Ctrl-C."""


class ChunkKind(StrEnum):
    """What one streamed chunk carried."""

    ROLE = "role"
    """No token: a role, an empty delta, a keep-alive."""
    CONTENT = "content"
    REASONING = "reasoning"
    TOOL = "tool"
    FINISH = "finish"
    """A finish reason and no token."""
    USAGE = "usage"
    """Usage and no choice."""

    @property
    def bears_token(self) -> bool:
        """True when the chunk carried at least part of a token."""
        return self in _TOKEN_KINDS


_TOKEN_KINDS = frozenset({ChunkKind.CONTENT, ChunkKind.REASONING, ChunkKind.TOOL})


class RequestRecord(Frozen):
    """Raw facts of one request."""

    level: int = Field(ge=0)
    """Index of the rung of the ladder."""
    index: int = Field(ge=0)
    """Index of the request within its level."""
    request_id: str = ""
    """X-Request-Id as sent."""
    item: str | None = None
    """Which item of the workload's source it was made from; None for words. Private."""
    warmup: bool = False
    """Warm-up requests are kept as evidence and never counted."""
    intended_send_s: float
    """When the arrival law wanted the request to be sent."""
    send_s: float
    """When its first byte was handed to the socket."""
    first_byte_s: float | None = None
    """When the first byte of the response arrived."""
    end_s: float | None = None
    """When the response was complete or had failed."""
    status: int | None = None
    """HTTP status; None when there was no response."""
    chunk_s: tuple[float, ...] = ()
    """Arrival of every chunk, stamped before it was read."""
    chunk_kind: tuple[ChunkKind, ...] = ()
    """What each chunk carried; same length as `chunk_s`."""
    prompt_tokens: int | None = None
    """From the server's usage; None when it sent none."""
    cached_tokens: int | None = None
    """Prompt tokens the server says it took from its cache; None when it does not say."""
    completion_tokens: int | None = None
    """From the server's usage; None when it sent none. Never inferred from what was asked."""
    asked_tokens: int
    """Output length that was asked for."""
    finish_reason: str | None = None
    outcome: Outcome
    error: str | None = None
    """What went wrong, in words; None for a success. Private: it may quote the server."""
    text: str = ""
    """The answer. Private."""

    @model_validator(mode="after")
    def _same_length(self) -> RequestRecord:
        if len(self.chunk_s) != len(self.chunk_kind):
            raise ValueError(f"{len(self.chunk_s)} arrivals but {len(self.chunk_kind)} kinds")
        return self

    @cached_property
    def token_s(self) -> tuple[float, ...]:
        """Arrivals of the chunks that carried tokens."""
        return tuple(t for t, kind in zip(self.chunk_s, self.chunk_kind, strict=True) if kind in _TOKEN_KINDS)


FinishReason = Literal[
    "stop", "length", "tool_calls", "content_filter", "abort", "error", "eos_token", "stop_sequence", "other"
]
"""How an answer ended; a word that is none of these is `other`."""


class Summary(Frozen):
    """One metric over the requests (or gaps) of one level."""

    n: int = Field(ge=0)
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    min: float | None
    max: float | None
    reason: PublicText | None = None
    """Why the values are None; None when they are there."""


QUANTILES = (0.0, 0.01, *(place / 20 for place in range(1, 20)), 0.99, 1.0)
"""Shares at which a distribution is kept: its ends, every twentieth, and the hundredth next to each end."""


class ConcernCode(StrEnum):
    """Why the numbers of a level are to be read with care."""

    SCHEDULE_LAG = "schedule-lag"
    """Requests were sent later than the open loop wanted: the level is invalid."""
    FEW_REQUESTS = "few-requests"
    """Too few successes for the quantiles printed."""
    DRIFT = "drift"
    """The second half of the level differs from the first."""
    OUTLIERS = "outliers"
    """Single requests took far longer than the rest."""
    LENGTHS_DIFFER = "lengths-differ"
    """Answers have different lengths, so rates in tokens and in requests say different things."""
    NO_USAGE = "no-usage"
    """The server did not count tokens: nothing per token can be said."""
    BEYOND_CERTIFICATE = "beyond-certificate"
    """More streams than the instrument has been shown to hold."""
    NO_CERTIFICATE = "no-certificate"
    """The instrument has not been calibrated on this machine."""
    SHARED_MACHINE = "shared-machine"
    """Something else used the machine's CPUs meanwhile."""
    SUMS = "sums"
    """Requests or tokens do not add up."""
    ABOVE_CEILING = "above-ceiling"
    """A value is above what the hardware can do, and the run gives no reason for it."""


class Concern(Frozen):
    """One reason for care, with the value that raised it and the limit it passed."""

    code: ConcernCode
    value: float | None = None
    limit: float | None = None

    @property
    def invalidates(self) -> bool:
        """True when the level must not be read at all."""
        return self.code is ConcernCode.SCHEDULE_LAG


class Structured(StrEnum):
    """What became of one request that asked for JSON of a schema."""

    VALID = "valid"
    INVALID = "invalid"
    """A complete answer that is not JSON, or does not fit the schema."""
    TRUNCATED = "truncated"
    """Cut at the length limit."""
    REFUSED = "refused"
    """The engine did not take the schema: HTTP 400, 422 or 501."""
    FAILED = "failed"
    """Ended otherwise; counted under its outcome too."""


class LevelResult(Frozen):
    """What one rung of the ladder gave."""

    concurrency: int | None
    """Requests in flight that were aimed at; None in an open loop."""
    rate_rps: float | None = None
    """Requests a second that were aimed at; None in a closed loop."""
    requests: int
    outcomes: dict[Outcome, int]
    """Count of each outcome that occurred."""
    duration_s: float
    """First send to last end, warm-up not included."""
    steady_s: float | None
    """Length of the steady window; None when the target was never in flight."""
    prompt_tokens: Summary
    completion_tokens: Summary
    metrics: dict[str, Summary]
    """Metrics of `lab.metrics.catalog` that have one value per request."""
    scalars: dict[str, float | None]
    """Metrics that have one value per level, for instance `output_tok_per_s`."""
    quantiles: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """TTFT and TPOT over the successes at `QUANTILES`; one without a value is not in it."""
    began_s: float | None = None
    """First send, seconds after that of the first level; None: nobody set the levels side by side."""
    structured: dict[Structured, int] | None = None
    """Counts of requests that asked for JSON of a schema; None when none did."""
    energy_j_per_output_token: float | None = None
    """Energy of all GPUs over the level for each output token; None where no GPU told it."""
    concerns: tuple[Concern, ...] = ()

    @property
    def valid(self) -> bool:
        """False when the level must not be read."""
        return not any(concern.invalidates for concern in self.concerns)

    @property
    def success_rate(self) -> float:
        """Successes over all requests of the level, 0 to 1."""
        return self.outcomes.get(Outcome.SUCCESS, 0) / self.requests if self.requests else 0.0


CacheState = Literal["download", "disk-cold", "warm", "none", "unknown"]
"""State of the weights before launch; `none`: there are no weights."""


class Event(Frozen):
    """A named moment of preparation."""

    name: Literal["build_start", "build_end", "launch", "ready", "first_request_sent", "first_token"]
    at_s: float
    """Seconds on the machine's monotonic clock."""


class Phase(Frozen):
    """One phase of a start as the engine itself tells it; phases may overlap and need not add up."""

    name: Name
    seconds: float = Field(ge=0)
    source: Literal["log", "endpoint", "file", "lab"]
    """A duration the engine printed, one an endpoint gave, one it wrote to a file, or one the lab timed itself."""


class Build(Frozen):
    """The artefact that is served, and what it took to make it."""

    key: Annotated[str, StringConstraints(pattern=r"^a-[0-9a-f]{16}$")]
    """Digest of everything the artefact depends on."""
    seconds: float = Field(ge=0)
    """What the build took when it was made, convert and build together."""
    steps: tuple[Phase, ...]
    """Its steps."""
    reused: bool
    """True when an artefact of an earlier run was taken: this run built nothing."""


class Preparation(Frozen):
    """What it took until the first token, each duration between two named events."""

    events: tuple[Event, ...]
    build_s: float | None
    """`build_start` to `build_end` of this run; None: it built nothing (never 0). See `build`."""
    build: Build | None = None
    """None: the engine has no build step."""
    startup_s: float | None
    """`launch` to `ready`; None: the engine ran already, nobody saw it start."""
    first_request_s: float
    """`first_request_sent` to `first_token`: lazy work that readiness hides shows here."""
    fetch_s: float | None = None
    """Fetching the weights, where the tier asks for it; None: they were here."""
    cache_tier: CacheTier = "as-found"
    """What the launch was asked to start from."""
    cache_state: CacheState
    """What it did start from: weights from the network, from a cold disk or from a warm page cache."""
    cache_reason: str
    """How `cache_state` was found out."""
    wiped: tuple[Name, ...] = ()
    """Caches that were emptied before the launch."""
    phases: tuple[Phase, ...] = ()
    """What the engine says of its own start."""

    @property
    def total_s(self) -> float | None:
        """Fetch, build, start and first request together; the gaps between them do not count.

        None when the start was not seen. A reused artefact counts with what its build took.
        """
        if self.startup_s is None:
            return None
        build_s = self.build.seconds if self.build else self.build_s or 0.0
        return (self.fetch_s or 0.0) + build_s + self.startup_s + self.first_request_s


class LaunchTally(Frozen):
    """How often one spec was launched, and how it went."""

    attempts: int
    """Launches that were tried; one that a person stopped is not counted."""
    successes: int
    """Those that got ready."""
    startup_min_s: float | None
    startup_median_s: float | None
    startup_max_s: float | None
    """`launch` to `ready` over the successes; None when there is none."""


class How(StrEnum):
    """What became of one condition on one engine."""

    SET = "set"
    """The command, the environment or a config file sets it."""
    LEFT = "left"
    """Nobody decided it: the engine's own default stands."""
    REQUEST = "request"
    """Every request carries it."""
    IMPOSED = "imposed"
    """The engine does this whatever is asked; it is what was wanted, or a footnote of its column."""
    NOT_EXPRESSIBLE = "not-expressible"
    """Wanted, and this engine has no way to say it."""
    DECLARED = "declared"
    """The engine runs already; whoever launched it says so."""


class LaunchSetting(Frozen):
    """One condition as it was put to one engine."""

    condition: Condition
    wanted: Value | None
    """None: left to the engine."""
    how: How
    words: tuple[str, ...] = ()
    """The words of the command, NAME=value of the environment, or path=value of the config file."""
    note: str | None = None
    """What the engine does instead, or has to be known."""


class Effective(Frozen):
    """One condition as the running engine shows it."""

    condition: Condition
    value: Value | None
    """In the lab's words and units; None: not exposed."""
    source: str
    """Where it was read, or why it could not be."""


class Check(Frozen):
    """One thing preflight tried on the running engine."""

    name: Name
    result: Literal["pass", "fail", "not-exposed"]
    detail: str
    """What was seen. Private: it may quote the server."""
    counts: tuple[int, ...] = ()
    """What was counted, where runs are compared by it: token counts, sizes."""


class Capabilities(Frozen):
    """What preflight saw the running engine do."""

    checks: tuple[Check, ...]

    def check(self, name: str) -> Check | None:
        """The check of that name; None when it was not made."""
        return next((check for check in self.checks if check.name == name), None)

    def can(self, name: str) -> bool:
        """Whether a check was made and passed; one that could not be made has not passed."""
        check = self.check(name)
        return check is not None and check.result == "pass"


class Emission(Frozen):
    """What the server says about one request, on the clock the client uses too."""

    received_s: float
    """When the request had been read completely."""
    chunk_s: tuple[float, ...]
    """Taken immediately before each chunk was sent."""
    chunk_kind: tuple[ChunkKind, ...]
    late_s: tuple[float, ...] = ()
    """How late each token was against the server's own schedule."""


class LevelCost(Frozen):
    """What one measured level cost the client, all load processes together."""

    level: int
    cpu_s: float
    packets: int
    connections: int
    rss_mib: float
    """Of the largest process."""
    loop_lag_s: tuple[float, ...]
    """How late the loops' own timers fired, every sample of every process."""


class InstrumentLevel(Frozen):
    """The instrument on one rung, against a server that knows its own timing."""

    concurrency: int | None
    """Streams in flight; None in an open loop."""
    rate_rps: float | None
    """Requests a second; None in a closed loop."""
    requests: int
    """Successes that could be matched with the server's own record, chunk by chunk."""
    chunks: int
    ttft_true_s: Summary
    """From the request being handed to the socket to the moment the server sent the first token."""
    ttft_error_s: Summary
    """Measured minus true."""
    request_transit_s: Summary
    """From the request being handed to the socket to the server having read it: part of the true time, and
    long where the server itself is behind with reading."""
    chunk_lag_s: Summary
    """Arrival of a chunk minus the moment the server sent it."""
    gap_error_s: Summary
    """Measured minus true gap between consecutive token-bearing chunks."""
    schedule_error_s: Summary
    """Actual minus intended send; in a closed loop there is no schedule."""
    loop_lag_s: Summary
    """How late the load process's own timer fired: what it could not have noticed."""
    client_cpu_s_per_chunk: float | None
    """CPU seconds of the load processes for each chunk; None when it could not be read."""
    client_rss_mib: float | None
    """Most memory of one load process."""
    server_late_s: Summary
    """How late the server itself was against its own schedule: not the client's error."""


class MachineClass(Frozen):
    """The machine as a class, never as a host."""

    accelerator: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._\-]{1,60}$")] | None
    """Product name of the GPU; None when none was seen."""
    cpu_cores: int = Field(ge=1)
    memory_gib: int = Field(ge=1)
    """Rounded to whole GiB."""
    system: Literal["Linux", "Darwin", "Other"]
    machine: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,20}$")]
    """Instruction set, for instance x86_64 or aarch64."""
    python: Annotated[str, StringConstraints(pattern=r"^3\.\d{1,3}\.\d{1,3}$")]


class InstrumentLimits(Frozen):
    """The error the instrument promises to stay below."""

    ttft_error_mean_s: float
    chunk_lag_p99_s: float


class Certificate(Frozen):
    """What the instrument was shown to hold on one class of machine."""

    certificate_id: Annotated[str, StringConstraints(pattern=r"^c-[a-z2-7]{10}$")]
    lab_version: Name
    week: Annotated[str, StringConstraints(pattern=r"^\d{4}-W\d{2}$")]
    """ISO week in which it was made, UTC."""
    machine: MachineClass
    workers: int
    """Load processes it was made with."""
    limits: InstrumentLimits
    levels: tuple[InstrumentLevel, ...]
    valid_streams: int
    """Most streams at which this level and every smaller one stayed within the limits; 0: none did."""


class Unscored(StrEnum):
    """Why an item of a quality suite has no score."""

    REQUEST_FAILED = "request_failed"
    """No HTTP 200 with a whole body, or an error inside it."""
    EMPTY = "empty"
    """An answer without a character that is not a space."""
    NULL = "null"
    """The content is null, and there is no reasoning either."""
    REASONING_ONLY = "reasoning_only"
    TRUNCATED = "truncated"
    """Cut at the token limit, or nothing says that it is whole."""
    CONTRACT = "contract"
    """HTTP 200, but not what the route promises: echo ignored, tokens added, a logprob missing, a cut prompt."""
    DOES_NOT_FIT = "does_not_fit"
    """Prompt and answer are longer than the engine's context; nothing is ever cut to make them fit."""
    NOT_SUPPORTED = "not_supported"
    """The engine does not keep the contract of this kind of task, or refuses the response format."""
    NOT_ASKED = "not_asked"
    """Its turn never came: the engine was gone, or the run was stopped."""


class Lane(StrEnum):
    """A way to ask items; each adds one part of the path to the one before."""

    TOKENS = "tokens"
    """Token ids in, raw completion out: numerics alone."""
    TEXT = "text"
    """Raw text in: the engine's own tokenizer."""
    CHAT = "chat"
    """Messages in: the chat template."""
    PARSER = "parser"
    """Reasoning and tool calls taken apart: the parsers."""
    GRAMMAR = "grammar"
    """Answers held to a schema: the grammar backend."""


class Lack(StrEnum):
    """Why a whole task is not asked of an engine."""

    ECHO_BROKEN = "echo-broken"
    """The engine was seen not to give likelihoods of given text."""
    ECHO_NOT_EXPOSED = "echo-not-exposed"
    """The engine does not let itself be asked."""
    ECHO_NOT_PROBED = "echo-not-probed"
    """Nobody looked, which is no pass."""
    NO_TOKENIZER = "no-tokenizer"
    """Token ids have to be sent, and the lab cannot read the model's tokenizer."""


class TaskScore(Frozen):
    """One task of a quality suite."""

    task: Name
    metric: Name
    better: Literal["higher", "lower"] = "higher"
    """Which way the metric points."""
    n: int = Field(ge=1)
    """All items of the task."""
    unscored: dict[Unscored, int]
    """Items without a score, by reason."""
    score: float | None = Field(ge=0)
    """Over all n items: an unscored one adds nothing to the sum. None when no item has a score, and, where less is
    better, when any item has none: adding nothing would flatter."""
    stderr: float | None = Field(ge=0)
    """Standard error of `score` over the n items of one run; not the error of a difference. None with `score`, for
    fewer than two items, and for a metric that is no mean of items."""
    answered_score: float | None = Field(ge=0)
    """The same over the scored items alone; None when there is none."""
    attempts: int | None = Field(default=None, ge=0)
    """Requests sent, nothing twice; None in bundles written before they were counted."""
    also: dict[str, float] = Field(default_factory=dict)
    """Further metrics of the same answers by name: means over the answers each could look at; one that could look
    at none is not in it."""
    finish_reasons: dict[str, int] = Field(default_factory=dict)
    """How often the engine gave each finish reason, over the items; those without one are not in it. Private."""
    lane: Lane | None = None
    """How its items were asked; None in bundles written before it was recorded."""
    lack: Lack | None = None
    """Why the whole task is not supported there; None when it was asked, and in bundles older than the field."""
    reason: str | None = None
    """The same in words; None when it was asked. Private: it may quote the server."""

    @model_validator(mode="before")
    @classmethod
    def _of_version_1(cls, data: Any) -> Any:
        """Reads bundles whose `score` was over the scored items alone."""
        if not isinstance(data, dict) or "answered_score" in data:
            return data
        n, scored = data["n"], data["n"] - sum(data["unscored"].values())
        answered, error = data["score"], data["stderr"]
        over_all = None if answered is None else answered * scored / n
        return data | {"answered_score": answered, "score": over_all, "stderr": error if scored == n else None}

    @property
    def scored(self) -> int:
        """Items with a score."""
        return self.n - sum(self.unscored.values())

    @property
    def coverage(self) -> float:
        """Share of the items that have a score, 0 to 1. Verdicts ask `lab.quality.coverage`, which does not round."""
        return self.scored / self.n


class QualityResult(Frozen):
    """Answers of one suite on one running engine."""

    suite: Name
    version: Name
    suite_sha256: Sha256
    lm_eval_version: Name
    tasks: tuple[TaskScore, ...]
    seconds: float
    incomplete: Literal["engine-gone", "stopped"] | None = None
    """Why not every item had its turn; None when each had. What was scored is kept."""


class Sample(Frozen):
    """One value the engine exposed."""

    at_s: float
    """`perf_counter` second of the scrape."""
    name: str
    """Metric name and labels as exposed."""
    value: float


class GpuReading(Frozen):
    """One GPU at one moment."""

    gpu: int
    """NVML index."""
    utilization: float | None
    """Share of the last sampling period in which a kernel ran, 0 to 1."""
    memory_mib: float | None
    power_w: float | None
    energy_j: float | None
    """Counter since the driver was loaded."""
    sm_mhz: float | None
    throttled: bool | None
    """True when heat or power limits the clocks."""
    engine_memory_mib: float | None
    """Held by the engine's processes; None: none of them is listed as computing on this GPU."""
    others: int | None
    """Computing processes that are not the engine's."""


class GpuSample(GpuReading):
    """One GPU at one moment of the run."""

    at_s: float
    """`perf_counter` second."""


class HostSample(Frozen):
    """The machine between two looks."""

    at_s: float
    """`perf_counter` second of the second look."""
    engine_cores: float | None
    """CPU seconds a second of the engine's process tree; None: its processes are not ours to see."""
    engine_rss_mib: float | None
    """Resident memory of the tree; pages that processes share count for each."""
    other_cores: float
    """CPU seconds a second of everything that is neither the engine nor the lab."""


class EngineUse(Frozen):
    """What the engine's own counters said while the load ran; None: not exposed."""

    running_max: float | None
    """Most requests in work at one look."""
    waiting_max: float | None
    """Most requests that waited at one look."""
    kv_use_max: float | None
    """Largest share of the KV cache in use, 0 to 1."""
    prefix_hit_share: float | None
    """Prompt tokens found in the prefix cache, of those looked up."""
    preemptions: float | None
    """Sequences that were put aside."""
    prompt_tokens: float | None
    generated_tokens: float | None
    """Counted by the engine, warm-up included."""


MOST_POINTS = 120
"""Most points of a series that is kept for a chart."""

Points = Annotated[tuple[float | None, ...], Field(max_length=MOST_POINTS)]
"""One value for each moment; None: it was not exposed at that one."""


class EngineSeries(Frozen):
    """What the engine's own counters said over a run, thinned for a chart."""

    at_s: Annotated[tuple[float, ...], Field(max_length=MOST_POINTS)]
    """Moments, seconds after the first send of the first level; every level has as many as any other."""
    running: Points | None
    """Requests in work; None: not exposed. So are the two below."""
    waiting: Points | None
    """Requests that waited."""
    kv_use: Points | None
    """Share of the KV cache in use, 0 to 1."""


class GpuUse(Frozen):
    """What the GPUs did while the load ran."""

    gpus: int
    engine_seen: bool
    """NVML listed the engine's own process as computing, on a GPU that was working."""
    utilization_mean: float | None
    """Of the GPUs the engine was seen on, else of all, 0 to 1."""
    memory_max_mib: float | None
    power_mean_w: float | None
    """All GPUs together."""
    throttled: bool | None
    """Whether heat or power limited the clocks at any look."""
    others: int | None
    """Most computing processes at one look that were not the engine's."""


class HostUse(Frozen):
    """What the machine's CPUs did, the engine's part and everybody else's apart."""

    engine_cores_mean: float | None
    """CPU seconds a second of the engine's processes under load; None: not ours to see."""
    engine_rss_max_mib: float | None
    other_cores_before: float | None
    """CPU seconds a second of what is neither engine nor lab, right before the launch."""
    other_cores_during: float | None
    """The same under load."""
    other_cores_after: float | None
    """The same after the engine had stopped."""


class EvidenceGrade(StrEnum):
    """What a run may be used for; derived, never typed in."""

    HARNESS_CHECK = "harness-check"
    """Proves the pipeline; its numbers can never become a Claim."""
    REAL_GPU = "real-gpu"
    """May carry a decision."""
    IMPORTED = "imported"
    """Somebody else's, until it is measured again."""
    SYNTHETIC = "synthetic"
    """Generated for tests and demonstrations, engines P, Q, R, S."""


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    """Being measured now, if its process still lives."""
    MEASURED = "measured"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Its process ended without a word."""
