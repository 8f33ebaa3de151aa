"""What comes out of a file of traffic: numbers and words of the lab's own, nothing of the traffic itself."""

from __future__ import annotations

from typing import Literal

from lab.spec import Frozen
from lab.traffic.files import Fault
from lab.traffic.requests import Kind, Refusal
from lab.traffic.times import Unit as TimeUnit

Unit = Literal["tokens", "characters"]
Counter = Literal["tokenizer", "server", "file", "characters"]
"""Who counted: a tokenizer here, the server that wrote `usage`, the trace itself, or characters stand for tokens."""
Why = Literal["no-moments", "unit-open", "few-moments", "no-durations", "few-durations", "no-span", "no-prompts"]
"""Why something was not measured."""


class Lengths(Frozen):
    """A distribution of lengths."""

    n: int
    unit: Unit
    counted_by: Counter
    mean: float
    least: int
    p10: int
    p25: int
    p50: int
    p75: int
    p90: int
    p99: int
    most: int
    histogram: tuple[tuple[int, int, int], ...]
    """From, up to and including, how many requests."""


class Within(Frozen):
    """The share whose last use lay no further back."""

    seconds: float | None = None
    requests: int | None = None
    """One of the two; both None: ever."""
    share: float


class Prefixes(Frozen):
    """How much of the input is a prefix that an earlier request of the file began with."""

    level: Literal["tokens", "characters", "blocks"]
    block_tokens: int | None = None
    block_open: bool = False
    """True when the lines allow several usual sizes, or none, of a block."""
    requests: int
    total: int
    """Units of all prompts; at the level of blocks, tokens."""
    shared: int
    share: float
    low: float | None = None
    high: float | None = None
    """95 % interval over consecutive batches; at the level of blocks it reaches up to what part of a block may hold."""
    whole: int
    """Requests whose whole prompt an earlier one began with."""
    within: tuple[Within, ...]
    window_s: float | None = None
    windows: int = 0
    window_shares: tuple[float, float, float] | None = None
    """Smallest, median and largest share of a window of time; None without moments or with fewer than two windows."""
    horizon: int | None = None
    """Fewest different units that were remembered when the memory was full; None: all were."""


class Dispersion(Frozen):
    """Variance of the number of arrivals in a window over its mean: 1 for arrivals that know nothing of each other."""

    window_s: float
    windows: int
    index: float


class Arrivals(Frozen):
    """When requests came."""

    n: int
    unit: TimeUnit
    span_s: float
    rate_rps: float
    gap_cv: float | None
    """Standard deviation of the gaps over their mean; None for fewer than two gaps."""
    ties: int
    """Gaps of exactly zero."""
    step_s: float | None
    """Smallest gap above zero: nothing finer can be seen."""
    peak_window_s: float | None
    peak_to_mean: float | None
    """Arrivals in the fullest window over those in a mean one."""
    dispersion: tuple[Dispersion, ...]
    more: bool = False
    """True when the file goes on after the last moment that was kept."""


class InFlight(Frozen):
    """Requests that were being answered at once, from recorded moments and durations."""

    n: int
    mean: float
    peak: int
    hour_mean: float | None
    """In the fullest hour; None where the file is shorter."""
    low: float | None = None
    high: float | None = None
    """95 % interval over the twelve parts of that hour."""


class Clock(Frozen):
    """What was wrong with the moments."""

    missing: int = 0
    broken: int = 0
    back: int = 0
    """Times a record is earlier than the latest before it."""
    back_s: float = 0.0
    """The largest such step."""
    no_unit: int = 0
    """Durations whose unit nothing says."""


class Setting(Frozen):
    """One field of sampling."""

    name: str
    n: int
    p10: float | None = None
    p50: float | None = None
    p90: float | None = None
    """None where its values are no numbers."""


class Use(Frozen):
    """What requests use of the API; counts of requests. Only bodies show it."""

    n: int
    json_schema: int
    json_object: int
    constrained_otherwise: int
    offers_tools: int
    uses_tools: int
    tools_p50: int | None
    """Tools offered, where any are."""
    stream: int
    stream_said: int
    """Requests that say whether they stream."""
    media: int
    held: int
    """Requests whose history the server keeps: their prompts are longer than what could be counted."""
    several_prompts: int
    token_ids: int
    """Prompts that are token ids already."""
    models: int
    models_more: bool
    model_most: int
    """Requests of the most frequent model name."""
    adapters: int
    adapter_requests: int
    settings: tuple[Setting, ...]


class Turns(Frozen):
    """How far into a conversation requests are."""

    n: int
    later: int
    """Requests that hold an earlier answer."""
    p50: int
    p90: int
    most: int


class Bad(Frozen):
    """Lines that hold no request, and why."""

    why: Fault | Refusal
    n: int
    lines: tuple[int, ...]
    """The first of them."""


class Shape(Frozen):
    """The shape of one file of traffic."""

    kind: Kind
    compressed: bool
    records: int
    """JSON values that were read, bad ones included."""
    requests: int
    conversations: int | None = None
    """For ShareGPT."""
    bad: tuple[Bad, ...]
    twice: int
    """Records that stand in the file twice, moment or id included; they were counted once."""
    twice_more: bool = False
    """True when there were too many records to look for all of them."""
    answers_last: int
    """Requests whose last message is the assistant's: it was taken as the answer."""
    failed: int
    """Requests whose log says that they failed."""
    input_lengths: tuple[Lengths, ...]
    output_lengths: tuple[Lengths, ...]
    limits: Lengths | None
    """The most tokens that requests asked for."""
    cached_share: float | None
    """Share of the prompt tokens that the server itself took from its cache; None where it did not say."""
    prefixes: Prefixes | None
    arrivals: Arrivals | None
    no_arrivals: Why | None
    in_flight: InFlight | None
    no_in_flight: Why | None
    clock: Clock
    use: Use | None
    turns: Turns | None

    @property
    def input(self) -> Lengths | None:
        """Lengths of the prompts in the first unit there is; None when nothing could be counted."""
        return self.input_lengths[0] if self.input_lengths else None
