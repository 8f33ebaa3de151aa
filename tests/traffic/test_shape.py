"""The shape of small files whose every number can be checked in the head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.explain.counted import LEAST_BODIES, answers, facts_yaml
from lab.explain.decision import DECISION, Decision, read_decision
from lab.explain.facts import read_facts
from lab.report.messages import messages
from lab.report.traffic import LEAST_FOR_INTERVAL, answer_lines, shape_lines
from lab.report.words import ranking_words
from lab.traffic.reading import measure
from lab.traffic.shape import Shape
from lab.traffic.tally import Batches, LengthTally
from tests.traffic.logs import MOONCAKE, SYSTEM, answered, busy_log, chat, words, written


@pytest.fixture(scope="module")
def decision() -> Decision:
    return read_decision(DECISION)


def shape(folder: Path, records: list[Any], **options: Any) -> Shape:
    return measure(written(folder, records), **{"encode_all": words, **options}).shape


def test_lengths_and_shared_prefixes_are_counted_in_tokens(tmp_path: Path) -> None:
    log = [answered(chat("one two", system=SYSTEM), "a b c"), answered(chat("one", system=SYSTEM), "a")]
    found = shape(tmp_path, [*log, chat("three", system="others")])
    assert found.input is not None and (found.input.unit, found.input.counted_by) == ("tokens", "tokenizer")
    assert (found.input.n, found.input.least, found.input.p50, found.input.most) == (3, 2, 6, 7)
    assert (found.output_lengths[0].n, found.output_lengths[0].mean) == (2, 2.0)
    assert found.prefixes is not None  # 5 words of the instructions and 1 of the user, out of 7 + 6 + 2
    assert (found.prefixes.shared, found.prefixes.total, found.prefixes.whole) == (6, 15, 1)
    assert (found.prefixes.low, found.prefixes.high) == (None, None)


def test_the_same_words_of_another_role_are_no_shared_prefix(tmp_path: Path) -> None:
    found = shape(tmp_path, [chat("a b c d"), {"messages": [{"role": "system", "content": "a b c d"},
                                                            {"role": "user", "content": "e"}]}])  # fmt: skip
    assert found.prefixes is not None and found.prefixes.shared == 0


def test_another_model_or_adapter_has_another_cache(tmp_path: Path) -> None:
    found = shape(
        tmp_path, [chat("a b", model="one"), chat("a b", model="two"), chat("a b", model="one", lora_name="x")]
    )
    assert found.prefixes is not None and (found.prefixes.shared, found.prefixes.total) == (0, 6)
    found = shape(tmp_path, [chat("a b", model="one"), chat("a b", model="one")])
    assert found.prefixes is not None and (found.prefixes.shared, found.prefixes.total) == (2, 4)


def test_without_a_tokenizer_characters_are_counted_and_called_so(tmp_path: Path, decision: Decision) -> None:
    path = written(tmp_path, busy_log(300))
    measured = measure(path)
    found = measured.shape
    assert found.input is not None and (found.input.unit, found.input.counted_by) == ("characters", "characters")
    assert found.prefixes is not None and found.prefixes.level == "characters" and found.prefixes.low is not None
    assert measured.rows == ()
    said = answers(found, decision)
    assert "shared_prefix_share" not in said.facts
    assert {one.fact: one.why for one in said.open}["shared_prefix_share"] == "characters"
    text = "\n".join(shape_lines(found, messages("en")))
    assert "characters, not tokens" in text and "tokens, counted here" not in text


def test_what_the_server_counted_stands_beside_what_was_counted_here(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}
    found = shape(tmp_path, [{"body": chat("one two"), "response": {"usage": usage}}] * 3)
    assert [(one.counted_by, one.p50) for one in found.input_lengths] == [("tokenizer", 2), ("server", 20)]
    assert [(one.counted_by, one.p50) for one in found.output_lengths] == [("server", 4)]
    assert found.cached_share == 0.25


def test_a_trace_is_compared_block_by_block(tmp_path: Path, decision: Decision) -> None:
    found = shape(tmp_path, list(MOONCAKE))
    assert found.prefixes is not None and (found.prefixes.level, found.prefixes.block_tokens) == ("blocks", 512)
    assert not found.prefixes.block_open
    # three of four begin with the one block that all have
    assert (found.prefixes.shared, found.prefixes.total) == (3 * 512, 6755 + 7319 + 7234 + 2287)
    assert found.input is not None and (found.input.counted_by, found.input.most) == ("file", 7319)
    assert (found.use, found.turns) == (None, None)
    why = {one.fact: one.why for one in answers(found, decision).open}
    assert why == {"shared_prefix_share": "few-requests", "busy_hour_in_flight": "few-moments",
                   "needs_tool_calls": "no-bodies", "needs_json_schema": "no-bodies"}  # fmt: skip


def test_the_share_of_blocks_is_a_lower_end_and_its_interval_reaches_over_the_rest(
    tmp_path: Path, decision: Decision
) -> None:
    lines = [
        {"timestamp": i * 100, "input_length": 700, "output_length": 1, "hash_ids": [0, i + 1]} for i in range(512)
    ]
    found = shape(tmp_path, lines)
    assert found.prefixes is not None and found.prefixes.block_tokens == 512
    assert found.prefixes.share == pytest.approx(512 / 700, abs=0.002)
    assert found.prefixes.high == pytest.approx(
        1.0, abs=0.002
    )  # the 188 tokens of the second block might be shared too
    fact = answers(found, decision).facts["shared_prefix_share"]
    assert (fact.counted_in, fact.requests, fact.window_s) == ("blocks", 512, 51.1)
    assert fact.high is not None and fact.low is not None and fact.low > 70 and fact.high > 99


def test_the_size_of_a_block_is_what_the_lines_allow_or_what_is_said(tmp_path: Path) -> None:
    short = [{"input_length": 100, "output_length": 1, "hash_ids": [i]} for i in range(3)]
    found = shape(tmp_path, short)
    assert found.prefixes is not None and (found.prefixes.block_tokens, found.prefixes.block_open) == (512, True)
    found = shape(tmp_path, short, block_tokens=128)
    assert found.prefixes is not None and (found.prefixes.block_tokens, found.prefixes.block_open) == (128, False)
    small = [{"input_length": 40, "output_length": 1, "hash_ids": [0, 1, 2]}]
    assert (found := shape(tmp_path, small)).prefixes is not None and found.prefixes.block_tokens == 16


def test_how_long_ago_a_prefix_was_used_and_how_it_varies_over_time(tmp_path: Path) -> None:
    # the same question twice at once, then an hour of others, then the same again
    log = [{"ts": 1.7e9 + at, "body": chat(text)} for at, text in
           [(0, "a b"), (5, "a b"), *((60 + i * 100, f"x{i} y") for i in range(40)), (4_100, "a b")]]  # fmt: skip
    found = shape(tmp_path, log)
    assert found.prefixes is not None and found.prefixes.shared == 4
    assert [(one.seconds, round(one.share * found.prefixes.total)) for one in found.prefixes.within] == [
        (10.0, 2), (60.0, 2), (600.0, 2), (3600.0, 2), (None, 4)]  # fmt: skip
    assert found.prefixes.window_shares is not None and found.prefixes.window_shares[0] == 0.0
    without = shape(tmp_path, [one["body"] for one in log])
    assert without.prefixes is not None
    assert [(one.requests, round(one.share * 86)) for one in without.prefixes.within] == [(10, 2), (None, 4)]


def test_lines_that_stand_twice_are_counted_once_where_a_moment_or_an_id_tells(tmp_path: Path) -> None:
    one = {"id": "a", "body": chat("x")}
    assert ((found := shape(tmp_path, [one, one, one])).requests, found.twice) == (1, 2)
    assert ((found := shape(tmp_path, [chat("x")] * 3)).requests, found.twice) == (3, 0)


def test_uses_are_counted_and_names_are_not_kept(tmp_path: Path, decision: Decision) -> None:
    tools = [{"type": "function", "function": {"name": "Fujimori"}}]
    log = [chat("x", model="Fujimori-1", tools=tools, temperature=0.5),
           chat("y", model="Fujimori-1", lora_name="Fujimori"),
           chat("z", model="Fujimori-2", stream=True, response_format={"type": "json_schema"})]  # fmt: skip
    measured = measure(written(tmp_path, log), encode_all=words)
    use = measured.shape.use
    assert use is not None
    assert (use.models, use.model_most, use.adapters, use.offers_tools, use.stream, use.json_schema) == (
        2,
        2,
        1,
        1,
        1,
        1,
    )
    assert use.settings[0].name == "temperature" and use.settings[0].p50 == 0.5
    assert "Fujimori" not in measured.shape.model_dump_json() + repr(measured)
    facts = answers(measured.shape, decision).facts
    assert (facts["needs_tool_calls"].value, facts["needs_json_schema"].value) == (True, True)


def test_nothing_seen_in_a_few_requests_is_no_no(tmp_path: Path, decision: Decision) -> None:
    few = answers(shape(tmp_path, [chat("x")] * 10), decision)
    assert {one.fact: one.why for one in few.open}["needs_tool_calls"] == "few-bodies"
    many = answers(shape(tmp_path, [chat("x")] * LEAST_BODIES), decision)
    assert many.facts["needs_tool_calls"].value is False and many.facts["needs_tool_calls"].requests == LEAST_BODIES


def test_the_answers_are_a_facts_file_that_lab_explain_reads(tmp_path: Path, decision: Decision) -> None:
    found = shape(tmp_path, busy_log(600, mean_gap_s=15.0))
    said = answers(found, decision)
    assert set(said.facts) == {"shared_prefix_share", "busy_hour_in_flight", "needs_tool_calls", "needs_json_schema"}
    assert said.open == ()
    path = tmp_path / "facts.yaml"
    path.write_text(facts_yaml(said, "mine", "2026-11-30"), encoding="utf-8")
    read = read_facts(path, decision).workloads["mine"].facts
    assert read == said.facts
    entry = read["shared_prefix_share"]
    assert not isinstance(entry, bool) and entry.measured_from == "traffic"
    assert entry.low is not None and entry.high is not None and isinstance(entry.value, float)
    assert entry.low < entry.value < entry.high


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_shape_is_told_in_both_languages_and_ranks_nothing(tmp_path: Path, decision: Decision, lang: str) -> None:
    for records in (busy_log(300), list(MOONCAKE), [{"conversations": [
            {"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}]):  # fmt: skip
        found = shape(tmp_path, records)
        text = "\n".join([*shape_lines(found, messages(lang)), *answer_lines(answers(found, decision), messages(lang))])
        assert ranking_words(text) == ()
        assert "None" not in text and "{" not in text


def test_a_memory_that_is_full_forgets_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, busy_log(400))
    whole, small = (measure(path, encode_all=words, budget_bytes=size).shape.prefixes for size in (1 << 28, 150_000))
    assert whole is not None and small is not None and small.horizon is not None
    assert whole.horizon is None and small.share < whole.share
    assert small.share > 0  # what is used all the time is kept
    shown = "\n".join(shape_lines(measure(path, encode_all=words, budget_bytes=150_000).shape, messages("en")))
    assert "The memory was full" in shown


def test_an_interval_needs_as_many_requests_as_is_said() -> None:
    batches = Batches(1)
    for _ in range(LEAST_FOR_INTERVAL - 1):
        batches.add(1.0)
    assert batches.rows() == []
    batches.add(1.0)
    assert batches.rows() and sum(row[0] for row in batches.rows()) == LEAST_FOR_INTERVAL


def test_quantiles_are_lengths_that_occurred() -> None:
    tally = LengthTally()
    for length in [1, 2, 3, 4, 100_000]:
        tally.add(length)
    assert (tally.quantile(0.0), tally.quantile(0.5), tally.quantile(0.8)) == (1, 3, 4)
    assert tally.quantile(1.0) == pytest.approx(100_000, rel=0.001)
    assert tally.histogram()[:3] == ((1, 1, 1), (2, 3, 2), (4, 7, 1))


def test_odd_numbers_break_nothing(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    odd = ['{"timestamp": NaN, "messages": [{"role": "user", "content": "a"}]}',
           '{"ts": 1e999, "temperature": -Infinity, "messages": [{"role": "user", "content": "\\ud800"}]}',
           '{"messages": [{"role": "user", "content": "a"}], "max_tokens": ' + "9" * 400 + "}",
           json.dumps({"body": chat("a"), "usage": {"prompt_tokens": -1, "completion_tokens": 10**30}})]  # fmt: skip
    path.write_text("\n".join(odd), encoding="utf-8")
    found = measure(path).shape
    assert (found.requests, found.clock.broken, found.limits) == (4, 2, None)
