"""What records betray: two small records that carry the same names, one thing apart each time."""

from __future__ import annotations

from typing import Any

import pytest

from lab.betray import Asked, Finding, Limit, Round, Sign, Trace, betray, unknown, version_kind
from lab.conditions import Condition
from lab.match import Topic
from lab.records import EvidenceGrade
from lab.report.betrayed import finding_lines, headline, unknown_lines
from lab.report.messages import LANGS, messages

FACTS: dict[str, Any] = {
    "model.name": "maker/model", "model.revision": "abc", "model.weights": "def", "quantization": "four-bit",
    "chat_template": "own", "thinking": False, "temperature": 0.0, "sampling": "neutral",
    "workload.name": "chat", "workload.arrival": "closed", "workload.concurrency": 2, "workload.requests": 10,
    "workload.input_tokens": 100, "workload.output_tokens": 10, "workload.exact_output": True,
    "workload.warmup_requests": 1, "workload.seed": 1, "machine.name": "a-box", "machine.accelerators": 1,
    "machine.driver": "1.2", "isolation": True, "cache_state": "warm",
}  # fmt: skip
SETTINGS: dict[Condition, Any] = {
    Condition.COMPUTE_DTYPE: "bfloat16", Condition.KV_CACHE_DTYPE: "fp8", Condition.CONTEXT_LIMIT: 4096,
    Condition.KV_CACHE_TOKENS: 8192, Condition.MAX_NUM_SEQS: 8, Condition.MAX_BATCHED_TOKENS: 2048,
    Condition.PREFIX_CACHING: False, Condition.CHUNKED_PREFILL: True, Condition.TENSOR_PARALLEL: 1,
}  # fmt: skip


def trace(letter: str, engine: str, facts: dict[str, Any] | None = None, **changes: Any) -> Trace:
    """One record in which everything is recorded and nothing is odd."""
    whole: dict[str, Any] = {
        "run_id": "r-" + letter * 10, "grade": EvidenceGrade.IMPORTED, "tool": "a tool",
        "facts": FACTS | (facts or {}), "named": SETTINGS, "resolved": SETTINGS, "engine": engine, "version": "1.0",
        "commit": None, "speculation": "off", "requests": 10, "input_tokens": 1000, "output_tokens": 100,
        "asked_input": 100, "asked_output": 10, "gap_mean_s": 0.1, "gap_p50_s": 0.1, "tpot_mean_s": 0.1,
        "rows": (), "rounds": (), "chosen_round": None,
    }  # fmt: skip
    return Trace(**(whole | changes))


def rows(*counts: tuple[str, int, int], warmup: bool | None = False, ttft_s: float = 0.1) -> tuple[Asked, ...]:
    """Requests: prompt, tokens read, tokens written."""
    return tuple(
        Asked(prompt=prompt, iteration=0, warmup=warmup, prompt_tokens=read, completion_tokens=wrote,
              finish_reason="length" if wrote == 10 else "stop", ttft_s=ttft_s)
        for prompt, read, wrote in counts
    )  # fmt: skip


def besides(found: tuple[Finding, ...]) -> list[Finding]:
    """Everything beside the label: an imported record always has it."""
    return [one for one in found if one.sign is not Sign.IMPORTED]


def only(p: Trace, q: Trace) -> Finding:
    (one,) = besides(betray([p, q]))
    return one


def test_records_that_say_everything_and_differ_in_their_engine_betray_nothing_but_their_label() -> None:
    found = betray([trace("a", "P"), trace("b", "Q")])
    assert [one.sign for one in found] == [Sign.IMPORTED]
    assert found[0].refuses


@pytest.mark.parametrize("field", [field for field in FACTS if field not in ("workload.name", "machine.driver")])
def test_a_field_that_one_record_does_not_say_is_not_comparable(field: str) -> None:
    found = [one for one in besides(betray([trace("a", "P"), trace("b", "Q", {field: None})])) if one.field == field]
    (one,) = found
    assert one.sign is Sign.NOT_RECORDED and one.refuses
    assert one.values[1] is None


