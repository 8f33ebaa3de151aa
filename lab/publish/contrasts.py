"""Answers of the runs of one match, side by side: pairs of runs, item by item in private, counts in public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from lab.evidence import EvidenceStore
from lab.publish.evidence import PublicContrast, PublicPair, PublicRun, PublicTask
from lab.publish.projection import maybe, rounded
from lab.quality.paired import MARGIN, Paired, compare, holm
from lab.quality.path import contrast, enters
from lab.quality.replies import QualityItem
from lab.records import Lane

Answers = dict[str, dict[str, dict[str, QualityItem]]]
"""run_id → task → item id → what came back."""

IN_BITS = "bits_per_byte"
"""The one metric that is no share: a margin in points says nothing about it."""


def contrasts(
    store: EvidenceStore,
    runs: Sequence[PublicRun],
    *,
    margin: float = MARGIN,
) -> tuple[PublicContrast, ...]:
    """Every pair of runs that is compared, and what its items give.

    Runs are compared that belong to one match and answered one suite, same digest. Which pairs: the first launch
    of each spec with the first launch of every other, and with each further launch of its own. The earlier run is
    the one that is compared against. Results play no part in any of this.

    Args:
        store: where the private answers are.
        runs: public evidence of the runs of this edition.
        margin: the loss that is acceptable, a share.
    """
    place = {run_id: number for number, run_id in enumerate(store.run_ids())}
    groups: dict[tuple[str, str], list[PublicRun]] = {}
    for run in sorted(runs, key=lambda run: place[run.run_id]):
        if run.quality is not None and run.path is not None:
            groups.setdefault((run.match_id, run.quality.suite_sha256), []).append(run)
    found: list[PublicContrast] = []
    for group in groups.values():
        answers = {run.run_id: _by_task(store.samples(run.run_id)) for run in group}
        found += _adjusted([_compare(*pair, answers, margin) for pair in _pairs(group)])
    return tuple(found)


def _pairs(runs: Sequence[PublicRun]) -> Iterator[tuple[PublicRun, PublicRun]]:
    by_spec: dict[str, list[PublicRun]] = {}
    for run in runs:
        by_spec.setdefault(run.spec_digest, []).append(run)
    for first, *repeats in by_spec.values():
        yield from ((first, again) for again in repeats)
    yield from combinations((launches[0] for launches in by_spec.values()), 2)


def _by_task(items: tuple[QualityItem, ...]) -> dict[str, dict[str, QualityItem]]:
    tasks: dict[str, dict[str, QualityItem]] = {}
    for item in items:
        tasks.setdefault(item.task, {})[item.item_id] = item
    return tasks


def _compare(first: PublicRun, second: PublicRun, answers: Answers, margin: float) -> PublicContrast:
    assert first.quality and first.path and second.path  # runs without them were left out
    tasks: list[PublicPair] = []
    agree: dict[Lane, bool] = {}
    alike: dict[Lane, bool] = {}
    for task in first.quality.tasks:
        one, other = (answers[run.run_id].get(task.task, {}) for run in (first, second))
        stated = None if task.metric == IN_BITS else margin
        paired = compare(_scores(one), _scores(other), margin=stated, better=task.better)
        both = [item_id for item_id in one if _answered(one, item_id) and _answered(other, item_id)]
        same = _same_answers(task, [(one[item_id], other[item_id]) for item_id in both])
        longer = _prompts_differ(task, [(one[item_id], other[item_id]) for item_id in both])
        tasks.append(
            PublicPair(
                task=task.task,
                metric=task.metric,
                paired=paired,
                same_answers=same,
                prompts_differ=longer,
                p_holm=paired.p,
            )
        )
        if task.lane is not None and same is not None and both:
            agree[task.lane] = agree.get(task.lane, True) and same == paired.n
            if longer is not None:
                alike[task.lane] = alike.get(task.lane, True) and not longer
    return PublicContrast(
        match_id=first.match_id,
        suite=first.quality.suite,
        version=first.quality.version,
        suite_sha256=first.quality.suite_sha256,
        first=first.run_id,
        second=second.run_id,
        first_path=first.path.path_id,
        second_path=second.path.path_id,
        contrast=contrast(first.path, second.path),
        family=sum(pair.paired.p is not None for pair in tasks),
        tasks=tuple(tasks),
        lanes=enters(agree, alike) if agree else None,
    )


def _same_answers(task: PublicTask, pairs: Sequence[tuple[QualityItem, QualityItem]]) -> int | None:
    """Items answered the same: in text, in the likeliest choice, in whether greedy decoding writes the text.

    None for a task that asks for a number, which two programs never give to the last digit.
    """
    if task.metric == IN_BITS:
        return None
    return sum(_answer(one) == _answer(other) for one, other in pairs)


def _answer(item: QualityItem) -> str | float | None:
    likelihoods = item.loglikelihoods
    if len(likelihoods) > 1:
        return likelihoods.index(max(likelihoods))
    return item.score if likelihoods else item.text


def _prompts_differ(task: PublicTask, pairs: Sequence[tuple[QualityItem, QualityItem]]) -> int | None:
    """Items whose prompt one side counts longer than the other; None unless both count every one.

    None as well where token ids are sent: then there is nothing an engine could add.
    """
    counts = [(one.prompt_tokens, other.prompt_tokens) for one, other in pairs]
    if task.lane is Lane.TOKENS or not counts or any(None in pair for pair in counts):
        return None
    return sum(one != other for one, other in counts)


def _adjusted(family: Sequence[PublicContrast]) -> list[PublicContrast]:
    """The contrasts of one match with p adjusted over all of them, and every number rounded."""
    adjusted = iter(holm([pair.paired.p for one in family for pair in one.tasks]))
    tests = sum(one.family for one in family)
    return [
        one.model_copy(
            update={
                "family": tests,
                "tasks": tuple(
                    pair.model_copy(update={"paired": _rounded(pair.paired), "p_holm": maybe(next(adjusted))})
                    for pair in one.tasks
                ),
            }
        )
        for one in family
    ]


def _rounded(paired: Paired) -> Paired:
    return paired.model_copy(update={name: rounded(value) for name, value in paired if isinstance(value, float)})


def _scores(items: Mapping[str, QualityItem]) -> dict[str, float | str]:
    return {item_id: str(item.unscored) if item.score is None else item.score for item_id, item in items.items()}


def _answered(items: Mapping[str, QualityItem], item_id: str) -> bool:
    return item_id in items and items[item_id].score is not None
