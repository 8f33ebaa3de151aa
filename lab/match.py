"""Whether runs may stand side by side: every reason why not, in the order in which a meeting should fix them.

`match` looks at several runs, `own_reasons` at one. Both see a `Side`: the facts of a run that are compared, and
nothing else. A private bundle gives one (`side_of`), public evidence gives the same one (`PublicRun.side`), so that
a report comes to the same answer on a laptop.

A condition is compared by the value read back from the running engine. Where an engine does not show it, it is not
recorded, so not comparable: a check that could not be made has not passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from lab.checks import CheckName, Consequence, needed, rule_of
from lab.conditions import DECIDE, Condition, Value, agree
from lab.evidence import RunRecord
from lab.records import CacheState, EvidenceGrade, How, MachineClass, RunId, RunState
from lab.rules import Role, compare, looked_at, without_parts
from lab.spec import NEUTRAL_SAMPLING, Frozen, Workload, digest

Result = Literal["pass", "fail", "not-exposed"]

MUST_BE_KNOWN = (Condition.KV_CACHE_DTYPE, Condition.CONTEXT_LIMIT, *DECIDE)
"""Conditions that engines default so differently that one nobody has read back cannot be taken for equal."""

MAY_DIFFER = frozenset(
    {
        Condition.MEMORY_FRACTION,
        Condition.SEED,
        Condition.TOOL_PARSER,
        Condition.REASONING_PARSER,
        Condition.GRAMMAR_BACKEND,
        Condition.METRICS,
        Condition.REQUEST_LOG,
        Condition.TELEMETRY,
    }
)
"""Conditions that are footnotes where they differ: their names differ from engine to engine, or the absolute KV
budget decides instead of them."""

NAMED_ONLY = frozenset({Condition.CHAT_TEMPLATE, Condition.TOOL_PARSER, Condition.REASONING_PARSER})
"""Conditions whose wanted value says where it comes from or whose it is, not what an engine would show."""

SHOWN_BY: dict[Condition, CheckName] = {
    Condition.PREFIX_CACHING: CheckName.PREFIX_CACHE,
    Condition.CONTEXT_LIMIT: CheckName.CONTEXT_LIMIT,
    Condition.KV_CACHE_TOKENS: CheckName.KV_CAPACITY,
}
"""Conditions that a passed check shows to be as asked, where the engine says nothing itself."""

PUBLIC_WORD = re.compile(r"[A-Za-z0-9 ._+\-:=,]{0,60}")
"""Words of a setting that may be published as they are."""


class Topic(StrEnum):
    """What a mismatch is about, in the order in which it is fixed."""

    MODEL = "model"
    QUANTIZATION = "quantization"
    PROMPT = "prompt"
    WORKLOAD = "workload"
    SETTINGS = "settings"
    HARDWARE = "hardware"
    MEASUREMENT = "measurement"


class Kind(StrEnum):
    """Why two runs, or one run and what was asked of it, do not go together."""

    ASKED_DIFFERS = "asked-differs"
    """The runs were asked for different things."""
    DIFFERS = "differs"
    """They were measured elsewhere or otherwise."""
    ALSO_VARIES = "also-varies"
    """More than the one thing a match is about differs."""
    READ_BACK_DIFFERS = "read-back-differs"
    """The running engines show different values."""
    NOT_READ_BACK = "not-read-back"
    """An engine does not show its value: not recorded, so not comparable."""
    NOT_AS_ASKED = "not-as-asked"
    """The running engine shows another value than the one asked."""
    NOT_EXPRESSIBLE = "not-expressible"
    """The engine has no way to say it."""
    IMPOSED = "imposed"
    """Nothing was asked, and the engine does this whatever is asked."""
    CHECK_FAILED = "check-failed"
    """Preflight saw the engine break a condition."""
    CHECK_NOT_MADE = "check-not-made"
    """The engine does not let itself be checked."""
    COUNTS_DIFFER = "counts-differ"
    """A check counted different things."""
    NOT_SUPPORTED = "not-supported"
    """The workload needs what this engine was not seen to do."""
    NOT_MEASURED = "not-measured"
    """The run was not measured to its end."""
    BETRAYED = "betrayed"
    """The load itself shows it: see `lab.betray.Betrayal`."""


class Mismatch(Frozen):
    """One reason why runs may not stand side by side, or a footnote to their standing there."""

    topic: Topic
    field: str
    """Path in the spec, name of a condition or of a check, or a fact such as `grade`."""
    kind: Kind
    values: tuple[str | None, ...]
    """One for each run of `run_ids`; of one run's condition: asked, and read back. None: nothing was asked, where it
    is about what was asked, else not recorded."""
    refuses: bool
    """False: a footnote."""
    run_ids: tuple[RunId, ...]
    """The runs it is about."""


class Side(Frozen):
    """What is compared of one run."""

    run_id: RunId
    measured: bool
    asked: dict[str, Any]
    """The spec as plain data."""
    engine_version: str | None
    wanted: dict[Condition, Value | None]
    how: dict[Condition, How]
    """Empty for evidence that is older than the conditions."""
    effective: dict[Condition, Value]
    """Values read back; a condition that is not there is not exposed."""
    results: dict[str, Result]
    """Check → how it ended; empty when preflight did not get there."""
    counts: dict[str, tuple[int, ...]]
    not_expressible: tuple[str, ...]
    """Request fields that were wanted and that the engine does not have."""
    cache_state: CacheState | None
    """None: preparation was not recorded."""
    grade: EvidenceGrade
    machine: MachineClass | None
    """Of the engine; None: it was not recorded, or the engine runs where the lab cannot look."""
    certified: bool
    """Whether the instrument had been calibrated on its machine."""
    lab_version: str

    @property
    def workload(self) -> Workload:
        """What was asked of the engine."""
        return Workload.model_validate(self.asked["workload"])


def side_of(record: RunRecord, grade: EvidenceGrade) -> Side:
    """What is compared of a private bundle; `grade` is derived by whoever may publish it."""
    launch = record.launch
    checks = launch.capabilities.checks if launch else ()
    settings = launch.settings if launch else ()
    elsewhere = launch is not None and launch.attached_to == "elsewhere"
    return Side(
        run_id=record.run_id,
        measured=record.status.state is RunState.MEASURED,
        asked=looked_at(record.spec.model_dump(mode="json")),
        engine_version=launch.engine_version if launch else None,
        wanted={one.condition: comparable(one.wanted) for one in settings},
        how={one.condition: one.how for one in settings},
        effective={
            one.condition: value
            for one in (launch.effective if launch else ())
            if (value := comparable(one.value)) is not None
        },
        results={check.name: check.result for check in checks},
        counts={check.name: check.counts for check in checks if check.counts},
        not_expressible=launch.not_expressible if launch else (),
        cache_state=record.preparation.cache_state if record.preparation else None,
        grade=grade,
        machine=record.environment.machine_class if record.environment and not elsewhere else None,
        certified=record.certificate is not None,
        lab_version=record.status.lab_version,
    )


def comparable(value: Value | None) -> Value | None:
    """A setting's value as it is compared and published: words that might name something private as their digest."""
    if not isinstance(value, str) or PUBLIC_WORD.fullmatch(value):
        return value
    return f"sha256:{digest(value)[:16]}"


