"""The exact command of every adapter: golden, so that a change of a flag is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.conditions import Condition
from lab.endpoint import Endpoint
from lab.engines import ENGINES, Adapter, adapter_for
from lab.engines.base import Place
from lab.engines.xllamacpp_server import parse
from lab.errors import ParamsError
from lab.plan import load_plan
from lab.records import How
from lab.spec import Quantization, RunSpec

LLAMA = (
    "python -m lab.engines.xllamacpp_server -m <model> --alias SmolLM2-135M-Instruct --host 127.0.0.1 --port <port> "
    "-t 2 --fit off --cache-ram 0 -ctk f16 -ctv f16 -c 4096 -np 4 --cache-prompt --metrics"
)
REFERENCE = (
    "lab reference-engine --host 127.0.0.1 --port <port> --model seeded words --ttft-s 0.05 --tick-s 0.02 "
    "--prefill-s-per-token 0.0001 --context-limit 1024 --no-prefix-caching"
)


def at(weights: str | None, port: int = 1) -> Place:
    return Place(Path(weights) if weights else None, port, Path("/bundle"))


def suited(adapter: Adapter, spec: RunSpec) -> RunSpec:
    """A spec the adapter can be launched with: its weights format, and formats every engine has."""
    model = spec.model.model_copy(update={"weights_format": adapter.weights_formats[0]})
    profile = spec.profile.model_copy(update={"threads": None})
    formats = Quantization(weights="BF16", activations="BF16", kv_cache="BF16")
    return spec.model_copy(update={"model": model, "profile": profile, "quantization": formats})


@pytest.fixture
def specs(plan_folder: Path) -> dict[str, RunSpec]:
    return {run.spec.profile.name: run.spec for run in load_plan(plan_folder / "harness-check.yaml").runs}


def test_llamacpp(specs: dict[str, RunSpec]) -> None:
    launch = adapter_for("llama.cpp").render(specs["prefix-cache-on"], at("/models/a.gguf", 8123))
    assert " ".join(launch.shown) == LLAMA
    assert launch.argv[1:5] == ("-m", "lab.engines.xllamacpp_server", "-m", "/models/a.gguf")
    options = parse(list(launch.argv[3:]))  # the server's own parser takes every flag
    assert (options.port, options.ctx_size, options.parallel, options.cache_prompt) == (8123, 4096, 4, True)


def test_one_field_of_the_profile_changes_one_flag(specs: dict[str, RunSpec]) -> None:
    on, off = (
        adapter_for("llama.cpp").render(specs[name], at("/m")).shown for name in ("prefix-cache-on", "prefix-cache-off")
    )
    assert [(a, b) for a, b in zip(on, off, strict=True) if a != b] == [("--cache-prompt", "--no-cache-prompt")]


def test_reference(specs: dict[str, RunSpec]) -> None:
    launch = adapter_for("reference").render(specs["known-timing"], at(None, 8123))
    assert " ".join(launch.shown) == REFERENCE


def test_what_cannot_be_said_to_an_engine_is_refused(specs: dict[str, RunSpec]) -> None:
    spec = specs["prefix-cache-on"]

    def changed(**changes: Any) -> RunSpec:
        return spec.model_copy(update={"profile": spec.profile.model_copy(update=changes)})

    adapter = adapter_for("llama.cpp")
    with pytest.raises(ParamsError, match="no launch setting 'tick_s'"):
        adapter.render(changed(tick_s=1.0), at("/m"))
    with pytest.raises(ParamsError, match="less than the context limit"):
        adapter.render(changed(kv_cache_tokens=2048), at("/m"))


def test_sampling_is_sent_under_the_engines_own_names(specs: dict[str, RunSpec]) -> None:
    sampling = specs["prefix-cache-on"].sampling
    fields = adapter_for("llama.cpp").sampling_fields(sampling)
    assert fields.body["repeat_penalty"] == 1.0
    assert fields.not_expressible == ()
    assert set(adapter_for("reference").sampling_fields(sampling).body) == set(type(sampling).model_fields)


def test_an_engine_without_a_launcher_says_so() -> None:
    with pytest.raises(ParamsError, match="no launcher for TGI"):
        adapter_for("TGI")
    assert adapter_for("llama-server") is ENGINES["llama.cpp"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("tensorrt-llm", "trtllm"),
        ("TensorRT-LLM", "trtllm"),
        ("trtllm-engine", "trtllm-engine"),
        ("TRTLLM-Engine", "trtllm-engine"),
        ("spark", "atlas"),
        ("Atlas", "atlas"),
    ],
)
def test_an_engine_is_found_by_the_names_people_use(name: str, key: str) -> None:
    assert adapter_for(name).key == key


@pytest.mark.parametrize("adapter", ENGINES.values(), ids=ENGINES)
def test_every_condition_has_one_answer_and_what_is_not_set_has_a_reason(
    adapter: Adapter, specs: dict[str, RunSpec]
) -> None:
    launch = adapter.render(suited(adapter, specs["prefix-cache-on"]), at("/m"))
    assert [setting.condition for setting in launch.settings] == list(Condition)
    for setting in launch.settings:
        if setting.how is How.SET:
            assert setting.words or setting.note, setting
        elif setting.how in (How.IMPOSED, How.NOT_EXPRESSIBLE):
            assert setting.note, setting
        assert (setting.wanted is None) or setting.how is not How.LEFT or setting.note, setting


@pytest.mark.parametrize("adapter", ENGINES.values(), ids=ENGINES)
def test_no_path_of_this_machine_stands_in_the_command_that_is_shown(
    adapter: Adapter, specs: dict[str, RunSpec]
) -> None:
    place = Place(Path("/secret/weights"), 1, Path("/secret/bundle"), Path("/secret/t.jinja"), Path("/secret/artefact"))
    launch = adapter.render(suited(adapter, specs["prefix-cache-on"]), place)
    said = [*launch.shown, *(word for setting in launch.settings for word in setting.words)]
    assert not [word for word in said if "secret" in word]


NATIVE = frozenset(
    "-m --alias --host --port -t --fit --cache-ram -ctk -ctv -c -np -b --cache-prompt --no-cache-prompt "
    "--metrics --chat-template-file".split()
)
"""Options of llama-server b11434 that the adapter may use, transcribed: no program was at hand to ask."""


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A llama-server program that is named; it is there and does nothing."""
    server = tmp_path / "llama-server"
    server.write_text("#!/bin/sh\n", encoding="utf-8")
    server.chmod(0o755)
    monkeypatch.setenv("LAB_LLAMA_SERVER", str(server))
    return str(server)


