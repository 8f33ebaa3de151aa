"""Plans with engines that run already: what they become, and the sentence each mistake gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import ParamsError
from lab.plan import RunPlan, find_problems, find_weights, load_plan
from tests.conftest import SMALL_PLAN
from tests.engines.imitations.engines import LlamaServer, Ollama
from tests.engines.imitations.gateways import Litellm

MODEL = "smollm2-135m-instruct-q4_1"
SERIES = "SmolLM2-135M-Instruct"
CHECK = (
    SMALL_PLAN.replace("model: none", f"model: {MODEL}").partition("instrument_check")[0] + "pipeline_check:\n  runs:\n"
)


def attached(folder: Path, *runs: str, more: str = "") -> RunPlan:
    """The small plan with these runs, read."""
    path = folder / "attached.yaml"
    path.write_text(more + CHECK + "".join(f"    - {run}\n" for run in runs), encoding="utf-8")
    return load_plan(path)


def test_an_attached_run_keeps_the_root_of_its_engine_and_needs_no_profile(plan_folder: Path) -> None:
    (run,) = attached(plan_folder, "{engine: llama-server, url: 'http://127.0.0.1:8080/v1/'}").runs
    assert run.url == "http://127.0.0.1:8080"
    assert (run.spec.engine, run.spec.attached, run.spec.profile.name) == ("llama.cpp", True, "as-found")
    assert find_weights(run) is None


def test_the_profile_of_an_attached_run_declares_how_it_was_launched(plan_folder: Path) -> None:
    line = "{engine: llama.cpp, profile: prefix-cache-on, set: {max_num_seqs: 2}, url: 'http://h:8080', served_as: x}"
    spec = attached(plan_folder, line).runs[0].spec
    assert (spec.profile.prefix_caching, spec.profile.max_num_seqs, spec.served_as) == (True, 2, "x")


def test_the_engine_inside_ollama_is_known(plan_folder: Path) -> None:
    assert attached(plan_folder, "{engine: Ollama, url: 'http://h:11434'}").runs[0].spec.behind == "llama.cpp"


def test_a_gateway_is_a_condition_and_not_the_engine(plan_folder: Path) -> None:
    (run,) = attached(plan_folder, "{engine: llama.cpp, gateway: KServe, url: 'http://h:8080/openai/v1'}").runs
    assert (run.spec.engine, run.spec.gateway, run.url) == ("llama.cpp", "kserve", "http://h:8080")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{engine: litellm, url: 'http://h:4000'}", "LiteLLM stands in front of an engine"),
        ("{engine: llama.cpp, gateway: nginx, url: 'http://h:4000'}", "no gateway is called 'nginx'"),
        ("{engine: llama.cpp, profile: prefix-cache-on, gateway: litellm}", "go with url"),
        ("{engine: llama.cpp, profile: prefix-cache-on, served_as: m}", "served_as go with url"),
        ("{engine: llama.cpp}", "llama.cpp has no profile"),
        ("{engine: nim, url: 'http://h:8000'}", "holds one engine, vllm or sglang; the plan does not say which"),
        ("{engine: tgi, profile: x}", "no launcher for TGI"),
        ("{engine: llama.cpp, url: 'http://me:word@h:8080'}", "carries a user name or a password"),
        ("{engine: llama.cpp, url: 'http://h:8080/v1?key=word'}", "carries more than an address"),
        ("{engine: llama.cpp, url: 'h:8080'}", "not a URL of a server"),
    ],
)
def test_a_mistake_gets_a_sentence_that_repeats_no_secret(plan_folder: Path, line: str, words: str) -> None:
    with pytest.raises(ParamsError, match=words) as refusal:
        attached(plan_folder, line)
    assert "word" not in str(refusal.value).replace("password", "")


@pytest.mark.parametrize(
    ("more", "words"),
    [("repeats: 3\n", "3 repeats are to be fresh launches"), ("cache_tier: warm\n", "for cache_tier warm")],
)
def test_what_only_a_launch_can_give_is_refused_for_an_attached_engine(
    plan_folder: Path, more: str, words: str
) -> None:
    with pytest.raises(ParamsError, match=words):
        attached(plan_folder, "{engine: llama.cpp, url: 'http://h:8080'}", more=more)


def test_the_plan_of_a_running_engine_has_no_problem_and_needs_no_weights_here(plan_folder: Path) -> None:
    with LlamaServer(SERIES) as one, Litellm(SERIES) as other:
        direct = attached(plan_folder, f"{{engine: llama.cpp, url: '{one.url}'}}")
        assert find_problems(direct) == ()
        through = attached(plan_folder, f"{{engine: llama.cpp, gateway: litellm, url: '{other.url}'}}")
        assert find_problems(through) == ()


def test_problems_are_found_before_anything_is_measured(plan_folder: Path) -> None:
    with Ollama("smollm2:135m") as server:
        (named,) = find_problems(attached(plan_folder, f"{{engine: ollama, url: '{server.url}'}}"))
        assert f"does not serve '{SERIES}'; it serves: smollm2:135m" in named.what
        right = f"{{engine: ollama, url: '{server.url}', served_as: 'smollm2:135m'}}"
        assert find_problems(attached(plan_folder, right)) == ()
    (gone,) = find_problems(attached(plan_folder, right))
    assert "nothing answers for ollama" in gone.what
