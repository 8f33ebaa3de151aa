"""Records of others as a person reads them in a terminal, and what they betray beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.betray import Finding, Unknown
from lab.hardware import read_hardware
from lab.imports import Kept
from lab.imports.record import ImportedRecord, ImportedScore
from lab.limits import Totals
from lab.metrics.ceilings import bytes_at_most
from lab.metrics.sums import add_up
from lab.params import OpenQuestion
from lab.report.betrayed import finding_lines, headline, letters, unknown_lines
from lab.report.messages import messages

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


def describe_imported(record: ImportedRecord, damage: Sequence[str], out: Console) -> None:
    """One record: where it comes from, what it says, what it does not say."""
    source = record.source
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows = {
        "run_id": f"{record.run_id}, grade imported: measured by others, no claim until measured again here",
        "damaged": "; ".join(damage),
        "file": f"{source.file}, {source.size_bytes:,} bytes, sha256 {source.sha256}",
        "with it": "; ".join(f"{one.file}, {one.size_bytes:,} bytes, sha256 {one.sha256[:12]}…" for one in source.also),
        "tool": f"{source.tool} {source.tool_version or '(version not recorded)'}, importer {source.importer_version}",
        "licence": f"{source.licence or '—'}: {LICENCE_WORDS[source.republish]}",
        "credit": source.credit or "",
        "engine": _named(record),
        "model": ", ".join(
            word or f"{name} not recorded"
            for name, word in (
                ("model", record.model.name),
                ("revision", record.model.revision),
                ("quantization", record.model.quantization),
            )
        ),
        "machine": record.machine.name or "not recorded",
        "incomplete": record.incomplete or "",
        "asked": _asked(record),
        "load": ", ".join(
            f"{name} {value}" for name, value in record.load.model_dump(exclude_none=True).items() if value != ""
        )
        or "not recorded",
        "counted": ", ".join(f"{name} {value:g}" for name, value in record.counts.model_dump(exclude_none=True).items())
        or "nothing",
        "drafts": "not recorded"
        if record.speculation is None
        else f"{record.speculation.method} {record.speculation.tokens or ''}".strip(),
        "adds up": _sums(record),
        "ceiling": _ceiling(record),
        "noted": _notes(record),
        "not read": ", ".join(record.unread),
        "not recorded": ", ".join(_missing(record)),
    }
    timed = bool(record.metrics or record.requests or not record.scores)
    for name, words in rows.items():
        if words and (timed or name not in _OF_A_LOAD):
            facts.add_row(name, Text(words))
    wide = Console(file=out.file, width=max(out.width, 150), highlight=False)
    wide.print(facts)
    if record.scores:
        wide.print(_scores(record))
    if not timed:
        return
    table = Table("metric", "unit", "values", "definition", box=None, padding=(0, 2, 0, 0))
    for name, group in groupby(record.metrics, key=lambda metric: metric.name):
        metrics = tuple(group)
        values = ", ".join(f"{metric.statistic or ''} {metric.value:.4g}".strip() for metric in metrics)
        differs = metrics[0].differs
        table.add_row(
            name, metrics[0].unit, values, Text("the lab's" if differs is None else f"not the lab's: {differs}")
        )
    wide.print(table)


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


def _sums(record: ImportedRecord) -> str:
    """Which of the stated rates follow from the stated totals."""
    counts = record.counts
    totals = Totals(
        requests=counts.requests,
        succeeded=counts.succeeded,
        failed=counts.failed,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        duration_s=counts.duration_s,
        request_rps=record.metric("request_rps_whole", None),
        output_tok_per_s=record.metric("output_tok_per_s_whole", None),
    )
    said = (
        f"{one.name} yes" if one.agrees else f"{one.name} no: {one.stated:.4g} stated, {one.follows:.4g} follows"
        for one in add_up(totals)
    )
    return ", ".join(said) or "the file states no totals that could be held against each other"


def _ceiling(record: ImportedRecord) -> str:
    """Why there is no ceiling, and what its speed says of the bytes that were read all the same."""
    if record.machine.name is None:
        return "no ceiling: the file names no accelerator"
    row = read_hardware().find(record.machine.name)
    if row is None:
        return "no ceiling: its accelerator is not in params/hardware.yaml"
    words = "no ceiling: the shape of its weights is not recorded"
    tpot = next(
        (one for one in record.metrics if one.statistic == "p50" and one.unit == "s" and one.name.endswith(_TPOT)), None
    )
    if tpot is None or tpot.value <= 0:
        return words
    gb_s = row.memory_bandwidth_gb_s * (record.machine.accelerators or 1)
    return (
        f"{words}; {gb_s:g} GB/s over its {tpot.name} p50 read at most {bytes_at_most(gb_s, tpot.value) / 1e9:.3g} GB "
        f"a token: weights that are larger need drafting, or the speed is not plausible ({row.source})"
    )


_TPOT = ("tpot", "tpot_s")
_OF_A_LOAD = ("load", "counted", "drafts", "adds up", "ceiling")
"""What a record that holds nothing but scores has none of."""

TEMPLATE_WORDS = {
    "by-the-server": "chat template applied by the server, not seen",
    "by-the-tool": "chat template applied by the tool",
    "none": "no chat template",
    "not-recorded": "chat template not recorded",
}


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


def _notes(record: ImportedRecord, most: int = 3, letters: int = 160) -> str:
    """The first notes of the file, and how many there are."""
    shown = [" ".join(note.split()) for note in record.notes[:most]]
    shown = [f"{note[:letters]}…" if len(note) > letters else note for note in shown]
    return "; ".join([*shown, *([f"{len(record.notes) - most} more"] if len(record.notes) > most else [])])


def _asked(record: ImportedRecord) -> str:
    """How the questions of a quality record reached the model; empty without scores."""
    path = record.score_path
    if path is None:
        return ""
    sha = f" ({path.chat_template_sha256[:12]}…)" if path.chat_template_sha256 else ""
    system = {True: "a system instruction", False: "no system instruction", None: "system instruction not recorded"}
    turns = {True: "examples as turns", False: "examples in one message", None: "turns of examples not recorded"}
    words = [
        f"through {path.model_class or 'a model class that is not recorded'}",
        TEMPLATE_WORDS[path.chat_template] + sha,
        system[path.system_instruction],
        turns[path.fewshot_as_multiturn],
        "in flight: " + ("not recorded" if path.concurrency is None else str(path.concurrency)),
        "all items" if path.limit is None else f"limit {path.limit:g}",
    ]
    return ", ".join([*words, *([f"generation {path.generation}"] if path.generation else [])])


def _scores(record: ImportedRecord) -> Table:
    titles = ("task", "version", "filter", "metric", "score", "stderr", "n", "few-shot", "samples")
    table = Table(*titles, box=None, padding=(0, 2, 0, 0))
    for one in record.scores:
        direction = {True: " ↑", False: " ↓", None: ""}[one.higher_is_better]
        of = f" of {one.n_original}" if one.n_original not in (None, one.n) else ""
        cells = (
            one.task,
            one.version or "not recorded",
            one.filter or "none",
            f"{one.metric}{direction}",
            f"{one.value:.4g}",
            "not stated" if one.stderr is None else f"{one.stderr:.4g}",
            "not recorded" if one.n is None else f"{one.n}{of}",
            "not recorded" if one.fewshot is None else str(one.fewshot),
            _samples(one),
        )
        table.add_row(*map(Text, cells))
    return table


def _samples(one: ImportedScore) -> str:
    """What the samples say beside a score: rows, whether their mean is the score, and answers scored blindly."""
    tally = one.samples
    if tally is None:
        return "not in the folder"
    words = [f"{tally.rows} rows" + ("" if one.n in (None, tally.rows) else f", not {one.n}")]
    if tally.mean is not None:
        agrees = abs(tally.mean - one.value) <= 1e-6 * max(1.0, abs(one.value))
        words.append("their mean is the score" if agrees else f"their mean is {tally.mean:.4g}")
    words += [f"{count} {what}" for count, what in ((tally.empty, "empty"), (tally.not_extracted, "with nothing "
              "extracted"), (tally.all_zero, "with every likelihood 0")) if count]  # fmt: skip
    return ", ".join(words)


def short_words(record: ImportedRecord) -> str:
    """A record in a few words: engine, tool, file."""
    return f"{_named(record)} ({record.source.tool}, {record.source.file})"


def _named(record: ImportedRecord) -> str:
    engine = record.engine
    return f"{engine.name or 'engine not recorded'} {engine.version or engine.commit or ''}".strip()


def _missing(record: ImportedRecord) -> list[str]:
    """Every optional field the file leaves open."""
    timed = bool(record.metrics or record.requests or not record.scores)
    parts = ("engine", "model", "machine", *(("load", "counts") if timed else ()))
    found = [f"{part}.{name}" for part in parts for name, value in getattr(record, part) if value is None]
    return [*found, *(name for name in ("thinking", "speculation") if getattr(record, name) is None)]
