"""What we intend: a run with every value decided, before anything starts.

A `RunSpec` is complete on purpose. Nothing in it is looked up later, so its digest says what was meant,
and two specs can be compared field by field (`lab/rules.py`).
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+\-]{0,79}$")]
"""A name that may become part of a file name or a page: letters, digits and `. _ + -`, 80 at most."""

PublicText = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=120, pattern=r"^[^<>\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$"
    ),
]
"""Words as people write them, one line, without markup and without characters that are not seen."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 digest, 64 lower-case hexadecimal digits."""

Table = Literal["comparison", "pipeline-check", "instrument-check"]
"""Which table a run may stand in; the tables never mix."""


class Frozen(BaseModel):
    """Base of every data type: immutable, closed, and free of NaN and infinity."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True, protected_namespaces=()
    )


class ModelSpec(Frozen):
    """The weights, named so exactly that two runs of it use the same bytes."""

    series: PublicText
    """The model series as people name it, for instance SmolLM2-135M-Instruct."""
    revision: Name
    """The release the weights came from."""
    weights_format: Literal["gguf", "safetensors", "none"]
    """`none` only for the reference engine, which has no weights."""
    weights_sha256: Sha256 | None
    """Digest of the weights file; None when there are no weights."""
    tokenizer: Literal["in-weights", "folder", "words"]
    """Where the tokenizer lives; `words` is the reference engine's one word, one token."""
    chat_template: Literal["in-weights", "file", "none"]
    """Where the chat template comes from; `file`: one beside the model file, given to every engine."""
    chat_template_sha256: Sha256 | None = None
    """Digest of that file; None when the template is in the weights, or there is none."""
    family: Name | None = None
    """Parser family, for instance qwen3 or llama3: decides the tool and reasoning parsers; None: none are set."""

    @model_validator(mode="after")
    def _template_is_pinned(self) -> ModelSpec:
        if (self.chat_template == "file") != (self.chat_template_sha256 is not None):
            raise ValueError("chat_template_sha256 goes with chat_template: file, and only with it")
        return self


class Quantization(Frozen):
    """What was quantized, the three places apart."""

    weights: Name
    """Format of the weights, for instance Q4_1, BF16, FP8."""
    activations: Name
    """Format of the activations, for instance F32, BF16."""
    kv_cache: Name
    """Format of the KV cache, for instance F16, FP8."""


class Sampling(Frozen):
    """Sampling values, all sent in every request so that no server default decides."""

    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    top_k: int = Field(ge=0)
    """0 turns it off."""
    min_p: float = Field(ge=0, le=1)
    presence_penalty: float
    frequency_penalty: float
    repetition_penalty: float = Field(gt=0)
    seed: int = Field(ge=0)


NEUTRAL_SAMPLING = Sampling(
    temperature=0,
    top_p=1,
    top_k=0,
    min_p=0,
    presence_penalty=0,
    frequency_penalty=0,
    repetition_penalty=1,
    seed=1,
)
"""Greedy, and nothing that changes it."""


class Slo(Frozen):
    """What a user is promised; a request is good when it keeps every limit that is set."""

    ttft_s: float | None = Field(default=None, gt=0)
    tpot_s: float | None = Field(default=None, gt=0)
    e2e_latency_s: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _promises_something(self) -> Slo:
        if self.ttft_s is None and self.tpot_s is None and self.e2e_latency_s is None:
            raise ValueError("an SLO needs at least one of ttft_s, tpot_s and e2e_latency_s")
        return self


class Rung(Frozen):
    """One level of a ladder: so many requests in flight, or so many a second."""

    concurrency: int | None = None
    rate_rps: float | None = None


