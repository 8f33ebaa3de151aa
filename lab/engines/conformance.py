"""How far each adapter has been checked: written by tests that passed, read by `lab engines`, never by hand.

`conformance.json` beside this file holds, for each engine and level, when the tests of that level passed and with
which adapter. `real`: a real program was driven. `parser`: its commands were read by the engine's own option list.
`imitation`: it was tried on a server that was written from the same facts, which proves consistency only.
"""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Literal

from pydantic import RootModel

from lab.engines import ATTACHED, ENGINES, GATEWAYS, Adapter
from lab.engines.attached import Nim
from lab.engines.gateway import ThroughGateway
from lab.spec import Frozen, Name, Sha256

Level = Literal["real", "parser", "imitation"]

LEVELS: tuple[Level, ...] = ("real", "parser", "imitation")
"""From the strongest to the weakest."""

RECORD = Path(__file__).with_name("conformance.json")


class Passed(Frozen):
    """The tests of one level, all of which passed."""

    tests: int
    """How many there were."""
    lab_version: str
    date: str
    """ISO date, UTC."""
    adapter_sha256: Sha256
    """Digest of the adapter's file as it was."""


class Conformance(RootModel[dict[Name, dict[Level, Passed]]]):
    """By engine or gateway, and by level."""


class Standing(Frozen):
    """How far one adapter has been checked."""

    level: Level | None
    """The strongest level at which its tests passed; None: none did."""
    changed: bool
    """Whether the adapter has changed since."""
    date: str | None
    """When they passed."""


def checkable() -> dict[str, type[Adapter]]:
    """Every engine and gateway that has an adapter, with its kind."""
    kinds = {key: type(adapter) for key, adapter in (ENGINES | ATTACHED).items()}
    return kinds | {Nim.key: Nim} | dict.fromkeys(GATEWAYS, ThroughGateway)


def adapter_sha256(key: str) -> str:
    """Digest of the file that holds the adapter of an engine or gateway. Raises KeyError for one without."""
    source = inspect.getsourcefile(checkable()[key])
    assert source is not None
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()


def read_conformance(path: Path = RECORD) -> Conformance:
    """What the tests have written; empty when they have not."""
    return Conformance.model_validate_json(path.read_bytes()) if path.is_file() else Conformance({})


def standing(key: str, record: Conformance) -> Standing:
    """The strongest level at which the adapter of `key` passed as it is now, else at which it did before it changed."""
    levels = record.root.get(key, {})
    now = adapter_sha256(key)
    for changed in (False, True):
        for level in LEVELS:
            if level in levels and (levels[level].adapter_sha256 != now) == changed:
                return Standing(level=level, changed=changed, date=levels[level].date)
    return Standing(level=None, changed=False, date=None)
