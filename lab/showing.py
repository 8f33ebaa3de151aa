"""Runs, engines and levels as a person reads them in a terminal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lab.checks import Consequence, rule_of
from lab.conditions import WHY
from lab.engines.conformance import Conformance, checkable, read_conformance, standing
from lab.environment import Environment
from lab.errors import ParamsError, nearest
from lab.limits import RunCeilings
from lab.match import Mismatch, refusals
from lab.quality.arms import ArmComparison, Ending
from lab.quality.power import DISCORDANCES, needs
from lab.quality.suite import Suite, find_suite, load_suite
from lab.records import Capabilities, Certificate, Concern, InstrumentLevel, Lane, LevelResult, Outcome, Summary
from lab.report.ceilings import ceiling_facts, level_words
from lab.report.grid import Table as Grid
from lab.report.messages import engine_message, message, messages
from lab.report.reasons import footnote_word, mismatch_text, values_text, why_text
from lab.roster import ROSTER, Entry, find
from lab.spec import RunSpec, Workload
from lab.support import Support, SupportTable, look_up
from lab.terminal import PlainConsole

if TYPE_CHECKING:
    from lab.bench import BenchResult
    from lab.evidence import EvidenceStore
    from lab.launching import Look
    from lab.publish.weekly import Published

SUPPORT_WORDS: dict[Support, str] = {
    "supported": "supported",
    "beta": "supported as beta",
    "plugin": "supported by a plugin that is not part of the engine",
    "refused": "refused",
    "unknown": "unknown: no row of params/support.yaml speaks of it, which is not a no",
    "other-hardware": "supported, on hardware this machine does not have",
}

LANG = "en"
"""The terminal speaks English; the sentences are those of the report."""


def support_words(spec: RunSpec, table: SupportTable, machine: Environment) -> str:
    """What the support table says of one run on this machine, with its sources."""
    verdict = look_up(table, spec, machine)
    said = f"{spec.engine}: {SUPPORT_WORDS[verdict.support]}"
    return said + "".join(
        f"\n  {row.source}, read {row.read}{f'; {row.note}' if row.note else ''}" for row in verdict.rows
    )


CHECKED = {
    "real": "real: a real program was driven through the lab",
    "parser": "parser: its commands were checked against the engine's own option list",
    "imitation": "imitation: tried on a server written from the same facts",
    None: "none: no test has checked it",
}
"""Levels of `lab.engines.conformance` in words."""


def describe_roster(out: Console) -> None:
    """On the table, off it with reasons, gateways, and how far each is checked."""
    out.print("On the table (the four columns of every comparison):")
    for entry in _seated("on"):
        out.print(f"  {entry.title:<26}{engine_message(LANG, entry.key, 'traits')}", soft_wrap=True)
    out.print('\nOff the table, which is not "worse": another match.')
    for entry in _seated("off"):
        out.print(f"  {entry.title:<26}{engine_message(LANG, entry.key, 'reason')}", soft_wrap=True)
    out.print("\nGateways and platforms: attached by URL, the engine behind has to be named.")
    out.print("  " + ", ".join(entry.title for entry in _seated("gateway")))
    out.print("\nHow far each adapter is checked, written by the tests that passed:")
    record = read_conformance()
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for key in checkable():
        table.add_row(key, _checked(key, record))
    _wide(out).print(table)
    out.print("\nlab engines NAME says more about one of them.")


def describe_engine(name: str, out: Console) -> None:
    """One engine; for a name nobody has listed, the client's question."""
    entry = find(name)
    if entry is None or entry.seat == "synthetic":
        near = nearest(name.lower(), [known for listed in ROSTER for known in (listed.key, *listed.aliases)])
        hint = f" Did you mean {near}?" if near else ""
        out.print(f"{escape(name)} is not listed.{hint} {message(LANG, 'engine-unlisted-question')}", soft_wrap=True)
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
    for key in checkable():
        if find(key) == entry:
            out.print(f"  {'checked':<8}{_checked(key, read_conformance())}", soft_wrap=True)


def describe_launch(look: Look, out: Console) -> None:
    """The exact command, then condition by condition what sets it and why it has to be equal."""
    spec, planned, launch = look.planned.spec, look.planned, look.launch
    out.print(f"[bold]{spec.engine}[/], profile {spec.profile.name}, {planned.group.table}")
    for step in look.build:
        out.print(Text(f"{step.name}: {shell_words(step.shown)}"), soft_wrap=True)
    variables = [f"{name}={value}" for name, value in launch.env.items()]
    out.print(Text(shell_words((*variables, *launch.shown))), soft_wrap=True)
    for name, text in launch.files.items():
        out.print(Text(f"{name}:\n{text.rstrip()}"), soft_wrap=True)
    table = Table("condition", "wanted", "how", "by", "why it has to be equal", box=None, header_style="bold")
    for setting in launch.settings:
        wanted = setting.wanted
        value = "left to the engine" if wanted is None else str(wanted).lower() if isinstance(wanted, bool) else wanted
        by = " ".join(setting.words)
        note = f"{by}; {setting.note}" if by and setting.note else by or setting.note or ""
        table.add_row(setting.condition, str(value), setting.how, Text(note), WHY[setting.condition])
    _wide(out).print(table)


