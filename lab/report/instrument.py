"""The instrument itself: the certificates the runs stand on, and the instrument checks of this edition."""

from __future__ import annotations

from lab.publish.evidence import PublicRun
from lab.records import Certificate, InstrumentLevel, Summary
from lab.report.cells import Anchors, Form, Runs, link, run_cell, table
from lab.report.columns import hardware
from lab.report.grid import Cell, Row, Table, Text, missing, number
from lab.report.loads import load_cell, load_of
from lab.report.messages import Messages
from lab.report.numbers import count, microseconds, milliseconds, signed_milliseconds, significant


def standing_table(runs: Runs, t: Messages) -> Table:
    """Which certificate each run stands on; runs without one have a row that says so."""
    rows = []
    for certificate in certificates(runs):
        limits, name = certificate.limits, certificate.certificate_id
        found = (run for run in runs if run.certificate is not None and run.certificate.certificate_id == name)
        rows.append(
            Row(
                cells=(
                    Cell(lines=(Text(text=name, href=_anchor(certificate)),)),
                    Cell(lines=(Text(text=_valid(certificate, t)),)),
                    Cell(
                        lines=(
                            Text(text=t("bound-ttft-error", ms=milliseconds(limits.ttft_error_mean_s))),
                            Text(text=t("bound-chunk-lag", ms=milliseconds(limits.chunk_lag_p99_s))),
                        )
                    ),
                    Cell(
                        lines=(
                            Text(text=certificate.week),
                            Text(text=hardware(certificate.machine, t), style="note"),
                            Text(text=t("certificate-lab", version=certificate.lab_version), style="note"),
                            Text(text=t("certificate-workers", n=certificate.workers), style="note"),
                        )
                    ),
                    Cell(lines=tuple(link(run) for run in found)),
                )
            )
        )
    bare = tuple(run for run in runs if run.certificate is None)
    if bare:
        none = Text(text=t("certificate-none"), style="missing")
        cells = (Cell(lines=(Text(text="—", style="missing"),)), Cell(lines=(none,), colspan=3))
        rows.append(Row(cells=(*cells, Cell(lines=tuple(link(run) for run in bare)))))
    keys = ("certificate", "certificate-valid", "certificate-limits", "certificate-made", "certificate-runs")
    return table("standing-table", t("standing-caption"), map(t, keys), rows, empty=t("runs-none"))


def certificate_tables(runs: Runs, t: Messages) -> tuple[Table, ...]:
    """The levels of each distinct certificate."""
    tables = []
    for certificate in certificates(runs):
        opened = any(level.concurrency is None for level in certificate.levels)
        rows = [Row(cells=(_beyond(level, certificate, t), *_cells(level, t, opened))) for level in certificate.levels]
        caption = t("certificate-caption", id=certificate.certificate_id)
        titles = (t("load-title"), *_titles(t, opened))
        tables.append(
            table(_anchor(certificate), caption, titles, rows, range(len(titles)), empty=t("certificate-empty"))
        )
    return tuple(tables)


def instrument_table(runs: Runs, t: Messages, anchor: Anchors) -> Table:
    """What the instrument checks of this edition measured against a server that knows its own timing."""
    opened = any(level.concurrency is None for run in runs for level in run.instrument)
    rows = [
        Row(
            id=anchor(run),
            cells=(
                run_cell(run, t),
                load_cell(load_of(level, run.workload.arrival), t),
                *_cells(level, t, opened),
            ),
        )
        for run in runs
        for level in run.instrument
    ]
    titles = (t("run"), t("load-title"), *_titles(t, opened))
    empty = t("instrument-none")
    numbers = range(1, len(titles))
    return table("instrument-table", t("instrument-caption"), titles, rows, numbers, empty=empty)


def certificates(runs: Runs) -> tuple[Certificate, ...]:
    """The distinct certificates behind the runs, by their id."""
    found = {run.certificate.certificate_id: run.certificate for run in runs if run.certificate is not None}
    return tuple(found[name] for name in sorted(found))


def certificate_text(run: PublicRun, t: Messages) -> str:
    """The certificate of one run in one line."""
    one = run.certificate
    return t("certificate-none") if one is None else f"{one.certificate_id} · {_valid(one, t)}"


def _anchor(certificate: Certificate) -> str:
    return f"certificate-{certificate.certificate_id}"


def _valid(certificate: Certificate, t: Messages) -> str:
    streams = certificate.valid_streams
    return t("certificate-streams", n=count(streams)) if streams else t("certificate-no-streams")


def _beyond(level: InstrumentLevel, certificate: Certificate, t: Messages) -> Cell:
    cell = load_cell(load_of(level), t)
    if level.concurrency is None or level.concurrency <= certificate.valid_streams:
        return cell
    return Cell(lines=(*cell.lines, Text(text=t("certificate-beyond"), style="note")), number=True)


def _titles(t: Messages, opened: bool) -> tuple[str, ...]:
    keys = ["matched", "ttft-true", "ttft-error", "chunk-lag", "gap-error", "loop-lag", "client-cost", "server-late"]
    return tuple(map(t, [*keys[:5], "schedule-error", *keys[5:]] if opened else keys))


def _cells(level: InstrumentLevel, t: Messages, opened: bool) -> tuple[Cell, ...]:
    """What was measured on one level; without an open loop in the table nothing was to be sent at a stated moment."""
    cpu, rss = level.client_cpu_s_per_chunk, level.client_rss_mib
    closed = level.concurrency is not None
    late = _values(level.schedule_error_s, ("p99",), signed_milliseconds, t, t("schedule-none") if closed else None)
    unread = missing(t("client-unread"))
    return (
        number(count(level.requests), t("matched-chunks", n=count(level.chunks))),
        _truth(level, t),
        _values(level.ttft_error_s, ("mean", "p50", "p99", "max"), signed_milliseconds, t),
        _values(level.chunk_lag_s, ("p50", "p99"), milliseconds, t),
        _values(level.gap_error_s, ("p99",), signed_milliseconds, t),
        *((late,) if opened else ()),
        _values(level.loop_lag_s, ("p99",), milliseconds, t),
        unread if cpu is None or rss is None else number(f"{microseconds(cpu)} µs", f"{significant(rss)} MiB"),
        _values(level.server_late_s, ("p50", "p99", "max"), milliseconds, t),
    )


def _truth(level: InstrumentLevel, t: Messages) -> Cell:
    """The true TTFT, and how much of it went by before the server had read the request."""
    cell, transit = _values(level.ttft_true_s, ("mean",), milliseconds, t), level.request_transit_s.mean
    if transit is None:
        return cell
    return Cell(lines=(*cell.lines, Text(text=t("transit-note", ms=milliseconds(transit)), style="note")), number=True)


def _values(summary: Summary, wanted: tuple[str, ...], form: Form, t: Messages, reason: str | None = None) -> Cell:
    """Values of one summary, line by line, each named."""
    values = [(name, getattr(summary, name)) for name in wanted]
    if any(value is None for _, value in values):
        return missing(reason or t("missing"))
    named = {"mean": t("summary-mean"), "max": t("summary-max")}
    return Cell(lines=tuple(Text(text=f"{named.get(name, name)} {form(value)}") for name, value in values), number=True)
