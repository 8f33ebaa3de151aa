"""Every notebook runs from top to bottom, as papermill runs it, and leaves what it says it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.evidence import EvidenceStore
from lab.plan import load_plan
from tests.conftest import CHECKOUT

NOTEBOOKS = CHECKOUT / "notebooks"


def run(name: str, folder: Path, **parameters: Any) -> list[dict[str, Any]]:
    """Execute a notebook; the outputs of its cells."""
    target = folder / f"{name}.ipynb"
    done = subprocess.run(
        [sys.executable, "-m", "lab.notebook", str(NOTEBOOKS / f"{name}.ipynb"), str(target), json.dumps(parameters)],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]


def text_of(outputs: list[dict[str, Any]]) -> str:
    assert {output["output_type"] for output in outputs} == {"execute_result"}
    return "\n".join("".join(output["data"]["text/plain"]) for output in outputs)


def test_columns_are_fixed_and_saved(tmp_path: Path) -> None:
    saved = tmp_path / "mine.yaml"
    shown = text_of(run("10_fix_columns", tmp_path, save_as=str(saved), preparation_counts=True, lang="ja"))
    assert load_plan(saved).groups[0].match_id in shown
    for word in ("--disable-radix-cache", "lab model digest qwen3-8b-bf16", "quantization.kv_cache", "GET /v1/models"):
        assert word in shown


def test_runs_are_compared_and_walked_back(measured: EvidenceStore, tmp_path: Path) -> None:
    outputs = run("30_compare", tmp_path, runs_dir=str(measured.root), metric="ttft_s")
    shown = text_of(outputs)
    assert "may stand side by side" in shown
    assert "Computed again from the records" in shown
    charts = ["".join(one["data"]["text/html"]) for one in outputs if "srcdoc" in str(one["data"].get("text/html"))]
    assert len(charts) == 2


def test_unlike_runs_are_named_and_the_notebook_goes_on(measured: EvidenceStore, tmp_path: Path) -> None:
    ids = list(measured.run_ids()[:2])
    outputs = run("30_compare", tmp_path, runs_dir=str(measured.root), run_ids=ids, metric="output_tok_per_s")
    shown = text_of(outputs)
    assert "output_tokens: asked for different things" in shown
    assert "srcdoc" not in json.dumps(outputs)
    assert "Computed again from the records" in shown


def test_pages_and_handouts_are_built_from_public_evidence(tmp_path: Path) -> None:
    for name in ("40_report", "50_handout"):
        out = tmp_path / name
        shown = text_of(run(name, tmp_path, out=str(out)))
        assert "harness-check" in shown
        assert {path.name for path in out.iterdir()} == {"en", "ja", "evidence"}
        assert (out / "ja" / "index.html").is_file()


def test_bad_input_is_a_sentence_in_the_notebook_not_a_way_through_code(tmp_path: Path) -> None:
    target = tmp_path / "40.ipynb"
    done = subprocess.run(
        [sys.executable, "-m", "lab.notebook", str(NOTEBOOKS / "40_report.ipynb"), str(target),
         json.dumps({"evidence": str(tmp_path / "nowhere"), "out": str(tmp_path / "out")})],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    assert (done.returncode, "is no folder of public evidence" in done.stdout) == (1, True)
    cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    (problem,) = [one for cell in cells for one in cell.get("outputs", ()) if one["output_type"] == "error"]
    (said,) = problem["traceback"]
    assert said.splitlines()[-1] == "Next: lab report, or lab publish"
    assert "Traceback" not in said and not (tmp_path / "out").exists()


def test_a_parameter_that_a_notebook_does_not_have_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab.notebook", str(NOTEBOOKS / "40_report.ipynb"), str(tmp_path / "x.ipynb"),
         '{"evidnce": "x"}'], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "no parameter evidnce" in done.stdout