def describe_power(
    out: Console,
    suite: str | None,
    items: int | None,
    discordances: tuple[float, ...],
    margin: float,
    power: float,
    alpha: float,
) -> None:
    """What a question needs, and what a suite or a number of items can show.

    Raises:
        ParamsError: a value outside its range, both a suite and a number of items, or a suite nobody knows.
        QualityError: the suite cannot be read.
    """
    if suite is not None and items is not None:
        raise ParamsError("--suite and --items both say how many items there are; give one of them")
    at_hand = {} if items is None else {"at hand": items}
    if suite is not None:
        at_hand = {task.name: len(task.items) for task in load_suite(find_suite(suite)).tasks}
        at_hand["whole suite"] = sum(at_hand.values())
    shares = discordances or DISCORDANCES
    found = {name: needs(shares, margin, n, power, alpha) for name, n in at_hand.items()}
    asked = Table("items that change", box=None, padding=(0, 2, 0, 0))
    for title in (f"to see {_points(margin)}", f"to rule out a loss of {_points(margin)}"):
        asked.add_column(title, justify="right")
    for need in needs(shares, margin, None, power, alpha):
        see = "cannot be" if need.to_see is None else f"{need.to_see:,} items"
        asked.add_row(f"{100 * need.discordance:g} %", see, f"{need.to_rule_out:,} items")
    out.print(asked)
    out.print(
        f"Paired on the same items, power {100 * power:g} %, alpha {alpha:g} two-sided. Items that change score "
        "differently on the two sides; a difference is at most their share.",
        soft_wrap=True,
    )
    if not at_hand:
        return
    shown = Table("", "items", box=None, padding=(0, 2, 0, 0))
    for share in shares:
        shown.add_column(f"visible at {100 * share:g} %", justify="right")
    for name, n in at_hand.items():
        visible = (need.visible for need in found[name])
        shown.add_row(name, f"{n:,}", *("nothing" if one is None else _points(one) for one in visible))
    out.print()
    _wide(out).print(shown)
    out.print(
        "Smallest difference that is seen. One larger than the share of its column takes more changed items than that: "
        "at that share nothing is seen.",
        soft_wrap=True,
    )


def _points(share: float) -> str:
    number = f"{100 * share:.3g}"
    return f"{number} point" if number == "1" else f"{number} points"


