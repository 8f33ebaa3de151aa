"""The support table: what a source says an engine serves, row by row, each with its source and date.

`params/support.yaml` is data a team edits. No source, no row; what no row speaks of is unknown, and unknown is
not no. Rows are looked up before a run; what preflight sees on the running engine outweighs them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from lab.environment import Environment
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.roster import find
from lab.spec import Frozen, Name, RunSpec

TABLE = PARAMS_FOLDER / "support.yaml"

Says = Literal["supported", "refused", "beta", "plugin"]
Support = Literal["supported", "refused", "beta", "plugin", "unknown", "other-hardware"]
"""`unknown`: no row speaks of it. `other-hardware`: it is supported, on hardware this machine does not have."""


class Statement(Frozen):
    """One row: who says what about which combination. A field that is left out means any."""

    engine: Name
    """Key in the roster."""
    family: Name | None = None
    """Parser family of the model."""
    weights: Name | None = None
    """Quantization of the weights."""
    kv_cache: Name | None = None
    """Format of the KV cache."""
    accelerator: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    """Part of the GPU's product name, for instance GB10."""
    compute_capability: Annotated[str, StringConstraints(pattern=r"^\d+\.\d$")] | None = None
    """Lowest compute capability, for instance 8.9."""
    says: Says
    note: Annotated[str, StringConstraints(max_length=300)] | None = None
    source: Annotated[str, StringConstraints(min_length=5, max_length=300)]
    """Where it is written, exactly enough to be found again."""
    read: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
    """Month or day in which somebody read it there."""

    @model_validator(mode="after")
    def _speaks_of_something(self) -> Statement:
        if not (self.family or self.weights or self.kv_cache or self.accelerator):
            raise ValueError("a row names at least a family, weights, kv_cache or an accelerator")
        return self

    @property
    def detail(self) -> int:
        """How much it names: of two rows that fit, the one that names more counts."""
        return sum(value is not None for value in (self.family, self.weights, self.kv_cache, self.accelerator))


class SupportTable(Frozen):
    """What params/support.yaml holds."""

    rows: tuple[Statement, ...] = Field(min_length=1)


class Verdict(Frozen):
    """What the table says of one run."""

    support: Support
    rows: tuple[Statement, ...]
    """The rows it rests on; empty when unknown."""


def read_support(path: Path = TABLE) -> SupportTable:
    """The support table. Raises ParamsError."""
    return parse(SupportTable, read_mapping(path), shown(path))


def look_up(table: SupportTable, spec: RunSpec, environment: Environment) -> Verdict:
    """What the table says of one run on this machine.

    Args:
        table: from `read_support`.
        spec: the run.
        environment: the machine it would run on.

    Returns:
        `refused` as soon as one row that fits says so; else the word of the rows that name most; `unknown` when
        none speaks of the combination.
    """
    rows = [row for row in table.rows if _fits(row, spec, environment)]
    if not rows:
        return Verdict(support="unknown", rows=())
    refusing = tuple(row for row in rows if row.says == "refused")
    if refusing:
        return Verdict(support="refused", rows=refusing)
    detail = max(row.detail for row in rows)
    chosen = tuple(row for row in rows if row.detail == detail)
    if not all(_has_hardware(row, environment) for row in chosen):
        return Verdict(support="other-hardware", rows=chosen)
    return Verdict(support=next((row.says for row in chosen if row.says != "supported"), "supported"), rows=chosen)


def _fits(row: Statement, spec: RunSpec, environment: Environment) -> bool:
    """Whether a row speaks of a run: everything it names is the run's."""
    named = (
        (row.family, spec.model.family),
        (row.weights, spec.quantization.weights),
        (row.kv_cache, spec.quantization.kv_cache),
    )
    entry = find(spec.behind or spec.engine)
    if (
        entry is None
        or row.engine != entry.key
        or any(want is not None and want.upper() != str(has).upper() for want, has in named)
    ):
        return False
    if row.accelerator is None:
        return True
    return any(row.accelerator.upper() in gpu.name.upper() for gpu in environment.gpus)


def _has_hardware(row: Statement, environment: Environment) -> bool:
    if row.compute_capability is None:
        return True
    least = _number(row.compute_capability)
    architectures = [gpu.architecture for gpu in environment.gpus]
    return bool(architectures) and all(a is not None and int(a.removeprefix("sm_")) >= least for a in architectures)


def _number(capability: str) -> int:
    """9.0 as the number in sm_90."""
    major, minor = capability.split(".")
    return int(major) * 10 + int(minor)
