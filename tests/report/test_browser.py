"""The pages in a real browser: nothing on the console, no sideways scroll on a phone."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.report.build import build_pages
from lab.report.messages import LANGS
from tests.report.report_examples import edition

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
)  # fmt: skip
PROBE = """<body><script>
function measured(frame) {
  const root = frame.contentDocument.documentElement;
  document.title = JSON.stringify({scroll: root.scrollWidth, client: root.clientWidth});
}
</script><iframe style="width:360px;height:800px;border:0"
  onload="measured(this)" srcdoc="%s"></iframe></body>"""


def browse(path: Path, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    command = (BROWSER, *FLAGS, f"--user-data-dir={profile}", *flags, path.as_uri())
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on this machine: install Debian's chromium")
@pytest.mark.parametrize("lang", LANGS)
def test_page_in_chromium(lang: str, tmp_path: Path) -> None:
    page = build_pages(edition())[f"{lang}/index.html"]
    real = tmp_path / "index.html"
    real.write_bytes(page)
    seen = browse(real, tmp_path / "profile", "--enable-logging=stderr", "--dump-dom")
    assert seen.returncode == 0, seen.stderr
    assert "CONSOLE" not in seen.stderr, seen.stderr

    # The copy only loses its security policy, so that a script outside may measure it.
    copy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.decode())
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE % html.escape(copy), encoding="utf-8")
    seen = browse(probe, tmp_path / "profile", "--dump-dom", "--virtual-time-budget=10000")
    title = re.search(r"<title>(.*?)</title>", seen.stdout)
    assert title is not None, seen.stderr
    width = json.loads(html.unescape(title.group(1)))
    assert width["client"] == 360
    assert width["scroll"] <= width["client"]
