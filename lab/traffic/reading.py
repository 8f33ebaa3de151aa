"""The one pass over a file of traffic: every request is counted and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from lab.errors import TrafficError
from lab.trace import TraceRow
from lab.traffic.draw import Draw, Drawn, rows_of
from lab.traffic.files import Fault, TrafficFile, Value, looks_like, open_traffic
from lab.traffic.moments import Moments
from lab.traffic.prefixes import PrefixCount
from lab.traffic.requests import Kind, NotARequest, Refusal, Request, kind_of, requests_of
from lab.traffic.shape import Bad, Counter, Lengths, Shape, Turns, Unit
from lab.traffic.tally import LengthTally, Seen
from lab.traffic.times import Unit as TimeUnit
from lab.traffic.traces import BlockSize, TraceLine, trace_line
from lab.traffic.tree import TREE_BUDGET_BYTES
from lab.traffic.units import Counting, EncodeAll
from lab.traffic.uses import UseCount

As = Literal["openai", "sharegpt", "mooncake"]

LOOKED_AT = 200
"""Values that are looked at to find out what a file holds."""
NAMED_LINES = 5
"""Lines that are named for each reason."""
MOST_REQUESTS = 512
"""Requests of a workload that is written, where nothing else is asked for."""
PROGRESS_EVERY = 500
_EXPECTED = "give JSON Lines of request bodies, ShareGPT conversations or a Mooncake trace; --as says which"

_BATCH_TEXTS = 256
_BATCH_CHARS = 2_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading is."""

    done_bytes: int
    size_bytes: int
    requests: int


@dataclass(frozen=True, slots=True)
class Measured:
    """The shape of a file, and the requests that a workload can be written from.

    Attributes:
        rows: drawn requests without their words; empty where lengths in tokens are not known.
        everything: True when every request of the file is among them.
        no_rows: requests that were drawn and left out, because one of their lengths is not known.
    """

    shape: Shape
    rows: tuple[TraceRow, ...] = field(repr=False)
    everything: bool
    no_rows: int


def measure(
    path: Path,
    *,
    encode_all: EncodeAll | None = None,
    kind: As | None = None,
    block_tokens: int | None = None,
    time_unit: TimeUnit | None = None,
    most_requests: int = MOST_REQUESTS,
    output_tokens: int | None = None,
    seed: int = 1,
    budget_bytes: int = TREE_BUDGET_BYTES,
    on_progress: Callable[[Progress], None] | None = None,
) -> Measured:
    """Read a file once.

    Args:
        path: JSON Lines or one JSON array, plain or gzip.
        encode_all: the tokenizer; None: characters are counted, and called so.
        kind: what the file holds; None: what its first values look like.
        block_tokens: tokens of a block of a trace; None: what its lines allow.
        time_unit: unit of moments that count from anywhere; None: milliseconds in a trace, else nothing is assumed.
        most_requests: requests that are drawn.
        output_tokens: length of an answer where the file has none.
        seed: of the draw.
        budget_bytes: memory of the prefixes.
        on_progress: told now and then how far it is.

    Raises:
        TrafficError: the file cannot be read, holds nothing of the kind, or two kinds.
    """
    with open_traffic(path) as file:
        values = file.values()
        first = list(islice(values, LOOKED_AT))
        found = kind or _kind(first, file)
        reading = _Reading(found, encode_all, time_unit, most_requests, output_tokens, seed, budget_bytes)
        told = 0
        for value in _again(first, values):
            reading.take(value)
            if on_progress is not None and reading.records - told >= PROGRESS_EVERY:
                told = reading.records
                on_progress(Progress(file.done_bytes, file.size_bytes, reading.requests))
        reading.flush()
        if on_progress is not None:
            on_progress(Progress(file.size_bytes, file.size_bytes, reading.requests))
        if not reading.requests:
            others = {kind_of(value.value) for value in first} - {None, found}
            what = " and ".join(sorted(map(str, others))) or looks_like(file.head)
            raise TrafficError(
                f"no request of kind {found} in the file: {_reasons(reading.bad())}; it looks like {what}",
                _EXPECTED,
            )
        return reading.result(file.compressed, block_tokens)


def _again(first: list[Value], rest: Iterator[Value]) -> Iterator[Value]:
    yield from first
    yield from rest


