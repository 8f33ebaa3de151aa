"""The first screen, the order of the sections, what a page is told, and cards of one length."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

import lab.report
from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.report.build import FIRST_CAVEATS, SECTIONS, build_pages
from lab.report.cells import standing
from lab.report.engine_cards import engine_cards
from lab.report.messages import LANGS, messages
from lab.report.tables import four_columns
from lab.report.words import ranking_words
from lab.roster import ON_TABLE
from tests.report.golden import four, golden_page
from tests.report.report_examples import level, run


def page(runs: tuple[PublicRun, ...], lang: str = "en") -> str:
    return build_pages(runs, (lang,))[f"{lang}/index.html"].decode()


def section(html: str, name: str) -> str:
    """The words of one section."""
    found = re.search(rf'<section (?:id|class)="{name}".*?</section>', html, re.DOTALL)
    assert found is not None, name
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found.group())).split())


def test_sections_stand_in_their_order_and_the_contents_lead_to_them() -> None:
    html = page(())
    without = tuple(name for name in SECTIONS if name != "hypotheses")  # nothing was measured for one
    assert tuple(re.findall(r'<section id="([\w-]+)"', html)) == without
    contents = re.search(r'<nav class="contents".*?</nav>', html, re.DOTALL)
    assert contents is not None and tuple(re.findall(r'href="#([\w-]+)"', contents.group())) == without


def test_the_first_screen_has_three_caveats_and_the_others_are_not_lost() -> None:
    late = {"code": "schedule-lag", "value": 0.31, "limit": 0.05}
    runs = (run("P", "base"), run("P", "off", levels=[level(1, 1.0, concerns=[late])], context_limit=1024))
    html = page(runs)
    first = re.search(r'<div class="caveats">.*?</div>', html, re.DOTALL)
    assert first is not None and first.group().count("<li>") == FIRST_CAVEATS
    for key in ("caveat-not-comparable", "caveat-invalid", "caveat-one-launch"):
        assert messages("en")(key) in section(html, "first")
    for key in ("caveat-no-certificate", "caveat-conditions"):
        assert messages("en")(key) in section(html, "limits")


_LEFT_OPEN = (
    ("decision-path", "decision-path-none"),
    ("decision-flips", "decision-flips-none"),
    ("history", "history-none"),
)


@pytest.mark.parametrize("lang", LANGS)
def test_what_nobody_handed_in_is_said_to_be_missing(lang: str) -> None:
    html, t = page((run(),), lang), messages(lang)
    for name, key in _LEFT_OPEN:
        assert t(key) in section(html, name)
    assert t("changes-unknown") in section(html, "first")


def test_what_a_page_is_told_stands_where_it_belongs() -> None:
    html = golden_page("en").decode()
    assert "One run of P was added." in section(html, "first")
    assert "no decision" in section(html, "history")


def test_numbers_are_claims_only_where_every_run_is_real_gpu() -> None:
    made_up = run()
    checked = made_up.model_copy(update={"grade": EvidenceGrade.HARNESS_CHECK, "grade_reason": "no-gpu-seen"})
    real = made_up.model_copy(update={"grade": EvidenceGrade.REAL_GPU, "grade_reason": "nvml"})
    assert [standing(runs) for runs in ((), (real,), (checked,), (made_up,), (real, checked))] == [
        None, "claims", "observations", "generated", "both",
    ]  # fmt: skip
    t = messages("en")
    assert t("standing-observations") in section(page((checked,)), "throughput")
    assert t("standing-generated") in section(page((made_up,)), "throughput")
    assert t("standing-claims") in section(page((real,)), "throughput")
    assert t("standing-both") in section(page((real, run("Q"))), "throughput")


def test_the_comparison_has_four_columns_and_stand_ins_only_among_themselves() -> None:
    assert four_columns(()) == four_columns((run("P"),)) == ON_TABLE
    stand_in = run("P", table="comparison")
    assert [entry.key for entry in four_columns((stand_in,))] == ["P", "Q", "R", "S"]
    real = run("vllm", table="comparison", levels=[], preparation=None, quality=None, quality_reason="not-measured")
    assert four_columns((stand_in, real)) == ON_TABLE


@pytest.mark.parametrize("lang", LANGS)
def test_a_column_is_measured_not_comparable_not_supported_or_not_measured(lang: str) -> None:
    t = messages(lang)
    said = section(golden_page(lang).decode(), "comparison")
    assert t("not-supported") in said and t("not-comparable") in said and "1,200" in said
    without = section(page(tuple(one for one in four() if one.engine != "S"), lang), "comparison")
    assert t("not-measured") in without and t("not-supported") not in without


@pytest.mark.parametrize("lang", LANGS)
def test_cards_have_one_form_and_one_length(lang: str) -> None:
    cards = engine_cards((), {}, messages(lang))
    assert [card.title for card in cards] == [entry.title for entry in ON_TABLE]
    assert len({tuple(title for title, _ in card.parts) for card in cards}) == 1
    lengths = [sum(len(text) for _, text in card.parts[:3]) for card in cards]
    assert max(lengths) <= 1.15 * min(lengths), lengths


def test_a_card_says_what_its_column_does_not_hold() -> None:
    bare = run("vllm", table="comparison", levels=[], preparation=None, quality=None, quality_reason="not-measured")
    first, second, *_ = engine_cards((bare,), {bare.run_id: ()}, messages("en"))
    assert first.parts[-1][1] == (
        "load, preparation, quality, the spread over fresh launches, every model, workload and machine that is not on "
        "its evidence cards."
    )
    assert second.parts[-1][1].startswith("Everything: the column holds no run.")


@pytest.mark.parametrize("lang", LANGS)
def test_the_page_with_everything_never_ranks(lang: str) -> None:
    html = golden_page(lang).decode()
    assert ranking_words(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL))) == ()


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_is_readable_in_light_and_in_dark() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    css = Path(lab.report.__file__).with_name("templates").joinpath("page.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S)
    ]
    light, dark = (theme for theme in themes if "paper" in theme)
    for theme in (light, dark):
        for ink in ("ink", "soft", "accent", "no", "yes"):
            for paper in ("paper", "panel"):
                assert contrast(theme[ink], theme[paper]) >= 4.5, (ink, paper)
        assert contrast(theme["warn-ink"], theme["warn-paper"]) >= 4.5