def describe_run(store: EvidenceStore, run_id: str, out: Console) -> None:
    """One bundle: what was meant, what happened, what it gave."""
    record = store.read(run_id)
    spec, status = record.spec, record.status
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))

    def fact(name: str, words: str) -> None:
        facts.add_row(name, Text(words))  # taken literally: values may hold brackets

    fact("run_id", f"{run_id}  ({store.path(run_id)})")
    fact("state", f"{status.state}" + (f": {status.reason}" if status.reason else f", step {status.step}"))
    if status.clock_note:
        fact("clock", status.clock_note)
    if status.replaces:
        fact("replaces", status.replaces)
    fact("spec", f"{spec.spec_digest}, match {status.match_id}, plan {status.plan}")
    fact(
        "engine",
        f"{spec.engine} / {spec.profile.name}"
        + (f", {record.launch.engine_version or 'version not stated'}" if record.launch else "")
        + (f", through {spec.gateway}" if spec.gateway else "")
        + (f", {spec.behind} inside" if spec.behind else ""),
    )
    fact("model", f"{spec.model.series} ({spec.model.revision}), {spec.quantization.weights}")
    w = spec.workload
    fact(
        "workload",
        f"{w.name}: {w.input_tokens or w.content} in, {w.output_tokens} out, {ladder_words(w)}",
    )
    if record.launch:
        fact("command", shell_words(record.launch.command))
        for warning in record.launch.warnings:
            fact("mind", warning)
    if record.preparation:
        p = record.preparation
        build = "no build step" if p.build_s is None else f"build {p.build_s:.2f} s"
        start = "start not seen" if p.startup_s is None else f"start {p.startup_s:.2f} s"
        fact(
            "preparation",
            f"{build}, {start}, first request {p.first_request_s:.3f} s, cache {p.cache_state}",
        )
    out.print(facts)
    if record.launch:
        _wide(out).print(_preflight(record.launch.capabilities))
    if record.not_supported:
        out.print(f"throughput: not supported here: this engine did not pass {record.not_supported}; no load was sent")
    if record.levels:
        _wide(out).print(_levels(record.levels))
    for task in record.quality.tasks if record.quality else ():
        reasons = ", ".join(f"{count} {reason}" for reason, count in task.unscored.items()) or "none"
        error = "" if task.stderr is None else f" ± {task.stderr:.3f} (standard error)"
        score = "no score" if task.score is None else f"{task.metric} {task.score:.3f}{error}"
        if task.answered_score is not None and task.unscored:
            score += f", {task.answered_score:.3f} over the {task.scored} scored"
        words = f"quality {task.task}: {score}, n {task.n}, coverage {task.coverage:.1%}, unscored: {reasons}"
        out.print(escape(f"{words}; {task.reason}" if task.reason else words), soft_wrap=True)
    if record.arms is not None:
        _wide(out).print(_arms(record.arms))
        out.print(_arms_words(record.arms), soft_wrap=True)
    if record.quality and record.quality.incomplete:
        out.print(f"quality is incomplete: {record.quality.incomplete}", soft_wrap=True)
    for level in record.levels:
        for concern in level.concerns:
            out.print(f"{_rung(level)}: {_concern(concern)}", soft_wrap=True)
    for level, prompts in zip(record.levels, record.prompts, strict=False):
        for count, words in (
            (prompts.inexact, "are not of the asked length"),
            (prompts.uncounted, "could not be counted"),
            (prompts.repeated, "were sent before in this run"),
        ):
            if count:
                out.print(f"{_rung(level)}: {count} prompts {words}", soft_wrap=True)
    if record.ceilings is not None:
        _describe_ceilings(record.ceilings, record.levels, out)
    if record.instrument:
        _wide(out).print(_instrument(record.instrument))
    if record.certificate:
        held = record.certificate.valid_streams
        out.print(
            f"certificate {record.certificate.certificate_id}: the instrument holds {held} streams on this machine"
        )
    elif record.levels:
        out.print("no certificate: the instrument was not calibrated on this machine (lab calibrate)")


def _describe_ceilings(ceilings: RunCeilings, levels: tuple[LevelResult, ...], out: Console) -> None:
    """The ceiling of each level beside what was reached, and whether the counts add up."""
    t = messages(LANG)
    for title, text, _ in ceiling_facts(ceilings, t):
        out.print(Text(f"{title}: {text}"), soft_wrap=True)
    if not ceilings.levels:
        return
    table = Table(t("load-title"), *map(t, ("ceiling-stream", "ceiling-output", "ceiling-prefill")), box=None)
    for level, one in zip(levels, ceilings.levels, strict=True):
        table.add_row(_rung(level), *(Text("; ".join(words)) for words in level_words(one, t)))
    _wide(out).print(table)


def describe_match(found: tuple[Mismatch, ...], run_ids: tuple[str, ...], out: Console, lang: str = LANG) -> None:
    """Whether runs may stand side by side, and every reason in the order in which to fix it."""
    refused = refusals(found)
    one = len(run_ids) == 1
    if lang != LANG:
        t = messages(lang)
        topics = len({mismatch.topic for mismatch in refused})
        out.print(t("betray-head", reasons=len(refused), topics=topics) if refused else t("comparable"), soft_wrap=True)
        for mismatch in found:
            about = t(f"topic-{mismatch.topic.value}")
            note = "" if mismatch.refuses else f"{footnote_word(t)} "
            whose = "" if mismatch.run_ids == run_ids else f"  {', '.join(mismatch.run_ids)}"
            line = t("mismatch-line", what=about, why=mismatch_text(mismatch, t))
            out.print(Text(f"   {note}{line}{whose}"), soft_wrap=True)
        return
    if not refused:
        out.print(
            "comparable: nothing stands against it" if one else f"comparable: these {len(run_ids)} runs are one match"
        )
    else:
        what = "this run may not stand beside another" if one else "these runs may not stand side by side"
        out.print(f"not comparable: {what}, {len(refused)} reason(s), in the order in which to fix them")
    table = Table("about", "what", "why", "values", "runs", box=None, header_style="bold")
    for mismatch in found:
        values, why = values_text(mismatch, messages(LANG)), why_text(mismatch, messages(LANG))
        runs = "all" if mismatch.run_ids == run_ids and not one else ", ".join(mismatch.run_ids)
        kind = "" if mismatch.refuses else "footnote: "
        table.add_row(message(LANG, f"topic-{mismatch.topic}"), mismatch.field, Text(kind + why), Text(values), runs)
    if found:
        _wide(out).print(table)


