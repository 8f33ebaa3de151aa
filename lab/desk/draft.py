"""A plan while it is being fixed: written as a params file with its open questions, read back as a run would.

Whatever is shown comes from the file, so that what was looked at is what will be run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lab.checks import CHECKS
from lab.conditions import WHY, Condition
from lab.desk.sheet import Sheet, sheet
from lab.environment import capture
from lab.errors import LabError, OpenQuestions, ParamsError
from lab.launching import Look, launches
from lab.params import PARAMS_FOLDER, QUESTION, OpenQuestion, open_questions, read_mapping, shown
from lab.plan import SHARED_PROFILES, PlannedRun, RunPlan, find_problems, load_plan
from lab.records import How
from lab.report.cells import table
from lab.report.grid import Cell, Row, Table, Text, words
from lab.report.handout import fixed_table, planned_sheet
from lab.report.messages import Messages, messages
from lab.report.reasons import field_text
from lab.roster import ROSTER
from lab.rules import RULES
from lab.scratch import write_atomically
from lab.spec import NEUTRAL_SAMPLING
from lab.support import look_up, read_support
from lab.weights import read_model

NOTEBOOK = "notebooks/10_fix_columns.ipynb"
_SIGNED = re.compile(r"# Written by notebooks/10_fix_columns\.ipynb \(([0-9a-f]{12})\)")

NEUTRAL: Mapping[str, float] = {name: int(value) for name, value in NEUTRAL_SAMPLING}
"""Sampling that changes nothing: greedy, no penalty."""

ASKED: Mapping[str, str] = {
    "model": "which model series, revision and quantization? a file of params/models/",
    "workload": "which workload? a file of params/workloads/",
    "quality": "which quality suite? a folder of params/quality/",
    "context_limit": "how many tokens may one sequence have, prompt and answer together?",
    "preparation_counts": "does preparation time (build, cold start) count in the decision? true or false, no default",
    "runs": "which engines, each with a launch profile?",
}
"""What is asked of a meeting where a column is still open."""


def choices(lang: str = "en", folder: Path = PARAMS_FOLDER) -> Sheet:
    """What can be named in a plan: models with their quantization, engines with their profiles, workloads, suites."""
    t = messages(lang)
    models = [
        (path.stem, f"{one.model.series} ({one.model.revision})", _slashes(one.quantization.model_dump().values()))
        for path in sorted((folder / "models").glob("*.yaml"))
        for one in (read_model(path.stem, folder / "models"),)
    ]
    shared = _profiles(folder / "engines" / f"{SHARED_PROFILES}.yaml")
    engines = [
        (engine, entry.title, t("list-separator").join(dict.fromkeys((*_profiles(folder / "engines" / f"{engine}.yaml"),
                                                                      *shared))))
        for entry in ROSTER
        if entry.seat in ("on", "off", "instrument")
        for engine in (entry.key, *entry.variants)
        if (folder / "engines" / f"{engine}.yaml").is_file()
    ]  # fmt: skip
    loads = [
        (path.stem, _lengths(held), _slashes(held.get("concurrency") or held.get("rate_rps") or ()))
        for path in sorted((folder / "workloads").glob("*.yaml"))
        for held in (read_mapping(path),)
    ]
    suites = [
        (path.parent.name, str(held.get("about") or "").strip(), str(held.get("version") or ""))
        for path in sorted((folder / "quality").glob("*/suite.yaml"))
        for held in (read_mapping(path),)
    ]
    found = (
        ("models", "column-model", ("desk-file", "column-model", "column-quantization"), models),
        ("engines", "column-engine", ("desk-key", "column-engine", "column-profile"), engines),
        ("workloads", "column-workload", ("desk-file", "column-workload", "load-title"), loads),
        ("suites", "column-quality", ("desk-file", "column-quality", "desk-version"), suites),
    )
    return sheet((_words(f"choices-{id}", t(title), map(t, heads), rows) for id, title, heads, rows in found), t)


def write_draft(
    save_as: str,
    *,
    model: str | None,
    runs: Sequence[str | Mapping[str, Any]],
    workload: str | Mapping[str, Any] | None,
    context_limit: int | None,
    quality: str | None,
    preparation_counts: bool | None,
    table: str = "comparison",
    repeats: int = 3,
    cache_tier: str = "as-found",
    isolation: str | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    sampling: Mapping[str, float] | None = None,
) -> Path:
    """Write the plan as a params file; a column that is None becomes a question in it.

    Args:
        save_as: the file, from the checkout's folder.
        model: a file of params/models/; it names the quantization too.
        runs: `engine/profile` each, or a mapping as a plan file has it.
        workload: a file of params/workloads/, or `use` with the fields to change.
        context_limit: most tokens of a sequence.
        quality: a folder of params/quality/.
        preparation_counts: whether preparation time counts in the decision.
        table: comparison, pipeline_check or instrument_check.
        repeats: fresh launches of every run.
        cache_tier: what every launch starts from.
        isolation: what the team declares of the machine.
        chat_template_kwargs: variables of the chat template.
        sampling: sent in every request; None: greedy, no penalty.

    Returns:
        The file.

    Raises:
        ParamsError: the file is there and a person wrote it, or it cannot be written.
    """
    path = Path(save_as).expanduser()
    path = path if path.is_absolute() else PARAMS_FOLDER.parent / path
    body: dict[str, Any] = {
        "model": model,
        "workload": dict(workload) if isinstance(workload, Mapping) else workload,
        "quality": quality,
        "context_limit": context_limit,
        "preparation_counts": preparation_counts,
        "repeats": repeats,
        "cache_tier": cache_tier,
        **({"isolation": isolation} if isolation else {}),
        **({"chat_template_kwargs": dict(chat_template_kwargs)} if chat_template_kwargs else {}),
        "sampling": dict(sampling or NEUTRAL),
        table.replace("-", "_"): {"runs": [_entry(run) for run in runs] or None},
    }
    text = "".join(_lines(body))
    _require_own(path)
    signed = f"# Written by {NOTEBOOK} ({_signature(text)}); edit it by hand and the notebook leaves it alone.\n"
    try:
        write_atomically(path, (signed + text).encode())
    except OSError as problem:
        raise ParamsError(f"{shown(path)} cannot be written: {problem.strerror}", "name another file") from None
    return path


class Draft:
    """A params file as it reads now: a plan, or the questions and refusals that stand before one.

    Args:
        path: the file.
        lang: language of what is shown.
    """

    def __init__(self, path: Path, lang: str = "en") -> None:
        self.path = path
        self.t: Messages = messages(lang)
        self.plan: RunPlan | None = None
        self.questions: tuple[OpenQuestion, ...] = ()
        self.refusal: LabError | None = None
        try:
            self.plan = load_plan(path)
        except OpenQuestions:
            self.questions = open_questions(path)
        except LabError as problem:
            self.refusal = problem

    @property
    def verdict(self) -> Sheet:
        """Whether the file is a plan; else what it asks, or why it is refused."""
        t, where = self.t, shown(self.path)
        if self.questions:
            rows = [(str(one.line), one.key, one.words) for one in self.questions]
            titles = map(t, ("desk-line", "desk-field", "desk-asked"))
            return sheet((t("desk-questions", file=where, n=len(rows)),
                          _words("questions", t("desk-open"), titles, rows)), t)  # fmt: skip
        if self.refusal is not None:
            return sheet((t("desk-refused", file=where), *_sentences(self.refusal)), t)
        assert self.plan is not None
        return sheet((t("desk-plan", file=where, runs=len(self.plan.runs), launches=self.plan.repeats),), t)

    @property
    def columns(self) -> Sheet:
        """The fixed columns of each match, and the one thing that varies."""
        parts: list[Table | str] = []
        for place, group in enumerate(self.plan.groups if self.plan else ()):
            t = self.t
            varies = t("desk-one-run")
            if group.subject:
                varies = t("engine") if group.subject == "engine" else field_text(group.subject, t)
            parts.append(t("desk-match", table=t(f"table-{group.table}"), match=group.match_id, varies=varies))
            parts.append(fixed_table(planned_sheet(group.match_id, group.specs), place, t))
        return sheet(parts or [self.t("desk-no-plan")], self.t)

    @property
    def conditions(self) -> Sheet:
        """Every condition, and what becomes of it on each engine; an engine that cannot be launched so says why."""
        parts: list[Table | str] = []
        for place, group in enumerate(self.plan.groups if self.plan else ()):
            looks = [self._look(spec.engine, spec.profile.name) for spec in group.specs]
            parts.append(_conditions_table(place, group.specs, looks, self.t))
        return sheet(parts or [self.t("desk-no-plan")], self.t)

    @property
    def support(self) -> Sheet:
        """What the support table says of each combination, and where it says so."""
        if self.plan is None:
            return sheet((self.t("desk-no-plan"),), self.t)
        known, machine, rows = read_support(), capture(), []
        for run in self._launched_once():
            found = look_up(known, run.spec, machine)
            sources = "\n".join(f"{row.source} ({row.read})" for row in found.rows)
            rows.append((_title(run.spec.engine, run.spec.profile.name), self.t(f"support-{found.support}"), sources))
        titles = map(self.t, ("run", "card-support", "desk-source"))
        return sheet((_words("support", self.t("card-support"), titles, rows),), self.t)

    @property
    def problems(self) -> Sheet:
        """What on this machine stands in the way of running it here."""
        found = find_problems(self.plan) if self.plan else ()
        if not found:
            return sheet((self.t("desk-no-problem" if self.plan else "desk-no-plan"),), self.t)
        rows = [(str(place), one.what, one.next_step or "—") for place, one in enumerate(found, 1)]
        titles = map(self.t, ("desk-number", "desk-problem", "desk-next"))
        return sheet((_words("problems", self.t("desk-problems"), titles, rows),), self.t)

    def _launched_once(self) -> Iterator[PlannedRun]:
        return (run for run in (self.plan.runs if self.plan else ()) if run.repeat == 0)

    def _look(self, engine: str, profile: str) -> Look | LabError:
        try:
            return next(look for look in launches(self.path, engine, profile) if look.planned.spec.engine == engine)
        except LabError as problem:
            return problem


def rules_sheet(lang: str = "en") -> Sheet:
    """The rules of the match, field by field, with the reason of each."""
    t = messages(lang)
    rows = [(path, t(f"desk-role-{rule.role.value}"), rule.why) for path, rule in RULES.items()]
    return sheet((_words("rules", t("desk-rules"), map(t, ("desk-field", "desk-role", "desk-why")), rows),), t)


def preflight_sheet(lang: str = "en") -> Sheet:
    """What preflight will ask of each engine before a number counts, and what follows from the answer."""
    t = messages(lang)
    rows = [
        (t(f"probe-{check.name.value}"), check.asked, check.means, t(f"consequence-{check.consequence.value}"))
        for check in CHECKS
    ]
    titles = map(t, ("probe", "desk-asked", "probe-result", "probe-consequence"))
    return sheet((_words("preflight", t("desk-preflight"), titles, rows),), t)


def _conditions_table(place: int, specs: Sequence[Any], looks: Sequence[Look | LabError], t: Messages) -> Table:
    titles = (t("condition"), *(_title(spec.engine, spec.profile.name) for spec in specs), t("desk-why"))
    settings = [
        {} if isinstance(look, LabError) else {one.condition: one for one in look.launch.settings} for look in looks
    ]
    rows = []
    refused = [look if isinstance(look, LabError) else None for look in looks]
    if any(refused):
        said = [Text(text=one.what, style="missing") if one else Text(text="—") for one in refused]
        rows.append(Row(cells=(words(t("desk-launch")), *(Cell(lines=(one,)) for one in said), words(""))))
    for condition in Condition:
        cells = []
        for found in settings:
            one = found.get(condition)
            if one is None:
                cells.append(words("—"))
                continue
            wanted = t("left-to-engine") if one.wanted is None else _value(one.wanted)
            style = "missing" if one.how in (How.NOT_EXPRESSIBLE, How.IMPOSED) else "note"
            more = [Text(text=t(f"how-{one.how.value}"), style=style)]
            more += [Text(text=" ".join(one.words), style="code")] if one.words else []
            more += [Text(text=one.note, style="note")] if one.note else []
            cells.append(Cell(lines=(Text(text=wanted), *more)))
        rows.append(Row(cells=(words(t(f"condition-{condition.value}")), *cells, words(WHY[condition]))))
    return table(f"draft-conditions-{place}", t("desk-conditions"), titles, rows, style="prose")


def _words(id: str, caption: str, titles: Any, rows: Sequence[Sequence[str]]) -> Table:
    """A table of plain words; a cell's lines are parted by line breaks."""
    drawn = [Row(cells=tuple(words(*(cell.split("\n") or [""])) for cell in row)) for row in rows]
    return table(id, caption, titles, drawn, style="prose")


