"""An imported record becomes a plan: its values, and a question for everything it does not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import OpenQuestions, ParamsError
from lab.evidence import EvidenceStore
from lab.imports import import_files
from lab.imports.record import ImportedRecord
from lab.launching import launches
from lab.params import open_questions
from lab.plan import load_plan
from lab.remeasure import write_plan
from tests.imports.others_files import SECONDS, atlas_record, write

ANSWERS = {
    "model": "qwen3-8b-bf16",
    "quality": "smoke-mini",
    "context_limit": "4096",
    "preparation_counts": "true",
    "cache_tier": "as-found",
    "isolation": "shared",
    "chat_template_kwargs": "{}",
    "workload.content": "words",
    "workload.input_tokens": "90",
    "workload.shared_prefix_tokens": "0",
    "workload.exact_output": "true",
    "workload.timeout_s": "60",
    "workload.slo": "null",
    "comparison.runs.1.engine": "vllm",
    "comparison.runs.2.engine": "sglang",
    "comparison.runs.1.set.prefix_caching": "false",
    "comparison.runs.1.set.chunked_prefill": "true",
    "comparison.runs.1.set.cuda_graphs": "true",
    "comparison.runs.1.set.speculative": '"off"',
    "comparison.runs.1.set.kv_cache_tokens": "4096",
    "comparison.runs.1.set.max_num_seqs": "8",
    "comparison.runs.1.set.max_batched_tokens": "4096",
}
"""What an analyst might answer; whatever else is asked gets 1."""


@pytest.fixture
def record(store: EvidenceStore, tmp_path: Path) -> ImportedRecord:
    (kept,) = import_files(store, "inference-atlas", [write(tmp_path, "r.json", atlas_record())])
    return kept.record


def answer(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    for one in open_questions(path):
        lines[one.line - 1] = lines[one.line - 1].replace('"?"', ANSWERS.get(one.key, "1"))
    path.write_text("\n".join(lines), encoding="utf-8")


def test_a_plan_with_open_questions_is_refused_with_the_list(record: ImportedRecord, plan_folder: Path) -> None:
    path = plan_folder / "again.yaml"
    asked = write_plan(record, path)
    with pytest.raises(OpenQuestions, match=f"still asks {len(asked)} question") as refused:
        load_plan(path)
    assert all(one.key in refused.value.what and one.words in refused.value.what for one in asked)


def test_what_the_record_says_is_taken_and_what_it_does_not_say_is_asked(
    record: ImportedRecord, plan_folder: Path
) -> None:
    path = plan_folder / "again.yaml"
    keys = {one.key for one in write_plan(record, path)}
    text = path.read_text(encoding="utf-8")
    assert "concurrency: [2]" in text and "output_tokens: 10" in text and "warmup_requests: 1" in text
    assert {"workload.exact_output", "chat_template_kwargs", "preparation_counts", "quality", "model"} <= keys
    assert "workload.output_tokens" not in keys
    assert "comparison.runs.1.engine" in keys  # P is nobody's engine
    assert "100.0 were read on average" in text


def test_a_plan_whose_questions_are_answered_varies_the_engine_and_nothing_else(
    record: ImportedRecord, plan_folder: Path
) -> None:
    path = plan_folder / "again.yaml"
    write_plan(record, path)
    answer(path)
    (group,) = load_plan(path).groups
    assert group.subject == "engine"
    assert [spec.engine for spec in group.specs] == ["vllm", "sglang"]
    assert group.specs[0].workload.concurrency == (2,)
    assert group.specs[0].profile == group.specs[1].profile
    assert len(launches(path, None, None)) == 2  # what lab launch --dry-run prints


def test_the_engine_it_is_set_against_can_be_named_at_once(record: ImportedRecord, plan_folder: Path) -> None:
    path = plan_folder / "again.yaml"
    keys = {one.key for one in write_plan(record, path, against="SGLang")}
    assert "comparison.runs.2.engine" not in keys
    with pytest.raises(ParamsError, match="no engine is called 'sglng'"):
        write_plan(record, plan_folder / "other.yaml", against="sglng")


def test_a_file_that_may_hold_answers_is_not_replaced(record: ImportedRecord, plan_folder: Path) -> None:
    path = plan_folder / "again.yaml"
    path.write_text("mine: 1\n", encoding="utf-8")
    with pytest.raises(ParamsError, match="is there already"):
        write_plan(record, path)
    assert path.read_text(encoding="utf-8") == "mine: 1\n"


def test_a_summary_without_an_engine_asks_for_nearly_everything(store: EvidenceStore, plan_folder: Path) -> None:
    (kept,) = import_files(store, "vllm-bench", [write(plan_folder.parent, "s.json", SECONDS)])
    path = plan_folder / "again.yaml"
    keys = {one.key for one in write_plan(kept.record, path)}
    assert {"sampling.temperature", "workload.endpoint", "workload.seed", "comparison.runs.1.set.max_num_seqs"} <= keys
    assert "workload.concurrency" not in keys


def test_a_question_is_found_wherever_it_stands_and_said_with_its_comment(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text('a: {b: "?"} # what is b?\nc:\n  - &x "?"\n  - *x\nd: "what?" # no question\n', encoding="utf-8")
    assert [(one.key, one.line, one.words) for one in open_questions(path)] == [
        ("a.b", 1, "what is b?"),
        ("c.1", 3, ""),
    ]


def test_a_budget_that_no_engine_can_divide_is_asked_for(store: EvidenceStore, plan_folder: Path) -> None:
    note = "KV cache dtype auto resolved float8_e4m3fn; {} KV tokens."
    for tokens, asked in ((4096, False), (4097, True)):
        notes = [{"severity": "info", "text": note.format(tokens)}]
        path = write(plan_folder.parent, f"{tokens}.json", atlas_record(gotchas=notes))
        (kept,) = import_files(store, "inference-atlas", [path])
        plan = plan_folder / f"{tokens}.yaml"
        found = {one.key: one.words for one in write_plan(kept.record, plan)}
        assert ("comparison.runs.1.set.kv_cache_tokens" in found) is asked
        assert str(tokens) in plan.read_text(encoding="utf-8")
