"""A path as an edition publishes it beside its pages: fields copied by name, so that later editions can be compared."""

from __future__ import annotations

from lab.explain.claims import Absent, Claim, NotApplicable
from lab.explain.decision import Both
from lab.explain.facts import Stated
from lab.explain.flips import Explanation
from lab.explain.path import End, Step
from lab.publish.decisions import PublicAnswer, PublicDecision, PublicEnd, PublicPhrase


def published(match_id: str, explanation: Explanation) -> PublicDecision:
    """What later editions may know of a path.

    Args:
        match_id: the match whose runs answered.
        explanation: the path of one workload.
    """
    path = explanation.path
    return PublicDecision(
        match_id=match_id,
        workload=path.workload,
        decision=path.decision,
        decision_digest=path.decision_digest,
        stated_by=path.stated_by,
        stated_on=path.stated_on,
        review_by=path.review_by,
        end=_end(path.end),
        answers=tuple(_answer(step) for step in path.steps if step.part != "column"),
        generated=path.generated,
    )


def _answer(step: Step) -> PublicAnswer:
    evidence, asked = step.evidence, step.asked
    stated = evidence if isinstance(evidence, Stated) else None
    claim = evidence if isinstance(evidence, Claim) else None
    open_ = evidence if isinstance(evidence, Absent | NotApplicable) else None
    low, high = (stated.low, stated.high) if stated else (None, None)
    if claim and claim.interval:
        low, high = claim.interval.low, claim.interval.high
    assert step.part != "column"  # a column is no question of the path
    return PublicAnswer(
        at=step.at,
        part=step.part,
        question=_phrase(asked.question),
        engine=step.engine,
        source=asked.source,
        at_least=asked.at_least,
        at_most=asked.at_most,
        unit=asked.unit,
        answer=step.answer,
        flag=stated.flag if stated else claim.flag if claim else None,
        value=stated.value if stated else _printed(claim.value if claim else None),
        low=low if stated else _printed(low),
        high=high if stated else _printed(high),
        why=open_.why if open_ else None,
        missing=evidence.engine if isinstance(evidence, Absent) else None,
        by=stated.by if stated else None,
        day=stated.day if stated else None,
        run_ids=claim.run_ids if claim else (),
    )


def _printed(value: float | None) -> float | None:
    """A measured number with the digits that pages print, rounded once."""
    return None if value is None else float(f"{value:.3g}")


def _end(end: End) -> PublicEnd:
    return PublicEnd(
        kind=end.kind,
        engine=end.engine,
        at=end.at,
        question=None if end.question is None else _phrase(end.question),
    )


def _phrase(text: Both) -> PublicPhrase:
    return PublicPhrase(en=text.en, ja=text.ja)