@pytest.mark.parametrize("condition", [one for one in SETTINGS if one is not Condition.KV_CACHE_DTYPE])
def test_a_setting_that_one_record_does_not_say_is_not_comparable(condition: Condition) -> None:
    less = {key: value for key, value in SETTINGS.items() if key is not condition}
    one = only(trace("a", "P"), trace("b", "Q", named=less, resolved=less))
    assert (one.sign, one.field, one.refuses) == (Sign.NOT_RECORDED, condition.value, True)


def test_a_share_of_memory_is_a_footnote_and_a_context_limit_is_not() -> None:
    other = SETTINGS | {Condition.CONTEXT_LIMIT: 2048, Condition.MEMORY_FRACTION: 0.5}
    found = besides(
        betray([
            trace("a", "P", named=SETTINGS | {Condition.MEMORY_FRACTION: 0.9}),
            trace("b", "Q", named=other, resolved=other),
        ])
    )  # fmt: skip
    assert [(one.field, one.refuses) for one in found] == [("context_limit", True), ("memory_fraction", False)]


def test_a_kv_format_that_is_named_here_and_resolved_there_is_told_apart() -> None:
    named = {key: value for key, value in SETTINGS.items() if key is not Condition.KV_CACHE_DTYPE}
    resolved = named | {Condition.KV_CACHE_DTYPE: "float8_e4m3fn"}
    one = only(
        trace("a", "P", named=named | {Condition.KV_CACHE_DTYPE: "fp8_e4m3"}, resolved=named),
        trace("b", "Q", named=named, resolved=resolved),
    )
    assert one.sign is Sign.KV_NAMED_OR_RESOLVED
    assert one.values == ({"named": "fp8_e4m3", "resolved": "—"}, {"named": "—", "resolved": "float8_e4m3fn"})


def test_one_workload_read_with_other_numbers_of_tokens_is_another_prompt() -> None:
    one = only(trace("a", "P"), trace("b", "Q", input_tokens=1040))
    assert (one.topic, one.sign) == (Topic.PROMPT, Sign.PROMPT_TOKENS)
    assert one.values[1] == {"total": "1,040", "mean": "104.0"}


def test_two_workloads_may_read_other_numbers_and_differ_in_the_workload() -> None:
    found = besides(betray([trace("a", "P"), trace("b", "Q", {"workload.name": "b", "workload.input_tokens": 200},
                                                   input_tokens=2000, asked_input=200)]))  # fmt: skip
    assert {(one.field, one.sign) for one in found} == {
        ("workload.name", Sign.DIFFERS), ("workload.input_tokens", Sign.DIFFERS), ("workload.read", Sign.DIFFERS),
    }  # fmt: skip


def test_a_template_adds_one_number_and_another_tokenizer_does_not() -> None:
    p = trace("a", "P", rows=rows(("x", 100, 10), ("y", 50, 10)))
    template = only(p, trace("b", "Q", rows=rows(("x", 104, 10), ("y", 54, 10)))).values[1]
    tokenizer = only(p, trace("b", "Q", rows=rows(("x", 104, 10), ("y", 49, 10)))).values[1]
    assert template is not None and (template["offset"], template["least"]) == ("constant", "+4")
    assert tokenizer is not None and (tokenizer["offset"], tokenizer["least"], tokenizer["most"]) == (
        "varies",
        "-1",
        "+4",
    )


def test_answers_that_all_reach_the_limit_stand_beside_answers_that_end() -> None:
    p = trace("a", "P", rows=rows(("x", 100, 10)))
    q = trace("b", "Q", rows=rows(("x", 100, 4)), output_tokens=80)
    found = {one.sign: one for one in besides(betray([p, q]))}
    assert found.keys() == {Sign.ANSWER_LENGTH, Sign.SAME_QUESTION, Sign.FINISH}
    lengths = [value["full"] for value in found[Sign.ANSWER_LENGTH].values if value is not None]
    assert lengths == ["yes", "no"]


