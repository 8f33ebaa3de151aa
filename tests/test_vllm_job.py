"""The check of the pipeline with a real vLLM on a CPU, as a user starts it: `make test-vllm`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.conditions import Condition
from lab.evidence import EvidenceStore, RunRecord
from lab.records import Outcome, RunState
from tests.conftest import CHECKOUT
from tests.test_cli import lab

pytestmark = [
    pytest.mark.conformance("vllm", "real"),
    pytest.mark.skipif(
        not os.environ.get("LAB_TEST_VLLM"), reason="needs an installed vLLM and minutes: make test-vllm"
    ),
]

REQUESTS = 4
SHARED = 64
"""Tokens of a prompt that all prompts share; two blocks of 32."""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvidenceStore, Path]:
    """`lab run` and `lab report` on params/harness-check-vllm.yaml with fewer requests."""
    folder = tmp_path_factory.mktemp("plan") / "params"
    folder.mkdir()
    for piece in ("models", "engines", "workloads", "quality"):
        (folder / piece).symlink_to(CHECKOUT / "params" / piece)
    text = (CHECKOUT / "params" / "harness-check-vllm.yaml").read_text(encoding="utf-8")
    assert "workload: harness-chat" in text
    fewer = f"concurrency: [1, 2], requests_per_level: {REQUESTS}, output_tokens: 8, warmup_requests: 1"
    text = text.replace("workload: harness-chat", f"workload: {{use: harness-chat, {fewer}}}")
    (folder / "harness-check-vllm.yaml").write_text(text, encoding="utf-8")
    root = tmp_path_factory.mktemp("job")
    done = lab("run", str(folder / "harness-check-vllm.yaml"), "--runs-dir", str(root / "runs"), limit_s=3600)
    assert done.returncode == 0, done.stderr
    done = lab("report", "--runs-dir", str(root / "runs"), "--out", str(root / "report"))
    assert done.returncode == 0, done.stderr
    return EvidenceStore(root / "runs"), root / "report"


def runs(store: EvidenceStore) -> list[RunRecord]:
    """The run with prefix caching, then the one without."""
    return sorted(
        (store.read(run_id) for run_id in store.run_ids()), key=lambda run: not run.spec.profile.prefix_caching
    )


def test_both_launches_are_measured_whole(job: tuple[EvidenceStore, Path]) -> None:
    for run in runs(job[0]):
        assert run.status.state is RunState.MEASURED
        assert run.quality is not None and len(run.quality.tasks) == 3
        for level in run.levels:
            assert level.outcomes == {Outcome.SUCCESS: REQUESTS}
            assert level.completion_tokens.min == level.completion_tokens.max == 8


def test_the_running_engine_shows_what_was_asked_of_it(job: tuple[EvidenceStore, Path]) -> None:
    for run in runs(job[0]):
        assert run.launch is not None
        shown = {effective.condition: effective.value for effective in run.launch.effective}
        wanted = {setting.condition: setting.wanted for setting in run.launch.settings}
        decided = [condition for condition, value in wanted.items() if value is not None and condition in shown]
        assert {Condition.KV_CACHE_TOKENS, Condition.PREFIX_CACHING, Condition.MAX_NUM_SEQS} <= set(decided)
        assert {condition: shown[condition] for condition in decided} == {c: wanted[c] for c in decided}


def test_a_shared_prefix_is_taken_from_the_cache_when_it_is_on_and_never_when_it_is_off(
    job: tuple[EvidenceStore, Path],
) -> None:
    store, _ = job
    cached = [
        [record.cached_tokens for record in store.requests(run.run_id) if record.level == 0 and not record.warmup]
        for run in runs(store)
    ]
    assert sorted(tokens or 0 for tokens in cached[0]) == [0, *[SHARED] * (REQUESTS - 1)]
    assert set(cached[1]) == {0}


def test_the_report_shows_both(job: tuple[EvidenceStore, Path]) -> None:
    page = (job[1] / "en" / "index.html").read_text(encoding="utf-8")
    assert all(run.run_id in page for run in runs(job[0]))
    assert "0.32.0" in page
