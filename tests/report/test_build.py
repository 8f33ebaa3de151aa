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
from lab.report.series import series_of
from lab.report.typeface import covered
from lab.report.words import ranking_words
from lab.roster import ON_TABLE, ROSTER
from tests.report.golden import four
from tests.report.report_examples import contrasts, edition, instrument_run, level, open_edition, quality_path, run

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
    "open": open_edition(),
    "four": four(),
    "empty": (),
    "instrument": (instrument_run(),),
    "comparison": (
        run("vllm", table="comparison", engine_version=None, levels=[], preparation=None, quality=None,
            quality_reason="not-measured"),
    ),
}  # fmt: skip
CONTRASTS = {"synthetic": contrasts(), "harness": contrasts(), "open": contrasts()}
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
    return Page(build_pages(EDITIONS[name], contrasts=CONTRASTS.get(name, ()))[f"{lang}/index.html"].decode())


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
    assert len(drawings) == len(found.all("figure")) >= 4
    assert all(">harness-check</text>" in drawing for drawing in drawings)
    assert all("<title" in drawing and "<desc" in drawing for drawing in drawings)
    synthetic = re.findall(r"<svg.*?</svg>", page("synthetic", lang).html, re.DOTALL)
    assert all(">synthetic</text>" in drawing for drawing in synthetic)


def test_numbers_reach_the_page_and_absence_is_never_zero() -> None:
    text = page("synthetic", "en").text
    for shown in ("[91.0, 113]", "2 launches", "no interval (one launch)", "no build step", "41.3", "12 / 12",
                  "11 / 12", "timeout 12", "no request succeeded", "truncated 2",
                  "0.625", "+0.310", "could not be read", "7.30"):  # fmt: skip
        assert shown in text, shown


def test_an_engine_without_numbers_shows_dashes_beside_unmeasured_columns() -> None:
    text = page("comparison", "en").text
    assert "Measured here: vLLM." in text
    assert text.count("Not measured here ") == 3


def test_same_evidence_gives_the_same_bytes_in_any_order() -> None:
    forwards = build_pages(edition(), contrasts=contrasts())
    assert forwards == build_pages(tuple(reversed(edition())), contrasts=tuple(reversed(contrasts())))
    assert forwards != build_pages(edition())
    assert list(build_pages((), ("ja",))) == ["ja/index.html"]


def test_an_engine_keeps_its_colour_in_every_chart() -> None:
    drawings = re.findall(r"<svg.*?</svg>", page("synthetic", "en").html, re.DOTALL)
    for colour in ("#0072b2", "#d55e00"):
        assert all(colour in drawing for drawing in drawings)
    assert not any("#009e73" in drawing for drawing in drawings)


def test_an_engine_keeps_its_colour_and_marker_on_every_page_with_others() -> None:
    p, q, s = run("P"), run("Q"), run("S")
    this_week, next_week = series_of((p, q)), series_of((q, s))
    assert this_week["Q · base"] == next_week["Q · base"]
    looks = [(one.colour, one.marker) for one in (*this_week.values(), *next_week.values())]
    assert len(set(looks)) == 3


def test_profiles_of_one_engine_share_its_colour_and_marker_and_differ_in_how_they_are_drawn() -> None:
    base, other, q = run("P"), run("P", "other"), run("Q")
    for page_of in ((base, other, q), (base, other)):
        first, second, *_ = series_of(page_of).values()
        assert (first.colour, first.marker) == (second.colour, second.marker)
        assert (first.hollow, second.hollow) == (False, True) and first.dash != second.dash


def test_how_an_engine_looks_does_not_depend_on_what_a_chart_has_to_draw() -> None:
    bare = run("P", preparation=None)
    html = build_pages((bare, run("Q")), ("en",))["en/index.html"].decode()
    drawings = {
        name: svg for name, svg in re.findall(r'<figure role="group" id="([\w-]+)".*?(<svg.*?</svg>)', html, re.S)
    }
    assert "#d55e00" in drawings["chart-preparation"] and "#0072b2" not in drawings["chart-preparation"]


