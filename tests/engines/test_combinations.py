"""Whatever a profile decides or leaves open, the command keeps to the contract of the engine's own parser."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from lab.conditions import DECIDE, Condition
from lab.engines import ENGINES
from lab.engines.base import Place
from lab.engines.contract import read_contract
from lab.engines.parsers import PARSERS
from lab.errors import ParamsError
from lab.params import PARAMS_FOLDER, read_mapping
from lab.records import How
from lab.spec import Quantization, RunSpec
from tests.engines.qwen3 import MODEL, qwen3

SERVED = ("vllm", "sglang")
OPEN = {
    "prefix_caching": None,
    "chunked_prefill": None,
    "kv_cache_tokens": None,
    "max_num_seqs": None,
    "max_batched_tokens": None,
    "cuda_graphs": None,
    "torch_compile": None,
}
SWITCHES = (None, True, False)
AGAINST_THEIR_PARSER = [pytest.param(engine, marks=pytest.mark.conformance(engine, "parser")) for engine in SERVED]
PLACE = Place(Path("/m"), 8000, Path("/bundle"), Path("/t.jinja"))


def problems(engine: str, spec: RunSpec, place: Place = PLACE) -> tuple[str, ...]:
    """What the contract says against the command, without the program and what stands in front of the options."""
    adapter = ENGINES[engine]
    assert adapter.surface == "parser" and adapter.contract is not None
    argv = adapter.render(spec, place).argv
    return read_contract(adapter.contract).problems(argv[argv.index("serve") + (2 if engine == "vllm" else 1) :])


@pytest.mark.parametrize("engine", AGAINST_THEIR_PARSER)
def test_every_combination_of_switches_keeps_to_the_contract(engine: str) -> None:
    for cached, chunked, graphs, compiled, step in product(SWITCHES, SWITCHES, SWITCHES, SWITCHES, (None, 8192)):
        profile = {
            "prefix_caching": cached,
            "chunked_prefill": chunked,
            "cuda_graphs": graphs,
            "torch_compile": compiled,
            "max_batched_tokens": step,
        }
        assert problems(engine, qwen3(engine, OPEN | profile)) == (), profile


@pytest.mark.parametrize("engine", AGAINST_THEIR_PARSER)
@pytest.mark.parametrize(
    "profile",
    [
        {"kv_cache_tokens": 65536},
        {"max_num_seqs": 64},
        {"memory_fraction": 0.5},
        {"tensor_parallel": 4, "pipeline_parallel": 2},
        {"speculative": "ngram", "speculative_tokens": 3},
        {"grammar_backend": "xgrammar"},
        {"grammar_backend": "llguidance"},
    ],
    ids=lambda profile: "-".join(profile),
)
def test_every_value_keeps_to_the_contract_alone_and_with_all_others_decided(
    engine: str, profile: dict[str, object]
) -> None:
    assert problems(engine, qwen3(engine, OPEN | profile)) == ()
    assert problems(engine, qwen3(engine, profile)) == ()


@pytest.mark.conformance("vllm", "parser")
def test_vllm_on_a_cpu_keeps_to_the_contract() -> None:
    for tokens, fraction, graphs in product((None, 65536), (None, 0.5), SWITCHES):
        profile = {"threads": 2, "kv_cache_tokens": tokens, "memory_fraction": fraction, "cuda_graphs": graphs}
        assert problems("vllm", qwen3("vllm", OPEN | profile)) == ()


@pytest.mark.parametrize("engine", AGAINST_THEIR_PARSER)
@pytest.mark.parametrize("family", [None, *PARSERS])
def test_every_family_keeps_to_the_contract(engine: str, family: str | None) -> None:
    spec = qwen3(engine, model=MODEL.model_copy(update={"family": family}))
    assert problems(engine, spec) == ()
    assert problems(engine, spec, Place(Path("/m"), 8000, Path("/bundle"))) == ()


@pytest.mark.parametrize("engine", AGAINST_THEIR_PARSER)
@pytest.mark.parametrize("kv", ["BF16", "F16", "FP8", "FP8_E4M3", "FP8_E5M2", "NVFP4", "Q8_0"])
@pytest.mark.parametrize("activations", ["BF16", "F16", "F32", "Q8_1"])
def test_a_kv_format_keeps_to_the_contract_or_is_refused(engine: str, kv: str, activations: str) -> None:
    spec = qwen3(engine, quantization=Quantization(weights="BF16", activations=activations, kv_cache=kv))
    has_no_word = kv == "Q8_0" or (engine == "sglang" and kv == "F16" and activations != "F16")
    if has_no_word:
        with pytest.raises(ParamsError, match=f"no KV cache format {kv}"):
            ENGINES[engine].render(spec, PLACE)
    else:
        assert problems(engine, spec) == ()


@pytest.mark.parametrize("engine", AGAINST_THEIR_PARSER)
def test_what_has_to_be_decided_is_set_by_words_of_the_command(engine: str) -> None:
    settings = {setting.condition: setting for setting in ENGINES[engine].render(qwen3(engine), PLACE).settings}
    for condition in (
        Condition.COMPUTE_DTYPE,
        Condition.KV_CACHE_DTYPE,
        Condition.CONTEXT_LIMIT,
        Condition.KV_CACHE_TOKENS,
        Condition.MAX_NUM_SEQS,
        Condition.MAX_BATCHED_TOKENS,
        Condition.PREFIX_CACHING,
        Condition.SAMPLING_DEFAULTS,
        Condition.SEED,
        Condition.CHAT_TEMPLATE,
        Condition.TOOL_PARSER,
        Condition.REASONING_PARSER,
        Condition.REQUEST_LOG,
    ):
        assert settings[condition].how is How.SET and settings[condition].words, condition
    assert not [setting for setting in settings.values() if setting.how is How.NOT_EXPRESSIBLE]


@pytest.mark.parametrize("engine", ["vllm", "trtllm", "sglang", "atlas"])
def test_the_equal_profile_decides_what_engines_default_differently_and_every_column_can_be_launched_with_it(
    engine: str,
) -> None:
    shared = read_mapping(PARAMS_FOLDER / "engines" / "any.yaml")["equal"]
    assert {condition.value for condition in DECIDE} <= set(shared)
    launch = ENGINES[engine].render(qwen3(engine, OPEN | shared), PLACE)
    wanted = {setting.condition: setting.wanted for setting in launch.settings}
    assert {condition: wanted[condition] for condition in DECIDE} == {c: shared[c.value] for c in DECIDE}
