"""Records of others in public: only those whose licence allows it, field by field, on a page of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints

from lab.betray import CONDITIONS, FIELDS, Finding, Trace, Unknown, betray, trace_of_import, unknown
from lab.errors import EvidenceError
from lab.evidence import EvidenceStore
from lab.imports import read_imported
from lab.imports.ceilings import Declared, ImportedCeilings, Tables, imported_ceilings
from lab.imports.reading import PROMPT_NAME
from lab.imports.record import Counts, ImportedMetric, ImportedRecord, ImportedScore, ScorePath, Tool
from lab.publish.gate import private_facts, release
from lab.records import RunId
from lab.spec import Frozen, Name, Sha256

WORD = re.compile(r"[A-Za-z0-9 ._+\-:=,/@()]{1,160}")
"""Words of somebody else's file that are shown as they stand; whatever holds another character is left out."""


Word = Annotated[str, StringConstraints(pattern=f"^{WORD.pattern}$")]


class PublicScore(ImportedScore):
    """A score, in plain words of a bounded length."""

    task: Word
    version: Word | None
    metric: Word
    filter: Word | None
    output_type: Word | None = None
    task_hash: Word | None = None


class PublicScorePath(ScorePath):
    """How the questions reached the model, without generation settings, which are free text."""

    model_class: Word | None
    chat_template_sha256: Word | None = None
    generation: None = None


class PublicImported(Frozen):
    """What is shown of one imported record. No file name, no path, no note, no host."""

    run_id: RunId
    grade: Literal["imported"] = "imported"
    tool: Tool
    tool_version: Word | None
    source_sha256: Sha256
    licence: Word
    credit: Word | None
    engine: Word | None
    version: Word | None
    model: Word | None
    revision: Word | None
    quantization: Word | None
    machine: Word | None
    workload: Word | None
    counts: Counts
    metrics: tuple[ImportedMetric, ...]
    scores: tuple[PublicScore, ...] = ()
    score_path: PublicScorePath | None = None
    """How the questions reached the model; None: the record holds no scores."""
    ceilings: ImportedCeilings
    """What bounds it, and what is missing where nothing is known to."""
    lab_version: Name


class Beside(Frozen):
    """Records that carry the same names, and what speaks against setting them side by side."""

    run_ids: tuple[RunId, ...]
    findings: tuple[Finding, ...]
    unknowns: tuple[Unknown, ...]


class Silence(Frozen):
    """What no record of one tool says."""

    tool: Tool
    records: int
    fields: tuple[str, ...]


class PublicImports(Frozen):
    """Everything the page of imported records is made from."""

    records: tuple[PublicImported, ...]
    beside: tuple[Beside, ...]
    silences: tuple[Silence, ...]
    kept_private: int
    """Records that are not shown because their licence is not known to allow it, or asks for a credit nobody gave."""


def project_imports(records: Sequence[ImportedRecord], declared: Declared | None = None) -> PublicImports:
    """What may be shown of these records; `declared` is what the reader adds to those that do not say it."""
    shown = [one for one in records if one.source.republish == "yes"]
    traces = _renamed({one.run_id: trace_of_import(one) for one in shown})
    groups: dict[tuple[str | None, str], list[ImportedRecord]] = {}
    for one in shown:
        groups.setdefault((one.load.workload, (one.model.name or "").rpartition("/")[2].lower()), []).append(one)
    beside = []
    for group in groups.values():
        if len(group) > 1:
            side = [traces[one.run_id] for one in group]
            run_ids = tuple(one.run_id for one in group)
            beside.append(Beside(run_ids=run_ids, findings=betray(side), unknowns=unknown(side)))
    tools, tables = dict.fromkeys(one.source.tool for one in shown), Tables()
    return PublicImports(
        records=tuple(_public(one, imported_ceilings(one, declared or Declared(), tables)) for one in shown),
        beside=tuple(beside),
        silences=tuple(
            _silence(tool, [traces[one.run_id] for one in shown if one.source.tool == tool]) for tool in tools
        ),
        kept_private=len(records) - len(shown),
    )


