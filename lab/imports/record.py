"""What another tool's file says of one run: every field optional, because None here means "the file does not say".

Nothing is filled in. What the importer worked out from the file itself (a unit, a KV format read out of a note) says
where it comes from.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints

from lab.conditions import Condition, Value
from lab.records import RunId
from lab.spec import Frozen, Sha256

Tool = Literal["vllm-bench", "inference-atlas", "aiperf", "guidellm", "lm-eval"]
"""Whose files are read."""

KINDS: tuple[Tool, ...] = get_args(Tool)
"""The same, as a person names them."""

MOST_ROWS = 20_000
"""Requests of a file that a record keeps, from the first on; its counts and metrics are over all of them."""

Republish = Literal["yes", "no", "not-stated", "needs-credit"]
"""Whether the licence lets numbers be shown to others; anything but `yes` stays private."""


class AlsoRead(Frozen):
    """A further file of the same run, kept beside the first."""

    file: str
    """Its name, without folders. Private."""
    sha256: Sha256
    size_bytes: int


class Source(Frozen):
    """The file a record was read from."""

    tool: Tool
    tool_version: str | None
    """As the file states it."""
    file: str
    """Its name, without folders. Private."""
    sha256: Sha256
    size_bytes: int
    also: tuple[AlsoRead, ...] = ()
    """Further files of the run: rows, samples, inputs."""
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


class Pacing(Frozen):
    """How chunks and tokens came, worked out from every row of the file; what the match looks at."""

    gap_mean_s: float | None = None
    """Between chunks that carry tokens, pooled over the requests."""
    gap_p50_s: float | None = None
    tpot_mean_s: float | None = None
    """(last token − first token) / (n − 1), n as the server counts; mean over the requests."""


class SampleTally(Frozen):
    """What the samples of one task and filter show beside their score."""

    rows: int
    mean: float | None
    """Of the metric over the rows; None: not every row has a number."""
    empty: int = 0
    """Answers without a word: they were scored all the same."""
    not_extracted: int = 0
    """Answers in which the filter found nothing: scored as wrong, whatever they say."""
    all_zero: int = 0
    """Items whose every choice has likelihood exactly 0: what a server that ignores `echo` gives."""


class ImportedScore(Frozen):
    """One score of a quality task."""

    task: Short
    version: Short | None
    """Of the task, as the file states it."""
    metric: Short
    filter: Short | None
    """What was taken out of the answer before it was scored."""
    value: float
    stderr: float | None
    """Of one run, as the tool states it: not of a difference."""
    higher_is_better: bool | None = None
    n: int | None
    """Items scored."""
    n_original: int | None = None
    """Items the task has."""
    fewshot: int | None
    output_type: Short | None = None
    task_hash: Short | None = None
    samples: SampleTally | None = None
    """None: no samples came with the results."""


class ScorePath(Frozen):
    """How the questions reached the model, as far as the file says."""

    model_class: Short | None
    """The tool's word for it, for instance local-completions: whether a server was asked, and through which route."""
    chat_template: Literal["by-the-server", "by-the-tool", "none", "not-recorded"]
    """Who applied one. `by-the-server`: nobody saw which."""
    chat_template_sha256: Short | None = None
    system_instruction: bool | None = None
    """Whether one was put in front."""
    fewshot_as_multiturn: bool | None = None
    concurrency: int | None = None
    limit: float | None = None
    """Items of each task that were asked, or the share of them; None: all."""
    generation: Short | None = None
    """Generation settings that go before those of the tasks."""


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
    pacing: Pacing | None = None
    """None: the importer takes it from the file's own metrics."""
    incomplete: Literal["cancelled"] | None = None
    """Why the run did not come to its end, as the file says; None: it does not say so."""
    scores: tuple[ImportedScore, ...] = ()
    score_path: ScorePath | None = None
    """None: the record holds no scores."""
    notes: tuple[str, ...] = Field(default=(), description="Free text of the file. Private.")
    unread: tuple[str, ...] = ()
    """Keys of the file that the importer does not understand."""

    def named(self, condition: Condition) -> Value | None:
        """The value a launch argument gives a condition; None: no argument does, or it says `auto`."""
        return next((one.value for one in self.settings if one.condition is condition and one.value != "auto"), None)

    def metric(self, name: str, statistic: str | None) -> float | None:
        """One number by its name and statistic; None where the file has none."""
        return next((one.value for one in self.metrics if (one.name, one.statistic) == (name, statistic)), None)