def _kind(first: Sequence[Value], file: TrafficFile) -> Kind:
    """What the first values look like."""
    seen: dict[Kind, int] = {}
    for value in first:
        found = None if value.fault else kind_of(value.value)
        if found is not None:
            seen[found] = seen.get(found, 0) + 1
    if not seen:
        faults = sum(value.fault is not None for value in first)
        what = looks_like(file.head)
        raise TrafficError(
            f"nothing in the first {len(first)} values of the file is a request ({faults} of them are not JSON); "
            f"it looks like {what}",
            _EXPECTED,
        )
    if len(seen) > 1:
        counts = ", ".join(f"{times} like {name}" for name, times in sorted(seen.items()))
        raise TrafficError(
            f"the first {len(first)} values of the file are of several kinds: {counts}",
            "say which one is meant with --as; values of another kind are then counted as bad lines",
        )
    return next(iter(seen))


def _reasons(bad: Sequence[Bad]) -> str:
    return (
        ", ".join(
            f"{one.n} × {one.why} (line{'s' if len(one.lines) > 1 else ''} {', '.join(map(str, one.lines))})"
            for one in bad
        )
        or "it is empty"
    )


class _Reading:
    """Everything that is counted while a file is read."""

    def __init__(
        self,
        kind: Kind,
        encode_all: EncodeAll | None,
        time_unit: TimeUnit | None,
        most_requests: int,
        output_tokens: int | None,
        seed: int,
        budget_bytes: int,
    ) -> None:
        self.kind, self._seed = kind, seed
        self.records = self.requests = 0
        self._conversations = 0
        self._bad: dict[Fault | Refusal, list[int]] = {}
        self._bad_counts: dict[Fault | Refusal, int] = {}
        self._twice, self._once = 0, Seen()
        self._answers_last = self._failed = 0
        self._output_tokens = output_tokens
        self._counted = Counting(encode_all)
        self._inputs, self._outputs, self._limits = LengthTally(), LengthTally(), LengthTally()
        self._usage_in, self._usage_out = LengthTally(), LengthTally()
        self._cached = [0, 0]
        self._moments = Moments("mooncake" if kind == "mooncake" else "log", time_unit)
        self._prefixes = PrefixCount("blocks" if kind == "mooncake" else self._counted.unit, budget_bytes)
        self._block = BlockSize()
        self._draw = Draw(most_requests, seed)
        self._use = UseCount()
        self._turns, self._later = LengthTally(), 0
        self._waiting: list[Request] = []
        self._waiting_chars = 0

    # ------------------------------------------------------------ one value

    def take(self, value: Value) -> None:
        """Count one value of the file."""
        self.records += 1
        if value.fault is not None:
            self._refuse(value.fault, value.line)
            return
        try:
            if self.kind == "mooncake":
                self._trace(trace_line(value.value))
                return
            found = list(requests_of(value.value, self.kind))
        except NotARequest as refused:
            self._refuse(refused.why, value.line)
            return
        except RecursionError:
            self._refuse("bad-messages", value.line)
            return
        self._conversations += self.kind == "sharegpt"
        for request in found:
            if self._is_twice(request, value):
                continue
            self._waiting.append(request)
            self._waiting_chars += sum(len(text) for _, text in request.pieces) + len(request.answer or "")
        if len(self._waiting) >= _BATCH_TEXTS or self._waiting_chars >= _BATCH_CHARS:
            self.flush()

    def _refuse(self, why: Fault | Refusal, line: int) -> None:
        self._bad_counts[why] = self._bad_counts.get(why, 0) + 1
        named = self._bad.setdefault(why, [])
        if len(named) < NAMED_LINES:
            named.append(line)

    def _is_twice(self, request: Request, value: Value) -> bool:
        """True for a line that stands in the file already; without a moment or an id the same words may come twice."""
        if value.raw is None or (request.at_s is None and request.name is None):
            return False
        twice = self._once.add(value.raw.strip())
        self._twice += twice
        return twice

    def _trace(self, line: TraceLine) -> None:
        index, self.requests = self.requests, self.requests + 1
        self._block.look(line)
        self._inputs.add(line.input_tokens)
        if line.output_tokens is not None:
            self._outputs.add(line.output_tokens)
        moment = self._moments.add(line.at, False, None, broken=line.at_broken)
        shared = 0
        if line.blocks is not None:
            met = self._prefixes.add_blocks(line.blocks, line.input_tokens, index, self._moments.latest)
            shared = met.size
        self._draw.add(
            Drawn(
                index, moment, line.input_tokens, line.output_tokens or self._output_tokens, shared, blocks=line.blocks
            )
        )

    # ------------------------------------------------------------ many requests

    def flush(self) -> None:
        """Count the requests that wait; their texts are given to the tokenizer together."""
        waiting, self._waiting, self._waiting_chars = self._waiting, [], 0
        self._counted.prepare(
            text
            for request in waiting
            for text in (*(text for _, text in request.pieces), request.answer)
            if isinstance(text, str)
        )
        for request in waiting:
            self._count(request)

    def _count(self, request: Request) -> None:
        index, self.requests = self.requests, self.requests + 1
        self._answers_last += request.answers_last
        self._failed += request.failed
        self._use.add(request)
        self._turns.add(request.turns)
        self._later += request.follows
        moment = self._moments.add(
            request.at_s, request.calendar, request.took_s, broken=request.time_broken, no_unit=request.no_unit
        )
        for value, tally in ((request.usage_in, self._usage_in), (request.usage_out, self._usage_out),
                             (request.limit, self._limits)):  # fmt: skip
            if value is not None:
                tally.add(value)
        if request.usage_cached is not None and request.usage_in:
            self._cached[0] += min(request.usage_cached, request.usage_in)
            self._cached[1] += request.usage_in
        answer = None if request.answer is None else self._counted.length(request.answer)
        if answer is not None:
            self._outputs.add(answer)
        units = self._counted.units(request)
        if units is None:
            return
        whole, marks = units
        length = len(whole) // 4 - len(marks)
        self._inputs.add(length)
        met, shared = self._prefixes.add_units(whole, marks, index, self._moments.latest)
        if self._counted.unit == "tokens":
            output = request.usage_out if request.usage_out is not None else answer
            self._draw.add(
                Drawn(index, moment, length, output or self._output_tokens, shared, end=met.end, marks=marks)
            )

    # ------------------------------------------------------------ what came of it

    def bad(self) -> tuple[Bad, ...]:
        """Lines that hold no request."""
        return tuple(
            Bad(why=why, n=self._bad_counts[why], lines=tuple(self._bad[why])) for why in sorted(self._bad_counts)
        )

    def result(self, compressed: bool, block_tokens: int | None) -> Measured:
        """The shape, and the rows."""
        trace = self.kind == "mooncake"
        block = (block_tokens or self._block.size()) if trace else None
        arrivals, no_arrivals = self._moments.arrivals()
        in_flight, no_in_flight = self._moments.in_flight()
        counter: Counter = "file" if trace else "tokenizer" if self._counted.unit == "tokens" else "characters"
        unit = "tokens" if trace else self._counted.unit
        shape = Shape(
            kind=self.kind,
            compressed=compressed,
            records=self.records,
            requests=self.requests,
            conversations=self._conversations if self.kind == "sharegpt" else None,
            bad=self.bad(),
            twice=self._twice,
            twice_more=self._once.full,
            answers_last=self._answers_last,
            failed=self._failed,
            input_lengths=_lengths((self._inputs, unit, counter), (self._usage_in, "tokens", "server")),
            output_lengths=_lengths(
                *(
                    ((self._usage_out, "tokens", "server"), (self._outputs, unit, counter))
                    if self._usage_out.n >= self._outputs.n
                    else ((self._outputs, unit, counter), (self._usage_out, "tokens", "server"))
                )
            ),
            limits=next(iter(_lengths((self._limits, "tokens", "file"))), None),
            cached_share=self._cached[0] / self._cached[1] if self._cached[1] else None,
            prefixes=self._prefixes.result(self._moments, block, self._block, asked=block_tokens is not None),
            arrivals=arrivals,
            no_arrivals=no_arrivals,
            in_flight=in_flight,
            no_in_flight=no_in_flight,
            clock=self._moments.clock(),
            use=self._use.result() if self.kind == "openai" else None,
            turns=None if trace else Turns(n=self._turns.n, later=self._later, p50=self._turns.quantile(0.5),
                                           p90=self._turns.quantile(0.9), most=self._turns.quantile(1.0)),
        )  # fmt: skip
        drawn = self._draw.requests()
        usable = trace or self._counted.unit == "tokens"
        moments = self._moments.seconds() if arrivals is not None else ()
        if not moments:
            for one in drawn:
                one.moment = None
        rows = rows_of(drawn, moments, self._seed, block) if usable else ()
        return Measured(shape, rows, self._draw.everything, len(drawn) - len(rows) if usable else 0)


def _lengths(*tallies: tuple[LengthTally, Unit, Counter]) -> tuple[Lengths, ...]:
    found = []
    for tally, unit, counter in tallies:
        if not tally.n:
            continue
        p10, p25, p50, p75, p90, p99 = (tally.quantile(share) for share in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99))
        found.append(
            Lengths(
                n=tally.n,
                unit=unit,
                counted_by=counter,
                mean=tally.mean(),
                least=tally.quantile(0.0),
                p10=p10,
                p25=p25,
                p50=p50,
                p75=p75,
                p90=p90,
                p99=p99,
                most=tally.quantile(1.0),
                histogram=tally.histogram(),
            )
        )
    return tuple(found)
