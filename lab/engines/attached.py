"""Engines that run already: one generic adapter for those the lab never launches, and what an attached run declares.

Ollama, TGI and NIM are each a few facts over `Attachable`. An engine that has a launcher is attached through its
own adapter. Whoever launched it declares how (the profile); what counts is what the running engine shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from lab.conditions import Condition, Wanted, wanted
from lab.endpoint import Endpoint
from lab.engines.base import (
    Adapter,
    Command,
    Expressed,
    Fields,
    Launch,
    Place,
    by_request,
    cannot,
    imposed,
    left,
)
from lab.errors import EndpointError, ParamsError
from lab.records import Effective, How, LaunchSetting
from lab.spec import LaunchProfile, RunSpec, Sampling

OPENAI_SAMPLING = {name: name for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed")}
"""Sampling fields of OpenAI's own API; a server that keeps to them has no top_k, min_p or repetition penalty."""

SHOWN = ("attached", "<url>")
"""What stands for the command of an engine that the lab did not launch."""

BY_OTHERS = "whoever launched it decided it"


class Attachable(Adapter):
    """An engine that is only ever attached: it answers for requests and for what it shows, not for a launch."""

    weights_formats: tuple[str, ...] = ("safetensors", "gguf")

    def installed(self) -> str | None:
        return f"the lab does not launch {self.key}: it is attached by URL"

    def base(self, spec: RunSpec, place: Place) -> Command:
        raise ParamsError(f"the lab does not launch {self.key}", f"give the run its url in the plan: {form(self.key)}")

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        if want.condition in (Condition.SEED, Condition.SAMPLING_DEFAULTS):
            return by_request()
        if want.condition is Condition.CHAT_TEMPLATE_KWARGS and self.takes_template_kwargs:
            return by_request()
        return left(BY_OTHERS)

    def version(self, endpoint: Endpoint) -> str | None:
        return None

    def stated_quantization(self, endpoint: Endpoint, model: str) -> str | None:
        """How the engine says the weights of `model` are quantized; None when it does not say."""
        return None


class Ollama(Attachable):
    """Ollama's OpenAI routes. It answers before any model is loaded; the first request loads one."""

    key = "ollama"
    default_port = 11434
    ready_path = "/"
    weights_formats = ("gguf",)
    sampling_names: ClassVar[Mapping[str, str]] = OPENAI_SAMPLING
    exact_field = None
    takes_template_kwargs = False

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        match want.condition:
            case Condition.SAMPLING_DEFAULTS:
                return by_request("top_k and min_p of the model file stay: its OpenAI route has no field for them")
            case Condition.MAX_NUM_SEQS:
                return left("OLLAMA_NUM_PARALLEL, 1 by default")
            case Condition.KV_CACHE_DTYPE:
                return left("OLLAMA_KV_CACHE_TYPE, f16 by default")
            case Condition.CONTEXT_LIMIT:
                return left("OLLAMA_CONTEXT_LENGTH, by the size of the memory by default")
            case Condition.METRICS:
                return imposed("it has none")
            case _:
                return super().express(want, spec, place)

    def version(self, endpoint: Endpoint) -> str | None:
        return stated(endpoint, "/api/version", "version")

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        document = endpoint.get("/api/ps").json()
        loaded = document.get("models") if isinstance(document, dict) else None
        if not isinstance(loaded, list) or len(loaded) != 1 or not isinstance(loaded[0], dict):
            return ()  # none is loaded, or nobody can say which one is measured
        return number(Condition.CONTEXT_LIMIT, loaded[0].get("context_length"), "/api/ps context_length")

    def stated_quantization(self, endpoint: Endpoint, model: str) -> str | None:
        document = endpoint.post("/api/show", {"model": model}).json()
        details = document.get("details") if isinstance(document, dict) else None
        level = details.get("quantization_level") if isinstance(details, dict) else None
        return level if isinstance(level, str) else None


class Tgi(Attachable):
    """Hugging Face's text-generation-inference."""

    key = "tgi"
    default_port = 3000
    weights_formats = ("safetensors",)
    metrics_path = "/metrics"
    metric_names: ClassVar[Mapping[str, str]] = {"running": "tgi_batch_current_size", "waiting": "tgi_queue_size"}
    sampling_names: ClassVar[Mapping[str, str]] = OPENAI_SAMPLING
    exact_field = None
    takes_template_kwargs = False

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        if want.condition is Condition.METRICS:
            return imposed("on")
        return super().express(want, spec, place)

    def sampling_fields(self, sampling: Sampling) -> Fields:
        fields = super().sampling_fields(sampling)
        if fields.body.get("top_p") == 1:
            del fields.body["top_p"]  # it refuses 1 and means off without it
        return fields

    def version(self, endpoint: Endpoint) -> str | None:
        return stated(endpoint, "/info", "version")

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        info = endpoint.get("/info").json()
        if not isinstance(info, dict):
            return ()
        return (
            *number(Condition.CONTEXT_LIMIT, info.get("max_total_tokens"), "/info max_total_tokens"),
            *number(Condition.KV_CACHE_TOKENS, info.get("max_batch_total_tokens"), "/info max_batch_total_tokens"),
        )

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        answer = endpoint.post("/tokenize", {"inputs": text, "add_special_tokens": False})
        tokens = answer.json()
        return len(tokens) if answer.status == 200 and isinstance(tokens, list) else None


