"""The hardware table, and what is known of the limits of a run before it starts.

`params/hardware.yaml` is data a team edits. No source, no row; an accelerator without a row has no ceiling.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from lab.environment import Environment
from lab.errors import ModelError
from lab.limits import Hardware, Limits, MemoryBandwidth, ModelShape, NoMachine, NoShape
from lab.model_shape import read_shape
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.spec import Frozen

TABLE = PARAMS_FOLDER / "hardware.yaml"

PLAIN = ("BF16", "F16", "FP16", "F32", "FP32")
"""Formats of weights that nobody quantized."""
WIDE_BITS = 12.0
"""Bits a weight beyond which files were not quantized, whatever format the run names: the engine does it itself."""


class HardwareTable(Frozen):
    """What params/hardware.yaml holds."""

    rows: tuple[Hardware, ...] = Field(min_length=1)

    def find(self, name: str | None) -> Hardware | None:
        """The row of a product; None when there is none: a name that only resembles one is not it."""
        wanted = (name or "").casefold()
        return next((row for row in self.rows if wanted in (one.casefold() for one in (*row.names, *row.also))), None)


def read_hardware(path: Path = TABLE) -> HardwareTable:
    """The hardware table. Raises ParamsError."""
    return parse(HardwareTable, read_mapping(path), shown(path))


def limits_of(
    weights: Path | None,
    environment: Environment,
    *,
    has_weights: bool,
    named: str,
    built: bool,
    here: bool,
    on_cpu: bool,
    bandwidth: MemoryBandwidth | None,
    table: HardwareTable,
) -> Limits:
    """What is known of the limits of one run.

    Args:
        weights: where they lie; None: not on this machine.
        environment: the machine.
        has_weights: False for the reference engine.
        named: format of the weights as the run names it.
        built: whether the engine serves an artefact that was built from them.
        here: whether the engine runs on this machine.
        on_cpu: whether it computes on the CPU.
        bandwidth: as measured; None: it was not, or could not be.
        table: from `read_hardware`.
    """
    shape, no_shape = _shape(weights, has_weights, named, built)
    if not here:
        return Limits(shape=shape, no_shape=no_shape, computes_on=None, no_machine="elsewhere")
    no_machine: NoMachine | None = None
    if on_cpu:
        no_machine = None if bandwidth else "not-measured"
        return Limits(
            shape=shape,
            no_shape=no_shape,
            computes_on="cpu",
            bandwidth=bandwidth,
            no_machine=no_machine,
            memory_bytes=environment.memory_bytes,
        )
    names = {gpu.name for gpu in environment.gpus}
    row = table.find(names.pop()) if len(names) == 1 else None  # GPUs of several kinds have no one bandwidth
    reported = {gpu.memory_mib for gpu in environment.gpus}
    mib = reported.pop() if len(reported) == 1 else None
    return Limits(
        shape=shape,
        no_shape=no_shape,
        computes_on="gpu",
        hardware=row,
        no_machine=None if row else "not-in-table",
        memory_bytes=mib * 2**20 if mib else round(row.memory_gb * 1e9) if row else None,
    )


def _shape(
    weights: Path | None, has_weights: bool, named: str, built: bool
) -> tuple[ModelShape | None, NoShape | None]:
    if not has_weights:
        return None, "no-weights"
    if weights is None:
        return None, "not-here"
    try:
        shape = read_shape(weights)
    except ModelError:
        return None, "unreadable"
    parameters = (shape.matrix_parameters or 0) + (shape.head_parameters or 0)
    wide = parameters > 0 and 8 * shape.read_bytes / parameters > WIDE_BITS
    if built or (wide and named.upper() not in PLAIN):
        return None, "stored-otherwise"
    return shape, None
