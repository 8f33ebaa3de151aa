"""Which runs may stand side by side, in the words of the page: refusals, footnotes, conditions, checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lab.betray import Betrayal
from lab.checks import CheckName, needed, rule_of
from lab.conditions import Condition
from lab.match import Kind, Mismatch, in_order, own_reasons, refusals
from lab.publish.beside import between_runs
from lab.publish.evidence import PublicRun
from lab.report.betrayed import title, value_words
from lab.report.cells import refused_text, table
from lab.report.grid import Cell, Row, Table, Text, words
from lab.report.messages import Messages, slug

Runs = tuple[PublicRun, ...]
Reasons = Mapping[str, tuple[Mismatch, ...]]
"""run_id → everything that is said of its standing beside the others of its table."""


def reasons_of(runs: Runs) -> Reasons:
    """What stands against each run, and its footnotes.

    A run with a reason of its own is beside nothing, so it is left out when the others are compared. Compared are
    the runs of the comparison table, and apart from them those of each match of the pipeline check.
    """
    found = {run.run_id: own_reasons(run.side) for run in runs}
    groups: dict[str, list[PublicRun]] = {}
    for run in runs:
        if not refusals(found[run.run_id]):
            groups.setdefault("" if run.table == "comparison" else run.match_id, []).append(run)
    for group in groups.values():
        shared = between_runs(group)
        for run in group:
            found[run.run_id] = in_order((*shared, *found[run.run_id]))
    return found


class Footnotes:
    """Numbers the footnotes of one table: each text once, in the order in which the table asks."""

    def __init__(self, t: Messages) -> None:
        self._t = t
        self._places: dict[str, int] = {}

    def __call__(self, mismatches: Iterable[Mismatch]) -> str:
        """`footnotes 1, 3`, or nothing where there are none."""
        texts = dict.fromkeys(mismatch_text(one, self._t) for one in mismatches if not one.refuses)
        places = sorted(self._places.setdefault(text, len(self._places) + 1) for text in texts)
        return self._t("footnotes", n=", ".join(map(str, places))) if places else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them; the first has the number 1."""
        return tuple(self._places)


def beside_cell(mismatches: Iterable[Mismatch], footnotes: Footnotes, t: Messages) -> Cell:
    """Whether a run may stand beside the others, why not, and where its footnotes are."""
    mismatches = tuple(mismatches)
    lines = refused_lines(mismatches, t) if refusals(mismatches) else (Text(text=t("comparable")),)
    noted = footnotes(mismatches)
    return Cell(lines=(*lines, Text(text=noted, style="note")) if noted else lines)


def refused_lines(mismatches: Iterable[Mismatch], t: Messages) -> tuple[Text, ...]:
    """Not comparable or not supported, and every reason in the order in which to fix it."""
    refused = refusals(mismatches)
    reasons = dict.fromkeys(mismatch_text(one, t) for one in refused)
    return (refused_text(refused, t), *(Text(text=text, style="note") for text in reasons))


def footnote_word(t: Messages) -> str:
    """What stands in front of a footnote where there is no other mark."""
    return t("betray-footnote")


def mismatch_text(one: Mismatch, t: Messages) -> str:
    """One reason: what, why, and the values where there are any."""
    if isinstance(one, Betrayal):
        return t("betrayal-line", what=title(one.finding, t), values=values_text(one, t))
    what, why, values = field_text(one.field, t), t(f"mismatch-{one.kind.value}"), values_text(one, t)
    return (
        t("mismatch-line-values", what=what, why=why, values=values)
        if values
        else t("mismatch-line", what=what, why=why)
    )


def why_text(one: Mismatch, t: Messages) -> str:
    """Why it is a reason."""
    return title(one.finding, t) if isinstance(one, Betrayal) else t(f"mismatch-{one.kind.value}")


def values_text(one: Mismatch, t: Messages) -> str:
    """The values of a mismatch; empty where there is none at all, and what nobody asked for is not among them."""
    if isinstance(one, Betrayal):
        runs: dict[str, list[str]] = {}
        for run_id, said in zip(one.run_ids, value_words(one.finding, t), strict=True):
            runs.setdefault(said, []).append(run_id)
        lines = (t("betrayal-value", runs=", ".join(own), words=said) for said, own in runs.items())
        return t("support-separator").join(lines)
    values = one.values[1:] if one.kind is Kind.IMPOSED and one.values[:1] == (None,) else one.values
    if not any(value is not None for value in values):
        return ""
    absent = t("value-not-set" if one.kind in (Kind.ASKED_DIFFERS, Kind.ALSO_VARIES) else "value-not-recorded")
    return " / ".join(absent if value is None else value for value in values)


def field_text(field: str, t: Messages) -> str:
    """What a mismatch is about, in words where the catalogue has them."""
    if field in set(Condition):
        return t(f"condition-{field}")
    if field in set(CheckName):
        return t(f"probe-{field}")
    first, _, rest = field.partition(".")
    key = f"field-{slug(first)}"
    name = t(key) if t.has(key) else first
    if not rest:
        return name
    return t("field-part", whole=name, part=t(f"condition-{rest}") if rest in set(Condition) else rest)


def not_supported(run: PublicRun) -> CheckName | None:
    """The capability that the workload of a run needs and its engine was not seen to have; None: nothing is missing."""
    capability = needed(run.workload)
    passed = any(check.name is capability and check.result == "pass" for check in run.checks)
    return None if passed or run.levels else capability


def conditions_table(run: PublicRun, t: Messages) -> Table | None:
    """Every condition of one run: wanted, read back, and what became of it; None for older evidence."""
    if not run.settings:
        return None
    effective = {one.condition: one.value for one in run.effective}
    rows = [
        Row(
            cells=(
                words(t(f"condition-{one.condition.value}")),
                words(t("left-to-engine") if one.wanted is None else _value(one.wanted)),
                words(_value(effective[one.condition]))
                if one.condition in effective
                else Cell(lines=(Text(text=t("not-exposed"), style="missing"),)),
                words(t(f"how-{one.how.value}")),
            )
        )
        for one in run.settings
    ]
    titles = map(t, ("condition", "condition-wanted", "condition-effective", "condition-how"))
    return table(f"conditions-{run.run_id}", t("conditions-caption", run=run.run_id), titles, rows)


def checks_table(run: PublicRun, t: Messages) -> Table | None:
    """What preflight saw one engine do; None for evidence without it."""
    if not run.checks:
        return None
    rows = []
    for check in run.checks:
        rule = rule_of(check.name)
        assert rule is not None  # public checks are of this version's names
        counts = words(" ".join(map(str, check.counts))) if check.counts else words("—")
        result = Text(text=t(f"probe-result-{check.result}"), style="missing" if check.result == "fail" else "plain")
        follows = words(t(f"consequence-{rule.consequence.value}"))
        rows.append(Row(cells=(words(t(f"probe-{check.name.value}")), Cell(lines=(result,)), counts, follows)))
    titles = map(t, ("probe", "probe-result", "probe-counts", "probe-consequence"))
    return table(f"checks-{run.run_id}", t("checks-caption", run=run.run_id), titles, rows)


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
