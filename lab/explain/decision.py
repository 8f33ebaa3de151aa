"""The decision tree as a team writes it: questions with thresholds, gates, leaves; read strictly, never weighed.

A tree is checked as a whole when it is read. What could not be walked later is refused now, with a sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from lab.errors import ParamsError, nearest
from lab.explain.claims import PAIRS, SPEED, UNITS, MetricName
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.roster import find
from lab.spec import Frozen, Name, digest

DECISION = PARAMS_FOLDER / "decision" / "engine-choice.yaml"
"""The decision that is used where none is named."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^<>\x00-\x1f]*$")]
Unit = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[^<>\x00-\x1f]*$")]
Branch = Literal["then", "otherwise", "not_applicable"]
"""Where a question leads: its yes, its no (words that YAML reads as truth values), or that it does not arise."""


VALUE = "{value}"
"""Stands in a clause for the number that answered."""


class Both(Frozen):
    """One text in every language of the report."""

    en: Text
    ja: Text

    def text(self, lang: str) -> str:
        """The text in one language."""
        return self.ja if lang == "ja" else self.en


class Says(Frozen):
    """What holds when the question is answered, as a clause of the answer's sentence; `{value}` is the number."""

    then: Both
    otherwise: Both


class Question(Frozen):
    """What is asked, of whom, and the threshold where the answer is a number."""

    question: Both
    source: Literal["declared", "traffic", "lab"]
    """Who answers: the team states it, the team's own traffic shows it, the lab measured it."""
    fact: Name | None = None
    """Name in the team's facts; not for the lab."""
    metric: MetricName | None = None
    """What the lab measures; only for the lab."""
    against: Name | None = None
    """The engine it is set against, where the metric takes two."""
    at_least: float | None = None
    at_most: float | None = None
    unit: Unit | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.source == "lab" and (self.metric is None or self.fact is not None):
            raise ValueError("source: lab goes with a metric and without a fact")
        if self.source != "lab" and (self.fact is None or self.metric is not None):
            raise ValueError(f"source: {self.source} goes with a fact and without a metric")
        if self.at_least is not None and self.at_most is not None:
            raise ValueError("a question has one threshold: at_least or at_most")
        if self.threshold is not None and self.unit is None:
            raise ValueError(f"the threshold {self.threshold:g} has no unit; write unit: beside it")
        if self.threshold is None and self.unit is not None:
            raise ValueError(f"the unit '{self.unit}' has no threshold; write at_least: or at_most: beside it")
        if self.metric is not None:
            self._check_metric(self.metric)
        return self

    def _check_metric(self, metric: MetricName) -> None:
        unit = UNITS[metric]
        if unit is None and self.threshold is not None:
            raise ValueError(f"the metric {metric} answers yes or no; it takes no threshold")
        if unit is not None and self.threshold is None:
            raise ValueError(f"the metric {metric} is a number; write at_least: or at_most: with unit: {unit}")
        if unit is not None and self.unit != unit:
            raise ValueError(f"the metric {metric} is in {unit}, the threshold in {self.unit}")
        if (metric in PAIRS) != (self.against is not None):
            takes = "needs against:, the engine it is set against" if metric in PAIRS else "takes no against:"
            raise ValueError(f"the metric {metric} {takes}")

    @property
    def threshold(self) -> float | None:
        """The number that is asked for; None for yes or no."""
        return self.at_most if self.at_least is None else self.at_least


class Node(Question):
    """A question of the tree and where each answer leads: another node or a leaf."""

    says: Says
    engine: Name | None = None
    """The engine a metric is about."""
    then: Name
    """Where yes leads."""
    otherwise: Name
    """Where no leads."""
    not_applicable: Name | None = None
    """Where it goes on when the question does not arise."""

    @model_validator(mode="after")
    def _names_its_engine(self) -> Self:
        if (self.source == "lab") != (self.engine is not None):
            raise ValueError("engine: goes with source: lab, and only with it")
        if self.metric in ("break_even_h", "build_s") and self.not_applicable is None:
            raise ValueError(f"{self.metric} does not arise without a build; write where not_applicable: leads")
        for clause in (self.says.then, self.says.otherwise):
            odd = set(re.findall(r"\{[^}]*\}?", clause.en + clause.ja)) - (
                {VALUE} if self.threshold is not None else set()
            )
            if odd:
                raise ValueError(
                    f"a clause knows {VALUE} alone, and only beside a threshold; got {', '.join(sorted(odd))}"
                )
        return self

    @property
    def branches(self) -> dict[Branch, str]:
        """Answer → name of the node or leaf it leads to."""
        found: dict[Branch, str] = {"then": self.then, "otherwise": self.otherwise}
        return found if self.not_applicable is None else {**found, "not_applicable": self.not_applicable}


