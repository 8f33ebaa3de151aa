"""The GPU's architecture as nvidia-smi tells it: a small real program of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.environment import capture

ROWS = {"old": "NVIDIA H200, GPU-1, 550.1, 143771", "new": "NVIDIA H200, GPU-1, 580.1, 143771"}


def smi(folder: Path, capabilities: str, rows: str = ROWS["new"]) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f'#!/bin/sh\ncase "$1" in *compute_cap*) echo "{capabilities}";; *) echo "{rows}";; esac\n')
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("capability", "architecture"), [("9.0", "sm_90"), ("12.1", "sm_121"), ("10.0", "sm_100"), ("[N/A]", None)]
)
def test_a_compute_capability_names_the_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capability: str, architecture: str | None
) -> None:
    smi(tmp_path, f"GPU-1, {capability}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    environment = capture()
    assert environment.gpus[0].architecture == environment.gpu_architecture == architecture


def test_a_driver_that_does_not_know_the_field_still_names_its_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(tmp_path, 'Field \\"compute_cap\\" is not a valid field to query.', ROWS["old"])
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    environment = capture()
    assert (environment.gpus[0].name, environment.gpus[0].driver) == ("NVIDIA H200", "550.1")
    assert environment.gpu_architecture is None


def test_gpus_of_two_kinds_have_no_one_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = "NVIDIA H200, GPU-1, 580.1, 143771\\nNVIDIA B200, GPU-2, 580.1, 183359"
    smi(tmp_path, "GPU-1, 9.0\\nGPU-2, 10.0", two)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    environment = capture()
    assert [gpu.architecture for gpu in environment.gpus] == ["sm_90", "sm_100"]
    assert environment.gpu_architecture is None