def own_reasons(side: Side) -> tuple[Mismatch, ...]:
    """Why one run may not stand beside any other, and its footnotes; in the order in which to fix them."""
    return in_order([*_state(side), *_as_asked(side), *_checks(side), *_fields(side)])


def match(sides: Sequence[Side]) -> tuple[Mismatch, ...]:
    """Every reason why these runs may not stand side by side, and every footnote, in the order in which to fix them.

    Exactly one thing may differ: the engine, its version, or one setting of the launch profile; in the pipeline check
    the format of the KV cache too.
    """
    own = [one for side in sides for one in own_reasons(side)]
    return in_order([*_together(own), *between(sides)])


def between(sides: Sequence[Side]) -> tuple[Mismatch, ...]:
    """What `match` says of these runs together, without what stands against each alone."""
    if len(sides) < 2:
        return ()
    found = _Between(sides)
    return in_order([*found.asked(), *found.read_back(), *found.counted(), *found.surroundings()])


def refusals(mismatches: Iterable[Mismatch]) -> tuple[Mismatch, ...]:
    """Those that refuse; what is left out are footnotes."""
    return tuple(one for one in mismatches if one.refuses)


# ---------------------------------------------------------------- one run


def _own(side: Side, topic: Topic, field: str, kind: Kind, *values: Any, refuses: bool = True) -> Mismatch:
    return Mismatch(
        topic=topic, field=field, kind=kind, values=tuple(map(_word, values)), refuses=refuses, run_ids=(side.run_id,)
    )


