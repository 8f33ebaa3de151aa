"""Decisions over the weeks: told from what editions published, each change with the question at which paths part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from lab.errors import ParamsError
from lab.explain.published import published
from lab.publish.archive import Edition, editions
from lab.publish.changes import EditionName
from lab.publish.decisions import Change, PublicDecision, Spoken, changes, histories
from lab.publish.gate import release
from lab.publish.schedule import WantedMatch
from lab.publish.weekly import Published
from lab.report.edition import rules_of
from lab.report.messages import LANGS, messages
from lab.report.path import path_json
from lab.report.weekly import archive_pages, changes_words
from lab.report.words import ranking_words
from tests.explain import explain_examples as rules
from tests.publish.weekly_examples import (
    MATCH,
    P_W49,
    Q_W49,
    R_W49,
    WHY,
    WITHDRAWN,
    asks_for_more,
    chosen,
    publish,
)


@pytest.fixture
def reports(five_weeks_published: Path) -> Path:
    """The five weeks."""
    return five_weeks_published


def edition(reports: Path, week: str) -> Edition:
    return next(one for one in editions(reports) if one.week == week)


def words_of(page: Path, part: str = "") -> str:
    """What a reader meets on a page, or in one section of it."""
    html = page.read_text(encoding="utf-8").partition("</style>")[2]
    if part:
        found = re.search(rf'<section (?:id|class)="{part}[" ].*?</section>', html, re.DOTALL)
        assert found is not None, part
        html = found.group()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def decided(tmp_path: Path, **changes: Any) -> PublicDecision:
    """The example's path as an edition would publish it."""
    return published(MATCH, rules.explained(tmp_path, **changes))


def kinds(found: tuple[Change, ...]) -> list[tuple[str, bool]]:
    return [(one.kind, one.decisive) for one in found]


# ---------------------------------------------------------------- what differs


def test_the_same_path_has_no_reason_to_differ(tmp_path: Path) -> None:
    assert changes(decided(tmp_path), decided(tmp_path), {}) == ()


def test_a_measured_number_that_moves_without_changing_an_answer_is_no_reason(tmp_path: Path) -> None:
    # Q loses 0 points of quality, then 1 of 3,000 items: 0.03 points, with an interval far below one point
    other = decided(tmp_path, compared=rules.contrasts(rules.runs(), down=2))
    assert changes(decided(tmp_path), other, {}) == ()


def test_a_threshold_alone_is_the_reason_where_it_alone_changed(tmp_path: Path) -> None:
    before, after = decided(tmp_path), decided(tmp_path, rules=asks_for_more)
    assert (before.end.engine, after.end.engine) == ("Q", "P")
    found = changes(before, after, {})
    assert kinds(found) == [("threshold", True), ("tree", False)]
    first = found[0]
    assert first.before is not None and first.after is not None
    assert (first.before.at_least, first.after.at_least, first.after.at) == (50, 80, "nodes.prefix-heavy")
    assert found[1].was != found[1].now


def test_a_stated_fact_that_turns_the_path_is_the_reason(tmp_path: Path) -> None:
    def less(block: Any) -> None:
        block["facts"]["shared_prefix_share"] = {"value": 30, "low": 28, "high": 31, "unit": "%"}

    found = changes(decided(tmp_path), decided(tmp_path, stated=less), {})
    assert kinds(found) == [("answer", True)]
    assert found[0].before is not None and found[0].after is not None
    assert (found[0].before.value, found[0].after.value, found[0].after.answer) == (71, 30, "no")


def test_quality_that_falls_closes_the_branch_and_is_the_reason(tmp_path: Path) -> None:
    worse = decided(tmp_path, compared=rules.contrasts(rules.runs(), down=61))
    found = changes(decided(tmp_path), worse, {})
    assert worse.end.engine == "P"
    assert kinds(found) == [("answer", True)]
    assert found[0].after is not None and found[0].after.at == "gates.quality:Q"
    assert found[0].after.value == 2.0  # 60 of 3,000 items


