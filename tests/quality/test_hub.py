"""Fetched data: locked at the first fetch, and the very same rows for ever after."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.cli import app
from lab.errors import LabError, NotLocked, QualityError
from lab.plan import load_plan
from lab.quality import load_suite

from .fake_hub import FILE, FIRST, SECOND, FakeHub, parquet, serve_hub

PARAMS = Path(__file__).parents[2] / "params"
ROWS = [
    {"question": "Two and two?", "answer": "2 + 2 = 4\n#### 4"},
    {"question": "A dozen hundreds?", "answer": "12 * 100\n#### 1,200"},
]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serve_hub() as server:
        server.commits[FIRST] = {FILE: parquet(ROWS)}
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def core(tmp_path: Path) -> Path:
    folder = tmp_path / "params" / "quality" / "core"
    folder.mkdir(parents=True)
    shutil.copy(PARAMS / "quality" / "core" / "suite.yaml", folder)
    return folder


def fetch(folder: Path) -> str:
    done = CliRunner().invoke(app, ["quality", "fetch", str(folder)], catch_exceptions=False)
    return done.output


def test_suite_that_was_never_fetched_says_so_and_no_plan_can_name_it(core: Path, tmp_path: Path) -> None:
    with pytest.raises(NotLocked, match="suite core: not locked, never run") as caught:
        load_suite(core)
    assert caught.value.next_step == "lab quality fetch core"
    for piece in ("models", "engines", "workloads"):
        shutil.copytree(PARAMS / piece, core.parents[1] / piece)
    plan = core.parents[1] / "plan.yaml"
    plan.write_text((PARAMS / "harness-check.yaml").read_text().replace("smoke-mini", "core"))
    with pytest.raises(LabError, match="suite core: not locked, never run"):
        load_plan(plan)


def test_shipped_core_is_not_locked() -> None:
    """Nobody has fetched it yet. When somebody has, the lock is committed and this test goes."""
    with pytest.raises(NotLocked):
        load_suite(PARAMS / "quality" / "core")


def test_first_fetch_locks_what_the_hub_has(core: Path, hub: FakeHub) -> None:
    fetch(core)
    suite = load_suite(core)
    items = [(item.id, item.question, item.accept) for item in suite.tasks[0].items]
    assert items == [("row-0", "Two and two?", ("4",)), ("row-1", "A dozen hundreds?", ("1,200",))]
    lock = json.loads((core / "suite.lock.json").read_text())["locked"]["gsm8k.jsonl"]
    assert (lock["revision"], len(lock["row_sha256"])) == (FIRST, 2)
    assert hub.asked[0].endswith("/revision/main")
    assert hub.asked[1] == f"/datasets/openai/gsm8k/resolve/{FIRST}/{FILE}"  # the commit, not a moving name


def test_later_fetch_takes_the_locked_commit_although_there_is_a_newer_one(core: Path, hub: FakeHub) -> None:
    fetch(core)
    before = load_suite(core).ref()
    (core / "gsm8k.jsonl").unlink()
    hub.commits[SECOND], hub.newest = {FILE: parquet(ROWS[:1])}, SECOND
    with pytest.raises(QualityError, match="not on this machine") as caught:
        load_suite(core)
    assert caught.value.next_step == "lab quality fetch core"
    fetch(core)
    assert load_suite(core).ref() == before


def test_other_rows_under_the_locked_commit_are_refused(core: Path, hub: FakeHub) -> None:
    fetch(core)
    kept = (core / "gsm8k.jsonl").read_bytes(), (core / "suite.lock.json").read_bytes()
    hub.commits[FIRST] = {FILE: parquet([ROWS[0], ROWS[1] | {"answer": "#### 1,201"}])}
    with pytest.raises(QualityError, match="2 rows, expected 2; the first difference is row 1"):
        fetch(core)
    assert ((core / "gsm8k.jsonl").read_bytes(), (core / "suite.lock.json").read_bytes()) == kept


def test_edited_data_are_refused(core: Path, hub: FakeHub) -> None:
    fetch(core)
    data = core / "gsm8k.jsonl"
    data.write_text(data.read_text().replace('"4"', '"5"'))
    with pytest.raises(QualityError, match=r"is not what suite\.lock\.json says it is"):
        load_suite(core)


def test_another_source_under_an_old_lock_is_refused(core: Path, hub: FakeHub) -> None:
    fetch(core)
    path = core / "suite.yaml"
    path.write_text(path.read_text().replace("main/test-*", "socratic/test-*"))
    with pytest.raises(QualityError, match=r"locks openai/gsm8k main/test-\*\.parquet, but suite\.yaml names"):
        load_suite(core)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"other.parquet": b""}, r"has no file main/test-\*\.parquet; it has: README\.md, other\.parquet"),
        ({FILE: b"no parquet"}, "is no Parquet file"),
        ({FILE: parquet([{"question": "?"}])}, "has no column answer; it has: question"),
        ({FILE: parquet([{"question": "?", "answer": "4"}])}, "row 0 of openai/gsm8k: 'accept' finds nothing"),
        ({FILE: parquet([{"question": "", "answer": "#### 4"}])}, "row 0 has an empty question or answer"),
    ],
)
def test_hub_that_has_something_else_gets_a_sentence(
    core: Path, hub: FakeHub, files: dict[str, bytes], sentence: str
) -> None:
    hub.commits[FIRST] = files
    with pytest.raises(QualityError, match=sentence):
        fetch(core)
    assert [path.name for path in core.iterdir()] == ["suite.yaml"]


def test_hub_that_is_not_there_gets_a_sentence(core: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_hub() as server:
        url = server.url
    monkeypatch.setenv("HF_ENDPOINT", url)
    with pytest.raises(QualityError, match="cannot be reached") as caught:
        fetch(core)
    assert caught.value.next_step == "run it on a host with access to the hub"


def test_hub_without_the_data_set_gets_a_sentence(core: Path, hub: FakeHub) -> None:
    hub.commits.clear()
    with pytest.raises(QualityError, match="HTTP 404"):
        fetch(core)


def test_check_prints_what_a_run_would_ask() -> None:
    done = CliRunner().invoke(app, ["quality", "check", "smoke-mini"], catch_exceptions=False)
    suite = load_suite(PARAMS / "quality" / "smoke-mini")
    assert f"{suite.name} {suite.version}: {suite.about}" in done.output
    assert all(task.name in done.output for task in suite.tasks)
    assert f"28 items, digest {suite.ref().sha256}" in done.output


def test_suite_that_brings_its_data_is_not_fetched() -> None:
    done = CliRunner().invoke(app, ["quality", "fetch", "smoke-mini"], catch_exceptions=False)
    assert done.output == "smoke-mini brings its own data; nothing is fetched\n"


def test_suite_of_another_name_is_the_nearest() -> None:
    with pytest.raises(LabError, match="no quality suite is called 'smoke-mni'; did you mean 'smoke-mini'"):
        CliRunner().invoke(app, ["quality", "check", "smoke-mni"], catch_exceptions=False)
