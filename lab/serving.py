"""Brings the engine of a run up: its start arranged, built where it builds, launched or attached to.

Both a measured run and `lab launch` go through here, so that what is looked at is what is measured.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lab import weights
from lab.engines import adapter_of
from lab.engines.artefacts import BuildOutcome, build_artefact
from lab.engines.attached import declare
from lab.engines.attachment import EngineAttachment, is_here
from lab.engines.base import Adapter, Launch, Place
from lab.engines.process import EngineProcess, free_port
from lab.environment import Environment
from lab.machine_lock import hold
from lab.plan import PlannedRun
from lab.preparation import Start, arrange
from lab.scratch import scratch, write_atomically

BUILD_LOG = "build.log"
ENGINE_LOG = "engine.log"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Serving:
    """An engine on its way up, or found running.

    Attributes:
        engine: launched or attached; not yet ready.
        launch: the command and every condition; of an attached engine what was declared.
        start: what it starts from; None for an attached one.
        build: what is served; None for an engine without a build step.
        attached_to: where an attached engine runs; None: the lab launched it.
        locks: held until the engine is not needed any more.
    """

    engine: EngineProcess | EngineAttachment
    launch: Launch
    start: Start | None
    build: BuildOutcome | None
    attached_to: Literal["this-machine", "elsewhere"] | None
    locks: contextlib.ExitStack

    def stop(self) -> None:
        """Stop what the lab started, and let the GPUs go."""
        self.engine.stop()
        self.locks.close()


def bring_up(planned: PlannedRun, folder: Path, environment: Environment, who: str, say: Say) -> Serving:
    """Start the engine of a run, or turn to the one that runs already; wait for it with `engine.wait_ready`.

    Args:
        planned: the run.
        folder: receives logs and config files, usually the bundle.
        environment: the machine.
        who: for the person who finds a GPU in use.
        say: told what takes time.

    Raises:
        LabError: a GPU is in use, the weights are not here, a build failed, the engine is not installed.
    """
    spec, adapter = planned.spec, adapter_of(planned.spec)
    if planned.url is not None:
        launch = declare(adapter, spec, planned.url)
        place: Literal["this-machine", "elsewhere"] = "this-machine" if is_here(planned.url) else "elsewhere"
        engine = EngineAttachment(adapter, planned.url)
        return Serving(engine, launch, None, None, place, contextlib.ExitStack())
    locks = contextlib.ExitStack()
    with contextlib.ExitStack() as undo:
        undo.callback(locks.close)
        if adapter.uses_gpu:
            locks.enter_context(hold([gpu.uuid for gpu in environment.gpus], who))
        name, file = weights.find_model(spec.model, planned.models_folder)
        template = weights.template(file, planned.models_folder)
        build = None
        start = arrange(spec.cache_tier, adapter, name, file, say)
        bare = Place(start.weights, free_port(), folder, template)
        if adapter.has_build:
            build = build_artefact(
                adapter,
                spec,
                bare,
                root=weights.cache_folder(),
                gpu_architecture=environment.gpu_architecture,
                log_path=folder / BUILD_LOG,
                say=say,
            )
            bare = replace(bare, artefact=build.folder)
        if start.unfilled:
            _fill(planned, adapter, bare, start, say)
            start = arrange(spec.cache_tier, adapter, name, file, say)
        launch = adapter.render(spec, bare)
        running = _process(adapter, launch, bare, start.env)
        undo.pop_all()
    return Serving(running, launch, start, build, None, locks)


def _fill(planned: PlannedRun, adapter: Adapter, bare: Place, start: Start, say: Say) -> None:
    """A launch that is not counted: it fills the compile caches that are to be warm."""
    with scratch("fill") as folder:
        place = replace(bare, port=free_port(), folder=folder)
        with _process(adapter, adapter.render(planned.spec, place), place, start.env) as engine:
            engine.wait_ready(lambda waited: say(f"filling caches, {waited:.0f} s"))


def _process(adapter: Adapter, launch: Launch, place: Place, env: Mapping[str, str]) -> EngineProcess:
    for name, text in launch.files.items():
        write_atomically(place.folder / name, text.encode())
    moved = replace(launch, env=launch.env | dict(env))
    return EngineProcess(adapter, moved, place.port, place.folder / ENGINE_LOG)
