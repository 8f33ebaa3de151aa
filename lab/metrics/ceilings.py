"""The most a run could reach, from bytes and operations, beside what it reached.

One decode step of one stream reads every weight it multiplies with, and the keys and values of its context; several
streams share one reading of the weights. A prompt is read at least once over all weights, and every token of it is
multiplied with them. Memory that can be read faster, or products that are computed faster, than the hardware does
it cannot exist; what looks so has a reason (see `lab.limits.Above`) or is not plausible.

Source: S. Williams et al., Roofline, Communications of the ACM 52(4), 2009, for the two bounds; two operations for
each weight and token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from lab.limits import (
    Above,
    Dtype,
    Hardware,
    LevelCeiling,
    Limits,
    ModelShape,
    NoCeiling,
    Reached,
    RunCeilings,
    Sums,
)
from lab.metrics.concerns import most_in_flight
from lab.records import Concern, ConcernCode, HostUse, LevelResult, Outcome, RequestRecord
from lab.spec import LaunchProfile, RunSpec

BUSY_CORES = 0.10
"""Cores others used before the launch beyond which a bandwidth measured then may be low."""

KV_BYTES: dict[str, float] = {
    "F32": 4.0,
    "BF16": 2.0,
    "F16": 2.0,
    "FP16": 2.0,
    "FP8": 1.0,
    "FP8_E4M3": 1.0,
    "FP8_E5M2": 1.0,
    "FLOAT8_E4M3FN": 1.0,
    "BFLOAT16": 2.0,
    "FLOAT16": 2.0,
    "INT8": 1.0,
    "Q8_0": 34 / 32,
    "Q5_1": 24 / 32,
    "Q5_0": 22 / 32,
    "Q4_1": 20 / 32,
    "Q4_0": 18 / 32,
    "NVFP4": 9 / 16,
}
"""Bytes of one number in the KV cache, by the format's name; block formats with their scales."""

_COMPUTE: dict[str, Dtype] = {
    "BF16": "BF16",
    "F16": "BF16",
    "FP16": "BF16",
    "FP8": "FP8",
    "INT8": "INT8",
    "NVFP4": "FP4",
    "MXFP4": "FP4",
    "FP4": "FP4",
}
"""Format in which matrices are multiplied, by that of the activations."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the ceilings are computed from: one machine under one model.

    Attributes:
        gb_s: memory bandwidth for one stream, 10⁹ bytes a second.
        all_gb_s: for several streams: pipeline stages work at the same time then.
        tflops: of all accelerators together; None: not known.
    """

    gb_s: float
    all_gb_s: float
    tflops: float | None = None


def decode_bytes(shape: ModelShape, kv_bytes_per_token: float | None, context: float, streams: int = 1) -> float:
    """Bytes one decode step reads: the weights once, and the keys and values of every stream.

    A KV cost nobody knows counts as 0: the ceiling is then higher than the true one, and still a ceiling.
    """
    return shape.read_bytes + streams * (kv_bytes_per_token or 0.0) * context


def decode_ceiling(
    shape: ModelShape, machine: Machine, kv_bytes_per_token: float | None, context: float, streams: int = 1
) -> Reached:
    """The most output tokens a second of so many streams together, without a value yet."""
    gb_s = machine.gb_s if streams == 1 else machine.all_gb_s
    by_memory = streams * gb_s * 1e9 / decode_bytes(shape, kv_bytes_per_token, context, streams)
    operations = token_operations(shape, context)
    by_compute = machine.tflops * 1e12 / operations if machine.tflops and operations else None
    return _lower(by_memory, by_compute)


def token_operations(shape: ModelShape, context: float) -> float | None:
    """Operations of one decoded token; None where the weights are packed."""
    if shape.matrix_parameters is None or shape.head_parameters is None:
        return None
    return 2.0 * (shape.matrix_parameters + shape.head_parameters) + 4.0 * (shape.attention_width or 0) * context


