"""A launch as a container: the same command, with GPUs, mounts and the image pinned by its digest.

Text only: nothing is started here. What a container would run is what the lab would run, because both come from
one `Launch`; this machine's paths become mounts of fixed names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.engines.base import Adapter, Launch, Place
from lab.engines.process import QUIET_VARIABLES
from lab.errors import ParamsError
from lab.spec import RunSpec

PINNED = re.compile(r"[a-z0-9][a-z0-9._/:\-]*@sha256:[0-9a-f]{64}")
MODEL, TEMPLATE, ARTEFACT, FOLDER, CACHE = map(Path, ("/model", "/template.jinja", "/artefact", "/launch", "/cache"))
"""Where things lie inside."""


@dataclass(frozen=True, slots=True)
class Container:
    """A launch, ready to be written for a container engine.

    Attributes:
        name: of the service.
        image: with its digest.
        command: inside the container, program first.
        env: inside the container.
        mounts: path on the host, path inside, whether it may be written.
    """

    name: str
    image: str
    command: tuple[str, ...]
    env: dict[str, str]
    mounts: tuple[tuple[str, str, bool], ...]

    def as_argv(self, program: str = "docker") -> tuple[str, ...]:
        """The command that runs it; `program` is docker or podman."""
        gpus = ("--gpus", "all") if program == "docker" else ("--device", "nvidia.com/gpu=all")
        words = [program, "run", "--rm", *gpus, "--ipc", "host", "--network", "host"]
        for outside, inside, writable in self.mounts:
            words += ["--volume", f"{outside}:{inside}{'' if writable else ':ro'}"]
        for name, value in self.env.items():
            words += ["--env", f"{name}={value}"]
        return (*words, "--entrypoint", self.command[0], self.image, *self.command[1:])

    def as_service(self) -> dict[str, Any]:
        """The service of a compose file."""
        device = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
        return {
            "image": self.image,
            "entrypoint": [_escaped(self.command[0])],
            "command": [_escaped(word) for word in self.command[1:]],
            "environment": {name: _escaped(value) for name, value in self.env.items()},
            "volumes": [
                f"{outside}:{inside}:{'rw' if writable else 'ro'}" for outside, inside, writable in self.mounts
            ],
            "network_mode": "host",
            "ipc": "host",
            "deploy": {"resources": {"reservations": {"devices": [device]}}},
        }


def contain(
    adapter: Adapter, spec: RunSpec, *, image: str, weights: Path, folder: Path, cache: Path | None = None
) -> tuple[Container, Launch]:
    """The container of a launch, and the launch as it is inside.

    Args:
        adapter: of the engine.
        spec: what is launched.
        image: a name with `@sha256:` and its digest; a tag alone is another image tomorrow.
        weights: file or folder on the host; of an engine that builds, the folder of the built files.
        folder: on the host, where the launch's config files will lie.
        cache: folder on the host for compile caches; None: they go with the container.

    Raises:
        ParamsError: the image has no digest.
    """
    if not PINNED.fullmatch(image):
        raise ParamsError(
            f"the image '{image:.100}' is not pinned; expected NAME@sha256: and 64 hexadecimal digits",
            "docker image inspect --format '{{index .RepoDigests 0}}' IMAGE",
        )
    template = TEMPLATE if spec.model.chat_template == "file" else None
    built = ARTEFACT if adapter.has_build else None
    launch = adapter.render(spec, Place(MODEL, adapter.default_port, FOLDER, template, built))
    mounts = [(str(weights), str(built or MODEL), False)]
    if launch.files:
        mounts.append((str(folder), str(FOLDER), True))
    caches = {}
    if cache is not None and adapter.cache_variables:
        mounts.append((str(cache), str(CACHE), True))
        caches = {variable: str(CACHE / below) for variable, below in adapter.cache_variables.items()}
    container = Container(
        name=re.sub(r"[^a-z0-9]+", "-", f"{spec.engine}-{spec.profile.name}".lower()),
        image=image,
        command=(launch.shown[0], *launch.argv[1:]),  # the program as the image knows it, not as this machine does
        env=QUIET_VARIABLES | launch.env | caches,
        mounts=tuple(mounts),
    )
    return container, launch


def compose(containers: tuple[Container, ...]) -> str:
    """A compose file with one service for each container. Only one of them is meant to run at a time."""
    services = {container.name: container.as_service() for container in containers}
    text: str = yaml.safe_dump({"version": "3.8", "services": services}, sort_keys=False, width=1000)
    return text


def _escaped(word: str) -> str:
    """A dollar sign is compose's own; doubled it is a dollar sign."""
    return word.replace("$", "$$")
