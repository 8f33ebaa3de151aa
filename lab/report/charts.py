"""The charts of a report, as SVG inside the page, each with its text alternative and its data.

An engine keeps one colour and one marker in all of them, see `lab.report.series`. Everything else is a shade or a
pattern in the colour of the text, so that a colour always means who was measured.
"""

from __future__ import annotations

from lab.publish.evidence import PublicContrast
from lab.report.engine_over_time import engine_chart
from lab.report.figure import Figure, Runs
from lab.report.load_charts import distribution_chart, throughput_chart
from lab.report.loads import ARRIVALS
from lab.report.messages import Messages
from lab.report.preparation_chart import preparation_chart
from lab.report.quality_chart import quality_chart


def figures(runs: Runs, contrasts: tuple[PublicContrast, ...], t: Messages) -> tuple[Figure, ...]:
    """All charts that have something to draw, in their fixed order; one arrival law never shares an axis."""
    drawn = (
        *(throughput_chart(runs, arrival, t) for arrival in ARRIVALS),
        *(distribution_chart(runs, metric, arrival, t) for arrival in ARRIVALS for metric in ("ttft", "tpot")),
        preparation_chart(runs, t),
        engine_chart(runs, t),
        quality_chart(contrasts, runs, t),
    )
    return tuple(figure for figure in drawn if figure is not None)
