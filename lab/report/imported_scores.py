"""Scores of others in words: what was asked, how it reached the model, what the samples say beside the score."""

from __future__ import annotations

from lab.imports.record import ImportedScore, SampleTally, ScorePath
from lab.publish.imported import PublicImported
from lab.report.cells import table
from lab.report.grid import Row, Table, words
from lab.report.messages import Messages
from lab.report.numbers import count, significant

SCORE_TITLES = ("task", "version", "filter", "metric", "value", "stderr", "n", "fewshot", "samples")
"""Columns of a table of scores; see the messages `score-…`."""

AGREES = 1e-6
"""Share by which the mean of the samples may miss the stated score."""


def score_cells(one: ImportedScore, t: Messages) -> tuple[str, ...]:
    """The cells of one score, in the order of `SCORE_TITLES`."""
    nothing = t("value-not-recorded")
    direction = {True: " ↑", False: " ↓", None: ""}[one.higher_is_better]
    of = t("score-n-of", n=count(one.n), all=count(one.n_original)) if one.n and one.n_original else ""
    return (
        one.task,
        one.version or nothing,
        one.filter or t("score-no-filter"),
        f"{one.metric}{direction}",
        significant(one.value, 4),
        nothing if one.stderr is None else significant(one.stderr),
        nothing if one.n is None else of if of and one.n != one.n_original else count(one.n),
        nothing if one.fewshot is None else count(one.fewshot),
        t("score-no-samples") if one.samples is None else _samples(one.samples, one, t),
    )


def scores_table(one: PublicImported, t: Messages) -> Table:
    """The scores of one record."""
    rows = [Row(cells=tuple(map(words, score_cells(score, t)))) for score in one.scores]
    titles = [t(f"score-{title}") for title in SCORE_TITLES]
    return table(f"scores-{one.run_id}", t("imported-scores", run=one.run_id), titles, rows, style="prose")


def asked_words(path: ScorePath | None, t: Messages) -> str:
    """How the questions reached the model; empty without scores."""
    if path is None:
        return ""
    said = [
        t("asked-through", model_class=path.model_class or t("value-not-recorded")),
        t(f"asked-template-{path.chat_template}"),
        t(f"asked-system-{_said(path.system_instruction)}"),
        t(f"asked-turns-{_said(path.fewshot_as_multiturn)}"),
        t("asked-streams", n="—" if path.concurrency is None else count(path.concurrency)),
        t("asked-all") if path.limit is None else t("asked-limit", limit=count(path.limit)),
    ]
    return t("list-separator").join(said)


def _samples(tally: SampleTally, one: ImportedScore, t: Messages) -> str:
    said = [t("score-rows", n=count(tally.rows))]
    if one.n is not None and one.n != tally.rows:
        said.append(t("score-rows-missing", n=count(one.n)))
    if tally.mean is not None:
        agrees = abs(tally.mean - one.value) <= AGREES * max(1.0, abs(one.value))
        said.append(t("score-agrees") if agrees else t("score-disagrees", mean=significant(tally.mean)))
    for what, n in (("empty", tally.empty), ("not-extracted", tally.not_extracted), ("all-zero", tally.all_zero)):
        if n:
            said.append(t(f"score-{what}", n=count(n)))
    return t("list-separator").join(said)


def _said(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[value]
