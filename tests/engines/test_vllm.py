"""vLLM: its exact command, and what is read from answers and lines that a real vLLM 0.32.0 on a CPU gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.conditions import Condition
from lab.engines import ENGINES
from lab.engines.base import Place
from lab.errors import ParamsError
from lab.spec import Quantization
from tests.conftest import CHECKOUT
from tests.engines.qwen3 import MODEL, qwen3
from tests.engines.told import Told

VLLM = ENGINES["vllm"]
RECORDED = CHECKOUT / "tests" / "data" / "vllm-0.32.0-cpu"
LOG = (RECORDED / "start.log").read_text(encoding="utf-8")
PLACE = Place(Path("/m"), 8123, Path("/bundle"))

ON_A_GPU = (
    "vllm serve <model> --served-model-name Qwen3-8B --host 127.0.0.1 --port <port> --dtype bfloat16 "
    "--kv-cache-dtype bfloat16 --max-model-len 4096 --block-size 16 --num-gpu-blocks-override 4097 --max-num-seqs 64 "
    "--max-num-batched-tokens 8192 --no-enable-prefix-caching --enable-chunked-prefill -cc.cudagraph_mode=FULL "
    "-cc.mode=NONE --tensor-parallel-size 1 --pipeline-parallel-size 1 --generation-config vllm --seed 7 "
    "--enable-auto-tool-choice --tool-call-parser hermes --reasoning-parser qwen3 --enable-prompt-tokens-details "
    "--no-enable-log-requests --disable-uvicorn-access-log"
)
ON_A_CPU = (
    "vllm serve <model> --served-model-name Qwen3-8B --host 127.0.0.1 --port <port> --dtype bfloat16 "
    "--kv-cache-dtype auto --max-model-len 4096 --block-size 32 --num-gpu-blocks-override 2049 "
    "--kv-cache-memory-bytes 1073741824 --max-num-seqs 64 --max-num-batched-tokens 8192 --no-enable-prefix-caching "
    "--enable-chunked-prefill -cc.mode=NONE --tensor-parallel-size 1 --pipeline-parallel-size 1 "
    "--generation-config vllm --seed 7 --enable-auto-tool-choice --tool-call-parser hermes --reasoning-parser qwen3 "
    "--enable-prompt-tokens-details --no-enable-log-requests --disable-uvicorn-access-log"
)


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def metrics() -> str:
    return (RECORDED / "metrics.txt").read_text(encoding="utf-8")


def test_the_command_on_a_gpu() -> None:
    launch = VLLM.render(qwen3("vllm"), PLACE)
    assert " ".join(launch.shown) == ON_A_GPU
    assert launch.argv[1:3] == ("serve", "/m")
    assert launch.env == {"VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1"}


def test_the_command_on_a_cpu() -> None:
    launch = VLLM.render(qwen3("vllm", {"threads": 2, "cuda_graphs": None}), PLACE)
    assert " ".join(launch.shown) == ON_A_CPU
    assert launch.env["OMP_NUM_THREADS"] == "2" and launch.env["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        ({"kv_cache_tokens": 65540}, "blocks of 16 tokens; kv_cache_tokens 65540 is no multiple"),
        ({"kv_cache_tokens": 65552, "threads": 2}, "blocks of 32 tokens"),
        ({"kv_cache_tokens": 2048}, "cannot hold one sequence of context_limit 4096"),
        ({"chunked_prefill": False, "max_batched_tokens": 2048}, "at least context_limit 4096, got 2048"),
        ({"max_batched_tokens": 32}, "at least max_num_seqs 64, got 32"),
        ({"speculative": "ngram"}, "needs speculative_tokens"),
    ],
)
def test_what_vllm_would_refuse_is_refused_before_it_is_launched(profile: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParamsError, match=sentence):
        VLLM.render(qwen3("vllm", profile), PLACE)


def test_a_model_with_latent_attention_gets_the_blocks_its_kernels_take() -> None:
    launch = VLLM.render(qwen3("vllm", model=MODEL.model_copy(update={"family": "deepseek-r1"})), PLACE)
    assert "--block-size 64 --num-gpu-blocks-override 1025" in " ".join(launch.shown)


def test_on_a_cpu_a_kv_format_of_its_own_is_refused() -> None:
    formats = Quantization(weights="BF16", activations="BF16", kv_cache="F16")
    with pytest.raises(ParamsError, match="no KV cache format F16 here"):
        VLLM.render(qwen3("vllm", {"threads": 2, "cuda_graphs": None}, quantization=formats), PLACE)


def test_everything_a_real_server_told_is_read_back_in_the_labs_words() -> None:
    answers = {
        "GET /server_info?config_format=json": recorded("server_info"),
        "GET /metrics": metrics(),
        "GET /v1/models": recorded("models"),
    }
    with Told(answers) as server:
        found = {e.condition: e.value for e in VLLM.read_back(server.endpoint, LOG)}
    assert found == {
        Condition.COMPUTE_DTYPE: "bfloat16",
        Condition.KV_CACHE_DTYPE: "BF16",
        Condition.CONTEXT_LIMIT: 2048,
        Condition.KV_CACHE_TOKENS: 363 * 128,  # 364 blocks, one kept empty
        Condition.MAX_NUM_SEQS: 16,
        Condition.MAX_BATCHED_TOKENS: 2048,
        Condition.PREFIX_CACHING: True,
        Condition.CHUNKED_PREFILL: True,
        Condition.SPECULATIVE: "off",
        Condition.CUDA_GRAPHS: False,
        Condition.TORCH_COMPILE: True,
        Condition.TENSOR_PARALLEL: 1,
        Condition.PIPELINE_PARALLEL: 1,
        Condition.SAMPLING_DEFAULTS: "of the checkpoint",
        Condition.SEED: 0,
        Condition.METRICS: True,
        Condition.TELEMETRY: False,
    }


def test_without_development_mode_the_metrics_and_the_models_still_tell() -> None:
    with Told({"GET /metrics": metrics(), "GET /v1/models": recorded("models")}) as server:
        found = {e.condition: e.value for e in VLLM.read_back(server.endpoint, "")}
    assert found == {
        Condition.CONTEXT_LIMIT: 2048,
        Condition.KV_CACHE_TOKENS: 363 * 128,
        Condition.PREFIX_CACHING: True,
        Condition.METRICS: True,
    }


def test_a_server_that_tells_nothing_leaves_everything_not_exposed_but_the_log() -> None:
    with Told({}) as server:
        assert VLLM.read_back(server.endpoint, "") == ()
        (size,) = VLLM.read_back(server.endpoint, LOG)
    assert (size.condition, size.value) == (Condition.KV_CACHE_TOKENS, 46592)


def test_the_attention_backend_is_named_by_the_log_of_a_gpu_alone() -> None:
    with Told({}) as server:
        told = "INFO Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER']."
        assert VLLM.attention_backend(server.endpoint, told) == "FLASH_ATTN"
        assert VLLM.attention_backend(server.endpoint, LOG) is None


def test_a_quantized_checkpoint_does_not_say_what_auto_means() -> None:
    info = recorded("server_info")
    info["vllm_config"]["model_config"]["quantization"] = "compressed-tensors"
    with Told({"GET /server_info?config_format=json": info}) as server:
        found = {e.condition: e.value for e in VLLM.read_back(server.endpoint, "")}
    assert Condition.KV_CACHE_DTYPE not in found


def test_layers_of_several_kinds_share_the_kv_cache_and_vllm_counts_the_tokens() -> None:
    shared = metrics().replace('kv_cache_size_tokens="46592"', 'kv_cache_size_tokens="81920"')
    with Told({"GET /metrics": shared, "GET /v1/models": recorded("models")}) as server:
        found = {e.condition: e.value for e in VLLM.read_back(server.endpoint, "")}
    assert found[Condition.KV_CACHE_TOKENS] == 81920


def test_the_phases_of_a_real_start() -> None:
    with Told({}) as server:
        phases = [(phase.name, phase.seconds) for phase in VLLM.phases(server.endpoint, LOG)]
    assert phases == [("load_weights", 0.83), ("warm_up", 1.01), ("init_engine", 52.46)]


def test_the_phases_a_gpu_adds_as_its_source_prints_them() -> None:
    log = """
    INFO [weight_utils.py:533] Time spent downloading weights for Qwen/Qwen3-8B: 93.250000 seconds
    INFO [gpu_model_runner.py:5150] Model loading took 15.27 GiB memory and 4.500000 seconds
    INFO [monitor.py:20] torch.compile took 21.75 s in total
    INFO [gpu_model_runner.py:6582] Graph capturing finished in 7 secs, took 0.59 GiB
    """
    with Told({}) as server:
        phases = [(phase.name, phase.seconds) for phase in VLLM.phases(server.endpoint, log)]
    assert phases == [("download_weights", 93.25), ("load_model", 4.5), ("compile", 21.75), ("capture_graphs", 7)]


def test_its_metrics_have_the_names_the_adapter_looks_for() -> None:
    assert {name for name in VLLM.metric_names.values() if name not in metrics()} == set()


def test_the_cache_is_reset_refused_or_has_no_way() -> None:
    with Told({"POST /reset_prefix_cache": {"success": True}}) as server:
        assert VLLM.reset_cache(server.endpoint) is True
        server.answers["POST /reset_prefix_cache"] = {"success": False}
        assert VLLM.reset_cache(server.endpoint) is False
        del server.answers["POST /reset_prefix_cache"]
        assert VLLM.reset_cache(server.endpoint) is None


def test_it_is_ready_when_health_says_so_and_tells_its_version_and_counts_tokens() -> None:
    tokens = {"count": 3, "max_model_len": 2048, "tokens": [1, 2, 3], "token_strs": None}
    with Told({"GET /health": "", "GET /version": {"version": "0.32.0"}, "POST /tokenize": tokens}) as server:
        assert VLLM.is_ready(server.endpoint)
        server.answers["GET /health"] = (503, "")
        assert not VLLM.is_ready(server.endpoint)
        assert VLLM.version(server.endpoint) == "0.32.0"
        assert VLLM.count_tokens(server.endpoint, "one two three") == 3
        assert server.asked[-1] == ("POST /tokenize", {"prompt": "one two three", "add_special_tokens": False})


@pytest.mark.parametrize(
    ("printed", "next_step"),
    [
        # printed by a real vLLM 0.32.0 on a CPU
        (
            "HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/no-such-folder'.",
            "config.json",
        ),
        (
            "User-specified max_model_len (20000) is greater than the derived max_model_len "
            "(max_position_embeddings=8192.0 or model_max_length=None in model's config.json).",
            "lower context_limit",
        ),
        ("vllm: error: unrecognized arguments: --no-such-flag 1", "another version"),
        ("RuntimeError: Failed to infer device type, please set the environment variable", "vllm-cpu"),
        (
            "ValueError: Available memory on node 0 (20.0/23.54 GiB) on startup is less than desired CPU memory "
            "utilization (0.92, 21.66 GiB).",
            "set kv_cache_tokens",
        ),
        ("No common block size for 16 (CPU_ATTN: [MultipleOf(32)])", "leave kv_cache_tokens out"),
        ("OSError: [Errno 98] Address already in use", "another port"),
        # as its source prints them
        (
            "ValueError: Free memory on device cuda:0 (8.1/79.1 GiB) on startup is less than desired GPU memory "
            "utilization (0.92, 72.8 GiB). Decrease GPU memory utilization",
            "lower memory_fraction",
        ),
        ("ValueError: No available memory for the cache blocks. Try increasing", "raise memory_fraction"),
        (
            "To serve at least one request with the model's max seq len (40960), (5.62 GiB KV cache is needed, which "
            "is larger than the available KV cache memory (4.1 GiB).",
            "lower context_limit",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "lower memory_fraction"),
        ("max_num_batched_tokens (2048) is smaller than max_model_len (4096).", "turn chunked_prefill on"),
        ("ValueError: Unknown quantization method: gguf. Must be one of", "weights of another quantization"),
        ("ValueError: awq quantization is currently not supported in cpu.", "weights of another quantization"),
        ("Model architectures ['FooForCausalLM'] are not supported for now.", "another engine"),
        ("KeyError: 'invalid tool call parser: qwen (chose from { hermes })'", "parsers.py"),
    ],
)
def test_an_end_is_explained_by_its_own_words_with_the_setting_to_change(printed: str, next_step: str) -> None:
    failure = VLLM.explain_end(f"INFO starting\n{printed}\nRuntimeError: Engine core initialization failed.\n")
    assert failure is not None and next_step in failure.next_step


def test_an_end_it_does_not_know_stays_unexplained() -> None:
    assert VLLM.explain_end(LOG) is None


def test_a_request_carries_every_sampling_value_and_its_exact_length() -> None:
    spec = qwen3("vllm")
    assert VLLM.sampling_fields(spec.sampling).not_expressible == ()
    assert VLLM.length_fields(5, exact=True).body == {"max_tokens": 5, "ignore_eos": True}
