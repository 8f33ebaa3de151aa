"""Energy, the engine's processes and everybody else's: numbers a reader can check in the head."""

from __future__ import annotations

import pytest

from lab.metrics.energy import energy_between
from lab.metrics.surroundings import energy_per_token, gpu_use, host_use, shared_machine, span_of
from lab.records import ConcernCode, GpuSample, HostSample, Outcome, RequestRecord


def gpu(at_s: float, energy_j: float | None, *, index: int = 0, engine: float | None = 900.0) -> GpuSample:
    return GpuSample(
        at_s=at_s,
        gpu=index,
        utilization=0.5,
        memory_mib=1000.0 + at_s,
        power_w=100.0,
        energy_j=energy_j,
        sm_mhz=1500.0,
        throttled=False,
        engine_memory_mib=engine,
        others=1,
    )


def host(at_s: float, other: float) -> HostSample:
    return HostSample(at_s=at_s, engine_cores=1.5, engine_rss_mib=at_s, other_cores=other)


def request(send_s: float, end_s: float, tokens: int) -> RequestRecord:
    return RequestRecord(
        level=0,
        index=0,
        intended_send_s=send_s,
        send_s=send_s,
        end_s=end_s,
        completion_tokens=tokens,
        asked_tokens=tokens,
        outcome=Outcome.SUCCESS,
    )


def test_a_counter_is_read_between_its_readings_and_never_beyond_them() -> None:
    readings = [(0.0, 100.0), (10.0, 200.0), (20.0, 400.0)]
    assert energy_between(readings, 0.0, 20.0) == 300.0
    assert energy_between(readings, 5.0, 15.0) == 150.0  # 50 of the first span, 100 of the second
    assert energy_between(readings, -1.0, 15.0) is None
    assert energy_between(readings, 5.0, 21.0) is None
    assert energy_between([], 0.0, 1.0) is None


def test_joules_per_output_token_are_those_of_all_gpus_over_the_span_of_the_level() -> None:
    records = [request(1.0, 3.0, 20), request(2.0, 5.0, 30)]
    span = span_of(records, zero_s=10.0)
    assert span == (11.0, 15.0)
    both = [gpu(at, at * 100.0, index=i) for at in (10.0, 20.0) for i in (0, 1)]
    assert energy_per_token(records, span, both) == 16.0  # 2 GPUs x 100 W x 4 s over 50 tokens
    blind = [*both, gpu(10.0, None, index=2), gpu(20.0, None, index=2)]
    assert energy_per_token(records, span, blind) is None
    assert energy_per_token(records, span, []) is None


def test_others_on_the_cpus_are_said_from_a_tenth_of_the_machine_on() -> None:
    samples = [host(1.0, 9.0), host(2.0, 0.3), host(3.0, 0.5), host(4.0, 9.0)]
    concern = shared_machine((1.5, 3.5), samples, cores=2)
    assert concern is not None
    assert (concern.code, concern.value, concern.limit) == (ConcernCode.SHARED_MACHINE, 0.4, 0.2)
    assert shared_machine((1.5, 3.5), samples, cores=4) is None
    assert shared_machine((5.0, 6.0), samples, cores=1) is None


def test_the_first_look_speaks_of_the_time_before_the_load() -> None:
    use = host_use([host(1.0, 9.0), host(2.0, 0.2), host(3.0, 0.4)], before=0.1, after=None)
    assert use is not None
    assert (use.other_cores_before, use.other_cores_after) == (0.1, None)
    assert use.other_cores_during == pytest.approx(0.3)
    assert (use.engine_cores_mean, use.engine_rss_max_mib) == (1.5, 3.0)
    assert host_use([host(1.0, 9.0)], None, None) is None


def test_the_engine_is_seen_when_its_own_process_computes_on_a_gpu_that_works() -> None:
    use = gpu_use([gpu(1.0, 0.0), gpu(1.0, 0.0, index=1, engine=None), gpu(2.0, 0.0)])
    assert use is not None
    assert (use.gpus, use.engine_seen, use.memory_max_mib, use.others) == (2, True, 1002.0, 2)
    assert use.power_mean_w == 150.0  # 200 W at the first look, 100 W at the second
    unseen = gpu_use([gpu(1.0, 0.0, engine=None)])
    assert unseen is not None
    assert not unseen.engine_seen
    assert gpu_use([]) is None
