"""The load of a level as a reader meets it: so many in flight, or so many a second."""

from __future__ import annotations

from typing import Literal

from lab.publish.evidence import PublicLevel, PublicRun
from lab.records import InstrumentLevel
from lab.report.grid import Cell, missing, number
from lab.report.messages import Messages
from lab.report.numbers import milliseconds, plain
from lab.spec import Frozen, Slo, Workload

Runs = tuple[PublicRun, ...]
Arrival = Literal["closed", "constant", "poisson", "trace", "rate"]
ARRIVALS: tuple[Arrival, ...] = ("closed", "constant", "poisson", "trace", "rate")
"""The printed order; `rate` is an open loop whose law the evidence does not name."""


class Load(Frozen):
    """One rung together with its arrival law; levels of the same load may stand side by side."""

    arrival: Arrival
    value: float | None
    """Requests in flight in a closed loop, else requests a second; None when the evidence has neither."""


def load_of(level: PublicLevel | InstrumentLevel, arrival: Arrival = "rate") -> Load:
    """The load of a level.

    Args:
        level: one rung.
        arrival: law of the workload it belongs to, where it is known.
    """
    if level.concurrency is not None:
        return Load(arrival="closed", value=level.concurrency)
    return Load(arrival="rate" if arrival == "closed" else arrival, value=level.rate_rps)


def levels_of(runs: Runs) -> tuple[tuple[PublicRun, PublicLevel, Load], ...]:
    """Every level of every run, in the order of the runs and of their ladders."""
    return tuple((run, level, load_of(level, run.workload.arrival)) for run in runs for level in run.levels)


def level_at(run: PublicRun, load: Load | None) -> PublicLevel | None:
    """The level of a run under this load, valid or not."""
    return next((level for level in run.levels if load_of(level, run.workload.arrival) == load), None)


def loads(runs: Runs) -> tuple[Load, ...]:
    """Every load that occurs: closed loops first, then by law; upwards within a law."""
    found = {load for _, _, load in levels_of(runs)}
    return tuple(sorted(found, key=lambda load: (ARRIVALS.index(load.arrival), load.value or 0)))


def load_text(load: Load, t: Messages) -> str:
    """`4 in flight` or `2.5 req/s, Poisson`."""
    return t("missing") if load.value is None else t("load", arrival=load.arrival, ladder=plain(load.value))


def load_cell(load: Load, t: Messages) -> Cell:
    """The load as a cell: the number, and under it what it counts."""
    if load.value is None:
        return missing(t("missing"))
    return number(plain(load.value), t("load-kind", arrival=load.arrival))


def ladder(workload: Workload) -> str:
    """All rungs of a workload as numbers, in the order in which they are measured."""
    return ", ".join(plain(rung) for rung in workload.concurrency or workload.rate_rps)


def slo_text(slo: Slo, t: Messages) -> str:
    """The limits an SLO sets, in words."""
    limits = (("slo-ttft", slo.ttft_s), ("slo-tpot", slo.tpot_s), ("slo-e2e", slo.e2e_latency_s))
    return t("list-separator").join(t(key, ms=milliseconds(limit)) for key, limit in limits if limit is not None)