def prompt_operations(shape: ModelShape, tokens: float, cached: float = 0.0) -> float | None:
    """Operations of a prompt: every token through the layers, the last one through the output layer.

    Args:
        shape: of the model.
        tokens: that are computed.
        cached: tokens before them, only looked at.

    Returns:
        None where the weights are packed.
    """
    if shape.matrix_parameters is None or shape.head_parameters is None:
        return None
    attention = 4.0 * (shape.attention_width or 0) * (tokens * cached + tokens**2 / 2)
    return 2.0 * shape.matrix_parameters * tokens + 2.0 * shape.head_parameters + attention


def prefill_ceiling(shape: ModelShape, machine: Machine, tokens: float, cached: float = 0.0) -> Reached:
    """The most prompt tokens a second of one prompt, without a value yet."""
    by_memory = tokens * machine.gb_s * 1e9 / shape.read_bytes
    operations = prompt_operations(shape, tokens, cached)
    by_compute = tokens * machine.tflops * 1e12 / operations if machine.tflops and operations else None
    return _lower(by_memory, by_compute)


def bytes_at_most(gb_s: float, tpot_s: float) -> float:
    """The most bytes that can have been read for one token of a stream that got one every `tpot_s`.

    The ceiling turned round, for a speed whose model nobody has here: where the weights a token reads are more than
    this, several tokens came of one step (drafting), or the speed is not plausible. It holds for any number of
    streams.
    """
    return gb_s * 1e9 * tpot_s


