"""The machine is watched: a busy process is seen as the engine's or as somebody else's."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from lab.endpoint import Endpoint
from lab.gpu import Nvml, open_gpus
from lab.records import GpuReading
from lab.watch import HostReader, RunWatch, read_metrics

BUSY = "while True: pass"


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    yield process
    process.kill()
    process.wait()


def test_a_busy_process_counts_as_the_engine_when_it_is_the_engine(busy: subprocess.Popen[bytes]) -> None:
    reader = HostReader(busy.pid)
    time.sleep(0.5)
    sample = reader.read()
    assert sample.engine_cores is not None
    assert sample.engine_cores > 0.1
    assert sample.engine_rss_mib is not None
    assert sample.engine_rss_mib > 1.0
    assert reader.pids() == {busy.pid}


def test_what_the_lab_itself_spends_is_not_somebody_elses(busy: subprocess.Popen[bytes]) -> None:
    reader = HostReader(None)  # the busy process is a child of this one: the lab's own
    began = psutil.Process(busy.pid).cpu_times().user
    time.sleep(0.5)
    sample = reader.read()
    spent = psutil.Process(busy.pid).cpu_times().user - began
    machine = psutil.cpu_count() or 1
    assert spent > 0.05
    assert sample.other_cores <= machine - 0.05
    assert (sample.engine_cores, sample.engine_rss_mib) == (None, None)


class TwoGpus:
    """Two GPUs, the engine on the second."""

    def read(self, engine_pids: frozenset[int]) -> tuple[GpuReading, ...]:
        nothing = dict.fromkeys(("utilization", "memory_mib", "power_w", "energy_j", "sm_mhz", "throttled", "others"))
        return tuple(
            GpuReading(gpu=i, engine_memory_mib=float(len(engine_pids)) if i else None, **nothing) for i in (0, 1)
        )


def test_a_watch_looks_at_everything_from_its_begin_to_its_end(busy: subprocess.Popen[bytes]) -> None:
    with RunWatch(Endpoint("http://127.0.0.1:9"), "/metrics", engine_pid=busy.pid, gpus=TwoGpus()) as watch:
        time.sleep(0.1)
    assert len(watch.host) == 2  # one look at the begin, one at the end
    assert [sample.engine_memory_mib for sample in watch.gpu] == [None, 1.0, None, 1.0]
    assert watch.samples == []
    assert "127.0.0.1:9" in (watch.reason or "")


def test_a_metrics_page_is_read_value_by_value_and_nonsense_gives_nothing() -> None:
    page = '# TYPE a gauge\na{x="1"} 2\nb NaN\nc_total 3\n'
    assert [(s.name, s.value) for s in read_metrics(page, 1.0)] == [('a{x="1"}', 2.0), ("c_total", 3.0)]
    assert read_metrics("<html>", 1.0) == []


def test_without_a_gpu_the_reason_is_said() -> None:
    with open_gpus() as (gpus, reason):
        assert (gpus is None) == (reason is not None)


class Driver:
    """The answers of a driver that knows little: what it does not know raises, as NVML does."""

    NVML_CLOCK_SM = 1
    nvmlClocksThrottleReasonSwThermalSlowdown = 0x20

    class NVMLError(Exception):
        pass

    class Process:
        def __init__(self, pid: int, used: int | None) -> None:
            self.pid, self.usedGpuMemory = pid, used

    def nvmlDeviceGetCount(self) -> int:
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Process]:
        return [self.Process(7, 3 << 20), self.Process(8, None), self.Process(9, 1 << 20)]

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return 250_000

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:
        return 0x20

    def __getattr__(self, name: str) -> object:
        if name.startswith("nvmlDevice"):
            raise self.NVMLError("not supported")
        raise AttributeError(name)


def test_a_driver_is_read_in_the_labs_units_and_what_it_does_not_say_is_none() -> None:
    (reading,) = Nvml(Driver()).read(frozenset({7, 8}))
    assert (reading.power_w, reading.engine_memory_mib, reading.others, reading.throttled) == (250.0, 3.0, 1, True)
    assert (reading.energy_j, reading.memory_mib, reading.utilization, reading.sm_mhz) == (None, None, None, None)
