"""The client's six questions before a match, answered from evidence alone.

Each answer is yes, no or open. No means that the evidence contradicts; open means that it cannot say, so an
absent fact never reads as a passed check. A contradiction outweighs a gap: no comes before open.

Runs of the instrument check are not compared objects. They take part in one question only: whether the
environment label is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from lab.publish.evidence import PublicLevel, PublicRun
from lab.records import Outcome
from lab.report.loads import ladder
from lab.roster import find
from lab.spec import Frozen

Runs = tuple[PublicRun, ...]
Question = Literal["engines", "model", "workload", "label", "preparation", "quality"]


class Answer(Frozen):
    """One question of the checklist, answered."""

    question: Question
    answer: Literal["yes", "no", "open"]
    message: str
    """Key of the sentence that says what decided it."""
    args: dict[str, str]
    """Values named in that sentence."""
    run_ids: tuple[str, ...]
    """Runs that were looked at."""


def answers(runs: Runs) -> tuple[Answer, ...]:
    """All six answers, in the client's order."""
    return tuple(ask(runs) for ask in _QUESTIONS)


def compared_engines(runs: Runs) -> Answer:
    """Whether the compared objects are among the four engines on the table.

    Yes when all are; no when any is listed elsewhere (off the table, gateway, instrument, stand-in); open
    when nothing was run or a name is on no list.
    """
    subjects = compared(runs)
    reply = _reply("engines", subjects)
    entries = {run.engine: find(run.engine) for run in subjects}
    elsewhere = [entry.title for entry in entries.values() if entry is not None and entry.seat != "on"]
    unlisted = [name for name, entry in entries.items() if entry is None]
    if not subjects:
        return reply("open", "check-none")
    if elsewhere:
        return reply("no", "check-engines-no", engines=_listed(elsewhere))
    if unlisted:
        return reply("open", "check-engines-open", engines=_listed(unlisted))
    return reply("yes", "check-engines-yes", engines=_listed(entry.title for entry in entries.values() if entry))


def same_model(runs: Runs) -> Answer:
    """Whether every run used the same weights, in a combination its engine supports and really served.

    Where no row of the support table speaks of a combination, a request that succeeded stands in for it. No when
    series, revision or digest differ or the table refuses; open when a digest is absent or a run has no success.
    """
    subjects = compared(runs)
    reply = _reply("model", subjects)
    models = {(run.model.series, run.model.revision, run.model.weights_sha256) for run in subjects}
    if not subjects:
        return reply("open", "check-none")
    if len(models) > 1:
        named = (f"{series} {revision} {(sha or '—')[:12]}" for series, revision, sha in models)
        return reply("no", "check-model-no", models=_listed(named))
    series, _, sha = models.pop()
    refused = [
        entry.title if (entry := find(run.engine)) else run.engine for run in subjects if run.support == "refused"
    ]
    if refused:
        return reply("no", "check-model-no-support", series=series, engines=_listed(refused))
    if sha is None:
        return reply("open", "check-model-open-digest", series=series)
    if not all(_successes(run) for run in subjects):
        return reply("open", "check-model-open-served", series=series)
    listed = all(run.support in _SUPPORTED for run in subjects)
    return reply("yes", "check-model-yes" if listed else "check-model-yes-served", series=series, digest=sha[:12])