def test_a_path_that_was_open_and_now_meets_a_closed_gate_says_both(reports: Path) -> None:
    entry = edition(reports, "2026-W51").history[0].entries[-1]
    assert kinds(entry.changes) == [("answer", True), ("closed", True)]
    assert entry.changes[1].after is not None and entry.changes[1].after.at == "gates.quality:Q"


def test_a_withdrawn_run_under_the_path_is_named_with_its_reason(reports: Path) -> None:
    entry = edition(reports, "2026-W50").history[0].entries[-1]
    assert kinds(entry.changes) == [("answer", True), ("withdrawn", True)]
    gone = entry.changes[1]
    assert gone.run_id == WITHDRAWN and gone.why is not None and gone.why.model_dump() == WHY


def test_what_changes_behind_an_open_question_is_a_reason_too(tmp_path: Path) -> None:
    before = decided(tmp_path)
    other = before.model_copy(update={"end": before.end.model_copy(update={"engine": "P"})})
    assert kinds(changes(before, other, {})) == [("beyond", True)]


def test_another_match_and_facts_stated_again_are_told(tmp_path: Path) -> None:
    before = decided(tmp_path)
    other = before.model_copy(update={"match_id": "m-000000000000", "stated_on": "2026-12-20"})
    assert kinds(changes(before, other, {})) == [("match", False), ("restated", False)]


# ---------------------------------------------------------------- over the weeks


def test_editions_that_say_the_same_share_an_entry_and_one_without_a_path_says_so(tmp_path: Path) -> None:
    one = decided(tmp_path)
    names = [EditionName(week=f"2026-W{n}", revision=1) for n in (49, 50, 51, 52)]
    spoken = [Spoken(name, () if place == 2 else (one,), {}) for place, name in enumerate(names)]
    (history,) = histories(spoken)
    assert [(entry.edition, entry.until, entry.end is None) for entry in history.entries] == [
        (names[0], names[1], False), (names[2], None, True), (names[3], None, False),
    ]  # fmt: skip


def test_five_weeks_are_told_as_they_went(reports: Path) -> None:
    (history,) = edition(reports, "2027-W01").history
    told = [(one.edition.week, one.before and one.before.key, one.end and one.end.key) for one in history.entries]
    q, stopped, p = ("engine", "Q", None), ("stopped", "Q", "gates.preparation:Q"), ("engine", "P", None)
    assert told == [("2026-W49", None, q), ("2026-W50", q, stopped), ("2026-W51", stopped, p), ("2027-W01", p, p)]
    assert history.entries[2].until == EditionName(week="2026-W52", revision=1)


@pytest.mark.parametrize("lang", LANGS)
def test_history_stands_on_the_report_the_weekly_page_and_the_archive(reports: Path, lang: str) -> None:
    reason = WHY[lang]
    for page in (f"2026-W52/r1/{MATCH}/{lang}", f"2026-W52/r1/{lang}", lang):
        said = words_of(reports / page / "index.html", "history")
        assert WITHDRAWN in said and reason in said, page
        assert messages(lang)("history-turn", change="").strip() in said


@pytest.mark.parametrize("lang", LANGS)
def test_the_front_page_opens_with_the_answer_then_columns_then_what_changed(reports: Path, lang: str) -> None:
    t = messages(lang)
    first = words_of(reports / f"2026-W51/r1/{lang}/index.html", "first")
    parts = (t("title"), t("grade-synthetic"), t("path-engine", engine=t("stand-in", engine="P")), "2.57", t("fixed"),
             "Made-Up-135M", t("weekly-news"), t("caveats"))  # fmt: skip
    assert [first.find(part) for part in parts] == sorted(first.find(part) for part in parts)
    assert -1 not in [first.find(part) for part in parts]