def kv_capacity(memory_bytes: float, weight_bytes: int, kv_bytes_per_token: float) -> int:
    """Tokens of KV cache that fit beside the weights; negative when the weights alone do not fit."""
    return int((memory_bytes - weight_bytes) // kv_bytes_per_token)


def run_ceilings(
    limits: Limits,
    spec: RunSpec,
    levels: Sequence[LevelResult],
    records: Sequence[RequestRecord],
    *,
    engine_seen: bool,
    host: HostUse | None = None,
    sums: Sums | None = None,
) -> RunCeilings:
    """The ceilings of a run, one entry for each of its levels.

    Args:
        limits: as they were known before it.
        spec: what was asked.
        levels: in order.
        records: of the run, warm-up included.
        engine_seen: whether NVML showed the engine computing; on a GPU nothing is said without.
        host: what else the machine did.
        sums: of the counters.
    """
    shape = limits.shape
    reason = _reason(limits, engine_seen)
    if reason is not None or shape is None:
        return RunCeilings(reason=reason, computes_on=limits.computes_on, sums=sums)
    profile, hardware = spec.profile, limits.hardware
    on_gpu = limits.computes_on == "gpu"
    tensor, stages = (profile.tensor_parallel, profile.pipeline_parallel) if on_gpu else (1, 1)
    each = hardware.memory_bandwidth_gb_s if hardware else limits.bandwidth.gb_s if limits.bandwidth else 0.0
    dtype = _COMPUTE.get(spec.quantization.activations.upper())
    tflops = hardware.compute_tflops.get(dtype) if hardware and dtype else None
    machine = Machine(each * tensor, each * tensor * stages, None if tflops is None else tflops * tensor * stages)
    number = KV_BYTES.get(spec.quantization.kv_cache.upper())
    kv = None if shape.kv_width is None or number is None else shape.kv_width * number
    memory = None if limits.memory_bytes is None else limits.memory_bytes * tensor * stages
    in_rungs = {
        level: [record for record in records if record.level == level and not record.warmup]
        for level in {record.level for record in records}
    }
    return RunCeilings(
        computes_on=limits.computes_on,
        accelerator=hardware.names[0] if hardware else None,
        ranks=tensor,
        bandwidth_gb_s=machine.gb_s,
        read_bytes=shape.read_bytes,
        weight_bytes=shape.weight_bytes,
        kv_bytes_per_token=kv,
        no_kv=shape.no_kv or ("format-unknown" if number is None else None),
        memory_bytes=memory,
        kv_capacity_tokens=None if kv is None or memory is None else kv_capacity(memory, shape.weight_bytes, kv),
        power_w=hardware.power_w * tensor * stages if hardware and hardware.power_w else None,
        compute=dtype if tflops is not None else None,
        sources=(hardware.source,) if hardware else (),
        levels=tuple(
            _level(level, in_rungs[number], shape, machine, kv, limits, profile, host)
            for level, number in zip(levels, sorted(in_rungs), strict=True)
        ),
        sums=sums,
    )


@dataclass(frozen=True, slots=True)
class Stated:
    """One load as somebody else's record states it; None: it does not.

    Attributes:
        ranks: accelerators; all of them are taken to share every layer, which gives the highest ceiling.
        prompt_tokens: mean length of a prompt.
        answer_tokens: mean length of an answer.
        streams: in flight.
        tpot_s: time for each token after the first, by the record's own definition.
        output_tok_per_s: of all streams.
        activations: format of the products; where it is not stated, the highest rate of the accelerator bounds them.
        kv_cache: format of the KV cache.
        drafts: whether tokens are drafted ahead.
        draft_tokens: how many at most.
    """

    ranks: int = 1
    prompt_tokens: float | None = None
    answer_tokens: float | None = None
    streams: int | None = None
    tpot_s: float | None = None
    output_tok_per_s: float | None = None
    activations: str | None = None
    kv_cache: str | None = None
    drafts: bool | None = None
    draft_tokens: int | None = None


def stated_ceilings(hardware: Hardware, shape: ModelShape, stated: Stated) -> RunCeilings:
    """The ceilings of somebody else's run as one level.

    Its prefill has no value: a stated TTFT holds the wait for others, and for the tool.
    """
    ranks = stated.ranks
    rates = hardware.compute_tflops
    most = [dtype for dtype, rate in rates.items() if rate == max(rates.values())]
    dtype = _COMPUTE.get((stated.activations or "").upper()) or next(iter(most), None)
    tflops = rates.get(dtype) if dtype else None
    gb_s = hardware.memory_bandwidth_gb_s * ranks
    machine = Machine(gb_s, gb_s, None if tflops is None else tflops * ranks)
    number = KV_BYTES.get((stated.kv_cache or "").upper())
    kv = None if shape.kv_width is None or number is None else shape.kv_width * number
    memory = round(hardware.memory_gb * 1e9) * ranks
    prompt, answer, rate = stated.prompt_tokens, stated.answer_tokens, stated.output_tok_per_s
    context = None if prompt is None or answer is None else prompt + answer / 2
    drafts: list[Above] = ["speculative"] if stated.drafts else ["speculative-unknown"] if stated.drafts is None else []
    unknown: list[Above] = ["batching"] if stated.streams is None else []
    # a context nobody states counts as 0, like a KV cost nobody knows
    stream = decode_ceiling(shape, machine, kv, context or 0.0)
    output = decode_ceiling(shape, machine, kv, context or 0.0, stated.streams or 1)
    level = LevelCeiling(
        context_tokens=context,
        streams=stated.streams,
        stream=_reached(stream, 1 / stated.tpot_s if stated.tpot_s else None, drafts, stated.draft_tokens),
        output=_reached(output, rate, (*unknown, *drafts), stated.draft_tokens),
        prefill=Reached() if prompt is None else prefill_ceiling(shape, machine, prompt),
    )
    return RunCeilings(
        computes_on="gpu",
        accelerator=hardware.names[0],
        ranks=ranks,
        bandwidth_gb_s=machine.gb_s,
        read_bytes=shape.read_bytes,
        weight_bytes=shape.weight_bytes,
        kv_bytes_per_token=kv,
        no_kv=shape.no_kv or ("format-unknown" if number is None else None),
        memory_bytes=memory,
        kv_capacity_tokens=None if kv is None else kv_capacity(memory, shape.weight_bytes, kv),
        power_w=hardware.power_w * ranks if hardware.power_w else None,
        compute=dtype if tflops is not None else None,
        sources=(hardware.source,),
        levels=(level,),
    )


def ceiling_concern(ceiling: LevelCeiling) -> Concern | None:
    """A value above its ceiling for which the run gives no reason."""
    found = (ceiling.stream, ceiling.output, ceiling.prefill)
    shares = [one.share for one in found if one.implausible and one.share is not None]
    return Concern(code=ConcernCode.ABOVE_CEILING, value=max(shares), limit=1.0) if shares else None


def _reason(limits: Limits, engine_seen: bool) -> NoCeiling | None:
    """Why there is no ceiling; None when there is."""
    if limits.no_shape is not None:
        return limits.no_shape
    if limits.no_machine is not None:
        return limits.no_machine
    if limits.computes_on == "gpu" and not engine_seen:
        return "not-seen-on-gpu"
    if limits.bandwidth and limits.shape and limits.shape.read_bytes <= limits.bandwidth.cache_bytes:
        return "in-cache"
    return None


def _level(
    level: LevelResult,
    records: Sequence[RequestRecord],
    shape: ModelShape,
    machine: Machine,
    kv: float | None,
    limits: Limits,
    profile: LaunchProfile,
    host: HostUse | None,
) -> LevelCeiling:
    prompt, answer = level.prompt_tokens.mean, level.completion_tokens.mean
    context = None if prompt is None or answer is None else prompt + answer / 2
    streams = level.concurrency or most_in_flight(records) or None
    gap = level.metrics["tpot_s"].p50 if "tpot_s" in level.metrics else None
    rate = level.scalars.get("output_tok_per_s")
    if rate is None:
        rate = level.scalars.get("output_tok_per_s_whole")
    loose: list[Above] = []
    if limits.bandwidth is not None:
        loose += ["processor-cache"] if limits.bandwidth.cache_bytes else []
        loose += ["measured-ceiling"] if _busy(host) else []
    drafts: list[Above] = ["speculative"] if profile.speculative != "off" else []
    unknown: list[Above] = ["batching"] if streams is None else []
    stream = output = Reached(value=rate)
    if context is not None:
        stream = decode_ceiling(shape, machine, kv, context)
        output = decode_ceiling(shape, machine, kv, context, streams or 1)
    return LevelCeiling(
        context_tokens=context,
        streams=streams,
        stream=_reached(stream, 1 / gap if gap else None, (*drafts, *loose), profile.speculative_tokens),
        output=_reached(output, rate, (*unknown, *drafts, *loose), profile.speculative_tokens),
        prefill=_prefill(level, records, shape, machine, streams, profile, loose),
    )


def _prefill(
    level: LevelResult,
    records: Sequence[RequestRecord],
    shape: ModelShape,
    machine: Machine,
    streams: int | None,
    profile: LaunchProfile,
    loose: Sequence[Above],
) -> Reached:
    """Only at one stream: else a prompt waits for others, and its time says nothing of the work."""
    good = [one for one in records if one.outcome is Outcome.SUCCESS and one.prompt_tokens]
    ttft = level.metrics["ttft_s"].p50 if "ttft_s" in level.metrics else None
    if streams != 1 or not good or not ttft:
        return Reached()
    cached = fmean(one.cached_tokens or 0 for one in good)
    computed = max(fmean(one.prompt_tokens or 0 for one in good) - cached, 1.0)
    told = all(one.cached_tokens is not None for one in good)
    hidden: list[Above] = [] if told or profile.prefix_caching is False else ["prefix-cache"]
    return _reached(prefill_ceiling(shape, machine, computed, cached), computed / ttft, (*hidden, *loose))


def _busy(host: HostUse | None) -> bool:
    """Whether others used the CPUs when the bandwidth was measured, or nobody looked."""
    return host is None or host.other_cores_before is None or host.other_cores_before > BUSY_CORES


def _reached(
    ceiling: Reached, value: float | None, reasons: Iterable[Above], draft_tokens: int | None = None
) -> Reached:
    """A value beside its ceiling. A step that checks n drafted tokens gives n + 1 at most, so drafting explains no
    more than that."""
    found = ceiling.model_copy(update={"value": value})
    if not found.is_above or found.share is None:
        return found
    too_far = draft_tokens is not None and found.share > draft_tokens + 1
    return found.model_copy(update={"above": tuple(one for one in reasons if one != "speculative" or not too_far)})


def _lower(by_memory: float, by_compute: float | None) -> Reached:
    if by_compute is not None and by_compute < by_memory:
        return Reached(ceiling=by_compute, bound="compute")
    return Reached(ceiling=by_memory, bound="memory")
