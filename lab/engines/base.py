"""What an engine adapter knows: how to launch, when it is ready, how to ask it, what it says of itself.

An adapter is stateless knowledge about one engine. It answers every condition of `lab.conditions` once: with
words of the engine's own command, with what the engine imposes, or with "cannot be expressed". It renders an
engine-neutral request to the fields the engine accepts. Nothing is dropped silently.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from lab.conditions import Condition, Wanted, wanted
from lab.endpoint import Endpoint
from lab.errors import EndpointError, ParamsError
from lab.records import Effective, How, LaunchSetting, Phase
from lab.spec import RunSpec, Sampling

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a launch happens on this machine.

    Attributes:
        weights: the weights file or folder; None for an engine without weights.
        port: of the loopback interface.
        folder: receives the launch's config files, usually the bundle.
        chat_template: the template file; None when it is in the weights.
        artefact: what was built, for engines that build before they serve.
    """

    weights: Path | None
    port: int
    folder: Path
    chat_template: Path | None = None
    artefact: Path | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A command, ready to run.

    Attributes:
        argv: the whole command.
        env: variables added to the cleaned environment.
        shown: the command with model path, port and folders replaced, fit to be published.
        files: config files to write into the place's folder before the start: name to text.
        settings: every condition and what became of it.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    shown: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    settings: tuple[LaunchSetting, ...] = ()


@dataclass(frozen=True, slots=True)
class Fields:
    """Request fields, and the names of those that were wanted and cannot be expressed."""

    body: dict[str, Any]
    not_expressible: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expressed:
    """One condition in an engine's own terms.

    Attributes:
        how: what became of it.
        argv: words of the command.
        env: variables.
        config: dotted path to value in the engine's config file.
        note: what the engine does instead, or has to be known.
    """

    how: How
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None

    def words(self) -> tuple[str, ...]:
        """Everything that expresses it, as a person would read it."""
        variables = (f"{name}={value}" for name, value in self.env.items())
        settings = (f"{path}={json.dumps(value)}" for path, value in self.config.items())
        return (*self.argv, *variables, *settings)


def by_argv(*words: object, note: str | None = None) -> Expressed:
    """Set by words of the command."""
    return Expressed(How.SET, argv=tuple(map(str, words)), note=note)


def by_env(note: str | None = None, **variables: str) -> Expressed:
    """Set by variables of the environment."""
    return Expressed(How.SET, env=variables, note=note)


def by_config(path: str, value: Any, note: str | None = None) -> Expressed:
    """Set in the engine's config file, by dotted path."""
    return Expressed(How.SET, config={path: value}, note=note)


def left(note: str | None = None) -> Expressed:
    """Left to the engine; the note says what its default is, where that is known."""
    return Expressed(How.LEFT, note=note)


def by_request(note: str | None = None) -> Expressed:
    """Carried by every request."""
    return Expressed(How.REQUEST, note=note)


def imposed(note: str) -> Expressed:
    """The engine does this whatever is asked."""
    return Expressed(How.IMPOSED, note=note)


def cannot(note: str) -> Expressed:
    """Wanted, and the engine has no way to say it."""
    return Expressed(How.NOT_EXPRESSIBLE, note=note)


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One program of a build, run after the one before it has ended well.

    Attributes:
        name: of the step.
        argv: the command.
        shown: the command with paths replaced, fit to be published.
        makes: the folder it has to fill, and the files (globs) that have to be there afterwards.
        env: variables added to the cleaned environment.
        limit_s: how long it may take.
    """

    name: str
    argv: tuple[str, ...]
    shown: tuple[str, ...]
    makes: tuple[Path, tuple[str, ...]]
    env: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 7200.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An end of an engine that its log explains.

    Attributes:
        pattern: found in the log.
        what: the sentence for the user.
        next_step: the setting to change.
    """

    pattern: re.Pattern[str]
    what: str
    next_step: str


def failure(pattern: str, what: str, next_step: str) -> Failure:
    """An end that a line of the log explains; `pattern` is a regular expression."""
    return Failure(re.compile(pattern), what, next_step)


