"""What is published every week and when it is cut off: `params/publish.yaml`, read strictly."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import BeforeValidator, Field, StringConstraints

from lab.errors import ParamsError, nearest
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.plan import load_plan
from lab.publish.evidence import Sentence, Week
from lab.publish.identity import Identity
from lab.records import RunId
from lab.spec import Frozen, Name, RunSpec, Table

PUBLISH_FILE = PARAMS_FOLDER / "publish.yaml"
"""What `lab publish` reads."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MatchId = Annotated[str, StringConstraints(pattern=r"^m-[0-9a-f]{12}$")]


def _minutes(value: Any) -> Any:
    """YAML 1.1 reads a bare 18:00 as a number to the base of 60: the minutes of the day."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 24 * 60:
        return f"{value // 60:02d}:{value % 60:02d}"
    return value


class CutOff(Frozen):
    """The moment of a week after which a run belongs to the next one."""

    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    time: Annotated[str, BeforeValidator(_minutes), StringConstraints(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
    """Local time, HH:MM."""


def _several(given: object) -> object:
    return (given,) if isinstance(given, str) else given


FactsFiles = Annotated[tuple[Name, ...], BeforeValidator(_several)]
"""One file may be written without brackets."""


class MatchEntry(Frozen):
    """One match, or every match of a plan."""

    plan: Name | None = None
    """A plan of params/, without .yaml: its cells are known before they are measured."""
    match_id: MatchId | None = None
    """Only this match; with `plan`, it has to be one of the plan's."""
    facts: FactsFiles = ()
    """What the team states, and what was counted in its traffic: files of params/facts/ without .yaml. The path of
    their workloads is walked with this match, which is the comparison where the plan has several."""
    decision: Name | None = None
    """The rules it is walked by, a file of params/decision/ without .yaml; None: engine-choice."""
    workloads: tuple[Name, ...] = ()
    """Which workloads of the facts this match answers; none: all."""


class Said(Frozen):
    """A sentence of the team, in every language of the report."""

    en: Sentence
    ja: Sentence


class Withdrawal(Frozen):
    """A run that is no longer stood behind. It is shown as withdrawn, never silently taken away."""

    run_id: RunId
    reason: Said


class PublishFile(Frozen):
    """What `params/publish.yaml` holds."""

    time_zone: str
    """Where `cut_off` is read, for instance Asia/Tokyo. It stands on no page."""
    cut_off: CutOff
    matches: tuple[MatchEntry, ...] = Field(min_length=1)
    withdrawn: tuple[Withdrawal, ...] = ()
    corrections: dict[Week, Said] = Field(default_factory=dict)
    """Why the next revision of a week is made, in the team's words; what changed is found without them."""
    identity: Identity = Identity()
    """What may be said of models and machines."""


class WantedMatch(Frozen):
    """One match that is to be published."""

    match_id: MatchId
    plan: Name | None
    table: Table | None
    """None: only runs say which table it is."""
    planned: tuple[RunSpec, ...]
    """Its cells, as its plan names them; empty without a plan."""
    facts: FactsFiles = ()
    decision: Name | None = None
    workloads: tuple[Name, ...] = ()
    """As in `MatchEntry`."""


def read_publish_file(path: Path = PUBLISH_FILE) -> PublishFile:
    """What is published, checked.

    Raises:
        ParamsError: it cannot be followed.
    """
    where = shown(path)
    found = parse(PublishFile, read_mapping(path), where)
    _zone(found.time_zone, where)
    for place, entry in enumerate(found.matches):
        if entry.plan is None and entry.match_id is None:
            raise ParamsError(f"{where}: matches.{place} names nothing; it needs plan, match_id or both")
        if not entry.facts and (entry.decision or entry.workloads):
            raise ParamsError(f"{where}: matches.{place}: a decision is walked with facts; write facts: beside it")
    if found.identity != Identity() and path.resolve() != PUBLISH_FILE.resolve():
        raise ParamsError(
            f"{where}: identity is one policy for every command that publishes, and is read from {shown(PUBLISH_FILE)}",
            f"move identity: to {shown(PUBLISH_FILE)}",
        )
    ids = [one.run_id for one in found.withdrawn]
    twice = sorted({run_id for run_id in ids if ids.count(run_id) > 1})
    if twice:
        raise ParamsError(f"{where}: withdrawn names {', '.join(twice)} twice")
    return found


def wanted_matches(found: PublishFile, folder: Path = PARAMS_FOLDER) -> tuple[WantedMatch, ...]:
    """The matches of a publish file with their planned cells, in the order of the file.

    Raises:
        ParamsError: a plan cannot be followed, or has another match than the one named.
    """
    wanted: dict[str, WantedMatch] = {}
    for entry in found.matches:
        walked = {"facts": entry.facts, "decision": entry.decision, "workloads": entry.workloads}
        if entry.plan is None:
            assert entry.match_id is not None  # read_publish_file refused it
            one = WantedMatch(match_id=entry.match_id, plan=None, table=None, planned=())
            wanted.setdefault(entry.match_id, one.model_copy(update=walked))
            continue
        plan = load_plan(folder / f"{entry.plan}.yaml")
        groups = [group for group in plan.groups if entry.match_id in (None, group.match_id)]
        if not groups:
            there = ", ".join(f"{group.match_id} ({group.table})" for group in plan.groups)
            raise ParamsError(
                f"plan {entry.plan} has no match {entry.match_id}; it has: {there}",
                f"lab plan {shown(folder / entry.plan)}.yaml",
            )
        answering = next((group for group in groups if group.table == "comparison"), groups[0])
        for group in groups:
            one = WantedMatch(match_id=group.match_id, plan=plan.name, table=group.table, planned=group.specs)
            wanted[group.match_id] = one.model_copy(update=walked) if group is answering else one
    return tuple(wanted.values())


def cut_off(week: str, found: PublishFile) -> datetime:
    """The last moment at which a run of this week's edition may have ended, UTC.

    Raises:
        ParamsError: there is no such week.
    """
    try:
        year, number = (int(part) for part in week.split("-W"))
        day = date.fromisocalendar(year, number, WEEKDAYS.index(found.cut_off.weekday) + 1)
    except ValueError:
        raise ParamsError(f"'{week[:20]}' is not a week of the ISO calendar; one looks like 2026-W49") from None
    moment = datetime.combine(day, time.fromisoformat(found.cut_off.time), _zone(found.time_zone, "publish.yaml"))
    return moment.astimezone(UTC)


def due_week(now: datetime, found: PublishFile) -> str:
    """The newest week whose cut-off has passed."""
    day = now.astimezone(_zone(found.time_zone, "publish.yaml")).date()
    while True:
        year, number, _ = day.isocalendar()
        week = f"{year}-W{number:02d}"
        if cut_off(week, found) <= now:
            return week
        day -= timedelta(days=7)


def _zone(name: str, where: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = nearest(name, available_timezones())
        hint = f"did you mean {near}?" if near else "one looks like Asia/Tokyo"
        raise ParamsError(f"{where}: time_zone: nobody knows the time zone '{name[:40]}'; {hint}") from None
