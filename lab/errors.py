"""Every error the lab raises on purpose, in one tree.

    LabError                    a sentence for a person; the command line prints it and exits with 2
    ├── ParamsError             a params file or an argument says something the lab cannot follow
    │   ├── UnknownKey          a key nobody knows, with the nearest known one
    │   ├── UndecidedPlan       something that has no default was left out
    │   ├── OpenQuestions       a plan still asks the analyst something
    │   └── TooManyVaried       more than one thing differs between the runs of a plan
    ├── ModelError              a model file is missing, damaged or not the one that was named
    ├── EngineError             an engine could not be launched or reached
    │   ├── EngineNotInstalled  its program is not on this machine
    │   ├── PortInUse           somebody else listens where it should
    │   ├── MachineBusy         another lab measures on the same GPU
    │   ├── PreparationError    what a launch should start from cannot be arranged
    │   └── EngineDied          it ended before it was ready, or while it was being measured
    ├── EndpointError           a URL does not answer like an OpenAI-compatible server
    ├── EvidenceError           a bundle cannot be read, written or trusted
    │   ├── RunNotFound         no bundle has this run_id
    │   ├── EvidenceDamaged     a file is missing or its digest differs
    │   └── ImportRefused       somebody else's file is not what it was said to be, or cannot be read
    ├── TrafficError            a file of traffic cannot be read, or holds something else
    ├── QualityError            a quality suite is malformed or could not be run
    │   └── NotLocked           its data come from a hub and were never fetched
    └── LeakFound               something identifying would have been published

Every error carries what happened, and where there is one, the next command to run.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable


class LabError(Exception):
    """Something the user can act on.

    Args:
        what: one sentence: what happened, what was expected and what was got.
        next_step: the command to run or the thing to change next; None when there is none to give.
    """

    exit_code = 2

    def __init__(self, what: str, next_step: str | None = None) -> None:
        self.what = what
        self.next_step = next_step
        super().__init__(what if next_step is None else f"{what}\nNext: {next_step}")

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows of it, asked for by IPython: the sentence and the next step, no code."""
        return [f"{type(self).__name__}: {self}"]


class ParamsError(LabError):
    """A params file or an argument says something the lab cannot follow."""


class UnknownKey(ParamsError):
    """A key nobody knows; the sentence names the nearest known one."""

    def __init__(self, key: str, known: Iterable[str], where: str) -> None:
        names = sorted(known)
        near = nearest(key, names)
        hint = f"Did you mean '{near}'?" if near else f"Known here: {', '.join(names)}."
        file = where.partition(":")[0]
        super().__init__(f"{where}: unknown key '{key}'. {hint}", f"edit {file} and run the command again")


class UndecidedPlan(ParamsError):
    """A decision that has no default was left out of the plan."""


class OpenQuestions(ParamsError):
    """Values of a plan are still questions for the analyst."""


class TooManyVaried(ParamsError):
    """More than one thing differs between runs that are to stand side by side."""


class ModelError(LabError):
    """A model file is missing, damaged or not the one that was named."""


class EngineError(LabError):
    """An engine could not be launched or reached."""


class EngineNotInstalled(EngineError):
    """The engine's program is not on this machine."""


class PortInUse(EngineError):
    """Somebody else listens where the engine should."""


class MachineBusy(EngineError):
    """Another lab measures on the same GPU of this host."""


class PreparationError(EngineError):
    """What a launch should start from cannot be arranged."""


class EngineDied(EngineError):
    """The engine ended before it was ready or while it was being measured."""


class EndpointError(LabError):
    """A URL does not answer like an OpenAI-compatible server."""


class EvidenceError(LabError):
    """A bundle cannot be read, written or trusted."""


class RunNotFound(EvidenceError):
    """No bundle has this run_id."""


class EvidenceDamaged(EvidenceError):
    """A file of a bundle is missing or its digest differs from the manifest."""


class ImportRefused(EvidenceError):
    """A file of another tool cannot be read, or is not what it was said to be; nothing was imported."""


class TrafficError(LabError):
    """A file of traffic cannot be read, or holds something else; the sentence repeats nothing of it."""


class QualityError(LabError):
    """A quality suite is malformed or could not be run."""


class NotLocked(QualityError):
    """The data of a suite come from a hub and were never fetched: nothing says which rows they are."""


class LeakFound(LabError):
    """Something identifying would have been published; nothing was written."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`, or the only one that begins with it; None when none is near."""
    words = list(known)
    matches = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    begun = [candidate for candidate in words if word and candidate.startswith(word)]
    return matches[0] if matches else begun[0] if len(begun) == 1 else None


STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM})
"""What the system says when a disk is full, a limit is reached or a folder cannot be written."""


def storage_step(problem: OSError, where: str) -> str:
    """What to do about a disk that refuses.

    Args:
        problem: as the system said it.
        where: the folder, or the variable that names it.
    """
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"make room where {where} lies (df -h), then run the command again; what was finished is kept"
    if problem.errno == errno.EFBIG:
        return "raise the limit of file sizes (ulimit -f), then run the command again; what was finished is kept"
    return f"make {where} a folder that exists and can be written, then run the command again"
