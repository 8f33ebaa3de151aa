"""The support table: rows with a source, and what nobody says is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.environment import Environment, Gpu, capture
from lab.errors import ParamsError
from lab.plan import load_plan
from lab.spec import RunSpec
from lab.support import SupportTable, look_up, read_support

ROWS = """
rows:
  - {engine: vllm, weights: BF16, says: supported, source: "the first book", read: 2026-11}
  - {engine: vllm, weights: FP8, compute_capability: "8.9", says: supported, source: "the first book", read: 2026-11}
  - {engine: vllm, weights: BF16, family: odd, says: beta, source: "the second book", read: 2026-11-02}
  - {engine: vllm, accelerator: GB10, says: refused, source: "the third book", read: 2026-11}
"""


@pytest.fixture
def table(tmp_path: Path) -> SupportTable:
    path = tmp_path / "support.yaml"
    path.write_text(ROWS, encoding="utf-8")
    return read_support(path)


@pytest.fixture
def spec(plan_folder: Path) -> RunSpec:
    return load_plan(plan_folder / "four-columns.yaml").runs[0].spec


def machine(name: str | None, architecture: str | None = None) -> Environment:
    gpu = Gpu(name=name or "", uuid="GPU-1", driver="1", memory_mib=1, architecture=architecture)
    return capture().model_copy(update={"gpus": (gpu,) if name else ()})


def with_weights(spec: RunSpec, weights: str) -> RunSpec:
    return spec.model_copy(update={"quantization": spec.quantization.model_copy(update={"weights": weights})})


def test_a_row_that_fits_says_so_with_its_source(table: SupportTable, spec: RunSpec) -> None:
    verdict = look_up(table, spec, machine(None))
    assert (verdict.support, [row.source for row in verdict.rows]) == ("supported", ["the first book"])


def test_unknown_is_not_no(table: SupportTable, spec: RunSpec) -> None:
    assert look_up(table, spec.model_copy(update={"engine": "sglang"}), machine(None)).support == "unknown"
    assert look_up(table, with_weights(spec, "AWQ"), machine(None)).rows == ()


def test_the_row_that_names_more_counts(table: SupportTable, spec: RunSpec) -> None:
    odd = spec.model_copy(update={"model": spec.model.model_copy(update={"family": "odd"})})
    assert look_up(table, odd, machine(None)).support == "beta"


def test_hardware_is_asked_of_this_machine(table: SupportTable, spec: RunSpec) -> None:
    fp8 = with_weights(spec, "FP8")
    found = [
        look_up(table, fp8, machine(*gpu)).support
        for gpu in ((None,), ("NVIDIA A100", "sm_80"), ("NVIDIA L4", "sm_89"), ("NVIDIA B200", "sm_100"), ("NVIDIA X",))
    ]
    assert found == ["other-hardware", "other-hardware", "supported", "supported", "other-hardware"]
    assert look_up(table, spec, machine("NVIDIA GB10", "sm_121")).support == "refused"


def test_a_row_without_a_source_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "support.yaml"
    path.write_text("rows:\n  - {engine: vllm, weights: BF16, says: supported, read: 2026-11}\n", encoding="utf-8")
    with pytest.raises(ParamsError, match=r"rows\.0\.source: is missing"):
        read_support(path)


def test_every_row_of_the_checkout_names_an_engine_of_the_roster() -> None:
    from lab.roster import ROSTER

    assert {row.engine for row in read_support().rows} <= {entry.key for entry in ROSTER}
