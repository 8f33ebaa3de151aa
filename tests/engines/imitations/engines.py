"""Dialects of the engines that are launched or attached, and of those that never run here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lab.engines.contract import read_contract
from tests.engines.imitations.base import FAILURE, Imitation, Reply


class Vllm(Imitation):
    """vLLM 0.32: the port opens after the engine is up."""

    key = "vllm"
    binds_late = True
    owner = "vllm"
    reasoning_field = "reasoning"
    exact_fields: ClassVar[frozenset[str]] = frozenset({"ignore_eos", "min_tokens"})
    metrics_path = "/metrics"
    metrics: ClassVar[Mapping[str, float]] = {
        "vllm:num_requests_running": 1,
        "vllm:num_requests_waiting": 0,
        "vllm:kv_cache_usage_perc": 0.5,
        "vllm:prefix_cache_hits_total": 16,
        "vllm:prefix_cache_queries_total": 32,
        "vllm:num_preemptions_total": 0,
        "vllm:generation_tokens_total": 8,
        "vllm:prompt_tokens_total": 32,
    }

    def get(self, path: str) -> Reply | None:
        return Reply({"version": "0.32.0"}) if path == "/version" else None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path != "/tokenize":
            return None
        tokens = list(range(len(str(body["prompt"]).split())))
        return Reply({"count": len(tokens), "max_model_len": 4096, "tokens": tokens})

    def model_entry(self) -> dict[str, Any]:
        return {**super().model_entry(), "max_model_len": 4096}

    def failure(self) -> tuple[Any, ...]:
        return ({"error": {"message": FAILURE, "type": "InternalServerError", "param": None, "code": 500}}, "[DONE]")


class Sglang(Imitation):
    """SGLang 0.5: the port opens before the warm-up request has been answered."""

    key = "sglang"
    ready_path = "/ready"
    owner = "sglang"
    exact_fields: ClassVar[frozenset[str]] = frozenset({"ignore_eos", "min_tokens"})
    metrics_path = "/metrics"
    metrics: ClassVar[Mapping[str, float]] = {
        "sglang:num_running_reqs": 1,
        "sglang:num_queue_reqs": 0,
        "sglang:token_usage": 0.5,
        "sglang:cached_tokens_total": 16,
        "sglang:num_retracted_requests_total": 0,
        "sglang:generation_tokens_total": 8,
        "sglang:prompt_tokens_total": 32,
    }

    def get(self, path: str) -> Reply | None:
        if path == "/health":
            return Reply("")
        if path == "/server_info":
            return Reply(
                {
                    "version": "0.5.23",
                    "context_length": 4096,
                    "max_total_num_tokens": 16384,
                    "max_running_requests": 4,
                    "disable_radix_cache": False,
                    "chunked_prefill_size": 2048,
                    "kv_cache_dtype": "auto",
                    "tp_size": 1,
                    "startup_time": {"load_weight": 1.0, "cuda_graph": 2.0},
                }
            )
        if path == "/model_info":
            return Reply({"model_path": "/models/m", "is_generation": True})
        return None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path in ("/tokenize", "/v1/tokenize"):
            tokens = list(range(len(str(body["prompt"]).split())))
            return Reply({"tokens": tokens, "count": len(tokens), "max_model_len": 4096})
        if path == "/flush_cache":
            return Reply("Cache flushed.\n")
        return None

    def failure(self) -> tuple[Any, ...]:
        said = {"object": "error", "message": FAILURE, "type": "InternalServerError", "param": None, "code": 500}
        return ({"error": said},)


class TrtLlm(Imitation):
    """trtllm-serve of the 1.4 line: the port opens early, and a field it does not know is refused."""

    key = "trtllm"
    loading: ClassVar[Reply] = Reply(
        {"object": "error", "message": "starting"}, 503, {"x-trtllm-server-state": "starting", "Retry-After": "1"}
    )
    version: ClassVar[str] = "1.4.0rc4"
    _told = 0
    owner = "tensorrt_llm"
    role: ClassVar[dict[str, Any] | None] = {"role": "assistant"}
    exact_fields: ClassVar[frozenset[str]] = frozenset({"ignore_eos", "min_tokens"})
    metrics_path = "/prometheus/metrics"
    metrics: ClassVar[Mapping[str, float]] = {
        "trtllm_num_requests_running": 1,
        "trtllm_num_requests_waiting": 0,
        "trtllm_kv_cache_utilization": 0.5,
        "trtllm_prompt_cached_tokens_total": 16,
        "trtllm_prompt_tokens_total": 32,
        "trtllm_num_paused_requests": 0,
    }

    def knows(self, path: str) -> frozenset[str] | None:
        return frozenset(read_contract("trtllm-1.4").request_fields[path])

    def get(self, path: str) -> Reply | None:
        if path == "/version":
            return Reply({"version": self.version})
        if path == "/metrics":  # iteration statistics, gone once they are read
            told, self._told = self._told, len(self.generations)
            return Reply([{"iter": i} for i in range(told, self._told)])
        return None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path != "/_internal/tokenize":
            return None
        return Reply({"count": len(str(body["prompt"]).split()) + 1, "tokens": None})  # one special token before

    def refusal(self, what: str) -> Reply:
        return Reply({"object": "error", "message": what, "type": "BadRequestError", "param": None, "code": 400}, 400)

    def failure(self) -> tuple[Any, ...]:
        return ({"object": "error", "message": FAILURE, "type": "InternalError", "param": None, "code": 500},)


class TrtLlmEngine(TrtLlm):
    """trtllm-serve up to 1.2: takes connections only once it is ready."""

    key = "trtllm-engine"
    binds_late = True
    version = "1.2.1"


class Atlas(Imitation):
    """Atlas: says no version; keeps min_tokens and ignores ignore_eos."""

    key = "atlas"
    loading: ClassVar[Reply] = Reply({"status": "loading"}, 503)
    ready: ClassVar[Reply] = Reply({"status": "ready", "model": "m"})
    role: ClassVar[dict[str, Any] | None] = {"role": "assistant"}
    exact_fields: ClassVar[frozenset[str]] = frozenset({"min_tokens"})
    metrics_path = "/metrics"
    metrics: ClassVar[Mapping[str, float]] = {
        "atlas_requests_active": 1,
        "atlas_prefix_cache_hit_tokens_total": 16,
        "atlas_prompt_tokens_total": 32,
        "atlas_generation_tokens_total": 8,
    }

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path != "/tokenize":
            return None
        tokens = list(range(len(str(body["prompt"]).split())))
        return Reply({"tokens": tokens, "count": len(tokens)})

    def failure(self) -> tuple[Any, ...]:
        return ({"error": {"message": FAILURE, "type": "server_error", "code": 500}},)


class LlamaServer(Imitation):
    """llama-server b11434: the port opens before the model is loaded."""

    key = "llama.cpp"
    loading: ClassVar[Reply] = Reply(
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, 503
    )
    ready: ClassVar[Reply] = Reply({"status": "ok"})
    owner = "llamacpp"
    role: ClassVar[dict[str, Any] | None] = {"role": "assistant", "content": None}
    metrics_path = "/metrics"
    metrics: ClassVar[Mapping[str, float]] = {
        "llamacpp:requests_processing": 1,
        "llamacpp:requests_deferred": 0,
        "llamacpp:prompt_tokens_total": 32,
        "llamacpp:tokens_predicted_total": 8,
    }

    def get(self, path: str) -> Reply | None:
        if path == "/props":
            return Reply(
                {
                    "build_info": "b11434-g515e85511",
                    "total_slots": 4,
                    "default_generation_settings": {"n_ctx": 4096},
                }
            )
        return None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path == "/tokenize":
            return Reply({"tokens": list(range(len(str(body["content"]).split())))})
        return None


class Ollama(Imitation):
    """Ollama 0.33: ready at once, loads with the first request, masks an error inside a stream."""

    key = "ollama"
    ready_path = "/"
    ready: ClassVar[Reply] = Reply("Ollama is running")
    loading: ClassVar[Reply] = Reply("Ollama is running")
    owner = "library"
    role: ClassVar[dict[str, Any] | None] = None
    reasoning_field = "reasoning"
    exact_fields: ClassVar[frozenset[str]] = frozenset()
    length_fields: ClassVar[tuple[str, ...]] = ("max_tokens",)

    def get(self, path: str) -> Reply | None:
        if path == "/api/version":
            return Reply({"version": "0.33.0"})
        if path == "/api/ps":
            answered = any(asked.path.endswith("/completions") for asked in self.asked)
            loaded = {"name": self.model, "model": self.model, "context_length": 4096, "size_vram": 0}
            return Reply({"models": [loaded] if answered else []})
        return None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path != "/api/show":
            return None
        if body.get("model") != self.model:
            return Reply({"error": f"model '{body.get('model')}' not found"}, 404)
        return Reply({"details": {"format": "gguf", "family": "llama", "quantization_level": "Q4_K_M"}})

    def failure(self) -> tuple[Any, ...]:
        return ({"object": "chat.completion.chunk", "model": "", "choices": [{"index": 0, "delta": {}}]},)


class Tgi(Imitation):
    """TGI 3.3: refuses a top_p that turns nothing off."""

    key = "tgi"
    binds_late = True
    owner = "m"
    role: ClassVar[dict[str, Any] | None] = None
    reasoning_field = None
    exact_fields: ClassVar[frozenset[str]] = frozenset()
    metrics_path = "/metrics"
    metrics: ClassVar[Mapping[str, float]] = {"tgi_batch_current_size": 1, "tgi_queue_size": 0}

    def get(self, path: str) -> Reply | None:
        if path == "/info":
            return Reply({"model_id": "m", "version": "3.3.7", "max_input_tokens": 4095, "max_total_tokens": 4096})
        return None

    def post(self, path: str, body: dict[str, Any]) -> Reply | None:
        if path == "/tokenize":
            return Reply([{"id": i, "text": word} for i, word in enumerate(str(body["inputs"]).split())])
        return None

    def _complete(self, body: dict[str, Any], *, chat: bool) -> Any:
        if body.get("top_p") == 1:
            return Reply({"error": "Input validation error: `top_p` must be > 0.0 and < 1.0"}, 422)
        return super()._complete(body, chat=chat)

    def failure(self) -> tuple[Any, ...]:
        return ({"error": FAILURE, "error_type": "generation"},)


class Nim(Vllm):
    """NIM 2.1 around vLLM: a proxy that is up early."""

    key = "nim"
    binds_late = False
    ready_path = "/v1/health/ready"
    metrics_path = "/v1/metrics"

    def get(self, path: str) -> Reply | None:
        if path == "/v1/version":
            return Reply({"release": "2.1.6", "api": "1.0.0"})
        if path == "/v1/metadata":
            return Reply({"version": "2.1.6", "modelInfo": [{"shortName": self.model}], "licenseInfo": {}})
        return None
