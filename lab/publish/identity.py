"""Who we are, and how much of it a page may say: the `identity:` part of params/publish.yaml.

Names of models that are internal get an alias or a pseudonym; a machine that would name a site is published as a
class. Pseudonyms are keyed: without the key nobody can try out names until one fits. The key lives outside the
repository; only its id is printed, and another key gives other pseudonyms.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, StringConstraints, model_validator

from lab.errors import ParamsError
from lab.params import PARAMS_FOLDER, parse, read_mapping, shown
from lab.records import MachineClass
from lab.spec import Frozen, ModelSpec, PublicText

KEY_VARIABLE = "LAB_PSEUDONYM_KEY"
"""Variable that holds the key, or the path of a file that does."""

SHORTEST_KEY = 16
"""Fewest bytes of a key."""

Kind = Literal["model", "machine"]
"""Domains of pseudonyms: the same name in two domains has two pseudonyms that nobody can join."""

D = TypeVar("D", str, str | None)

Alias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+\-]{0,79}$")]
AcceleratorClass = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._\-]{1,60}$")]
KeyId = Annotated[str, StringConstraints(pattern=r"^k-[a-z2-7]{8}$")]
Pseudonym = Annotated[str, StringConstraints(pattern=r"^(?:model|machine)-[a-z2-7]{10}$")]


class Identity(Frozen):
    """What may be said of models and machines."""

    models: dict[PublicText, Alias] = Field(default_factory=dict)
    """Model series to what pages call it; the alias `pseudonym` asks for a keyed one."""
    machine: Literal["exact", "class"] = "exact"
    """`class`: cores and memory rounded down to a power of two, the accelerator by its class."""
    accelerators: dict[PublicText, AcceleratorClass] = Field(default_factory=dict)
    """Product name to class, for instance `NVIDIA H200: data-centre GPU 80 GB or more`; only with `machine: class`."""

    @model_validator(mode="after")
    def _names_one_model_each(self) -> Identity:
        aliases = [alias for alias in self.models.values() if alias != "pseudonym"]
        if twice := sorted({alias for alias in aliases if aliases.count(alias) > 1}):
            raise ValueError(f"two models would be called {twice[0]}")
        return self


class _Section(Frozen):
    identity: Identity = Identity()


def read_identity(path: Path = PARAMS_FOLDER / "publish.yaml") -> Identity:
    """The policy of a publish file; without a file or a section everything is said exactly.

    Raises:
        ParamsError: the section cannot be followed.
    """
    if not path.exists():
        return Identity()
    section = {"identity": found} if (found := read_mapping(path).get("identity")) is not None else {}
    return parse(_Section, section, shown(path)).identity


class Namer:
    """Applies a policy to what is about to be published.

    Args:
        identity: the policy.
        key: of the pseudonyms; None where none is set, which is an error only when one is asked for.
    """

    def __init__(self, identity: Identity, key: bytes | None = None) -> None:
        self.identity = identity
        self._key = key

    @property
    def key_id(self) -> str | None:
        """What names the key without giving it away; None without a key."""
        return None if self._key is None else "k-" + _letters(self._key, "key-id", "")[:8]

    @property
    def uses_key(self) -> bool:
        """Whether the policy hides the name of a model: then its digests are keyed, whatever it is called."""
        return bool(self.identity.models)

    def hides(self, model: ModelSpec) -> bool:
        """Whether pages call a model by another name than its own."""
        return model.series in self.identity.models

    def key_of(self, series: str) -> str | None:
        """The key behind the name and the digests of a model; None where it is called by its own name."""
        return self.key_id if series in self.identity.models else None

    def model(self, model: ModelSpec) -> ModelSpec:
        """A model under its public name; its release and its digests say no more than the name does."""
        alias = self.identity.models.get(model.series)
        if alias is None:
            return model
        name = self.pseudonym("model", model.series) if alias == "pseudonym" else alias
        changes = {
            "series": name,
            "revision": "withheld",
            "weights_sha256": self.digest_of(model, model.weights_sha256),
            "chat_template_sha256": self.digest_of(model, model.chat_template_sha256),
        }
        return model.model_copy(update=changes)

    def digest_of(self, model: ModelSpec, digest: D) -> D:
        """A digest that follows from the name or the bytes of a model, as a page may show it.

        Whoever guesses a name could compute the digest and see that it is the same: that of a hidden model is made
        again with the key. The same digest gives the same one every week.

        Args:
            model: what it is a digest of, at least.
            digest: hexadecimal digits, behind a prefix or not; None stays None.

        Raises:
            ParamsError: the model is hidden and there is no key.
        """
        if digest is None or not self.hides(model):
            return digest
        prefix, dash, digits = digest.rpartition("-")
        own = hmac.new(self._secret(), b"lab/pseudonym/1/digest", hashlib.sha256).digest()
        made = hmac.new(own, digest.encode(), hashlib.sha256).hexdigest()
        return f"{prefix}{dash}{made[: len(digits)]}"

    def machine(self, machine: MachineClass) -> MachineClass:
        """A machine as it may be described."""
        if self.identity.machine == "exact":
            return machine
        accelerator = machine.accelerator
        if accelerator is not None:
            accelerator = self.identity.accelerators.get(accelerator, "GPU")
        changes = {
            "accelerator": accelerator,
            "cpu_cores": _power_below(machine.cpu_cores),
            "memory_gib": _power_below(machine.memory_gib),
        }
        return machine.model_copy(update=changes)

    def pseudonym(self, kind: Kind, name: str) -> str:
        """The keyed pseudonym of a name in one domain.

        Raises:
            ParamsError: there is no key.
        """
        return f"{kind}-{_letters(self._secret(), kind, name)[:10]}"

    def _secret(self) -> bytes:
        if self._key is None:
            raise ParamsError(
                f"params/publish.yaml hides the name of a model and there is no key in {KEY_VARIABLE}",
                f"{KEY_VARIABLE}=PATH, a file outside the repository: "
                "(umask 077; head -c 32 /dev/urandom | base64 > PATH)",
            )
        return self._key

    def internal_names(self) -> Iterator[tuple[str, str]]:
        """What the policy hides, for the gate to look for."""
        yield from (("internal name of a model", series) for series in self.identity.models)


def open_namer(path: Path = PARAMS_FOLDER / "publish.yaml", variables: Mapping[str, str] = os.environ) -> Namer:
    """The policy of a publish file with the key of this process.

    Raises:
        ParamsError: the policy or the key cannot be used.
    """
    return Namer(read_identity(path), read_key(variables))


def read_key(variables: Mapping[str, str] = os.environ) -> bytes | None:
    """The key of pseudonyms; None where none is set.

    Raises:
        ParamsError: its file cannot be read, lies in the checkout, may be read by others, or is too short.
    """
    found = variables.get(KEY_VARIABLE, "")
    if not found:
        return None
    key = found.encode()
    if "/" in found and Path(found).expanduser().exists():
        path = Path(found).expanduser().resolve()
        if path.is_relative_to(PARAMS_FOLDER.parent):
            raise ParamsError(f"the key of {KEY_VARIABLE} lies in the checkout, where it could be published")
        try:
            if path.stat().st_mode & 0o077:
                raise ParamsError(f"the file of {KEY_VARIABLE} may be read by others", "chmod 600 on that file")
            key = path.read_bytes().strip()
        except OSError as problem:
            raise ParamsError(f"the file of {KEY_VARIABLE} cannot be read: {problem.strerror}") from None
    elif "/" in found and found.startswith(("/", "~", ".")):
        raise ParamsError(f"the file of {KEY_VARIABLE} does not exist")
    if len(key) < SHORTEST_KEY:
        raise ParamsError(f"the key of {KEY_VARIABLE} has {len(key)} bytes; it needs {SHORTEST_KEY} or more")
    return key


def unique_machines(folder: Path, archive: Path) -> tuple[MachineClass, ...]:
    """Machines of an edition that nothing else in the archive shows: whoever knows the site knows them.

    Args:
        folder: the edition.
        archive: the folder of all editions.
    """
    everywhere = {path: machine for path in _evidence_below(archive) if (machine := _machine_in(path))}
    own = {path: machine for path in _evidence_below(folder) if (machine := _machine_in(path))}
    elsewhere = {recognised_by(machine) for path, machine in everywhere.items() if path not in own}
    found = {recognised_by(machine): machine for machine in own.values()}
    return tuple(machine for shape, machine in found.items() if shape not in elsewhere)


def recognised_by(machine: MachineClass) -> tuple[str | int | None, ...]:
    """What of a machine would be recognised; its Python changes too often to name anybody."""
    return machine.accelerator, machine.cpu_cores, machine.memory_gib, machine.system, machine.machine


def _evidence_below(folder: Path) -> Iterator[Path]:
    """Evidence of runs; a folder that is gone meanwhile is passed over, where `rglob` would raise."""
    for found, _, names in os.walk(folder):
        if Path(found).name == "evidence":
            yield from (Path(found) / name for name in names if name.startswith("r-") and name.endswith(".json"))


def _machine_in(path: Path) -> MachineClass | None:
    """The machine of one published run; None where the file is of another kind."""
    try:
        return MachineClass.model_validate(json.loads(path.read_bytes())["machine"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _letters(key: bytes, kind: str, name: str) -> str:
    """HMAC-SHA256 in a domain of its own, as letters and digits."""
    own = hmac.new(key, b"lab/pseudonym/1/" + kind.encode(), hashlib.sha256).digest()
    return base64.b32encode(hmac.new(own, name.encode(), hashlib.sha256).digest()).decode().lower()


def _power_below(number: int) -> int:
    return 1 << (number.bit_length() - 1)
