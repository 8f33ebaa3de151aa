"""The hardware table: rows with a source, exact names; and what is known of a run's limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.environment import Environment, Gpu, capture
from lab.errors import ParamsError
from lab.hardware import HardwareTable, limits_of, read_hardware
from lab.limits import Limits, MemoryBandwidth
from tests.test_model_shape import write_gguf

MEASURED = MemoryBandwidth(read_gb_s=10, copy_gb_s=8, threads=2, cache_bytes=0)


def machine(*names: str, memory_mib: int | None = 1000) -> Environment:
    gpus = tuple(Gpu(name=name, uuid=f"GPU-{n}", driver="1", memory_mib=memory_mib) for n, name in enumerate(names))
    return capture().model_copy(update={"gpus": gpus})


def limits(environment: Environment, **changes: Any) -> Limits:
    values: dict[str, Any] = {
        "has_weights": True, "named": "BF16", "built": False, "here": True, "on_cpu": False, "bandwidth": None,
        "table": read_hardware(),
    }  # fmt: skip
    return limits_of(None, environment, **(values | changes))


def test_every_row_has_a_source_and_each_name_stands_once() -> None:
    names = [name for row in read_hardware().rows for name in (*row.names, *row.also)]
    assert len(names) == len(set(names))
    assert all(len(row.source) > 20 for row in read_hardware().rows)


def test_a_name_that_only_resembles_a_row_is_not_it() -> None:
    table = read_hardware()
    assert table.find("nvidia h200") is not None
    assert [table.find(name) for name in ("NVIDIA H200 NVL", "NVIDIA GH200 480GB", "H200", "", None)] == [None] * 5


def test_a_name_of_another_tool_finds_the_row_it_is_listed_with() -> None:
    table = read_hardware()
    assert table.find("nvidia-gb10-dgx-spark") == table.find("NVIDIA GB10") is not None


def test_a_row_without_a_source_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hardware.yaml"
    path.write_text("rows:\n  - {names: [Card], memory_bandwidth_gb_s: 100, memory_gb: 10, read: 2026-11}\n")
    with pytest.raises(ParamsError, match="source"):
        read_hardware(path)


def test_the_drivers_memory_goes_before_the_name_plate() -> None:
    assert limits(machine("NVIDIA L4")).memory_bytes == 1000 * 2**20
    assert limits(machine("NVIDIA L4", memory_mib=None)).memory_bytes == 24 * 10**9


@pytest.mark.parametrize("names", [("Unheard Of",), ("NVIDIA L4", "NVIDIA L40S")])
def test_an_accelerator_without_a_row_or_of_two_kinds_has_no_limits(names: tuple[str, ...]) -> None:
    found = limits(machine(*names))
    assert (found.hardware, found.no_machine, found.computes_on) == (None, "not-in-table", "gpu")


def test_a_cpu_has_what_was_measured_or_says_that_it_was_not() -> None:
    assert limits(machine(), on_cpu=True, bandwidth=MEASURED).bandwidth == MEASURED
    assert limits(machine(), on_cpu=True).no_machine == "not-measured"


def test_an_engine_elsewhere_and_a_model_without_weights_say_so() -> None:
    assert limits(machine(), here=False).no_machine == "elsewhere"
    assert limits(machine(), has_weights=False).no_shape == "no-weights"
    assert limits(machine()).no_shape == "not-here"


def test_weights_give_the_shape_and_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "has_weights": True, "named": "BF16", "built": False, "here": True, "on_cpu": True, "bandwidth": MEASURED,
        "table": HardwareTable(rows=read_hardware().rows[:1]),
    }  # fmt: skip
    whole = limits_of(write_gguf(tmp_path / "m.gguf"), machine(), **values)
    assert whole.shape is not None
    assert whole.shape.weight_bytes == 2624
    for changes in ({"named": "FP8"}, {"built": True}):  # 16 bits a weight in the file
        assert limits_of(tmp_path / "m.gguf", machine(), **(values | changes)).no_shape == "stored-otherwise"
    (tmp_path / "n.gguf").write_bytes(b"no")
    assert limits_of(tmp_path / "n.gguf", machine(), **values).no_shape == "unreadable"
