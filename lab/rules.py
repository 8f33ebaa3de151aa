"""The rules of the match: what has to be equal, what may vary, what is ignored, field by field.

A table over `RunSpec`. A field that is not named here is refused by a test, so nothing can be compared by
accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from lab.errors import TooManyVaried
from lab.spec import Frozen, RunSpec


class Role(StrEnum):
    """What a field is to a match."""

    EQUAL = "equal"
    VARIED = "varied"
    """May be the one thing that differs."""
    IGNORED = "ignored"


class Rule(Frozen):
    """Role of one field, and why."""

    role: Role
    why: str
    apart: bool = False
    """True when it may vary in the pipeline check only, a table of its own: elsewhere it has to be equal."""

    def role_in(self, table: str) -> Role:
        """Its role among the runs of a table."""
        return Role.EQUAL if self.apart and table != "pipeline-check" else self.role


def _equal(why: str) -> Rule:
    return Rule(role=Role.EQUAL, why=why)


def _varied(why: str) -> Rule:
    return Rule(role=Role.VARIED, why=why)


RULES: dict[str, Rule] = {
    "spec_version": _equal("two versions of the spec may mean different things by one field"),
    "table": _equal("tables have rules of their own and never mix"),
    "model": _equal("another model or other bytes is another question"),
    "quantization.weights": _equal("quantization changes speed and quality at once"),
    "quantization.activations": _equal("quantization changes speed and quality at once"),
    "quantization.kv_cache": Rule(
        role=Role.VARIED,
        apart=True,
        why="quantization changes speed and quality at once; what it changes is a question of its own",
    ),
    "context_limit": _equal("the context limit decides how much memory is left for concurrency"),
    "engine": _varied("the engine is what a comparison is about"),
    "profile.name": Rule(role=Role.IGNORED, why="a label; what it stands for is compared field by field"),
    "profile.prefix_caching": _varied("a launch setting"),
    "profile.chunked_prefill": _varied("a launch setting"),
    "profile.kv_cache_tokens": _varied("a launch setting"),
    "profile.max_num_seqs": _varied("a launch setting"),
    "profile.max_batched_tokens": _varied("a launch setting"),
    "profile.memory_fraction": _varied("a launch setting"),
    "profile.cuda_graphs": _varied("a launch setting"),
    "profile.torch_compile": _varied("a launch setting"),
    "profile.tensor_parallel": _varied("a launch setting"),
    "profile.pipeline_parallel": _varied("a launch setting"),
    "profile.speculative": _varied("a launch setting"),
    "profile.speculative_tokens": _varied("a launch setting"),
    "profile.grammar_backend": _varied("a launch setting"),
    "profile.threads": _varied("a launch setting"),
    "profile.ttft_s": _varied("a setting of the reference engine"),
    "profile.tick_s": _varied("a setting of the reference engine"),
    "profile.prefill_s_per_token": _varied("a setting of the reference engine"),
    "gateway": _equal("a hop in front of the engine is part of what is measured"),
    "behind": _varied("the engine inside a packaging is the engine"),
    "attached": Rule(
        role=Role.IGNORED, why="launched or attached, the settings compared are those read back from the running engine"
    ),
    "served_as": Rule(role=Role.IGNORED, why="a label; the weights behind it are compared by their digest"),
    "workload": _equal("another load is another question"),
    "sampling": _equal("sampling changes the text and with it the length and the quality"),
    "chat_template_kwargs": _equal("the template decides what the model reads"),
    "quality": _equal("scores of two suite versions are not on one scale"),
    "preparation_counts": _equal("one side cannot count preparation when the other does not"),
    "isolation": Rule(role=Role.IGNORED, why="declared; what else ran on the machine is measured and compared"),
    "cache_tier": _equal("a start from empty caches and one from full ones are two questions"),
}
"""Keys are field paths of `RunSpec`; a path covers everything below it."""


class Difference(Frozen):
    """One field in which runs differ."""

    field: str
    values: tuple[Any, ...]
    """One for each run, in the order of the runs."""
    rule: Rule
    """Its role is the one it has in the table of these runs."""


def differences(specs: Sequence[RunSpec]) -> tuple[Difference, ...]:
    """Every field in which `specs` differ and that is not ignored, in the order of `RULES`."""
    return compare([spec.model_dump(mode="json") for spec in specs])


def compare(wholes: Sequence[Mapping[str, Any]]) -> tuple[Difference, ...]:
    """The same for specs as plain data, as public evidence holds them."""
    found = []
    for field, rule in RULES.items():
        if rule.role is Role.IGNORED:
            continue
        values = tuple(_at(whole, field) for whole in wholes)
        if any(value != values[0] for value in values):
            role = Role.EQUAL if any(rule.role_in(whole["table"]) is Role.EQUAL for whole in wholes) else rule.role
            found.append(Difference(field=field, values=values, rule=rule.model_copy(update={"role": role})))
    return tuple(found)


def looked_at(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a spec as plain data that a rule looks at: those that are ignored whole are left out."""
    return {name: value for name, value in whole.items() if name not in _IGNORED}


_IGNORED = frozenset(path for path, rule in RULES.items() if rule.role is Role.IGNORED)


def subject(specs: Sequence[RunSpec]) -> str | None:
    """The one field that varies between `specs`, or None when nothing does.

    Raises:
        TooManyVaried: something differs that has to be equal, or more than one thing varies; all are named.
    """
    found = differences(specs)
    broken = [difference for difference in found if difference.rule.role is Role.EQUAL]
    varied = [difference for difference in found if difference.rule.role is Role.VARIED]
    varied = without_parts(varied)
    if broken or len(varied) > 1:
        lines = [f"  {d.field}: {' / '.join(_short(value) for value in _unique(d.values))}" for d in (*broken, *varied)]
        count = len(broken) + len(varied)
        raise TooManyVaried(
            f"these runs are not one match: {count} things differ, exactly one may "
            f"({', '.join(d.field for d in (*broken, *varied))})\n" + "\n".join(lines),
            "make all but one of them equal, or split the plan in two",
        )
    return varied[0].field if varied else None


PART_OF = {"behind": "engine", "profile.speculative_tokens": "profile.speculative"}
"""Fields that are a part of another one: where that differs, they are no second thing."""


def without_parts(varied: Sequence[Difference]) -> list[Difference]:
    """What varies, without the parts of something else that varies."""
    fields = {difference.field for difference in varied}
    return [difference for difference in varied if PART_OF.get(difference.field) not in fields]


def paths(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Field paths of a dumped spec, as deep as `RULES` goes."""
    for key, value in data.items():
        path = prefix + key
        if isinstance(value, dict) and any(rule.startswith(path + ".") for rule in RULES):
            yield from paths(value, path + ".")
        else:
            yield path


def _at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data[key]
    return data


def _unique(values: tuple[Any, ...]) -> list[Any]:
    return [value for i, value in enumerate(values) if value not in values[:i]]


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("name") or value.get("series") or value)[:80]
    return str(value)
