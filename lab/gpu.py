"""GPUs through NVML: what they do, and whether it is the engine that does it.

NVML is the evidence behind the grade `real-gpu`: the engine's own process has to be seen computing. Values a
driver does not give are None.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from lab.records import GpuReading

T = TypeVar("T")

MIB = 2**20


class Nvml:
    """NVML of this machine. Use `open_gpus`."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]

    def read(self, engine_pids: frozenset[int]) -> tuple[GpuReading, ...]:
        """One reading for each GPU."""
        return tuple(self._read(index, handle, engine_pids) for index, handle in enumerate(self._handles))

    def _read(self, index: int, handle: Any, engine_pids: frozenset[int]) -> GpuReading:
        nvml = self._nvml
        processes = self._ask(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        engine = [process for process in processes or () if process.pid in engine_pids]
        power_mw = self._ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        energy_mj = self._ask(lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        memory = self._ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used)
        percent = self._ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        reasons = self._ask(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
        return GpuReading(
            gpu=index,
            utilization=None if percent is None else percent / 100,
            memory_mib=None if memory is None else memory / MIB,
            power_w=None if power_mw is None else power_mw / 1000,
            energy_j=None if energy_mj is None else energy_mj / 1000,
            sm_mhz=self._ask(lambda: float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))),
            throttled=None if reasons is None else bool(reasons & self._limiting()),
            engine_memory_mib=sum((process.usedGpuMemory or 0) / MIB for process in engine) if engine else None,
            others=None if processes is None else len(processes) - len(engine),
        )

    def _limiting(self) -> int:
        names = ("SwPowerCap", "HwSlowdown", "SwThermalSlowdown", "HwThermalSlowdown", "HwPowerBrakeSlowdown")
        return sum(int(getattr(self._nvml, f"nvmlClocksThrottleReason{name}", 0)) for name in names)

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except self._nvml.NVMLError:
            return None


@contextlib.contextmanager
def open_gpus() -> Iterator[tuple[Nvml | None, str | None]]:
    """The GPUs of this machine for as long as the block lasts, or None and the reason why there is none."""
    try:
        import pynvml
    except ImportError:
        yield None, "the package nvidia-ml-py is not installed"
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as problem:
        yield None, f"NVML is not available: {problem}"
        return
    try:
        yield Nvml(pynvml), None
    finally:
        pynvml.nvmlShutdown()
