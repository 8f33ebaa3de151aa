"""Made-up weeks of one decision over the stand-ins P, Q and R, from its first path to an edit of its rules.

2026-W49: the path leads to Q. 2026-W50: a launch of Q is withdrawn, two are too few, and the path stops before Q; P
moves within noise. 2026-W51: Q is launched three times again and its quality fell by more than the margin, so that
the path leads to P. 2026-W52: nothing is new. 2027-W01: the team asks for more shared prefix, and P moved.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab.publish.cells import CellState, ChosenMatch, LeftOut, PublicCell, PublicMatch
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.schedule import PublishFile
from lab.publish.weekly import Published, publish_chosen
from lab.report.edition import edition_pages
from tests.explain import explain_examples as rules
from tests.report.report_examples import beside, certificate, pair, quality_path, run_id, sha

MATCH = "m-" + sha("match")[:12]
WHY = {"en": "Another job ran on the same machine.", "ja": "同じマシンで別のジョブが動いていました。"}


def directly(name: str) -> Callable[..., dict[str, bytes]]:
    """The function of that name, called in this process."""
    module, _, function = name.partition(":")
    found: Callable[..., dict[str, bytes]] = getattr(importlib.import_module(module), function)
    return found


def publish_file(**changes: object) -> PublishFile:
    """Editions of one match, cut off on Friday in Tokyo."""
    plain = {
        "time_zone": "Asia/Tokyo",
        "cut_off": {"weekday": "friday", "time": "18:00"},
        "matches": [{"match_id": MATCH}],
    }
    return PublishFile.model_validate({**plain, **changes})


def launched(engine: str, week: str, *rates: float, **changes: Any) -> tuple[PublicRun, ...]:
    """Fresh launches of one engine in one week, with these outputs a second at 64 in flight."""
    return tuple(
        rules.one(
            engine,
            n,
            rate,
            run_id=run_id(f"{engine} {week} {n}"),
            manifest_sha256=sha(f"{engine} {week} {n}"),
            week=week,
            table="comparison",
            certificate=certificate(),
            **changes,
        )
        for n, rate in enumerate(rates)
    )


def compared(runs: Sequence[PublicRun], down: int = 1) -> tuple[PublicContrast, ...]:
    """Q and R, where they are there, against P over 3,000 items: so many of Q's fell and one rose."""
    first = {name: next((one for one in runs if one.engine == name), None) for name in ("P", "Q", "R")}
    base = first["P"]
    return tuple(
        beside(base, one, quality_path(), quality_path(engine=name), pair("facts", 3000, down if name == "Q" else 1, 1))
        for name in ("Q", "R")
        if base is not None and (one := first[name]) is not None
    )


P_W49 = launched("P", "2026-W49", 99, 100, 101)
Q_W49 = launched("Q", "2026-W49", 111, 112, 113)
R_W49 = launched("R", "2026-W49", 109, 110, 111, preparation={
    "build_s": 3600, "startup_s": 9, "first_request_s": 1, "cache_state": "warm"})  # fmt: skip
P_W50 = launched("P", "2026-W50", 99.5, 100.5, 101.5)
"""Half a token more, with a spread of one: within noise."""
Q_W51 = launched("Q", "2026-W51", 120, 121, 122)
"""Nine more than in 2026-W49: not noise. Its quality is another matter."""
P_W01 = launched("P", "2027-W01", 120, 121, 122)
"""Twenty more than before, with a spread of one: not noise."""
WITHDRAWN = Q_W49[1].run_id


def chosen(*columns: tuple[PublicRun, ...], lacking: tuple[PublicRun, ...] = ()) -> ChosenMatch:
    """The match with a published cell for each column, and one that a withdrawal left with too few launches."""
    cells = [
        PublicCell(
            engine=own[0].engine, profile=own[0].profile, spec_digest=own[0].spec_digest, state=CellState.PUBLISHED,
            launches=len(own), grade=own[0].grade, run_ids=tuple(one.run_id for one in own),
        )
        for own in columns
    ]  # fmt: skip
    if lacking:
        one = lacking[0]
        cells.append(
            PublicCell(engine=one.engine, profile=one.profile, spec_digest=one.spec_digest, state=CellState.MEASURED,
                       launches=len(lacking) - 1, left_out={LeftOut.WITHDRAWN: 1})
        )  # fmt: skip
    match = PublicMatch(match_id=MATCH, plan="four-stand-ins", table="comparison", cells=tuple(cells))
    return ChosenMatch(match=match, runs=tuple(one for own in columns for one in own))


def publish(
    reports: Path,
    scratch: Path,
    week: str,
    match: ChosenMatch,
    *,
    down: int = 1,
    tree: Any = None,
    stated: Any = None,
    withdrawn: bool = True,
    corrections: Any = None,
) -> Published:
    """Publish one week of the decision.

    Args:
        reports: where editions are.
        scratch: a folder for the rules and facts.
        week: ISO week.
        match: the cells of that week.
        down: how many items of Q fell.
        tree: edits the rules, as plain data.
        stated: edits the facts.
        withdrawn: whether a launch of Q is withdrawn.
        corrections: as in the publish file.
    """
    decision = rules.decision(scratch, tree)
    gone = [{"run_id": WITHDRAWN, "reason": WHY}] if withdrawn else []
    found = publish_file(withdrawn=gone, corrections=corrections or {})
    pages = edition_pages({MATCH: (decision, rules.facts(scratch, decision, stated))}, building=directly)
    return publish_chosen((match,), found, week, reports, pages, compared={MATCH: compared(match.runs, down)})


def asks_for_more(data: Any) -> None:
    """The rules with a threshold of 80 % where 50 % stood."""
    data["nodes"]["prefix-heavy"]["at_least"] = 80


def five_weeks(reports: Path, scratch: Path) -> tuple[Published, ...]:
    """The whole story."""
    again = chosen(P_W50, Q_W51, R_W49)
    return (
        publish(reports, scratch, "2026-W49", chosen(P_W49, Q_W49, R_W49), withdrawn=False),
        publish(reports, scratch, "2026-W50", chosen(P_W50, R_W49, lacking=Q_W49)),
        publish(reports, scratch, "2026-W51", again, down=61),
        publish(reports, scratch, "2026-W52", again, down=61),
        publish(reports, scratch, "2027-W01", chosen(P_W01, Q_W51, R_W49), down=61, tree=asks_for_more),
    )
