"""axe-core for the tests, never part of the lab: the newest one from npm, kept in `.cache/`, or that of a package.

The package axe-core-python is among the test requirements, so that a machine without npm asks an older axe instead of
none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser

VERSION = "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""Digest of its axe.min.js."""
KEPT = Path(__file__).parent.parent / ".cache" / f"axe-core-{VERSION}.min.js"
SERIOUS = ("serious", "critical")

RUN = """axe.run(document, {resultTypes: ['violations'], runOnly: %s}).then(found => found.violations.map(
  one => ({id: one.id, impact: one.impact, help: one.help, where: one.nodes.map(node => node.target.join(' '))})))"""
ALL = "{type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"
CONTRAST = "{type: 'rule', values: ['color-contrast', 'link-in-text-block']}"


@cache
def axe_source() -> str:
    """The script; skips the test where it cannot be had, and fails instead where LAB_AXE_REQUIRED is set."""
    problem = "" if KEPT.is_file() else _fetch()
    if not problem:
        data = KEPT.read_bytes()
        assert hashlib.sha256(data).hexdigest() == SHA256, f"{KEPT} is not axe-core {VERSION}: delete it"
        return data.decode()
    try:
        return files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        problem += "; nor is axe-core-python installed: pip install axe-core-python"
    if os.environ.get("LAB_AXE_REQUIRED"):
        pytest.fail(problem)
    pytest.skip(problem)


def serious(browser: Browser, rules: str = ALL) -> list[dict[str, Any]]:
    """What axe finds serious or critical on the page that is open."""
    if not browser.value("typeof axe !== 'undefined'"):
        browser.value(f"{axe_source()}; true")
    return [one for one in browser.value(RUN % rules) if one["impact"] in SERIOUS]


def _fetch() -> str:
    """Put the script into its place; the answer is why that did not work, or nothing."""
    npm = shutil.which("npm")
    if npm is None:
        return "axe-core needs npm, and there is none: apt-get install npm"
    with tempfile.TemporaryDirectory() as folder:
        command = (npm, "pack", f"axe-core@{VERSION}", "--pack-destination", folder, "--fetch-retries=0")
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "npm pack axe-core did not answer within 120 s"
        if done.returncode:
            return f"npm pack axe-core failed: {done.stderr.strip().splitlines()[-1:]}"
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as packed:
            script = packed.extractfile("package/axe.min.js")
            assert script is not None
            KEPT.parent.mkdir(exist_ok=True)
            half = KEPT.with_suffix(f".{os.getpid()}")
            half.write_bytes(script.read())
            half.replace(KEPT)
    return ""
