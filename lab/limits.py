"""What bounds a run: the shape of its model, the machine it computes on, and the ceilings that follow from both.

A ceiling is an upper bound that no engine passes while it reads every weight once a step and computes every token
itself. What is not known has no ceiling; nothing is guessed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lab.spec import Frozen

Product = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._\-]{1,60}$")]
"""Product name of an accelerator as its driver tells it."""
Cited = Annotated[str, StringConstraints(min_length=5, max_length=300, pattern=r"^[^<>\x00-\x1f\\]*$")]
"""Where something is written, exactly enough to be found again."""
Dtype = Literal["BF16", "FP8", "INT8", "FP4"]
"""Format a matrix product is computed in; FP16 counts as BF16, both have the same rate on the hardware listed."""


class ModelShape(Frozen):
    """What one token costs, read from the head of the weights themselves."""

    weight_bytes: int = Field(ge=0)
    """All weights: what has to fit into memory."""
    read_bytes: int = Field(gt=0)
    """Weights that one decode step of one stream reads: without the embedding table, unless it is the output layer
    too; of experts only those that one token uses; no vision part, no draft layers."""
    matrix_parameters: int | None = Field(default=None, gt=0)
    """Weights every token is multiplied with, the output layer left out; None: they are stored packed."""
    head_parameters: int | None = Field(default=None, ge=0)
    """Weights of the output layer."""
    attention_width: int | None = Field(default=None, gt=0)
    """Query heads × head size, summed over the layers."""
    kv_width: int | None = Field(default=None, gt=0)
    """Numbers the KV cache holds for one token, keys and values of all layers."""
    no_kv: Literal["sliding-window", "latent", "state-space", "not-stated"] | None = None
    """Why the last two are None: attention that does not keep every key and value of every layer."""


class MemoryBandwidth(Frozen):
    """Memory bandwidth of this machine's CPUs, measured; gigabytes (10⁹) a second."""

    read_gb_s: float = Field(gt=0)
    """Best of several passes that only read."""
    copy_gb_s: float = Field(gt=0)
    """Best of several copies, bytes read and bytes written both counted."""
    threads: int = Field(ge=1)
    cache_bytes: int = Field(ge=0)
    """Last-level cache of the CPUs that were used; weights that stay in it are not read from memory."""

    @property
    def gb_s(self) -> float:
        """The larger of the two: a ceiling is not to be low."""
        return max(self.read_gb_s, self.copy_gb_s)


class Hardware(Frozen):
    """One row of params/hardware.yaml; everything for one accelerator."""

    names: tuple[Product, ...] = Field(min_length=1)
    """Product names as nvidia-smi prints them, whole."""
    also: tuple[Product, ...] = ()
    """Names that other tools' files give the same product."""
    memory_bandwidth_gb_s: float = Field(gt=0)
    """10⁹ bytes a second."""
    memory_gb: float = Field(gt=0)
    """10⁹ bytes, by name plate; what the driver reports goes before it."""
    compute_tflops: dict[Dtype, float] = Field(default_factory=dict)
    """Dense matrix products, 10¹² operations a second; a format that is not listed has no source."""
    power_w: float | None = Field(default=None, gt=0)
    note: Annotated[str, StringConstraints(max_length=300)] | None = None
    source: Cited
    read: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
    """Month or day in which somebody read it there."""


NoShape = Literal["no-weights", "not-here", "unreadable", "stored-otherwise"]
"""The model has none; the weights are not on this machine; their head is none the lab can follow; the engine builds
its own artefact of them, or quantizes them while it loads."""
NoMachine = Literal["not-in-table", "not-measured", "elsewhere"]
"""The accelerator is not in params/hardware.yaml; the CPU's bandwidth could not be measured; another machine."""


class Limits(Frozen):
    """What is known of the limits of one run before it is measured."""

    shape: ModelShape | None
    no_shape: NoShape | None = None
    computes_on: Literal["gpu", "cpu"] | None
    """By the adapter and what the machine has; None: on another machine."""
    hardware: Hardware | None = None
    """The row of the table as it was then."""
    bandwidth: MemoryBandwidth | None = None
    """Measured, where the engine computes on the CPU."""
    no_machine: NoMachine | None = None
    memory_bytes: int | None = Field(default=None, gt=0)
    """Of one accelerator as its driver reports it, or of the machine."""


NoCeiling = Literal[
    "no-weights",
    "not-here",
    "unreadable",
    "stored-otherwise",
    "not-in-table",
    "not-measured",
    "elsewhere",
    "in-cache",
    "not-seen-on-gpu",
]
"""Why there is no ceiling: see `NoShape` and `NoMachine`; all weights fit into the processor's cache; NVML did not
show the engine on the GPU."""

