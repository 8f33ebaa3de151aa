"""Counts what bodies use of the API; names are told apart and not kept."""

from __future__ import annotations

from lab.traffic.requests import SAMPLING, Request
from lab.traffic.shape import Setting, Use
from lab.traffic.tally import LengthTally, Seen


class UseCount:
    """What bodies use of the API."""

    def __init__(self) -> None:
        self._n = self._schema = self._json = self._otherwise = self._offers = self._uses = 0
        self._stream = self._stream_said = self._media = self._several = self._ids = 0
        self._adapter_requests = self._held = 0
        self._tools = LengthTally()
        self._models, self._adapters = Seen(), Seen()
        self._settings: dict[str, int] = {}
        self._values: dict[str, LengthTally] = {}

    def add(self, request: Request) -> None:
        """Take one request."""
        self._n += 1
        self._schema += request.constraint == "json-schema"
        self._json += request.constraint == "json-object"
        self._otherwise += request.constraint == "other"
        self._offers += request.tools > 0
        if request.tools:
            self._tools.add(request.tools)
        self._uses += request.uses_tools
        self._stream += request.stream is True
        self._stream_said += request.stream is not None
        self._media += request.media > 0
        self._held += request.held
        self._several += request.prompts > 1
        self._ids += any(not isinstance(text, str) for _, text in request.pieces)
        if request.model is not None:
            self._models.add(request.model.encode("utf-8", "surrogatepass"))
        if request.adapter is not None:
            self._adapter_requests += 1
            self._adapters.add(request.adapter.encode("utf-8", "surrogatepass"))
        for name, value in request.sampling.items():
            self._settings[name] = self._settings.get(name, 0) + 1
            if value is not None and value >= 0 and name != "seed":
                self._values.setdefault(name, LengthTally()).add(round(value * 1000))

    def result(self) -> Use:
        """The counts."""
        return Use(
            n=self._n,
            json_schema=self._schema,
            json_object=self._json,
            constrained_otherwise=self._otherwise,
            offers_tools=self._offers,
            uses_tools=self._uses,
            tools_p50=self._tools.quantile(0.5) if self._tools.n else None,
            stream=self._stream,
            stream_said=self._stream_said,
            media=self._media,
            held=self._held,
            several_prompts=self._several,
            token_ids=self._ids,
            models=len(self._models),
            models_more=self._models.full,
            model_most=self._models.largest(),
            adapters=len(self._adapters),
            adapter_requests=self._adapter_requests,
            settings=tuple(self._setting(name) for name in SAMPLING if name in self._settings),
        )

    def _setting(self, name: str) -> Setting:
        values = self._values.get(name)
        if values is None:
            return Setting(name=name, n=self._settings[name])
        p10, p50, p90 = (values.quantile(share) / 1000 for share in (0.1, 0.5, 0.9))
        return Setting(name=name, n=self._settings[name], p10=p10, p50=p50, p90=p90)
