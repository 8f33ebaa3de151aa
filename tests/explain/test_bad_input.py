"""What could not be walked is refused when it is read: a sentence that names the place and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.errors import ParamsError
from lab.explain.decision import DECISION, read_decision
from lab.explain.flips import explain
from lab.report.path import read_rules
from tests.explain.explain_examples import decision, facts, runs

Edit = Any


def of_node(name: str, **changes: Any) -> Edit:
    return lambda tree: tree["nodes"][name].update(changes)


def without(*path: str) -> Edit:
    def edit(tree: Any) -> None:
        for key in path[:-1]:
            tree = tree[key]
        del tree[path[-1]]

    return edit


def second_root(tree: Any) -> None:
    tree["nodes"]["other"] = {**tree["nodes"]["one-vendor"], "then": "P", "otherwise": "Q", "fact": "else"}


def asked_twice(tree: Any) -> None:
    """Below 50 % nothing can be above 60 %."""
    again = {**tree["nodes"]["prefix-heavy"], "at_least": 60, "then": "Q", "otherwise": "P"}
    tree["nodes"]["prefix-again"] = again
    tree["nodes"]["prefix-heavy"]["otherwise"] = "prefix-again"


def stated_twice(tree: Any) -> None:
    tree["nodes"]["vendor-again"] = {**tree["nodes"]["one-vendor"], "then": "P", "otherwise": "Q"}
    tree["nodes"]["one-vendor"]["otherwise"] = "vendor-again"
    tree["nodes"]["vendor-again"]["otherwise"] = "prefix-heavy"


BAD: dict[str, tuple[Edit, str]] = {
    "a leaf nobody leads to": (
        lambda tree: tree["leaves"].update(S={"engine": "S"}), "leaves.S is unreachable: no branch leads to it"),
    "a branch decided above": (
        asked_twice, "nodes.prefix-again.then is unreachable: the questions before it never lead on to 'Q'"),
    "a fact decided above": (stated_twice, "nodes.vendor-again.then is unreachable"),
    "a threshold without a unit": (
        without("nodes", "prefix-heavy", "unit"), "nodes.prefix-heavy: the threshold 50 has no unit"),
    "a unit without a threshold": (
        without("nodes", "prefix-heavy", "at_least"), "nodes.prefix-heavy: the unit '%' has no threshold"),
    "two thresholds": (of_node("prefix-heavy", at_most=60), "one threshold: at_least or at_most"),
    "another unit than the metric's": (of_node("build-pays", unit="min"), "is in h, the threshold in min"),
    "two roots": (second_root, "two roots: no branch leads to one-vendor nor to other"),
    "a circle": (
        of_node("prefix-heavy", otherwise="one-vendor"), "the questions go in a circle: one-vendor → build-pays"),
    "an engine nobody listed": (
        lambda tree: tree["leaves"]["P"].update(engine="vlm"), "leaves.P.engine: nobody has listed the engine 'vlm'"),
    "a gateway as a leaf": (
        lambda tree: tree["leaves"]["P"].update(engine="litellm"), "LiteLLM is no engine to choose, but a gateway"),
    "a missing language": (
        without("nodes", "one-vendor", "question", "ja"), "nodes.one-vendor.question.ja: is missing"),
    "an unknown branch": (
        of_node("one-vendor", then="prefix-hevy"),
        "nodes.one-vendor.then leads to 'prefix-hevy', which is no node and no leaf; did you mean 'prefix-heavy'?"),
    "an unknown gate": (
        lambda tree: tree["leaves"]["P"].update(gates=["qualty"]), "names 'qualty', which is no gate"),
    "a key nobody knows": (of_node("one-vendor", weight=3), "unknown key 'weight'"),
    "speed without quality": (
        lambda tree: tree["leaves"]["R"].update(gates=["licence", "preparation"]),
        "leaves.R can be reached on speed (nodes.build-pays) without a gate on quality"),
    "speed without preparation": (
        lambda tree: tree["leaves"]["R"].update(gates=["licence", "quality"]),
        "leaves.R can be reached on speed (nodes.build-pays) without a gate on preparation"),
    "a build without its way round": (
        without("nodes", "build-pays", "not_applicable"), "write where not_applicable: leads"),
    "one fact in two units": (
        of_node("one-vendor", fact="shared_prefix_share"), "the fact 'shared_prefix_share' is asked in yes or no"),
    "a clause with a hole": (
        of_node("one-vendor", says={"then": {"en": "{fleet}", "ja": "艦隊"}, "otherwise": {"en": "no", "ja": "否"}}),
        "a clause knows {value} alone, and only beside a threshold; got {fleet}"),
    "a metric without its other engine": (without("nodes", "gain", "against"), "throughput_gain needs against:"),
    "a lab question about a fact": (of_node("gain", fact="gain"), "source: lab goes with a metric and without a fact"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_decision_that_cannot_be_walked_is_refused(tmp_path: Path, name: str) -> None:
    edit, sentence = BAD[name]
    with pytest.raises(ParamsError) as refused:
        decision(tmp_path, edit)
    assert sentence in refused.value.what
    assert "decision.yaml" in refused.value.what


def test_a_number_may_be_asked_again_where_both_answers_remain(tmp_path: Path) -> None:
    def finer(tree: Any) -> None:
        asked_twice(tree)
        tree["nodes"]["prefix-again"]["at_least"] = 30

    assert "prefix-again" in decision(tmp_path, finer).nodes


BAD_FACTS: dict[str, tuple[Edit, str]] = {
    "a fact nobody asks for": (
        lambda block: block["facts"].update(one_vender=True), "unknown key 'one_vender'. Did you mean 'one_vendor'?"),
    "a number without a unit": (
        lambda block: block["facts"].update(shared_prefix_share={"value": 71}), "a number needs its unit"),
    "another unit": (
        lambda block: block["facts"].update(shared_prefix_share={"value": 0.71, "unit": "share"}),
        "the threshold is in %, the fact in share"),
    "yes where a number is asked": (
        lambda block: block["facts"].update(shared_prefix_share=True), "a number in % is asked, got True"),
    "a number where yes is asked": (
        lambda block: block["facts"].update(one_vendor={"value": 1, "unit": "fleet"}),
        "yes or no (true or false) is asked, got 1"),
    "a value outside its interval": (
        lambda block: block["facts"]["shared_prefix_share"].update(value=80), "the value lies outside its interval"),
    "half an interval": (
        lambda block: block["facts"]["shared_prefix_share"].pop("low"), "an interval has two ends: low and high"),
    "an unknown engine": (
        lambda block: block["engines"].update(vlm={"licence_allows": True}), "nobody has listed the engine 'vlm'"),
    "a day that is none": (
        lambda block: block["facts"].update(gb10={"value": True, "day": "2026-02-30"}), "day is out of range"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FACTS)
def test_facts_that_answer_no_question_are_refused(tmp_path: Path, name: str) -> None:
    edit, sentence = BAD_FACTS[name]
    tree = decision(tmp_path)
    with pytest.raises(ParamsError) as refused:
        facts(tmp_path, tree, edit)
    assert sentence in refused.value.what
    assert "facts.yaml" in refused.value.what


def test_facts_that_name_a_run_that_is_not_there_are_refused(tmp_path: Path) -> None:
    tree = decision(tmp_path)
    stated = facts(tmp_path, tree, lambda block: block.update(run_ids=["r-aaaaaaaaaa"]))
    with pytest.raises(ParamsError, match="name runs that are not among those given: r-aaaaaaaaaa"):
        explain(tree, stated, runs())


@pytest.mark.parametrize(("lang", "word"), [("en", "the fastest choice"), ("ja", "最速のエンジン")])
def test_a_decision_whose_texts_rank_is_refused(tmp_path: Path, lang: str, word: str) -> None:
    tree = decision(tmp_path)
    facts(tmp_path, tree)
    file = tmp_path / "decision.yaml"
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    data["nodes"]["prefix-heavy"]["says"]["then"][lang] = word
    file.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    with pytest.raises(ParamsError, match=r"nodes\.prefix-heavy\.says\.then ranks"):
        read_rules(tmp_path / "facts.yaml", file)


def test_the_decision_of_this_checkout_is_whole_and_holds_the_tree_of_both_source_texts() -> None:
    tree = read_decision(DECISION)
    assert tree.root == "laptop-or-edge"
    assert {leaf.engine for leaf in tree.leaves.values()} == {"vllm", "trtllm", "sglang", "ollama", "tgi"}
    assert {column.engine for column in tree.columns.values()} == {"atlas"}
    assert {gate.kind for gate in tree.gates.values()} == {
        "licence", "hardware", "support", "quality", "preparation", "api"
    }  # fmt: skip
