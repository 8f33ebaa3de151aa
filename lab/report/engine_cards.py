"""One card of the same form for each engine on the table: fits when, does not fit when, preparation, not measured.

The words come from the texts the lab was founded on and from dated facts; no number of a run stands on a card.
"""

from __future__ import annotations

from lab.match import refusals
from lab.publish.evidence import PublicRun
from lab.report.loads import levels_of
from lab.report.messages import Messages, slug
from lab.report.reasons import Reasons
from lab.roster import ON_TABLE, Entry, find
from lab.spec import Frozen

PARTS = ("fits", "fits-not", "prepares")
"""What the catalogue holds of each engine, in the order of the card; what was not measured follows from the runs."""


class EngineCard(Frozen):
    """One engine on the table."""

    key: str
    title: str
    parts: tuple[tuple[str, str], ...]
    """Heading and text."""


def engine_cards(runs: tuple[PublicRun, ...], reasons: Reasons, t: Messages) -> tuple[EngineCard, ...]:
    """All four, in the order of the table, whether measured or not."""
    return tuple(_card(entry, runs, reasons, t) for entry in ON_TABLE)


def _card(entry: Entry, runs: tuple[PublicRun, ...], reasons: Reasons, t: Messages) -> EngineCard:
    key = slug(entry.key)
    written = tuple((t(f"engine-card-{part}"), t(f"engine-{key}-card-{part}")) for part in PARTS)
    open_ = (t("engine-card-unmeasured"), _unmeasured(entry, runs, reasons, t))
    return EngineCard(key=key, title=entry.title, parts=(*written, open_))


def _unmeasured(entry: Entry, runs: tuple[PublicRun, ...], reasons: Reasons, t: Messages) -> str:
    """What the column does not hold; everything else is open as well and said once."""
    column = tuple(run for run in runs if run.table == "comparison" and find(run.engine) == entry)
    if not column:
        return t("engine-card-nothing", what=t(f"engine-{slug(entry.key)}-needs"))
    counts = {run.spec_digest: 0 for run in column}
    for run in column:
        counts[run.spec_digest] += 1
    gaps = (
        ("beside", all(refusals(reasons[run.run_id]) for run in column)),
        ("load", not levels_of(column)),
        ("preparation", all(run.preparation is None for run in column)),
        ("quality", all(run.quality is None for run in column)),
        ("spread", max(counts.values()) == 1),
    )
    missing = tuple(t(f"engine-card-gap-{gap}") for gap, open_ in gaps if open_)
    return t("engine-card-gaps", gaps=t("list-separator").join((*missing, t("engine-card-gap-else"))))
