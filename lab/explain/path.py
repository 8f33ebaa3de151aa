"""The path through a decision for one workload: each question with its answer, and where it ends or stops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from lab.explain.claims import Absent, Claim, Load, NotApplicable, Observation, measure, observations
from lab.explain.decision import Both, Branch, Decision, Gate, Node, Question
from lab.explain.facts import Conflict, Stated, TeamFacts, WorkloadFacts, conflicts, stated
from lab.publish.evidence import PublicContrast, PublicRun
from lab.records import EvidenceGrade
from lab.roster import find
from lab.spec import Frozen, Name

Answer = Literal["yes", "no", "undecided", "not-measured", "not-applicable"]
Evidence = Stated | Claim | Absent | NotApplicable
Answers = Mapping[str, Evidence]
"""Place of a question → what answers it: `nodes.X`, `gates.X:ENGINE`, `columns.X`."""


class Ahead(Frozen):
    """Where one branch of an open question leads."""

    branch: Branch
    leads_to: End


class End(Frozen):
    """Where a path ends: at an engine, or at a question that is open."""

    kind: Literal["engine", "off-table", "stopped", "closed"]
    """`closed`: gates have closed every branch that the answers lead to."""
    engine: Name | None = None
    """The engine it has come to; for `stopped` at a gate and for `closed`: the one it cannot conclude on."""
    at: str | None = None
    """Place of the question at which it stopped, or of the gate that closed the last branch."""
    question: Both | None = None
    """That question."""

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """Two paths with the same key end at the same place."""
        return self.kind, self.engine, self.at if self.kind == "stopped" else None


class Step(Frozen):
    """One question on the path."""

    at: str
    part: Literal["node", "gate", "column"]
    asked: Question
    engine: Name | None = None
    """Gates and columns: the engine it is about."""
    answer: Answer
    evidence: Evidence
    clause: Both | None = None
    """What holds, as a clause; None where nothing is decided."""
    closed: Both | None = None
    """The reason with which this gate closed the branch."""
    either: bool = False
    """True when the question is open and every answer leads to the same engine: it decides nothing here."""
    turned: bool = False
    """True when the branch of this answer was closed and the path took the other one."""
    ahead: tuple[Ahead, ...] = ()
    """Where each branch would lead, when the path stops here."""


class Path(Frozen):
    """The way one workload takes through a decision."""

    decision: Name
    decision_digest: str
    workload: Name
    load: Load | None
    stated_by: str
    stated_on: str
    review_by: str
    steps: tuple[Step, ...]
    columns: tuple[Step, ...]
    end: End
    observations: tuple[Observation, ...]
    """Runs that no rule reads."""
    generated: bool
    """True when a claim on it comes from generated numbers: a demonstration, no decision."""
    conflicts: tuple[Conflict, ...] = ()
    """Facts of which two files say different things, where no step shows it."""


def answer(question: Question, evidence: Evidence) -> Answer:
    """The answer of one question. An interval that crosses the threshold, or none at all, leaves it undecided."""
    if isinstance(evidence, Absent):
        return "not-measured"
    if isinstance(evidence, NotApplicable):
        return "not-applicable"
    if evidence.flag is not None:
        return "yes" if evidence.flag else "no"
    limit = question.threshold
    ends = _ends(evidence)
    if limit is None or ends is None:
        return "undecided"
    low, high = ends
    if question.at_least is not None:
        return "yes" if low >= limit else "no" if high < limit else "undecided"
    return "yes" if high <= limit else "no" if low > limit else "undecided"


def _ends(evidence: Stated | Claim) -> tuple[float, float] | None:
    """The interval a rule looks at; a number that somebody decided is its own; None: one launch has none."""
    if isinstance(evidence, Claim):
        if evidence.interval is None:
            return None
        low, high = evidence.interval.low, evidence.interval.high
        return (math.inf if low is None else low), (math.inf if high is None else high)
    assert evidence.value is not None
    return (
        evidence.value if evidence.low is None else evidence.low,
        evidence.value if evidence.high is None else evidence.high,
    )


def collect(
    decision: Decision,
    facts: TeamFacts,
    workload: WorkloadFacts,
    runs: Sequence[PublicRun],
    contrasts: Sequence[PublicContrast],
) -> dict[str, Evidence]:
    """What answers each question of a decision for one workload, whether the path comes by or not."""
    found: dict[str, Evidence] = {}
    for name, node in decision.nodes.items():
        found[f"nodes.{name}"] = _evidence(node, node.engine, facts, workload, runs, contrasts)
    for name, column in decision.columns.items():
        found[f"columns.{name}"] = _evidence(column, column.engine, facts, workload, runs, contrasts)
    for leaf in decision.leaves.values():
        for name in leaf.gates:
            gate = decision.gates[name]
            found[f"gates.{name}:{leaf.engine}"] = _gate_evidence(gate, leaf.engine, facts, workload, runs, contrasts)
    return found


def _gate_evidence(
    gate: Gate,
    engine: str,
    facts: TeamFacts,
    workload: WorkloadFacts,
    runs: Sequence[PublicRun],
    contrasts: Sequence[PublicContrast],
) -> Evidence:
    if gate.needed_if is not None:
        need = stated(Question(question=gate.question, source="declared", fact=gate.needed_if), facts, workload)
        if isinstance(need, Absent):
            return need
        if isinstance(need, NotApplicable) or not need.flag:
            return NotApplicable(why="not-needed")
    return _evidence(gate, engine, facts, workload, runs, contrasts)


def _evidence(
    question: Question,
    engine: str | None,
    facts: TeamFacts,
    workload: WorkloadFacts,
    runs: Sequence[PublicRun],
    contrasts: Sequence[PublicContrast],
) -> Evidence:
    if question.metric is None:
        return stated(question, facts, workload, engine if isinstance(question, Gate) else None)
    assert engine is not None
    return measure(question.metric, engine, question.against, workload.load, runs, contrasts)


def walk(
    decision: Decision, answers: Answers, start: str | None = None, taken: Branch | None = None
) -> tuple[tuple[Step, ...], End]:
    """Follow the answers from the root, or from `start`, to an engine or to a question that is open.

    An open question stops it, unless every answer leads to the same engine. A gate that answers no closes its branch.
    Where the question before it was answered yes, or did not arise, the path then takes that question's no; a branch
    that was taken because the answer was no has no other.

    Args:
        decision: the tree.
        answers: what answers each of its questions.
        start: a node or a leaf; None: the root.
        taken: the branch to take at `start`, whatever answers it.
    """
    steps: list[Step] = []
    place, back = decision.root if start is None else start, None
    while True:
        if place in decision.nodes:
            node = decision.nodes[place]
            step = _step(f"nodes.{place}", "node", node, None, answers)
            steps.append(step)
            branch, taken = taken or _branch(step.answer, node), None
            if branch is None:
                ahead = _ahead(decision, answers, place)
                if len({one.leads_to.key for one in ahead}) == 1 and ahead[0].leads_to.kind in ("engine", "off-table"):
                    steps[-1] = step.model_copy(update={"either": True})
                    place, back = node.otherwise, None
                    continue
                steps[-1] = step.model_copy(update={"ahead": ahead})
                return tuple(steps), End(kind="stopped", at=step.at, question=node.question)
            place, back = node.branches[branch], None if branch == "otherwise" else len(steps) - 1
            continue
        stop, passed = _gates(decision, answers, place, None if back is None else _other(decision, steps[back]))
        steps.extend(passed)
        engine = decision.leaves[place].engine
        if stop is None:
            entry = find(engine)
            off = entry is not None and entry.seat == "off"
            return tuple(steps), End(kind="off-table" if off else "engine", engine=engine)
        if stop.kind == "stopped" or back is None:
            return tuple(steps), stop
        steps[back] = steps[back].model_copy(update={"turned": True})
        place, back = _other(decision, steps[back]), None


def _gates(decision: Decision, answers: Answers, place: str, other: str | None) -> tuple[End | None, tuple[Step, ...]]:
    """The gates before a leaf, up to the first that does not stand open, and the end it makes."""
    leaf = decision.leaves[place]
    steps: list[Step] = []
    for name in leaf.gates:
        gate = decision.gates[name]
        step = _step(f"gates.{name}:{leaf.engine}", "gate", gate, leaf.engine, answers)
        if step.answer == "no":
            steps.append(step.model_copy(update={"closed": gate.closed}))
            return End(kind="closed", engine=leaf.engine, at=step.at, question=gate.question), tuple(steps)
        if step.answer in ("undecided", "not-measured"):
            closed = End(kind="closed", engine=leaf.engine, at=step.at, question=gate.question)
            beyond = closed if other is None else walk(decision, answers, other)[1]
            passed = {**answers, step.at: NotApplicable(why="not-needed")}
            ahead = (
                Ahead(branch="then", leads_to=walk(decision, passed, place)[1]),
                Ahead(branch="otherwise", leads_to=beyond),
            )
            steps.append(step.model_copy(update={"ahead": ahead}))
            return End(kind="stopped", engine=leaf.engine, at=step.at, question=gate.question), tuple(steps)
        steps.append(step)
    return None, tuple(steps)


def _ahead(decision: Decision, answers: Answers, name: str) -> tuple[Ahead, ...]:
    return tuple(
        Ahead(branch=branch, leads_to=walk(decision, answers, name, branch)[1])
        for branch in decision.nodes[name].branches
    )


def _other(decision: Decision, step: Step) -> str:
    return decision.nodes[step.at.removeprefix("nodes.")].otherwise


def _branch(answer: Answer, node: Node) -> Branch | None:
    if answer in ("yes", "no"):
        return "then" if answer == "yes" else "otherwise"
    return "not_applicable" if answer == "not-applicable" and node.not_applicable is not None else None


def _step(
    at: str, part: Literal["node", "gate", "column"], question: Question, engine: str | None, answers: Answers
) -> Step:
    evidence = answers[at]
    said = answer(question, evidence)
    clause = None
    if isinstance(question, Node) and said in ("yes", "no"):
        clause = question.says.then if said == "yes" else question.says.otherwise
    return Step(
        at=at,
        part=part,
        asked=question,
        engine=engine,
        answer=said,
        evidence=evidence,
        clause=clause,
    )


def path_of(
    decision: Decision,
    facts: TeamFacts,
    name: str,
    answers: Answers,
    runs: Sequence[PublicRun],
) -> Path:
    """The path of one workload, with who stated its facts and when it is looked at again."""
    workload = facts.workloads[name]
    steps, end = walk(decision, answers)
    columns = tuple(
        _step(f"columns.{key}", "column", column, column.engine, answers) for key, column in decision.columns.items()
    )
    claims = [step.evidence for step in (*steps, *columns) if isinstance(step.evidence, Claim)]
    shown = {step.evidence.fact for step in (*steps, *columns) if isinstance(step.evidence, Stated)}
    return Path(
        decision=decision.name,
        decision_digest=decision.digest,
        workload=name,
        load=workload.load,
        stated_by=facts.by,
        stated_on=facts.day,
        review_by=facts.review_by(decision.review_days),
        steps=steps,
        columns=columns,
        end=end,
        observations=observations(runs),
        generated=any(claim.grade is EvidenceGrade.SYNTHETIC for claim in claims),
        conflicts=tuple(one for one in conflicts(facts, workload) if one.fact not in shown),
    )
