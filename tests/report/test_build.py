"""Finished pages: closed, accessible, the same every time, and silent where nothing was measured."""

from __future__ import annotations

import base64
import io
import re
from functools import cache
from html.parser import HTMLParser

import pytest
from fontTools.ttLib import TTFont

from lab.publish.evidence import PublicRun
from lab.records import EvidenceGrade
from lab.report.build import build_pages
from lab.report.messages import LANGS, messages
from lab.report.typeface import covered
from lab.report.words import ranking_words
from lab.roster import ON_TABLE, ROSTER
from tests.report.report_examples import edition, instrument_run, level, run

Runs = tuple[PublicRun, ...]
LOCAL = r"#|data:,$|\.\./(en|ja)/index\.html$|\.\./evidence/[\w%-]+\.json$"
"""Where a link may lead: the page itself, its sibling in another language, the JSON of a run."""
CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"
HARNESS = tuple(
    one.model_copy(update={"grade": EvidenceGrade.HARNESS_CHECK, "grade_reason": "no-gpu-seen"}) for one in edition()
)
EDITIONS: dict[str, Runs] = {
    "synthetic": edition(),
    "harness": HARNESS,
    "empty": (),
    "instrument": (instrument_run(),),
    "comparison": (
        run("vllm", table="comparison", engine_version=None, levels=[], preparation=None, quality=None,
            quality_reason="not-measured"),
    ),
}  # fmt: skip
EVERY = [(name, lang) for name in EDITIONS for lang in LANGS]


