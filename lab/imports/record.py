"""What another tool's file says of one run: every field optional, because None here means "the file does not say".

Nothing is filled in. What the importer worked out from the file itself (a unit, a KV format read out of a note) says
where it comes from.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lab.conditions import Condition, Value
from lab.records import RunId
from lab.spec import Frozen, Sha256

Tool = Literal["vllm-bench", "inference-atlas"]
"""Whose files are read."""

Republish = Literal["yes", "no", "not-stated", "needs-credit"]
"""Whether the licence lets numbers be shown to others; anything but `yes` stays private."""


class Source(Frozen):
    """The file a record was read from."""

    tool: Tool
    tool_version: str | None
    """As the file states it."""
    file: str
    """Its name, without folders. Private."""
    sha256: Sha256
    size_bytes: int
    part: int = 0
    """Which of the results in the file, from 0."""
    licence: str | None
    licence_from: Literal["file", "declared"] | None
    """`declared`: whoever imported it said so."""
    credit: str | None
    """Whom to name, as whoever imported it declares it."""
    republish: Republish
    units: Literal["in-the-names", "checked", "declared"]
    """How the unit of times is known: the keys say it, the file's own numbers allow one only, or it was declared."""
    lab_version: str
    importer_version: int
    """Grows when one importer reads the same file otherwise than before."""


class EngineStated(Frozen):
    """The engine as the file names it."""

    name: str | None = None
    version: str | None = None
    commit: str | None = None
    container: str | None = None
    install: str | None = None


class ModelStated(Frozen):
    """The model as the file names it."""

    name: str | None = None
    revision: str | None = None
    quantization: str | None = None
    tokenizer: str | None = None


class MachineStated(Frozen):
    """The machine as the file names it. Private: host facts are in it."""

    name: str | None = None
    accelerators: int | None = None
    driver: str | None = None
    cuda: str | None = None
    cpu: str | None = None
    cpu_cores: int | None = None
    memory_gb: float | None = None
    system: str | None = None
    kernel: str | None = None
    architecture: str | None = None
    fingerprint: str | None = None
    alone: bool | None = None
    """Whether the file says that nothing else ran."""


class LoadStated(Frozen):
    """The load as the file names it."""

    workload: str | None = None
    endpoint: str | None = None
    arrival: str | None = None
    concurrency: int | None = None
    rate_rps: float | None = None
    requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    exact_output: bool | None = None
    warmup_requests: int | None = None
    repeats: int | None = None
    """How often the whole load was sent to one running engine: not fresh launches."""
    seed: int | None = None
    temperature: float | None = None
    timeout_s: float | None = None


class Setting(Frozen):
    """One launch argument under the engine's own name."""

    name: str
    value: Value | None
    condition: Condition | None = None
    """The lab's name for it; None: the lab has none, so it cannot be compared."""


class Speculation(Frozen):
    """How tokens were drafted ahead, as the launch arguments say."""

    method: str
    """`off`, or the engine's word for it in lower case."""
    tokens: int | None = None
    detail: str = ""
    """The arguments that say more, as they stand."""
    arguments: tuple[str, ...] = ()
    """Their names."""


class FromNote(Frozen):
    """A value that a person wrote into a note, found by its words."""

    condition: Condition
    value: Value
    note: str


class Counts(Frozen):
    """What was counted over the run that the numbers are of."""

    requests: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_s: float | None = None


Short = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^<>\x00-\x1f\x7f]*$")]
"""Words that stand on a page as they are: one line, without markup."""


class ImportedMetric(Frozen):
    """One number of the file."""

    name: Short
    """A name of the lab's catalogue where the definition is the lab's, else the tool's with the tool in front."""
    statistic: Short | None
    """mean, p50, …; None for one value of the whole run."""
    value: float
    unit: Short
    key: Short
    """Where it stands in the file."""
    differs: Short | None
    """How the definition differs from the lab's nearest metric; None: it is the lab's."""


class Iteration(Frozen):
    """One of several passes over the same load."""

    output_tokens: int | None = None
    duration_s: float | None = None
    output_tok_per_s: float | None = None
    ttft_mean_s: float | None = None
    ttft_p50_s: float | None = None
    ttft_p99_s: float | None = None


class ImportedRequest(Frozen):
    """One request of the file."""

    prompt: str | None = None
    """The tool's name of the prompt."""
    iteration: int | None = None
    warmup: bool | None = None
    succeeded: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None


class ImportedRecord(Frozen):
    """One run of somebody else's. It is no RunRecord: it has no spec, no raw streams and no preparation."""

    run_id: RunId
    imported_at: datetime
    source: Source
    measured_at: str | None = None
    """As the file writes it. Private."""
    engine: EngineStated = EngineStated()
    model: ModelStated = ModelStated()
    machine: MachineStated = MachineStated()
    load: LoadStated = LoadStated()
    settings: tuple[Setting, ...] = ()
    speculation: Speculation | None = None
    thinking: bool | None = None
    """Whether the model thought before it answered, where a launch argument or a note says so."""
    from_notes: tuple[FromNote, ...] = ()
    counts: Counts = Counts()
    metrics: tuple[ImportedMetric, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    chosen_iteration: int | None = None
    """Index of the iteration whose numbers are the run's; None: there is one, or none is it."""
    requests: tuple[ImportedRequest, ...] = ()
    """Often a part of all: compare with `counts.requests`."""
    notes: tuple[str, ...] = Field(default=(), description="Free text of the file. Private.")
    unread: tuple[str, ...] = ()
    """Keys of the file that the importer does not understand."""

    def named(self, condition: Condition) -> Value | None:
        """The value a launch argument gives a condition; None: no argument does, or it says `auto`."""
        return next((one.value for one in self.settings if one.condition is condition and one.value != "auto"), None)

    def metric(self, name: str, statistic: str | None) -> float | None:
        """One number by its name and statistic; None where the file has none."""
        return next((one.value for one in self.metrics if (one.name, one.statistic) == (name, statistic)), None)
