"""The notebooks in a real JupyterLab, in a real browser: cells run, charts are drawn, nobody else is asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.evidence import EvidenceStore
from tests.browser import LIMIT_S, Browser, needs_browser, started
from tests.conftest import CHECKOUT

FIND = (
    "window.open_notebook = () => window.jupyterapp && [...window.jupyterapp.shell.widgets('main')]"
    ".find(one => one.context && one.sessionContext && one.content && one.content.widgets); true"
)
READY = (
    "(() => {const one = window.open_notebook(); return !!(one && one.context.isReady && one.sessionContext.session"
    " && one.sessionContext.session.kernel && one.sessionContext.session.kernel.status === 'idle')})()"
)
RUN = (
    "window.jupyterapp.shell.activateById(window.open_notebook().id);"
    "window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => true)"
)
SAID = (
    "window.open_notebook().content.widgets.filter(cell => cell.model.type === 'code')"
    ".map(cell => [cell.model.executionCount, cell.model.outputs.toJSON()])"
)


@pytest.fixture
def jupyter(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A JupyterLab as `make lab` starts it, in a folder of its own: its address, and the folder."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    flags = (
        "--no-browser", "--allow-root", "--notebook-dir", str(folder), "--ServerApp.port=0",
        "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    )  # fmt: skip
    own = {"PYTHONPATH": str(CHECKOUT), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "JUPYTER_NO_CONFIG": "1"}
    with (tmp_path / "jupyter.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *flags], stdout=log, stderr=log, env={**os.environ, **own},
            start_new_session=True,
        )  # fmt: skip
    try:
        yield _address(tmp_path / "runtime", server), folder
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(LIMIT_S)


def _address(runtime: Path, server: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        assert server.poll() is None, "JupyterLab ended"
        for file in runtime.glob("jpserver-*.json"):
            try:
                url = str(json.loads(file.read_text())["url"])
                with urllib.request.urlopen(url + "api", timeout=5):
                    return url
            except (OSError, ValueError):
                break  # not written to its end, or not answering yet
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not answer within {LIMIT_S} s")


def wait(browser: Browser, script: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not browser.value(script):
        assert time.monotonic() < until, f"{script} did not become true within {LIMIT_S} s"
        time.sleep(0.2)


def run_all(browser: Browser, url: str, folder: Path, name: str, **parameters: Any) -> list[Any]:
    """Open a notebook, run all cells as a person does; what each cell says."""
    notebook = json.loads((CHECKOUT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    (cell,) = (cell for cell in notebook["cells"] if cell["metadata"].get("tags") == ["parameters"])
    cell["source"] = "".join(cell["source"]) + "".join(f"\n{key} = {value!r}" for key, value in parameters.items())
    (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    browser.events.clear()
    browser.ask("Page.navigate", url=f"{url}lab/tree/{name}.ipynb?reset")
    wait(browser, FIND)
    wait(browser, f"{FIND} && {READY}")
    assert browser.value(RUN)
    cells: list[Any] = browser.value(SAID)
    assert [count for count, _ in cells] == list(range(1, len(cells) + 1))
    assert [one for _, outputs in cells for one in outputs if one["output_type"] == "error"] == []
    return cells


@needs_browser
def test_notebooks_run_in_jupyterlab_and_ask_nobody_else(
    jupyter: tuple[str, Path], measured: EvidenceStore, tmp_path: Path
) -> None:
    url, folder = jupyter
    with started() as browser:
        browser.ask("Emulation.setDeviceMetricsOverride", width=1300, height=6000, deviceScaleFactor=1, mobile=False)
        run_all(browser, url, folder, "30_compare", runs_dir=str(measured.root), metric="ttft_s")
        frames = "[...document.querySelectorAll('.jp-OutputArea iframe[srcdoc]')].map(one => one.title)"
        wait(browser, f"{frames}.length === 2")
        run_all(browser, url, folder, "40_report", out=str(tmp_path / "report"), langs=["ja"])
        wait(browser, f"{frames}.length === 1")
        elsewhere = [one for one in browser.requests if not one.startswith((url, "data:", "blob:", "about:"))]
        assert elsewhere == []
        assert (tmp_path / "report" / "ja" / "index.html").is_file()
