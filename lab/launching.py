"""Launches without measuring: the command a run would use, and an engine kept up until Ctrl-C."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lab.engines import adapter_for
from lab.engines.base import Launch, Place
from lab.engines.process import EngineProcess, free_port
from lab.errors import LabError, ParamsError
from lab.plan import PlannedRun, find_weights, load_plan

NOT_HERE = Path("weights-not-on-this-machine")
"""Stands for weights that have not been fetched: the command can be read without them."""


def launches(
    params: Path, engine: str | None = None, profile: str | None = None
) -> tuple[tuple[PlannedRun, Launch], ...]:
    """The launch of every different run of a plan, or of those that are named; nothing is started.

    Raises:
        ParamsError: the plan cannot be followed, or names no such run.
    """
    plan = load_plan(params)
    key = adapter_for(engine).key if engine else None
    found = [
        run
        for run in plan.runs
        if run.repeat == 0 and key in (None, run.spec.engine) and profile in (None, run.spec.profile.name)
    ]
    if not found:
        there = ", ".join(dict.fromkeys(f"{run.spec.engine} / {run.spec.profile.name}" for run in plan.runs))
        raise ParamsError(
            f"{plan.file} has no run {engine or 'any engine'} / {profile or 'any profile'}; it has: {there}"
        )
    return tuple((run, adapter_for(run.spec.engine).render(run.spec, _place(run))) for run in found if run.url is None)


def serve(planned: PlannedRun, say: Callable[[str], None]) -> None:
    """Launch one run's engine and keep it up until Ctrl-C or its own end.

    Raises:
        LabError: it could not be launched, or it ended by itself.
    """
    adapter = adapter_for(planned.spec.engine)
    with tempfile.TemporaryDirectory(prefix="lab-launch-") as scratch:
        folder = Path(scratch)
        port = free_port()
        launch = adapter.render(planned.spec, Place(find_weights(planned), port, folder))
        for name, text in launch.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        with EngineProcess(adapter, launch, port, folder / "engine.log") as engine:
            ready_s = engine.wait_ready(lambda waited: say(f"starting, {waited:.0f} s"))
            say(
                f"ready after {ready_s - engine.launched_s:.1f} s: {engine.endpoint.url}/v1, "
                f"model {adapter.served_name(planned.spec)}; Ctrl-C stops it"
            )
            while True:
                engine.check_alive("while serving")
                time.sleep(0.2)


def _place(planned: PlannedRun) -> Place:
    """Where it would be launched; weights that are not here do not stop a look at the command."""
    try:
        weights = find_weights(planned)
    except LabError:
        weights = NOT_HERE
    return Place(weights, adapter_for(planned.spec.engine).default_port, Path())
