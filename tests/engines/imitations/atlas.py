"""An imitation of Atlas (`spark serve`). Not the engine: it proves that lab and facts agree, nothing else.

From the facts: `/health` is 503 {"status": "loading"} and then {"status": "ready"}; there is no version endpoint;
unknown fields are ignored, `ignore_eos` among them, while `min_tokens` is kept; with tools a response_format is
dropped; an error inside a stream ends it without [DONE].
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.engines.imitations.server import Imitation, Reply, as_json, as_text, prompt_of, words

ROUTES = ("/v1/chat/completions", "/v1/completions")
NATURAL_LENGTH = 4
"""Tokens after which the model would stop by itself."""


class AtlasImitation(Imitation):
    """Speaks Atlas.

    Attributes:
        in_band_error: the next stream breaks with an error object instead of ending.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.in_band_error = False
        self._generated = 0

    def get(self, path: str) -> Reply:
        match path:
            case "/health":
                if not self.ready:
                    return as_json({"status": "loading"}, 503)
                return as_json({"status": "ready", "model": self.model})
            case "/health/live":
                return as_text("ok")
            case "/v1/models":
                return as_json({"object": "list", "data": [{"id": self.model, "object": "model"}]})
            case "/metrics":
                return as_text(
                    "# TYPE atlas_requests_active gauge\natlas_requests_active 0\n"
                    f"# TYPE atlas_generation_tokens counter\natlas_generation_tokens_total {self._generated}\n"
                    "# TYPE atlas_prefix_cache_hit_tokens counter\natlas_prefix_cache_hit_tokens_total 0\n"
                )
        return as_json({"error": {"message": "not found"}}, 404)

    def post(self, path: str, body: dict[str, Any]) -> Reply | Iterator[str]:
        if path == "/tokenize":
            count = len(body["prompt"].split())
            return as_json({"tokens": list(range(count)), "count": count})
        if path not in ROUTES:
            return as_json({"error": {"message": "not found"}}, 404)
        self.asked.append(body)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 16
        length = min(limit, max(NATURAL_LENGTH, body.get("min_tokens", 0)))
        constrained = "response_format" in body and not body.get("tools")
        answer = ["{}"] if constrained else words(length)
        self._generated += len(answer)
        return self._stream(path, body, answer, "length" if len(answer) == limit else "stop")

    def _stream(self, path: str, body: dict[str, Any], answer: list[str], finish: str) -> Iterator[str]:
        chat = path.endswith("chat/completions")
        if chat:
            yield self._chunk({"delta": {"role": "assistant"}, "finish_reason": None})
        for n, word in enumerate(answer):
            if self.in_band_error and n == 2:
                self.in_band_error = False
                yield json.dumps({"error": {"message": "kernel failed", "type": "server_error", "code": 500}})
                return
            yield self._chunk({"delta": {"content": word}} if chat else {"text": word})
        yield self._chunk({"delta": {}, "finish_reason": finish} if chat else {"text": "", "finish_reason": finish})
        if (body.get("stream_options") or {}).get("include_usage"):
            prompt = len(prompt_of(body).split())
            usage = {"prompt_tokens": prompt, "completion_tokens": len(answer), "total_tokens": prompt + len(answer)}
            yield json.dumps({"model": self.model, "choices": [], "usage": usage, "system_fingerprint": "fp_atlas"})
        yield "[DONE]"

    def _chunk(self, choice: dict[str, Any]) -> str:
        return json.dumps({"model": self.model, "choices": [{"index": 0, **choice}]})
