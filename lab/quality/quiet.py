"""Keeps lm-eval and the Hugging Face libraries offline and quiet while they are used."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HOME": os.path.join(os.devnull, "huggingface"),
}
"""No network, and a home that cannot exist: nothing is read from it, nothing can be left in it."""


@contextmanager
def offline_and_quiet() -> Iterator[None]:
    """No network, no home, no chatter; afterwards the environment and the logger are as before.

    Libraries imported for the first time in here stay offline for the life of the process: they read it once.
    """
    logger = logging.getLogger("lm_eval")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would quote paths of this machine into the notebook
        before = {key: os.environ.get(key) for key in OFFLINE}
        os.environ.update(OFFLINE)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


def import_jsonschema() -> None:
    """Import jsonschema without the grammar of international URLs, which takes a second to build and is never used.

    It serves the format `iri` alone, and the lab checks no formats. Afterwards it can be imported as ever.
    """
    grammar = "rfc3987_syntax"
    if grammar in sys.modules or "jsonschema" in sys.modules:
        return
    sys.modules[grammar] = None  # type: ignore[assignment]  # how Python marks a module that is not to be found
    try:
        import jsonschema.validators  # noqa: F401
    finally:
        del sys.modules[grammar]