def test_a_match_report_is_told_what_changed_and_a_quiet_week_says_so(reports: Path) -> None:
    said = words_of(reports / f"2026-W50/r1/{MATCH}/en/index.html", "first")
    assert "in 2026-W49, revision 1 the path led to engine Q" in said and "Values within noise: 6." in said
    quiet = words_of(reports / f"2026-W52/r1/{MATCH}/en/index.html", "first")
    assert "the path leads to engine P, unchanged since 2026-W51, revision 1" in quiet
    assert "No news since 2026-W51, revision 1." in quiet
    moved = words_of(reports / "2027-W01/r1/en/index.html", "first")
    assert "No news" not in moved and "was at least 50 % and is at least 80 %" in moved


def test_days_are_written_as_the_language_writes_them_and_stay_iso_in_the_evidence(reports: Path) -> None:
    for lang, day in (("en", "March 1, 2027"), ("ja", "2027年3月1日")):
        for page in (f"2026-W51/r1/{MATCH}/{lang}", f"2026-W51/r1/{lang}", lang):
            said = words_of(reports / page / "index.html")
            assert day in said, page
            assert not re.search(r"\b\d{4}-\d{2}-\d{2}\b", said), page
    stored = json.loads((reports / "2026-W51/r1/evidence/edition.json").read_text(encoding="utf-8"))
    assert stored["decisions"][0]["review_by"] == "2027-03-01"


def test_every_page_comes_from_public_evidence_alone(reports: Path) -> None:
    """The archive is built again out of the folder; nothing else is asked."""
    found = editions(reports)
    for name, page in archive_pages(found, frozenset([WITHDRAWN])).items():
        assert (reports / name).read_bytes() == page, name


def test_pages_about_decisions_never_rank(reports: Path) -> None:
    for page in reports.glob("**/index.html"):
        assert ranking_words(words_of(page)) == (), page


# ---------------------------------------------------------------- corrections


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def first(tmp_path: Path) -> Iterator[tuple[Path, Path, Published]]:
    """The first week alone, with the folder of its rules."""
    scratch = tmp_path / "rules"
    scratch.mkdir()
    match = chosen(P_W49, Q_W49, R_W49)
    yield tmp_path / "reports", scratch, publish(tmp_path / "reports", scratch, "2026-W49", match, withdrawn=False)


def test_the_same_facts_make_no_revision_and_others_make_one_that_names_the_workload(
    first: tuple[Path, Path, Published],
) -> None:
    reports, scratch, _ = first
    match, written = chosen(P_W49, Q_W49, R_W49), files(reports)
    assert not publish(reports, scratch, "2026-W49", match, withdrawn=False).fresh
    assert files(reports) == written

    def less(block: Any) -> None:
        block["facts"]["shared_prefix_share"] = {"value": 30, "unit": "%"}

    done = publish(reports, scratch, "2026-W49", match, withdrawn=False, stated=less)
    assert done.edition.revision == 2 and done.edition.correction is not None
    assert done.edition.correction.paths == ("agent-tools",)
    assert [entry.edition.revision for entry in done.edition.history[0].entries] == [1, 2]
    assert {name: files(reports)[name] for name in written if "/r1/" in name} == {
        name: payload for name, payload in written.items() if "/r1/" in name
    }
    said = changes_words(done.edition, messages("en"))
    assert said[0].startswith(
        "agent-tools: in 2026-W49, revision 1 the path led to engine Q; now it leads to engine P."
    )


# ---------------------------------------------------------------- what a publish file may name


def wanted(folder: Path, *entries: dict[str, Any]) -> tuple[WantedMatch, ...]:
    """Matches with the facts and rules of the example in `folder`."""
    for place, text in (("decision/small", rules.DECISION), ("facts/team", rules.FACTS)):
        file = folder / f"{place}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tuple(
        WantedMatch(match_id=f"m-00000000000{n}", plan=None, table=None, planned=(), **entry)
        for n, entry in enumerate(entries)
    )


