"""Every kind of answer, what closes a branch, and where a path stops, on numbers a reader checks in the head."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from lab.explain.claims import Absent, Claim, Interval, Load, NotApplicable, Observation, measure, observations
from lab.explain.decision import Question
from lab.explain.facts import Stated
from lab.explain.path import Answer, End, Evidence, Step, answer
from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.roster import ON_TABLE
from tests.explain.explain_examples import contrasts, explained, launches, one, runs
from tests.report.report_examples import level

AT = Load(concurrency=64)


def ends(found: Any) -> tuple[str, str | None, str | None]:
    end: End = found.path.end
    return end.kind, end.engine, end.at


def step(found: Any, at: str) -> Step:
    return next(one for one in (*found.path.steps, *found.path.columns) if one.at == at)


def state(**changes: Any) -> Any:
    return lambda block: block["facts"].update(changes)


def relabelled(given: tuple[PublicRun, ...], grade: str, *engines: str) -> tuple[PublicRun, ...]:
    changed = {"grade": EvidenceGrade(grade)}
    return tuple(run.model_copy(update=changed) if not engines or run.engine in engines else run for run in given)


def number(low: float | None, high: float | None, interval: bool = True) -> Claim:
    return Claim(metric="preparation_s", engine="P", value=1, launches=3, run_ids=(), grade=EvidenceGrade.SYNTHETIC,
                 interval=Interval(low=low, high=high) if interval else None)  # fmt: skip


def asks(**threshold: float) -> Question:
    return Question.model_validate({"question": {"en": "How long?", "ja": "どれだけかかるか"}, "source": "lab",
                                    "metric": "preparation_s", "unit": "s", **threshold})  # fmt: skip


@pytest.mark.parametrize(
    ("question", "evidence", "expected"),
    [
        (asks(at_most=10), number(8, 10), "yes"),
        (asks(at_most=10), number(9, 11), "undecided"),
        (asks(at_most=10), number(10.1, 11), "no"),
        (asks(at_least=10), number(10, 11), "yes"),
        (asks(at_least=10), number(9, 11), "undecided"),
        (asks(at_least=10), number(8, 9.9), "no"),
        (asks(at_most=10), number(5, 6, interval=False), "undecided"),
        (asks(at_most=10), number(5, None), "undecided"),
        (asks(at_most=10), number(None, None), "no"),
        (asks(at_most=10), Absent(why="no-run"), "not-measured"),
        (asks(at_most=10), NotApplicable(why="itself"), "not-applicable"),
    ],
)
def test_an_answer_comes_from_the_interval_and_one_launch_has_none(
    question: Question, evidence: Evidence, expected: Answer
) -> None:
    assert answer(question, evidence) == expected


def test_the_path_leads_to_the_engine_that_the_shape_of_the_workload_asks_for(tmp_path: Path) -> None:
    found = explained(tmp_path)
    assert ends(found) == ("engine", "Q", None)
    assert [one.at for one in found.path.steps] == [
        "nodes.one-vendor", "nodes.prefix-heavy", "gates.licence:Q", "gates.tools:Q", "gates.preparation:Q",
        "gates.quality:Q",
    ]  # fmt: skip
    assert [one.answer for one in found.path.steps] == ["no", "yes", "yes", "not-applicable", "yes", "yes"]
    assert found.path.generated
    assert found.path.review_by == "2027-03-01"  # 90 days after 1 December


def test_a_build_pays_for_itself_after_its_length_over_the_gain(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=state(one_vendor=True))
    assert ends(found) == ("engine", "R", None)
    claim = step(found, "nodes.build-pays").evidence
    assert isinstance(claim, Claim) and claim.interval is not None
    # one hour longer, 10 % more output: ten hours
    assert (claim.extra_preparation_s, claim.gain) == (pytest.approx(3600), pytest.approx(10))
    assert claim.value == pytest.approx(10)
    assert (claim.interval.low, claim.interval.high) == (pytest.approx(10), pytest.approx(10))
    assert len(claim.run_ids) == 6


def test_a_build_without_a_gain_never_pays_for_itself() -> None:
    given = (*launches("P", 100, 100), *launches("R", 100, 100, build_s=3600))
    found = measure("break_even_h", "R", "P", AT, given)
    assert isinstance(found, Claim) and found.value is None
    assert found.interval == Interval(low=None, high=None)


def test_a_gain_of_two_engines_has_the_outer_corners_of_their_intervals() -> None:
    found = measure("throughput_gain", "Q", "P", AT, runs())
    assert isinstance(found, Claim) and found.interval is not None
    assert found.value == pytest.approx(12)
    # 111, 112, 113: a mean of 112 ± 6.205 · 1 / √3 (t of two degrees of freedom at 97.5 %) against exactly 100
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(8.417, abs=1e-3),
        pytest.approx(15.583, abs=1e-3),
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((*launches("P", 100, 100), *launches("R", 110, 110)), NotApplicable(why="no-build-step")),
        (runs(preparation_counts=False), NotApplicable(why="excluded-by-team")),
        (runs(preparation_counts=None), Absent(why="preparation-undecided")),
        ((), Absent(why="no-run", engine="R")),
        (relabelled(runs(), "harness-check"), Absent(why="only-observations", engine="R")),
        (runs(levels=[level(32, 100)]), Absent(why="no-level", engine="R")),
        (runs(workload={**one("P", 0, 1).workload.model_dump(mode="json"), "seed": 8}), None),
        ((*runs(), one("R", 9, 110, profile={"name": "other", "max_num_seqs": 9}, spec_digest="s-" + "0" * 16)),
         Absent(why="several-profiles", engine="R")),
        ((*launches("P", 100, 100), *launches("R", 110, 110, build_s=1, context_limit=8)),
         Absent(why="not-comparable", engine="R")),
    ],
)  # fmt: skip
def test_what_cannot_be_said_has_its_reason(given: tuple[PublicRun, ...], expected: Evidence | None) -> None:
    found = measure("break_even_h", "R", "P", AT, given)
    assert isinstance(found, Claim) if expected is None else found == expected


def test_generated_numbers_never_carry_a_claim_of_an_engine_on_the_table() -> None:
    for entry in ON_TABLE:
        found = measure("preparation_s", entry.key, None, AT, launches(entry.key, 1, 1))
        assert found == Absent(why="only-observations", engine=entry.key)


def test_a_claim_of_an_engine_on_the_table_needs_a_gpu_that_was_seen() -> None:
    given = relabelled(launches("vllm", 1, 1), "real-gpu", "vllm")
    found = measure("preparation_s", "vllm", None, AT, given)
    assert isinstance(found, Claim) and found.grade is EvidenceGrade.REAL_GPU


@pytest.mark.parametrize("grade", ["harness-check", "imported"])
def test_a_rule_has_no_place_for_what_only_proves_the_pipeline(grade: str) -> None:
    assert Observation not in get_args(Evidence)
    with pytest.raises(ValidationError):
        Claim.model_validate({**number(1, 2).model_dump(), "grade": grade})


def test_runs_that_prove_the_pipeline_are_observations_and_the_path_stops(tmp_path: Path) -> None:
    given = relabelled(runs(), "harness-check", "Q")
    assert {one.engine for one in observations(given)} == {"Q"} and len(observations(given)) == 3
    found = explained(tmp_path, given=given)
    assert ends(found) == ("stopped", "Q", "gates.preparation:Q")
    assert len(found.path.observations) == 3


def test_a_build_that_does_not_exist_makes_the_question_not_applicable_and_the_gain_is_asked(tmp_path: Path) -> None:
    given = (*launches("P", 100, 100, 100), *launches("Q", 112, 112), *launches("R", 110, 110, 110))
    found = explained(tmp_path, stated=state(one_vendor=True), given=given)
    assert step(found, "nodes.build-pays").answer == "not-applicable"
    assert step(found, "nodes.gain").answer == "yes"
    assert ends(found) == ("engine", "R", None)


def test_an_interval_across_the_threshold_stops_the_path_and_names_both_branches(tmp_path: Path) -> None:
    share = {"value": 51, "low": 48, "high": 54, "unit": "%"}
    found = explained(tmp_path, stated=state(shared_prefix_share=share))
    assert ends(found) == ("stopped", None, "nodes.prefix-heavy")
    last = found.path.steps[-1]
    assert last.answer == "undecided"
    assert [(ahead.branch, ahead.leads_to.engine) for ahead in last.ahead] == [("then", "Q"), ("otherwise", "P")]


def test_a_fact_that_nobody_stated_stops_the_path(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=lambda block: block["facts"].pop("one_vendor"))
    assert ends(found) == ("stopped", None, "nodes.one-vendor")
    assert [ahead.leads_to.engine for ahead in found.path.steps[-1].ahead] == ["R", "Q"]


def test_an_open_question_whose_answers_all_lead_to_one_engine_stops_nothing(tmp_path: Path) -> None:
    def change(block: Any) -> None:
        block["facts"].pop("shared_prefix_share")
        block["engines"]["Q"] = {"licence_allows": False}

    found = explained(tmp_path, stated=change)
    assert ends(found) == ("engine", "P", None)
    prefix = step(found, "nodes.prefix-heavy")
    assert (prefix.answer, prefix.either, prefix.ahead) == ("not-measured", True, ())


def test_a_question_that_does_not_arise_and_has_no_branch_stops_the_path(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=state(one_vendor={"value": "not-applicable"}))
    assert (found.path.steps[-1].answer, ends(found)[0]) == ("not-applicable", "stopped")


def test_a_gate_closes_a_branch_with_its_reason_and_the_path_takes_the_other(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=lambda block: block["engines"].update(Q={"licence_allows": False}))
    assert ends(found) == ("engine", "P", None)
    assert step(found, "nodes.prefix-heavy").turned
    closed = step(found, "gates.licence:Q").closed
    assert closed is not None and closed.en == "its licence does not allow this use"


def test_with_every_branch_closed_there_is_no_engine(tmp_path: Path) -> None:
    def refuse(block: Any) -> None:
        block["engines"] = {name: {"licence_allows": False} for name in "PQR"}

    assert ends(explained(tmp_path, stated=refuse)) == ("closed", "P", "gates.licence:P")


def test_quality_that_falls_beyond_the_margin_closes_the_branch(tmp_path: Path) -> None:
    found = explained(tmp_path, compared=contrasts(runs(), down=120, up=0))  # 4 points of 3,000 items
    loss = step(found, "gates.quality:Q").evidence
    assert isinstance(loss, Claim) and loss.value == pytest.approx(4)
    assert ends(found) == ("engine", "P", None)


def test_bits_per_byte_are_no_points(tmp_path: Path) -> None:
    in_bits = tuple(
        one.model_copy(update={"tasks": tuple(t.model_copy(update={"metric": "bits_per_byte"}) for t in one.tasks)})
        for one in contrasts(runs())
    )
    assert step(explained(tmp_path, compared=in_bits), "gates.quality:Q").evidence == Absent(
        why="no-contrast", engine="Q"
    )


def test_quality_of_few_items_is_undecided(tmp_path: Path) -> None:
    found = explained(tmp_path, compared=contrasts(runs(), n=50))
    assert ends(found) == ("stopped", "Q", "gates.quality:Q")
    assert found.path.steps[-1].answer == "undecided"


def test_no_path_concludes_without_quality(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=state(one_vendor=True), compared=())
    assert ends(found) == ("stopped", "R", "gates.quality:R")
    assert step(found, "gates.quality:R").answer == "not-measured"


def test_one_launch_decides_nothing(tmp_path: Path) -> None:
    given = (*launches("P", 100), *launches("Q", 112), *launches("R", 110, build_s=3600))
    found = explained(tmp_path, stated=state(one_vendor=True), given=given)
    assert ends(found) == ("stopped", None, "nodes.build-pays")
    assert found.path.steps[-1].answer == "undecided"


@pytest.mark.parametrize(("result", "expected"), [
    ("pass", ("engine", "Q", None)), ("fail", ("engine", "P", None)),
    ("not-exposed", ("stopped", "Q", "gates.tools:Q")),
])  # fmt: skip
def test_an_api_the_workload_needs_is_asked_of_preflight(
    tmp_path: Path, result: str, expected: tuple[str, str | None, str | None]
) -> None:
    seen = [{"name": "prompt-tokens", "result": "pass", "counts": [1, 38, 31]}, {"name": "tool-call", "result": result}]
    given = (*launches("P", 100, 100), *launches("Q", 112, 112, checks=seen), *launches("R", 110, 110, build_s=9))
    assert ends(explained(tmp_path, stated=state(needs_tool_calls=True), given=given)) == expected


def test_a_support_table_that_says_nothing_is_no_answer() -> None:
    for support, expected in (("supported", True), ("refused", False), ("other-hardware", False)):
        found = measure("support", "P", None, None, launches("P", 1, 1, support=support))
        assert isinstance(found, Claim) and found.flag is expected
    for support in (None, "unknown"):
        found = measure("support", "P", None, None, launches("P", 1, 1, support=support))
        assert found == Absent(why="support-unknown", engine="P")


def test_a_column_is_added_and_is_no_leaf(tmp_path: Path) -> None:
    found = explained(tmp_path, stated=state(gb10=True))
    assert ends(found) == ("engine", "Q", None)
    assert [(one.engine, one.answer) for one in found.path.columns] == [("S", "yes")]


def test_who_stated_a_fact_and_when_stays_with_it(tmp_path: Path) -> None:
    found = explained(tmp_path)
    fleet, share = step(found, "nodes.one-vendor").evidence, step(found, "nodes.prefix-heavy").evidence
    assert isinstance(fleet, Stated) and (fleet.by, fleet.day) == ("platform team", "2026-12-01")
    assert isinstance(share, Stated) and (share.by, share.day, share.requests) == ("traffic team", "2026-11-20", 120000)
