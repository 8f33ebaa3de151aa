"""Every kind of page in a real browser: silent, closed, whole on a phone and on paper, readable in the dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.evidence import EvidenceStore
from lab.explain.hypotheses import judge, read_hypotheses
from lab.imports import import_files
from lab.plan import load_plan
from lab.publish.evidence import PublicRun
from lab.publish.imported import project_imports, publish_imports
from lab.report.build import build_pages
from lab.report.handout import handout_pages, planned_sheet, sheets_of
from lab.report.hypotheses import measured
from lab.report.imported import build_imported
from lab.report.messages import LANGS
from tests.axe import CONTRAST, serious
from tests.browser import FAINT, Browser, look_over, needs_browser, started
from tests.conftest import CHECKOUT
from tests.explain import explain_examples as rules
from tests.imports.others_files import atlas_record
from tests.imports.others_files import write as write_record
from tests.publish.weekly_examples import MATCH
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
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_bytes(page)
    return path


KINDS = (
    "report-decided", "report-golden", "report-empty", "front-first", "front-withdrawn", "front-moved", "archive",
    "handout", "handout-planned", "imported",
)  # fmt: skip
"""Every type of page there is, those that depend on the evidence in the states that look different."""
POINTERS = {"week": "2026-W51", "latest": "latest", "door": ""}
"""Pages in all languages at once that lead to editions."""
EVERY = [*((kind, lang) for kind in KINDS for lang in LANGS), *((kind, "all") for kind in POINTERS)]


@pytest.fixture(scope="module")
def pages(five_weeks_published: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """`<kind> <lang>` → the page."""
    made = {f"{kind} all": five_weeks_published / at / "index.html" for kind, at in POINTERS.items()}
    folder = tmp_path_factory.mktemp("pages")
    given = rules.runs()
    paths = (rules.explained(folder, given=given),)
    plan = load_plan(CHECKOUT / "params" / "four-columns.yaml")
    planned = [planned_sheet(group.match_id, group.specs) for group in plan.groups]
    records = [write_record(folder, f"{name}.json", atlas_record(name)) for name in "PQ"]
    store = EvidenceStore(folder / "runs")
    kept = import_files(store, "inference-atlas", records, licence="CC BY 4.0", credit="Somebody")
    publish_imports(store, [one.record.run_id for one in kept], folder / "imported", build_imported)
    for lang in LANGS:
        weekly = {
            "report-decided": f"2026-W51/r1/{MATCH}/{lang}", "front-first": f"2026-W49/r1/{lang}",
            "front-withdrawn": f"2026-W50/r1/{lang}", "front-moved": f"2027-W01/r1/{lang}", "archive": lang,
        }  # fmt: skip
        for kind, at in weekly.items():
            made[f"{kind} {lang}"] = five_weeks_published / at / "index.html"
        own = {
            "report-golden": golden_page(lang),
            "report-empty": build_pages((), (lang,))[f"{lang}/index.html"],
            "handout": handout_pages(sheets_of(given), LANGS, explanations=paths)[f"{lang}/index.html"],
            "handout-planned": handout_pages(planned, LANGS)[f"{lang}/index.html"],
        }
        for kind, page in own.items():
            made[f"{kind} {lang}"] = write(page, folder / kind / lang)
        made[f"imported {lang}"] = folder / "imported" / lang / "index.html"
    return made


def test_the_list_of_pages_is_whole(pages: Mapping[str, Path]) -> None:
    assert set(pages) == {f"{kind} {lang}" for kind, lang in EVERY}
    templates = {path.name for path in (CHECKOUT / "lab" / "report" / "templates").glob("*.html.j2")}
    assert templates == {
        "page.html.j2", "weekly.html.j2", "archive.html.j2", "pointer.html.j2", "handout.html.j2", "imported.html.j2",
        "table.html.j2",
    }  # fmt: skip


@needs_browser
@pytest.mark.parametrize(("kind", "lang"), EVERY)
def test_every_kind_of_page_is_silent_closed_whole_and_readable(
    browser: Browser, pages: Mapping[str, Path], kind: str, lang: str
) -> None:
    look_over(browser, pages[f"{kind} {lang}"])


@needs_browser
@pytest.mark.parametrize(("kind", "lang"), EVERY)
def test_no_kind_of_page_has_a_serious_violation_in_light_or_in_dark(
    browser: Browser, pages: Mapping[str, Path], kind: str, lang: str
) -> None:
    browser.show()
    browser.open(pages[f"{kind} {lang}"])
    assert serious(browser) == []
    browser.show(scheme="dark")
    assert serious(browser, CONTRAST) == []


@pytest.fixture(scope="module")
def fullest(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A report with every table that a report can have."""
    judged = judge(read_hypotheses(), whole(), contrasts())
    assert measured(judged)
    built = build_pages(whole(), LANGS, contrasts(), judged=judged)
    folder = tmp_path_factory.mktemp("fullest")
    return {lang: write(built[f"{lang}/index.html"], folder / lang) for lang in LANGS}


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_the_fullest_page_is_silent_closed_whole_and_readable(
    browser: Browser, fullest: Mapping[str, Path], lang: str
) -> None:
    look_over(browser, fullest[lang])


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_the_fullest_page_has_no_serious_violation_in_light_and_in_dark(
    browser: Browser, fullest: Mapping[str, Path], lang: str
) -> None:
    browser.show()
    browser.open(fullest[lang])
    assert serious(browser) == []
    browser.show(scheme="dark")
    assert serious(browser, CONTRAST) == []