class Gate(Question):
    """A question about the engine a path has come to; no closes the branch."""

    kind: Literal["licence", "hardware", "support", "quality", "preparation", "api"]
    closed: Both
    """The reason that is given when it closes a branch."""
    needed_if: Name | None = None
    """A fact of the workload; when it is false, the gate stands open."""


class Leaf(Frozen):
    """An engine a path can lead to, and the gates before it."""

    engine: Name
    gates: tuple[Name, ...] = ()


class Column(Question):
    """A question whose yes adds a column to the comparison: a column is not adoption."""

    engine: Name


class Decision(Frozen):
    """A tree of questions: no weights, no totals."""

    name: Name
    about: Both
    review_days: int = Field(ge=1, le=3650)
    """The choice is looked at again so many days after the facts were stated."""
    nodes: dict[Name, Node] = Field(min_length=1)
    gates: dict[Name, Gate] = Field(default_factory=dict)
    leaves: dict[Name, Leaf] = Field(min_length=1)
    columns: dict[Name, Column] = Field(default_factory=dict)

    @property
    def root(self) -> str:
        """The node that none leads to."""
        return _roots(self)[0]

    @property
    def digest(self) -> str:
        """What was decided by: any edit of the file gives another one."""
        return digest(self.model_dump(mode="json"))[:16]

    def asked(self) -> Iterator[tuple[str, Question]]:
        """Every question, with the place it stands at."""
        for part in ("nodes", "gates", "columns"):
            for name, question in getattr(self, part).items():
                yield f"{part}.{name}", question

    def texts(self) -> Iterator[tuple[str, Both]]:
        """Every text of the file, with its place."""
        yield "about", self.about
        for place, question in self.asked():
            yield f"{place}.question", question.question
            if isinstance(question, Node):
                yield f"{place}.says.then", question.says.then
                yield f"{place}.says.otherwise", question.says.otherwise
            if isinstance(question, Gate):
                yield f"{place}.closed", question.closed


def read_decision(path: Path = DECISION) -> Decision:
    """The decision of a file, checked as a whole.

    Raises:
        ParamsError: something in it could not be walked: one sentence for each reason.
    """
    where = shown(path)
    decision = parse(Decision, read_mapping(path), where)
    problems = list(_problems(decision))
    if problems:
        raise ParamsError("\n".join(f"{where}: {one}" for one in problems), f"edit {where}")
    return decision


def _problems(decision: Decision) -> Iterator[str]:
    yield from _unknown_names(decision)
    if any(True for _ in _unknown_names(decision)):
        return
    circle = _cycle(decision)
    if circle:
        yield f"the questions go in a circle: {' → '.join(circle)}; a tree never comes back"
        return
    roots = _roots(decision)
    if len(roots) > 1:
        yield f"two roots: no branch leads to {' nor to '.join(roots)}; a tree has one first question"
        return
    led_to = {target for node in decision.nodes.values() for target in node.branches.values()}
    for name in decision.leaves.keys() - led_to:
        yield f"leaves.{name} is unreachable: no branch leads to it"
    for name in decision.gates.keys() - {gate for leaf in decision.leaves.values() for gate in leaf.gates}:
        yield f"gates.{name} is unreachable: no leaf names it"
    yield from _unreachable(decision)
    yield from _without_quality(decision)
    yield from _facts_of_two_kinds(decision)


def _unknown_names(decision: Decision) -> Iterator[str]:
    both = decision.nodes.keys() & decision.leaves.keys()
    for name in sorted(both):
        yield f"'{name}' is the name of a node and of a leaf; a branch could mean either"
    known = [*decision.nodes, *decision.leaves]
    for name, node in decision.nodes.items():
        for branch, target in node.branches.items():
            if target not in known:
                yield f"nodes.{name}.{branch} leads to '{target}', which is no node and no leaf{_hint(target, known)}"
    for name, leaf in decision.leaves.items():
        yield from _engine(f"leaves.{name}.engine", leaf.engine)
        for gate in leaf.gates:
            if gate not in decision.gates:
                yield f"leaves.{name}.gates names '{gate}', which is no gate{_hint(gate, list(decision.gates))}"
    for place, question in decision.asked():
        if question.against is not None:
            yield from _engine(f"{place}.against", question.against)
        if isinstance(question, Node | Column) and question.engine is not None:
            yield from _engine(f"{place}.engine", question.engine)


