"""What the machine did around the requests: energy, the engine's processes, and everybody else.

Pure functions of samples that were taken once a second on the run's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from lab.metrics.energy import energy_between
from lab.records import Concern, ConcernCode, GpuSample, GpuUse, HostSample, HostUse, Outcome, RequestRecord

OTHER_SHARE = 0.10
"""Share of the machine's cores that others may use before a level is to be read with care."""


def span_of(records: Sequence[RequestRecord], zero_s: float) -> tuple[float, float]:
    """First send and last end of a level, `perf_counter` seconds; no records: a span without length."""
    ends = [record.end_s for record in records if record.end_s is not None]
    if not ends:
        return zero_s, zero_s
    return zero_s + min(record.send_s for record in records), zero_s + max(ends)


def energy_per_token(
    records: Sequence[RequestRecord], span: tuple[float, float], gpu: Sequence[GpuSample]
) -> float | None:
    """Joules of all GPUs over a span for each output token of the successes in it.

    None when a GPU has no counter, the samples do not cover the span, or the server counted no tokens.
    """
    tokens = sum(record.completion_tokens or 0 for record in records if record.outcome is Outcome.SUCCESS)
    joules = []
    for index in {sample.gpu for sample in gpu}:
        readings = [(s.at_s, s.energy_j) for s in gpu if s.gpu == index and s.energy_j is not None]
        joules.append(energy_between(readings, *span))
    if not tokens or not joules or any(value is None for value in joules):
        return None
    return sum(value for value in joules if value is not None) / tokens


def shared_machine(span: tuple[float, float], host: Sequence[HostSample], cores: int) -> Concern | None:
    """Whether something else used the machine's CPUs during a span.

    A sample speaks of the time since the one before it; those that end inside the span count.
    """
    inside = [sample.other_cores for sample in host if span[0] < sample.at_s <= span[1]]
    limit = OTHER_SHARE * cores
    if not inside or (mean := fmean(inside)) <= limit:
        return None
    return Concern(code=ConcernCode.SHARED_MACHINE, value=mean, limit=limit)


def host_use(host: Sequence[HostSample], before: float | None, after: float | None) -> HostUse | None:
    """What the CPUs did under load; None when nobody looked.

    Args:
        host: samples under load; the first one covers the time before it and is left out.
        before: cores that others used right before the launch.
        after: the same after the stop.
    """
    under_load = host[1:]
    if not under_load:
        return None
    engine = [sample.engine_cores for sample in under_load if sample.engine_cores is not None]
    memory = [sample.engine_rss_mib for sample in under_load if sample.engine_rss_mib is not None]
    return HostUse(
        engine_cores_mean=fmean(engine) if engine else None,
        engine_rss_max_mib=max(memory, default=None),
        other_cores_before=before,
        other_cores_during=fmean(sample.other_cores for sample in under_load),
        other_cores_after=after,
    )


def gpu_use(gpu: Sequence[GpuSample]) -> GpuUse | None:
    """What the GPUs did under load; None without samples."""
    if not gpu:
        return None
    engine = [sample for sample in gpu if sample.engine_memory_mib is not None]
    working = [sample.utilization for sample in engine or gpu if sample.utilization is not None]
    looks: dict[float, list[GpuSample]] = {}
    for sample in gpu:
        looks.setdefault(sample.at_s, []).append(sample)
    power = [sum(s.power_w for s in look if s.power_w is not None) for look in looks.values()]
    known = any(sample.power_w is not None for sample in gpu)
    others = [sum(s.others for s in look if s.others is not None) for look in looks.values()]
    throttled = [sample.throttled for sample in gpu if sample.throttled is not None]
    return GpuUse(
        gpus=len({sample.gpu for sample in gpu}),
        engine_seen=any((sample.utilization or 0.0) > 0.0 for sample in engine),
        utilization_mean=fmean(working) if working else None,
        memory_max_mib=max((s.memory_mib for s in gpu if s.memory_mib is not None), default=None),
        power_mean_w=fmean(power) if known else None,
        throttled=any(throttled) if throttled else None,
        others=max(others) if any(sample.others is not None for sample in gpu) else None,
    )
