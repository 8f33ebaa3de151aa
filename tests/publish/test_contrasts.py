"""Which runs are set side by side, and that only counts leave their bundles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import EvidenceDamaged
from lab.evidence import EvidenceStore
from lab.plan import RunPlan
from lab.publish.contrasts import contrasts
from lab.publish.evidence import PublicRun
from lab.quality.coverage import NoVerdict
from lab.quality.path import ContrastClass
from lab.quality.replies import QualityItem
from lab.records import Lane, Outcome, Unscored
from tests.report.report_examples import quality_path, run, sha

Answer = tuple[str, float | None]
Answered = Callable[..., PublicRun]


@pytest.fixture
def answered(store: EvidenceStore, small_plan: tuple[RunPlan, Path]) -> Answered:
    """Makes a bundle with answers to one task and gives its public run."""
    spec = small_plan[0].runs[0].spec

    def make(
        answers: list[Answer],
        profile: str = "base",
        *,
        lane: str | None = None,
        metric: str = "exact_match",
        prompts: tuple[int | None, ...] = (),
        likelihoods: tuple[tuple[float, ...], ...] = (),
        **changes: object,
    ) -> PublicRun:
        run_id = store.create(spec, plan="small", plan_digest="p-1", match_id="m-1", varied=())
        items = [
            QualityItem(
                run_id=run_id, suite="smoke-mini", version="1.0.0", task="facts", item_id=f"i{place}", text=text,
                score=score, unscored=Unscored.TRUNCATED if score is None else None,
                outcome=Outcome.TRUNCATED if score is None else Outcome.SUCCESS,
                prompt_tokens=prompts[place] if prompts else None,
                loglikelihoods=likelihoods[place] if likelihoods else (),
            )
            for place, (text, score) in enumerate(answers)
        ]  # fmt: skip
        store.write_samples(run_id, items)
        quality = {
            "suite": "smoke-mini", "version": "1.0.0", "suite_sha256": sha("suite"), "lm_eval_version": "0.4.13",
            "tasks": [{"task": "facts", "metric": metric, "n": len(items), "unscored": {}, "score": 0.5,
                       "stderr": None, "lane": lane}],
        }  # fmt: skip
        path = quality_path(settings={"prefix_caching": str(profile == "base").lower()})
        whole = {"run_id": run_id, "quality": quality, "path": path, "levels": []} | changes
        return run("P", profile, **whole)

    return make


SAME: list[Answer] = [("yes", 1.0), ("no", 0.0), ("perhaps", 1.0)]


def test_flips_and_same_answers_are_counted(store: EvidenceStore, answered: Answered) -> None:
    first = answered(SAME)
    second = answered([("yes", 1.0), ("never", 0.0), ("cut", None)], "cold")
    (found,) = contrasts(store, (second, first))
    assert (found.first, found.second) == (first.run_id, second.run_id)
    assert (found.contrast.kind, found.contrast.differs) == (ContrastClass.ENGINE_PATH, ("profile.prefix_caching",))
    (task,) = found.tasks
    assert (task.paired.items, task.paired.n, task.paired.down, task.paired.up) == (3, 2, 0, 0)
    assert task.paired.unscored_second == {"truncated": 1}
    assert task.same_answers == 1
    assert found.lanes is None


def test_what_is_published_holds_no_answer_and_no_item(store: EvidenceStore, answered: Answered) -> None:
    (found,) = contrasts(store, (answered(SAME), answered(SAME, "cold")))
    text = found.model_dump_json()
    assert not [word for word in ("perhaps", "yes", "i0", "i2") if f'"{word}"' in text]


def test_every_spec_meets_every_other_once_and_each_further_launch_meets_its_first(
    store: EvidenceStore, answered: Answered
) -> None:
    runs = [answered(SAME, profile) for profile in ("base", "cold", "other", "base", "base")]
    base, cold, other, again, once_more = (one.run_id for one in runs)
    found = contrasts(store, tuple(runs))
    assert {(one.first, one.second) for one in found} == {
        (base, again), (base, once_more), (base, cold), (base, other), (cold, other),
    }  # fmt: skip
    kinds = {(one.first, one.second): one.contrast.kind for one in found}
    assert kinds[base, again] is ContrastClass.REPEAT
    assert {one.family for one in found} == {5}


def test_p_is_adjusted_over_the_match(store: EvidenceStore, answered: Answered) -> None:
    rising: list[Answer] = [(f"a{k}", 1.0) for k in range(6)]
    falling: list[Answer] = [(f"a{k}", 0.0) for k in range(6)]
    found = contrasts(store, (answered(falling), answered(rising, "cold"), answered(falling, "other")))
    assert [one.tasks[0].paired.p for one in found] == [0.03125, 1.0, 0.03125]
    assert [one.tasks[0].p_holm for one in found] == [0.09375, 1.0, 0.09375]


def test_runs_of_another_match_or_suite_or_without_quality_stand_alone(
    store: EvidenceStore, answered: Answered
) -> None:
    first, second = answered(SAME), answered(SAME, "cold")
    assert second.quality is not None
    other_suite = second.model_copy(
        update={"quality": second.quality.model_copy(update={"suite_sha256": sha("another")})}
    )
    for other in (
        second.model_copy(update={"match_id": "m-" + sha("another")[:12]}),
        other_suite,
        second.model_copy(update={"quality": None}),
        second.model_copy(update={"path": None}),
    ):
        assert contrasts(store, (first, other)) == ()
    assert contrasts(store, ()) == ()


def test_lanes_say_where_answers_begin_to_differ(store: EvidenceStore, answered: Answered) -> None:
    base = answered(SAME, lane="chat", prompts=(9, 9, 9))
    other_text: list[Answer] = [("yes", 1.0), ("no", 0.0), ("maybe", 1.0)]
    (found,) = contrasts(store, (base, answered(other_text, "cold", lane="chat", prompts=(9, 9, 9))))
    # both count every prompt equally long: neither tokenizer nor template
    assert (found.lanes, found.tasks[0].prompts_differ) == ((Lane.TOKENS,), 0)
    (found,) = contrasts(store, (base, answered(other_text, "cold", lane="chat", prompts=(9, 8, 9))))
    assert (found.lanes, found.tasks[0].prompts_differ) == ((Lane.TEXT, Lane.CHAT), 1)
    (found,) = contrasts(store, (base, answered(other_text, "cold", lane="chat", prompts=(9, None, 9))))
    assert (found.lanes, found.tasks[0].prompts_differ) == ((Lane.TOKENS, Lane.TEXT, Lane.CHAT), None)
    (found,) = contrasts(store, (base, answered(SAME, "other", lane="chat", prompts=(9, 9, 9))))
    assert found.lanes == ()


def test_where_no_answer_is_written_the_choice_is_the_answer(store: EvidenceStore, answered: Answered) -> None:
    near, far, turned = (-1.0, -2.0), (-1.1, -9.0), (-2.0, -1.0)
    base = answered(SAME, lane="tokens", likelihoods=(near, near, near))
    second = answered(SAME, "cold", lane="tokens", likelihoods=(near, far, turned))
    (found,) = contrasts(store, (base, second))
    assert (found.tasks[0].same_answers, found.lanes) == (2, (Lane.TOKENS,))
    assert found.tasks[0].prompts_differ is None  # token ids were sent: nothing to count


def test_bits_per_byte_have_no_verdict_in_points_and_no_answer(store: EvidenceStore, answered: Answered) -> None:
    bits: list[Answer] = [("", 1.25), ("", 2.0), ("", 0.5)]
    more: list[Answer] = [("", 1.5), ("", 2.0), ("", 0.5)]
    runs = [
        answered(values, profile, lane="tokens", metric="bits_per_byte")
        for values, profile in ((bits, "base"), (more, "cold"))
    ]
    (found,) = contrasts(store, tuple(runs))
    (task,) = found.tasks
    assert (task.same_answers, task.paired.verdict, task.paired.no_verdict) == (None, None, NoVerdict.NO_MARGIN)
    assert task.paired.difference == pytest.approx(0.0833, abs=1e-4)
    assert found.lanes is None


def test_damaged_answers_are_said(store: EvidenceStore, answered: Answered) -> None:
    first, second = answered(SAME), answered(SAME, "cold")
    (store.path(second.run_id) / "samples.jsonl").write_text('{"score": 2}\n')
    with pytest.raises(EvidenceDamaged, match=r"samples\.jsonl cannot be read"):
        contrasts(store, (first, second))