def describe_grid(grid: Grid, out: Console) -> None:
    """A table of a page, for a terminal."""
    shown = Table(title=grid.caption, title_justify="left", show_lines=True)
    for column in grid.columns:
        shown.add_column(column.title, overflow="fold")
    for row in grid.rows:
        shown.add_row(*(Text("\n".join(line.text for line in cell.lines)) for cell in row.cells))
    _wide(out).print(shown)


def describe_certificate(certificate: Certificate, out: Console) -> None:
    """What the instrument was shown to hold."""
    limits = certificate.limits
    machine = certificate.machine
    out.print(
        f"certificate {certificate.certificate_id}, {machine.cpu_cores} cores, {machine.memory_gib} GiB, "
        f"{machine.system} {machine.machine}, lab {certificate.lab_version}, "
        f"{certificate.workers} load process(es)"
    )
    _wide(out).print(_instrument(certificate.levels))
    out.print(
        f"held up to {certificate.valid_streams} streams: "
        f"mean TTFT error within {limits.ttft_error_mean_s * 1000:g} ms, "
        f"99 % of chunks stamped within {limits.chunk_lag_p99_s * 1000:g} ms",
        soft_wrap=True,
    )


def describe_bench(result: BenchResult, out: Console) -> None:
    """What `lab bench` saw."""
    _wide(out).print(_levels(result.levels))
    counted = {"server": "by the server's tokenizer", "tokenizer": "by the tokenizer file"}
    how = counted.get(result.counted_by, "as one word, one token (no tokenizer to ask)")
    for level in result.levels:
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in level.outcomes.items())
        out.print(
            f"{_rung(level)}: {outcomes}; the server counts {_count(level.prompt_tokens)} in, "
            f"{_count(level.completion_tokens)} out",
            soft_wrap=True,
        )
        for concern in level.concerns:
            out.print(f"  {_concern(concern)}", soft_wrap=True)
    inexact = f"; {result.inexact} could not be made exact" if result.inexact else ""
    out.print(f"prompt length counted {how}{inexact}", soft_wrap=True)
    if result.first_error:
        out.print(f"most common failure: {escape(result.first_error)}", soft_wrap=True)
    if not result.complete:
        out.print("interrupted: these are the requests that had been started", soft_wrap=True)


def suite_words(suite: Suite | None) -> str:
    """How large a quality suite is, and what it needs of an engine."""
    if suite is None:
        return "not applicable: seeded text"
    items = sum(len(task.items) for task in suite.tasks)
    tokens = sum(len(task.items) * (task.config.max_tokens or 1) for task in suite.tasks)
    size = f"{items} items of {len(suite.tasks)} tasks, {suite.requests} requests one at a time"
    lines = [
        f"{suite.name} {suite.version}: {size}, answers of {tokens:,} tokens at most",
        f"needs a context of {suite.needs_context} tokens",
    ]
    echo = [task.name for task in suite.tasks if task.config.lane is Lane.TOKENS]
    if echo:
        lines.append(f"needs echo of the engine, else not supported there: {', '.join(echo)}")
    return "\n".join(lines)


def ladder_words(workload: Workload) -> str:
    """The ladder of a workload in words."""
    if workload.arrival == "closed":
        return f"at concurrency {', '.join(map(str, workload.concurrency))}"
    rates = ", ".join(f"{rate:g}" for rate in workload.rate_rps)
    return f"at {rates} requests a second ({workload.arrival})"


def shell_words(command: tuple[str, ...]) -> str:
    """A command as one would type it; placeholders in angle brackets stay readable."""
    return " ".join(f"'{word}'" if " " in word else word for word in command)


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).lower()


def _wide(out: Console) -> Console:
    """The same output, wide enough for a table of numbers: a terminal may wrap it, nothing is cut off."""
    return PlainConsole(file=out.file, width=max(out.width, 150), highlight=False)


def _preflight(capabilities: Capabilities) -> Table:
    table = Table("preflight", "", "what was seen", box=None, header_style="bold")
    for check in capabilities.checks:
        rule = rule_of(check.name)
        follows = rule is not None and rule.consequence is Consequence.EQUALITY and check.result == "fail"
        table.add_row(check.name, check.result + (", not comparable" if follows else ""), Text(check.detail))
    return table


