"""Importing, matching and planning again, as a person types it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.imports.others_files import atlas_record, write
from tests.test_cli import lab


def test_records_are_imported_matched_in_both_languages_and_planned_again(tmp_path: Path) -> None:
    where = ("--runs-dir", str(tmp_path / "runs"))
    write(tmp_path, "p.json", atlas_record("P"))
    write(tmp_path, "q.json", atlas_record("Q", engine={"id": "Q", "version": "0.1.dev0+mine"}))
    imported = lab("import", "inference-atlas", str(tmp_path), "--licence", "CC BY 4.0", "--credit", "Somebody", *where)
    assert imported.returncode == 0, imported.stderr
    assert "may be shown to others" in imported.stdout
    p, q = re.findall(r"^(r-[a-z2-7]{10})  [pq]\.json: imported", imported.stdout, re.MULTILINE)

    english, japanese = (lab("match", p, q, "--lang", lang, *where) for lang in ("en", "ja"))
    assert (english.returncode, japanese.returncode) == (1, 1)
    assert "branch or development build 0.1.dev0+mine" in english.stdout
    assert "ブランチまたは開発版 0.1.dev0+mine" in japanese.stdout
    assert english.stdout.index("1. model") < english.stdout.index("5. engine settings")

    listed = lab("runs", *where)
    assert p in listed.stdout and "imported" in listed.stdout
    shown = lab("show", p, *where)
    assert "not the lab's" in shown.stdout and "load.exact_output" in shown.stdout
    assert lab("verify", p, *where).returncode == 0

    plan = tmp_path / "again.yaml"
    written = lab("remeasure", p, "--out", str(plan), *where)
    assert written.returncode == 0 and "open question(s)" in written.stdout
    for command in ("plan", "run"):
        refused = lab(command, str(plan))
        assert refused.returncode == 2
        assert "preparation_counts" in refused.stderr

    report = lab("report", p, *where)
    assert report.returncode == 2
    assert "carries no claim" in report.stderr