FAULTY = (
    '<html lang="en"><title>t</title><body style="color:#ccc;background:#fff"><main><h1>faint</h1><img src="data:,">'
    '<p style="color:#777">nearly</p><p style="color:#000">plain</p>'
)


@needs_browser
def test_axe_would_find_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    browser.show()
    browser.open(write(FAULTY.encode(), tmp_path))
    assert {one["id"] for one in serious(browser)} == {"color-contrast", "image-alt"}


@needs_browser
def test_faint_text_would_be_found_without_axe(browser: Browser, tmp_path: Path) -> None:
    browser.show()
    browser.open(write(FAULTY.encode(), tmp_path))
    # #ccc on white is 1.61 to one, #777 is 4.48, black is 21
    assert browser.value(FAINT) == ["faint: 1.61", "nearly: 4.48"]


@needs_browser
def test_a_card_is_folded_on_screen_and_open_on_paper(browser: Browser, tmp_path: Path) -> None:
    height = "document.querySelector('.more > dl').getBoundingClientRect().height"
    browser.show()
    browser.open(write(golden_page("en"), tmp_path))
    shown = "document.querySelector('.more > dl').checkVisibility({contentVisibilityAuto: true})"
    assert browser.value(shown) is False
    browser.show(media="print")
    assert browser.value(shown) is True and browser.value(height) > 0


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_the_first_screen_of_an_edition_holds_answer_columns_label_and_change(
    browser: Browser, pages: Mapping[str, Path], lang: str
) -> None:
    browser.show(width=1240)
    browser.open(pages[f"front-moved {lang}"])
    where = "[...document.querySelectorAll('%s')].map(one => one.getBoundingClientRect().bottom)"
    for part in (".answer", "dl.columns", ".weeks .badge", ".changes li:first-child"):
        ends = browser.value(where % part)
        assert ends and max(ends) <= 960, (part, ends)


@needs_browser
@pytest.mark.parametrize("lang", LANGS)
def test_the_page_of_others_records_is_whole_and_has_no_serious_violation(
    browser: Browser, lang: str, tmp_path: Path
) -> None:
    store = EvidenceStore(tmp_path / "runs")
    gb10 = {"id": "nvidia-gb10-dgx-spark", "count": 1, "driver": "1.2", "host": {}}
    known = {"hf_id": "Qwen/Qwen3.8-27B", "quant_id": "nvfp4-unsloth"}
    files = [write_record(tmp_path, "p.json", atlas_record("P"))]
    files.append(write_record(tmp_path, "q.json", atlas_record("Q", hardware=gb10, model=known)))
    kept = import_files(store, "inference-atlas", files, licence="CC0")
    page = build_imported(project_imports([one.record for one in kept]), (lang,))[f"{lang}/index.html"]
    look_over(browser, write(page, tmp_path))
    assert serious(browser) == []
    browser.show(scheme="dark")
    assert serious(browser, CONTRAST) == []
