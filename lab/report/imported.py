"""The page of records of others: what, from where, under which licence, what for, and why not side by side."""

from __future__ import annotations

from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lab.betray import Finding
from lab.imports.record import Counts, ImportedMetric
from lab.match import Topic
from lab.publish.imported import Beside, PublicImported, PublicImports
from lab.report.betrayed import field_name, headline, letters, title, unknown_lines, value_lines
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, missing, words
from lab.report.imported_ceilings import ceilings_of_imports, imported_ceiling_facts
from lab.report.messages import LANGS, Messages, messages, slug
from lab.report.numbers import count, significant
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
    environment = Environment(
        loader=PackageLoader("lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = files("lab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    html = environment.get_template("imported.html.j2").render(
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
            ((one.run_id, one.engine or t("value-not-recorded"), one.ceilings) for one in public.records), t
        ),
        bounds=[(one.run_id, imported_ceiling_facts(one.ceilings, t)) for one in public.records],
        numbers=[_numbers(one, t) for one in public.records],
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
    limits = list(unknown_lines(one.unknowns, tuple(names.values()), t))
    topics = [
        {
            "title": t(f"topic-{topic.value}"),
            "fix": t(f"betray-fix-{topic.value}"),
            "findings": [_shown(found, t) for found in refused if found.topic is topic],
        }
        for topic in Topic
        if any(found.topic is topic for found in refused)
    ]
    return {
        "headline": headline(one.findings, t),
        "runs": [(name, run_id, engines[run_id]) for run_id, name in names.items()],
        "topics": topics,
        "footnotes": [_shown(found, t) for found in one.findings if not found.refuses],
        "unknowns": [line.strip().removeprefix("- ") for line in limits[1:]],  # the first is the heading
    }


def _shown(found: Finding, t: Messages) -> tuple[str, list[str]]:
    return title(found, t), list(value_lines(found, t)) if any(found.values) else []


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
    """The lab's definition, or how the tool's differs; one without a translation stays in the tool's words."""
    if metric.differs is None:
        return t("imported-ours")
    key = f"differs-{slug(metric.name)}"
    return t(key) if t.has(key) else t("differs-untranslated", text=metric.differs)


def counted_words(counts: Counts, t: Messages) -> str:
    """What was counted; empty where nothing was."""
    found = counts.model_dump(exclude_none=True)
    return t("list-separator").join(t("count-of", name=t(f"count-{name}"), n=count(n)) for name, n in found.items())


def _said(text: str | None, t: Messages) -> Cell:
    return words(text) if text else missing(t("value-not-recorded")).model_copy(update={"number": False})
