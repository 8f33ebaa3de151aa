"""Each of the six questions gives each of its three answers."""

from __future__ import annotations

import pytest

from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.report.checklist import answers, same_model
from lab.report.messages import LANGS, message
from tests.report.report_examples import LATE, instrument_run, level, open_level, open_workload, run, sha, task

Runs = tuple[PublicRun, ...]


def bare(engine: str) -> PublicRun:
    """A run of a real engine that holds no number."""
    nothing = {"levels": [], "preparation": None, "quality": None, "quality_reason": "not-measured"}
    return run(engine, table="comparison", engine_version=None, **nothing)


def other_model(**changes: object) -> dict[str, object]:
    return {**run().model.model_dump(), **changes}


def other_workload(**changes: object) -> dict[str, object]:
    return {**run().workload.model_dump(), **changes}


def other_suite(seed: str) -> dict[str, object]:
    return {"suite": "smoke-mini", "version": "1.0.0", "suite_sha256": sha(seed), "lm_eval_version": "0.4.13",
            "tasks": [task("facts", 0.5)]}  # fmt: skip


P, Q = run("P"), run("Q")
ONE_TOKEN_SHORT = {
    **level(1, 90.0),
    "completion_tokens": {**level(1, 90.0)["completion_tokens"], "min": 31.0},
}
OPEN = {"workload": open_workload("poisson", 2.5, 5)}
FREE_LENGTH = other_workload(exact_output=False)

MATRIX: list[tuple[str, str, Runs]] = [
    ("engines", "yes", (bare("vllm"), bare("trtllm"), bare("sglang"), bare("atlas"))),
    ("engines", "no", (bare("vllm"), bare("llama.cpp"))),
    ("engines", "no", (bare("litellm"),)),
    ("engines", "no", (P, Q)),
    ("engines", "no", (bare("never-heard-of"), bare("ollama"))),
    ("engines", "open", ()),
    ("engines", "open", (instrument_run(),)),
    ("engines", "open", (bare("vllm"), bare("never-heard-of"))),
    ("model", "yes", (P, Q)),
    ("model", "no", (P, run("Q", model=other_model(weights_sha256=sha("other"))))),
    ("model", "no", (P, run("Q", model=other_model(series="Another")))),
    ("model", "no", (P, run("Q", support="refused"))),
    ("model", "open", ()),
    ("model", "open", (P, run("Q", levels=[]))),
    ("model", "open", (P, run("Q", levels=[level(1, None, good=0, bad=12)]))),
    ("model", "open", (run("P", model=other_model(weights_sha256=None)),)),
    ("workload", "yes", (P, Q)),
    ("workload", "yes", (P, run("Q", workload=other_workload(name="another-name")))),
    ("workload", "yes", (run("P", workload=FREE_LENGTH, levels=[ONE_TOKEN_SHORT, level(4, 1.0)]),)),
    ("workload", "no", (P, run("Q", workload=other_workload(output_tokens=64)))),
    ("workload", "no", (P, run("Q", workload=other_workload(concurrency=[1])))),
    ("workload", "yes", (run("P", levels=[open_level(2.5, 80.0), open_level(5, 160.0)], **OPEN),)),
    ("workload", "no", (P, run("Q", **OPEN))),
    ("workload", "no", (run("P", **OPEN), run("Q", workload=open_workload("constant", 2.5, 5)))),
    ("workload", "open", ()),
    ("workload", "open", (run("P", levels=[open_level(2.5, 80.0)], **OPEN),)),
    ("workload", "open", (run("P", levels=[open_level(2.5, 80.0), open_level(5, 1.0, concerns=[LATE])], **OPEN),)),
    ("workload", "open", (P, run("Q", levels=[ONE_TOKEN_SHORT, level(4, 222.5)]))),
    ("workload", "open", (P, run("Q", levels=[level(1, 95.0)]))),
    ("label", "yes", (P, Q)),
    ("label", "no", (P, run("Q", grade=EvidenceGrade.IMPORTED))),
    ("label", "open", ()),
    ("preparation", "yes", (P, Q)),
    ("preparation", "yes", (run("P", preparation_counts=False),)),
    ("preparation", "no", (P, run("Q", preparation_counts=False))),
    ("preparation", "no", (P, run("Q", preparation_counts=None))),
    ("preparation", "open", (run("P", preparation_counts=None),)),
    ("preparation", "open", ()),
    ("quality", "yes", (P, Q, instrument_run())),
    ("quality", "no", (P, run("Q", quality=other_suite("another")))),
    ("quality", "open", (P, run("Q", quality=None, quality_reason="not-measured"))),
    ("quality", "open", ()),
]  # fmt: skip


@pytest.mark.parametrize(("question", "expected", "runs"), MATRIX)
def test_question_is_answered(question: str, expected: str, runs: Runs) -> None:
    found = {one.question: one for one in answers(runs)}[question]  # type: ignore[index]
    assert found.answer == expected
    for lang in LANGS:
        assert message(lang, found.message, **found.args)


def test_matrix_holds_every_answer_of_every_question() -> None:
    asked = [one.question for one in answers(())]
    assert len(asked) == 6
    assert {(q, a) for q, a, _ in MATRIX} == {(q, a) for q in asked for a in ("yes", "no", "open")}


def test_contradiction_outweighs_a_gap() -> None:
    gap = run("Q", quality=None, quality_reason="not-measured")
    found = answers((P, gap, run("R", quality=other_suite("another"))))[-1]
    assert (found.question, found.answer) == ("quality", "no")


def test_label_question_leaves_the_instrument_check_out() -> None:
    found = answers((P, instrument_run()))[3]
    assert (found.answer, found.run_ids) == ("yes", (P.run_id,))


def test_workload_answer_names_the_load() -> None:
    found = answers((run("P", levels=[open_level(2.5, 80.0), open_level(5, 160.0)], **OPEN),))[2]
    assert "(2.5, 5 req/s, Poisson, 32 tokens out)" in message("en", found.message, **found.args)
    found = answers((P, Q))[2]
    assert "(1, 4 in flight, 32 tokens out)" in message("en", found.message, **found.args)


def test_the_support_table_decides_where_it_speaks_and_having_served_stands_in_elsewhere() -> None:
    listed, silent, elsewhere = (run("P", support=said) for said in ("supported", None, "other-hardware"))
    said = [same_model(runs).message for runs in ((listed,), (silent,), (elsewhere,), (listed, silent))]
    assert said == ["check-model-yes", *["check-model-yes-served"] * 3]