def test_a_llama_server_that_is_named_is_launched_and_the_command_says_so(
    native: str, specs: dict[str, RunSpec]
) -> None:
    adapter = adapter_for("llama.cpp")
    spec = specs["prefix-cache-off"]
    profile = spec.profile.model_copy(update={"max_batched_tokens": 512, "cuda_graphs": False})
    spec = spec.model_copy(update={"profile": profile})
    place = Place(Path("/models/a.gguf"), 8123, Path("/bundle"), chat_template=Path("/models/t.jinja"))
    launch = adapter.render(spec, place)
    assert (launch.argv[0], launch.shown[0]) == (native, "llama-server")
    assert {word for word in launch.argv if word.startswith("-")} <= NATIVE
    assert launch.env == {"GGML_CUDA_DISABLE_GRAPHS": "1"}
    assert adapter.installed() is None


def test_the_wheel_computes_on_the_cpu_and_a_build_of_its_own_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_LLAMA_SERVER", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert adapter_for("llama.cpp").computes_on_cpu()
    monkeypatch.setenv("LAB_LLAMA_SERVER", "/opt/llama-server")
    assert not adapter_for("llama.cpp").computes_on_cpu()
    assert not adapter_for("nim", attached=True, behind="vllm").computes_on_cpu()


def test_a_llama_server_that_is_named_and_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_LLAMA_SERVER", "/nowhere/llama-server")
    assert "names /nowhere/llama-server, which is no program here" in (adapter_for("llama.cpp").installed() or "")


def test_llamacpp_tells_how_long_it_loaded() -> None:
    log = (
        "0.00.014.050 I srv          init: loading model\n"
        "0.00.014.125 I srv    load_model: loading model '/m.gguf'\n"
        "1.05.425.778 I srv          init: model loaded\n"
    )
    (phase,) = adapter_for("llama.cpp").phases(Endpoint("http://127.0.0.1:9"), log)
    assert (phase.name, phase.source) == ("load_model", "log")
    assert phase.seconds == pytest.approx(65.411728)
    assert adapter_for("llama.cpp").phases(Endpoint("http://127.0.0.1:9"), "") == ()