class Around(Attachable):
    """Something around another engine: requests carry the fields of the engine inside.

    Args:
        inner: adapter of the engine inside.
    """

    def __init__(self, inner: Adapter) -> None:
        self.inner = inner
        self.has_quality = inner.has_quality
        self.uses_gpu = inner.uses_gpu
        self.weights_formats = inner.weights_formats
        self.start_limit_s = inner.start_limit_s

    def express(self, want: Wanted, spec: RunSpec, place: Place) -> Expressed:
        return self.inner.express(want, spec, place)

    def sampling_fields(self, sampling: Sampling) -> Fields:
        return self.inner.sampling_fields(sampling)

    def length_fields(self, tokens: int, exact: bool) -> Fields:
        return self.inner.length_fields(tokens, exact)

    def template_fields(self, spec: RunSpec) -> Fields:
        return self.inner.template_fields(spec)

    def computes_on_cpu(self) -> bool:
        return self.inner.computes_on_cpu()


class Nim(Around):
    """NVIDIA NIM 2.x: a proxy and one engine, vLLM or SGLang, in one image."""

    key = "nim"
    default_port = 8000
    ready_path = "/v1/health/ready"
    metrics_path = "/v1/metrics"

    def version(self, endpoint: Endpoint) -> str | None:
        return stated(endpoint, "/v1/version", "release")

    def read_back(self, endpoint: Endpoint, log: str) -> tuple[Effective, ...]:
        limits = [entry.get("max_model_len") for entry in served(endpoint, self.api_path)]
        if len(limits) != 1:
            return ()
        return number(Condition.CONTEXT_LIMIT, limits[0], "/v1/models max_model_len")

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        return self.inner.count_tokens(endpoint, text)  # its proxy passes /tokenize on


def form(engine: str) -> str:
    """How a plan names an attached engine."""
    behind = ", behind: vllm" if engine == Nim.key else ""
    return f"{{engine: {engine}{behind}, url: http://HOST:PORT}}"


def declare(adapter: Adapter, spec: RunSpec, url: str) -> Launch:
    """What stands in the place of a launch when an engine runs already: every condition as it was declared.

    What the engine does whatever is asked, and what requests carry, is known all the same. Everything else is
    `declared` where the plan or its profile says it, and left where nobody does.
    """
    place = Place(None, adapter.default_port, Path())
    settings = []
    for want in wanted(spec):
        try:
            told = adapter.express(want, spec, place)
        except ParamsError as problem:  # a launch would be refused; here somebody says that it runs like this
            told = cannot(problem.what)
        how, note = told.how, told.note
        if how not in (How.IMPOSED, How.REQUEST, How.NOT_EXPRESSIBLE):
            said = _is_declared(want, spec)
            how = How.DECLARED if said else How.LEFT
            note = None if said else told.note if told.how is How.LEFT and told.note else BY_OTHERS
        settings.append(LaunchSetting(condition=want.condition, wanted=want.value, how=how, note=note))
    return Launch(argv=(url, adapter.served_name(spec)), env={}, shown=SHOWN, settings=tuple(settings))


def disagreements(settings: Iterable[LaunchSetting], effective: Iterable[Effective]) -> tuple[str, ...]:
    """Sentences for every declared value that is not what the running engine shows; what is shown counts."""
    shown = {fact.condition: fact for fact in effective if fact.value is not None}
    found = []
    for setting in settings:
        fact = shown.get(setting.condition)
        if setting.how is How.DECLARED and fact is not None and _folded(setting.wanted) != _folded(fact.value):
            found.append(
                f"{setting.condition}: declared {setting.wanted}, the running engine shows {fact.value} ({fact.source})"
            )
    return tuple(found)


def unseen(adapter: Adapter, endpoint: Endpoint, spec: RunSpec) -> tuple[str, ...]:
    """What an attached run takes on trust, and where the engine says otherwise, as sentences."""
    found = ["the weights are as declared: the lab did not read the files behind the URL"]
    said = None
    if isinstance(adapter, Attachable):
        try:
            said = adapter.stated_quantization(endpoint, adapter.served_name(spec))
        except EndpointError:
            said = None
    if said is not None and _folded(said) != _folded(spec.quantization.weights):
        found.append(f"weights: declared {spec.quantization.weights}, the running engine says {said}")
    return tuple(found)


def stated(endpoint: Endpoint, path: str, field: str) -> str | None:
    """One text of a JSON document; None when it is not there."""
    answer = endpoint.get(path)
    document = answer.json()
    value = document.get(field) if answer.status == 200 and isinstance(document, dict) else None
    return str(value) if value is not None and not isinstance(value, dict | list) else None


def served(endpoint: Endpoint, api_path: str) -> tuple[dict[str, Any], ...]:
    """The entries of the OpenAI list of models; empty when there is none."""
    document = endpoint.get(api_path + "/models").json()
    entries = document.get("data") if isinstance(document, dict) else None
    return tuple(entry for entry in entries if isinstance(entry, dict)) if isinstance(entries, list) else ()


def number(condition: Condition, value: Any, source: str) -> tuple[Effective, ...]:
    """A count that was read back, or nothing when it is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return ()
    return (Effective(condition=condition, value=value, source=source),)


def _is_declared(want: Wanted, spec: RunSpec) -> bool:
    """Whether the plan or its profile says it: a profile's default is said by nobody."""
    if want.decided_by == "lab" or want.value is None:
        return False
    field = LaunchProfile.model_fields.get(want.condition)
    return field is None or getattr(spec.profile, want.condition) != field.default


def _folded(value: object) -> str:
    return str(value).lower()