def _sentences(problem: LabError) -> list[str]:
    return [*problem.what.split("\n"), *([f"→ {problem.next_step}"] if problem.next_step else [])]


def _title(engine: str, profile: str) -> str:
    return f"{engine} / {profile}"


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _slashes(values: Any) -> str:
    return " / ".join(map(str, values))


def _lengths(held: Mapping[str, Any]) -> str:
    given = held.get("input_tokens")
    return f"{given if given is not None else held.get('content', 'words')} → {held.get('output_tokens')}"


def _profiles(path: Path) -> tuple[str, ...]:
    return tuple(read_mapping(path)) if path.is_file() else ()


def _entry(run: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(run, Mapping):
        return dict(run)
    engine, _, profile = run.partition("/")
    return {"engine": engine.strip(), **({"profile": profile.strip()} if profile.strip() else {})}


def _lines(body: Mapping[str, Any]) -> Iterator[str]:
    """The file line by line; what is open is a question with its words behind it."""
    for key, value in body.items():
        if key in ASKED and value is None:
            yield f'{key}: "{QUESTION}" # {ASKED[key]}\n'
        elif isinstance(value, dict) and value.get("runs", ()) is None:
            yield f'{key}:\n  runs: "{QUESTION}" # {ASKED["runs"]}\n'
        else:
            flow = None if isinstance(value, dict) else False
            yield yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=110)


def _signature(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _require_own(path: Path) -> None:
    """Refuse a file that a person wrote or edited."""
    if not path.exists():
        return
    first, _, rest = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    signed = _SIGNED.match(first)
    if signed is None or signed.group(1) != _signature(rest):
        wrote = "was edited by hand since" if signed else "was not written by this notebook"
        raise ParamsError(f"{shown(path)} is there and {wrote}; it was left alone", "name another file in save_as")