def _state(side: Side) -> Iterator[Mismatch]:
    if not side.measured:
        yield _own(side, Topic.MEASUREMENT, "state", Kind.NOT_MEASURED)
    capability = needed(side.workload)
    if capability is not None and side.results.get(capability) != "pass":
        yield _own(side, Topic.WORKLOAD, capability, Kind.NOT_SUPPORTED, side.results.get(capability))


def _as_asked(side: Side) -> Iterator[Mismatch]:
    """Every condition against what was asked; what an engine imposes without having been asked is a footnote."""
    for condition, how in side.how.items():
        wanted, effective = side.wanted.get(condition), side.effective.get(condition)
        topic, hard = _topic(condition), condition not in MAY_DIFFER
        if wanted is None or effective is None or condition in NAMED_ONLY:
            differs = agrees = False
        else:
            agrees = agree(condition, wanted, effective)
            differs = not agrees
        if differs:
            yield _own(side, topic, condition, Kind.NOT_AS_ASKED, wanted, effective, refuses=hard)
        elif how is How.NOT_EXPRESSIBLE and not agrees:
            yield _own(side, topic, condition, Kind.NOT_EXPRESSIBLE, wanted, refuses=hard)
        elif how is How.IMPOSED and wanted is None and hard:  # where something was wanted, it is what was wanted
            yield _own(side, topic, condition, Kind.IMPOSED, wanted, effective, refuses=False)


def _checks(side: Side) -> Iterator[Mismatch]:
    for name, result in side.results.items():
        rule = rule_of(name)
        if rule is None or rule.consequence is not Consequence.EQUALITY or result != "fail":
            continue
        if name == CheckName.EXACT_LENGTH and not side.workload.exact_output:
            continue  # no length was asked
        yield _own(side, _CHECK_TOPICS.get(name, Topic.SETTINGS), name, Kind.CHECK_FAILED)


def _fields(side: Side) -> Iterator[Mismatch]:
    """Request fields that the engine does not have: a footnote where the value that is meant is the neutral one."""
    neutral = NEUTRAL_SAMPLING.model_dump(exclude={"temperature", "seed"})
    sampling = side.asked["sampling"]
    for field in side.not_expressible:
        if field in sampling:
            drawn = sampling["temperature"] > 0
            matters = drawn if field == "seed" else field not in neutral or sampling[field] != neutral[field]
            yield _own(side, Topic.PROMPT, field, Kind.NOT_EXPRESSIBLE, sampling[field], refuses=matters)
        else:
            yield _own(side, Topic.WORKLOAD, field, Kind.NOT_EXPRESSIBLE)


# ---------------------------------------------------------------- several runs


