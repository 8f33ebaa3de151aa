"""The page of records of others: what, from where, under which licence, what for, and why not side by side."""

from __future__ import annotations

from importlib.resources import files
from itertools import groupby

from markupsafe import Markup

from lab.imports.record import Counts, ImportedMetric
from lab.match import Topic
from lab.publish.imported import Beside, PublicImported, PublicImports
from lab.report.betrayed import field_name, grouped, headline, letters, unknown_words
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, missing, words
from lab.report.imported_ceilings import ceilings_of_imports, imported_ceiling_facts
from lab.report.imported_scores import asked_words, scores_table
from lab.report.messages import LANGS, Messages, messages, slug
from lab.report.numbers import count, significant
from lab.report.templating import template
from lab.report.typeface import face_css
from lab.spec import digest

USES = ("ask", "again", "spread")
"""What such a record may be used for."""

NOT_USES = ("claim", "table", "engine", "decide")
"""What it may not be used for."""


def build_imported(public: PublicImports, langs: tuple[str, ...] = LANGS) -> dict[str, bytes]:
    """One self-contained page per language; the same records give the same bytes."""
    return {f"{lang}/index.html": _page(public, messages(lang), langs) for lang in langs}


def _page(public: PublicImports, t: Messages, langs: tuple[str, ...]) -> bytes:
    css = files("lab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    timed = [one for one in public.records if one.metrics or not one.scores]  # a score has no speed to bound
    html = template("imported.html.j2").render(
        t=t,
        languages=[messages(lang) for lang in langs],
        css=Markup(css),  # noqa: S704 - the package's own file
        cards=[_card(one, t) for one in public.records],
        uses=USES,
        not_uses=NOT_USES,
        silences=[
            (one.tool, one.records, t("support-separator").join(field_name(field, t) for field in one.fields))
            for one in public.silences
        ],
        groups=[_group(one, public.records, t) for one in public.beside],
        ceilings=ceilings_of_imports(
            ((one.run_id, one.engine or one.model or t("value-not-recorded"), one.ceilings) for one in timed), t
        ),
        bounds=[(one.run_id, imported_ceiling_facts(one.ceilings, t)) for one in timed],
        numbers=[_numbers(one, t) for one in timed],
        scores=[(scores_table(one, t), asked_words(one.score_path, t)) for one in public.records if one.scores],
        kept_private=public.kept_private,
        digest=digest(public.model_dump(mode="json")),
        lab_versions=sorted({one.lab_version for one in public.records}),
    )
    return html.replace("/*typeface*/", face_css(html), 1).encode()


def _card(one: PublicImported, t: Messages) -> dict[str, object]:
    """Where one record comes from, and under which licence it is shown."""
    nothing = t("value-not-recorded")
    facts = {
        "imported-engine": " ".join(part for part in (one.engine, one.version) if part),
        "imported-model": " / ".join(part or nothing for part in (one.model, one.revision, one.quantization)),
        "imported-machine": one.machine,
        "imported-workload": one.workload,
        "imported-tool": " ".join(part for part in (one.tool, one.tool_version) if part),
        "imported-licence": one.licence + (f" / {one.credit}" if one.credit else ""),
        "imported-file": one.source_sha256,
    }
    return {"run_id": one.run_id, "facts": [(t(key), value or nothing) for key, value in facts.items()]}


def _group(one: Beside, records: tuple[PublicImported, ...], t: Messages) -> dict[str, object]:
    """Records of one name side by side, by topic."""
    names = letters(one.run_ids)
    engines = {record.run_id: record.engine or "" for record in records}
    refused = [found for found in one.findings if found.refuses]
    topics = [
        {
            "title": t(f"topic-{topic.value}"),
            "fix": t("betray-fix", what=t(f"betray-fix-{topic.value}")),
            "findings": list(grouped([found for found in refused if found.topic is topic], t)),
        }
        for topic in Topic
        if any(found.topic is topic for found in refused)
    ]
    return {
        "headline": headline(one.findings, t),
        "runs": [(name, run_id, engines[run_id]) for run_id, name in names.items()],
        "topics": topics,
        "footnotes": list(grouped([found for found in one.findings if not found.refuses], t)),
        "unknowns": list(unknown_words(one.unknowns, tuple(names.values()), t)),
    }


def _numbers(one: PublicImported, t: Messages) -> Table:
    rows = []
    for name, group in groupby(one.metrics, key=lambda metric: metric.name):
        metrics = tuple(group)
        values = ", ".join(f"{metric.statistic or ''} {significant(metric.value)}".strip() for metric in metrics)
        rows.append(
            Row(
                cells=(
                    Cell(lines=(Text(text=name, style="code"),)),
                    words(f"{values} {metrics[0].unit}"),
                    words(definition(metrics[0], t)),
                )
            )
        )
    counted = counted_words(one.counts, t)
    rows.append(Row(cells=(words(t("imported-counted")), _said(counted, t), words("—"))))
    caption = t("imported-numbers", run=one.run_id, engine=one.engine or t("value-not-recorded"))
    titles = map(t, ("imported-metric", "imported-values", "imported-definition"))
    return table(f"numbers-{one.run_id}", caption, titles, rows, style="prose")


def definition(metric: ImportedMetric, t: Messages) -> str:
    """The lab's definition, or how the tool's differs.

    One metric may differ in several ways, by how it was measured: only a message that says in English what the record
    says is taken, and what has none stays in the importer's words.
    """
    if metric.differs is None:
        return t("imported-ours")
    first, english = f"differs-{slug(metric.name)}", messages("en")
    for key in (first, f"{first}-2", f"{first}-3"):
        if t.has(key) and english(key) == metric.differs:
            return t(key)
    return t("differs-untranslated", text=metric.differs)


def counted_words(counts: Counts, t: Messages) -> str:
    """What was counted; empty where nothing was."""
    found = counts.model_dump(exclude_none=True)
    return t("list-separator").join(t("count-of", name=t(f"count-{name}"), n=count(n)) for name, n in found.items())


def _said(text: str | None, t: Messages) -> Cell:
    return words(text) if text else missing(t("value-not-recorded")).model_copy(update={"number": False})
