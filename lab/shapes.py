"""The table of model shapes: what a token costs of models whose weights are not on this machine.

`params/shapes.yaml` is data a team edits. No source, no row; a model without a row has no ceiling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from lab.limits import Cited, ModelShape
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.spec import Frozen

TABLE = PARAMS_FOLDER / "shapes.yaml"

Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._+\-/:]{1,120}$")]
"""A name as a record writes it."""


class KnownShape(Frozen):
    """One row of params/shapes.yaml."""

    models: tuple[Label, ...] = Field(min_length=1)
    """Names that records give the model, whole."""
    quantizations: tuple[Label, ...] = ()
    """Names that records give these bytes; empty: the model's name says it."""
    shape: ModelShape
    note: Annotated[str, StringConstraints(max_length=300)] | None = None
    source: Cited
    read: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
    """Month or day in which somebody read it there."""


class ShapeTable(Frozen):
    """What params/shapes.yaml holds, or a file of the same form."""

    rows: tuple[KnownShape, ...] = Field(min_length=1)

    def find(self, model: str | None, quantization: str | None) -> KnownShape | None:
        """The row of these weights; None: there is none, and one that only resembles them is not it."""
        name, bytes_of = (model or "").casefold(), (quantization or "").casefold()
        return next(
            (
                row
                for row in self.rows
                if name in (one.casefold() for one in row.models)
                and (not row.quantizations or bytes_of in (one.casefold() for one in row.quantizations))
            ),
            None,
        )


def read_shapes(path: Path = TABLE) -> ShapeTable:
    """A table of shapes. Raises ParamsError."""
    return parse(ShapeTable, read_mapping(path), shown(path))
