"""A small real store: two launches each of two profiles of the reference engine, one field apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.evidence import EvidenceStore
from lab.params import PARAMS_FOLDER
from lab.plan import load_plan
from lab.run import run_one
from tests.conftest import SMALL_PLAN

TWO = "{engine: reference, profile: known-timing, set: {name: later, ttft_s: 0.03, tick_s: 0.005}}"


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> EvidenceStore:
    """Four real runs of one match, and one of another workload."""
    root = tmp_path_factory.mktemp("desk")
    shutil.copytree(PARAMS_FOLDER, root / "params")
    store = EvidenceStore(root / "runs")
    other = SMALL_PLAN.replace("output_tokens: 5", "output_tokens: 6")
    for name, text in (("other", other), ("pair", f"repeats: 2\n{SMALL_PLAN}    - {TWO}\n")):
        path = root / "params" / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        for planned in load_plan(path).runs:
            run_one(planned, store)
    return store


@pytest.fixture(scope="session")
def pair(measured: EvidenceStore) -> tuple[str, ...]:
    """The runs of the match, in the order in which they were measured."""
    return measured.run_ids()[1:]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where notebooks leave things."""
    return tmp_path_factory.mktemp("left")
