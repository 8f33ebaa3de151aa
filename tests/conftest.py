"""What many tests share: a small spec, a plan folder of its own, a store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.evidence import EvidenceStore
from lab.params import PARAMS_FOLDER
from lab.plan import RunPlan, load_plan

CHECKOUT = PARAMS_FOLDER.parent

SMALL_PLAN = """
model: none
workload: {use: known-timing, concurrency: [2], requests_per_level: 4, warmup_requests: 1, output_tokens: 5}
quality: smoke-mini
context_limit: 1024
preparation_counts: true
sampling: {temperature: 0, top_p: 1, top_k: 0, min_p: 0, presence_penalty: 0, frequency_penalty: 0,
           repetition_penalty: 1, seed: 1}
instrument_check:
  runs:
    - {engine: reference, profile: known-timing, set: {ttft_s: 0.01, tick_s: 0.005}}
"""
"""A plan that takes a second: the reference engine, four requests."""


@pytest.fixture
def plan_folder(tmp_path: Path) -> Path:
    """A params folder of its own that a test may write plans into."""
    folder = tmp_path / "params"
    shutil.copytree(PARAMS_FOLDER, folder)
    return folder


@pytest.fixture
def small_plan(plan_folder: Path) -> tuple[RunPlan, Path]:
    """The small plan and its file."""
    path = plan_folder / "small.yaml"
    path.write_text(SMALL_PLAN, encoding="utf-8")
    return load_plan(path), path


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    """An empty store."""
    return EvidenceStore(tmp_path / "runs")


@pytest.fixture(scope="session")
def five_weeks_published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five made-up weekly editions of one decision, published once; nobody writes into them."""
    from tests.publish.weekly_examples import five_weeks

    folder = tmp_path_factory.mktemp("five") / "reports"
    five_weeks(folder, tmp_path_factory.mktemp("rules"))
    return folder
