"""What a bundle says about the path its answers went through."""

from __future__ import annotations

from lab.conditions import Condition, Value
from lab.evidence import LaunchRecord, RunRecord
from lab.quality.path import Fact, QualityPath
from lab.records import How
from lab.spec import RunSpec, Sampling

NONE = "none"
"""Recorded for a part that an engine does not have, or was launched without."""

OWN_FIELDS = frozenset({"name", "tensor_parallel", "pipeline_parallel", "speculative", "grammar_backend"})
"""Settings of the profile that are fields of the path themselves; the name is a label."""


def path_of(record: RunRecord) -> QualityPath:
    """The path of a run; a part that no file of its bundle records is None.

    What the running engine shows counts before what it was told. What was left to it and is not shown is not
    recorded: nobody knows its value.
    """
    spec, launch, environment = record.spec, record.launch, record.environment
    machine = environment.machine_class if environment else None
    told = _Told(spec, launch)
    profile = spec.profile.model_dump(mode="json", exclude=set(OWN_FIELDS), exclude_none=True)
    return QualityPath(
        engine=spec.engine,
        engine_version=launch.engine_version if launch else None,
        hardware=(machine.accelerator or machine.machine) if machine else None,
        weights_sha256=spec.model.weights_sha256,
        quantization_weights=spec.quantization.weights,
        quantization_activations=spec.quantization.activations,
        quantization_kv_cache=told.shown(Condition.KV_CACHE_DTYPE) or spec.quantization.kv_cache,
        compute_dtype=told.part(Condition.COMPUTE_DTYPE),
        attention_backend=launch.attention_backend if launch else None,
        tensor_parallel=told.ranks(Condition.TENSOR_PARALLEL),
        pipeline_parallel=told.ranks(Condition.PIPELINE_PARALLEL),
        speculative_decoding=told.drafting(),
        chat_template_sha256=told.template(),
        chat_template_kwargs=told.template_kwargs(),
        tool_parser=told.parser(Condition.TOOL_PARSER),
        reasoning_parser=told.parser(Condition.REASONING_PARSER),
        grammar_backend=told.part(Condition.GRAMMAR_BACKEND),
        sampling_defaults=_sampling_defaults(launch) if launch else None,
        settings={name: str(value).lower() for name, value in profile.items()},
    )


class _Told:
    """What a launch says of its conditions: as the running engine shows them, else as it was told."""

    def __init__(self, spec: RunSpec, launch: LaunchRecord | None) -> None:
        self._spec, self._launch = spec, launch
        self._effective = {one.condition: one.value for one in launch.effective} if launch else {}
        self._settings = {one.condition: one for one in launch.settings} if launch else {}

    def shown(self, condition: Condition) -> Fact | None:
        """As the running engine shows it."""
        value = self._effective.get(condition)
        return None if value is None else str(value)

    def part(self, condition: Condition) -> Fact | None:
        """A part that an engine has or is given; what it does whatever is asked is its own, unlike any other's."""
        if self._how(condition) is How.IMPOSED:
            return self.shown(condition) or f"own of {self._spec.engine}"
        value = self._value(condition)
        return None if value is None else str(value)

    def ranks(self, condition: Condition) -> int | None:
        """GPUs that share the model; an engine that has one rank alone imposes the 1 that was wanted."""
        value = self._value(condition)
        if value is None and self._how(condition) is How.IMPOSED:
            value = self._settings[condition].wanted
        return value if isinstance(value, int) else None

    def drafting(self) -> Fact | None:
        """The method of speculative decoding; every engine leaves it off until it is told one."""
        value = self._value(Condition.SPECULATIVE)
        if value is None and self._how(Condition.SPECULATIVE) in (How.LEFT, How.IMPOSED):
            value = "off" if self._settings[Condition.SPECULATIVE].wanted == "off" else None
        return None if value is None else str(value)

    def template(self) -> Fact | None:
        """Digest of the chat template, where the engine takes the one it is given."""
        given = self._how(Condition.CHAT_TEMPLATE) in (How.SET, How.LEFT)
        return self._launch.chat_template_sha256 if self._launch and given else None

    def template_kwargs(self) -> Fact | None:
        """Variables of the chat template; those an engine cannot be given are not recorded."""
        kwargs = self._spec.chat_template_kwargs
        if not kwargs:
            return NONE
        carried = self._how(Condition.CHAT_TEMPLATE_KWARGS) in (How.SET, How.REQUEST)
        return ", ".join(f"{name}={value}" for name, value in sorted(kwargs.items())) if carried else None

    def parser(self, condition: Condition) -> Fact | None:
        """Name of a parser: the last word that sets it; none where none was set."""
        match self._how(condition):
            case How.SET:
                words = self._settings[condition].words
                return words[-1].rpartition("=")[2].strip('"') if words else None
            case How.LEFT:
                return NONE  # engines take nothing apart until they are told how
            case How.IMPOSED:
                return f"own of {self._spec.engine}"
        return None

    def _how(self, condition: Condition) -> How | None:
        setting = self._settings.get(condition)
        return setting.how if setting else None

    def _value(self, condition: Condition) -> Value | None:
        """Shown, or set; None: neither."""
        if condition in self._effective and self._effective[condition] is not None:
            return self._effective[condition]
        return self._settings[condition].wanted if self._how(condition) is How.SET else None


def _sampling_defaults(launch: LaunchRecord) -> str:
    by_engine = [name for name in launch.not_expressible if name in Sampling.model_fields]
    return f"engine: {', '.join(by_engine)}" if by_engine else "request"
