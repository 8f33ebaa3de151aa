"""Requests and tokens add up, or it is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.limits import Totals
from lab.metrics.catalog import measure_level
from lab.metrics.sums import add_up, run_sums, sums_concern
from lab.plan import load_plan
from lab.records import ChunkKind, Concern, ConcernCode, EngineUse, Outcome, RequestRecord
from lab.spec import Rung, Workload


@pytest.fixture(scope="module")
def workload() -> Workload:
    """Two requests a level."""
    whole = load_plan(Path(__file__).parents[2] / "params" / "harness-check.yaml").runs[0].spec.workload
    return whole.model_copy(update={"requests_per_level": 2})


def record(index: int = 0, **changes: Any) -> RequestRecord:
    """10 prompt tokens in, 4 of them cached; 3 tokens out in 2 chunks of text."""
    values: dict[str, Any] = {
        "level": 0, "index": index, "intended_send_s": 0.0, "send_s": 0.0, "end_s": 1.0, "status": 200,
        "chunk_s": (0.1, 0.2, 0.3), "chunk_kind": (ChunkKind.CONTENT, ChunkKind.CONTENT, ChunkKind.USAGE),
        "prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 3, "asked_tokens": 3,
        "outcome": Outcome.SUCCESS,
    }  # fmt: skip
    return RequestRecord.model_validate(values | changes)


def told(records: list[RequestRecord], workload: Workload) -> Concern | None:
    return sums_concern(measure_level(records, Rung(concurrency=1)), records, workload)


def engine(generated: float | None, prompt: float | None) -> EngineUse:
    return EngineUse(
        running_max=None, waiting_max=None, kv_use_max=None, prefix_hit_share=None, preemptions=None,
        prompt_tokens=prompt, generated_tokens=generated,
    )  # fmt: skip


def test_two_of_two_requests_with_as_many_tokens_as_chunks_or_more_add_up(workload: Workload) -> None:
    assert told([record(0), record(1)], workload) is None


def test_a_missing_request_is_counted(workload: Workload) -> None:
    concern = told([record(0)], workload)
    assert concern is not None
    assert (concern.code, concern.value) == (ConcernCode.SUMS, 1.0)


def test_a_level_that_ends_by_time_has_no_number_to_reach(workload: Workload) -> None:
    assert told([record(0)], workload.model_copy(update={"duration_s": 1.0})) is None


def test_more_chunks_of_text_than_tokens_cannot_be(workload: Workload) -> None:
    concern = told([record(0), record(1, completion_tokens=1)], workload)
    assert concern is not None
    assert concern.value == 1.0


def test_a_rate_that_is_not_its_total_over_the_time_is_counted(workload: Workload) -> None:
    records = [record(0), record(1)]
    level = measure_level(records, Rung(concurrency=1))
    assert level.scalars["output_tok_per_s_whole"] == 6.0
    twice = level.model_copy(update={"scalars": {**level.scalars, "output_tok_per_s_whole": 12.0}})
    assert sums_concern(twice, records, workload) == Concern(code=ConcernCode.SUMS, value=1.0, limit=0.0)


def test_an_engine_may_count_cached_prompt_tokens_or_leave_them_out() -> None:
    records = [record(0), record(1, warmup=True)]
    verdicts = [run_sums(records, engine(6, prompt)) for prompt in (20, 12, 11, 21)]
    assert [one.prompt_agrees for one in verdicts if one] == [True, True, False, False]
    assert [one.output_agrees for one in verdicts if one] == [True] * 4


def test_an_engine_that_counts_other_tokens_does_not_agree() -> None:
    found = run_sums([record()], engine(4, None))
    assert found is not None
    assert (found.client_output, found.output_agrees, found.prompt_agrees) == (3, False, None)


def test_a_failed_request_hides_what_the_engine_counted() -> None:
    failed = record(1, outcome=Outcome.TIMEOUT, completion_tokens=None)
    found = run_sums([record(0), failed], engine(5, 20))
    assert found is not None
    assert (found.whole, found.output_agrees, found.client_output) == (False, None, 3)


def test_without_counters_or_without_load_nothing_is_held_against_anything() -> None:
    found = run_sums([record()], None)
    assert found is not None
    assert (found.engine_output, found.output_agrees) == (None, None)
    assert run_sums([], None) is None


def test_stated_rates_follow_from_stated_totals_or_it_is_said() -> None:
    totals = Totals(
        requests=10, succeeded=10, failed=0, input_tokens=300, output_tokens=100, duration_s=10.0, request_rps=1.0,
        output_tok_per_s=10.0, total_tok_per_s=80.0,
    )  # fmt: skip
    assert {one.name: (one.follows, one.agrees) for one in add_up(totals)} == {
        "requests": (10, True),
        "request_rps": (1.0, True),
        "output_tok_per_s": (10.0, True),
        "total_tok_per_s": (40.0, False),
    }


def test_a_relation_that_lacks_a_part_is_not_checked() -> None:
    assert add_up(Totals(requests=10, output_tok_per_s=10.0, duration_s=10.0)) == ()
    (one,) = add_up(Totals(requests=10, succeeded=8, failed=1))
    assert (one.follows, one.agrees) == (9, False)


def test_a_rate_times_a_latency_is_what_is_in_flight_and_a_closed_loop_has_no_more_places() -> None:
    # 4 a second for 2 s each are 8 in flight
    fits, beyond = (
        next(one for one in add_up(Totals(request_rps=4.0, e2e_mean_s=2.0, concurrency=n)) if one.name == "in_flight")
        for n in (8, 7)
    )
    assert (fits.follows, fits.agrees, beyond.agrees) == (8.0, True, False)
    assert add_up(Totals(request_rps=4.0, e2e_mean_s=2.0)) == ()


def test_prompt_tokens_over_the_time_are_a_rate_of_their_own() -> None:
    (one,) = add_up(Totals(input_tokens=100, duration_s=10.0, input_tok_per_s=10.0))
    assert (one.name, one.follows, one.agrees) == ("input_tok_per_s", 10.0, True)
