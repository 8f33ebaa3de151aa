"""The path on the page and on the terminal: in both languages, conditional, never ranking, linked to its evidence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import lab.cli
from lab.errors import LabError
from lab.explain.decision import DECISION, read_decision
from lab.explain.facts import read_facts
from lab.explain.flips import Explanation, explain
from lab.report.build import build_pages
from lab.report.messages import LANGS, messages
from lab.report.numbers import day
from lab.report.path import answer_of, path_json, text_lines
from lab.report.words import ranking_words
from tests.browser import check_page, needs_browser
from tests.explain.explain_examples import DECISION as SMALL
from tests.explain.explain_examples import FACTS, contrasts, explained, launches, runs
from tests.report.test_build import Page

CASES: dict[str, Any] = {
    "Q": None,
    "R": lambda block: block["facts"].update(one_vendor=True),
    "undecided": lambda block: block["facts"]["shared_prefix_share"].update(value=51, low=48, high=54),
    "not stated": lambda block: block["facts"].pop("one_vendor"),
    "counted by nobody": lambda block: block["facts"].pop("shared_prefix_share"),
    "not applicable": lambda block: block["facts"].update(one_vendor={"value": "not-applicable"}),
    "closed": lambda block: block.update(engines={name: {"licence_allows": False} for name in "PQR"}),
    "either way": lambda block: (
        block["facts"].pop("shared_prefix_share"),
        block["engines"].update(Q={"licence_allows": False}),
    ),
    "no load": lambda block: (block.pop("load"), block["facts"].update(one_vendor=True)),
    "column": lambda block: block["facts"].update(gb10=True),
}
EVERY = [(name, lang) for name in CASES for lang in LANGS]


def page(found: Explanation, lang: str) -> Page:
    given = runs()
    return Page(build_pages(given, (lang,), contrasts(given), (found,))[f"{lang}/index.html"].decode())


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_every_end_has_its_words_and_none_ranks(tmp_path: Path, name: str, lang: str) -> None:
    found, t = explained(tmp_path, stated=CASES[name]), messages(lang)
    text = "\n".join(text_lines(found, t))
    assert ranking_words(text) == ()
    assert "{" not in text and "None" not in text
    assert day(found.path.review_by, t) in text and "small-choice" in text
    if lang == "ja":
        assert not re.search(r"[ぁ-んァ-ヶ一-龠] [ぁ-んァ-ヶ一-龠]", text)


def test_the_sentence_says_what_it_rests_on_and_what_it_would_take(tmp_path: Path) -> None:
    said = answer_of(explained(tmp_path), messages("en"))
    assert said.lead == "Under these conditions the path leads to engine Q"
    for part in (
        ": 71 % [66, 75] of the input tokens are shared prefixes (asked: at least 50 %).",
        "Quality against engine P: the largest loss of a task is 0 points [−0.158, 0.158] (asked: at most 1 point).",
    ):
        assert part in said.rest
    assert said.instead == (
        "It would lead to engine R if this held instead: the fleet is of one vendor. 60 min of longer preparation then"
        " pay for themselves after about 10 h of this load. It would lead to engine P if this held instead: 45 % of"
        " the input tokens are shared prefixes."
    )
    said = answer_of(explained(tmp_path), messages("ja"))
    assert said.lead == "この条件では、道筋はエンジン Q に至ります"
    assert said.rest.startswith("。入力トークンの 71 % [66, 75] が共有プレフィックスです（条件は 50 % 以上）。")
    assert said.instead.startswith("次が成り立てば、エンジン R に至ります：艦隊は 1 社の GPU です。そのとき、")


def test_a_loss_below_zero_is_said_as_the_gain_it_is(tmp_path: Path) -> None:
    """4 of 3,000 items fell and 7 rose: 0.1 points more, and nobody has to read a loss of -0.1."""
    found = explained(tmp_path, compared=contrasts(runs(), 4, 7))
    for lang, part in (
        ("en", "no task scored lower; the one that gained least gained 0.1 points ["),
        ("ja", "下がったタスクはありません。伸びが最も小さいタスクの伸びは 0.1 ポイント ["),
    ):
        said = answer_of(found, messages(lang)).rest
        assert part in said and "−0.1 " not in said


def test_a_path_that_stops_names_both_branches_and_the_next_command(tmp_path: Path) -> None:
    given = launches("P", 100, 100)
    found = explained(tmp_path, stated=CASES["R"], given=given, compared=())
    rest = answer_of(found, messages("en")).rest
    assert "Open: When does the build pay for itself? (engine R was not measured)." in rest
    assert "With yes it leads to engine R, before which a question is open" in rest
    assert "With no it leads to engine Q, before which a question is open" in rest
    assert "Next: measure engine R under this workload and at this load: lab run PLAN" in rest


@pytest.mark.parametrize("lang", LANGS)
def test_the_page_shows_path_and_flips_and_the_answer_comes_from_the_path(tmp_path: Path, lang: str) -> None:
    found, t = explained(tmp_path, stated=CASES["R"]), messages(lang)
    seen = page(found, lang)
    assert ranking_words(seen.text) == ()
    assert {"decision-path", "decision-flips", "path-table-1", "flips-table-1", "resampled-table-1",
            "break-even-table-1"} <= set(seen.ids)  # fmt: skip
    assert answer_of(found, t).lead in seen.text and t("answer-none") not in seen.text
    assert len(seen.ids) == len(set(seen.ids))
    assert len(seen.all("caption")) == len(seen.all("table"))
    assert all(one.get("scope") in ("col", "row") for one in seen.all("th"))
    table = re.search(r'<table id="path-table-1".*?</table>', seen.html, re.DOTALL)
    assert table is not None
    for run_id in {run_id for step in found.path.steps if step.evidence.kind == "claim" for run_id in
                   step.evidence.run_ids}:  # fmt: skip
        assert f'href="#card-{run_id}"' in table.group()
        assert f"card-{run_id}" in seen.ids
    assert "../evidence/path.json" in {one.get("href") for one in seen.all("a")}
    assert b'"agent-tools"' in path_json((found,))["evidence/path.json"]


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_a_page_with_paths_in_chromium(tmp_path: Path, lang: str) -> None:
    file, given = tmp_path / "index.html", runs()
    paths = tuple(explained(tmp_path, stated=CASES[name]) for name in ("R", "undecided"))
    file.write_bytes(build_pages(given, contrasts=contrasts(given), explanations=paths)[f"{lang}/index.html"])
    check_page(file, tmp_path)


@pytest.mark.parametrize("lang", LANGS)
def test_a_page_without_facts_says_what_is_missing(lang: str) -> None:
    t = messages(lang)
    seen = Page(build_pages(runs(), (lang,))[f"{lang}/index.html"].decode())
    assert t("decision-path-none") in seen.text and t("answer-none") in seen.text
    assert "path-table-1" not in seen.ids and path_json(()) == {}


def real(tmp_path: Path, **stated: Any) -> Explanation:
    """The decision of this checkout, with facts of a team and no run."""
    tree = read_decision(DECISION)
    file = tmp_path / "facts.yaml"
    block = {"facts": stated, "engines": {"vllm": {"licence_allows": True, "runs_on_the_hardware": True}}}
    file.write_text(yaml.safe_dump({"by": "the team", "day": "2026-12-01", "workloads": {"chat": block}}), "utf-8")
    (found,) = explain(tree, read_facts(file, tree))
    return found


@pytest.mark.parametrize("lang", LANGS)
def test_a_leaf_off_the_table_has_its_reason_and_no_number(tmp_path: Path, lang: str) -> None:
    t = messages(lang)
    laptop = real(tmp_path, laptop_or_edge=True)
    assert laptop.path.end.kind == "off-table"
    rest = answer_of(laptop, t).rest
    assert t("engine-ollama-reason") in rest and rest.endswith(t("engine-ollama-fact"))
    chat = real(tmp_path, laptop_or_edge=False, nvidia_only=False, chat_with_deep_hugging_face=True,
                shared_prefix_share={"value": 12, "unit": "%"})  # fmt: skip
    assert chat.path.end.engine == "tgi"
    assert t("engine-tgi-fact") in answer_of(chat, t).rest


def test_without_a_run_a_real_engine_is_come_to_and_never_concluded_on(tmp_path: Path) -> None:
    found = real(tmp_path, laptop_or_edge=False, nvidia_only=True, models_change_monthly=False,
                 busy_hour_in_flight={"value": 4, "unit": "requests in flight"})  # fmt: skip
    assert (found.path.end.kind, found.path.end.engine) == ("stopped", "vllm")
    assert "Next: measure vLLM under this workload" in answer_of(found, messages("en")).rest


# ---------------------------------------------------------------- the command


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the small decision, its facts and public evidence."""
    (tmp_path / "decision.yaml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "facts.yaml").write_text(FACTS, encoding="utf-8")
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    given = runs()
    for run in given:
        (evidence / f"{run.run_id}.json").write_text(run.model_dump_json(), encoding="utf-8")
    listed = ",".join(one.model_dump_json() for one in contrasts(given))
    (evidence / "contrasts.json").write_text(f"[{listed}]", encoding="utf-8")
    return tmp_path


def told(files: Path, *more: str) -> Any:
    arguments = ["explain", "--facts", str(files / "facts.yaml"), "--decision", str(files / "decision.yaml"), *more]
    return CliRunner().invoke(lab.cli.app, arguments)


@pytest.mark.parametrize(("lang", "sentence"), [
    ("en", "Under these conditions the path leads to engine Q"), ("ja", "この条件では、道筋はエンジン Q に至ります"),
])  # fmt: skip
def test_lab_explain_prints_the_path_in_words(files: Path, lang: str, sentence: str) -> None:
    done = told(files, "--evidence", str(files / "evidence"), "--lang", lang)
    assert done.exit_code == 0, done.exception
    assert sentence in done.stdout
    assert ranking_words(done.stdout) == ()


def test_lab_explain_without_runs_says_what_to_measure_next(files: Path) -> None:
    done = told(files)
    assert done.exit_code == 0, done.exception
    assert "The path comes to engine Q and stops before it" in done.stdout
    assert "lab run PLAN" in done.stdout


@pytest.mark.parametrize(("more", "sentence"), [
    (("--evidence", "nowhere"), "no folder of public evidence"),
    (("--lang", "fr"), "No catalogue for the language 'fr'"),
    (("--decision", "nowhere.yaml"), "nowhere.yaml does not exist"),
])  # fmt: skip
def test_lab_explain_refuses_bad_input_with_a_sentence(files: Path, more: tuple[str, ...], sentence: str) -> None:
    done = told(files, *more)
    assert isinstance(done.exception, LabError) and done.exception.exit_code == 2
    assert sentence in str(done.exception)
