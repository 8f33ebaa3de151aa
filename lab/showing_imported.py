"""Records of others as a person reads them in a terminal, and what they betray beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.betray import Finding, Unknown
from lab.imports import Kept
from lab.imports.ceilings import ImportedCeilings
from lab.imports.record import ImportedRecord
from lab.params import OpenQuestion
from lab.report.betrayed import finding_lines, headline, letters, unknown_lines
from lab.report.imported import counted_words, definition
from lab.report.imported_ceilings import imported_ceiling_facts, imported_level_facts
from lab.report.imported_scores import SCORE_TITLES, asked_words, score_cells
from lab.report.messages import Messages, messages

LICENCE_WORDS = {
    "yes": "may be shown to others",
    "needs-credit": "may be shown with a credit, and none is given: kept private (say it with --credit)",
    "no": "not known to allow republication: kept private",
    "not-stated": "not stated: kept private (say it with --licence)",
}


def describe_kept(kept: Sequence[Kept], out: Console) -> None:
    """What an import gave: one line a record, and what became of its numbers."""
    for one in kept:
        record, source = one.record, one.record.source
        state = "imported" if one.new else "was imported before; nothing was written"
        out.print(Text(f"{record.run_id}  {source.file}: {state}"), soft_wrap=True)
        licence = f"{source.licence}, " if source.licence else ""
        out.print(
            Text(f"  {_named(record)}; {_numbers(record)}; licence {licence}{LICENCE_WORDS[source.republish]}"),
            soft_wrap=True,
        )
    new = [one.record.run_id for one in kept if one.new] or [one.record.run_id for one in kept]
    out.print(Text(f"grade imported: no claim until measured again. Next: lab match {' '.join(new)}"), soft_wrap=True)


def describe_imported(record: ImportedRecord, bounds: ImportedCeilings, lang: str, out: Console) -> None:
    """One record: where it comes from, what it says, what bounds it, what it does not say."""
    t, source = messages(lang), record.source
    nothing = t("value-not-recorded")
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")
    timed = bool(record.metrics or record.requests or not record.scores)
    rows = {
        t("shown-run"): t("shown-grade", run=record.run_id),
        t("shown-file"): t("shown-bytes", file=source.file, bytes=f"{source.size_bytes:,}", sha256=source.sha256),
        t("shown-also"): "\n".join(
            t("shown-bytes", file=one.file, bytes=f"{one.size_bytes:,}", sha256=one.sha256) for one in source.also
        ),
        t("imported-tool"): t(
            "shown-tool",
            tool=source.tool,
            version=source.tool_version or nothing,
            importer=str(source.importer_version),
        ),
        t("imported-licence"): t(
            f"licence-{source.republish}", licence=source.licence or "—", credit=source.credit or "—"
        ),
        t("imported-engine"): " ".join(
            filter(None, (record.engine.name, record.engine.version or record.engine.commit))
        )
        or nothing,
        t("imported-model"): " / ".join(
            word or nothing for word in (record.model.name, record.model.revision, record.model.quantization)
        ),
        t("imported-machine"): record.machine.name or nothing,
        t("shown-incomplete"): t(f"incomplete-{record.incomplete}") if record.incomplete else "",
        t("shown-asked"): asked_words(record.score_path, t),
        **(_load_rows(record, bounds, t) if timed else {}),
        t("shown-notes"): "\n".join(record.notes),
        t("shown-unread"): ", ".join(record.unread),
        t("shown-missing"): ", ".join(_missing(record)),
    }
    for name, words in rows.items():
        if words:
            facts.add_row(name, Text(words))
    wide = Console(file=out.file, width=max(out.width, 150), highlight=False)
    wide.print(facts)
    if record.scores:
        wide.print(_scores(record, t))
    if not timed:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("imported-metric", "shown-unit", "imported-values", "imported-definition"):
        table.add_column(t(title), overflow="fold")
    for name, group in groupby(record.metrics, key=lambda metric: metric.name):
        metrics = tuple(group)
        values = ", ".join(f"{metric.statistic or ''} {metric.value:.4g}".strip() for metric in metrics)
        said = definition(metrics[0], t)
        ours = metrics[0].differs is None
        table.add_row(name, metrics[0].unit, values, Text(said if ours else t("shown-not-ours", definition=said)))
    wide.print(table)


def _load_rows(record: ImportedRecord, bounds: ImportedCeilings, t: Messages) -> dict[str, str]:
    """What a record says of its load; one that holds nothing but scores says nothing."""
    nothing, drafts = t("value-not-recorded"), record.speculation
    return {
        t("imported-workload"): ", ".join(
            f"{name} {value}" for name, value in record.load.model_dump(exclude_none=True).items() if value != ""
        )
        or nothing,
        t("imported-counted"): counted_words(record.counts, t) or nothing,
        t("shown-drafts"): nothing if drafts is None else f"{drafts.method} {drafts.tokens or ''}".strip(),
        **dict(imported_level_facts(bounds, t)),
        **dict(imported_ceiling_facts(bounds, t)),
    }


def _scores(record: ImportedRecord, t: Messages) -> Table:
    """Every score with what it depends on."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in SCORE_TITLES:
        table.add_column(t(f"score-{title}"), overflow="fold")
    for one in record.scores:
        table.add_row(*map(Text, score_cells(one, t)))
    return table