class Page(HTMLParser):
    """What a page consists of: tags with their attributes, and the text a reader meets."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._silent = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent += tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag == "style"

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data + " "

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]


@cache
def page(name: str, lang: str) -> Page:
    return Page(build_pages(EDITIONS[name])[f"{lang}/index.html"].decode())


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_page_is_closed(name: str, lang: str) -> None:
    found = page(name, lang)
    assert not {tag for tag, _ in found.tags} & {"script", "iframe", "img", "object", "embed", "base", "form"}
    for tag, attrs in found.tags:
        assert not [key for key in attrs if key.startswith("on")], tag
        for key in ("src", "href", "xlink:href", "srcset", "data", "poster"):
            assert re.match(LOCAL, attrs.get(key) or "#"), (tag, attrs)
    assert not re.search(r"https?:|//[a-z]|@import", re.sub(r"base64,[^)]*", "", found.html))
    assert all(target.startswith("data:font/woff2;") for target in re.findall(r"url\(([^#)][^)]*)\)", found.html))
    assert CSP in [attrs.get("content") for attrs in found.all("meta")]
    assert len(found.html.encode()) < 1_500_000


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_page_is_accessible(name: str, lang: str) -> None:
    found = page(name, lang)
    assert found.all("html") == [{"lang": lang}]
    assert [len(found.all(tag)) for tag in ("h1", "main", "footer", "title")] == [
        1,
        1,
        1,
        1 + len(found.all("svg")),
    ]
    assert len(found.all("caption")) == len(found.all("table")) >= 12
    assert all(attrs.get("scope") in ("col", "row") for attrs in found.all("th"))
    assert len(found.ids) == len(set(found.ids))
    for _, attrs in found.tags:
        for name_of in ("aria-labelledby", "aria-describedby"):
            assert set((attrs.get(name_of) or "").split()) <= set(found.ids)
        href = attrs.get("href") or ""
        if href.startswith("#"):
            assert href[1:] in found.ids, href
    assert {attrs.get("hreflang") for attrs in found.all("link")} >= set(LANGS)
    assert 'class="skip" href="#content"' in found.html


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_page_never_ranks(name: str, lang: str) -> None:
    assert ranking_words(page(name, lang).text) == ()


@pytest.mark.parametrize(("name", "lang"), EVERY)
def test_embedded_typeface_draws_all_japanese(name: str, lang: str) -> None:
    found = page(name, lang)
    data = re.search(r"data:font/woff2;base64,([A-Za-z0-9+/=]+)", found.html)
    assert data is not None
    assert len(data.group(1)) <= 100_000
    drawn = TTFont(io.BytesIO(base64.b64decode(data.group(1)))).getBestCmap()
    assert {ord(char) for char in covered(found.text)} <= drawn.keys()


@pytest.mark.parametrize("lang", LANGS)
def test_every_engine_and_both_client_tables_are_there(lang: str) -> None:
    found, t = page("empty", lang), messages(lang)
    for entry in ROSTER:
        if entry.seat in ("on", "off", "gateway"):
            assert entry.title in found.text
    assert found.text.count(t("not-measured") + " ") == len(ON_TABLE)
    assert {"traits", "patterns", "seat-off", "seat-gateway"} <= set(found.ids)
    assert t("engine-atlas-later") in found.text and t("engine-atlas-mind") in found.text
    assert t("answer-empty") in found.text


@pytest.mark.parametrize("lang", LANGS)
def test_every_run_has_a_row_and_a_card_that_point_at_each_other(lang: str) -> None:
    found = page("synthetic", lang)
    links = {attrs.get("href") for attrs in found.all("a")}
    for one in edition():
        assert {f"run-{one.run_id}", f"card-{one.run_id}"} <= set(found.ids)
        assert {f"#run-{one.run_id}", f"#card-{one.run_id}"} <= links
        assert one.manifest_sha256 in found.text
        assert one.spec_digest in found.text


@pytest.mark.parametrize("lang", LANGS)
def test_label_is_on_every_row_and_every_chart(lang: str) -> None:
    found, t = page("harness", lang), messages(lang)
    assert t("banner-harness-check") in found.text
    for name in ("pipeline", "preparation", "throughput", "latency", "quality", "instrument"):
        table = re.search(rf'<table id="{name}-table".*?</table>', found.html, re.DOTALL)
        assert table is not None
        rows = re.findall(r"<tr.*?</tr>", table.group(), re.DOTALL)[1:]
        assert rows and all('class="badge harness-check"' in row for row in rows), name
    drawings = re.findall(r"<svg.*?</svg>", found.html, re.DOTALL)
    assert len(drawings) == 3
    assert all(">harness-check</text>" in drawing for drawing in drawings)
    assert all("<title" in drawing and "<desc" in drawing for drawing in drawings)
    synthetic = re.findall(r"<svg.*?</svg>", page("synthetic", lang).html, re.DOTALL)
    assert all(">synthetic</text>" in drawing for drawing in synthetic)


def test_numbers_reach_the_page_and_absence_is_never_zero() -> None:
    text = page("synthetic", "en").text
    for shown in ("[91.0, 113], 2 launches", "no interval (one launch)", "no build step", "41.3", "12 / 12",
                  "11 / 12", "timeout 12", "no request succeeded", "truncated 2",
                  "0.625", "+0.310", "could not be read"):  # fmt: skip
        assert shown in text, shown


def test_an_engine_without_numbers_shows_dashes_beside_unmeasured_columns() -> None:
    text = page("comparison", "en").text
    assert "Measured here: vLLM." in text
    assert text.count("Not measured here ") == 3


def test_same_evidence_gives_the_same_bytes_in_any_order() -> None:
    assert build_pages(edition()) == build_pages(tuple(reversed(edition())))
    assert list(build_pages((), ("ja",))) == ["ja/index.html"]


def test_one_profile_keeps_its_colour_and_marker_in_every_chart() -> None:
    drawings = re.findall(r"<svg.*?</svg>", page("synthetic", "en").html, re.DOTALL)
    for colour in ("#0072b2", "#d55e00", "#009e73"):
        assert all(colour in drawing for drawing in drawings)


def test_hostile_text_stays_text() -> None:
    evil = "<script>alert(1)</script>\"' onload=x {{ 7*7 }} $x^2$"
    profile = run().profile.model_copy(update={"name": evil})
    model = run().model.model_copy(update={"series": evil})
    hostile = run().model_copy(
        update={"engine": evil, "engine_version": evil, "week": evil, "profile": profile, "model": model,
                "command": (evil,), "lab_version": evil, "varied": (evil,), "not_expressible": (evil,)}
    )  # fmt: skip
    for html in build_pages((hostile,)).values():
        found = Page(html.decode())
        assert not found.all("script")
        assert not [attrs for _, attrs in found.tags if "onload" in attrs]
        assert evil in found.text
        assert "49" not in re.findall(r"on=x (\S+)", found.text)


def test_many_runs_stay_small() -> None:
    many = tuple(run("P", f"profile-{n}", levels=[level(2**k, 100.0 + n) for k in range(6)]) for n in range(40))
    assert all(len(html) < 1_500_000 for html in build_pages(many).values())