class Workload(Frozen):
    """What is asked of the engine, and in which rhythm.

    Closed loop: at every rung `concurrency` requests are in flight and a finished one is followed by the
    next at once. Open loop: requests are sent at moments decided before the first one, whatever the engine
    does, evenly spaced (`constant`), with exponential gaps (`poisson`), or with the gaps of a traffic shape,
    stretched alike until their mean rate is the one asked for (`trace`).
    """

    name: Name
    endpoint: Literal["chat", "completions"]
    """Which OpenAI route is driven."""
    content: Literal["words", "structured-output", "own-traffic", "trace"] = "words"
    """What the prompts are: seeded words of an exact length, questions with a JSON schema each, the
    user's own messages, or words of the lengths and common beginnings of a traffic shape."""
    source_sha256: Sha256 | None = None
    """Digest of the file the prompts or schemas come from; None for words. Filled in when planned."""
    input_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    """Length of each prompt in tokens of the model, the chat template not counted; None where the content decides."""
    shared_prefix_tokens: int = Field(default=0, ge=0)
    """How many of the input tokens are the same within a group of prompts; 0 makes every prompt unique."""
    prefix_groups: int = Field(default=1, ge=1)
    """How many different shared prefixes there are; requests take turns."""
    output_tokens: int = Field(ge=1, le=1_000_000)
    """Length asked of each answer; with a traffic shape, the most of any."""
    exact_output: bool
    """True asks the engine not to stop early; an answer that is shorter all the same is not a success."""
    arrival: Literal["closed", "constant", "poisson", "trace"] = "closed"
    concurrency: tuple[Annotated[int, Field(ge=1, le=65_536)], ...] = ()
    """The ladder of a closed loop: one measured level for each number of requests in flight."""
    rate_rps: tuple[Annotated[float, Field(gt=0, le=1_000_000)], ...] = ()
    """The ladder of an open loop: one measured level for each number of requests a second."""
    requests_per_level: int = Field(ge=1, le=10_000_000)
    """The most requests of a level."""
    duration_s: float | None = Field(default=None, gt=0)
    """No request is sent later than this into a level; None: the count decides alone."""
    slo: Slo | None = None
    """What goodput is counted against; None: no goodput."""
    warmup_requests: int = Field(ge=0)
    """Sent before each level, with prompts the measured part never uses."""
    timeout_s: float = Field(gt=0)
    """Limit for one request, seconds."""
    workers: int = Field(default=1, ge=1, le=64)
    """Load processes that send it: one for each core that the engine does not need."""
    seed: int = Field(ge=0)
    """Decides the prompts and the moments of an open loop."""

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """The levels in the order in which they are measured."""
        if self.arrival == "closed":
            return tuple(Rung(concurrency=concurrency) for concurrency in self.concurrency)
        return tuple(Rung(rate_rps=rate) for rate in self.rate_rps)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Workload:
        if self.arrival == "closed" and (not self.concurrency or self.rate_rps):
            raise ValueError("a closed loop needs concurrency and has no rate_rps")
        if self.arrival != "closed" and (not self.rate_rps or self.concurrency):
            raise ValueError(f"arrival {self.arrival} needs rate_rps and has no concurrency")
        if self.concurrency and max(self.concurrency) > self.requests_per_level:
            raise ValueError(
                f"{self.requests_per_level} requests never keep {max(self.concurrency)} in flight; "
                f"requests_per_level has to be {max(self.concurrency) * 4} or more to mean something"
            )
        if self.arrival == "trace" and self.content != "trace":
            raise ValueError("arrival trace takes its moments from a traffic shape: content has to be trace")
        if len(set(self.rungs)) < len(self.rungs):
            raise ValueError("a rung of the ladder stands twice")
        if self.content == "words" and self.input_tokens is None:
            raise ValueError("content words needs input_tokens")
        if self.content != "words" and (self.input_tokens is not None or self.shared_prefix_tokens):
            raise ValueError(f"content {self.content} decides its own input lengths")
        if self.content == "structured-output" and self.exact_output:
            raise ValueError("an answer that has to fit a schema cannot have an exact length: exact_output is false")
        if self.input_tokens is not None and self.shared_prefix_tokens >= self.input_tokens:
            raise ValueError(
                f"{self.shared_prefix_tokens} of {self.input_tokens} input tokens are shared; "
                "at least one has to differ"
            )
        return self


class LaunchProfile(Frozen):
    """Settings of an engine under engine-neutral names; None leaves the engine's own default."""

    name: Name
    prefix_caching: bool | None = None
    """Keep and reuse the KV cache of prompt prefixes."""
    chunked_prefill: bool | None = None
    """Split long prompts into steps that share a batch with decoding."""
    kv_cache_tokens: int | None = Field(default=None, ge=1)
    """Absolute KV budget in tokens, over all sequences."""
    max_num_seqs: int | None = Field(default=None, ge=1)
    """Most sequences decoded together."""
    max_batched_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of one prefill step."""
    memory_fraction: float | None = Field(default=None, gt=0, le=1)
    """Share of the GPU's memory. Every engine takes it of something else (all, what is free after the weights),
    so it makes nothing equal; `kv_cache_tokens` does."""
    cuda_graphs: bool | None = None
    """Record kernel launches once and replay them."""
    torch_compile: bool | None = None
    """Compile the model's graph at start."""
    tensor_parallel: int = Field(default=1, ge=1, le=1024)
    """GPUs that share every layer."""
    pipeline_parallel: int = Field(default=1, ge=1, le=1024)
    """GPUs that each hold a part of the layers."""
    speculative: Literal["off", "ngram"] = "off"
    """Draft tokens ahead and verify them. Off unless a plan is about it."""
    speculative_tokens: int | None = Field(default=None, ge=1, le=64)
    """Tokens drafted at a time; only with `speculative`."""
    grammar_backend: Literal["xgrammar", "llguidance"] | None = None
    """Library that constrains answers to a schema."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads; only where the model runs on the CPU."""
    ttft_s: float | None = Field(default=None, ge=0)
    """Reference engine only: time to the first token of an empty prompt, seconds."""
    tick_s: float | None = Field(default=None, gt=0)
    """Reference engine only: time between two ticks; every running stream gets one token a tick."""
    prefill_s_per_token: float | None = Field(default=None, ge=0)
    """Reference engine only: added to the first token for each prompt token that is not cached, seconds."""

    @model_validator(mode="after")
    def _drafts_only_when_on(self) -> LaunchProfile:
        if self.speculative_tokens is not None and self.speculative == "off":
            raise ValueError("speculative_tokens goes with speculative, which is off")
        return self


