"""A short run of the fuzz, what its oracle knows, and streams whose bytes arrive in any pieces."""

from __future__ import annotations

import gzip
import random
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.load.answer import read_answer
from lab.load.spool import Exchange
from lab.records import Outcome, RequestRecord
from tests.load.fuzz import (
    Case,
    Tally,
    Valid,
    Verdict,
    decide,
    differences,
    in_memory,
    over_sockets,
    render,
    table,
    valid,
)
from tests.load.misbehaving import HANG, RESET, SCENARIOS, Scenario

SEED = 20


@pytest.fixture(scope="module")
def memory() -> Tally:
    tally = Tally("m")
    in_memory(SEED, 3000, tally)
    return tally


def test_no_damaged_stream_in_memory_crashes_hangs_or_passes(memory: Tally) -> None:
    assert not memory.faults, table([memory])


def test_the_fuzz_reaches_every_outcome_and_the_oracle_mostly_knows(memory: Tally) -> None:
    assert set(memory.outcomes) == set(Outcome)
    assert memory.undamaged > 0.1 * memory.streams and memory.undecided < 0.2 * memory.streams
    assert min(memory.verdicts[Verdict.MUST], memory.verdicts[Verdict.MUST_NOT]) > 0.2 * memory.streams


def test_no_damaged_response_over_a_socket_crashes_hangs_or_passes() -> None:
    tally = Tally("s")
    over_sockets(SEED, 200, tally)
    assert not tally.faults and tally.outcomes.total() == 200, table([tally])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
def test_the_oracle_never_contradicts_a_record_that_was_written_by_hand(scenario: Scenario) -> None:
    raw = b"".join(step for step in scenario.script if isinstance(step, bytes))
    end = {RESET: "reset", HANG: "hang"}.get(scenario.script[-1] if scenario.script else b"", "close")  # type: ignore[call-overload]
    verdict, why = decide(Case(0, asked=4, exact=scenario.exact, raw=raw, plain=raw, end=end))
    wrong = Verdict.MUST_NOT if scenario.outcome is Outcome.SUCCESS else Verdict.MUST
    assert verdict is not wrong, why


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.data())
def test_a_stream_in_any_pieces_gives_the_same_record_and_each_chunk_its_own_arrival(
    seed: int, packed: bool, data: st.DataObject
) -> None:
    rng = random.Random(seed)
    stream = valid(rng)
    events, offsets = render(rng, stream.style, stream.docs)
    plain = b"".join(events)
    body = gzip.compress(plain, mtime=0) if packed else plain
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    packets = [body[start:end] for start, end in pairwise((0, *cuts, len(body)))]
    whole, split = read(stream, [body], packed), read(stream, packets, packed)
    assert split.outcome is Outcome.SUCCESS and not differences(split, stream)
    assert split.model_copy(update={"chunk_s": (), "end_s": 0}) == whole.model_copy(update={"chunk_s": (), "end_s": 0})
    assert list(split.chunk_s) == sorted(split.chunk_s)
    if not packed:
        starts, ends = [0, *accumulate(map(len, events))], list(accumulate(map(len, packets)))
        last = [
            start + offset - 1
            for start, offset, doc in zip(starts, offsets, stream.docs, strict=False)
            if doc != "[DONE]"
        ]
        assert list(split.chunk_s) == [next(1.0 + at for at, end in enumerate(ends) if end > byte) for byte in last]


def read(stream: Valid, packets: list[bytes], packed: bool) -> RequestRecord:
    """The record when packet after packet arrives, one a second."""
    arrivals = [1.0 + at for at in range(len(packets))]
    exchange = Exchange(
        0, 0, False, intended_s=0.0, first_byte_s=1.0, end_s=arrivals[-1], status=200, arrivals=arrivals,
        packets=packets, content_encoding="gzip" if packed else "",
    )  # fmt: skip
    return read_answer(exchange, asked_tokens=stream.asked, exact=stream.exact)
