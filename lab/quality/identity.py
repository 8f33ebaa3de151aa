"""What "the same suite" means: one digest over everything that decides what is asked and what a score is.

lm-eval's own `task_hash` misses generation settings, filters and metrics. This one is taken from what lm-eval holds
after loading, so that nothing that was written differently and means the same, or the reverse, can slip by.

Inside: name and version of the suite; versions of the libraries that score; every task as the suite states it and as
lm-eval resolved it; the bytes of the data and of the source that sends and scores; the ids of the items in their
order; the body of every request. Outside, because it belongs to the run: URL, model, sampling, concurrency, and the
model's tokenizer (where token ids are sent, the digest has the texts they are made of).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.errors import QualityError
from lab.quality.quiet import offline_and_quiet
from lab.spec import digest

if TYPE_CHECKING:
    from lab.quality.suite import Suite, Task

SOURCE_FILES = ("scoring.py", "japanese.py", "replies.py", "lmeval.py", "harness.py")
"""Source that decides what is sent and what a score is; what `suite.py` and `hub.py` decide is in the data."""

LIBRARIES = ("lm-eval", "datasets", "jsonschema")
"""Their versions decide prompts and scores."""


def lm_eval_version() -> str:
    """The installed version of lm-eval, found without importing it.

    Raises:
        QualityError: lm-eval is not installed.
    """
    return library_version("lm-eval")


def suite_digest(suite: Suite) -> str:
    """SHA-256 of a suite; the same on every machine and in every folder, `about` and comments do not count.

    Raises:
        QualityError: lm-eval is not installed.
    """
    versions = {name: library_version(name) for name in LIBRARIES}
    here = Path(__file__).parent
    with offline_and_quiet():
        return digest(
            {
                "suite": suite.name,
                "version": suite.version,
                "libraries": versions,
                "code": {name: hashlib.sha256((here / name).read_bytes()).hexdigest() for name in SOURCE_FILES},
                "tasks": [pinned(suite, task) for task in suite.tasks],
            }
        )


def pinned(suite: Suite, task: Task) -> dict[str, Any]:
    """Everything of one task that the digest covers, as plain data."""
    from lab.quality.lmeval import ItemTask, as_turns, chat_payload, completion_payload, echo_payload

    built = ItemTask(suite, task)
    output = task.config.output
    built.build_all_requests(
        apply_chat_template=output == "chat",
        fewshot_as_multiturn=output == "chat",
        chat_template=as_turns if output == "chat" else None,
    )

    def body(*texts: Any) -> dict[str, Any]:
        if output == "chat":
            return chat_payload(*texts)
        return completion_payload(*texts) if output == "completion" else echo_payload(list(texts))

    return {
        "stated": task.config.model_dump(mode="json"),
        "resolved": built.dump_config(),
        "data_sha256": task.data_sha256,
        "items": [item.id for item in task.items],
        "requests": [[request.doc_id, request.idx, body(*request.args)] for request in built.instances],
    }


def library_version(library: str) -> str:
    """The installed version of a library that scores.

    Raises:
        QualityError: it is not installed.
    """
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        raise QualityError(f"Quality needs {library}, which is not installed here.", "make setup") from None