class _Between:
    """What differs between runs."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._run_ids = tuple(side.run_id for side in sides)
        self._engines = len({side.asked["engine"] for side in sides}) > 1
        versions = {(side.asked["engine"], side.engine_version) for side in sides}
        self._versions = len(versions) > len({engine for engine, _ in versions})
        self._differences = compare([side.asked for side in sides])

    def asked(self) -> Iterator[Mismatch]:
        """Fields of the spec: what has to be equal, and what varies besides the one thing that may."""
        varied = [one.field for one in self._differences if one.rule.role is Role.VARIED]
        for one in self._differences:
            if one.rule.role is Role.EQUAL:
                topic = _SPEC_TOPICS.get(one.field.partition(".")[0], Topic.MEASUREMENT)
                for path, values in _leaves(one.field, one.values):
                    if path == "workload.name":
                        continue  # a label
                    yield self._mismatch(topic, path, Kind.ASKED_DIFFERS, values)
        subject = next((field for field in ("engine", "behind") if field in varied), None)
        found = without_parts([one for one in self._differences if one.field in varied])
        others = [one for one in found if one.field not in ("engine", "behind")]
        if subject is None and len(others) == 1 and not self._versions:
            return
        for one in others:
            topic = _SPEC_TOPICS.get(one.field.partition(".")[0], Topic.SETTINGS)
            yield self._mismatch(topic, one.field, Kind.ALSO_VARIES, one.values)
        if self._versions and (subject or others):
            values = [side.engine_version for side in self._sides]
            yield self._mismatch(Topic.SETTINGS, "engine_version", Kind.ALSO_VARIES, values)

    def read_back(self) -> Iterator[Mismatch]:
        """Conditions as the running engines show them; the one that is meant to vary is left out."""
        meant = {_CONDITION_OF.get(one.field, one.field.removeprefix("profile.")) for one in self._differences}
        for condition in Condition:
            if condition in meant:
                continue
            values = [side.effective.get(condition) for side in self._sides]
            known = [value for value in values if value is not None]
            if any(not agree(condition, known[0], value) for value in known):
                imposed = any(side.how.get(condition) is How.IMPOSED for side in self._sides)
                refuses = (
                    condition not in MAY_DIFFER and not imposed
                )  # against what was asked it is a reason of its own
                yield self._mismatch(_topic(condition), condition, Kind.READ_BACK_DIFFERS, values, refuses=refuses)
            elif (
                condition in MUST_BE_KNOWN
                and (self._engines or self._versions)  # one version of one engine has one default
                and not all(_known(side, condition) for side in self._sides)
            ):
                yield self._mismatch(_topic(condition), condition, Kind.NOT_READ_BACK, values)

    def counted(self) -> Iterator[Mismatch]:
        """Prompt tokens: the same conversations are as long on every engine, or the template differs."""
        name = CheckName.PROMPT_TOKENS
        counts = [side.counts.get(name) for side in self._sides]
        words = [None if one is None else " ".join(map(str, one)) for one in counts]
        if len({one for one in counts if one is not None}) > 1:
            yield self._mismatch(Topic.PROMPT, name, Kind.COUNTS_DIFFER, words)
        elif self._engines and None in counts:
            yield self._mismatch(Topic.PROMPT, name, Kind.CHECK_NOT_MADE, words)

    def surroundings(self) -> Iterator[Mismatch]:
        """Where and with what it was measured."""
        sides = self._sides
        counts = any(side.asked["preparation_counts"] for side in sides)
        states = [side.cache_state for side in sides]
        yield from self._equal(Topic.MEASUREMENT, "cache_state", states, refuses=counts)
        machines = [side.machine for side in sides]
        if any(machine is None for machine in machines):
            known = [None if machine is None else True for machine in machines]
            yield self._mismatch(Topic.HARDWARE, "machine", Kind.NOT_READ_BACK, known)
        else:
            for field in MachineClass.model_fields:
                values = [getattr(machine, field) for machine in machines]
                yield from self._equal(Topic.HARDWARE, f"machine.{field}", values, refuses=field != "python")
        yield from self._equal(Topic.MEASUREMENT, "grade", [side.grade.value for side in sides])
        certified = [side.certified for side in sides]
        yield from self._equal(Topic.MEASUREMENT, "certificate", certified, refuses=False)
        yield from self._equal(Topic.MEASUREMENT, "lab_version", [side.lab_version for side in sides], refuses=False)

    def _equal(self, topic: Topic, field: str, values: Sequence[Any], *, refuses: bool = True) -> Iterator[Mismatch]:
        if len(set(values)) > 1:
            yield self._mismatch(topic, field, Kind.DIFFERS, values, refuses=refuses)

    def _mismatch(
        self, topic: Topic, field: str, kind: Kind, values: Iterable[Any], *, refuses: bool = True
    ) -> Mismatch:
        return Mismatch(
            topic=topic,
            field=field,
            kind=kind,
            values=tuple(map(_word, values)),
            refuses=refuses,
            run_ids=self._run_ids,
        )


def _known(side: Side, condition: Condition) -> bool:
    """Whether a condition's value on the running engine is known: shown by it, by a check, or by its nature."""
    if condition in side.effective or side.how.get(condition) is How.IMPOSED:
        return True
    check = SHOWN_BY.get(condition)
    return check is not None and side.wanted.get(condition) is not None and side.results.get(check) == "pass"


