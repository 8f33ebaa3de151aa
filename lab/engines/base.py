"""What an engine adapter knows: how to launch, when it is ready, how to ask it.

An adapter is stateless knowledge about one engine. It renders an engine-neutral `LaunchProfile` to the
engine's own command, and an engine-neutral request to the fields the engine accepts. What it cannot
express it says; nothing is dropped silently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from lab.endpoint import Endpoint
from lab.errors import EndpointError, ParamsError
from lab.spec import LaunchProfile, RunSpec, Sampling

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Launch:
    """A command, ready to run.

    Attributes:
        argv: the whole command.
        env: variables added to the cleaned environment.
        shown: the command with model path and port replaced, fit to be published.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """Request fields, and the names of those that were wanted and cannot be expressed."""

    body: dict[str, Any]
    not_expressible: tuple[str, ...] = ()


class Adapter(ABC):
    """One engine. A new engine is one subclass, one line in `ENGINES`, one golden argv test."""

    key: str
    """Key in the roster."""
    settings: frozenset[str] = frozenset()
    """Fields of `LaunchProfile` it can render; setting another one is refused."""
    ready_path = "/health"
    metrics_path: str | None = None
    """Prometheus text, or None when the engine has none."""
    start_limit_s = 600.0
    """How long it may take until it is ready."""
    sampling_names: ClassVar[Mapping[str, str]] = {
        name: name
        for name in (
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "presence_penalty",
            "frequency_penalty",
            "repetition_penalty",
            "seed",
        )
    }
    """Our name → the engine's request field; a missing one cannot be expressed."""
    exact_field: ClassVar[Mapping[str, Any] | None] = {"ignore_eos": True}
    """Fields that make it write the whole length; None when it cannot."""
    has_build = False
    """Whether a build step comes before serving."""
    has_quality = True
    """False when its text carries no meaning."""

    @abstractmethod
    def installed(self) -> str | None:
        """None when the engine can be launched here, else what is missing and how to get it."""

    @abstractmethod
    def render(self, spec: RunSpec, weights: Path | None, port: int) -> Launch:
        """The command that launches `spec` on `port` of the loopback interface."""

    @abstractmethod
    def version(self, endpoint: Endpoint) -> str | None:
        """What the running engine says its version is; None when it does not say."""

    def served_name(self, spec: RunSpec) -> str:
        """The model name requests use."""
        return spec.model.series

    def refuse_unknown_settings(self, profile: LaunchProfile) -> None:
        """Raise ParamsError for a setting of `profile` this engine cannot be launched with."""
        asked = {name for name, value in profile if value is not None and name != "name"}
        for name in sorted(asked - self.settings):
            raise ParamsError(
                f"{self.key} has no launch setting '{name}' (profile {profile.name}); it knows: "
                f"{', '.join(sorted(self.settings))}"
            )

    def is_ready(self, endpoint: Endpoint) -> bool:
        """One look at whether it answers requests now."""
        try:
            return endpoint.get(self.ready_path, timeout_s=2.0).status == 200
        except EndpointError:
            return False

    def sampling_fields(self, sampling: Sampling) -> Fields:
        """Every sampling value under the name this engine has for it."""
        wanted = dict(sampling)
        body = {self.sampling_names[name]: value for name, value in wanted.items() if name in self.sampling_names}
        return Fields(body, tuple(sorted(set(wanted) - set(self.sampling_names))))

    def length_fields(self, tokens: int, exact: bool) -> Fields:
        """Fields that ask for `tokens` output tokens."""
        body: dict[str, Any] = {"max_tokens": tokens}
        if not exact:
            return Fields(body)
        if self.exact_field is None:
            return Fields(body, ("exact_output",))
        return Fields(body | dict(self.exact_field))

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        """Length of `text` in the engine's own tokens, special tokens left out; None when it cannot be asked."""
        return None


@dataclass(slots=True)
class Command:
    """Builds an argv and its publishable twin side by side."""

    argv: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def add(self, *words: object, shown: tuple[object, ...] | None = None) -> Command:
        """Append words; `shown` replaces them in the publishable command."""
        self.argv += map(str, words)
        self.shown += map(str, words if shown is None else shown)
        return self

    def flag(self, name: str, value: object | None) -> Command:
        """Append `name value` unless the value is None."""
        return self if value is None else self.add(name, value)

    def launch(self, env: dict[str, str] | None = None) -> Launch:
        """The finished command."""
        return Launch(tuple(self.argv), env or {}, tuple(self.shown))