def test_rules_are_read_by_name_and_keep_the_workloads_a_match_answers(tmp_path: Path) -> None:
    first, second = {"facts": ("team",), "decision": "small", "workloads": ("agent-tools",)}, {}
    found = rules_of(wanted(tmp_path, first, second), tmp_path)
    assert {match_id: list(facts.workloads) for match_id, (_, facts) in found.items()} == {
        "m-000000000000": ["agent-tools"]
    }


@pytest.mark.parametrize(
    ("entries", "edit", "sentence"),
    [
        ([{"facts": ("team",), "decision": "small"}] * 2, ("", ""), "the workload agent-tools would have two paths"),
        ([{"facts": ("team",), "decision": "small", "workloads": ("chat",)}], ("", ""), "have no workload chat"),
        ([{"facts": ("team",), "decision": "small"}], ("    facts:", "    run_ids: [r-aaaaaaaaaa]\n    facts:"),
         "name run_ids for agent-tools"),
        ([{"facts": ("taem",), "decision": "small"}], ("", ""), "did you mean .*team.yaml"),
    ],
)  # fmt: skip
def test_what_an_edition_could_not_walk_is_refused_with_a_sentence(
    tmp_path: Path, entries: list[dict[str, Any]], edit: tuple[str, str], sentence: str
) -> None:
    matches = wanted(tmp_path, *entries)
    file = tmp_path / "facts" / "team.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(*edit), encoding="utf-8")
    with pytest.raises(ParamsError, match=sentence):
        rules_of(matches, tmp_path)


def test_words_of_the_team_that_rank_publish_nothing(tmp_path: Path) -> None:
    scratch, said = tmp_path / "rules", {"2026-W49": {"en": "Q is the fastest.", "ja": "Q が最速です。"}}
    scratch.mkdir()
    match = chosen(P_W49, Q_W49, R_W49)
    publish(tmp_path / "reports", scratch, "2026-W49", match, withdrawn=False)
    with pytest.raises(ParamsError, match=r"en/index\.html would rank"):
        publish(tmp_path / "reports", scratch, "2026-W49", match, withdrawn=False, corrections=said)
    assert not (tmp_path / "reports" / "2026-W49" / "r2").exists()


def test_a_report_with_paths_replaces_itself(tmp_path: Path) -> None:
    files = path_json((rules.explained(tmp_path),))
    for _ in range(2):
        release(files, tmp_path / "report", ())
    assert (tmp_path / "report" / "evidence" / "path.json").is_file()


def test_a_speed_that_moved_is_told_with_start_and_quality_beside_it(reports: Path) -> None:
    news = edition(reports, "2027-W01").news
    assert [(one.cell.engine, one.metric) for one in news.changed] == [("P", "output_tok_per_s")]
    assert [(one.cell.engine, one.startup, one.quality) for one in news.beside] == [("P", "within", "within")]
    t = messages("en")
    for page in (f"2027-W01/r1/{MATCH}/en", "2027-W01/r1/en"):
        said = words_of(reports / page / "index.html")
        assert t("weekly-beside-start", how=t("beside-within")) in said
        assert t("weekly-beside-quality", how=t("beside-within")) in said


def test_a_correction_of_an_earlier_week_knows_nothing_of_later_ones(first: tuple[Path, Path, Published]) -> None:
    reports, scratch, _ = first
    publish(reports, scratch, "2026-W50", chosen(P_W49, R_W49, lacking=Q_W49))
    corrected = publish(reports, scratch, "2026-W49", chosen(P_W49, R_W49, lacking=Q_W49))
    (history,) = corrected.edition.history
    assert [(one.edition.week, one.edition.revision) for one in history.entries] == [("2026-W49", 1), ("2026-W49", 2)]
    assert [one.kind for one in history.entries[-1].changes] == ["answer", "withdrawn"]
    told = (reports / "en" / "index.html").read_text(encoding="utf-8")
    assert told.index("2026-W50, revision 1") < told.index("2026-W49, revision 2") < told.index("2026-W49, revision 1")
    assert messages("en")("weekly-superseded") in told