def _engine(place: str, name: str) -> Iterator[str]:
    entry = find(name)
    if entry is None:
        yield f"{place}: nobody has listed the engine '{name}'; `lab engines` prints the names"
    elif entry.seat in ("gateway", "instrument"):
        yield f"{place}: {entry.title} is no engine to choose, but a {entry.seat}"


def _hint(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    return f"; did you mean '{near}'?" if near else ""


def _cycle(decision: Decision) -> tuple[str, ...]:
    """Names of a circle, the first one again at its end; empty when there is none."""
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> tuple[str, ...]:
        if name in above:
            return (*above[above.index(name) :], name)
        if name in done or name not in decision.nodes:
            return ()
        for target in decision.nodes[name].branches.values():
            found = visit(target, (*above, name))
            if found:
                return found
        done.add(name)
        return ()

    return next((found for name in decision.nodes if (found := visit(name, ()))), ())


def _roots(decision: Decision) -> tuple[str, ...]:
    led_to = {target for node in decision.nodes.values() for target in node.branches.values()}
    return tuple(name for name in decision.nodes if name not in led_to)


class _Range(Frozen):
    """What answers above leave open of one number; an end is open when the number may not stand on it."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return low > high or (low == high and (self.low_open or self.high_open))

    def narrowed(self, question: Question, yes: bool) -> _Range:
        """What an answer to `question` leaves of it."""
        limit = question.threshold
        if (question.at_least is not None) == yes:
            if self.low is not None and limit is not None and limit < self.low:
                return self
            return self.model_copy(update={"low": limit, "low_open": not yes})
        if self.high is not None and limit is not None and limit > self.high:
            return self
        return self.model_copy(update={"high": limit, "high_open": not yes})


Known = dict[tuple[str | None, ...], bool | _Range]


def _unreachable(decision: Decision) -> Iterator[str]:
    """Branches that no set of answers takes, because a question above has already decided them."""
    taken: set[tuple[str, Branch]] = set()

    def visit(name: str, known: Known) -> None:
        node = decision.nodes.get(name)
        if node is None:
            return
        key = (node.fact, node.metric, node.engine, node.against)
        for branch, target in node.branches.items():
            before = known.get(key)
            if branch == "not_applicable":
                taken.add((name, branch))
                visit(target, known)
                continue
            after: bool | _Range
            if node.threshold is None:
                after = branch == "then"
                if isinstance(before, bool) and before is not after:
                    continue
            else:
                after = (before if isinstance(before, _Range) else _Range()).narrowed(node, branch == "then")
                if after.empty:
                    continue
            taken.add((name, branch))
            visit(target, {**known, key: after})

    visit(decision.root, {})
    for name, node in decision.nodes.items():
        for branch, target in node.branches.items():
            if (name, branch) not in taken:
                yield f"nodes.{name}.{branch} is unreachable: the questions before it never lead on to '{target}'"


def _without_quality(decision: Decision) -> Iterator[str]:
    """No path concludes on speed without quality and preparation."""
    for name, leaf in decision.leaves.items():
        entry = find(leaf.engine)
        fast = sorted(node for node in _above(decision, name) if decision.nodes[node].metric in SPEED)
        if not fast or entry is None or entry.seat == "off":
            continue
        metrics = {decision.gates[gate].metric for gate in leaf.gates}
        for kind, needed in (("quality", "quality_loss"), ("preparation", "preparation_s")):
            if needed not in metrics:
                yield (
                    f"leaves.{name} can be reached on speed (nodes.{fast[0]}) without a gate on {kind};"
                    f" give it a gate with metric: {needed}"
                )


def _above(decision: Decision, name: str) -> set[str]:
    """Every node from which `name` can be reached."""
    found: set[str] = set()
    todo = [name]
    while todo:
        target = todo.pop()
        above = {node for node, one in decision.nodes.items() if target in one.branches.values()} - found
        found |= above
        todo.extend(above)
    return found


def _facts_of_two_kinds(decision: Decision) -> Iterator[str]:
    """One fact is one thing: yes or no, or a number in one unit."""
    units: dict[tuple[str, bool], tuple[str, str | None]] = {}
    for place, question in decision.asked():
        if question.fact is None:
            continue
        key = (question.fact, isinstance(question, Gate))
        first, unit = units.setdefault(key, (place, question.unit))
        if unit != question.unit:
            yield (
                f"the fact '{question.fact}' is asked in {unit or 'yes or no'} at {first}"
                f" and in {question.unit or 'yes or no'} at {place}"
            )
