"""The handout: one sheet of A4 per run_id, readable without colour, matched to evidence by its foot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from lab.checks import CHECKS
from lab.conditions import Condition
from lab.errors import LabError, LeakFound
from lab.explain.flips import Explanation
from lab.plan import load_plan
from lab.publish.evidence import PublicRun
from lab.publish.gate import PrivateFact
from lab.publish.handout import Papers, hand_out
from lab.report.handout import Sheet, handout_files, handout_pages, planned_sheet, sheets_of
from lab.report.messages import LANGS, messages
from lab.report.pdf import NEEDS, open_pdf, pdf
from lab.report.series import in_order
from lab.report.words import ranking_words
from tests.conftest import CHECKOUT
from tests.explain import explain_examples as rules
from tests.report.report_examples import certificate, edition, level, run, task, workload

needs_poppler = pytest.mark.skipif(which("pdftotext") is None, reason="no pdftotext here: install poppler-utils")


def can_make_pdf() -> bool:
    """Whether the system libraries of WeasyPrint are on this machine."""
    try:
        pdf(b"<html lang=en><title>empty</title>")
    except LabError:
        return False
    return True


needs_pango = pytest.mark.skipif(not can_make_pdf(), reason=f"no Pango here: {NEEDS}")


def measured(engine: str, launch: str, rate: float, **changes: object) -> PublicRun:
    """A launch of which everything is recorded, so that it may stand beside others."""
    return run(engine, "base", launch, **{
        "varied": ["engine"],
        "settings": [{"condition": one.value, "wanted": 1, "how": "set"} for one in Condition],
        "effective": [{"condition": one.value, "value": 1} for one in Condition],
        "checks": [{"name": one.name.value, "result": "pass", "counts": [7]} for one in CHECKS],
        "levels": [level(1, rate)],
        "certificate": certificate(),
        **changes,
    })  # fmt: skip


def beside() -> tuple[PublicRun, ...]:
    """Three launches of P and one of Q."""
    return (*(measured("P", str(n), 100.0 + n) for n in (1, 2, 3)), measured("Q", "1", 55.0))


def crowded() -> PublicRun:
    """More on one page than any plan of the lab puts there."""
    rungs = [2**n for n in range(8)]
    care = [{"code": "drift", "value": -0.134, "limit": 0.1}, {"code": "few-requests", "value": 12, "limit": 30}]
    tasks = [task(f"task-number-{n}", 0.5, {"truncated": 2}) for n in range(20)]
    quality = {**run().quality.model_dump(mode="json"), "tasks": tasks}  # type: ignore[union-attr]
    return measured(
        "P", "1", 1.0,
        workload=workload(concurrency=rungs, requests_per_level=512),
        levels=[level(rung, 100.0 * rung, concerns=care) for rung in rungs],
        quality=quality,
        command=["engine", "serve", "<model>", *(f"--flag-number-{n}=value" for n in range(30))],
    )  # fmt: skip


def planned() -> tuple[Sheet, ...]:
    plan = load_plan(CHECKOUT / "params" / "four-columns.yaml")
    return tuple(planned_sheet(group.match_id, group.specs) for group in plan.groups)


@cache
def paper(name: str, lang: str) -> bytes:
    sheets = {"beside": lambda: sheets_of(beside()), "crowded": lambda: sheets_of((crowded(),)), "planned": planned}
    return handout_pages(sheets[name](), (lang,), paper=True)[f"{lang}/index.html"]


def text_of(document: bytes, tmp_path: Path, *flags: str) -> str:
    path = tmp_path / "handout.pdf"
    path.write_bytes(document)
    found = subprocess.run(["pdftotext", *flags, path, "-"], capture_output=True, check=True)
    return found.stdout.decode()


@needs_poppler
@needs_pango
@pytest.mark.parametrize("lang", LANGS)
def test_every_sheet_carries_label_digest_and_page_number(lang: str, tmp_path: Path) -> None:
    sheets = text_of(pdf(paper("beside", lang)), tmp_path, "-layout").split("\f")[:-1]
    assert len(sheets) == 2 + 4  # the cover, the cells, and one for each run
    for place, sheet in enumerate(sheets, 1):
        assert messages(lang)("grade-synthetic") in sheet.partition("\n")[0]
        assert f"{place}/6" in sheet.replace(" ", "")
    for one, sheet in zip(in_order(beside()), sheets[2:], strict=True):
        assert one.run_id in sheet and one.manifest_sha256 in sheet.replace("\n", "")


@needs_poppler
@needs_pango
@pytest.mark.parametrize("lang", LANGS)
def test_a_crowded_run_still_fits_on_one_sheet(lang: str, tmp_path: Path) -> None:
    sheets = text_of(pdf(paper("crowded", lang)), tmp_path).split("\f")[:-1]
    assert sum(crowded().manifest_sha256 in sheet for sheet in sheets) == 1
    assert len(sheets) == 3


@needs_pango
def test_a_pdf_is_tagged_says_its_language_and_holds_no_date() -> None:
    inside = open_pdf(paper("planned", "ja"))
    assert b"/StructTreeRoot" in inside and b"/Lang (ja)" in inside and b'pdfuaid:part="1"' in inside
    assert b"CreationDate" not in inside and b"ModDate" not in inside
    assert pdf(paper("planned", "ja")) == pdf(paper("planned", "ja"))


def test_cells_hold_means_with_their_interval_and_one_launch_has_none() -> None:
    page = handout_pages(sheets_of(beside()), ("en",))["en/index.html"].decode()
    grid = page[page.index('id="grid-0-0"') :].partition("</table>")[0]
    row = next(part for part in grid.split("<tr") if "Output at 1 in flight" in part)
    assert "102 tok/s" in row and "3 launches" in row  # 101, 102, 103
    assert "55.0 tok/s" in row and "no interval (one launch)" in row
    assert "no build step" in grid


def test_runs_that_may_not_stand_side_by_side_have_no_cell_and_say_why() -> None:
    page = handout_pages(sheets_of(edition()), ("en",))["en/index.html"].decode()
    grid = page[page.index('id="grid-0-0"') :].partition("</table>")[0]
    assert "not comparable" in grid and "tok/s" not in grid


@pytest.mark.parametrize("lang", LANGS)
def test_before_measuring_the_same_match_has_empty_cells(lang: str) -> None:
    page = handout_pages(planned(), (lang,))[f"{lang}/index.html"].decode()
    assert planned()[0].match_id in page
    for title in ("vLLM · equal", "TensorRT-LLM · equal", "SGLang · equal", "Atlas · equal"):
        assert title in page
    grid = page[page.index('id="grid-0-0"') :].partition("</table>")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", grid)
    assert {re.sub("<[^>]+>", "", cell) for cell in cells} == {messages(lang)("handout-empty")}
    assert page.count("<li>") == 6


def test_the_comparison_always_has_its_four_columns() -> None:
    alone = measured("vllm", "1", 1.0, table="comparison", levels=[], preparation=None, quality=None,
                     quality_reason="not-measured")  # fmt: skip
    page = handout_pages(sheets_of((alone,)), ("en",))["en/index.html"].decode()
    assert page.count(">Not measured here<") == 3
    assert "no level was measured" in page and "preparation was not recorded" in page


@pytest.mark.parametrize("lang", LANGS)
def test_a_handout_is_closed_colourless_and_never_ranks(lang: str) -> None:
    page = handout_pages(sheets_of(edition()), LANGS)[f"{lang}/index.html"].decode()
    style, _, body = page.partition("</style>")
    assert not re.search(r"https?:|//[a-z]|@import", re.sub(r"base64,[^)]*", "", page))
    for colour in re.findall(r"#([0-9a-f]{3,6})\b", style.partition("/* Black")[2]):
        third = len(colour) // 3
        assert colour[:third] == colour[third : 2 * third] == colour[2 * third :]  # a grey
    assert ranking_words(re.sub("<[^>]+>", " ", body)) == ()


@needs_pango
def test_paper_goes_through_the_gate_as_pages_do(tmp_path: Path) -> None:
    leaky = measured("P", "1", 1.0, command=["engine", "--name=gpu-box-07"])
    pages, readable = handout_files(sheets_of((leaky,)), ("en",), paper=True)
    only_paper = {name: payload for name, payload in pages.items() if name.endswith(".pdf")}
    facts = [PrivateFact(kind="host name", value="gpu-box-07")]
    with pytest.raises(LeakFound, match="host name"):
        hand_out(Papers(only_paper, readable), tmp_path / "handout", facts)
    assert not (tmp_path / "handout").exists()
    written = hand_out(Papers(pages, readable), tmp_path / "handout", ())
    assert sorted(path.name for path in written) == ["handout.pdf", "index.html"]
    hand_out(Papers(pages, readable), tmp_path / "handout", ())  # a handout replaces a handout


@pytest.mark.parametrize(
    ("what", "next_step"),
    [
        ("raise OSError(\"cannot load library 'libpango-1.0-0': no such file\")", NEEDS),
        ("raise ModuleNotFoundError('weasyprint')", "pip install weasyprint"),
    ],
)
def test_what_a_pdf_needs_is_said_in_a_sentence(what: str, next_step: str, tmp_path: Path) -> None:
    (tmp_path / "weasyprint").mkdir()
    (tmp_path / "weasyprint" / "__init__.py").write_text(f"print('long advice')\n{what}\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{CHECKOUT}"}
    code = (
        "from lab.errors import LabError\nfrom lab.report.pdf import pdf\n"
        "try:\n    pdf(b'<p>')\nexcept LabError as problem:\n    print(problem)"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=CHECKOUT, check=False
    )
    assert seen.stdout.startswith("a PDF needs") and f"Next: {next_step}" in seen.stdout


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[PublicRun, ...], tuple[Explanation, ...]]:
    """The runs of the small decision, and the path they answer."""
    given = rules.runs()
    return given, (rules.explained(tmp_path_factory.mktemp("rules"), given=given),)


@pytest.mark.parametrize("lang", LANGS)
def test_a_handout_with_facts_opens_with_the_answer_and_prints_the_path(
    lang: str, walked: tuple[tuple[PublicRun, ...], tuple[Explanation, ...]], tmp_path: Path
) -> None:
    given, paths = walked
    t = messages(lang)
    page = handout_pages(sheets_of(given), (lang,), explanations=paths)[f"{lang}/index.html"].decode()
    body = page.partition("</style>")[2]
    lead = t("path-engine", engine=t("stand-in", engine="Q"))
    assert body.index(lead) < body.index(t("fixed")) < body.index('id="decision-path"') < body.index("grid-0-0")
    ids = set(re.findall(r'id="([\w-]+)"', body))
    assert {anchor for anchor in re.findall(r'href="#([\w-]+)"', body)} <= ids  # the runs of the path lead to a sheet
    assert paths[0].path.steps and t("path-caption", workload="agent-tools") in body
    assert ranking_words(re.sub("<[^>]+>", " ", body)) == ()
    bare = handout_pages(sheets_of(given), (lang,))[f"{lang}/index.html"].decode()
    assert lead not in bare and t("decision-path-note") not in bare


@needs_poppler
@needs_pango
@pytest.mark.parametrize("lang", LANGS)
def test_the_answer_and_the_fixed_columns_share_the_cover(
    lang: str, walked: tuple[tuple[PublicRun, ...], tuple[Explanation, ...]], tmp_path: Path
) -> None:
    given, paths = walked
    page = handout_pages(sheets_of(given), (lang,), paper=True, explanations=paths)[f"{lang}/index.html"]
    sheets = text_of(pdf(page), tmp_path).split("\f")[:-1]
    cover = sheets[0].replace("\n", "").replace(" ", "")
    for words in (messages(lang)("path-engine", engine=messages(lang)("stand-in", engine="Q")), "Made-Up-135M"):
        assert words.replace(" ", "") in cover
    assert all(messages(lang)("grade-synthetic") in sheet for sheet in sheets)
    assert sum(any(one.manifest_sha256 in sheet.replace("\n", "") for sheet in sheets) for one in given) == len(given)
