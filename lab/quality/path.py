"""Which path gave an answer, and what a difference between two paths may be put down to.

A score belongs to a path: weights, formats of numbers, engine, template, parsers and grammar together. Two paths
are compared field by field, and the class of the comparison follows from the fields that differ. No class puts a
difference down to an engine as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from lab.records import Lane
from lab.spec import Frozen, Name, digest

Fact = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._+\-(),:=]{1,160}$")]
"""A recorded value, fit to be published: no path, no markup."""

PathId = Annotated[str, StringConstraints(pattern=r"^q-[0-9a-f]{12}$")]

FieldName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}(\.[a-z0-9_]{1,40})?$")]
"""Name of a field of the path; a launch setting is `profile.` and its name."""


class QualityPath(Frozen):
    """Everything between a question and its score that the lab knows to matter.

    None: not recorded. An engine that has no such part records `none`, which is a value.
    """

    engine: Name
    engine_version: Fact | None = None
    """As the running engine states it."""
    hardware: Fact | None = None
    """Product name of the accelerator, or the instruction set: kernels differ by it."""
    weights_sha256: Fact | None = None
    quantization_weights: Fact | None = None
    quantization_activations: Fact | None = None
    quantization_kv_cache: Fact | None = None
    compute_dtype: Fact | None = None
    """Format the arithmetic is done in."""
    attention_backend: Fact | None = None
    tensor_parallel: int | None = Field(default=None, ge=1)
    pipeline_parallel: int | None = Field(default=None, ge=1)
    speculative_decoding: Fact | None = None
    chat_template_sha256: Fact | None = None
    """Digest of the template as it was applied."""
    chat_template_kwargs: Fact | None = None
    tool_parser: Fact | None = None
    reasoning_parser: Fact | None = None
    grammar_backend: Fact | None = None
    sampling_defaults: Fact | None = None
    """Who decided the sampling: `request` when every value was sent, else the fields the engine decided."""
    settings: dict[Name, Fact] = Field(default_factory=dict)
    """Launch settings that were given. One that was left to the engine is not recorded: its value is unknown."""

    @property
    def path_id(self) -> str:
        """Digest of every field, `q-` and 12 hexadecimal digits."""
        return "q-" + digest(self.model_dump(mode="json"))[:12]

    def fields(self) -> dict[str, str | int | None]:
        """Every field by name, launch settings as `profile.NAME`."""
        plain = self.model_dump(exclude={"settings"})
        return plain | {f"profile.{name}": value for name, value in sorted(self.settings.items())}


QUANTIZATION_FIELDS = frozenset(
    {"weights_sha256", "quantization_weights", "quantization_activations", "quantization_kv_cache", "compute_dtype"}
)
"""Formats of numbers, and the bytes they make. Every other field is a part of the engine path.

A launch setting (prefix caching, sequences decoded together, threads, …) is a part of the engine path: it changes
which sums are made in which order, and with them the text under temperature 0."""


class ContrastClass(StrEnum):
    """What a difference between two paths may be put down to."""

    ENGINE_PATH = "E"
    """Parts of the engine path, and nothing else."""
    QUANTIZATION = "Q"
    """Formats of numbers, and nothing else."""
    REPEAT = "N"
    """Nothing differs: what is seen is noise."""
    NOT_ATTRIBUTABLE = "X"
    """Both changed, or something was not recorded."""


class Contrast(Frozen):
    """Two paths, compared field by field."""

    kind: ContrastClass
    differs: tuple[FieldName, ...]
    """Fields recorded on both sides that differ."""
    unrecorded: tuple[FieldName, ...]
    """Fields that could decide the class and were not recorded; with one of them the class is X."""
    open: tuple[FieldName, ...]
    """Fields not recorded on both sides that are taken as equal, or that cannot change the class."""

    @property
    def other_weights(self) -> bool:
        """True when the weights are other bytes under one name of their format."""
        return "weights_sha256" in self.differs and "quantization_weights" not in self.differs


def contrast(first: QualityPath, second: QualityPath) -> Contrast:
    """The class of a comparison.

    A field that only one side recorded makes it X, unless it is a part of the engine path and another part of it is
    known to differ: then that is what differs, whatever the field holds. A field that neither side recorded is taken
    as equal where one program ran on both sides (engine and version are recorded and the same), because it resolves
    one launch to one value; between two programs an unrecorded format of numbers makes it X, an unrecorded part of
    the engine path does not, because that part has changed anyway. Other bytes of the weights under one name of their
    format are X: another conversion or another model, nobody can tell.
    """
    left, right = first.fields(), second.fields()
    names = tuple(dict.fromkeys((*left, *right)))
    one_program = first.engine == second.engine and first.engine_version == second.engine_version is not None
    differs = [name for name in names if None not in (left.get(name), right.get(name)) and left[name] != right[name]]
    other_engine_path = any(name not in QUANTIZATION_FIELDS for name in differs)
    unrecorded: list[str] = []
    still_open: list[str] = []
    for name in names:
        one, other = left.get(name), right.get(name)
        if one is not None and other is not None:
            continue
        if one is None and other is None:
            decides = name in QUANTIZATION_FIELDS or (name == "engine_version" and first.engine == second.engine)
            decides = decides and not one_program
        else:
            decides = name in QUANTIZATION_FIELDS or not other_engine_path
        (unrecorded if decides else still_open).append(name)
    found = Contrast(
        kind=ContrastClass.NOT_ATTRIBUTABLE,
        differs=tuple(differs),
        unrecorded=tuple(unrecorded),
        open=tuple(still_open),
    )
    numbers = [name for name in differs if name in QUANTIZATION_FIELDS]
    if unrecorded or found.other_weights or (numbers and len(numbers) < len(differs)):
        return found
    kind = ContrastClass.QUANTIZATION if numbers else ContrastClass.ENGINE_PATH if differs else ContrastClass.REPEAT
    return found.model_copy(update={"kind": kind})


PROMPT_LANES = (Lane.TEXT, Lane.CHAT)
"""Lanes whose part makes the prompt: tokenizer and chat template."""


def enters(lanes: Mapping[Lane, bool], prompts: Mapping[Lane, bool] | None = None) -> tuple[Lane, ...]:
    """Where a difference between two paths enters.

    Args:
        lanes: whether both sides gave the same on that lane, for the lanes that were asked.
        prompts: whether both sides counted every prompt of a lane equally long, for lanes where both count.

    Returns:
        The lanes whose part may bring it in: from behind the last lane that agrees to the first that differs. Where
        prompts are equally long there, what makes a prompt is left out as long as anything else remains; where they
        are not, only what makes a prompt remains. None when no lane differs.
    """
    order = tuple(Lane)
    first = next((place for place, lane in enumerate(order) if lanes.get(lane) is False), None)
    if first is None:
        return ()
    agreeing = [place for place in range(first) if lanes.get(order[place])]
    behind = order[max(agreeing, default=-1) + 1 : first + 1]
    alike = (prompts or {}).get(order[first])
    if alike is None:
        return behind
    return tuple(lane for lane in behind if (lane in PROMPT_LANES) is not alike) or behind
