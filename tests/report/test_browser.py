"""Every kind of page in a real browser: silent, closed, whole on a phone and on paper, readable in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.explain.hypotheses import judge, read_hypotheses
from lab.publish.evidence import PublicRun
from lab.report.build import build_pages
from lab.report.hypotheses import measured
from lab.report.messages import LANGS
from tests.axe import CONTRAST, serious
from tests.browser import Browser, look_over, needs_browser, started
from tests.report.golden import golden_page
from tests.report.report_examples import contrasts, edition, open_edition


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all checks of this file."""
    with started() as found:
        yield found


def whole() -> tuple[PublicRun, ...]:
    """Closed and open loops, certificates, contrasts: every table a page can have."""
    named = {run.run_id: run for run in (*edition(), *open_edition())}
    return tuple(named.values())


def write(page: bytes, folder: Path) -> Path:
    path = folder / "index.html"
    path.write_bytes(page)
    return path


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_every_kind_of_page_is_silent_closed_and_whole(browser: Browser, lang: str, tmp_path: Path) -> None:
    for page in (golden_page(lang), build_pages((), (lang,))[f"{lang}/index.html"]):
        look_over(browser, write(page, tmp_path))


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_the_fullest_page_has_no_serious_violation_in_light_and_in_dark(
    browser: Browser, lang: str, tmp_path: Path
) -> None:
    judged = judge(read_hypotheses(), whole(), contrasts())
    assert measured(judged)
    page = build_pages(whole(), (lang,), contrasts(), judged=judged)[f"{lang}/index.html"]
    look_over(browser, write(page, tmp_path))
    assert serious(browser) == []
    browser.show(scheme="dark")
    assert serious(browser, CONTRAST) == []


@needs_browser
def test_axe_would_find_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    faint = '<body style="color:#ccc;background:#fff"><main><h1>faint</h1><img src="data:,">'
    page = f'<html lang="en"><title>t</title>{faint}'
    browser.show()
    browser.open(write(page.encode(), tmp_path))
    assert {one["id"] for one in serious(browser)} == {"color-contrast", "image-alt"}


@needs_browser
def test_a_card_is_folded_on_screen_and_open_on_paper(browser: Browser, tmp_path: Path) -> None:
    height = "document.querySelector('.more > dl').getBoundingClientRect().height"
    browser.show()
    browser.open(write(golden_page("en"), tmp_path))
    shown = "document.querySelector('.more > dl').checkVisibility({contentVisibilityAuto: true})"
    assert browser.value(shown) is False
    browser.show(media="print")
    assert browser.value(shown) is True and browser.value(height) > 0