class Adapter(ABC):
    """One engine. A new engine is one subclass, one line in `ENGINES`, one golden argv test."""

    key: str
    """Key in `ENGINES`; the roster knows it as a key or an alias, and by it its column."""
    default_port: int
    """Where it listens when nobody says anything."""
    surface: Literal["parser", "unverified"] = "unverified"
    """`parser`: every option it renders is in `contracts/`, which was read from the engine's own parser."""
    contract: str | None = None
    """File of `contracts/` without its ending: what the parser said, or, where `surface` is unverified, what was
    transcribed; None: neither."""
    versions: tuple[str, str] | None = None
    """First version it was written for, and the first one it was not; None: any."""
    api_path = "/v1"
    """Base of the OpenAI routes, below the root of the server."""
    ready_path = "/health"
    metrics_path: str | None = None
    """Prometheus text, or None when the engine has none."""
    metric_names: ClassVar[Mapping[str, str]] = {}
    """The lab's name → the engine's: running, waiting, kv_use, prefix_hits, prefix_queries, preemptions,
    generated_tokens, prompt_tokens. A missing one is not exposed."""
    start_limit_s = 600.0
    """How long it may take until it is ready."""
    start_idle_limit_s = 300.0
    """How long it may say nothing while it starts."""
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
    takes_template_kwargs = True
    """Whether a chat request may carry `chat_template_kwargs`."""
    has_build = False
    """Whether a build step comes before serving."""
    has_quality = True
    """False when its text carries no meaning."""
    weights_formats: tuple[str, ...] = ("safetensors",)
    """What it can load."""
    only_with: ClassVar[frozenset[str]] = frozenset()
    """Profile fields outside the conditions that it can be launched with: `threads`, the reference engine's times."""
    start_phases: ClassVar[Mapping[str, re.Pattern[str]]] = {}
    """Phase name → log line whose first group is a duration in seconds."""
    uses_gpu = True
    """False where it never touches a GPU: nothing has to be locked for it."""
    failures: tuple[Failure, ...] = ()
    """Ends that its log explains."""
    cache_variables: ClassVar[Mapping[str, str]] = {}
    """Variables that move its compile caches, to a folder's name below the lab's cache of this engine."""

    def computes_on_cpu(self) -> bool:
        """Whether it computes on the CPU even where there is a GPU."""
        return not self.uses_gpu

    @abstractmethod
    def installed(self) -> str | None:
        """None when the engine can be launched here, else what is missing and how to get it."""

    @abstractmethod
    def base(self, spec: RunSpec, place: Place) -> Command:
        """The command without any condition: program, model, name, address."""

    @abstractmethod
    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        """One condition in this engine's own terms; every member of `Condition` has an answer."""

    @abstractmethod
    def version(self, endpoint: Endpoint) -> str | None:
        """What the running engine says its version is; None when it does not say."""

    def build_version(self) -> str | None:
        """Version of the programs that build here, part of an artefact's key; None when it cannot be found out."""
        return None

    def build_limits(self, spec: RunSpec) -> Mapping[str, int]:
        """Sizes that are built into the artefact, for instance max_batch_size; another size is another artefact."""
        return {}

    def build_steps(self, spec: RunSpec, place: Place) -> tuple[BuildStep, ...]:
        """The programs that make `place.artefact` from `place.weights`, in their order; empty without a build.

        Args:
            spec: what is to be served.
            place: `folder` is scratch space, `artefact` the folder to fill.
        """
        return ()

    def gateway_version(self, endpoint: Endpoint) -> str | None:
        """What the gateway in front says its version is; None when there is none, or it does not say."""
        return None

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        """Conditions as the running engine shows them.

        Args:
            endpoint: the running engine.
            log: what it has printed since its start.

        Returns:
            What could be read, each with its source; a condition that is left out is not exposed.
        """
        return ()

    def attention_backend(self, endpoint: Endpoint, log: str) -> str | None:
        """The attention kernels as the running engine names them; None when it does not."""
        return None

    def reset_cache(self, endpoint: Endpoint) -> bool | None:
        """Empty the prefix cache: True when the engine did, False when it refused, None when it has no way."""
        return None

    def config_file(self, config: Mapping[str, Any]) -> tuple[str, str] | None:
        """Name and text of the config file that holds dotted `config`; None for an engine without one."""
        assert not config, f"{self.key} has no config file"
        return None

    def phases(self, endpoint: Endpoint, log: str) -> tuple[Phase, ...]:
        """What the engine says of its own start, in the order of `start_phases`; the last line of a kind counts."""
        found = []
        for name, pattern in self.start_phases.items():
            seconds = [float(match.group(1)) for match in pattern.finditer(log)]
            if seconds:
                found.append(Phase(name=name, seconds=seconds[-1], source="log"))
        return tuple(found)

    def version_note(self, version: str | None) -> str | None:
        """What is to be said of the running version; None when it is one the adapter was written for."""
        if self.versions is None:
            return None
        first, after = self.versions
        if version is not None and _numbers(first) <= _numbers(version) < _numbers(after):
            return None
        runs = f"{self.key} {version} runs" if version else f"{self.key} does not say its version"
        return f"{runs}; the adapter was written for {first} up to, not including, {after}"

    def phases_in(self, folder: Path) -> tuple[Phase, ...]:
        """What the engine wrote of its own start into the launch's folder, once the first request is answered."""
        return ()

    def explain_end(self, log: str) -> Failure | None:
        """The known reason why it ended, by its own words; None when they are not known."""
        return next((failure for failure in self.failures if failure.pattern.search(log)), None)

    def render(self, spec: RunSpec, place: Place) -> Launch:
        """The command that launches `spec`, every condition answered.

        Raises:
            ParamsError: the model's format is not this engine's, or a setting has no meaning here.
        """
        self.refuse(spec)
        command = self.base(spec, place)
        env: dict[str, str] = {}
        config: dict[str, Any] = {}
        settings = []
        for want in wanted(spec):
            expressed = self.express(want, spec, place)
            command.add(*expressed.argv, shown=_without_paths(expressed.argv, place))
            env |= expressed.env
            config |= expressed.config
            settings.append(
                LaunchSetting(
                    condition=want.condition,
                    wanted=want.value,
                    how=expressed.how,
                    words=_without_paths(expressed.words(), place),
                    note=expressed.note,
                )
            )
        file = self.config_file(config)
        launch = command.launch(env)
        return Launch(
            argv=launch.argv,
            env=launch.env,
            shown=launch.shown,
            files=dict([file]) if file else {},
            settings=tuple(settings),
        )

    def refuse(self, spec: RunSpec) -> None:
        """Raise ParamsError for a model or a setting this engine cannot be launched with."""
        if spec.model.weights_format not in self.weights_formats:
            raise ParamsError(
                f"{self.key} reads {' or '.join(self.weights_formats)}; "
                f"the model {spec.model.series} is {spec.model.weights_format}"
            )
        for name in ("threads", "ttft_s", "tick_s", "prefill_s_per_token"):
            if getattr(spec.profile, name) is not None and name not in self.only_with:
                known = ", ".join((*Condition, *sorted(self.only_with)))
                raise ParamsError(
                    f"{self.key} has no launch setting '{name}' (profile {spec.profile.name}); it knows: {known}"
                )

    def served_name(self, spec: RunSpec) -> str:
        """The model name requests use."""
        return spec.served_as or spec.model.series

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

    def template_fields(self, spec: RunSpec) -> Fields:
        """Variables of the chat template, as a chat request carries them."""
        if not spec.chat_template_kwargs or spec.workload.endpoint != "chat":
            return Fields({})  # no template is applied to a completion, and a strict engine refuses the field
        if not self.takes_template_kwargs:
            return Fields({}, ("chat_template_kwargs",))
        return Fields({"chat_template_kwargs": dict(spec.chat_template_kwargs)})

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

    def chat_token_ids(
        self, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], spec: RunSpec
    ) -> tuple[int, ...] | None:
        """A conversation as its own template and tokenizer render it, special tokens included, up to where the
        answer begins; None when it cannot be asked."""
        return None


