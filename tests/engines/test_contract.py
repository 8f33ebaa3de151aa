"""Contracts catch what an engine's own parser would refuse, and every parser name in the table is one it knows."""

from __future__ import annotations

import pytest

from lab.engines.contract import read_contract
from lab.engines.parsers import PARSERS, parsers_for
from lab.errors import ParamsError

CONTRACTS = {"vllm": "vllm-0.32.0", "sglang": "sglang-0.5.23"}


def problems(engine: str, command: str) -> tuple[str, ...]:
    return read_contract(CONTRACTS[engine]).problems(command.split())


@pytest.mark.parametrize("engine", CONTRACTS)
def test_a_contract_is_that_of_its_file_name(engine: str) -> None:
    contract = read_contract(CONTRACTS[engine])
    assert f"{contract.engine}-{contract.version}" == CONTRACTS[engine]
    assert len(contract.by_name) == sum(len(option.names) for option in contract.options)
    assert {word.partition("=")[0] for word in (*contract.deprecated, *contract.dotted)} <= set(contract.by_name)


def test_a_good_command_has_no_problems() -> None:
    assert problems("vllm", "--port 8000 --no-enable-prefix-caching -cc.cudagraph_mode=NONE -tp 2") == ()
    assert problems("vllm", "--served-model-name=a --kv-cache-dtype fp8_e4m3 --disable-log-stats") == ()
    assert problems("sglang", "--chunked-prefill-size -1 --tool-call-parser qwen --cuda-graph-bs-decode 1 2 4") == ()


def test_an_unknown_option_is_named_with_the_nearest_known_one() -> None:
    assert problems("vllm", "--enable-prefix-cache --port 1") == (
        "vllm has no option --enable-prefix-cache; did you mean --enable-prefix-caching?",
    )
    assert problems("sglang", "--wholly-foreign 4 --port 1") == ("sglang has no option --wholly-foreign",)


def test_a_value_outside_the_list_is_named() -> None:
    assert problems("sglang", "--kv-cache-dtype float16") == (
        "--kv-cache-dtype does not take 'float16'; did you mean bfloat16?",
    )
    assert problems("vllm", "--tool-call-parser qwen25") == ("--tool-call-parser does not take 'qwen25'",)


def test_a_missing_value_and_one_too_many_are_named() -> None:
    assert problems("vllm", "--port --enforce-eager") == ("--port needs a value",)
    assert problems("vllm", "--port") == ("--port needs a value",)
    assert problems("vllm", "--enforce-eager=1") == ("--enforce-eager takes no value",)
    assert problems("vllm", "--port 8000 8001") == ("'8001' stands where an option is expected",)
    assert problems("vllm", "--port.x 1") == ("--port is not given key by key",)


def test_what_the_engine_calls_deprecated_is_named() -> None:
    assert problems("sglang", "--disable-cuda-graph") == ("--disable-cuda-graph is deprecated",)
    assert problems("sglang", "--tool-call-parser qwen25") == ("--tool-call-parser qwen25 is deprecated",)


@pytest.mark.parametrize("engine", CONTRACTS)
@pytest.mark.parametrize("family", PARSERS)
def test_every_parser_of_the_table_is_one_its_engine_knows(engine: str, family: str) -> None:
    parsers = parsers_for(family, engine)
    assert parsers is not None
    for option, name in (("--tool-call-parser", parsers.tool), ("--reasoning-parser", parsers.reasoning)):
        if name is not None:
            assert problems(engine, f"{option} {name}") == ()


def test_a_family_nobody_has_listed_is_refused_with_the_nearest() -> None:
    with pytest.raises(ParamsError, match="did you mean 'qwen3'"):
        parsers_for("qwen-3", "vllm")
    assert parsers_for("qwen3", "reference") is None
