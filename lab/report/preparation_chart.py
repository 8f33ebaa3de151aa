"""The preparation of each launch as a line in time, its phases one after the other.

An engine tells of its own start what it likes: its phases may overlap, contain each other or leave gaps. What can be
told apart is drawn; the rest of the start is drawn as the rest.
"""

from __future__ import annotations

from typing import Literal

from lab.publish.evidence import PublicPreparation, PublicRun
from lab.report.drawing import BOLD, LINE, SMALL, Drawing, Scale, nice_high, shortened, text_width
from lab.report.figure import RIGHT, Figure, Runs, across, by_spec, finished, run_cell, swatches
from lab.report.grid import Row, missing, number
from lab.report.messages import Messages
from lab.report.numbers import duration, significant
from lab.report.series import series_label, series_of

Part = Literal["download", "build", "load", "compile", "warm-up", "start", "first"]
PARTS: tuple[Part, ...] = ("build", "download", "load", "compile", "warm-up", "start", "first")
"""In the order in which they are drawn; `start` is what of a start nobody tells apart."""

FILLS: dict[Part, tuple[str, float]] = {
    "build": ("", 0.2),
    "download": ('<circle cx="3" cy="3" r="1.3" fill="currentColor"/>', 1.0),
    "load": ("", 0.5),
    "compile": ('<path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="currentColor" stroke-width="1.4"/>', 1.0),
    "warm-up": ('<path d="M0 1.5H6M0 4.5H6" stroke="currentColor" stroke-width="1.1"/>', 1.0),
    "start": ("", 0.06),
    "first": ("", 0.9),
}
"""A pattern, or a shade of the colour of the text: told apart in black and white, and never a colour of an engine."""


_WHY_NOT: dict[Part, str] = {"build": "no-build-step", "download": "part-not-fetched"}
"""Why a part is not there, where it is not the engine that keeps it to itself."""


def parts_of(preparation: PublicPreparation) -> dict[Part, float]:
    """Seconds of each part that is known; together they are the whole, fetch and build included."""
    told = {phase.name: phase.seconds for phase in preparation.phases}
    found: dict[Part, float] = {}
    if preparation.build_took_s is not None:
        found["build"] = preparation.build_took_s
    if preparation.fetch_s is not None:
        found["download"] = preparation.fetch_s
    if preparation.startup_s is not None:
        inside: dict[Part, float] = {
            "download": told.get("download_weights", 0.0),
            "load": told.get("load_model", told.get("load_weights", 0.0)),
            "compile": told.get("compile", 0.0),
            "warm-up": sum(s for name, s in told.items() if name == "warm_up" or name.startswith("capture_graphs")),
        }
        rest = preparation.startup_s - sum(inside.values())
        if rest < 0:  # they overlap or contain each other: nobody knows which part belongs to which
            inside, rest = {}, preparation.startup_s
        for part, seconds in {**inside, "start": rest}.items():
            if seconds > 0:
                found[part] = found.get(part, 0.0) + seconds
    found["first"] = preparation.first_request_s
    return found


def preparation_chart(runs: Runs, t: Messages) -> Figure | None:
    """Preparation by phase, one bar per launch, under the name of its engine; None when no run recorded it."""
    shown = tuple(run for run in runs if run.preparation is not None)
    prepared = {run.run_id: parts_of(run.preparation) for run in shown if run.preparation is not None}
    if not prepared:
        return None
    looks, used = series_of(runs), [part for part in PARTS if any(part in parts for parts in prepared.values())]
    longest = max(sum(parts.values()) for parts in prepared.values())
    drawing, left = Drawing(0), 10.0
    fills = {part: drawing.pattern(part, FILLS[part][0]) if FILLS[part][0] else "currentColor" for part in used}
    last = max(text_width(duration(sum(parts.values()), t), SMALL) for parts in prepared.values())
    scale = Scale(0, nice_high(longest), left, RIGHT - last + 4)
    bars: list[tuple[float, PublicRun]] = []
    y = 4.0
    for launches in by_spec(shown).values():
        look = looks[series_label(launches[0])]
        drawing.marker(look.marker, left + 4, y + 8, look.colour, hollow=look.hollow)
        drawing.text(left + 14, y + 12, shortened(look.label, RIGHT - left - 14, BOLD), bold=True)
        y += LINE + 6
        for run in launches:
            assert run.preparation is not None
            note = t("chart-launch", run=run.run_id, cache=t(f"cache-{run.preparation.cache_state}"))
            drawing.text(left, y + 9, note, size=SMALL, soft=True)
            bars.append((y + 13, run))
            y += 31
        y += 4
    bottom = y
    y = across(drawing, scale, bottom, t("chart-preparation-x"), top=8)
    for top, run in bars:
        x = scale(0)
        for part in PARTS:
            if (seconds := prepared[run.run_id].get(part)) is None:
                continue
            wide = scale(seconds) - scale(0)
            drawing.box(x, top, max(wide, 0.8), 11, fill=fills[part], opacity=FILLS[part][1], stroke="currentColor",
                        stroke_width=0.7)  # fmt: skip
            x += wide
        drawing.text(x + 5, top + 9, duration(sum(prepared[run.run_id].values()), t), size=SMALL)
    entries = [(t(f"part-{part}"), fills[part], FILLS[part][1]) for part in used]
    drawing.height = swatches(drawing, y + 16, entries) - 4
    rows = [
        Row(
            cells=(
                run_cell(run),
                *(
                    number(significant(seconds)) if (seconds := prepared[run.run_id].get(part)) is not None
                    else missing(t(_WHY_NOT.get(part, "part-not-told")))
                    for part in used
                ),
                number(significant(sum(prepared[run.run_id].values()))),
            )
        )
        for run in shown
    ]  # fmt: skip
    titles = (t("run"), *(t("part-seconds", part=t(f"part-{part}")) for part in used), t("part-all"))
    return finished("chart-preparation", drawing, shown, t, titles, rows, n=len(shown))
