"""What a load gives away, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.metrics.catalog import measure_level
from lab.metrics.counted import SAMPLE, Counted, count_load
from lab.plan import load_plan
from lab.records import ChunkKind, Outcome, RequestRecord
from lab.spec import Rung, Workload


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load_plan(Path(__file__).parents[2] / "params" / "harness-check.yaml").runs[0].spec.workload


def request(index: int, send: float = 0.0, ttft_s: float = 0.1, **changes: Any) -> RequestRecord:
    """10 tokens in, 3 out, one chunk each, 0.1 s apart."""
    times = tuple(send + ttft_s + 0.1 * k for k in range(3))
    values: dict[str, Any] = {
        "level": 0, "index": index, "intended_send_s": send, "send_s": send, "first_byte_s": times[0],
        "end_s": times[-1], "status": 200, "chunk_s": times, "chunk_kind": (ChunkKind.CONTENT,) * 3,
        "prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 3, "asked_tokens": 3, "finish_reason": "length",
        "outcome": Outcome.SUCCESS,
    }  # fmt: skip
    return RequestRecord.model_validate(values | changes)


def counted(records: list[RequestRecord], workload: Workload) -> Counted:
    found = count_load(records, (measure_level(records, Rung(concurrency=1)),), workload)
    assert found is not None
    return found


def test_tokens_ends_and_gaps_are_those_of_the_measured_requests(workload: Workload) -> None:
    warm = request(9, warmup=True, prompt_tokens=99, finish_reason="stop")
    found = counted([warm, request(0), request(1, finish_reason="a word nobody knows")], workload)
    assert (found.requests, found.whole) == (2, True)
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (20, 6, 8)
    assert found.finish_reasons == {"length": 1, "other": 1}
    assert (found.gap_mean_s, found.gap_p50_s, found.tpot_mean_s) == pytest.approx((0.1, 0.1, 0.1))
    assert [(one.index, one.prompt_tokens) for one in found.sample] == [(0, 10), (1, 10)]
    assert (found.again, found.sendings) == (0, ())


def test_a_failed_request_makes_the_totals_those_of_other_prompts(workload: Workload) -> None:
    failed = request(1, outcome=Outcome.TIMEOUT, status=None, prompt_tokens=None, completion_tokens=None)
    found = counted([request(0), failed], workload)
    assert (found.requests, found.whole, found.input_tokens) == (1, False, 10)
    assert counted([request(0), request(1, prompt_tokens=None)], workload).input_tokens is None


def test_no_more_than_a_few_lengths_are_kept_and_none_of_prompts_that_are_somebodys_own(workload: Workload) -> None:
    many = [request(index) for index in range(SAMPLE + 3)]
    assert len(counted(many, workload).sample) == SAMPLE
    own = workload.model_copy(update={"content": "own-traffic"})
    assert counted(many, own).sample == ()


def test_a_prompt_that_is_sent_again_has_a_first_and_a_later_time(workload: Workload) -> None:
    own = workload.model_copy(update={"content": "own-traffic"})
    twice = [request(0, 0.0, 0.4, item="a"), request(1, 5.0, 0.1, item="a"), request(2, 9.0, 0.3, item="b")]
    found = counted(twice, own)
    assert found.again == 1
    assert [one.ttft_mean_s for one in found.sendings] == pytest.approx([0.4, 0.1])
    # at another load the same prompt says nothing of a cache
    apart = counted([request(0, 0.0, 0.4, item="a"), request(0, 5.0, 0.1, item="a", level=1)], own)
    assert (apart.again, apart.sendings) == (1, ())


def test_without_a_measured_request_there_is_nothing(workload: Workload) -> None:
    assert count_load([request(0, warmup=True)], (), workload) is None