def test_totals_after_a_failure_are_over_other_prompts_and_say_nothing() -> None:
    one = trace("b", "Q", input_tokens=None, output_tokens=None)
    assert besides(betray([trace("a", "P"), one])) == []


@pytest.mark.parametrize(
    ("gap_mean_s", "gap_p50_s", "how"),
    [(0.1, 0.1, "single"), (0.3, 0.28, "several"), (0.1, 0.0001, "bursts")],
)
def test_gaps_tell_how_tokens_come(gap_mean_s: float, gap_p50_s: float, how: str) -> None:
    found = besides(betray([trace("a", "P", gap_mean_s=gap_mean_s, gap_p50_s=gap_p50_s), trace("b", "Q")]))
    assert [one.values[0]["how"] for one in found if one.values[0] is not None] == ([] if how == "single" else [how])


def test_a_prompt_of_the_warm_up_that_is_measured_is_warm() -> None:
    both = rows(("x", 100, 10), warmup=True, ttft_s=3.0) + rows(("x", 100, 10), ttft_s=0.3)
    one = only(trace("a", "P", rows=both), trace("b", "Q", rows=rows(("x", 100, 10))))
    assert one.sign is Sign.WARMED_BY_WARMUP
    assert one.values == ({"prompts": "1", "times": "x 3,000 ms → 300 ms"}, None)


def test_rounds_over_the_same_prompts_are_named_unless_nothing_is_cached() -> None:
    again = {"workload.repeats": 3}
    assert besides(betray([trace("a", "P", again), trace("b", "Q", again)])) == []
    cached = SETTINGS | {Condition.PREFIX_CACHING: True}
    p, q = (trace(letter, engine, again, named=cached, resolved=cached) for letter, engine in (("a", "P"), ("b", "Q")))
    assert only(p, q).sign is Sign.SENT_AGAIN


def test_a_first_round_that_is_not_like_the_later_ones_is_named() -> None:
    def rounds(*means: float) -> tuple[Round, ...]:
        return tuple(Round(ttft_mean_s=mean, ttft_p50_s=None, ttft_p99_s=None) for mean in means)

    same = trace("a", "P", rounds=rounds(0.10, 0.11, 0.10))
    assert besides(betray([same, trace("b", "Q")])) == []
    one = only(trace("a", "P", rounds=rounds(0.2, 0.1, 0.1)), trace("b", "Q"))
    assert one.sign is Sign.FIRST_ROUND
    assert one.values[0] == {"mean": "200 ms → 100 ms → 100 ms", "p99": "—", "moved": "yes"}


def test_numbers_of_one_round_out_of_several_are_a_footnote() -> None:
    quiet = tuple(Round(ttft_mean_s=0.1, ttft_p50_s=0.1, ttft_p99_s=0.1) for _ in range(3))
    one = only(trace("a", "P", rounds=quiet, chosen_round=1), trace("b", "Q"))
    assert (one.sign, one.refuses, one.values[0]) == (Sign.ONE_ROUND_SHOWN, False, {"number": "2", "rounds": "3"})


@pytest.mark.parametrize(
    ("version", "commit", "kind"),
    [
        ("0.27.1", "6e448d0", "release"), ("v1.2", None, "release"), ("1.2.post1", None, "release"),
        ("0.0.0.dev0+branch.g561c8f3", None, "branch"), ("1.2rc1", None, "candidate"),
        ("0.32.0+cpu", None, "release"), ("b4719", None, "release"), ("1.0.0-beta-preview", None, "candidate"),
        ("main", None, "branch"),
        ("bdcccc2c", None, "commit"), (None, "bdcccc2c", "commit"), (None, None, None),
    ],
)  # fmt: skip
def test_a_version_shows_what_kind_it_is(version: str | None, commit: str | None, kind: str | None) -> None:
    assert version_kind(version, commit) == kind


