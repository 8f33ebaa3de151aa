"""Contracts: the options an engine's own parser takes, as it said itself, and whether a command keeps to them.

A contract knows spellings, whether a value follows, closed lists of values, and what the engine calls deprecated.
Not covered: the type and range of a value, and which options exclude each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from lab.errors import nearest
from lab.spec import Frozen

CONTRACTS_FOLDER = Path(__file__).with_name("contracts")

_NUMBER = re.compile(r"-\d+(\.\d+)?")
"""A negative number is a value, although it begins like an option."""


class Option(Frozen):
    """One option."""

    names: tuple[str, ...]
    """Its spellings; the first is the one the engine documents first."""
    value: bool | Literal["many"]
    """Whether a value follows; `many`: one or more."""
    choices: tuple[str, ...] | None = None
    """The only values it takes; None: the contract does not say."""
    default: JsonValue = None
    """Of the parser; None also where it is not known or too long to keep."""


class Contract(Frozen):
    """The command line of one engine in one version."""

    engine: str
    version: str
    dotted: tuple[str, ...]
    """Options that hold JSON and can be given key by key: `--option.key value`."""
    deprecated: tuple[str, ...]
    """Spellings, or `--option=value`, that the engine warns about."""
    options: tuple[Option, ...]
    read_from: str | None = None
    """What it was transcribed from, where no parser could be asked; None: the engine's own parser said it."""
    config: tuple[str, ...] = ()
    """Dotted paths of its config file that the lab may set; not the whole file."""
    request_fields: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Route → the only fields a request may carry; empty: unknown fields are ignored."""

    @cached_property
    def by_name(self) -> dict[str, Option]:
        """Every spelling and its option."""
        return {name: option for option in self.options for name in option.names}

    def problems(self, words: Sequence[str]) -> tuple[str, ...]:
        """Everything in a command's options that the engine would refuse or warn about, in words.

        Args:
            words: the command behind the program, its subcommand and a positional model.
        """
        found: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if not word.startswith("-"):
                found.append(f"'{word}' stands where an option is expected")
                continue
            name, equals, value = word.partition("=")
            base, dot, _ = name.partition(".")
            option = self.by_name.get(name) or (self.by_name.get(base) if dot else None)
            if option is None:
                near = nearest(name, self.by_name)
                found.append(f"{self.engine} has no option {name}" + (f"; did you mean {near}?" if near else ""))
                while rest and not _is_option(rest[0]):
                    rest.pop(0)
                continue
            if dot and name != base and option.names[0] not in self.dotted:
                found.append(f"{base} is not given key by key")
            if name in self.deprecated:
                found.append(f"{name} is deprecated")
            values = [value] if equals else []
            if option.value and not equals:
                while rest and not _is_option(rest[0]) and (option.value == "many" or not values):
                    values.append(rest.pop(0))
            if option.value and not values:
                found.append(f"{name} needs a value")
            if not option.value and equals:
                found.append(f"{name} takes no value")
            found += self._values(option, name if not dot else None, values)
        return tuple(found)

    def _values(self, option: Option, name: str | None, values: list[str]) -> list[str]:
        """What is wrong with the values of one option; those of a dotted key are not in the contract."""
        if name is None:
            return []
        found = []
        for value in values:
            if option.choices is not None and value not in option.choices:
                near = nearest(value, option.choices)
                found.append(f"{name} does not take '{value}'" + (f"; did you mean {near}?" if near else ""))
            elif f"{option.names[0]}={value}" in self.deprecated:
                found.append(f"{name} {value} is deprecated")
        return found


def _is_option(word: str) -> bool:
    return word.startswith("-") and not _NUMBER.fullmatch(word)


@cache
def read_contract(name: str) -> Contract:
    """The contract of this file name without its ending, for instance `vllm-0.32.0`."""
    text = (CONTRACTS_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return Contract.model_validate(json.loads(text))
