"""Other people's results: each becomes a private bundle of its own kind, graded `imported`.

    runs/<run_id>/
        imported.json    what the file says, every field optional
        source.json      the file as it was
        manifest.json    sha256 of both; its presence seals the bundle

There is no spec, no status and no stream in it: nothing that the file does not say is filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from lab.errors import EvidenceDamaged, ImportRefused
from lab.evidence import IMPORTED, EvidenceStore, new_run_id
from lab.imports import inference_atlas, vllm_bench
from lab.imports.licence import may_republish
from lab.imports.reading import SourceFile, files_of, read_source, text
from lab.imports.record import ImportedRecord, Source
from lab.imports.vllm_bench import Unit
from lab.params import shown
from lab.spec import Frozen
from lab.version import __version__

KINDS = ("vllm-bench", "inference-atlas")
"""Tools whose files are read."""

IMPORTERS = {"vllm-bench": vllm_bench.VERSION, "inference-atlas": inference_atlas.VERSION}


class Kept(Frozen):
    """One result and the bundle it is in."""

    record: ImportedRecord
    new: bool
    """False: the same result of the same file was imported before, and nothing was written."""


def import_files(
    store: EvidenceStore,
    kind: str,
    paths: Sequence[Path],
    *,
    unit: Unit | None = None,
    licence: str | None = None,
    credit: str | None = None,
) -> tuple[Kept, ...]:
    """Import every result of every file; either all of them are kept or none.

    Args:
        store: where the bundles go.
        kind: one of `KINDS`.
        paths: files, or folders whose JSON files are taken.
        unit: of the times of a summary that does not say it; only for vllm-bench.
        licence: as whoever imports it declares it; used where the file states none.
        credit: whom the licence wants named.

    Raises:
        ImportRefused: a file is not what it should be; nothing was imported.
    """
    if kind not in KINDS:
        raise ImportRefused(f"'{kind}' is no kind of file that is imported; there are: {', '.join(KINDS)}")
    if unit is not None and kind != "vllm-bench":
        raise ImportRefused(f"the names in a file of {kind} hold the unit; --unit is for vllm-bench")
    known = {(one.source.sha256, one.source.part, one.source.importer_version): one for one in all_imported(store)}
    found: list[tuple[SourceFile, ImportedRecord, bool]] = []
    for file in (file for path in paths for file in files_of(path, kind)):
        source = read_source(file, kind)
        for number in range(len(source.results)):
            earlier = known.get((source.sha256, number, IMPORTERS[kind]))
            if earlier is not None and _says_the_same(earlier.source, unit, licence, credit):
                found.append((source, earlier, False))
                continue
            try:
                record = _record(source, number, kind, unit, licence, credit)
            except ImportRefused as problem:
                raise ImportRefused(f"{shown(file)}: {problem.what}", problem.next_step) from None
            except ValidationError as problem:
                first = problem.errors()[0]
                place = ".".join(map(str, first["loc"]))
                raise ImportRefused(f"{shown(file)}: {place} cannot be kept: {first['msg']}") from None
            known[(source.sha256, number, IMPORTERS[kind])] = record
            found.append((source, record, True))
    for source, record, new in found:
        if new:
            store.keep_imported(record.run_id, record, source.payload)
    return tuple(Kept(record=record, new=new) for _, record, new in found)


def read_imported(store: EvidenceStore, run_id: str) -> ImportedRecord:
    """One imported record. Raises RunNotFound and EvidenceDamaged."""
    store.require_whole(run_id)
    path = store.path(run_id) / IMPORTED
    try:
        return ImportedRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise EvidenceDamaged(f"{run_id}/{IMPORTED} cannot be read", f"lab verify {run_id}") from None


def all_imported(store: EvidenceStore) -> tuple[ImportedRecord, ...]:
    """Every imported record that can be read, the earliest import first."""
    found = []
    for run_id in store.imported_ids():
        try:
            found.append(read_imported(store, run_id))
        except EvidenceDamaged:
            continue  # `lab verify` says what is wrong with it
    return tuple(sorted(found, key=lambda one: (one.imported_at, one.run_id)))


def _says_the_same(earlier: Source, unit: Unit | None, licence: str | None, credit: str | None) -> bool:
    """Whether an earlier import was told the same: another licence, credit or unit makes another record."""
    declared = earlier.licence if earlier.licence_from == "declared" else None
    return (
        credit == earlier.credit
        and (licence == declared or earlier.licence_from == "file")
        and (unit is not None) == (earlier.units == "declared")
    )


def _record(
    file: SourceFile, number: int, kind: str, unit: Unit | None, declared: str | None, credit: str | None
) -> ImportedRecord:
    result = file.results[number]
    vllm = kind == "vllm-bench"
    fields = vllm_bench.read_result(result, unit) if vllm else inference_atlas.read_result(result)
    stated = text(result, "license") or text(result, "licence")
    licence = stated or declared
    return ImportedRecord(
        run_id=new_run_id(),
        imported_at=datetime.now(UTC),
        source=Source(
            tool="vllm-bench" if vllm else "inference-atlas",
            tool_version=fields.pop("tool_version", None),
            file=file.path.name,
            sha256=file.sha256,
            size_bytes=len(file.payload),
            part=number,
            licence=licence,
            licence_from="file" if stated else "declared" if declared else None,
            credit=credit,
            republish=may_republish(licence, credit),
            units=fields.pop("units"),
            lab_version=__version__,
            importer_version=IMPORTERS[kind],
        ),
        **fields,
    )