def test_a_branch_beside_a_release_is_named() -> None:
    one = only(trace("a", "P"), trace("b", "Q", version="0.0.0.dev0+mine"))
    assert (one.sign, one.refuses) == (Sign.VERSION_KIND, True)


def test_one_machine_name_with_two_drivers_is_two_hosts() -> None:
    one = only(trace("a", "P"), trace("b", "Q", {"machine.driver": "1.3"}))
    assert (one.sign, one.values[1]) == (Sign.HOSTS, {"driver": "1.3"})


def test_drafting_ahead_on_two_engines_is_two_methods_even_where_the_word_is_one() -> None:
    p, q = trace("a", "P", speculation="mtp, 3"), trace("b", "Q", speculation="mtp, 3")
    assert only(p, q).sign is Sign.SPECULATION
    silent = only(trace("a", "P"), trace("b", "Q", speculation=None))
    assert (silent.sign, silent.field) == (Sign.NOT_RECORDED, "speculative")


def test_the_order_is_that_of_fixing_and_footnotes_come_last() -> None:
    p = trace("a", "P", rows=rows(("x", 100, 10)))
    q = trace(
        "b",
        "Q",
        {"model.revision": "other", "machine.driver": "9", "workload.name": "b"},
        version="dev",
        input_tokens=2000,
    )
    found = betray([p, q])
    topics = [list(Topic).index(one.topic) for one in found if one.refuses]
    assert topics == sorted(topics)
    assert [one.refuses for one in found] == sorted((one.refuses for one in found), reverse=True)


def test_the_labs_own_runs_are_not_compared_field_by_field_again() -> None:
    own = {"grade": EvidenceGrade.SYNTHETIC}
    assert betray([trace("a", "P", **own), trace("b", "Q", {"model.revision": None}, **own)]) == ()
    assert unknown([trace("a", "P", **own)]) == ()
    (one,) = betray([trace("a", "P", **own), trace("b", "Q", output_tokens=80, **own)])
    assert (one.sign, one.refuses) == (Sign.ANSWER_LENGTH, False)


def test_what_cannot_be_known_names_missing_rows_and_arguments_without_a_name() -> None:
    found = unknown([trace("a", "P", rows=rows(("x", 1, 1)), unnamed=("odd-flag",)), trace("b", "Q")])
    by_limit = {one.limit: one.values for one in found}
    assert by_limit[Limit.ROWS] == ({"rows": "1", "requests": "10"}, {"rows": "0", "requests": "10"})
    assert by_limit[Limit.UNNAMED] == ({"names": "odd-flag"}, None)
    assert {Limit.CAUSE, Limit.SUCCESS, Limit.QUALITY} <= by_limit.keys()


@pytest.mark.parametrize("lang", LANGS)
def test_everything_that_can_be_found_has_words(lang: str) -> None:
    both = rows(("x", 100, 10), warmup=True) + rows(("x", 103, 4))
    odd = {"model.revision": None, "machine.driver": "9", "workload.repeats": 2}
    none = {key: value for key, value in SETTINGS.items() if key is not Condition.KV_CACHE_DTYPE}
    quiet = tuple(Round(ttft_mean_s=mean, ttft_p50_s=None, ttft_p99_s=None) for mean in (0.1, 0.9))
    p = trace("a", "P", rows=rows(("x", 100, 10)))
    q = trace("b", "Q", odd, rows=both, version="dev", input_tokens=2000, output_tokens=50, gap_p50_s=0.0, tool="other",
              speculation="mtp", rounds=quiet, chosen_round=0, unnamed=("flag",),
              named=none | {Condition.PREFIX_CACHING: True}, resolved=none)  # fmt: skip
    found, t = betray([p, q]), messages(lang)
    lines = [headline(found, t), *finding_lines(found, t), *unknown_lines(unknown([p, q]), ("A", "B"), t)]
    assert len({one.sign for one in found}) >= 14
    assert len(lines) > 60
    assert not [line for line in lines if "{" in line]
