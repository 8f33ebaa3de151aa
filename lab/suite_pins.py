"""The digest of a quality suite, remembered: `lab plan` need not import lm-eval to say what the last plan said.

A digest is taken from what lm-eval holds after loading (`lab/quality/identity.py`), and importing lm-eval takes more
than a second. Beside the weights lies one small file for each suite that was ever pinned here, named by everything the
digest follows from: the suite as it was read, the source that sends and scores, and the installed libraries. Where one
of them differs there is no such file, and the digest is computed. A run computes it itself, always.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import re
import sys
from pathlib import Path

from lab.quality import identity
from lab.quality.suite import Suite
from lab.scratch import write_atomically
from lab.spec import SuiteRef, digest
from lab.weights import cache_folder

_DIGEST = re.compile(r"[0-9a-f]{64}")


def ref_of(suite: Suite) -> SuiteRef:
    """The suite, pinned as `Suite.ref` pins it.

    Raises:
        QualityError: a library that scores is not installed.
    """
    path = cache_folder() / "suites" / _key(suite)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        known = path.read_text(encoding="ascii").strip()
        if _DIGEST.fullmatch(known):
            return SuiteRef(name=suite.name, version=suite.version, sha256=known)
    found = suite.ref()
    with contextlib.suppress(OSError):  # a folder that cannot be written is asked again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, found.sha256.encode("ascii"))
    return found


def _key(suite: Suite) -> str:
    """Digest of everything that the digest of a suite follows from."""
    here = Path(identity.__file__).parent
    source = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(here.glob("*.py"))}
    return digest(
        {
            "suite": suite.model_dump(mode="json"),
            "source": source,
            "libraries": {name: _installed(name) for name in identity.LIBRARIES},
            "python": sys.version,
        }
    )


def _installed(library: str) -> str:
    """Version of a library and what was installed of it, file by file, as its own record says."""
    version = identity.library_version(library)
    record = importlib.metadata.distribution(library).read_text("RECORD") or ""
    return f"{version} {hashlib.sha256(record.encode()).hexdigest()}"
