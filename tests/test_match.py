"""Whether runs may stand side by side: small changes to one run of a made-up engine, each with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from lab.checks import CheckName
from lab.conditions import Condition, agree
from lab.evidence import EvidenceStore
from lab.match import MUST_BE_KNOWN, Kind, Mismatch, Side, Topic, comparable, match, own_reasons, refusals, side_of
from lab.plan import RunPlan
from lab.publish.projection import grade_of, project
from lab.records import EvidenceGrade, How
from lab.run import run_one
from lab.spec import LaunchProfile
from tests.report.report_examples import run
from tests.test_cli import lab

READ_BACK = {
    Condition.KV_CACHE_DTYPE: "F16",
    Condition.CONTEXT_LIMIT: 4096,
    Condition.KV_CACHE_TOKENS: 16384,
    Condition.MAX_NUM_SEQS: 4,
    Condition.MAX_BATCHED_TOKENS: 2048,
    Condition.PREFIX_CACHING: False,
    Condition.CHUNKED_PREFILL: True,
}
"""Everything that has to be known, as every engine shows it."""

PROFILE = LaunchProfile(name="same", prefix_caching=False, max_num_seqs=4).model_dump(mode="json")


def side(engine: str = "P", launch: str = "1", **changes: Any) -> Side:
    """One run; `changes` replace fields of the side."""
    plain = asked(run(engine, "same", launch).side, profile=PROFILE)
    whole = {
        "wanted": dict(READ_BACK),
        "how": dict.fromkeys(READ_BACK, How.SET),
        "effective": dict(READ_BACK),
        "results": dict.fromkeys(CheckName, "pass"),
        "counts": {CheckName.PROMPT_TOKENS: (1, 38, 31)},
    }
    return plain.model_copy(update={**whole, **changes})


def asked(side: Side, **changes: Any) -> Side:
    """The same run, asked for something else."""
    return side.model_copy(update={"asked": {**side.asked, **changes}})


def only(found: tuple[Mismatch, ...]) -> Mismatch:
    (one,) = found
    return one


def test_two_engines_that_show_the_same_are_one_match() -> None:
    assert match([side("P"), side("Q")]) == ()
    assert match([side("P"), side("P", "2")]) == ()


def test_hardware_that_nobody_could_look_at_is_not_taken_for_equal() -> None:
    here, elsewhere = side("P"), side("Q").model_copy(update={"machine": None})
    for pair in ([here, elsewhere], [elsewhere, elsewhere.model_copy(update={"run_id": "r-bbbbbbbbbb"})]):
        one = next(one for one in match(pair) if one.field == "machine")
        assert (one.topic, one.kind, one.refuses) == (Topic.HARDWARE, Kind.NOT_READ_BACK, True)


def test_everything_that_has_to_be_known_is_in_the_example() -> None:
    assert set(READ_BACK) == set(MUST_BE_KNOWN)


def test_one_setting_may_vary_and_a_second_one_is_named() -> None:
    off, on = side(), asked(side("P", "2"), profile={**PROFILE, "prefix_caching": True})
    on = on.model_copy(update={"wanted": {**READ_BACK, Condition.PREFIX_CACHING: True},
                               "effective": {**READ_BACK, Condition.PREFIX_CACHING: True}})  # fmt: skip
    assert match([off, on]) == ()
    both = asked(on, profile={**PROFILE, "prefix_caching": True, "threads": 2})
    found = match([off, both])
    assert {(one.field, one.kind) for one in found} == {
        ("profile.prefix_caching", Kind.ALSO_VARIES), ("profile.threads", Kind.ALSO_VARIES)}  # fmt: skip
    assert found[0].values == ("false", "true")


def test_the_kv_format_may_vary_in_the_pipeline_check_alone() -> None:
    base = side()
    other = asked(side("P", "2"), quantization={**base.asked["quantization"], "kv_cache": "Q8_0"})
    other = other.model_copy(
        update={name: {**READ_BACK, Condition.KV_CACHE_DTYPE: "Q8_0"} for name in ("wanted", "effective")}
    )
    assert match([base, other]) == ()
    found = refusals(match([asked(one, table="comparison") for one in (base, other)]))
    assert (only(found).field, only(found).kind) == ("quantization.kv_cache", Kind.ASKED_DIFFERS)
    between = match([base, asked(other, engine="Q")])
    assert [(one.topic, one.field, one.kind) for one in refusals(between)] == [
        (Topic.QUANTIZATION, "quantization.kv_cache", Kind.ALSO_VARIES)
    ]


def test_a_setting_that_differs_beside_the_engine_is_named() -> None:
    other = asked(side("Q"), profile={**PROFILE, "max_num_seqs": 8})
    found = only(match([side("P"), other]))
    assert (found.field, found.kind, found.values) == ("profile.max_num_seqs", Kind.ALSO_VARIES, ("4", "8"))


def test_the_version_may_be_the_one_thing_and_not_a_second() -> None:
    newer = side("P", "2", engine_version="0.0.2")
    assert match([side(), newer]) == ()
    both = asked(newer, profile={**PROFILE, "threads": 2})
    assert {one.field for one in match([side(), both])} == {"profile.threads", "engine_version"}


def test_reasons_come_in_the_order_in_which_a_meeting_fixes_them() -> None:
    p = side("P")
    q = asked(
        side("Q", grade=EvidenceGrade.IMPORTED, counts={CheckName.PROMPT_TOKENS: (1, 39, 32)}),
        model={**p.asked["model"], "revision": "v2"},
        quantization={**p.asked["quantization"], "kv_cache": "FP8"},
        workload={**p.asked["workload"], "output_tokens": 64, "name": "only-a-label"},
        context_limit=8192,
    )
    q = q.model_copy(update={"machine": p.machine and p.machine.model_copy(update={"cpu_cores": 64})})
    found = match([p, q])
    assert [one.topic for one in found] == list(Topic)
    assert [one.field for one in found] == [
        "model.revision", "quantization.kv_cache", "prompt-tokens", "workload.output_tokens", "context_limit",
        "machine.cpu_cores", "grade"]  # fmt: skip
    assert found[0].values == ("v1", "v2")
    assert all(one.refuses and one.run_ids == (p.run_id, q.run_id) for one in found)


@pytest.mark.parametrize("condition", MUST_BE_KNOWN)
def test_what_an_engine_does_not_show_is_not_comparable_between_engines(condition: Condition) -> None:
    hidden = {name: value for name, value in READ_BACK.items() if name is not condition}
    blind = {"results": dict.fromkeys(CheckName, "not-exposed")}
    found = only(match([side("P"), side("Q", effective=hidden, **blind)]))
    assert (found.field, found.kind, found.values[1], found.refuses) == (condition, Kind.NOT_READ_BACK, None, True)
    # one engine of one version has one default, whatever it is
    assert match([side("P", effective=hidden, **blind), side("P", "2", effective=hidden, **blind)]) == ()


def test_a_check_that_passed_shows_what_the_engine_does_not_say() -> None:
    hidden = {name: value for name, value in READ_BACK.items() if name is not Condition.PREFIX_CACHING}
    assert match([side("P"), side("Q", effective=hidden)]) == ()


def test_values_read_back_are_compared_not_words_of_the_command() -> None:
    smaller = side("Q", wanted={}, effective={**READ_BACK, Condition.KV_CACHE_TOKENS: 8192})
    found = only(match([side("P"), smaller]))
    assert (found.kind, found.values) == (Kind.READ_BACK_DIFFERS, ("16384", "8192"))
    blocks = side("Q", effective={**READ_BACK, Condition.KV_CACHE_TOKENS: 16368})
    assert match([side("P"), blocks]) == ()


def test_what_an_engine_imposes_is_a_footnote_unless_it_contradicts_what_was_asked() -> None:
    how = {**dict.fromkeys(READ_BACK, How.SET), Condition.CHUNKED_PREFILL: How.IMPOSED}
    assert own_reasons(side(how=how)) == ()  # it is what was wanted
    open_ = {"how": how, "wanted": {**READ_BACK, Condition.CHUNKED_PREFILL: None}}
    found = only(match([side("P", **open_), side("P", "2", **open_)]))
    assert (found.kind, found.values, found.refuses) == (Kind.IMPOSED, (None, "true"), False)
    assert len(found.run_ids) == 2
    fp8 = side(
        how={**how, Condition.KV_CACHE_DTYPE: How.IMPOSED}, effective={**READ_BACK, Condition.KV_CACHE_DTYPE: "fp8"}
    )
    found = only(refusals(own_reasons(fp8)))
    assert (found.field, found.kind, found.values) == ("kv_cache_dtype", Kind.NOT_AS_ASKED, ("F16", "fp8"))
    left = {"wanted": {}, "effective": {**READ_BACK, Condition.CHUNKED_PREFILL: False}}
    assert refusals(match([side("P", how=how), side("Q", **left)])) == ()


def test_a_wish_without_words_refuses_unless_the_engine_shows_it_all_the_same() -> None:
    how = {**dict.fromkeys(READ_BACK, How.SET), Condition.MAX_BATCHED_TOKENS: How.NOT_EXPRESSIBLE}
    assert own_reasons(side(how=how)) == ()
    hidden = {name: value for name, value in READ_BACK.items() if name is not Condition.MAX_BATCHED_TOKENS}
    found = only(own_reasons(side(how=how, effective=hidden)))
    assert (found.field, found.kind, found.refuses) == ("max_batched_tokens", Kind.NOT_EXPRESSIBLE, True)
    metrics = side(how={Condition.METRICS: How.NOT_EXPRESSIBLE})
    assert not only(own_reasons(metrics)).refuses


def test_a_failed_equality_check_refuses_and_other_checks_do_not() -> None:
    results = dict.fromkeys(CheckName, "fail")
    found = own_reasons(side(results=results))
    assert {one.field for one in found} == {
        "local-tokenizer", "prompt-tokens", "exact-length", "kv-capacity", "context-limit", "neutral-sampling",
        "thinking", "prefix-cache",
    }  # fmt: skip
    assert all(one.kind is Kind.CHECK_FAILED and one.refuses for one in found)


def test_prompts_that_nobody_counted_are_not_comparable_between_engines() -> None:
    found = only(match([side("P"), side("Q", counts={})]))
    assert (found.kind, found.values) == (Kind.CHECK_NOT_MADE, ("1 38 31", None))


def test_a_field_the_engine_does_not_have_matters_only_where_it_is_not_neutral() -> None:
    assert not only(own_reasons(side(not_expressible=("min_p",)))).refuses
    plain = side(not_expressible=("min_p", "seed"))
    drawn = asked(plain, sampling={**plain.asked["sampling"], "min_p": 0.05, "temperature": 1})
    assert [one.field for one in refusals(own_reasons(drawn))] == ["min_p", "seed"]
    assert only(own_reasons(side(not_expressible=("exact_output",)))).refuses


def test_a_workload_needs_its_capability() -> None:
    plain = side(results={**dict.fromkeys(CheckName, "pass"), CheckName.JSON_SCHEMA: "fail"})
    schemas = {**plain.asked["workload"], "content": "structured-output", "exact_output": False, "input_tokens": None,
               "shared_prefix_tokens": 0}  # fmt: skip
    found = only(own_reasons(asked(plain, workload=schemas)))
    assert (found.field, found.kind, found.values) == ("json-schema", Kind.NOT_SUPPORTED, ("fail",))
    assert own_reasons(plain) == ()


def test_preparation_is_compared_only_where_it_counts() -> None:
    cold = side("Q", cache_state="disk-cold")
    assert only(match([side("P"), cold])).refuses
    p, q = (asked(one, preparation_counts=False) for one in (side("P"), cold))
    assert not only(match([p, q])).refuses


def test_a_run_that_was_not_measured_is_beside_nothing() -> None:
    assert only(match([side(measured=False)])).kind is Kind.NOT_MEASURED


@pytest.mark.parametrize(
    ("condition", "one", "other", "same"),
    [
        ("kv_cache_dtype", "F16", "float16", True),
        ("kv_cache_dtype", "F16", "FP8", False),
        ("compute_dtype", "bfloat16", "torch.bfloat16", True),
        ("kv_cache_tokens", 10000, 9810, True),
        ("kv_cache_tokens", 10000, 9790, False),
        ("max_num_seqs", 100, 99, False),
        ("prefix_caching", True, 1, False),
        ("memory_fraction", 0.9, 0.9, True),
    ],
)
def test_values_agree_by_what_they_mean(condition: str, one: Any, other: Any, same: bool) -> None:
    assert agree(Condition(condition), one, other) is same


def test_words_that_could_name_a_place_are_compared_and_published_as_their_digest() -> None:
    assert (comparable("bfloat16"), comparable(True), comparable(0.9), comparable(None)) == (
        "bfloat16",
        True,
        0.9,
        None,
    )
    hidden = comparable("/home/somebody/template.jinja")
    assert str(hidden).startswith("sha256:") and hidden == comparable("/home/somebody/template.jinja")


def test_public_evidence_gives_the_same_side_as_the_bundle_and_the_command_line_the_same_answer(
    store: EvidenceStore, small_plan: tuple[RunPlan, Any]
) -> None:
    planned = small_plan[0].runs[0]
    record = run_one(planned, store)
    private = side_of(record, grade_of(record)[0])
    public = project(store, record.run_id)
    assert public.side == private
    assert {check.name for check in public.checks} == set(CheckName)
    assert type(public).model_validate_json(public.model_dump_json()).side == private
    assert refusals(match([private])) == ()

    done = lab("match", record.run_id, "--runs-dir", str(store.root))
    assert (done.returncode, "comparable: nothing stands against it" in done.stdout) == (0, True)
    other = planned.spec.model_copy(update={"context_limit": 512})
    unmeasured = store.create(other, plan="small", plan_digest="p-1", match_id="m-1", varied=())
    done = lab("match", record.run_id, unmeasured, "--runs-dir", str(store.root))
    assert done.returncode == 1
    assert done.stdout.startswith("not comparable: these runs may not stand side by side")
    assert done.stdout.index("1024 / 512") < done.stdout.index("not measured to its end")
    done = lab("match", record.run_id, unmeasured, "--lang", "ja", "--runs-dir", str(store.root))
    assert (done.returncode, done.stdout.startswith("比較できません")) == (1, True)
    assert "最後まで計測していない" in done.stdout
    done = lab("match", "r-nosuchrun2", "--runs-dir", str(store.root))
    assert (done.returncode, "no run r-nosuchrun2" in done.stderr) == (2, True)
