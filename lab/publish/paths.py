"""What a bundle says about the path its answers went through."""

from __future__ import annotations

from lab.evidence import LaunchRecord, RunRecord
from lab.quality.path import QualityPath
from lab.spec import Sampling


def path_of(record: RunRecord) -> QualityPath:
    """The path of a run; a part that no file of its bundle records is None.

    A part that is read back from the running engine one day becomes one line here.
    """
    spec, launch, environment = record.spec, record.launch, record.environment
    machine = environment.machine_class if environment else None
    settings = spec.profile.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    return QualityPath(
        engine=spec.engine,
        engine_version=launch.engine_version if launch else None,
        hardware=(machine.accelerator or machine.machine) if machine else None,
        weights_sha256=spec.model.weights_sha256,
        quantization_weights=spec.quantization.weights,
        quantization_activations=spec.quantization.activations,
        quantization_kv_cache=spec.quantization.kv_cache,
        sampling_defaults=_sampling_defaults(launch) if launch else None,
        settings={name: str(value).lower() for name, value in settings.items()},
    )


def _sampling_defaults(launch: LaunchRecord) -> str:
    by_engine = [name for name in launch.not_expressible if name in Sampling.model_fields]
    return f"engine: {', '.join(by_engine)}" if by_engine else "request"