class SuiteRef(Frozen):
    """A quality suite, pinned."""

    name: Name
    version: Name
    sha256: Sha256
    """Digest over the tasks, their data and the code that scores them."""


CacheTier = Literal["as-found", "download", "disk-cold", "warm"]
"""What is on the machine before a launch. `download`: nothing, the weights are fetched first. `disk-cold`: the
weights are on the disk, compile caches are empty, the page cache is dropped. `warm`: compile caches are kept, the
weights are in memory. `as-found`: nothing is touched, and what was found is recorded."""


class RunSpec(Frozen):
    """One run, every value decided."""

    spec_version: Literal[1] = 1
    table: Table
    """The table this run may stand in."""
    model: ModelSpec
    quantization: Quantization
    context_limit: int = Field(ge=1, le=100_000_000)
    """Most tokens of one sequence, prompt and answer together."""
    engine: Name
    """Key in `lab.engines.ENGINES`."""
    profile: LaunchProfile
    gateway: Name | None = None
    """The gateway in front of the engine, or None when the engine is addressed directly."""
    behind: Name | None = None
    """The engine inside, where `engine` is a packaging of another one."""
    attached: bool = False
    """True when the engine runs already and is reached by URL: the lab did not launch it."""
    served_as: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Name by which an attached engine knows the model; None: the model series."""
    workload: Workload
    sampling: Sampling
    chat_template_kwargs: dict[Name, bool | int | str] = Field(default_factory=dict)
    """Variables of the chat template, sent in every chat request, for instance enable_thinking: false."""
    quality: SuiteRef | None
    """None when quality cannot be asked of this engine; the plan file says why."""
    preparation_counts: bool
    """Whether preparation time counts in the decision. There is no default."""
    cache_tier: CacheTier = "as-found"
    """What every launch starts from."""
    isolation: Literal["exclusive", "shared"] | None = None
    """What the team declares of the machine; what was measured is recorded apart. None: nothing was declared."""

    @property
    def spec_digest(self) -> str:
        """Digest of everything that was meant, `s-` and 16 hexadecimal digits.

        A value that is its field's default is left out, so that a field added later leaves older digests alone;
        a default never changes its meaning without a new `spec_version`.
        """
        return (
            "s-"
            + digest(self.model_dump(mode="json", exclude_defaults=True) | {"spec_version": self.spec_version})[:16]
        )

    def conditions(self) -> dict[str, Any]:
        """What has to be equal between runs that stand side by side, as plain data."""
        whole = self.model_dump(mode="json", exclude_defaults=True)
        return {key: whole[key] for key in CONDITION_FIELDS if key in whole}


CONDITION_FIELDS = (
    "table",
    "model",
    "quantization",
    "context_limit",
    "gateway",
    "workload",
    "sampling",
    "chat_template_kwargs",
    "quality",
    "preparation_counts",
    "cache_tier",
)
"""Top-level fields of `RunSpec` that are Conditions; the rest is what may be the Subject."""


def digest(data: Any) -> str:
    """SHA-256 of the canonical JSON of `data`: sorted keys, no spaces, UTF-8."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def match_id(specs: tuple[RunSpec, ...]) -> str:
    """Digest of the Conditions and the engine list, `m-` and 12 hexadecimal digits.

    Where the format of the KV cache is what varies, its formats stand in the list's place: a match of two formats is
    another one than a match within one of them.

    Args:
        specs: runs that are to stand side by side; at least one.
    """
    conditions = specs[0].conditions()
    formats = sorted({spec.quantization.kv_cache for spec in specs})
    if len(formats) > 1:
        conditions["quantization"] |= {"kv_cache": formats}
    engines = sorted({spec.engine for spec in specs})
    return "m-" + digest({"conditions": conditions, "engines": engines})[:12]
