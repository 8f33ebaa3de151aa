"""Pages out of a notebook see the public evidence of their edition and nothing else, for good."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.desk.edition import confine
from lab.errors import EvidenceError
from lab.explain.hypotheses import judge, read_hypotheses
from lab.explain.public import read_public
from lab.report.apart import kernel_refuses
from lab.report.build import build_pages
from tests.conftest import CHECKOUT

SAMPLE = CHECKOUT / "reports" / "sample"
BEGIN = "from lab.desk.edition import confine, page\nedition = confine({evidence!r}, {out!r}, {run_ids!r})\n"

TRIES = {
    "a private file": "open({private!r}).read()",
    "its folder": "import os; os.listdir(os.path.dirname({private!r}))",
    "another program": "import subprocess; subprocess.run(['cat', {private!r}])",
    "a connection": "import socket; socket.create_connection(('127.0.0.1', 9))",
    "another edition": "confine({other!r}, {out!r})",
    "writing elsewhere": "open({private!r} + '.new', 'w')",
}


def inside(code: str, out: Path, evidence: Path = SAMPLE, run_ids: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    """Run code in a process that is confined to an edition."""
    begin = BEGIN.format(evidence=str(evidence), out=str(out), run_ids=run_ids)
    return subprocess.run(
        [sys.executable, "-c", begin + code], capture_output=True, text=True, cwd=CHECKOUT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT), "OPENAI_API_KEY": "not-a-key"},
    )  # fmt: skip


def test_the_pages_are_those_of_the_evidence(tmp_path: Path) -> None:
    out = tmp_path / "report"
    done = inside("print(page(edition.report(['en', 'ja']), 'en/index.html'))", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("en/index.html: ")
    assert {path.name for path in out.iterdir()} == {"en", "ja", "evidence"}
    runs, contrasts = read_public(SAMPLE / "evidence")
    judged = judge(read_hypotheses(), runs, contrasts)
    for name, data in build_pages(runs, ("en", "ja"), contrasts, judged=judged).items():
        assert (out / name).read_bytes() == data
    kept = {path.name: path.read_bytes() for path in (out / "evidence").iterdir()}
    assert kept == {path.name: path.read_bytes() for path in (SAMPLE / "evidence").iterdir()}


def test_one_run_gives_a_page_of_one_run_on_paper_too(tmp_path: Path) -> None:
    run_id = sorted(path.stem for path in (SAMPLE / "evidence").glob("r-*.json"))[0]
    out = tmp_path / "handout"
    done = inside("edition.handout(['ja'], pdf=True); print(edition.overview('ja'))", out, run_ids=(run_id,))
    assert done.returncode == 0, done.stderr
    assert (out / "ja" / "handout.pdf").read_bytes()[:5] == b"%PDF-"
    assert run_id in (out / "ja" / "index.html").read_text(encoding="utf-8")
    assert run_id in done.stdout
    assert not (out / "en").exists()


def test_nothing_else_can_be_seen_or_done(tmp_path: Path) -> None:
    private = tmp_path / "runs" / "spec.json"
    private.parent.mkdir()
    private.write_text("secret of the run")
    words = {"private": str(private), "other": str(tmp_path), "out": str(tmp_path / "report")}
    tries = {name: code.format(**words) for name, code in TRIES.items()}
    code = f"""
import json
said = {{}}
for name, code in {tries!r}.items():
    try:
        exec(code)
        said[name] = "done"
    except Exception as problem:
        said[name] = str(problem)
print(json.dumps(said))
"""
    done = inside(code, tmp_path / "report")
    said = json.loads(done.stdout)
    assert said.keys() == TRIES.keys()
    refused = ("outside the evidence", "not for building", "for good")
    assert [name for name, words in said.items() if not any(one in words for one in refused)] == []
    assert "secret of the run" not in done.stdout + done.stderr
    assert [path.name for path in private.parent.iterdir()] == ["spec.json"]


@pytest.mark.skipif(not kernel_refuses(), reason="this kernel has no Landlock, or is not Linux")
def test_code_that_never_asks_python_is_held_too_and_the_first_variables_are_gone(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("secret of the run")
    code = (
        f"import ctypes, os; print(ctypes.CDLL(None).open({str(tmp_path / 'x')!r}.encode(), 0))\n"
        "print(sorted(os.environ)); open('/proc/self/environ')"
    )
    done = inside(code, tmp_path / "report")
    assert done.stdout.splitlines() == ["-1", str(["HOME", "LC_ALL", "PATH", "TMPDIR", "TZ"])]
    assert "outside the evidence" in done.stderr


@pytest.mark.parametrize(
    ("out", "evidence", "said"),
    [
        (".", "sample", "holds something that is not a report"),
        ("sample", "sample", "it is never changed"),
        ("report", "week", "name one of: .*m-000000000001"),
    ],
)
def test_what_is_no_report_and_what_is_published_is_left_alone(
    out: str, evidence: str, said: str, tmp_path: Path
) -> None:
    week = tmp_path / "week" / "m-000000000001"
    week.mkdir(parents=True)
    shutil.copytree(SAMPLE / "evidence", week / "evidence")
    places = {".": tmp_path, "sample": SAMPLE, "report": tmp_path / "report", "week": tmp_path / "week"}
    with pytest.raises(EvidenceError) as problem:
        confine(str(places[evidence]), str(places[out]))
    assert re.search(said, f"{problem.value.what} {problem.value.next_step}")
    assert (week / "evidence" / "contrasts.json").is_file()
