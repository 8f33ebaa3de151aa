"""Public evidence in, finished pages out: the same evidence gives the same bytes.

Nothing is read but the package's own templates, messages and typeface; there is no clock, and nothing is
written. Whoever publishes the pages takes them through the leak gate.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from markupsafe import Markup

from lab.explain.flips import Explanation
from lab.explain.hypotheses import Judged
from lab.match import refusals
from lab.metrics.counted import Counted
from lab.publish.evidence import PublicContrast, PublicRun
from lab.records import EvidenceGrade
from lab.report import ceilings, columns, ladders, quality, tables
from lab.report import instrument as gauge
from lab.report.cells import Anchors, stands
from lab.report.charts import figures
from lab.report.checklist import answers, compared
from lab.report.engine_cards import engine_cards
from lab.report.grid import Table
from lab.report.hypotheses import hypotheses_table, measured, unmeasured
from lab.report.messages import LANGS, Messages, messages
from lab.report.numbers import count, milliseconds, significant, week
from lab.report.path import Answer, sections
from lab.report.path_drawing import path_drawing
from lab.report.payback import payback_table
from lab.report.reasons import Reasons, checks_table, conditions_table, reasons_of
from lab.report.series import in_order, series_label
from lab.report.templating import template
from lab.report.told import UNTOLD, Told
from lab.report.typeface import face_css
from lab.roster import ON_TABLE, find
from lab.spec import digest

Runs = tuple[PublicRun, ...]
Contrasts = tuple[PublicContrast, ...]
Explanations = tuple[Explanation, ...]
Judgements = tuple[Judged, ...]

TERMS = (
    "engine",
    "kv-cache",
    "prefill",
    "decode",
    "batching",
    "tok-s",
    "ttft",
    "tpot",
    "chunk-gap",
    "closed-loop",
    "open-loop",
    "intended-send",
    "schedule-lag",
    "steady-window",
    "slo",
    "goodput",
    "ceiling",
    "structured-output",
    "certificate",
    "chunk-lag",
    "gap-error",
    "loop-lag",
    "server-late",
    "path",
    "flip",
    "visible",
    "margin",
    "decision-path",
    "gate",
    "undecided",
    "break-even",
    "run-id",
    "claim",
    "observation",
    "harness-check",
    "real-gpu",
)
"""The glossary: the client's six words first."""

LIMITS = ("four", "vendor", "conditions", "loads", "instrument", "form", "causes", "choice")
"""What the page does not show, in the order in which it says so."""

SECTIONS = (
    "checklist",
    "comparison",
    "decision-path",
    "decision-flips",
    "engines",
    "preparation",
    "pipeline",
    "throughput",
    "charts",
    "off-table",
    "quality",
    "contrasts",
    "hypotheses",
    "instrument",
    "evidence",
    "glossary",
    "limits",
    "history",
)
"""The sections after the first screen, in their order."""

FIRST_CAVEATS = 3
"""As many caveats as the first screen prints; the others stand with what the page does not show."""


def build_pages(
    runs: Runs,
    langs: tuple[str, ...] = LANGS,
    contrasts: Contrasts = (),
    explanations: Explanations = (),
    told: dict[str, Told] | None = None,
    judged: Judgements = (),
) -> dict[str, bytes]:
    """One self-contained page per language.

    Args:
        runs: public evidence, in any order; none at all gives pages that say so.
        langs: languages to build, each with a catalogue.
        contrasts: pairs of these runs whose answers stand side by side, in any order.
        explanations: the path of each workload the team has stated facts of; none gives a page that says so.
        told: what the page of a language is told beside its evidence.
        judged: what these runs say of the texts' claims; none gives pages without that section.

    Returns:
        Path of each page relative to its edition, for instance `en/index.html`, and its bytes.
    """
    ordered = in_order(runs)
    beside = quality.in_printed_order(contrasts, ordered)
    return {
        f"{lang}/index.html": _page(
            ordered, beside, explanations, judged, (told or {}).get(lang, UNTOLD), messages(lang), langs
        )
        for lang in langs
    }


