"""Ceilings a reader can check in the head: 100 GB/s over 1 GB a token are 100 tokens a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.limits import Hardware, Limits, MemoryBandwidth, ModelShape, Reached, RunCeilings
from lab.metrics.catalog import measure_level
from lab.metrics.ceilings import (
    Machine,
    bytes_at_most,
    ceiling_concern,
    decode_ceiling,
    kv_capacity,
    prefill_ceiling,
    prompt_operations,
    run_ceilings,
    token_operations,
)
from lab.plan import load_plan
from lab.records import ChunkKind, ConcernCode, HostUse, Outcome, RequestRecord
from lab.spec import LaunchProfile, Quantization, Rung, RunSpec

GB = 10**9
SHAPE = ModelShape(
    weight_bytes=2 * GB, read_bytes=GB, matrix_parameters=500_000_000, head_parameters=0, attention_width=None,
    kv_width=500_000,
)  # fmt: skip
"""A token reads 1 GB of weights, costs 1 GFLOP, and leaves 1 MB in a 16-bit KV cache."""
ROW = Hardware(
    names=("Card",), memory_bandwidth_gb_s=100, memory_gb=12, compute_tflops={"BF16": 1.0}, power_w=300,
    source="a book about cards", read="2026-11",
)  # fmt: skip
ON_CARD = Limits(shape=SHAPE, computes_on="gpu", hardware=ROW, memory_bytes=12 * GB)
ON_CPU = Limits(
    shape=SHAPE, computes_on="cpu", memory_bytes=12 * GB,
    bandwidth=MemoryBandwidth(read_gb_s=100, copy_gb_s=80, threads=2, cache_bytes=GB // 10),
)  # fmt: skip
QUIET = HostUse(
    engine_cores_mean=1.0, engine_rss_max_mib=1.0, other_cores_before=0.0, other_cores_during=0.0,
    other_cores_after=0.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def spec() -> RunSpec:
    whole = load_plan(Path(__file__).parents[2] / "params" / "harness-check.yaml").runs[0].spec
    changes: dict[str, Any] = {
        "quantization": Quantization(weights="BF16", activations="BF16", kv_cache="F16"),
        "profile": LaunchProfile(name="plain", prefix_caching=False),
    }
    return whole.model_copy(update=changes)


def answer(index: int, gap_s: float, *, send: float = 0.0, ttft_s: float = 1.0, **changes: Any) -> RequestRecord:
    """100 prompt tokens, the first token after `ttft_s`, then two more, `gap_s` apart."""
    times = tuple(send + ttft_s + gap_s * k for k in range(3))
    values: dict[str, Any] = {
        "level": 0, "index": index, "intended_send_s": send, "send_s": send, "first_byte_s": times[0],
        "end_s": times[-1], "status": 200, "chunk_s": times, "chunk_kind": (ChunkKind.CONTENT,) * 3,
        "prompt_tokens": 100, "completion_tokens": 3, "asked_tokens": 3, "outcome": Outcome.SUCCESS,
    }  # fmt: skip
    return RequestRecord.model_validate(values | changes)


def ceilings(
    limits: Limits, spec: RunSpec, records: list[RequestRecord], streams: int = 1, seen: bool = True
) -> RunCeilings:
    level = measure_level(records, Rung(concurrency=streams))
    return run_ceilings(limits, spec, (level,), records, engine_seen=seen, host=QUIET)


def test_bandwidth_over_bytes_of_a_token_is_the_ceiling_of_one_stream() -> None:
    assert decode_ceiling(SHAPE, Machine(100, 100), None, 0) == Reached(ceiling=100.0, bound="memory")


def test_keys_and_values_of_the_context_are_read_too() -> None:
    # 1,000 tokens of 1 MB are as many bytes as the weights
    assert decode_ceiling(SHAPE, Machine(100, 100), 1e6, 1000).ceiling == 50.0


def test_streams_share_the_weights_but_not_the_cache() -> None:
    assert decode_ceiling(SHAPE, Machine(100, 100), None, 0, streams=4).ceiling == 400.0
    assert decode_ceiling(SHAPE, Machine(100, 100), 1e6, 1000, streams=4).ceiling == 80.0


def test_many_streams_end_at_the_rate_of_products() -> None:
    # 1 TFLOP/s over 1 GFLOP a token are 1,000 tokens a second, however many streams there are
    assert decode_ceiling(SHAPE, Machine(100, 100, 1.0), None, 0, streams=100) == Reached(
        ceiling=1000.0, bound="compute"
    )


def test_pipeline_stages_work_one_after_another_for_one_stream() -> None:
    assert [decode_ceiling(SHAPE, Machine(100, 200), None, 0, streams=n).ceiling for n in (1, 2)] == [100.0, 400.0]


def test_attention_costs_operations_that_grow_with_the_context() -> None:
    shape = SHAPE.model_copy(update={"attention_width": 1000})
    assert token_operations(shape, 100) == 1e9 + 4 * 1000 * 100
    # 10 tokens see 50 pairs among themselves and 10 cached ones each
    assert prompt_operations(shape, 10, cached=10) == 10 * 1e9 + 4 * 1000 * (50 + 100)


def test_packed_weights_have_no_count_and_so_no_bound_by_products() -> None:
    packed = SHAPE.model_copy(update={"matrix_parameters": None})
    assert token_operations(packed, 0) is None
    assert prefill_ceiling(packed, Machine(100, 100, 1.0), 10) == Reached(ceiling=1000.0, bound="memory")


def test_a_prompt_is_read_once_over_the_weights_and_multiplied_with_them() -> None:
    assert prefill_ceiling(SHAPE, Machine(100, 100), 10) == Reached(ceiling=1000.0, bound="memory")
    assert prefill_ceiling(SHAPE, Machine(100, 100, 0.5), 10) == Reached(ceiling=500.0, bound="compute")


def test_a_token_every_hundredth_of_a_second_can_have_read_a_hundredth_of_the_bandwidth() -> None:
    assert bytes_at_most(100, 0.01) == 1e9


def test_what_is_left_of_the_memory_holds_the_cache() -> None:
    assert kv_capacity(12e9, 2 * GB, 1e6) == 10_000
    assert kv_capacity(1e9, 2 * GB, 1e6) < 0


def test_a_run_shows_value_ceiling_and_share(spec: RunSpec) -> None:
    found = ceilings(ON_CARD, spec, [answer(0, gap_s=0.02)])
    (level,) = found.levels
    assert (found.reason, found.accelerator, found.kv_capacity_tokens, found.power_w) == (None, "Card", 10_000, 300)
    assert level.context_tokens == 101.5  # the prompt and half the answer
    assert level.stream.value == pytest.approx(50.0)
    assert level.stream.ceiling == pytest.approx(100 / 1.1015)
    assert level.stream.share == pytest.approx(0.55075)
    # 100 prompt tokens in one second; 100 GFLOP of them take 0.1 s at 1 TFLOP/s
    assert (level.prefill.value, level.prefill.ceiling, level.prefill.bound) == (100.0, pytest.approx(1000), "compute")


def test_a_prompt_that_waits_for_others_says_nothing_of_prefill(spec: RunSpec) -> None:
    found = ceilings(ON_CARD, spec, [answer(0, 0.02), answer(1, 0.02)], streams=2)
    assert found.levels[0].prefill == Reached()
    assert found.levels[0].streams == 2


def test_cached_prompt_tokens_are_not_computed(spec: RunSpec) -> None:
    (level,) = ceilings(ON_CARD, spec, [answer(0, 0.02, cached_tokens=60)]).levels
    assert level.prefill.value == 40.0


def test_twice_the_ceiling_without_a_reason_is_not_plausible(spec: RunSpec) -> None:
    (level,) = ceilings(ON_CARD, spec, [answer(0, gap_s=0.005)]).levels
    concern = ceiling_concern(level)
    assert level.stream.implausible
    assert concern is not None
    assert (concern.code, concern.value) == (ConcernCode.ABOVE_CEILING, pytest.approx(200 * 1.1015 / 100))


def test_drafting_is_a_reason_to_be_above(spec: RunSpec) -> None:
    drafting = spec.model_copy(update={"profile": LaunchProfile(name="drafts", speculative="ngram")})
    (level,) = ceilings(ON_CARD, drafting, [answer(0, gap_s=0.005)]).levels
    assert level.stream.is_above
    assert "speculative" in level.stream.above
    assert ceiling_concern(level) is None


def test_a_cache_nobody_counts_is_a_reason_for_a_prefill_above(spec: RunSpec) -> None:
    quick = [answer(0, 0.02, ttft_s=0.01)]  # 10,000 tokens a second
    (plain,) = ceilings(ON_CARD, spec, quick).levels
    caching = spec.model_copy(update={"profile": LaunchProfile(name="on", prefix_caching=True)})
    (hidden,) = ceilings(ON_CARD, caching, quick).levels
    (told,) = ceilings(ON_CARD, caching, [answer(0, 0.02, ttft_s=0.01, cached_tokens=0)]).levels
    assert (plain.prefill.implausible, hidden.prefill.above, told.prefill.implausible) == (
        True, ("prefix-cache",), True
    )  # fmt: skip


def test_the_processors_cache_is_a_reason_on_a_cpu(spec: RunSpec) -> None:
    (level,) = ceilings(ON_CPU, spec, [answer(0, gap_s=0.009)]).levels
    assert level.stream.above == ("processor-cache",)


def test_weights_that_fit_into_the_processors_cache_have_no_ceiling(spec: RunSpec) -> None:
    assert ON_CPU.bandwidth is not None
    large = ON_CPU.model_copy(update={"bandwidth": ON_CPU.bandwidth.model_copy(update={"cache_bytes": GB})})
    assert ceilings(large, spec, [answer(0, 0.02)]).reason == "in-cache"


def test_an_open_loop_is_measured_by_the_most_streams_that_were_seen(spec: RunSpec) -> None:
    records = [answer(0, 0.02), answer(1, 0.02, send=0.5), answer(2, 0.02, send=9.0)]
    level = measure_level(records, Rung(rate_rps=1.0))
    found = run_ceilings(ON_CARD, spec, (level,), records, engine_seen=True, host=QUIET)
    assert found.levels[0].streams == 2


@pytest.mark.parametrize(
    ("changes", "seen", "reason"),
    [
        ({"shape": None, "no_shape": "no-weights"}, True, "no-weights"),
        ({"hardware": None, "no_machine": "not-in-table"}, True, "not-in-table"),
        ({"computes_on": None, "no_machine": "elsewhere"}, True, "elsewhere"),
        ({}, False, "not-seen-on-gpu"),
    ],
)
def test_what_is_not_known_has_no_ceiling(spec: RunSpec, changes: dict[str, Any], seen: bool, reason: str) -> None:
    found = ceilings(ON_CARD.model_copy(update=changes), spec, [answer(0, 0.005)], seen=seen)
    assert (found.reason, found.levels, found.bandwidth_gb_s) == (reason, (), None)


def test_a_kv_format_nobody_listed_is_left_out_and_said(spec: RunSpec) -> None:
    odd = spec.model_copy(update={"quantization": Quantization(weights="BF16", activations="odd", kv_cache="odd")})
    found = ceilings(ON_CARD, odd, [answer(0, 0.02)])
    assert (found.kv_bytes_per_token, found.no_kv, found.kv_capacity_tokens) == (None, "format-unknown", None)
    assert found.levels[0].stream.ceiling == 100.0
    assert found.compute is None


def test_ranks_of_tensor_parallel_add_their_bandwidth(spec: RunSpec) -> None:
    two = spec.model_copy(update={"profile": LaunchProfile(name="two", tensor_parallel=2, prefix_caching=False)})
    found = ceilings(ON_CARD, two, [answer(0, 0.02)])
    assert (found.ranks, found.bandwidth_gb_s, found.memory_bytes, found.power_w) == (2, 200, 24 * GB, 600)
