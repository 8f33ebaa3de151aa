"""The pages in a real browser: nothing on the console, no sideways scroll on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.report.build import build_pages
from lab.report.messages import LANGS
from tests.browser import check_page, needs_browser
from tests.report.report_examples import contrasts, open_edition


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_page_in_chromium(lang: str, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_bytes(build_pages(open_edition(), contrasts=contrasts())[f"{lang}/index.html"])
    check_page(page, tmp_path)
