"""The page of records of others: only what a licence allows, with its banner, its source and its reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.errors import EvidenceError
from lab.evidence import EvidenceStore
from lab.imports import import_files
from lab.publish.imported import PublicImported, publish_imports
from lab.report.imported import build_imported
from lab.report.words import ranking_words
from tests.imports.others_files import SECONDS, atlas_record, write

CREDIT = {"licence": "CC BY 4.0", "credit": "Somebody"}


@pytest.fixture
def three(store: EvidenceStore, tmp_path: Path) -> tuple[str, ...]:
    """Two records of one workload that may be shown, and one whose licence forbids it."""
    notes = [{"severity": "info", "text": "a secret note"}]
    free = [write(tmp_path, f"{name}.json", atlas_record(name, gotchas=notes)) for name in "PQ"]
    kept = import_files(store, "inference-atlas", free, **CREDIT)
    kept += import_files(store, "vllm-bench", [write(tmp_path, "no.json", SECONDS)], licence="CC BY-NC 4.0", credit="X")
    return tuple(one.record.run_id for one in kept)


def test_only_what_may_be_shown_is_shown(store: EvidenceStore, tmp_path: Path, three: tuple[str, ...]) -> None:
    pages = publish_imports(store, three, tmp_path / "out", build_imported)
    assert [path.parent.name for path in pages] == ["en", "ja"]
    evidence = sorted(path.stem for path in (tmp_path / "out" / "evidence").iterdir())
    assert evidence == sorted(three[:2])
    text = pages[0].read_text(encoding="utf-8")
    assert "Somebody" in text and "CC BY 4.0" in text
    assert three[2] not in text and "1 further record is kept private" in text
    assert "a secret note" not in text and "P.json" not in text


def test_each_language_has_the_label_the_reasons_and_no_ranking(
    store: EvidenceStore, tmp_path: Path, three: tuple[str, ...]
) -> None:
    for path in publish_imports(store, three, tmp_path / "out", build_imported):
        text = path.read_text(encoding="utf-8")
        assert 'class="banner imported"' in text
        assert f'lang="{path.parent.name}"' in text
        assert f'id="run-{three[0]}"' in text and f'href="#run-{three[0]}"' in text
        assert "{" not in text.partition("</style>")[2]
        assert ranking_words(text.partition("</style>")[2]) == ()


def test_the_numbers_on_the_page_have_their_json(store: EvidenceStore, tmp_path: Path, three: tuple[str, ...]) -> None:
    publish_imports(store, three, tmp_path / "out", build_imported)
    public = PublicImported.model_validate(json.loads((tmp_path / "out" / "evidence" / f"{three[0]}.json").read_text()))
    assert public.grade == "imported"
    assert next(one.value for one in public.metrics if one.name == "output_tok_per_s_whole") == 20.0


def test_without_a_licence_that_allows_it_there_is_no_page(store: EvidenceStore, tmp_path: Path) -> None:
    kept = import_files(store, "vllm-bench", [write(tmp_path, "no.json", SECONDS)])
    with pytest.raises(EvidenceError, match="may be shown"):
        publish_imports(store, [kept[0].record.run_id], tmp_path / "out", build_imported)
    assert not (tmp_path / "out").exists()


def test_a_damaged_bundle_is_not_published(store: EvidenceStore, tmp_path: Path, three: tuple[str, ...]) -> None:
    (store.path(three[0]) / "source.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EvidenceError, match="is damaged"):
        publish_imports(store, three, tmp_path / "out", build_imported)
