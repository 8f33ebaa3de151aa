"""The pages of a weekly edition: its paths are walked here, and every page is told of the weeks before.

What `lab.publish.weekly` asks for, out of the rules and facts that `params/publish.yaml` names; the pages themselves
are built apart (`lab.report.apart`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lab.errors import ParamsError
from lab.explain.decision import Decision
from lab.explain.facts import TeamFacts
from lab.explain.flips import Explanation, explain
from lab.explain.hypotheses import judge, read_hypotheses
from lab.explain.published import published
from lab.params import PARAMS_FOLDER
from lab.publish.archive import Edition
from lab.publish.cells import ChosenMatch
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.schedule import WantedMatch
from lab.publish.weekly import Decided, Pages
from lab.report.apart import apart
from lab.report.messages import LANGS, messages
from lab.report.path import path_json, read_rules
from lab.report.weekly import told_of
from lab.report.words import refuse_ranking

Rules = Mapping[str, tuple[Decision, TeamFacts]]
"""match_id → what its path is walked by and with."""

Building = Callable[[str], Callable[..., dict[str, bytes]]]

DECISION = "engine-choice"
"""The decision of params/decision/ where none is named."""


def rules_of(wanted: Iterable[WantedMatch], folder: Path = PARAMS_FOLDER) -> Rules:
    """The decisions and facts that a publish file names beside its matches.

    Args:
        wanted: the matches of an edition.
        folder: params/.

    Raises:
        ParamsError: a file cannot be followed, or a workload would have two paths.
    """
    found: dict[str, tuple[Decision, TeamFacts]] = {}
    answered_by: dict[str, str] = {}
    for one in wanted:
        if not one.facts:
            continue
        decision = folder / "decision" / f"{one.decision or DECISION}.yaml"
        rules, facts = read_rules([folder / "facts" / f"{name}.yaml" for name in one.facts], decision)
        named = ", ".join(one.facts)
        unknown = sorted(set(one.workloads) - facts.workloads.keys())
        if unknown:
            raise ParamsError(
                f"the facts {named} have no workload {', '.join(unknown)}; they have: {', '.join(facts.workloads)}"
            )
        kept = {name: own for name, own in facts.workloads.items() if not one.workloads or name in one.workloads}
        for name, own in kept.items():
            if own.run_ids:
                raise ParamsError(
                    f"the facts {named} name run_ids for {name}; an edition takes the runs of its published cells",
                    "leave run_ids out of the facts",
                )
            if name in answered_by:
                raise ParamsError(
                    f"the workload {name} would have two paths, with {answered_by[name]} and with {one.match_id}",
                    "name beside each match, under workloads, which ones it answers",
                )
            answered_by[name] = one.match_id
        found[one.match_id] = (rules, facts.model_copy(update={"workloads": kept}))
    return found


def edition_pages(rules: Rules, langs: tuple[str, ...] = LANGS, building: Building = apart) -> Pages:
    """What builds the pages of one edition.

    Args:
        rules: from `rules_of`.
        langs: languages to build.
        building: gives the function that builds pages for its name, `lab.report.build:build_pages`.
    """
    walked: dict[str, tuple[Explanation, ...]] = {}
    claims = read_hypotheses()
    report, front = building("lab.report.build:build_pages"), building("lab.report.weekly:front_pages")
    index = building("lab.report.weekly:archive_pages")

    def decide(one: ChosenMatch, beside: tuple[PublicContrast, ...]) -> Decided:
        match_id = one.match.match_id
        own_rules = rules.get(one.wanted_as)
        walked[match_id] = explain(*own_rules, one.runs, beside) if own_rules else ()
        own = walked[match_id]
        return Decided(tuple(published(match_id, path) for path in own), path_json(own))

    def match(edition: Edition, runs: tuple[PublicRun, ...], beside: tuple[PublicContrast, ...]) -> Mapping[str, bytes]:
        match_id = runs[0].match_id
        told = {lang: told_of(edition, match_id, messages(lang)) for lang in langs}
        judged = judge(claims, runs, beside)
        return refuse_ranking(report(runs, langs, beside, walked[match_id], told=told, judged=judged))

    return Pages(
        match=match,
        front=lambda edition, runs: refuse_ranking(front(edition, runs, walked, langs)),
        archive=lambda editions, withdrawn: refuse_ranking(index(editions, withdrawn, langs)),
        decide=decide,
    )
