"""A plan of a Qwen3-class model for engines that need a GPU: every condition decided. No run comes of it."""

from __future__ import annotations

from typing import Any

from lab.spec import LaunchProfile, ModelSpec, Quantization, RunSpec, Sampling, Workload

MODEL = ModelSpec(
    series="Qwen3-8B",
    revision="main-2026-10",
    weights_format="safetensors",
    weights_sha256="a" * 64,
    tokenizer="in-weights",
    chat_template="in-weights",
    family="qwen3",
)
PROFILE = LaunchProfile(
    name="equal",
    prefix_caching=False,
    chunked_prefill=True,
    kv_cache_tokens=65536,
    max_num_seqs=64,
    max_batched_tokens=8192,
    cuda_graphs=True,
    torch_compile=False,
)


def qwen3(engine: str, profile: dict[str, Any] | None = None, **changes: Any) -> RunSpec:
    """A run of the model on `engine`, with fields of the profile and of the run replaced."""
    whole: dict[str, Any] = {
        "table": "comparison",
        "model": MODEL,
        "quantization": Quantization(weights="BF16", activations="BF16", kv_cache="BF16"),
        "context_limit": 4096,
        "engine": engine,
        "profile": PROFILE.model_copy(update=profile or {}),
        "workload": Workload(
            name="words",
            endpoint="chat",
            arrival="closed",
            concurrency=(4,),
            requests_per_level=16,
            warmup_requests=1,
            input_tokens=256,
            output_tokens=32,
            exact_output=True,
            timeout_s=60,
            seed=1,
        ),
        "sampling": Sampling(
            temperature=0,
            top_p=1,
            top_k=0,
            min_p=0,
            presence_penalty=0,
            frequency_penalty=0,
            repetition_penalty=1,
            seed=7,
        ),
        "quality": None,
        "preparation_counts": True,
    }
    return RunSpec.model_validate(whole | changes)
