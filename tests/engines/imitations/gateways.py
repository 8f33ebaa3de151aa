"""Dialects of the gateways: their own readiness, and nothing of the engine behind but the OpenAI routes."""

from __future__ import annotations

from typing import ClassVar

from tests.engines.imitations.base import Imitation, Reply


class Behind(Imitation):
    """What gets through of an engine behind a gateway."""

    exact_fields: ClassVar[frozenset[str]] = frozenset({"ignore_eos"})


class Litellm(Behind):
    """LiteLLM's proxy. Its /health asks every model for an answer."""

    key = "litellm"
    ready_path = "/health/readiness"
    ready: ClassVar[Reply] = Reply({"status": "healthy", "db": "Not connected", "litellm_version": "1.80.0"})
    owner = "openai"

    def get(self, path: str) -> Reply | None:
        return Reply({"healthy_endpoints": [{"model": self.model}]}) if path == "/health" else None


class Triton(Behind):
    """Triton's OpenAI frontend."""

    key = "triton"
    ready_path = "/health/ready"
    loading: ClassVar[Reply] = Reply({"detail": "Attached inference engine is not ready for inference requests."}, 400)
    owner = "Triton Inference Server"


class RayServe(Behind):
    """Ray Serve LLM: no readiness route is known, its list of models is asked."""

    key = "ray-serve"
    ready_path = "/v1/models"
    loading: ClassVar[Reply] = Reply("Application not found", 404)


class Kserve(Behind):
    """KServe's Hugging Face runtime."""

    key = "kserve"
    api_path = "/openai/v1"
    ready_path = "/v2/health/ready"
    ready: ClassVar[Reply] = Reply({"ready": True})

    def get(self, path: str) -> Reply | None:
        return Reply({"name": "kserve", "version": "0.21.0", "extensions": []}) if path == "/v2" else None


class Bentoml(Behind):
    """A BentoML service with OpenAI routes."""

    key = "bentoml"
    ready_path = "/readyz"
