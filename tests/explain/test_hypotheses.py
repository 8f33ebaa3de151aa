"""Claims of the texts: a verdict only where evidence may carry one, and never without an interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.errors import ParamsError, UnknownKey
from lab.explain.hypotheses import Hypothesis, Judged, judge, pick, plan_text, read_hypotheses, write_plan
from lab.params import PARAMS_FOLDER
from lab.plan import load_plan
from lab.publish.evidence import PublicRun
from lab.report.build import build_pages
from lab.report.hypotheses import claims_table, hypotheses_table, measured, unmeasured
from lab.report.messages import LANGS, messages
from tests.report.report_examples import level, run, workload

CLAIMS = read_hypotheses()
HALF = workload(input_tokens=128, shared_prefix_tokens=64)


def launches(profile: str, *ttft: float, engine: str = "P", **changes: Any) -> list[PublicRun]:
    """Fresh launches of one profile; TTFT at concurrency 1 and 4, in seconds."""
    return [
        run(engine, profile, str(place), workload=HALF, levels=[level(1, 100.0, one), level(4, 300.0, one)], **changes)
        for place, one in enumerate(ttft)
    ]


def caching(on: bool, *ttft: float, **changes: Any) -> list[PublicRun]:
    return launches("base" if on else "off", *ttft, **changes)  # base has prefix caching on, every other has it off


def said_of(name: str, *runs: PublicRun) -> Judged:
    (one,) = judge([pick(name, CLAIMS)], runs)
    return one


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((0.100, 0.101, 0.099), (0.050, 0.051, 0.049), "holds"),  # −50 %, asked: at least −10 %
        ((0.100, 0.101, 0.099), (0.099, 0.100, 0.098), "does-not-hold"),  # −1 %
        ((0.100, 0.101, 0.099), (0.200, 0.201, 0.199), "does-not-hold"),  # it rises
        ((0.100, 0.200, 0.050), (0.060, 0.120, 0.020), "undecided"),  # launches lie too far apart
        ((0.100,), (0.050,), "undecided"),  # one launch has no interval
    ],
)
def test_a_verdict_needs_the_whole_interval(before: tuple[float, ...], after: tuple[float, ...], verdict: str) -> None:
    one = said_of("prefix-sharing", *caching(False, *before), *caching(True, *after))
    assert one.verdict == verdict
    assert one.values == ("false", "true")
    assert one.levels == ("1", "1")
    assert one.effect == pytest.approx(100 * (sum(after) / sum(before) - 1))
    assert (one.interval is None) is (len(before) == 1)
    assert one.launches == len(before)


@pytest.mark.parametrize(
    ("engine", "grade", "reason"),
    [
        ("llama.cpp", "harness-check", "no-gpu-seen"),
        ("vllm", "synthetic", "generated"),  # an invented number beside a real name
        ("P", "imported", "imported"),
    ],
)
def test_evidence_that_carries_no_claim_is_an_observation_without_a_verdict(
    engine: str, grade: str, reason: str
) -> None:
    label = {"engine": engine, "grade": grade, "grade_reason": reason}
    one = said_of("prefix-sharing", *caching(False, 0.100, 0.101, **label), *caching(True, 0.050, 0.051, **label))
    assert one.verdict == "observation"
    assert one.effect == pytest.approx(-49.75, abs=0.01)
    for lang in LANGS:
        t = messages(lang)
        row = hypotheses_table([one], t).rows[0].cells[-1].lines
        assert [line.text for line in row] == [t("hypothesis-verdict-observation"), t(f"grade-{grade}")]


def test_a_real_gpu_run_gives_a_verdict() -> None:
    label = {"engine": "vllm", "grade": "real-gpu", "grade_reason": "nvml"}
    slow, quick = caching(False, 0.100, 0.101, 0.099, **label), caching(True, 0.050, 0.051, 0.049, **label)
    assert said_of("prefix-sharing", *slow, *quick).verdict == "holds"
    one_weak = [*quick[:2], quick[2].model_copy(update={"grade": "harness-check", "grade_reason": "no-gpu-seen"})]
    assert said_of("prefix-sharing", *slow, *one_weak).lacks == "not-comparable"  # grades are never mixed


def test_outside_its_condition_a_claim_is_not_tested() -> None:
    nothing = {"workload": workload(shared_prefix_tokens=0)}
    runs = [one.model_copy(update={"workload": run(**nothing).workload})
            for one in (*caching(False, 0.1, 0.1), *caching(True, 0.05, 0.05))]  # fmt: skip
    assert (said_of("prefix-sharing", *runs).verdict, said_of("prefix-sharing", *runs).lacks) == (
        "not-measured",
        "condition",
    )
    assert said_of("prefix-sharing-costs-nothing", *runs).verdict == "holds"  # output is the same everywhere


def test_two_things_that_differ_test_nothing() -> None:
    wider = [one.model_copy(update={"profile": one.profile.model_copy(update={"max_num_seqs": 8})})
             for one in caching(True, 0.05, 0.05)]  # fmt: skip
    runs = [*caching(False, 0.1, 0.1), *wider]
    assert said_of("prefix-sharing", *runs).lacks == "not-comparable"
    assert said_of("prefix-sharing", *caching(True, 0.05)).lacks == "no-pair"
    assert said_of("prefix-sharing").lacks == "no-pair"


def test_runs_of_two_matches_are_never_set_side_by_side() -> None:
    far = caching(True, 0.05, 0.05, match_id="m-000000000000")
    assert said_of("prefix-sharing", *caching(False, 0.1, 0.1), *far).lacks == "no-pair"


def test_a_cold_start_stands_beside_a_warm_one_though_they_are_two_matches() -> None:
    def starts(tier: str, match: str, *seconds: float) -> list[PublicRun]:
        return [
            run("P", "base", f"{tier}{place}", cache_tier=tier, match_id=match, spec_digest="s-" + match[2:] + "0000",
                preparation={"build_s": None, "startup_s": one, "first_request_s": 1.0, "cache_state": tier})
            for place, one in enumerate(seconds)
        ]  # fmt: skip

    cold, warm = starts("disk-cold", "m-000000000001", 79.0, 80.0, 78.0), starts("warm", "m-000000000002", 19.0, 20.0)
    one = said_of("cold-start", *cold, *warm)
    assert (one.values, one.before, one.after, one.verdict) == (("disk-cold", "warm"), 80.0, 20.5, "holds")
    other = [each.model_copy(update={"context_limit": 99}) for each in warm]
    assert said_of("cold-start", *cold, *other).lacks == "not-comparable"


def test_load_varies_within_a_run() -> None:
    one = said_of("batching", *caching(True, 0.05, 0.05))
    assert (one.levels, one.effect, one.verdict) == (("1", "4"), pytest.approx(200), "holds")
    alone = run(levels=[level(4, 300.0)], workload=workload(concurrency=[4]))
    assert said_of("batching", alone).lacks == "no-level"
    assert said_of("no-batching-on-atlas", alone).lacks == "condition"


def test_a_level_that_must_not_be_read_is_not_read() -> None:
    late = [{"code": "schedule-lag", "value": 0.4, "limit": 0.01}]
    broken = level(1, 100.0, 0.05, concerns=late)
    runs = [run("P", "off", levels=[broken], workload=HALF), *caching(True, 0.05)]
    assert said_of("prefix-sharing", *runs).lacks == "no-level"


@pytest.mark.parametrize(("invalid", "verdict"), [(0, "holds"), (1, "does-not-hold")])
def test_one_broken_answer_is_enough_against_a_guarantee(invalid: int, verdict: str) -> None:
    schema = workload(content="structured-output", source_sha256="0" * 64, input_tokens=None, shared_prefix_tokens=0,
                      exact_output=False)  # fmt: skip
    counts = {"valid": 11, "invalid": invalid, "truncated": 3}
    runs = run(levels=[level(1, 100.0, structured=counts)], workload=schema,
               checks=[{"name": "json-schema", "result": "pass"}])  # fmt: skip
    one = said_of("schema-is-kept", runs)
    assert (one.verdict, one.effect, one.items) == (verdict, invalid, 11 + invalid)


def test_engines_are_set_side_by_side_only_where_the_text_does() -> None:
    assert {one.name: one.ends for one in CLAIMS if one.varies == "engine"} == {
        "build-costs-preparation": (("trtllm", "trtllm-engine"),),
        "build-pays-in-throughput": (("vllm", "trtllm-engine"),),
        "radix-cache-for-agents": (("vllm", "sglang"),),
    }
    pairs = [*caching(False, 0.1, 0.1), *caching(False, 0.2, 0.2, engine="Q")]
    assert {one.verdict for one in judge(CLAIMS, pairs) if one.hypothesis.varies == "engine"} == {"not-measured"}


def test_the_text_s_figure_is_printed_and_decides_nothing() -> None:
    claim = pick("build-pays-in-throughput", CLAIMS)
    bare = claim.model_copy(update={"claimed": None})
    runs = caching(False, 0.1, 0.1)
    for one, other in zip(judge([claim], runs), judge([bare], runs), strict=True):
        assert one.model_copy(update={"hypothesis": bare}) == other
    assert "15 to 35 %" in str(claims_table([claim], messages("en")).rows[0])


@pytest.mark.parametrize("name", [one.name for one in CLAIMS if one.plan])
def test_every_claim_with_a_test_has_a_plan_that_can_be_followed(name: str, tmp_path: Path) -> None:
    path, claim = tmp_path / "claim.yaml", pick(name, CLAIMS)
    if claim.plan is not None and claim.plan.quality == "core":  # its data are fetched from the hub first
        claim = claim.model_copy(update={"plan": claim.plan.model_copy(update={"quality": "smoke"})})
    engine = None if claim.varies == "engine" else "vllm"
    path.write_text(plan_text(claim, "qwen3-8b-bf16", engine, preparation_counts=True), encoding="utf-8")
    plan = load_plan(path)
    varies = None if claim.varies in ("load", "nothing", "cache_tier") else claim.varies
    assert plan.groups[0].subject == varies
    assert plan.repeats == 3


def test_what_the_team_decides_is_a_question_and_a_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "claim.yaml"
    write_plan(path, pick("prefix-sharing", CLAIMS), "smollm2-135m-instruct-q4_1", "llama.cpp", repeats=2)
    assert 'preparation_counts: "?" # does preparation time' in path.read_text()
    with pytest.raises(ParamsError, match="there already"):
        write_plan(path, pick("prefix-sharing", CLAIMS), "smollm2-135m-instruct-q4_1", "llama.cpp")


@pytest.mark.parametrize(
    ("name", "model", "engine", "said"),
    [
        ("paged-memory", "qwen3-8b-bf16", "vllm", "has no test"),
        ("prefix-sharing", "qwen3-8b-bf16", None, "tested on one engine"),
        ("quality-follows-quantization", "none", "vllm", "has none"),
        ("prefix-sharing", "qwen3-9b", "vllm", "does not exist"),
    ],
)
def test_a_plan_that_cannot_be_written_says_why(name: str, model: str, engine: str | None, said: str) -> None:
    with pytest.raises(ParamsError, match=said):
        plan_text(pick(name, CLAIMS), model, engine)
    with pytest.raises(ParamsError, match="did you mean 'prefix-sharing'"):
        pick("prefix-shring", CLAIMS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {source: {text: primer, line: 1}}", "a test needs"),
        ("a: {source: {text: primer, line: 1}, untestable: preflight, counts: 3}", "has no test"),
        ("a: nothing", "is a mapping"),
    ],
)
def test_a_hypothesis_file_that_cannot_be_followed_names_the_place(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError, match=said):
        read_hypotheses(tmp_path)


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    body = (PARAMS_FOLDER / "hypotheses" / "primer.yaml").read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(body.replace("expected:", "expcted:"), encoding="utf-8")
    with pytest.raises(UnknownKey, match="expected"):
        read_hypotheses(tmp_path)


@pytest.mark.parametrize("lang", LANGS)
def test_the_page_has_the_table_where_something_was_measured(lang: str) -> None:
    runs = tuple([*caching(False, 0.1, 0.1), *caching(True, 0.05, 0.05)])
    judged = judge(CLAIMS, runs)
    assert judge(CLAIMS, runs[::-1]) == judged
    assert {one.hypothesis.name for one in measured(judged)} == {"prefix-sharing", "batching"}
    assert unmeasured(judged) == len(CLAIMS) - 2
    page = build_pages(runs, (lang,), judged=judged)[f"{lang}/index.html"].decode()
    assert page.count('id="hypotheses"') == 1
    assert messages(lang)("claim-prefix-sharing") in page
    assert 'id="hypotheses"' not in build_pages(runs, (lang,))[f"{lang}/index.html"].decode()


def test_every_claim_is_listed_with_its_line() -> None:
    shown = claims_table(CLAIMS, messages("en"))
    assert len(shown.rows) == len(CLAIMS) >= 15
    assert all("line " in str(row) for row in shown.rows)
    assert isinstance(CLAIMS[0], Hypothesis)
