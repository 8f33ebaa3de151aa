"""The exact command of every adapter: golden, so that a change of a flag is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.engines import ENGINES, adapter_for
from lab.engines.xllamacpp_server import parse
from lab.errors import ParamsError
from lab.plan import load_plan
from lab.spec import RunSpec

LLAMA = (
    "python -m lab.engines.xllamacpp_server -m <model> --alias SmolLM2-135M-Instruct --host 127.0.0.1 --port <port> "
    "-c 4096 -np 4 -t 2 "
    "-ctk f16 -ctv f16 --fit off --cache-ram 0 --metrics --cache-prompt"
)
REFERENCE = (
    "lab reference-engine --host 127.0.0.1 --port <port> --model seeded words --context-limit 1024 --ttft-s 0.05 "
    "--tick-s 0.02 --prefill-s-per-token 0.0001 --no-prefix-caching"
)


@pytest.fixture
def specs(plan_folder: Path) -> dict[str, RunSpec]:
    return {run.spec.profile.name: run.spec for run in load_plan(plan_folder / "harness-check.yaml").runs}


def test_llamacpp(specs: dict[str, RunSpec]) -> None:
    launch = adapter_for("llama.cpp").render(specs["prefix-cache-on"], Path("/models/a.gguf"), 8123)
    assert " ".join(launch.shown) == LLAMA
    assert launch.argv[1:5] == ("-m", "lab.engines.xllamacpp_server", "-m", "/models/a.gguf")
    options = parse(list(launch.argv[3:]))  # the server's own parser takes every flag
    assert (options.port, options.ctx_size, options.parallel, options.cache_prompt) == (8123, 4096, 4, True)


def test_one_field_of_the_profile_changes_one_flag(specs: dict[str, RunSpec]) -> None:
    on, off = (
        adapter_for("llama.cpp").render(specs[name], Path("/m"), 1).shown
        for name in ("prefix-cache-on", "prefix-cache-off")
    )
    assert [(a, b) for a, b in zip(on, off, strict=True) if a != b] == [("--cache-prompt", "--no-cache-prompt")]


def test_reference(specs: dict[str, RunSpec]) -> None:
    launch = adapter_for("reference").render(specs["known-timing"], None, 8123)
    assert " ".join(launch.shown) == REFERENCE


def test_what_cannot_be_said_to_an_engine_is_refused(specs: dict[str, RunSpec]) -> None:
    spec = specs["prefix-cache-on"]

    def changed(**changes: Any) -> RunSpec:
        return spec.model_copy(update={"profile": spec.profile.model_copy(update=changes)})

    adapter = adapter_for("llama.cpp")
    with pytest.raises(ParamsError, match="no launch setting 'tick_s'"):
        adapter.render(changed(tick_s=1.0), Path("/m"), 1)
    with pytest.raises(ParamsError, match="less than the context limit"):
        adapter.render(changed(kv_cache_tokens=2048), Path("/m"), 1)


def test_sampling_is_sent_under_the_engines_own_names(specs: dict[str, RunSpec]) -> None:
    sampling = specs["prefix-cache-on"].sampling
    fields = adapter_for("llama.cpp").sampling_fields(sampling)
    assert fields.body["repeat_penalty"] == 1.0
    assert fields.not_expressible == ()
    assert set(adapter_for("reference").sampling_fields(sampling).body) == set(type(sampling).model_fields)


def test_an_engine_without_a_launcher_says_so() -> None:
    with pytest.raises(ParamsError, match="no launcher for SGLang"):
        adapter_for("SGLang")
    assert adapter_for("llama-server") is ENGINES["llama.cpp"]
