"""Whether published runs may stand side by side: what was asked and read back, and what their loads betray.

The same answer as `lab match` gives on the private bundles.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.betray import Host, Trace, betrayals, trace_of_side
from lab.match import Mismatch, between, in_order, match
from lab.publish.evidence import PublicRun


def trace_of(run: PublicRun) -> Trace:
    """The view of one published run that `lab.betray` looks at."""
    isolation = None if run.isolation is None else run.isolation == "exclusive"
    return trace_of_side(run.side, run.counted, Host(driver=run.driver, gpus=run.host), isolation)


def between_runs(runs: Sequence[PublicRun]) -> tuple[Mismatch, ...]:
    """What is said of these runs together, without what stands against each alone."""
    return in_order((*between([run.side for run in runs]), *betrayals([trace_of(run) for run in runs])))


def match_runs(runs: Sequence[PublicRun]) -> tuple[Mismatch, ...]:
    """Every reason why these runs may not stand side by side, and every footnote."""
    return in_order((*match([run.side for run in runs]), *betrayals([trace_of(run) for run in runs])))