@dataclass(slots=True)
class Command:
    """Builds an argv and its publishable twin side by side."""

    argv: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)

    def add(self, *words: object, shown: tuple[object, ...] | None = None) -> Command:
        """Append words; `shown` replaces them in the publishable command."""
        self.argv += map(str, words)
        self.shown += map(str, words if shown is None else shown)
        return self

    def flag(self, name: str, value: object | None) -> Command:
        """Append `name value` unless the value is None."""
        return self if value is None else self.add(name, value)

    def put(self, name: str, value: object) -> Command:
        """Set a variable of the environment."""
        self.env[name] = str(value)
        return self

    def launch(self, env: Mapping[str, str] | None = None) -> Launch:
        """The finished command."""
        return Launch(tuple(self.argv), {**self.env, **(env or {})}, tuple(self.shown))


def on_off(want: Wanted, on: tuple[object, ...], off: tuple[object, ...], default: str) -> Expressed:
    """A switch with a word for each side; undecided it is left, `default` says what the engine does."""
    if want.value is None:
        return left(default)
    return by_argv(*(on if want.value else off))


def flag_value(want: Wanted, name: str, default: str) -> Expressed:
    """An option with one value; undecided it is left, `default` says what the engine does."""
    return left(default) if want.value is None else by_argv(name, want.value)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version; a name without one is before every version."""
    match = re.search(r"\d+(\.\d+)*", version)
    return tuple(map(int, match.group().split("."))) if match else ()


def _without_paths(words: tuple[str, ...], place: Place) -> tuple[str, ...]:
    """Words with this machine's paths replaced by what they stand for."""
    named = ((place.weights, "<model>"), (place.chat_template, "<template>"), (place.artefact, "<artefact>"))
    for path, name in (*named, (place.folder, "<folder>")):
        if path is not None and path != Path():
            words = tuple(word.replace(f"{path}/", f"{name}:").replace(str(path), name) for word in words)
    return words