Above = Literal["batching", "speculative", "speculative-unknown", "prefix-cache", "processor-cache", "measured-ceiling"]
"""Legitimate reasons for a value above a ceiling: several streams share one reading of the weights and nobody knows
how many; tokens are drafted; nobody recorded whether they are; prompt tokens came from the prefix cache; part of the
weights stays in the processor's cache; the ceiling was measured itself and other work may have slowed it."""


class Reached(Frozen):
    """A value beside its ceiling, both in tokens a second."""

    ceiling: float | None = None
    """None: it is not known."""
    bound: Literal["memory", "compute"] | None = None
    """What sets the ceiling."""
    value: float | None = None
    """None: it was not measured."""
    above: tuple[Above, ...] = ()
    """Where the value is above the ceiling: the legitimate reasons this run gives for it; none: implausible."""

    @property
    def share(self) -> float | None:
        """Value over ceiling; None when one of the two is not known."""
        return None if self.ceiling is None or self.value is None else self.value / self.ceiling

    @property
    def is_above(self) -> bool:
        """Whether the value is above the ceiling."""
        return self.share is not None and self.share > 1

    @property
    def implausible(self) -> bool:
        """Above the ceiling, and this run gives no reason for it."""
        return self.is_above and not self.above


class LevelCeiling(Frozen):
    """What one level could reach at most, and what it reached."""

    context_tokens: float | None
    """Mean length of a sequence while it is answered: the prompt and half the answer."""
    streams: int | None
    """In flight: asked for in a closed loop, the most that were seen in an open one."""
    stream: Reached
    """One stream: 1 / TPOT (median) against the bandwidth over the bytes of one token."""
    output: Reached
    """All streams: output tokens a second, where one reading of the weights serves them all."""
    prefill: Reached
    """One prompt at a time: prompt tokens that were not cached over the median TTFT; only at one stream."""

    @property
    def implausible(self) -> bool:
        """Whether any of the three is."""
        return any(one.implausible for one in (self.stream, self.output, self.prefill))


class Sums(Frozen):
    """The engine's own counters beside the client's, over the whole load, warm-up included."""

    engine_output: float | None
    """None: the engine does not count, or was not scraped."""
    client_output: int | None
    """None: the server counted no tokens for some success."""
    engine_prompt: float | None
    client_prompt: int | None
    client_cached: int | None
    """Prompt tokens the server took from its cache; None: it does not say."""
    whole: bool
    """Whether every request ended as a success: tokens of a failed one are counted by the engine alone."""
    output_agrees: bool | None
    """None: one of the two is missing, or a failed request hides what the engine counted."""
    prompt_agrees: bool | None


class Totals(Frozen):
    """Totals and rates of one load as somebody states them; None: not stated."""

    requests: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_s: float | None = None
    request_rps: float | None = None
    output_tok_per_s: float | None = None
    input_tok_per_s: float | None = None
    total_tok_per_s: float | None = None
    """Prompt and output tokens together."""
    e2e_mean_s: float | None = None
    """Mean latency of a request."""
    concurrency: int | None = None
    """Places of a closed loop: the most that can be in flight."""


class Sum(Frozen):
    """A stated value beside the one that follows from the other totals."""

    name: Literal[
        "requests",
        "request_rps",
        "input_tok_per_s",
        "output_tok_per_s",
        "total_tok_per_s",
        "in_flight",
        "row_input_tokens",
        "row_output_tokens",
        "round_output_tokens",
    ]
    stated: float
    follows: float
    agrees: bool


class RunCeilings(Frozen):
    """The ceilings of one run."""

    reason: NoCeiling | None = None
    """Why there is no ceiling at all; None when there is."""
    computes_on: Literal["gpu", "cpu"] | None = None
    accelerator: Product | None = None
    """Name of the row of the table."""
    ranks: int = Field(default=1, ge=1)
    """Accelerators whose bandwidth adds up for one stream."""
    bandwidth_gb_s: float | None = None
    """Of all ranks."""
    read_bytes: int | None = None
    weight_bytes: int | None = None
    kv_bytes_per_token: float | None = None
    """None: see `no_kv`."""
    no_kv: Literal["sliding-window", "latent", "state-space", "not-stated", "format-unknown"] | None = None
    memory_bytes: int | None = None
    """Of all accelerators together, or of the machine."""
    kv_capacity_tokens: int | None = None
    """Most tokens of KV cache beside the weights if nothing else lay in memory; negative: the weights do not fit."""
    power_w: float | None = None
    """By name plate, all accelerators together."""
    compute: Dtype | None = None
    """The format whose rate bounds the prefill; None: not known."""
    sources: tuple[Cited, ...] = ()
    levels: tuple[LevelCeiling, ...] = ()
    """One for each level of the run, in its order."""
    sums: Sums | None = None
    """None: there was no load."""
