"""SGLang: its exact command, and what is read from answers in the shape its source gives them (imitation)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.conditions import Condition
from lab.engines import ENGINES
from lab.engines.base import Place
from lab.errors import ParamsError
from tests.engines.qwen3 import qwen3
from tests.engines.told import Told

SGLANG = ENGINES["sglang"]
PLACE = Place(Path("/m"), 8123, Path("/bundle"))

COMMAND = (
    "sglang serve --model-path <model> --served-model-name Qwen3-8B --host 127.0.0.1 --port <port> --dtype bfloat16 "
    "--kv-cache-dtype bfloat16 --context-length 4096 --max-total-tokens 65536 --max-running-requests 64 "
    "--max-prefill-tokens 8192 --chunked-prefill-size 8192 --disable-radix-cache --cuda-graph-backend-decode full "
    "--tp-size 1 --pp-size 1 --sampling-defaults openai --random-seed 7 --tool-call-parser qwen "
    "--reasoning-parser qwen3 --enable-metrics --enable-cache-report --log-level-http warning"
)

INFO: dict[str, Any] = {
    "version": "0.5.23",
    "dtype": "bfloat16",
    "kv_cache_dtype": "auto",
    "context_length": 4096,
    "mem_fraction_static": 0.85,
    "chunked_prefill_size": 8192,
    "max_prefill_tokens": 16384,
    "disable_radix_cache": True,
    "speculative_algorithm": None,
    "cuda_graph_config": {"decode": {"backend": "full", "max_bs": 64}, "prefill": {"backend": "disabled"}},
    "enable_torch_compile": False,
    "tp_size": 1,
    "pp_size": 1,
    "sampling_defaults": "openai",
    "random_seed": 7,
    "grammar_backend": "xgrammar",
    "enable_metrics": True,
    "log_requests": False,
    "max_total_num_tokens": 65536,
    "max_req_input_len": 4090,
    "internal_states": [{"effective_max_running_requests_per_dp": 64, "memory_usage": {"token_capacity": 65536}}],
    "startup_time": {
        "load_weight": 3.5,
        "kv_cache_allocation": 0.25,
        "scheduler_e2e": 20.0,
        "cuda_graph": {"target_decode": 6.5, "target_prefill": 0.0},
        "tokenizer_e2e": 22.0,
    },
}
LOG = """
[2026-11-29 10:00:00] Load weight end. elapsed=3.50 s, type=Qwen3ForCausalLM, avail mem=60.00 GB, mem usage=15.27 GB.
[2026-11-29 10:00:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 65536, K size: 4.50 GB, V size: 4.50 GB
[2026-11-29 10:00:08] max_total_num_tokens=65536, chunked_prefill_size=8192, max_prefill_tokens=8192, \
max_running_requests=64, context_len=4096, available_gpu_mem=50.00 GB
[2026-11-29 10:00:10] The server is fired up and ready to roll!
"""


def test_the_command() -> None:
    launch = SGLANG.render(qwen3("sglang"), PLACE)
    assert " ".join(launch.shown) == COMMAND
    assert launch.argv[1:4] == ("serve", "--model-path", "/m")


def test_what_is_off_is_said_where_there_is_a_word_for_it() -> None:
    off = {"prefix_caching": True, "chunked_prefill": False, "cuda_graphs": False, "torch_compile": True}
    words = " ".join(SGLANG.render(qwen3("sglang", off), PLACE).shown)
    assert "--max-prefill-tokens 8192 --chunked-prefill-size -1 " in words
    assert "--cuda-graph-backend-decode disabled --cuda-graph-backend-prefill disabled --enable-torch-compile" in words
    assert "--disable-radix-cache" not in words


def test_what_cannot_be_served_is_refused_before_it_is_launched() -> None:
    with pytest.raises(ParamsError, match="cannot hold one sequence of context_limit 4096"):
        SGLANG.render(qwen3("sglang", {"kv_cache_tokens": 2048}), PLACE)
    with pytest.raises(ParamsError, match="needs speculative_tokens"):
        SGLANG.render(qwen3("sglang", {"speculative": "ngram"}), PLACE)


def test_a_request_is_written_as_sglang_takes_it() -> None:
    sampling = qwen3("sglang").sampling
    fields = SGLANG.sampling_fields(sampling)
    assert fields.body["top_k"] == -1  # it refuses 0
    assert SGLANG.sampling_fields(sampling.model_copy(update={"top_k": 5})).body["top_k"] == 5
    assert fields.not_expressible == ("seed",)  # taken, and without effect


def test_everything_it_tells_is_read_back_in_the_labs_words() -> None:
    with Told({"GET /server_info": INFO}) as server:
        effective = SGLANG.read_back(server.endpoint, LOG)
    found = {e.condition: e.value for e in effective}
    assert found == {
        Condition.COMPUTE_DTYPE: "bfloat16",
        Condition.KV_CACHE_DTYPE: "BF16",  # asked for auto, told by the log
        Condition.CONTEXT_LIMIT: 4096,
        Condition.KV_CACHE_TOKENS: 65536,
        Condition.MEMORY_FRACTION: 0.85,
        Condition.MAX_NUM_SEQS: 64,
        Condition.MAX_BATCHED_TOKENS: 8192,
        Condition.PREFIX_CACHING: False,
        Condition.CHUNKED_PREFILL: True,
        Condition.SPECULATIVE: "off",
        Condition.CUDA_GRAPHS: True,
        Condition.TORCH_COMPILE: False,
        Condition.TENSOR_PARALLEL: 1,
        Condition.PIPELINE_PARALLEL: 1,
        Condition.SAMPLING_DEFAULTS: "neutral",
        Condition.SEED: 7,
        Condition.GRAMMAR_BACKEND: "xgrammar",
        Condition.METRICS: True,
        Condition.REQUEST_LOG: False,
    }


def test_it_names_its_attention_backend() -> None:
    with Told({"GET /server_info": {"attention_backend": "torch_native"}}) as server:
        assert SGLANG.attention_backend(server.endpoint, LOG) == "torch_native"
    with Told({}) as server:
        assert SGLANG.attention_backend(server.endpoint, LOG) is None


def test_settings_that_are_off_are_read_back_as_off() -> None:
    off = {
        "chunked_prefill_size": -1,
        "speculative_algorithm": "NGRAM",
        "cuda_graph_config": {"decode": {"backend": "disabled"}},
        "sampling_defaults": "model",
        "kv_cache_dtype": "fp8_e4m3",
    }
    with Told({"GET /server_info": INFO | off}) as server:
        found = {e.condition: e.value for e in SGLANG.read_back(server.endpoint, "")}
    assert found[Condition.CHUNKED_PREFILL] is False and found[Condition.MAX_BATCHED_TOKENS] == 16384
    assert found[Condition.SPECULATIVE] == "ngram" and found[Condition.CUDA_GRAPHS] is False
    assert found[Condition.SAMPLING_DEFAULTS] == "of the checkpoint" and found[Condition.KV_CACHE_DTYPE] == "FP8"


def test_without_server_info_its_log_tells_the_limits() -> None:
    with Told({}) as server:
        assert SGLANG.read_back(server.endpoint, "") == ()
        found = {e.condition: e.value for e in SGLANG.read_back(server.endpoint, LOG)}
    assert found == {
        Condition.KV_CACHE_DTYPE: "BF16",
        Condition.CONTEXT_LIMIT: 4096,
        Condition.KV_CACHE_TOKENS: 65536,
        Condition.MAX_NUM_SEQS: 64,
    }


def test_the_phases_of_its_start_are_those_it_tells_and_what_it_did_not_do_is_left_out() -> None:
    with Told({"GET /server_info": INFO}) as server:
        phases = [(phase.name, phase.seconds, phase.source) for phase in SGLANG.phases(server.endpoint, LOG)]
    assert phases == [
        ("load_weights", 3.5, "endpoint"),
        ("allocate_kv_cache", 0.25, "endpoint"),
        ("capture_graphs.target_decode", 6.5, "endpoint"),
        ("scheduler", 20.0, "endpoint"),
        ("tokenizer", 22.0, "endpoint"),
    ]


def test_ready_is_asked_on_the_path_that_generates_nothing() -> None:
    with Told({"GET /ready": (503, ""), "GET /health": ""}) as server:
        assert not SGLANG.is_ready(server.endpoint)
        server.answers["GET /ready"] = ""
        assert SGLANG.is_ready(server.endpoint)
        assert [route for route, _ in server.asked] == ["GET /ready", "GET /ready"]
        del server.answers["GET /ready"]  # an older one: /health tells
        assert SGLANG.is_ready(server.endpoint)


def test_the_cache_is_flushed_or_not_while_requests_are_running() -> None:
    with Told({"POST /flush_cache": "Cache flushed.\n"}) as server:
        assert SGLANG.reset_cache(server.endpoint) is True
        server.answers["POST /flush_cache"] = (400, "Flush cache failed.\n")
        assert SGLANG.reset_cache(server.endpoint) is False


def test_it_tells_its_version_and_counts_tokens() -> None:
    with Told({"GET /server_info": INFO, "POST /tokenize": {"tokens": [1, 2], "count": 2}}) as server:
        assert SGLANG.version(server.endpoint) == "0.5.23"
        assert SGLANG.count_tokens(server.endpoint, "one two") == 2


@pytest.mark.parametrize(
    ("printed", "next_step"),
    [
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "raise memory_fraction"),
        (
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.3. Raise",
            "raise memory_fraction",
        ),
        ("Exception: Capture cuda graph failed: CUDA out of memory", "lower memory_fraction or max_num_seqs"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "kv_cache_tokens"),
        (
            "ValueError: Warning: User-specified context_length (99999) is greater than the derived context_length "
            "(40960).",
            "lower context_limit",
        ),
        (
            "[Errno 98] error while attempting to bind on address ('127.0.0.1', 1): address already in use",
            "another port",
        ),
        ("HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name'", "config.json"),
        ("ValueError: Invalid quantization method: foo. Available methods: ['fp8']", "another quantization"),
        ("sglang: error: unrecognized arguments: --foo", "another version"),
    ],
)
def test_an_end_is_explained_by_its_own_words_with_the_setting_to_change(printed: str, next_step: str) -> None:
    failure = SGLANG.explain_end(f"{LOG}\n{printed}\n")
    assert failure is not None and next_step in failure.next_step
    assert SGLANG.explain_end(LOG) is None
