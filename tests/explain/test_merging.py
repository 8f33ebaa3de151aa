"""Several facts files as one: the measured fact answers where traffic is asked, and what was not used is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import lab.cli
from lab.errors import ParamsError
from lab.explain.decision import Decision, read_decision
from lab.explain.facts import Entry, TeamFacts, read_facts
from lab.explain.merging import measured_alone, merge
from tests.explain.explain_examples import DECISION


def measured(value: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "unit": "%", "requests": 5000, "measured_from": "traffic",
            "window_s": 7200, "counted_in": "tokens", **more}  # fmt: skip


def file(folder: Path, name: str, facts: dict[str, Any], *, by: str = "platform team", day: str = "2026-12-01") -> Path:
    path = folder / f"{name}.yaml"
    data = {"by": by, "day": day, "workloads": {"agents": {"facts": facts}}}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


@pytest.fixture
def decision(tmp_path: Path) -> Decision:
    path = tmp_path / "decision.yaml"
    path.write_text(DECISION, encoding="utf-8")
    return read_decision(path)


def merged(decision: Decision, *paths: Path) -> TeamFacts:
    return merge([(path.name, read_facts(path, decision)) for path in paths], decision)


def entry(facts: TeamFacts, name: str) -> Entry:
    found = facts.workloads["agents"].facts[name]
    assert isinstance(found, Entry)
    return found


def test_a_question_for_the_traffic_takes_the_measured_fact_in_either_order(tmp_path: Path, decision: Decision) -> None:
    team = file(tmp_path, "team", {"shared_prefix_share": {"value": 71, "unit": "%"}})
    log = file(tmp_path, "log", {"shared_prefix_share": measured(40, 38, 42)}, by="lab traffic", day="2026-12-02")
    for paths in ((team, log), (log, team)):
        found = entry(merged(decision, *paths), "shared_prefix_share")
        assert (found.value, found.low, found.by, found.measured_from) == (40, 38, "lab traffic", "traffic")
        assert found.overruled is not None
        assert (found.overruled.value, found.overruled.source, found.overruled.by) == (71, "declared", "platform team")


@pytest.mark.parametrize(("stated", "counted", "used", "overruled"), [
    (True, False, True, "traffic"), (False, True, True, "declared"),
    (True, True, True, None), (False, False, False, None),
])  # fmt: skip
def test_a_need_holds_when_either_says_so(
    tmp_path: Path, decision: Decision, stated: bool, counted: bool, used: bool, overruled: str | None
) -> None:
    team = file(tmp_path, "team", {"needs_tool_calls": stated})
    log = file(tmp_path, "log", {"needs_tool_calls": {"value": counted, "measured_from": "traffic", "requests": 900}})
    found = entry(merged(decision, team, log), "needs_tool_calls")
    assert found.value is used
    assert (found.overruled.source if found.overruled else None) == overruled


def test_facts_of_one_file_alone_stay_with_who_stated_them(tmp_path: Path, decision: Decision) -> None:
    team = file(tmp_path, "team", {"one_vendor": True})
    log = file(tmp_path, "log", {"shared_prefix_share": measured(40, 38, 42)}, by="lab traffic", day="2026-12-02")
    found = merged(decision, team, log)
    assert (found.by, found.day) == ("platform team", "2026-12-01")
    assert (entry(found, "one_vendor").by, entry(found, "shared_prefix_share").day) == ("platform team", "2026-12-02")


def test_two_statements_or_two_measurements_that_differ_are_refused(tmp_path: Path, decision: Decision) -> None:
    one = file(tmp_path, "one", {"one_vendor": True})
    two = file(tmp_path, "two", {"one_vendor": False})
    with pytest.raises(
        ParamsError, match=r"one.yaml and two.yaml: workloads.agents.facts.one_vendor: it is stated twice"
    ):
        merged(decision, one, two)
    counted = [file(tmp_path, f"log{n}", {"shared_prefix_share": measured(n, n, n)}) for n in (40, 60)]
    with pytest.raises(ParamsError, match="measured twice and differs"):
        merged(decision, *counted)
    assert entry(merged(decision, one, one), "one_vendor").value is True


def test_what_is_measured_says_so_and_only_then(tmp_path: Path, decision: Decision) -> None:
    wrong = file(tmp_path, "wrong", {"shared_prefix_share": {"value": 71, "unit": "%", "window_s": 60}})
    with pytest.raises(ParamsError, match="go with measured_from"):
        read_facts(wrong, decision)


@pytest.mark.parametrize(("lang", "sentences"), [
    ("en", ("40 % [38, 42]", "measured from traffic, December 2, 2026", "counted in 5,000 requests", "over 2 h",
            "platform team stated 71 % on December 1, 2026; not used")),
    ("ja", ("トラフィックから計測、2026年12月2日", "5,000 リクエストで集計", "期間は 2 時間",
            "platform team の申告（2026年12月1日）は 71 %。使っていません")),
])  # fmt: skip
def test_lab_explain_names_the_source_and_the_conflict(
    tmp_path: Path, decision: Decision, lang: str, sentences: tuple[str, ...]
) -> None:
    team = file(tmp_path, "team", {"one_vendor": False, "shared_prefix_share": {"value": 71, "unit": "%"}})
    log = file(tmp_path, "log", {"shared_prefix_share": measured(40, 38, 42)}, by="lab traffic", day="2026-12-02")
    arguments = ["explain", "--facts", str(team), "--facts", str(log), "--decision", str(tmp_path / "decision.yaml")]
    done = CliRunner().invoke(lab.cli.app, [*arguments, "--lang", lang])
    assert done.exit_code == 0, done.exception
    for sentence in sentences:
        assert sentence in done.stdout, sentence


def test_a_conflict_that_no_step_shows_is_named_all_the_same(tmp_path: Path, decision: Decision) -> None:
    team = file(tmp_path, "team", {"one_vendor": False, "needs_tool_calls": False})
    log = file(tmp_path, "log", {"needs_tool_calls": {"value": True, "measured_from": "traffic", "requests": 900}})
    arguments = ["explain", "--facts", str(team), "--facts", str(log), "--decision", str(tmp_path / "decision.yaml")]
    done = CliRunner().invoke(lab.cli.app, arguments)
    assert done.exit_code == 0, done.exception
    assert (
        "Two files differ on needs_tool_calls. Used: yes (measured from traffic, December 1, 2026). "
        "platform team stated no on December 1, 2026; not used."
    ) in done.stdout


def test_measured_facts_under_another_name_than_the_team_uses_are_noticed(tmp_path: Path, decision: Decision) -> None:
    team = file(tmp_path, "team", {"one_vendor": False})
    log = file(tmp_path, "log", {"shared_prefix_share": measured(40, 38, 42)})
    assert measured_alone(merged(decision, team, log)) == ()
    log.write_text(log.read_text(encoding="utf-8").replace("agents", "agent"), encoding="utf-8")
    assert measured_alone(merged(decision, team, log)) == ("agent",)


def test_a_number_the_team_states_is_not_called_measured(tmp_path: Path, decision: Decision) -> None:
    team = file(tmp_path, "team", {"one_vendor": False, "shared_prefix_share": {"value": 71, "unit": "%"}})
    arguments = ["explain", "--facts", str(team), "--decision", str(tmp_path / "decision.yaml")]
    done = CliRunner().invoke(lab.cli.app, arguments)
    assert done.exit_code == 0, done.exception
    assert "measured from traffic" not in done.stdout and "here the team states it" in done.stdout