# ---------------------------------------------------------------- words and order

_CONDITION_TOPICS = {
    Condition.COMPUTE_DTYPE: Topic.QUANTIZATION,
    Condition.KV_CACHE_DTYPE: Topic.QUANTIZATION,
    Condition.SAMPLING_DEFAULTS: Topic.PROMPT,
    Condition.SEED: Topic.PROMPT,
    Condition.CHAT_TEMPLATE: Topic.PROMPT,
    Condition.CHAT_TEMPLATE_KWARGS: Topic.PROMPT,
}

_CHECK_TOPICS: Mapping[str, Topic] = {
    CheckName.PROMPT_TOKENS: Topic.PROMPT,
    CheckName.NEUTRAL_SAMPLING: Topic.PROMPT,
    CheckName.THINKING: Topic.PROMPT,
    CheckName.EXACT_LENGTH: Topic.WORKLOAD,
}

_SPEC_TOPICS = {
    "model": Topic.MODEL,
    "quantization": Topic.QUANTIZATION,
    "context_limit": Topic.SETTINGS,
    "gateway": Topic.SETTINGS,
    "workload": Topic.WORKLOAD,
    "sampling": Topic.PROMPT,
    "chat_template_kwargs": Topic.PROMPT,
}
"""The rest of the spec belongs to the measurement."""


_CONDITION_OF = {"quantization.kv_cache": Condition.KV_CACHE_DTYPE}
"""Fields of the spec whose condition has another name."""


def _topic(condition: Condition) -> Topic:
    return _CONDITION_TOPICS.get(condition, Topic.SETTINGS)


def in_order(mismatches: Iterable[Mismatch]) -> tuple[Mismatch, ...]:
    """What refuses, by topic, then the footnotes; otherwise as they were found."""
    topics = list(Topic)
    return tuple(sorted(mismatches, key=lambda one: (not one.refuses, topics.index(one.topic))))


def _together(own: Iterable[Mismatch]) -> Iterator[Mismatch]:
    """One reason of several runs once, with all of them."""
    runs: dict[Mismatch, list[RunId]] = {}
    for one in own:
        runs.setdefault(one.model_copy(update={"run_ids": ()}), []).extend(one.run_ids)
    for one, run_ids in runs.items():
        yield one.model_copy(update={"run_ids": tuple(run_ids)})


def _leaves(path: str, values: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """The parts of a field in which its values differ, as deep as they are mappings everywhere."""
    if not all(isinstance(value, dict) for value in values):
        yield path, values
        return
    for key in dict.fromkeys(key for value in values for key in value):
        parts = [value.get(key) for value in values]
        if any(part != parts[0] for part in parts):
            yield from _leaves(f"{path}.{key}", parts)


def _word(value: Any) -> str | None:
    """A value as a reader meets it; None stays None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return str(value.get("name") or ", ".join(f"{key} {one}" for key, one in value.items() if one is not None))
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return None if value is None else str(value)