def _renamed(traces: Mapping[RunId, Trace]) -> dict[RunId, Trace]:
    """The same with prompts numbered: the digest that names a prompt would confirm a guess of its words."""
    found = (row.prompt for one in traces.values() for row in one.rows)
    digests = dict.fromkeys(name for name in found if name is not None and PROMPT_NAME.fullmatch(name))
    numbers: dict[str | None, str] = {name: f"prompt {n}" for n, name in enumerate(digests, 1)}
    return {
        run_id: one.model_copy(
            update={
                "rows": tuple(
                    row.model_copy(update={"prompt": numbers.get(row.prompt, row.prompt)}) for row in one.rows
                )
            }
        )
        for run_id, one in traces.items()
    }


def publish_imports(
    store: EvidenceStore,
    run_ids: Sequence[str],
    folder: Path,
    build: Callable[[PublicImports], Mapping[str, bytes]],
    declared: Declared | None = None,
) -> tuple[Path, ...]:
    """Write the page of imported records and its evidence into `folder`, through the leak gate.

    Args:
        store: where the bundles are.
        run_ids: records.
        folder: where the page goes.
        build: makes the pages.
        declared: machine and shapes that the files do not name.

    Raises:
        EvidenceError: a bundle is damaged or was measured here, or nothing may be shown.
        LeakFound: a page would identify this site.
    """
    for run_id in run_ids:
        if not store.is_imported(run_id):
            raise EvidenceError(f"{run_id} was measured here; it belongs into a report", f"lab report {run_id}")
    public = project_imports([read_imported(store, run_id) for run_id in run_ids], declared)
    if not public.records:
        raise EvidenceError(
            f"none of {len(run_ids)} imported record(s) may be shown: their licence is not stated, does not allow it, "
            "or asks for a credit that was not given",
            "import again with --licence and --credit, if you know them",
        )
    pages = build(public)
    evidence = {f"evidence/{one.run_id}.json": one.model_dump_json(indent=1).encode() + b"\n" for one in public.records}
    release({**pages, **evidence}, folder, private_facts(store, run_ids))
    return tuple(folder / name for name in pages)


def _public(record: ImportedRecord, ceilings: ImportedCeilings) -> PublicImported:
    source = record.source
    assert source.licence is not None  # nothing is shown without one
    return PublicImported(
        run_id=record.run_id,
        tool=source.tool,
        tool_version=_word(source.tool_version),
        source_sha256=source.sha256,
        licence=source.licence,
        credit=_word(source.credit),
        engine=_word(record.engine.name),
        version=_word(record.engine.version or record.engine.commit),
        model=_word(record.model.name),
        revision=_word(record.model.revision),
        quantization=_word(record.model.quantization),
        machine=_word(record.machine.name),
        workload=_word(record.load.workload),
        counts=record.counts,
        metrics=record.metrics,
        scores=tuple(_score(one) for one in record.scores),
        score_path=_score_path(record.score_path),
        ceilings=ceilings,
        lab_version=source.lab_version,
    )


def _score(one: ImportedScore) -> PublicScore:
    """A score with plain words only; a name that is not plain is no name."""
    words = {name: _word(getattr(one, name)) for name in ("version", "filter", "output_type", "task_hash")}
    names = {"task": _word(one.task) or "task", "metric": _word(one.metric) or "metric"}
    return PublicScore.model_validate({**dict(one), **words, **names})


def _score_path(path: ScorePath | None) -> PublicScorePath | None:
    if path is None:
        return None
    plain = {"model_class": _word(path.model_class), "chat_template_sha256": _word(path.chat_template_sha256)}
    return PublicScorePath.model_validate({**dict(path), **plain, "generation": None})


def _silence(tool: Tool, traces: Sequence[Trace]) -> Silence:
    """Fields and conditions that no record of a tool gives a value."""
    fields = [field for _, field, _ in FIELDS if all(one.facts.get(field) is None for one in traces)]
    fields += [
        one.value for one in CONDITIONS if all(one not in trace.named and one not in trace.resolved for trace in traces)
    ]
    return Silence(tool=tool, records=len(traces), fields=tuple(fields))


def _word(words: str | None) -> str | None:
    plain = words is not None and WORD.fullmatch(words) and not words.startswith("/")  # a path is no name
    return words if plain else None