def _instrument(levels: tuple[InstrumentLevel, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    titles = (
        "level",
        "chunks",
        "TTFT true",
        "transit",
        "error mean",
        "p99",
        "lag p50 / p99",
        "schedule p99",
        "loop p99",
        "CPU/chunk",
        "server late p99",
    )
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for level in levels:
        cpu = level.client_cpu_s_per_chunk
        table.add_row(
            _rung(level),
            str(level.chunks),
            _ms(level.ttft_true_s.mean),
            _ms(level.request_transit_s.mean),
            _ms(level.ttft_error_s.mean),
            _ms(level.ttft_error_s.p99),
            _quantiles(level.chunk_lag_s),
            _ms(level.schedule_error_s.p99),
            _ms(level.loop_lag_s.p99),
            "—" if cpu is None else f"{cpu * 1e6:.1f} µs",
            _ms(level.server_late_s.p99),
        )
    return table


def _levels(levels: tuple[LevelResult, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    titles = ["level", "ok/asked", "out tok/s", "req/s", "TTFT ms", "TPOT ms", "gap ms", "e2e ms"]
    goodput = any(level.scalars["goodput_rps"] is not None for level in levels)
    for title in titles + ["good/s"] * goodput:
        table.add_column(title, justify="right", no_wrap=True)
    for level in levels:
        good = level.outcomes.get(Outcome.SUCCESS, 0)
        table.add_row(
            _rung(level),
            f"{good}/{level.requests}",
            _rate(level.scalars["output_tok_per_s"]),
            _rate(level.scalars["request_rps"]),
            *(_quantiles(level.metrics[name]) for name in ("ttft_s", "tpot_s", "chunk_gap_s", "e2e_latency_s")),
            *([_rate(level.scalars["goodput_rps"])] * goodput),
        )
    table.caption = "latencies: p50 / p99 of the successes; rates over the steady window"
    return table


def _arms(found: ArmComparison) -> Table:
    endings = tuple(Ending)
    table = Table("what a constraint adds", box=None, padding=(0, 2, 0, 0))
    for title in (*endings, "right fields"):
        table.add_column(title, justify="right")
    for arm in (found.free, found.constrained, found.free_again):
        counts = (str(arm.endings.get(ending, 0)) for ending in endings)
        table.add_row(arm.task, *counts, f"{arm.field_accuracy:.3f}")
    return table


def _arms_words(found: ArmComparison) -> str:
    added = "no time is compared"
    if found.added_latency_s is not None:
        added = f"{found.added_latency_s * 1000:+.0f} ms an answer (median of {found.timed})"
        if found.added_s_per_token is not None:
            added += f", {found.added_s_per_token * 1000:+.2f} ms a token"
    return (
        f"more right fields in {len(found.gained)} items, fewer in {len(found.lost)}; "
        f"free answers differ in {found.repeats_differ}; {added}"
    )


def _rung(level: LevelResult | InstrumentLevel) -> str:
    return f"{level.concurrency} in flight" if level.rate_rps is None else f"{level.rate_rps:g} req/s"


def _concern(concern: Concern) -> str:
    value = "" if concern.value is None else f" {concern.value:.3g}"
    limit = "" if concern.limit is None else f" (limit {concern.limit:g})"
    return f"{'invalid' if concern.invalidates else 'care'}: {concern.code}{value}{limit}"


def _checked(key: str, record: Conformance) -> str:
    stands = standing(key, record)
    when = (
        f" ({stands.date}{', not checked since the adapter changed' if stands.changed else ''})" if stands.date else ""
    )
    return CHECKED[stands.level] + when


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


def describe_edition(done: Published, folder: Path, dry_run: bool, out: Console) -> None:
    """What one call of `lab publish` did, what changed, and where a withdrawn run still stands."""
    from lab.params import shown
    from lab.publish.archive import path_of
    from lab.report.weekly import changes_words, correction_words

    t, edition = messages(LANG), done.edition
    at = shown(folder / path_of(edition.name))
    if not done.fresh:
        out.print(f"{at} stands: the same inputs make no new revision", soft_wrap=True)
    else:
        out.print(f"{at}: {'would be published, nothing was written' if dry_run else 'published'}", soft_wrap=True)
        for sentence in correction_words(edition, t):
            out.print(escape(f"  correction: {sentence}"), soft_wrap=True)
        for sentence in changes_words(edition, t):
            out.print(escape(f"  {sentence}"), soft_wrap=True)
    states = Counter(cell.state for match in edition.matches for cell in match.cells)
    counted = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
    out.print(f"cells: {counted or 'none'}", soft_wrap=True)
    for name in done.stale:
        out.print(
            f"{shown(folder / path_of(name))} still holds a run withdrawn since. Next: lab publish --week {name.week}",
            soft_wrap=True,
        )