def test_hostile_text_stays_text() -> None:
    evil = "<script>alert(1)</script>\"' onload=x {{ 7*7 }} $x^2$"
    profile = run().profile.model_copy(update={"name": evil})
    model = run().model.model_copy(update={"series": evil})
    hostile = run().model_copy(
        update={"engine": evil, "engine_version": evil, "profile": profile, "model": model,
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


def rows(name: str, table: str, lang: str = "en") -> list[str]:
    """The rows of one table as text, heading first."""
    found = re.search(rf'<table id="{table}".*?</table>', page(name, lang).html, re.DOTALL)
    assert found is not None, table
    return [" ".join(Page(row).text.split()) for row in re.findall(r"<tr.*?</tr>", found.group(), re.DOTALL)]


def test_a_level_is_named_by_its_load_and_never_none() -> None:
    text = page("open", "en").text
    assert "None" not in re.sub(r"\s+", " ", text)
    throughput = " | ".join(rows("open", "throughput-table"))
    for shown in ("1 in flight", "2.5 req/s, Poisson", "0.5 req/s, evenly spaced", "512 in flight"):
        assert shown in throughput, shown
    for shown in ("open-chat: 2.5, 5, 10 req/s, Poisson", "at most 60 s a level", "SLO TTFT\u00a0≤\u00a0500\u00a0ms,",
                  "shared prefix 64 within each of 4 groups", "questions with a JSON schema each"):  # fmt: skip
        assert shown in text, shown


def test_an_invalid_level_says_why_and_shows_no_number() -> None:
    for table in ("throughput-table", "latency-table", "intended-table"):
        late = [row for row in rows("open", table) if "10 req/s, Poisson" in row]
        assert len(late) == 2
        for row in late:
            assert "invalid: requests were sent up to 310 ms late (p99, limit 50.0 ms)" in row
            assert "777" not in row and "12 / 12" not in row
    for table in ("chart-throughput-poisson-data", "chart-ttft-poisson-data"):
        assert not [row for row in rows("open", table) if "777" in row or row.startswith("10 ")]
    assert "invalid" not in " ".join(rows("synthetic", "throughput-table"))


def test_concerns_stand_beside_the_row_with_value_and_limit() -> None:
    found = rows("open", "throughput-table")
    noted = found[next(place for place, row in enumerate(found) if "512 in flight" in row) + 1]
    assert noted.startswith("Read with care: few")
    for shown in (
        "few successes for these quantiles (12; limit 30)",
        "(−13.4 %; limit 10.0 %)",
        "(11.2; limit 3.00)",
        "say different things (31.0 %; limit 10.0 %)",
        "token count from the server (3)",
        "(512; limit 256)",
        "was not calibrated",
    ):
        assert shown in noted, shown
    assert noted in rows("open", "latency-table")
    assert "Read with care" not in page("synthetic", "en").text


def test_steady_window_and_whole_level_stand_side_by_side() -> None:
    first = next(row for row in rows("synthetic", "throughput-table") if run("P").run_id in row)
    assert "101 window 2.00 s" in first and "88.1 3.00 s in all" in first


def test_intervals_over_launches_for_output_and_ttft() -> None:
    assert "[91.0, 113] 2 launches" in rows("synthetic", "throughput-table")[1]
    # P at 4 in flight: p50 0.11 and 0.10 s; mean 105 ms, standard error 5 ms, t(0.975, 1) = 12.706
    assert "[41.5, 169] 2 launches" in rows("synthetic", "latency-table")[2]


def test_goodput_is_shown_with_its_slo_only_where_there_is_one() -> None:
    assert "Goodput" not in rows("synthetic", "throughput-table")[0]
    table = rows("open", "throughput-table")
    assert "Goodput, req/s" in table[0]
    assert "2.31 TTFT ≤ 500 ms, TPOT ≤ 50.0 ms" in next(row for row in table if " 79.0 " in row)
    assert "— no value" in next(row for row in table if " 158 " in row)
    assert "no SLO was stated" in next(row for row in table if "512 in flight" in row)


def test_intended_and_structured_tables_only_where_there_is_something() -> None:
    assert not {"intended-table", "structured-table"} & set(page("synthetic", "en").ids)
    assert all("in flight" not in row for row in rows("open", "intended-table"))
    assert "12 7 58 % 2 1 1 1" in rows("open", "structured-table")[1]


def test_loads_of_two_laws_never_share_a_chart() -> None:
    figures = {attrs["id"] for attrs in page("open", "en").all("figure")}
    assert figures == {"chart-preparation", "chart-quality"} | {
        f"chart-{chart}-{law}" for chart in ("throughput", "ttft", "tpot") for law in ("closed", "constant", "poisson")
    }


@pytest.mark.parametrize("lang", LANGS)
def test_certificates_are_printed_once_each_and_runs_without_one_say_so(lang: str) -> None:
    t = messages(lang)
    standing = rows("open", "standing-table", lang)
    assert len(standing) == 4
    assert t("certificate-streams", n="256") in standing[1] + standing[2]
    assert t("certificate-no-streams") in standing[1] + standing[2]
    assert t("certificate-none") in standing[3]
    assert t("caveat-no-certificate") in page("open", lang).text
    ids = {run.certificate.certificate_id for run in EDITIONS["open"] if run.certificate}
    for name in ids:
        table = rows("open", f"certificate-{name}", lang)
        assert len(table) == 5
        assert t("certificate-beyond") in table[3]
        assert "+0.310" in table[1] and "7.30" in table[1] and t("schedule-none") in table[1]
        assert t("client-unread") in table[4]
    assert t("missing") in " ".join(rows("open", "instrument-table", lang))


def test_quality_says_coverage_how_answers_ended_and_what_is_not_supported_there() -> None:
    found = {row.split(" Q untimed ")[-1]: row for row in rows("open", "quality-table", "en") if "untimed" in row}
    assert any(
        "0.625" in row and "80.0 % under 98 %: no verdict truncated 2 Ended: length 2, stop 8" in row
        for row in found.values()
    )
    assert any("choice — not supported there: the engine does not give the likelihood" in row for row in found.values())
    assert any("perplexity — not supported there: the tokenizer" in row for row in found.values())
    assert any("sums 0.400" in row and "100.0 % none" in row for row in found.values())


@pytest.mark.parametrize("lang", LANGS)
def test_what_a_constraint_adds_has_three_askings_and_a_sentence(lang: str) -> None:
    t = messages(lang)
    table = rows("open", "arms-table", lang)
    assert len(table) == 1 + 2 * 4
    for key, row in zip(("arm-free", "arm-constrained", "arm-free-again"), table[1:4], strict=True):
        assert f"{t(key)} 3" in row  # its first count
    assert "38 0 1 2 0 0.610" in table[2]
    assert t("arms-latency", timed="36", added="+12.4") in table[4]
    assert t("arms-untimed") in table[8]
    assert "arms-table" not in page("synthetic", lang).ids


def readings(lang: str) -> dict[str, str]:
    """The sentence under each row, by what the row says behind the label: class, fields, task, numbers."""
    plain = rows("synthetic", "contrasts-table", lang)[1:]
    return {head.split(" synthetic ", 1)[1]: text for head, text in zip(plain[::2], plain[1::2], strict=True)}


def reading(beginning: str, lang: str = "en") -> str:
    """The sentence under the row whose class and task begin so."""
    (found,) = [text for row, text in readings(lang).items() if row.startswith(beginning)]
    return found


def test_a_difference_is_read_from_its_class_its_interval_and_what_the_items_can_show() -> None:
    assert reading("E · engine path only profile.prefix_caching arithmetic 0.920 → 0.940 50 → 50 of 50 3 / 4") == (
        "Difference of +2.0 points [−9.8, +14.1] on 50 items, 3 flips one way and 4 the other; smallest visible "
        "difference 15.0 points: undecided whether the loss stays within 1.0 points. A difference here is read as one "
        "of the engine path (profile.prefix_caching), not of an engine as such. The answers begin to differ with: "
        "the engine's own tokenizer, the chat template."
    )
    e = "E · engine path only profile.prefix_caching "
    assert ": a loss of more than 1.0 points is ruled out. " in reading(e + "facts")
    assert ": the loss is larger than 1.0 points. " in reading(e + "schema")


def test_a_repeat_is_noise_and_gets_no_verdict() -> None:
    for task in ("arithmetic", "facts"):
        noise = reading(f"N · one path, repeated {task}")
        assert ": so much comes from repeating alone. Nothing recorded differs" in noise
        assert "loss" not in noise
    assert "1 flip one way and 0 the other" in reading("N · one path, repeated facts")


def test_what_is_not_attributable_says_why() -> None:
    both = "X · not attributable engine weights_sha256 quantization_weights "
    assert "the quantization both differ (engine, weights_sha256, quantization_weights)." in reading(
        both + "arithmetic"
    )
    assert "because this was not recorded: compute_dtype." in reading("X · not attributable compute_dtype")
    assert "other bytes under one name" in reading("X · not attributable weights_sha256 arithmetic")
    assert "read as one of the quantization (quantization_kv_cache)." in reading(
        "Q · quantization only quantization_kv_cache arithmetic"
    )


def test_low_coverage_and_few_items_carry_no_verdict() -> None:
    both = "X · not attributable engine weights_sha256 quantization_weights "
    assert ": no verdict, because fewer than 98 %" in reading(both + "facts")
    empty = reading(both + "schema — No item has a score in both runs. 3 → 0 of 3 — no value")
    assert empty.startswith("No item has a score in both runs. Not attributable")
    quantized = "Q · quantization only quantization_kv_cache "
    assert ": no verdict, because the coverage of the two runs differs" in reading(quantized + "arithmetic")
    assert "so few items show no difference" in reading(quantized + "facts")
    assert "The answers are the same in every lane" in reading(quantized + "facts")


def test_the_same_is_said_in_japanese() -> None:
    assert reading("E・エンジンの経路のみ profile.prefix_caching arithmetic", "ja") == (
        "50 問での差は +2.0 ポイント [−9.8, +14.1] です（下がった問題 3、上がった問題 4）。見分けられる最小の差は 15.0 "
        "ポイントです。許容幅 1.0 ポイントに収まるかどうかは未確定です。ここでの差はエンジンの経路（"
        "profile.prefix_caching）の差として読みます。エンジン単体の差ではありません。応答の違いが現れ始めるところ：エンジン自身のトークナイザ、チャット"
        "テンプレート。"
    )


@pytest.mark.parametrize("lang", LANGS)
def test_without_two_runs_there_is_nothing_side_by_side(lang: str) -> None:
    assert rows("instrument", "contrasts-table", lang)[1:] == [messages(lang)("contrasts-none")]
    assert not [a for a in page("instrument", lang).all("a") if "contrasts.json" in (a.get("href") or "")]
    assert [a for a in page("synthetic", lang).all("a") if a.get("href") == "../evidence/contrasts.json"]


@pytest.mark.parametrize("lang", LANGS)
def test_a_card_names_the_path_and_what_nobody_recorded_of_it(lang: str) -> None:
    recorded = quality_path()
    html = build_pages((run(path=recorded), run(launch="2")), (lang,))[f"{lang}/index.html"].decode()
    assert html.count(recorded.path_id) == 1
    assert html.count("attention_backend") == 1
