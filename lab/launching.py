"""Launches without measuring: the command a run would use, and an engine kept up until Ctrl-C."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.containers import Container, contain
from lab.engines import adapter_of
from lab.engines.attached import declare
from lab.engines.base import BuildStep, Launch, Place
from lab.environment import capture
from lab.errors import LabError, ParamsError
from lab.plan import PlannedRun, find_weights, load_plan
from lab.roster import find
from lab.scratch import scratch
from lab.serving import bring_up
from lab.weights import cache_folder, find_model, place_of

NOT_HERE, TEMPLATE, ARTEFACT = Path("weights-not-on-this-machine"), Path("chat-template"), Path("artefact")
"""Stand for what a look at a command does not need."""


@dataclass(frozen=True, slots=True)
class Look:
    """One launch of a plan, looked at.

    Attributes:
        planned: the run.
        launch: the command and every condition.
        build: what is built before it is served.
    """

    planned: PlannedRun
    launch: Launch
    build: tuple[BuildStep, ...] = ()


def launches(params: Path, engine: str | None = None, profile: str | None = None) -> tuple[Look, ...]:
    """The launch of every different run of a plan, or of those that are named; nothing is started.

    Raises:
        ParamsError: the plan cannot be followed, or names no such run.
    """
    plan = load_plan(params)
    found = [
        run
        for run in plan.runs
        if run.repeat == 0 and _is_engine(run, engine) and profile in (None, run.spec.profile.name)
    ]
    if not found:
        there = ", ".join(dict.fromkeys(f"{run.spec.engine} / {run.spec.profile.name}" for run in plan.runs))
        raise ParamsError(
            f"{plan.file} has no run {engine or 'any engine'} / {profile or 'any profile'}; it has: {there}"
        )
    return tuple(_look(run) for run in found)


def _is_engine(run: PlannedRun, name: str | None) -> bool:
    """Whether a person who says `name` means the engine of a run."""
    if name is None or name == run.spec.engine:
        return True
    meant, is_one = find(name), find(run.spec.engine)
    return meant is not None and meant == is_one


def _look(planned: PlannedRun) -> Look:
    """The launch of one run; weights that are not here do not stop a look at the command."""
    spec, adapter = planned.spec, adapter_of(planned.spec)
    if planned.url is not None:
        return Look(planned, declare(adapter, spec, planned.url))
    try:
        weights = find_weights(planned)
    except LabError:
        weights = NOT_HERE
    template = TEMPLATE if spec.model.chat_template == "file" else None
    place = Place(weights, adapter.default_port, Path("."), template, ARTEFACT if adapter.has_build else None)
    return Look(planned, adapter.render(spec, place), adapter.build_steps(spec, place))


def as_containers(looks: Sequence[Look], images: Mapping[str, str], folder: Path) -> tuple[Container, ...]:
    """Each launch as a container; the config files of the launches are written.

    Args:
        looks: launches of engines that the lab launches on GPUs.
        images: engine to image, pinned by digest.
        folder: config files go into a folder of it for each launch.

    Raises:
        ParamsError: an image is missing or not pinned, or a run is not one for a container.
    """
    containers = []
    for look in looks:
        spec, adapter = look.planned.spec, adapter_of(look.planned.spec)
        if look.planned.url is not None or not adapter.uses_gpu:
            raise ParamsError(f"{spec.engine} / {spec.profile.name} is not launched in a container", "leave it out")
        image = images.get(spec.engine)
        if image is None:
            raise ParamsError(
                f"no image is named for {spec.engine}",
                f"--image {spec.engine}=NAME@sha256:DIGEST, pinned by its digest",
            )
        _, file = find_model(spec.model, look.planned.models_folder)
        own = folder / f"{spec.engine}-{spec.profile.name}"
        container, launch = contain(
            adapter,
            spec,
            image=image,
            weights=place_of(file),
            folder=own,
            cache=cache_folder() / "compile" / adapter.key,
        )
        for name, text in launch.files.items():
            own.mkdir(parents=True, exist_ok=True)
            (own / name).write_text(text, encoding="utf-8")
        containers.append(container)
    return tuple(containers)


def serve(planned: PlannedRun, say: Callable[[str], None]) -> None:
    """Launch one run's engine and keep it up until Ctrl-C or its own end.

    Raises:
        LabError: it could not be launched, or it ended by itself.
    """
    adapter = adapter_of(planned.spec)
    with scratch("launch") as folder:
        os.environ["TMPDIR"] = str(folder)  # what an engine leaves in its temporary folder goes with it
        serving = bring_up(planned, folder, capture(), "lab launch", say)
        try:
            engine = serving.engine
            ready_s = engine.wait_ready(lambda waited: say(f"starting, {waited:.0f} s"))
            say(
                f"ready after {ready_s - engine.launched_s:.1f} s: {engine.endpoint.url}{adapter.api_path}, "
                f"model {adapter.served_name(planned.spec)}; Ctrl-C stops it"
            )
            while True:
                engine.check_alive("while serving")
                time.sleep(0.2)
        finally:
            serving.stop()
