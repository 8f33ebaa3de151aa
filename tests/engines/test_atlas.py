"""Atlas: exact commands, what it imposes, and its dialect against an imitation (grade synthetic)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.conditions import Condition
from lab.engines import adapter_for
from lab.engines.base import Launch, Place
from lab.engines.contract import read_contract
from lab.engines.parsers import PARSERS
from lab.records import How, LaunchSetting, Outcome
from lab.spec import Quantization
from lab.watch import read_metrics
from tests.engines.imitations.atlas import NATURAL_LENGTH, AtlasImitation
from tests.engines.load_once import once
from tests.engines.qwen3 import MODEL, qwen3

COMMAND = (
    "spark serve <model> --model-name Qwen3-8B --bind 127.0.0.1 --port <port> --no-tui --no-auto-swap "
    "--request-timeout 0 --kv-cache-dtype bf16 --max-seq-len 4096 --max-num-seqs 64 --max-batch-size 64 "
    "--max-prefill-tokens 8192 --tp-size 1 --default-min-p 0 --default-top-n-sigma 0 --disable-template-overrides "
    "--tool-call-parser hermes --tool-max-tokens 4096"
)
ADAPTER = adapter_for("atlas")


def rendered(profile: dict[str, Any] | None = None, **changes: Any) -> Launch:
    return ADAPTER.render(qwen3("atlas", profile, **changes), Place(Path("/models/qwen"), 8123, Path("/bundle")))


def setting(condition: Condition, profile: dict[str, Any] | None = None, **changes: Any) -> LaunchSetting:
    return next(one for one in rendered(profile, **changes).settings if one.condition is condition)


def test_the_exact_command() -> None:
    launch = rendered()
    assert " ".join(launch.shown) == COMMAND
    assert launch.argv[:3] == ("spark", "serve", "/models/qwen")
    assert (launch.env, launch.files) == ({}, {})


def test_every_option_is_one_the_transcription_names() -> None:
    assert ADAPTER.surface == "unverified" and ADAPTER.contract is not None
    contract = read_contract(ADAPTER.contract)
    assert contract.read_from
    for profile in (
        {},
        {"prefix_caching": True, "chunked_prefill": False, "max_batched_tokens": None, "memory_fraction": 0.8},
        {"speculative": "ngram", "speculative_tokens": 3},
        {"max_num_seqs": None, "chunked_prefill": None, "kv_cache_tokens": None},
    ):
        assert contract.problems(rendered(profile).argv[3:]) == ()
    for engines in PARSERS.values():
        if (parsers := engines.get("atlas")) and parsers.tool:
            assert contract.problems(["--tool-call-parser", parsers.tool]) == ()


def test_what_it_imposes_or_cannot_say_is_a_footnote() -> None:
    budget = setting(Condition.KV_CACHE_TOKENS)
    assert budget.how is How.NOT_EXPRESSIBLE and "no flag" in (budget.note or "")
    assert "MODEL.toml" in (setting(Condition.SAMPLING_DEFAULTS).note or "")
    assert setting(Condition.GRAMMAR_BACKEND).how is How.IMPOSED
    assert setting(Condition.GRAMMAR_BACKEND, {"grammar_backend": "llguidance"}).how is How.NOT_EXPRESSIBLE
    assert setting(Condition.CUDA_GRAPHS, {"cuda_graphs": False}).how is How.NOT_EXPRESSIBLE
    assert setting(Condition.TENSOR_PARALLEL, {"tensor_parallel": 2}).how is How.NOT_EXPRESSIBLE
    f16 = Quantization(weights="BF16", activations="BF16", kv_cache="F16")
    assert setting(Condition.KV_CACHE_DTYPE, quantization=f16).how is How.NOT_EXPRESSIBLE
    family = MODEL.model_copy(update={"family": "llama3"})
    assert setting(Condition.TOOL_PARSER, model=family).how is How.NOT_EXPRESSIBLE


def test_the_decode_batch_is_raised_with_the_sequences() -> None:
    assert setting(Condition.MAX_NUM_SEQS).words == ("--max-num-seqs", "64", "--max-batch-size", "64")
    assert "8 decode together" in (setting(Condition.MAX_NUM_SEQS, {"max_num_seqs": None}).note or "")


def test_one_flag_serves_chunks_and_their_size() -> None:
    off = {"chunked_prefill": False}
    assert setting(Condition.CHUNKED_PREFILL, off).words == ("--max-prefill-tokens", "0")
    assert setting(Condition.MAX_BATCHED_TOKENS, off).how is How.NOT_EXPRESSIBLE
    assert rendered(off).argv.count("--max-prefill-tokens") == 1


def test_variables_of_the_template_that_it_does_not_read_are_said() -> None:
    read = qwen3("atlas", chat_template_kwargs={"enable_thinking": False})
    unread = qwen3("atlas", chat_template_kwargs={"enable_thinking": False, "mood": "calm"})
    assert ADAPTER.template_fields(read).not_expressible == ()
    assert ADAPTER.template_fields(unread).not_expressible == ("chat_template_kwargs.mood",)
    asked = setting(Condition.CHAT_TEMPLATE_KWARGS, chat_template_kwargs={"mood": "calm"})
    assert asked.how is How.NOT_EXPRESSIBLE and "ignores mood" in (asked.note or "")


def test_the_version_is_that_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with AtlasImitation() as imitation:
        assert "spark is not found" in (ADAPTER.installed() or "")
        assert ADAPTER.version(imitation.endpoint) is None  # no endpoint tells it
        (tmp_path / "spark").write_text("#!/bin/sh\necho spark 1.0.0-beta-preview\n")
        (tmp_path / "spark").chmod(0o755)
        assert ADAPTER.installed() is None
        assert ADAPTER.version(imitation.endpoint) == "1.0.0-beta-preview"


LOG = """
2026-11-02T10:00:00.000000Z  INFO spark: Port: 8888
2026-11-02T10:00:02.500000Z  INFO spark: Selected kernel target: qwen3-8b (41 modules)
2026-11-02T10:00:03.000000Z  INFO spark: OOM watchdog started (threshold: 2 GB, interval: 2s)
2026-11-02T10:00:23.000000Z  INFO spark: KV cache: 119.7 GB total → 4096 blocks × 16 tok/block = 65536 max KV tokens
2026-11-02T10:00:24.000000Z  INFO spark: Listening on 127.0.0.1:8888
"""


def test_its_log_tells_the_kv_budget_and_where_lines_carry_times_the_phases() -> None:
    with AtlasImitation() as imitation:
        found = ADAPTER.read_back(imitation.endpoint, LOG)
        assert [(one.condition, one.value) for one in found] == [(Condition.KV_CACHE_TOKENS, 65536)]
        phases = {phase.name: phase.seconds for phase in ADAPTER.phases(imitation.endpoint, LOG)}
        assert phases == {"config-and-kernels": 2.5, "weights-and-model": 20.0, "kv-cache-to-listening": 1.0}
        bare = "\n".join(line.partition("INFO ")[2] for line in LOG.splitlines())
        assert ADAPTER.phases(imitation.endpoint, bare) == ()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Error: No memory left for KV cache: total GPU = 119.7 GB, --gpu-memory-utilization 20%", "memory share"),
        ("Error: Kernel/model QUANT MISMATCH. Kernel target: gb10 (quant=nvfp4).", "quantization"),
        ("Error: No compiled kernel target matches model_type 'llama' / hidden_size=4096.", "no kernels for the model"),
    ],
)
def test_an_end_is_explained_in_its_own_words(line: str, what: str) -> None:
    failure = ADAPTER.explain_end(line)
    assert failure is not None and what in failure.what


def test_it_is_ready_when_health_says_so() -> None:
    with AtlasImitation(ready=False) as imitation:
        assert not ADAPTER.is_ready(imitation.endpoint)
        imitation.ready = True
        assert ADAPTER.is_ready(imitation.endpoint)
        assert ADAPTER.count_tokens(imitation.endpoint, "three plain words") == 3
        assert ADAPTER.reset_cache(imitation.endpoint) is None


def test_an_exact_length_is_asked_by_the_shortest_one() -> None:
    spec = qwen3("atlas")
    with AtlasImitation() as imitation:
        exact = once(ADAPTER, imitation, spec)
        assert (exact.outcome, exact.completion_tokens) == (Outcome.SUCCESS, 32)
        free = spec.model_copy(update={"workload": spec.workload.model_copy(update={"exact_output": False})})
        assert once(ADAPTER, imitation, free).completion_tokens == NATURAL_LENGTH
        assert "ignore_eos" not in imitation.asked[0] and imitation.asked[0]["seed"] == 7
        names = {sample.name for sample in read_metrics(imitation.endpoint.get("/metrics").body.decode(), 0.0)}
        assert {ADAPTER.metric_names[name] for name in ("running", "prefix_hits", "generated_tokens")} <= names


def test_an_error_inside_a_stream_is_an_error() -> None:
    with AtlasImitation() as imitation:
        imitation.in_band_error = True
        assert once(ADAPTER, imitation, qwen3("atlas")).outcome is Outcome.IN_BAND_ERROR
