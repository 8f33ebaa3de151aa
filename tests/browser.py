"""A real headless browser for the tests, and what it says about a page."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The first browser found; None when there is none."""

needs_browser = pytest.mark.skipif(
    BROWSER is None and not os.environ.get("LAB_BROWSER_REQUIRED"),
    reason="no chromium or google-chrome on this machine: install Debian's chromium",
)
"""Skips a test where there is no browser; with LAB_BROWSER_REQUIRED set it fails instead."""

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--disable-quic",
)  # fmt: skip

PROBE = """<body><script>
function measured(frame) {
  const root = frame.contentDocument.documentElement;
  document.title = JSON.stringify({scroll: root.scrollWidth, client: root.clientWidth});
}
</script><iframe style="width:360px;height:800px;border:0"
  onload="measured(this)" srcdoc="%s"></iframe></body>"""


def browse(path: Path, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a file; standard output is what `flags` ask for, for instance --dump-dom."""
    assert BROWSER is not None, "LAB_BROWSER_REQUIRED is set and there is no browser"
    command = (BROWSER, *FLAGS, f"--user-data-dir={profile}", *flags, path.as_uri())
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def check_page(page: Path, scratch: Path) -> None:
    """A page opens without a word on the console and does not scroll sideways at 360 px."""
    seen = browse(page, scratch / "profile", "--enable-logging=stderr", "--dump-dom")
    assert seen.returncode == 0, seen.stderr
    assert "CONSOLE" not in seen.stderr, seen.stderr
    # the copy only loses its security policy, so that a script outside may measure it
    copy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    probe = scratch / "probe.html"
    probe.write_text(PROBE % html.escape(copy), encoding="utf-8")
    seen = browse(probe, scratch / "profile", "--dump-dom", "--virtual-time-budget=10000")
    title = re.search(r"<title>(.*?)</title>", seen.stdout)
    assert title is not None, seen.stderr
    width = json.loads(html.unescape(title.group(1)))
    assert width["client"] == 360
    assert width["scroll"] <= width["client"]