def describe_betrayed(
    found: Sequence[Finding], limits: Sequence[Unknown], records: Sequence[tuple[str, str]], lang: str, out: Console
) -> None:
    """What records betray, in the order of fixing, and what they cannot tell.

    Args:
        found: in order.
        limits: what cannot be known.
        records: run_id and what it is, in words, for each of the runs.
        lang: en or ja.
        out: where to.
    """
    t = messages(lang)
    names = letters([run_id for run_id, _ in records])
    lines = [headline(found, t)]
    lines += [f"{names[run_id]} = {run_id}  {words}" for run_id, words in records]
    lines += finding_lines(found, t)
    lines += unknown_lines(limits, tuple(names.values()), t)
    for line in lines:
        out.print(Text(line), soft_wrap=True)


def describe_questions(path: str, asked: Sequence[OpenQuestion], out: Console) -> None:
    """A plan that was written, and what it asks."""
    out.print(
        Text(f"{path}: {len(asked)} open question(s); lab plan refuses it until each is answered"), soft_wrap=True
    )
    for one in asked:
        out.print(Text(f"  line {one.line}, {one.key}: {one.words}"), soft_wrap=True)


def short_words(record: ImportedRecord) -> str:
    """A record in a few words: engine, tool, file."""
    return f"{_named(record)} ({record.source.tool}, {record.source.file})"


def _numbers(record: ImportedRecord) -> str:
    """How many numbers a record gave, and whose definition they have."""
    if record.scores:
        tasks = len({one.task for one in record.scores})
        return f"{len(record.scores)} score(s) of {tasks} task(s), compared with none until their path is recorded"
    ours = sum(metric.differs is None for metric in record.metrics)
    units = {"in-the-names": "in the names", "checked": "found by the file's own numbers", "declared": "declared"}
    return (
        f"{ours} numbers by the lab's definition, {len(record.metrics) - ours} under the tool's own name; "
        f"unit {units[record.source.units]}"
    )


def _named(record: ImportedRecord) -> str:
    engine = record.engine
    return f"{engine.name or 'engine not recorded'} {engine.version or engine.commit or ''}".strip()


def _missing(record: ImportedRecord) -> list[str]:
    """Every optional field the file leaves open."""
    timed = bool(record.metrics or record.requests or not record.scores)
    parts = ("engine", "model", "machine", *(("load", "counts") if timed else ()))
    found = [f"{part}.{name}" for part in parts for name, value in getattr(record, part) if value is None]
    return [*found, *(name for name in ("thinking", "speculation") if getattr(record, name) is None)]
