"""Runs, engines and levels as a person reads them in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lab.bench import BenchResult
from lab.evidence import EvidenceStore
from lab.records import LevelResult, Outcome, Summary
from lab.report.messages import engine_message, message
from lab.roster import ROSTER, Entry, find

LANG = "en"
"""The terminal speaks English; the sentences are those of the report."""


def describe_roster(out: Console) -> None:
    """On the table, off it with reasons, gateways."""
    out.print("On the table (the four columns of every comparison):")
    for entry in _seated("on"):
        out.print(f"  {entry.title:<26}{engine_message(LANG, entry.key, 'traits')}", soft_wrap=True)
    out.print('\nOff the table, which is not "worse": another match.')
    for entry in _seated("off"):
        out.print(f"  {entry.title:<26}{engine_message(LANG, entry.key, 'reason')}", soft_wrap=True)
    out.print("\nGateways and platforms: attached by URL, the engine behind has to be named.")
    out.print("  " + ", ".join(entry.title for entry in _seated("gateway")))
    out.print("\nlab engines NAME says more about one of them.")


def describe_engine(name: str, out: Console) -> None:
    """One engine; for a name nobody has listed, the client's question."""
    entry = find(name)
    if entry is None or entry.seat == "synthetic":
        out.print(f"{escape(name)} is not listed. {message(LANG, 'engine-unlisted-question')}", soft_wrap=True)
        return
    if entry.seat == "on":
        out.print(f"{entry.title}: on the table ({'build → serve' if entry.pattern == 'build-serve' else 'serve'})")
        for part in ("traits", "fits", "mind", "needs"):
            out.print(f"  {part:<8}{engine_message(LANG, entry.key, part)}", soft_wrap=True)
    elif entry.seat == "instrument":
        out.print(f"{entry.title}: a server with exactly known timing; checks the instrument, is never compared")
    else:
        seat = "off the table" if entry.seat == "off" else "in front of an engine, not an engine"
        out.print(f"{entry.title}: {seat}")
        for part in ("reason", "fact"):
            out.print(f"  {part:<8}{engine_message(LANG, entry.key, part)}", soft_wrap=True)


def describe_run(store: EvidenceStore, run_id: str, out: Console) -> None:
    """One bundle: what was meant, what happened, what it gave."""
    record = store.read(run_id)
    spec, status = record.spec, record.status
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))

    def fact(name: str, words: str) -> None:
        facts.add_row(name, Text(words))  # taken literally: values may hold brackets

    fact("run_id", f"{run_id}  ({store.path(run_id)})")
    fact("state", f"{status.state}" + (f": {status.reason}" if status.reason else f", step {status.step}"))
    if status.replaces:
        fact("replaces", status.replaces)
    fact("spec", f"{spec.spec_digest}, match {status.match_id}, plan {status.plan}")
    fact(
        "engine",
        f"{spec.engine} / {spec.profile.name}" + (f", {record.launch.engine_version}" if record.launch else ""),
    )
    fact("model", f"{spec.model.series} ({spec.model.revision}), {spec.quantization.weights}")
    w = spec.workload
    fact(
        "workload",
        f"{w.name}: {w.input_tokens} in, {w.output_tokens} out, concurrency {', '.join(map(str, w.concurrency))}",
    )
    if record.launch:
        fact("command", " ".join(record.launch.command))
        checks = ", ".join(f"{check.name} {check.result}" for check in record.launch.capabilities.checks)
        fact("preflight", checks)
    if record.preparation:
        p = record.preparation
        build = "no build step" if p.build_s is None else f"build {p.build_s:.2f} s"
        fact(
            "preparation",
            f"{build}, start {p.startup_s:.2f} s, first request {p.first_request_s:.3f} s, cache {p.cache_state}",
        )
    out.print(facts)
    if record.levels:
        out.print(_levels(record.levels))
    for task in record.quality.tasks if record.quality else ():
        reasons = ", ".join(f"{count} {reason}" for reason, count in task.unscored.items()) or "none"
        error = "" if task.stderr is None else f" ± {task.stderr:.3f} (standard error)"
        score = "no score" if task.score is None else f"{task.score:.3f}{error}"
        out.print(f"quality {task.task}: {score}, n {task.n}, unscored: {reasons}", soft_wrap=True)
    for check in record.instrument:
        out.print(
            f"instrument at {check.concurrency} streams: true TTFT {_ms(check.ttft_true_s)}, error "
            f"{_ms(check.ttft_error_s)}, chunk lag p50 {_ms(check.chunk_lag_p50_s)}, p99 {_ms(check.chunk_lag_p99_s)}",
            soft_wrap=True,
        )


def describe_level(result: BenchResult, out: Console) -> None:
    """What `lab bench` saw."""
    out.print(_levels((result.level,)))
    how = (
        "by the server's tokenizer" if result.counted_by == "server" else "as one word, one token (no tokenizer to ask)"
    )
    prompt, answer = result.level.prompt_tokens, result.level.completion_tokens
    out.print(
        f"prompt length counted {how}; the server counts {_count(prompt)} in, {_count(answer)} out", soft_wrap=True
    )
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in result.level.outcomes.items())
    out.print(f"outcomes: {outcomes or 'none'}", soft_wrap=True)
    if result.first_error:
        out.print(f"most common failure: {escape(result.first_error)}", soft_wrap=True)
    if not result.complete:
        out.print("interrupted: these are the requests that had ended", soft_wrap=True)


def _levels(levels: tuple[LevelResult, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("in flight", "ok/asked", "out tok/s", "req/s", "TTFT ms", "TPOT ms", "gap ms", "e2e ms"):
        table.add_column(title, justify="right", no_wrap=True)
    for level in levels:
        good = level.outcomes.get(Outcome.SUCCESS, 0)
        table.add_row(
            str(level.concurrency),
            f"{good}/{level.requests}",
            _rate(level.scalars["output_tok_per_s"]),
            _rate(level.scalars["request_rps"]),
            *(_quantiles(level.metrics[name]) for name in ("ttft_s", "tpot_s", "chunk_gap_s", "e2e_latency_s")),
        )
    table.caption = "latencies: p50 / p99 of the successes; rates over the steady window"
    return table


def _seated(seat: str) -> list[Entry]:
    return [entry for entry in ROSTER if entry.seat == seat]


def _quantiles(summary: Summary) -> str:
    if summary.p50 is None or summary.p99 is None:
        return "—"
    return f"{summary.p50 * 1000:.1f} / {summary.p99 * 1000:.1f}"


def _ms(seconds: float | None) -> str:
    return "—" if seconds is None else f"{seconds * 1000:.1f} ms"


def _rate(value: float | None) -> str:
    return "—" if value is None else f"{value:.1f}"


def _count(summary: Summary) -> str:
    if summary.min is None or summary.max is None:
        return "nothing"
    return f"{summary.min:g}" if summary.min == summary.max else f"{summary.min:g} to {summary.max:g}"