def _page(
    runs: Runs,
    contrasts: Contrasts,
    explanations: Explanations,
    judged: Judgements,
    told: Told,
    t: Messages,
    langs: tuple[str, ...],
) -> bytes:
    html = template("page.html.j2").render(_context(runs, contrasts, explanations, judged, told, t, langs))
    return html.replace("/*typeface*/", face_css(html), 1).encode()


def _context(
    runs: Runs,
    contrasts: Contrasts,
    explanations: Explanations,
    judged: Judgements,
    told: Told,
    t: Messages,
    langs: tuple[str, ...],
) -> dict[str, Any]:
    matched = compared(runs)
    checked = tuple(run for run in matched if run.table == "pipeline-check")
    instrument = tuple(run for run in runs if run.instrument)
    anchor = Anchors()
    reasons = reasons_of(matched)
    in_columns = [run for run in matched if run.table == "comparison" and find(run.engine) in tables.four_columns(runs)]
    comparing = tuple(run for run in in_columns if not refusals(reasons[run.run_id]))
    caveats = caveats_of(runs, reasons, t)
    paths = sections(explanations, t)
    css = files("lab.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
    return {
        "t": t,
        "languages": [messages(lang) for lang in langs],
        "css": Markup(css),  # noqa: S704 - the package's own file
        "sections": [name for name in SECTIONS if name != "hypotheses" or measured(judged)],
        "told": told,
        "weeks": [week(name, t) for name in sorted({run.week for run in runs})],
        "grades": [grade.value for grade in EvidenceGrade if any(run.grade is grade for run in runs)],
        "answers": [path.answer for path in paths] or [Answer(lead="", rest=unwalked(runs, t))],
        "paths": paths,
        "path_drawings": [path_drawing(one.path, place, t) for place, one in enumerate(explanations, 1)],
        "caveats": caveats[:FIRST_CAVEATS],
        "more_caveats": caveats[FIRST_CAVEATS:],
        "preparation_note": _preparation_note(matched, t),
        "engine_cards": engine_cards(runs, reasons, t),
        "columns": columns.fixed_columns(runs, t),
        "equal": columns.equal_fields(checked, t) if checked else None,
        "tables": {
            "checklist": tables.checklist_table(answers(runs), t),
            "comparison": stands(tables.comparison_table(runs, reasons, t), comparing),
            "traits": tables.traits_table(t),
            "patterns": tables.patterns_table(t),
            "pipeline": tables.pipeline_table(checked, reasons, t, anchor),
            "payback": stands(payback_table(matched, reasons, t), matched),
            "preparation": stands(tables.preparation_table(matched, t, anchor), matched),
            "throughput": stands(ladders.throughput_table(matched, t), matched),
            "ceilings": _stands_if_any(ceilings.ceilings_table(matched, t), matched),
            "latency": stands(ladders.latency_table(matched, t), matched),
            "intended": _stands_if_any(ladders.intended_table(matched, t), matched),
            "structured": _stands_if_any(ladders.structured_table(matched, t), matched),
            "quality": stands(tables.quality_table(matched, t), matched),
            "arms": _stands_if_any(quality.arms_table(matched, t), matched),
            "contrasts": stands(quality.contrasts_table(contrasts, runs, t), _beside(contrasts, runs)),
            "hypotheses": hypotheses_table(measured(judged), t) if measured(judged) else None,
            "standing": gauge.standing_table(runs, t),
            "certificates": gauge.certificate_tables(runs, t),
            "instrument": gauge.instrument_table(instrument, t, anchor),
            "off": tables.off_table("off", t),
            "gateways": tables.off_table("gateway", t),
        },
        "figures": figures(matched, contrasts, t),
        "terms": TERMS,
        "limits": LIMITS,
        "cards": [_card(run, t) for run in runs],
        "has_contrasts": bool(contrasts),
        "untested": unmeasured(judged),
        "digest": digest([one.model_dump(mode="json") for one in (*runs, *contrasts, *explanations)]),
        "lab_versions": sorted({run.lab_version for run in runs}),
    }


def unwalked(runs: Runs, t: Messages) -> str:
    """The answer where no path was walked: what is there and what is not; nothing is chosen."""
    if not runs:
        return t("answer-empty")
    present = {find(run.engine) for run in runs if _on_table(run)}
    measured = ", ".join(entry.title for entry in ON_TABLE if entry in present)
    absent = ", ".join(entry.title for entry in ON_TABLE if entry not in present)
    if not measured:
        return t("answer-none")
    return t("answer-some", measured=measured, missing=absent) if absent else t("answer-all", measured=measured)


def caveats_of(runs: Runs, reasons: Reasons, t: Messages) -> list[str]:
    """What to know before reading on, the weightiest first."""
    matched = compared(runs)
    if not runs:
        return [t("caveat-nothing")]
    caveats = []
    seats = {entry.seat for run in matched if (entry := find(run.engine))}
    if any(map(refusals, reasons.values())):
        caveats.append(t("caveat-not-comparable"))
    if "off" in seats:
        caveats.append(t("caveat-off-table"))
    if any(not level.valid for run in matched for level in run.levels):
        caveats.append(t("caveat-invalid"))
    specs = [run.spec_digest for run in matched]
    once = [spec for spec in specs if specs.count(spec) == 1]
    if once:
        caveats.append(t("caveat-one-launch") if len(once) == len(specs) else t("caveat-some-launches"))
    if any(run.certificate is None for run in matched):
        caveats.append(t("caveat-no-certificate"))
    return [*caveats, t("caveat-conditions")]


def _preparation_note(runs: Runs, t: Messages) -> str:
    """Whether preparation counts in the decision, as the team decided."""
    decided = {run.preparation_counts for run in runs}
    if len(decided) != 1:
        return t("preparation-apart") if decided else t("preparation-open")
    return {True: t("preparation-counted"), False: t("preparation-excluded"), None: t("preparation-open")}[
        decided.pop()
    ]


def _stands_if_any(found: Table | None, runs: Runs) -> Table | None:
    return None if found is None else stands(found, runs)


def _beside(contrasts: Contrasts, runs: Runs) -> Runs:
    named = {run_id for one in contrasts for run_id in (one.first, one.second)}
    return tuple(run for run in runs if run.run_id in named)


def _on_table(run: PublicRun) -> bool:
    entry = find(run.engine)
    return run.table == "comparison" and entry is not None and entry.seat == "on"


def _card(run: PublicRun, t: Messages) -> dict[str, Any]:
    model, asked = run.model, run.workload
    settings = [f"{name}={value}" for name, value in tables.profile_settings(run)]
    suite = t(f"quality-{run.quality_reason or 'not-measured'}")
    if run.quality is not None:
        suite = t(
            "card-suite",
            suite=run.quality.suite,
            version=run.quality.version,
            digest=run.quality.suite_sha256,
            lmeval=run.quality.lm_eval_version,
        )
    requests = t(
        "card-requests",
        n=count(asked.requests_per_level),
        bound="count" if asked.duration_s is None else "time",
        warmup=count(asked.warmup_requests),
        timeout=f"{asked.timeout_s:g}",
        seed=str(asked.seed),
        endpoint=asked.endpoint,
    )
    said = run.preparation.phases if run.preparation else ()
    phases = ", ".join(f"{phase.name} {significant(phase.seconds)} s" for phase in said)
    lead = (
        (t("card-table"), t(f"table-{run.table}"), ""),
        (t("week"), run.week, ""),
        (t("engine-version"), run.engine_version or t("state-unknown"), ""),
        (t("card-machine"), columns.hardware(run.machine, t), ""),
        (t("column-workload"), columns.workload(run, t), ""),
        (t("card-manifest"), run.manifest_sha256, "code"),
    )
    facts = (
        (t("column-gateway"), run.gateway or t("value-no-gateway"), ""),
        *(((t("card-attached"), _attached(run, t), ""),) if run.attached else ()),
        (t("column-model"), f"{model.series} {model.revision}", ""),
        (t("card-weights"), model.weights_sha256 or t("value-no-weights"), "code"),
        (t("card-weights-from"), f"{model.weights_format} / {model.tokenizer} / {model.chat_template}", ""),
        (t("column-quantization"), columns.quantization(run), ""),
        (t("column-context"), t("value-tokens", count=count(run.context_limit)), ""),
        (t("card-profile"), f"{run.profile.name}: {', '.join(settings) or t('settings-default')}", ""),
        (t("card-asked"), requests, ""),
        *(((t("card-source"), asked.source_sha256, "code"),) if asked.source_sha256 else ()),
        (t("column-sampling"), columns.sampling(run), ""),
        (t("column-preparation"), columns.decided(run.preparation_counts, t), ""),
        (t("column-quality"), suite, ""),
        *(((t("card-phases"), phases, ""),) if phases else ()),
        (t("card-support"), columns.support(run, t), ""),
        (t("card-isolation"), columns.isolation(run, t), ""),
        *(((t("card-engine-use"), columns.engine_use(run.engine_use, t), ""),) if run.engine_use else ()),
        *(((t("card-gpu-use"), columns.gpu_use(run.gpu_use, t), ""),) if run.gpu_use else ()),
        *ceilings.ceiling_facts(run.ceilings, t),
        *(((t("card-counted"), _counted(run.counted, t), ""),) if run.counted else ()),
        (t("certificate"), gauge.certificate_text(run, t), ""),
        (t("card-lab"), run.lab_version, ""),
        (t("card-spec"), run.spec_digest, "code"),
        (t("card-match"), run.match_id, "code"),
        *(((t("card-key"), run.pseudonym_key, "code"),) if run.pseudonym_key else ()),
        *_path_facts(run, t),
        (t("card-command"), " ".join(run.command) or t("card-command-none"), "code" if run.command else ""),
    )
    return {
        "run_id": run.run_id,
        "title": series_label(run),
        "grade": run.grade.value,
        "grade_reason": run.grade_reason,
        "lead": lead,
        "facts": facts,
        "tables": tuple(filter(None, (conditions_table(run, t), checks_table(run, t)))),
    }


def _counted(found: Counted, t: Messages) -> str:
    """What the load gave away: what `lab.betray` compares."""

    def said(value: float | None) -> str:
        return t("not-counted") if value is None else count(value)

    def gap(value: float | None) -> str:
        return t("not-counted") if value is None else milliseconds(value)

    ends = t("list-separator").join(f"{word} {count(n)}" for word, n in sorted(found.finish_reasons.items()))
    return t(
        "card-counted-value",
        requests=count(found.requests),
        input=said(found.input_tokens),
        cached=said(found.cached_tokens),
        output=said(found.output_tokens),
        ends=ends or t("not-counted"),
        median=gap(found.gap_p50_s),
        mean=gap(found.gap_mean_s),
    )


def _attached(run: PublicRun, t: Messages) -> str:
    """How an engine that ran already was reached, and what is taken on trust."""
    return t("value-attached-around", engine=run.behind) if run.behind else t("value-attached")


def _path_facts(run: PublicRun, t: Messages) -> tuple[tuple[str, str, str], ...]:
    """The digest of what the answers went through, and what of it nobody recorded."""
    if run.path is None:
        return ()
    open_fields = t("list-separator").join(name for name, value in run.path.fields().items() if value is None)
    found = ((t("card-path"), run.path.path_id, "code"),)
    return (*found, (t("card-path-open"), open_fields, "")) if open_fields else found
