"""What the loads of the lab's own runs betray: the same from a private bundle and from public evidence."""

from __future__ import annotations

from typing import Any

import pytest

from lab.betray import Betrayal, Host, Sign, betrayals, host_of, trace_of_run, trace_of_side
from lab.environment import Gpu, capture
from lab.evidence import EvidenceStore
from lab.match import Topic, refusals
from lab.plan import RunPlan
from lab.publish.beside import between_runs, match_runs, trace_of
from lab.publish.evidence import PublicRun
from lab.publish.projection import grade_of, project
from lab.run import run_one
from tests.report.report_examples import run, workload

COUNTED: dict[str, Any] = {
    "requests": 10, "whole": True, "input_tokens": 1000, "output_tokens": 320, "cached_tokens": 500,
    "finish_reasons": {"length": 10}, "gap_mean_s": 0.1, "gap_p50_s": 0.1, "tpot_mean_s": 0.1,
    "sample": [{"index": 0, "prompt_tokens": 100, "completion_tokens": 32}], "again": 0, "sendings": [],
}  # fmt: skip
"""Ten requests of 100 tokens in, half of them cached as the workload plans it, and 32 out, one a chunk."""


def counted(engine: str, more: dict[str, Any] | None = None, /, **changes: Any) -> PublicRun:
    """One launch of an engine with one way of settings."""
    return run(engine, "same", counted=COUNTED | changes, **(more or {}))


def signs(*runs: PublicRun) -> list[tuple[Sign, bool]]:
    return [(one.finding.sign, one.refuses) for one in betrayals([trace_of(one) for one in runs])]


def test_a_real_run_gives_the_same_view_from_its_bundle_and_from_its_evidence(
    store: EvidenceStore, small_plan: tuple[RunPlan, Any]
) -> None:
    run_id = run_one(small_plan[0].runs[0], store).run_id
    record = store.read(run_id)
    private, public = trace_of_run(record, grade_of(record)[0]), trace_of(project(store, run_id))
    assert record.counted is not None and record.counted.output_tokens == 20  # four answers of five tokens
    assert private.ends == public.ends == {"length": 4}
    times = ("gap_mean_s", "gap_p50_s", "tpot_mean_s")  # rounded when they are published
    assert private.model_dump(exclude=set(times)) == public.model_dump(exclude=set(times))
    assert public.gap_mean_s == pytest.approx(private.gap_mean_s, rel=1e-3)
    again = betrayals([private, private.model_copy(update={"run_id": "r-aaaaaaaaaa"})])
    assert refusals(again) == ()  # how its chunks came is a footnote, and a busy machine may bring them in bursts


def test_runs_that_read_wrote_and_streamed_the_same_betray_nothing() -> None:
    assert signs(counted("P"), counted("Q")) == []
    assert signs(counted("P")) == []


@pytest.mark.parametrize(
    ("changes", "sign", "refuses"),
    [
        ({"input_tokens": 1100}, Sign.PROMPT_TOKENS, True),
        ({"sample": [{"index": 0, "prompt_tokens": 104, "completion_tokens": 32}]}, Sign.SAME_PROMPT, True),
        ({"output_tokens": 300}, Sign.ANSWER_LENGTH, False),
        ({"finish_reasons": {"length": 8, "stop": 2}}, Sign.FINISH, False),
        ({"gap_p50_s": 0.001}, Sign.CHUNKS, False),
        ({"cached_tokens": 900}, Sign.CACHED, False),
        ({"again": 4}, Sign.PROMPTS_AGAIN, False),
    ],
)
def test_what_counts_and_times_give_away_refuses_or_is_a_footnote(
    changes: dict[str, Any], sign: Sign, refuses: bool
) -> None:
    assert signs(counted("P"), counted("Q", **changes)) == [(sign, refuses)]


def test_totals_over_other_numbers_of_requests_are_no_sign() -> None:
    assert signs(counted("P"), counted("Q", requests=12, input_tokens=1300, output_tokens=384)) == []
    assert signs(counted("P"), counted("Q", whole=False, input_tokens=900)) == []


def test_a_release_beside_a_branch_and_two_drivers_are_named_and_older_evidence_says_nothing() -> None:
    branch = counted("Q", {"engine_version": "0.1.dev0+mine"})
    assert signs(counted("P"), branch) == [(Sign.VERSION_KIND, False)]
    assert signs(counted("P"), counted("Q", {"engine_version": None})) == []
    old, new = counted("P", {"driver": "550.1", "host": "h-aaaaaaaaaa"}), counted("Q", {"driver": "580.65.06"})
    assert signs(old, new) == [(Sign.HOSTS, True)]
    moved = counted("Q", {"driver": "550.1", "host": "h-bbbbbbbbbb"})
    assert signs(old, moved) == [(Sign.HOSTS, False)]
    assert signs(run("P", "same"), run("Q", "same")) == []


def test_what_is_betrayed_stands_among_the_reasons_of_the_match_with_its_numbers() -> None:
    both = counted("P"), counted("Q", input_tokens=1100)
    (refused,) = [one for one in refusals(between_runs(both)) if isinstance(one, Betrayal)]
    assert (refused.topic, refused.finding.values[1]) == (Topic.PROMPT, {"total": "1,100", "mean": "110.0"})
    assert refused in match_runs(both)
    assert [one.refuses for one in match_runs(both)] == sorted((one.refuses for one in match_runs(both)), reverse=True)


def test_a_host_is_known_by_its_gpus_and_leads_to_none() -> None:
    here = capture()
    gpus = tuple(Gpu(name="G", uuid=f"GPU-{n}", driver="580.65.06", memory_mib=1) for n in range(2))
    known = host_of(here.model_copy(update={"gpus": gpus}))
    assert known == host_of(here.model_copy(update={"gpus": gpus[::-1], "hostname": "another"}))
    assert known.driver == "580.65.06" and known.gpus is not None and "GPU" not in known.gpus
    assert host_of(here.model_copy(update={"gpus": gpus[:1]})).gpus != known.gpus
    assert host_of(here.model_copy(update={"gpus": ()})) == host_of(None) == Host()
    seen = here.model_copy(update={"gpus": gpus})
    assert host_of(seen, "m-1") == host_of(seen, "m-1") != host_of(seen, "m-2")  # pages of two matches cannot be joined


def test_a_driver_that_tells_no_plain_version_is_not_said() -> None:
    gpu = Gpu(name="G", uuid="GPU-0", driver="580.1-for-somebody", memory_mib=1)
    assert host_of(capture().model_copy(update={"gpus": (gpu,)})).driver is None


def test_a_workload_that_decides_its_own_prompts_plans_no_share() -> None:
    one = counted("P", {"workload": workload(content="own-traffic", input_tokens=None, shared_prefix_tokens=0)})
    assert trace_of_side(one.side, one.counted, Host(), None).planned_share is None
