"""Where the program of an engine is on this machine: a variable names it, the lab installed it, or the PATH has it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path


def engines_folder() -> Path:
    """Where engines are installed: $LAB_ENGINES, else .engines/ of this checkout."""
    checkout = Path(__file__).resolve().parents[1]
    return Path(os.environ.get("LAB_ENGINES") or checkout / ".engines").expanduser().absolute()


def find_program(variable: str, installed: tuple[str, ...], command: str) -> str | None:
    """The program that would be launched; None when there is none.

    Args:
        variable: of the environment, names the program and decides alone where it is set.
        installed: names of installations below `engines_folder()`, the preferred one first.
        command: its name on the PATH.
    """
    named = os.environ.get(variable)
    if named:
        return shutil.which(str(Path(named).expanduser()))
    for name in installed:
        program = _installed_program(engines_folder() / name)
        if program is not None:
            return program
    return shutil.which(command)


def _installed_program(folder: Path) -> str | None:
    """The program of a complete installation: its `installed.json`, which is written last, names it."""
    try:
        program = json.loads((folder / "installed.json").read_text(encoding="utf-8"))["program"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return shutil.which(str(program))


def missing_program(title: str, variable: str, command: str, get_it: str) -> str:
    """The sentence for an engine that `find_program` did not find.

    Args:
        title: the engine's name as people write it.
        variable: as for `find_program`.
        command: as for `find_program`.
        get_it: how to get it.
    """
    named = os.environ.get(variable)
    if named:
        return f"{title} is not installed here: {variable} names '{named}', which is not a program that can be run"
    return f"{title} is not installed here: no program '{command}' on the PATH, and {variable} names none; {get_it}"
