"""Gateways and platforms in front of an engine: where their OpenAI routes lie and how they say that they are ready.

A gateway is never the engine of a run. The engine behind it is named, requests carry that engine's fields, and
everything the gateway hides (the engine's version, metrics, tokenizer, settings) is not exposed.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.endpoint import Endpoint
from lab.engines.attached import Around, stated
from lab.engines.base import Adapter


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the lab knows of one gateway.

    Attributes:
        key: in the roster.
        default_port: where it listens when nobody says anything.
        api_path: base of its OpenAI routes.
        ready_path: answers 200 when it takes requests; None: its list of models is asked instead.
        version_at: path and field that say its version; None when nothing does.
    """

    key: str
    default_port: int
    api_path: str = "/v1"
    ready_path: str | None = None
    version_at: tuple[str, str] | None = None


GATEWAYS: dict[str, Gateway] = {
    gateway.key: gateway
    for gateway in (
        # its /health asks every model behind it for an answer: never polled
        Gateway("litellm", 4000, ready_path="/health/readiness", version_at=("/health/readiness", "litellm_version")),
        # the OpenAI frontend; the /v2 routes are on the port of its own protocol
        Gateway("triton", 9000, ready_path="/health/ready"),
        Gateway("ray-serve", 8000),
        Gateway("kserve", 8080, "/openai/v1", ready_path="/v2/health/ready", version_at=("/v2", "version")),
        Gateway("bentoml", 3000, ready_path="/readyz"),
    )
}
"""Gateways by roster key."""


class ThroughGateway(Around):
    """An engine that is reached through a gateway.

    Args:
        inner: adapter of the engine behind.
        gateway: what stands in front.
    """

    metrics_path = None

    def __init__(self, inner: Adapter, gateway: Gateway) -> None:
        super().__init__(inner)
        self.key = inner.key
        self.gateway = gateway
        self.default_port = gateway.default_port
        self.api_path = gateway.api_path
        self.ready_path = gateway.ready_path or gateway.api_path + "/models"

    def gateway_version(self, endpoint: Endpoint) -> str | None:
        return stated(endpoint, *self.gateway.version_at) if self.gateway.version_at else None
