"""Params files: what they become, and the sentence each mistake gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import LabError, ModelError, ParamsError, TooManyVaried, UndecidedPlan, UnknownKey
from lab.plan import find_problems, load_plan
from tests.conftest import SMALL_PLAN


def written(folder: Path, *changes: tuple[str, str], text: str = SMALL_PLAN) -> Path:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "changed.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_plan_of_the_main_job_has_two_matches_and_one_varied_field(plan_folder: Path) -> None:
    plan = load_plan(plan_folder / "harness-check.yaml")
    assert [(group.table, group.subject, len(group.specs)) for group in plan.groups] == [
        ("pipeline-check", "profile.prefix_caching", 2),
        ("instrument-check", None, 1),
    ]
    assert {run.spec.preparation_counts for run in plan.runs} == {True}


def test_repeats_are_interleaved(plan_folder: Path) -> None:
    text = (plan_folder / "harness-check.yaml").read_text(encoding="utf-8")
    plan = load_plan(written(plan_folder, ("repeats: 1", "repeats: 2"), text=text))
    order = [(run.spec.profile.name, run.repeat) for run in plan.runs]
    names = ["prefix-cache-on", "prefix-cache-off", "known-timing"]
    assert order == [(name, repeat) for repeat in (0, 1) for name in names]


def test_a_piece_may_be_changed_in_place_and_is_checked_like_the_file(plan_folder: Path) -> None:
    plan = load_plan(written(plan_folder, ("output_tokens: 5", "output_tokens: 7")))
    assert plan.runs[0].spec.workload.output_tokens == 7
    with pytest.raises(UnknownKey, match=r"unknown key 'output_token'\. Did you mean 'output_tokens'"):
        load_plan(written(plan_folder, ("output_tokens: 5", "output_token: 7")))


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        ("preparation_counts: true\n", "", UndecidedPlan, "has not decided whether preparation time"),
        ("preparation_counts: true", "preparation_counts:", UndecidedPlan, "has not decided"),
        ("preparation_counts: true", "preparation_counts: maybe", ParamsError, "preparation_counts: .*got 'maybe'"),
        ("quality:", "qualty:", UnknownKey, "unknown key 'qualty'. Did you mean 'quality'"),
        ("tick_s: 0.005", "tik_s: 0.005", UnknownKey, "unknown key 'tik_s'. Did you mean 'tick_s'"),
        ("engine: reference", "engine: referense", ParamsError, "did you mean 'reference'"),
        ("engine: reference", "engine: tgi", ParamsError, "no launcher for TGI"),
        ("profile: known-timing", "profile: known-timings", ParamsError, "did you mean 'known-timing'"),
        ("use: known-timing", "use: known-timin", ParamsError, r"did you mean .*known-timing\.yaml"),
        ("model: none", "model: nune", ParamsError, r"did you mean .*none\.yaml"),
        ("quality: smoke-mini", "quality: smoke-max", LabError, "smoke-mini"),
        ("context_limit: 1024", "context_limit: 100", ParamsError, "needs up to 133 tokens of context"),
        ("context_limit: 1024", "context_limit: 1024\ncontext_limit: 2", ParamsError, "'context_limit' stands twice"),
        ("temperature: 0,", "temperature: -1,", ParamsError, r"sampling\.temperature"),
        ("seed: 1}", "}", ParamsError, r"sampling\.seed: is missing"),
        ("instrument_check", "# instrument_check", ParamsError, "not valid YAML|names no runs"),
        ("concurrency: [2]", "concurrency: [0]", ParamsError, r"concurrency\.0"),
    ],
)  # fmt: skip
def test_a_mistake_gets_a_sentence(plan_folder: Path, old: str, new: str, kind: type[LabError], words: str) -> None:
    with pytest.raises(kind, match=words):
        load_plan(written(plan_folder, (old, new)))


def test_a_suite_that_does_not_fit_the_context_is_refused_before_anything_starts(plan_folder: Path) -> None:
    text = (plan_folder / "quality-check.yaml").read_text(encoding="utf-8")
    with pytest.raises(
        ParamsError, match="suite smoke needs a context of 2048 tokens; context_limit is 2047"
    ) as refusal:
        load_plan(written(plan_folder, ("context_limit: 2048", "context_limit: 2047"), text=text))
    assert refusal.value.next_step == "write context_limit: 2048 or more, or take a smaller suite"


def test_two_kv_formats_are_a_pipeline_check_and_no_comparison(plan_folder: Path) -> None:
    (group,) = load_plan(plan_folder / "quality-check.yaml").groups
    assert (group.subject, [spec.quantization.kv_cache for spec in group.specs]) == (
        "quantization.kv_cache",
        ["F16", "Q8_0"],
    )
    for engine in ("vllm", "sglang"):
        text = SMALL_PLAN.partition("instrument_check")[0] + (
            f"comparison: {{runs: [{{engine: {engine}, profile: defaults, kv_cache: FP8}}]}}\n"
        )
        with pytest.raises(ParamsError, match="kv_cache FP8: quantization is equal in this table"):
            load_plan(written(plan_folder, text=text))


def test_two_varied_things_are_named(plan_folder: Path) -> None:
    text = (plan_folder / "harness-check.yaml").read_text(encoding="utf-8")
    path = written(
        plan_folder, ("profile: prefix-cache-off}", "profile: prefix-cache-off, set: {threads: 1}}"), text=text
    )
    with pytest.raises(TooManyVaried, match=r"\(profile\.prefix_caching, profile\.threads\)"):
        load_plan(path)


def test_a_setting_an_engine_does_not_have_is_found_before_anything_starts(plan_folder: Path) -> None:
    plan = load_plan(written(plan_folder, ("tick_s: 0.005", "threads: 2")))
    assert "reference has no launch setting 'threads'" in find_problems(plan)[0].what


def test_missing_weights_name_the_command_that_fetches_them(
    plan_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "empty"))
    problems = find_problems(load_plan(plan_folder / "harness-check.yaml"))
    assert [type(problem) for problem in problems] == [ModelError]
    assert problems[0].next_step == "lab model fetch smollm2-135m-instruct-q4_1"


def test_weights_that_are_not_the_named_bytes_are_refused(
    plan_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab import weights

    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    place = weights.cached(weights.read_model("smollm2-135m-instruct-q4_1"))
    place.parent.mkdir(parents=True)
    place.write_bytes(b"GGUF, but another one")
    problems = find_problems(load_plan(plan_folder / "harness-check.yaml"))
    assert "expected sha256 b179c9523d0e6a0f" in problems[0].what


def test_a_missing_plan_names_what_is_there(plan_folder: Path) -> None:
    with pytest.raises(ParamsError, match=r"did you mean .*harness-check\.yaml"):
        load_plan(plan_folder / "harness-chek.yaml")


def test_several_problems_are_all_named(plan_folder: Path) -> None:
    text = (plan_folder / "harness-check.yaml").read_text(encoding="utf-8")
    path = written(
        plan_folder,
        ("profile: prefix-cache-on", "profile: cache"),
        ("workload: known-timing", "workload: other"),
        text=text,
    )
    with pytest.raises(ParamsError, match="2 problems") as refusal:
        load_plan(path)
    assert "no profile 'cache'" in refusal.value.what
    assert "other.yaml does not exist" in refusal.value.what
