"""An imitation of `trtllm-serve` of the 1.4 line. Not the engine: it proves that lab and facts agree, nothing else.

From the facts: the port opens early and every route answers 503 with `x-trtllm-server-state: starting` until the model
is there; unknown request fields are a 400 with a flat error object; `/metrics` is a list that empties when it is read;
`/prometheus/metrics` is text; the first chunk is a role without content; a schema without a backend is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lab.engines.contract import read_contract
from tests.engines.imitations.server import Imitation, Reply, as_json, as_text, prompt_of, words

FIELDS = read_contract("trtllm-1.4").request_fields
VERSION = "1.4.0rc4"
SPECIAL_TOKENS = 1
"""What its tokenizer puts before a text: encode("") is not empty."""


class TrtLlmImitation(Imitation):
    """Speaks TensorRT-LLM.

    Attributes:
        guided: whether a guided decoding backend was configured.
        in_band_error: the next stream breaks with an error object instead of ending.
    """

    def __init__(self, *args: Any, guided: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.guided, self.in_band_error = guided, False
        self._iterations: list[dict[str, Any]] = []

    def get(self, path: str) -> Reply:
        if not self.ready:
            return self._starting()
        match path:
            case "/health":
                return 200, {}, b""
            case "/version":
                return as_json({"version": VERSION})
            case "/v1/models":
                return as_json({"object": "list", "data": [{"id": self.model, "object": "model"}]})
            case "/metrics":
                popped, self._iterations = self._iterations, []
                return as_json(popped)
            case "/prometheus/metrics":
                tokens = sum(len(prompt_of(body).split()) for body in self.asked)
                return as_text(
                    "# TYPE trtllm_num_requests_running gauge\ntrtllm_num_requests_running 0\n"
                    f"# TYPE trtllm_prompt_tokens counter\ntrtllm_prompt_tokens_total {tokens}\n"
                )
        return self._error(404, "Not Found")

    def post(self, path: str, body: dict[str, Any]) -> Reply | Iterator[str]:
        if not self.ready:
            return self._starting()
        if path == "/_internal/tokenize":
            return as_json({"count": len(body["prompt"].split()) + SPECIAL_TOKENS, "tokens": None})
        if path not in FIELDS:
            return self._error(404, "Not Found")
        unknown = sorted(set(body) - set(FIELDS[path]))
        if unknown:
            return self._error(400, f"{unknown[0]}: Extra inputs are not permitted")
        if body.get("response_format", {}).get("type") == "json_schema" and not self.guided:
            return self._error(400, "guided decoding is not enabled")
        self.asked.append(body)
        self._iterations.append({"iter": len(self.asked), "numActiveRequests": 1})
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 16
        answer = words(limit if body.get("ignore_eos") else min(limit, 4))
        return self._stream(path, body, answer, "length" if len(answer) == limit else "stop")

    def _stream(self, path: str, body: dict[str, Any], answer: list[str], finish: str) -> Iterator[str]:
        chat = path.endswith("chat/completions")
        if chat:
            yield self._chunk({"delta": {"role": "assistant"}, "finish_reason": None})
        for n, word in enumerate(answer):
            if self.in_band_error and n == 2:
                self.in_band_error = False
                yield json.dumps(
                    {"object": "error", "message": "executor failed", "type": "InternalError", "code": 500}
                )
                return
            yield self._chunk({"delta": {"content": word}} if chat else {"text": word, "finish_reason": None})
        yield self._chunk({"delta": {}, "finish_reason": finish} if chat else {"text": "", "finish_reason": finish})
        if body.get("stream_options") is not None and body["stream_options"].get("include_usage", True):
            prompt = len(prompt_of(body).split()) + SPECIAL_TOKENS
            usage = {"prompt_tokens": prompt, "completion_tokens": len(answer), "total_tokens": prompt + len(answer)}
            yield json.dumps({"model": self.model, "choices": [], "usage": usage})
        yield "[DONE]"

    def _chunk(self, choice: dict[str, Any]) -> str:
        return json.dumps({"model": self.model, "choices": [{"index": 0, **choice}]})

    def _starting(self) -> Reply:
        error = {"message": "the model is loading", "type": "ServiceUnavailableError", "code": "starting"}
        return as_json({"error": error}, 503, Retry_After="1", x_trtllm_server_state="starting")

    def _error(self, status: int, message: str) -> Reply:
        kind = "NotFoundError" if status == 404 else "BadRequestError"
        return as_json({"object": "error", "message": message, "type": kind, "param": None, "code": status}, status)
