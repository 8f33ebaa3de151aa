"""A plan being fixed: open columns are questions, decided ones a plan, and what a person wrote stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.desk.draft import Draft, choices, preflight_sheet, rules_sheet, write_draft
from lab.errors import ParamsError
from lab.plan import load_plan
from lab.roster import ON_TABLE
from lab.rules import RULES

DECIDED: dict[str, Any] = {
    "model": "qwen3-8b-bf16",
    "runs": ["vllm/equal", "trtllm/equal", "sglang/equal", "atlas/equal"],
    "workload": {"use": "chat", "concurrency": [1, 8]},
    "context_limit": 4096,
    "quality": "smoke-mini",
    "preparation_counts": True,
}


def write(folder: Path, **changes: Any) -> Path:
    return write_draft(str(folder / "mine.yaml"), **{**DECIDED, **changes})


def test_a_decided_draft_is_the_plan_that_would_run(tmp_path: Path) -> None:
    path = write(tmp_path)
    draft, plan = Draft(path), load_plan(path)
    assert draft.plan == plan
    assert len(plan.runs) == 12
    assert "12 launches, 3 of each run" in str(draft.verdict)
    assert plan.groups[0].match_id in str(draft.columns)
    assert "What varies: Engine" in str(draft.columns)
    assert "1, 8 in flight" in str(draft.columns)


def test_every_engine_answers_every_condition_with_its_own_words(tmp_path: Path) -> None:
    shown = str(Draft(write(tmp_path)).conditions)
    heads, *rows = [line.split(" | ") for line in shown.splitlines()[1:]]
    assert heads[1:5] == ["vllm / equal", "trtllm / equal", "sglang / equal", "atlas / equal"]
    (caching,) = [row for row in rows if row[0] == "prefix caching"]
    assert "--no-enable-prefix-caching" in caching[1]
    assert "enable_block_reuse" in caching[2]
    assert "--disable-radix-cache" in caching[3]
    assert all(len(row) == 6 for row in rows)


@pytest.mark.parametrize("column", ["model", "workload", "context_limit", "quality", "preparation_counts"])
def test_an_open_column_is_a_question_with_its_line(column: str, tmp_path: Path) -> None:
    path = write(tmp_path, **{column: None})
    draft = Draft(path)
    assert draft.plan is None
    (asked,) = draft.questions
    assert asked.key == column
    assert path.read_text().splitlines()[asked.line - 1].startswith(f'{column}: "?"')
    assert asked.words in str(draft.verdict)
    assert "no plan yet" in str(draft.columns)


def test_without_engines_the_engines_are_the_question(tmp_path: Path) -> None:
    (asked,) = Draft(write(tmp_path, runs=[])).questions
    assert asked.key == "comparison.runs"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workload": "chatt"}, "did you mean"),
        ({"runs": ["vllm/equal", "vllm/defaults"]}, "exactly one may"),
        ({"runs": ["vllm/equal", "llama.cpp/equal"]}, "not one of the four columns"),
        ({"context_limit": 100}, "context"),
    ],
)
def test_a_draft_that_is_no_match_is_refused_in_words(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    draft = Draft(write(tmp_path, **changes))
    assert draft.plan is None
    assert said in str(draft.verdict)


def test_a_file_that_a_person_wrote_or_edited_is_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path, repeats=3)
    write(tmp_path, repeats=4)  # its own file is written anew
    path.write_text(path.read_text().replace("repeats: 4", "repeats: 5"), encoding="utf-8")
    with pytest.raises(ParamsError, match="edited by hand"):
        write(tmp_path)
    path.write_text("model: mine\n", encoding="utf-8")
    with pytest.raises(ParamsError, match="not written by this notebook"):
        write(tmp_path)
    assert path.read_text() == "model: mine\n"


def test_what_stands_in_the_way_here_is_named_with_the_next_step(tmp_path: Path) -> None:
    shown = str(Draft(write(tmp_path)).problems)
    assert "the weights of qwen3-8b-bf16 are not pinned" in shown
    assert "lab model digest qwen3-8b-bf16" in shown


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_all_there_is_to_choose_and_all_rules_are_shown(lang: str) -> None:
    there = str(choices(lang))
    assert all(entry.title in there for entry in ON_TABLE)
    assert "smollm2-135m-instruct-q4_1" in there and "Q4_1 / Q8_1 / F16" in there
    rules = str(rules_sheet(lang))
    assert all(f"{path} | " in rules for path in RULES)
    assert "GET /v1/models" in str(preflight_sheet(lang))
    assert f'lang="{lang}"' in rules_sheet(lang).html
