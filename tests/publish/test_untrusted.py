"""What models, engines and params files wrote is text: nothing of it runs, steers a terminal or leaves its folder."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from lab.errors import EvidenceError, ParamsError, RunNotFound
from lab.evidence import EvidenceStore
from lab.export import _row
from lab.params import MOST_BYTES, read_mapping
from lab.plan import RunPlan
from lab.publish.gate import release
from lab.publish.markup import active_in
from lab.publish.projection import project
from lab.records import Outcome, RequestRecord, RunState
from lab.report.build import build_pages
from lab.showing import describe_run
from lab.spec import ModelSpec
from lab.terminal import PlainConsole, plain
from lab.weights import read_model
from tests.browser import WIDE, needs_browser, started
from tests.report.report_examples import open_edition

HOSTILE = (
    "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    "</td></table></main><style>*{display:none}</style><iframe srcdoc='x'></iframe>"
    "&lt;b&gt;{{ 7 * 7 }}{% raw %}\u202eevil\u202c =HYPERLINK(1) \x1b]0;title\x07\x1b[2J " + "long" * 60
)
"""Markup, a template, marks of direction, a formula, escape sequences, and a word that is too long for a phone."""


def hostile_page() -> bytes:
    """A page whose free words are all hostile. Types would refuse them, so they are put in behind the types' back."""
    edition = []
    for run in open_edition():
        model = run.model.model_copy(update={"series": HOSTILE, "revision": HOSTILE})
        levels = tuple(
            level.model_copy(
                update={
                    "metrics": {name: one.model_copy(update={"reason": HOSTILE}) for name, one in level.metrics.items()}
                }
            )
            for level in run.levels
        )
        changes = {
            "model": model,
            "levels": levels,
            "engine_version": HOSTILE,
            "command": (HOSTILE,),
            "support_sources": (HOSTILE,),
        }
        edition.append(run.model_copy(update=changes))
    return build_pages(tuple(edition), ("en",))["en/index.html"]


def test_hostile_words_stay_words_on_a_page() -> None:
    page = hostile_page().decode()
    assert list(active_in(page)) == []
    assert "&lt;script&gt;" in page
    assert "{{ 7 * 7 }}" in page
    assert "<iframe" not in page


@needs_browser
def test_hostile_words_run_nothing_and_break_no_layout_in_a_browser(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_bytes(hostile_page())
    with started() as browser:
        browser.open(page)
        assert browser.console == []
        assert browser.value("document.title") != "run"
        assert browser.value("document.querySelector('footer') !== null")
        browser.show(width=360)
        phone = browser.value(WIDE)
        assert phone["scroll"] <= phone["client"] == 360, phone


@needs_browser
def test_the_policy_of_a_page_stops_a_script_that_got_in(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    whole = build_pages((), ("en",))["en/index.html"].decode()
    page.write_text(
        whole.replace("</main>", "<script>document.title='run'</script><img src=x onerror=alert(1)></main>")
    )
    with started() as browser:
        browser.open(page)
        assert browser.value("document.title") != "run"
        assert any("Content Security Policy" in said for said in browser.console)


@pytest.mark.parametrize("series", ["<b>x</b>", "a\u202eb", "a\x1b[31mb", "a\nb", "a\u200bb", "x" * 121, ""])
def test_a_name_that_is_more_than_words_is_refused(series: str) -> None:
    with pytest.raises(ValueError, match="series"):
        ModelSpec(series=series, revision="1", weights_format="none", weights_sha256=None, tokenizer="words",
                  chat_template="none")  # fmt: skip


def test_a_terminal_shows_control_characters_to_nobody() -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, force_terminal=True, color_system="standard", width=200)
    console.print("[bold]own[/] ", HOSTILE, markup=True)
    console.print(HOSTILE, markup=False)
    text = out.getvalue()
    assert "\x1b[1mown" in text
    assert "\x1b]0;" not in text and "\x1b[2J" not in text and "\x07" not in text and "\u202e" not in text
    assert plain("a\tb\nc\r\x9b1m") == "a\tb\nc1m"


def test_lab_show_and_lab_runs_print_what_an_engine_said_as_text(
    store: EvidenceStore, small_plan: tuple[RunPlan, Path]
) -> None:
    from tests.test_cli import lab

    run_id = store.create(small_plan[0].runs[0].spec, plan="small", plan_digest="p", match_id="m-1", varied=())
    store.write(run_id, "engine.log", f"fatal: {HOSTILE}\n".encode())
    store.seal(run_id, RunState.FAILED, f"\x1b[2J[red]{HOSTILE}")
    out = io.StringIO()
    describe_run(store, run_id, PlainConsole(file=out, width=200))
    listed = lab("runs", "--runs-dir", str(store.root))
    assert listed.returncode == 0
    for text in (out.getvalue(), listed.stdout):
        assert "[red]" in text
        assert not [char for char in text if (char < " " and char not in "\n\t") or char in "\u202e\x7f\x9b"]


@pytest.mark.parametrize("run_id", ["../x", "r-../../etc", "/etc/passwd", "r-a2b3c4d5e6/..", "r-a2b3c4d5e6\n"])
def test_a_run_id_cannot_walk_out_of_the_store(store: EvidenceStore, run_id: str) -> None:
    with pytest.raises(RunNotFound):
        store.path(run_id)
    with pytest.raises(RunNotFound):
        project(store, run_id)


@pytest.mark.parametrize("name", ["../x.html", "/x", "en/../../x", "a\\b", ".hidden", "en//x", "x\n"])
def test_a_page_cannot_be_written_outside_its_edition(tmp_path: Path, name: str) -> None:
    with pytest.raises(EvidenceError, match="no file of a report"):
        release({name: b"x"}, tmp_path / "report", [])
    assert list(tmp_path.iterdir()) == []


def test_a_params_file_makes_no_objects_and_no_billions(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: !!python/object/apply:os.system ['touch pwned']\n")
    with pytest.raises(ParamsError, match="not valid YAML"):
        read_mapping(path)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    path.write_text("\n".join(lines))
    with pytest.raises(ParamsError, match="aliases multiply"):
        read_mapping(path)
    path.write_text("#" * (MOST_BYTES + 1))
    with pytest.raises(ParamsError, match="has at most"):
        read_mapping(path)
    with pytest.raises(ParamsError, match="never ends"):
        read_mapping(Path("/dev/zero"))


def test_a_model_name_cannot_walk_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "secret.yaml").write_text("key: value")
    with pytest.raises(ParamsError) as refusal:
        read_model("../secret", tmp_path / "models")
    assert "no name of a model" in refusal.value.what


@pytest.mark.parametrize(
    ("word", "written"), [("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("stop", "stop"), (None, None)]
)
def test_a_word_of_an_engine_is_no_formula_in_an_exported_table(word: str | None, written: str | None) -> None:
    record = RequestRecord(
        level=0, index=0, intended_send_s=0, send_s=0, asked_tokens=5, outcome=Outcome.SUCCESS, finish_reason=word
    )
    assert _row(record)["finish_reason"] == written


def test_public_evidence_holds_no_formula_that_a_spreadsheet_would_run() -> None:
    for run in open_edition():
        words = [word for word in json.loads(run.model_dump_json()).values() if isinstance(word, str)]
        assert not [word for word in words if word[:1] in "=+@\t\r"]