def same_workload(runs: Runs) -> Answer:
    """Whether every run was asked the same, and its successes have the length that was asked for.

    The name of the workload does not count. No when a field differs; open when a rung has no success on a
    valid level, or when lengths were to be exact and are not.
    """
    subjects = compared(runs)
    reply = _reply("workload", subjects)
    if not subjects:
        return reply("open", "check-none")
    asked = [run.workload.model_dump(exclude={"name"}) for run in subjects]
    fields = [field for field in asked[0] if any(one[field] != asked[0][field] for one in asked)]
    if fields:
        return reply("no", "check-workload-no", fields=_listed(fields))
    workload = subjects[0].workload
    output = str(workload.output_tokens)
    wanted = {(rung.concurrency, rung.rate_rps) for rung in workload.rungs}
    succeeded = [{(level.concurrency, level.rate_rps) for level in _read(run)} for run in subjects]
    if any(not wanted <= rungs for rungs in succeeded):
        return reply("open", "check-workload-open-measured")
    asked_for = {"arrival": workload.arrival, "ladder": ladder(workload), "output": output}
    if not workload.exact_output:
        return reply("yes", "check-workload-yes-free", **asked_for)
    if workload.content == "trace":  # a success there has the length of its own row
        return reply("yes", "check-workload-yes-each", **asked_for)
    lengths = {
        "?" if edge is None else f"{edge:g}"
        for run in subjects
        for level in _read(run)
        for edge in (level.completion_tokens.min, level.completion_tokens.max)
    }
    if lengths != {output}:
        return reply("open", "check-workload-open-length", lengths=_listed(lengths), output=output)
    return reply("yes", "check-workload-yes", **asked_for)


def same_label(runs: Runs) -> Answer:
    """Whether every compared run carries one environment label; the instrument check has one of its own."""
    runs = compared(runs)
    reply = _reply("label", runs)
    labels = {run.grade.value for run in runs}
    if not labels:
        return reply("open", "check-none")
    key = "check-label-yes" if len(labels) == 1 else "check-label-no"
    return reply("yes" if len(labels) == 1 else "no", key, labels=_listed(labels))


def preparation_decided(runs: Runs) -> Answer:
    """Whether it has been decided that preparation time counts, or that it does not.

    Either decision is a yes, when all runs carry the same. No when they disagree or when only some carry
    one; open when none does.
    """
    subjects = compared(runs)
    reply = _reply("preparation", subjects)
    values = {run.preparation_counts for run in subjects}
    if not subjects:
        return reply("open", "check-none")
    if values == {None}:
        return reply("open", "check-preparation-open")
    if len(values) > 1:
        named = {True: "true", False: "false", None: "—"}
        return reply("no", "check-preparation-no", values=_listed(named[value] for value in values))
    return reply("yes", "check-preparation-yes-counts" if values == {True} else "check-preparation-yes-excluded")


def same_suite(runs: Runs) -> Answer:
    """Whether quality was asked with the same suite, compared by digest.

    No when two digests differ; open when any run has no quality result.
    """
    subjects = compared(runs)
    reply = _reply("quality", subjects)
    suites = {(run.quality.suite, run.quality.version, run.quality.suite_sha256) for run in subjects if run.quality}
    if not subjects:
        return reply("open", "check-none")
    if len({sha for _, _, sha in suites}) > 1:
        return reply("no", "check-quality-no", suites=_listed(f"{name} {v} {sha[:12]}" for name, v, sha in suites))
    if any(run.quality is None for run in subjects):
        return reply("open", "check-quality-open")
    name, version, sha = min(suites)
    return reply("yes", "check-quality-yes", suite=f"{name} {version}", digest=sha[:12])


def compared(runs: Runs) -> Runs:
    """The runs that are compared objects: all but the instrument check."""
    return tuple(run for run in runs if run.table != "instrument-check")


_QUESTIONS: tuple[Callable[[Runs], Answer], ...] = (
    compared_engines,
    same_model,
    same_workload,
    same_label,
    preparation_decided,
    same_suite,
)


_SUPPORTED = ("supported", "beta", "plugin")
"""What the support table says of a combination that it has, on this hardware."""


def _reply(question: Question, runs: Runs) -> Callable[..., Answer]:
    run_ids = tuple(run.run_id for run in runs)

    def reply(answer: Literal["yes", "no", "open"], message: str, **args: str) -> Answer:
        return Answer(question=question, answer=answer, message=message, args=args, run_ids=run_ids)

    return reply


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def _successes(run: PublicRun) -> int:
    return sum(level.outcomes.get(Outcome.SUCCESS, 0) for level in run.levels)


def _read(run: PublicRun) -> tuple[PublicLevel, ...]:
    """The levels that may be read and have a success."""
    return tuple(level for level in run.levels if level.valid and level.outcomes.get(Outcome.SUCCESS, 0))
