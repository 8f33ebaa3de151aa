"""Other people's results: each becomes a private bundle of its own kind, graded `imported`.

    runs/<run_id>/
        imported.json    what the files say, every field optional
        source.json      the file as it was
        source-1.jsonl   a further file of the same run as it was, where a tool writes several
        manifest.json    sha256 of all; its presence seals the bundle

There is no spec, no status and no stream in it: nothing that the files do not say is filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab.errors import EvidenceDamaged, ImportRefused
from lab.evidence import IMPORTED, EvidenceStore, new_run_id
from lab.imports import aiperf, guidellm, inference_atlas, lm_eval, vllm_bench
from lab.imports.licence import may_republish
from lab.imports.reading import FileRead, Result, files_of, read_documents
from lab.imports.record import KINDS, AlsoRead, ImportedRecord, Source, Tool
from lab.imports.stream import Shape
from lab.imports.units import Unit
from lab.params import shown
from lab.spec import Frozen
from lab.version import __version__

Fields = dict[str, Any]
"""Fields of an `ImportedRecord`, and `tool_version`, `units` and `licence` of its source."""

Run = tuple[tuple[FileRead, ...], tuple[Fields, ...]]
"""The files of one run, the first of them its own, and what its results say."""


@dataclass(frozen=True, slots=True)
class Importer:
    """How one kind is read.

    Attributes:
        version: grows when the same file is read otherwise than before.
        takes_unit: whether its files may leave the unit of times open.
        runs: what is read at a path, one entry a run.
    """

    version: int
    takes_unit: bool
    runs: Callable[[Path, Unit | None], tuple[Run, ...]]


def _one_file(
    kind: Tool, shape: Shape, read: Callable[[Result, Unit | None], Fields]
) -> Callable[[Path, Unit | None], tuple[Run, ...]]:
    """For tools that write a run into one file: the file, or each of a folder."""

    def runs(path: Path, unit: Unit | None) -> tuple[Run, ...]:
        found = []
        for file in files_of(path, kind):
            documents = read_documents(file, kind, shape)
            try:
                results = tuple(read(result, unit) for result in documents.results)
            except ImportRefused as problem:
                raise ImportRefused(f"{shown(file)}: {problem.what}", problem.next_step) from None
            found.append(((documents.file,), results))
        return tuple(found)

    return runs


IMPORTERS: dict[Tool, Importer] = {
    "vllm-bench": Importer(vllm_bench.VERSION, True, _one_file("vllm-bench", vllm_bench.SHAPE, vllm_bench.read_result)),
    "inference-atlas": Importer(
        inference_atlas.VERSION,
        False,
        _one_file("inference-atlas", inference_atlas.SHAPE, lambda result, _: inference_atlas.read_result(result)),
    ),
    "aiperf": Importer(aiperf.VERSION, True, aiperf.read_runs),
    "guidellm": Importer(guidellm.VERSION, True, guidellm.read_runs),
    "lm-eval": Importer(lm_eval.VERSION, False, lm_eval.read_runs),
}
"""How each kind is read."""


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
        paths: files, or folders: of single files, or the one folder that a tool writes a run into.
        unit: of the times of a file whose numbers do not say it, or contradict its names.
        licence: as whoever imports it declares it; used where the file states none.
        credit: whom the licence wants named.

    Raises:
        ImportRefused: a file is not what it should be; nothing was imported.
    """
    tool = next((one for one in KINDS if one == kind), None)
    if tool is None:
        raise ImportRefused(f"'{kind}' is no kind of file that is imported; there are: {', '.join(KINDS)}")
    importer = IMPORTERS[tool]
    if unit is not None and not importer.takes_unit:
        takers = ", ".join(name for name, one in IMPORTERS.items() if one.takes_unit)
        raise ImportRefused(f"a file of {kind} leaves no unit open; --unit is for {takers}")
    known = {_identity(one.source): one for one in all_imported(store)}
    found: list[tuple[tuple[FileRead, ...], ImportedRecord, bool]] = []
    for path in paths:
        try:
            runs = importer.runs(path, unit)
        except ValidationError as problem:
            raise _cannot_be_kept(path, problem) from None
        for files, results in runs:
            for number, fields in enumerate(results):
                record = _record(tool, files, number, fields, licence, credit)
                earlier = known.get(_identity(record.source))
                if earlier is not None and _says_the_same(earlier.source, unit, licence, credit):
                    found.append((files, earlier, False))
                    continue
                known[_identity(record.source)] = record
                found.append((files, record, True))
    for files, record, new in found:
        if new:
            store.keep_imported(record.run_id, record, [(one.path, one.sha256) for one in files])
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


def _identity(source: Source) -> tuple[str, ...]:
    """What makes two imports one: the same bytes, read by the same importer."""
    return (
        source.tool,
        source.sha256,
        *(one.sha256 for one in source.also),
        str(source.part),
        str(source.importer_version),
    )


def _says_the_same(earlier: Source, unit: Unit | None, licence: str | None, credit: str | None) -> bool:
    """Whether an earlier import was told the same: another licence, credit or unit makes another record."""
    declared = earlier.licence if earlier.licence_from == "declared" else None
    return (
        credit == earlier.credit
        and (licence == declared or earlier.licence_from == "file")
        and (unit is not None) == (earlier.units == "declared")
    )


def _record(
    tool: Tool, files: tuple[FileRead, ...], number: int, fields: Fields, declared: str | None, credit: str | None
) -> ImportedRecord:
    main, *also = files
    fields = dict(fields)
    stated = fields.pop("licence", None)
    licence = stated or declared
    try:
        return ImportedRecord(
            run_id=new_run_id(),
            imported_at=datetime.now(UTC),
            source=Source(
                tool=tool,
                tool_version=fields.pop("tool_version", None),
                file=main.path.name,
                sha256=main.sha256,
                size_bytes=main.size_bytes,
                also=tuple(AlsoRead(file=one.path.name, sha256=one.sha256, size_bytes=one.size_bytes) for one in also),
                part=number,
                licence=licence,
                licence_from="file" if stated else "declared" if declared else None,
                credit=credit,
                republish=may_republish(licence, credit),
                units=fields.pop("units"),
                lab_version=__version__,
                importer_version=IMPORTERS[tool].version,
            ),
            **fields,
        )
    except ValidationError as problem:
        raise _cannot_be_kept(main.path, problem) from None


def _cannot_be_kept(file: Path, problem: ValidationError) -> ImportRefused:
    first = problem.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return ImportRefused(f"{shown(file)}: {place} cannot be kept: {first['msg']}")
