"""Data of a suite that are fetched, not shipped: locked at the first fetch, checked at every later one.

`lab quality fetch` asks the hub which commit is the newest, takes the rows from that commit, and writes the commit
and a digest of every row into `suite.lock.json`. Nobody types a revision or a digest. From then on the commit of
the lock is asked for, and rows that differ from it are refused. Until then the suite reads "not locked, never run".
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import io
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import StringConstraints, ValidationError

from lab.errors import NotLocked, QualityError
from lab.scratch import write_atomically
from lab.spec import Frozen, Sha256, digest

LOCK = "suite.lock.json"
LIMIT_S = 60.0
"""Longest silence of the hub."""
MOST_BYTES = 256 * 1024 * 1024
REVISION = re.compile(r"[0-9a-f]{40}")


class HubSource(Frozen):
    """Where the items of a task come from, and how a row becomes one."""

    dataset: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._\-]+/[A-Za-z0-9._\-]+$")]
    files: Annotated[str, StringConstraints(pattern=r"\.parquet$")]
    """Pattern of the Parquet files of one split, for instance `main/test-*.parquet`."""
    question: str
    """The column with the question."""
    answer: str
    """The column with the answer."""
    accept: str
    """Regular expression whose one group is, in the answer, what is accepted."""


class FileLock(Frozen):
    """What one data file was made of."""

    dataset: str
    files: str
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
    """Commit of the data set."""
    row_sha256: tuple[Sha256, ...]
    """Digest of every row, in order: canonical JSON of the two columns that are read."""
    data_sha256: Sha256
    """Digest of the JSONL file made of them."""


class Lock(Frozen):
    """`suite.lock.json`: data files by name."""

    locked: dict[str, FileLock]


def read_locked(folder: Path, suite: str, data: str, source: HubSource) -> bytes:
    """The bytes of a fetched data file, exactly those that were locked.

    Raises:
        NotLocked: it was never fetched.
        QualityError: it is not on this machine, or differs from the lock.
    """
    again = f"lab quality fetch {suite}"
    locked = _read_lock(folder).locked.get(data)
    if locked is None:
        raise NotLocked(f"suite {suite}: not locked, never run; its data are taken from {source.dataset}", again)
    if (locked.dataset, locked.files) != (source.dataset, source.files):
        raise QualityError(
            f"{folder / LOCK} locks {locked.dataset} {locked.files}, but suite.yaml names {source.dataset} "
            f"{source.files}; another source is another suite",
            f"give the suite a new name, or delete {LOCK} and run: {again}",
        )
    try:
        payload = (folder / data).read_bytes()
    except OSError:
        raise QualityError(f"the data of suite {suite} are not on this machine: {data} is missing", again) from None
    if hashlib.sha256(payload).hexdigest() != locked.data_sha256:
        raise QualityError(f"{folder / data} is not what {LOCK} says it is", f"delete it and run: {again}")
    return payload


def fetch_data(
    folder: Path, suite: str, sources: dict[str, HubSource], on_step: Callable[[str], None]
) -> dict[str, FileLock]:
    """Take the rows of every source from the hub; lock them, or hold them against the lock that is there.

    The hub is `$HF_ENDPOINT`, else https://huggingface.co. Nothing is written unless everything fits.

    Args:
        folder: of the suite.
        suite: its name.
        sources: by name of the data file.
        on_step: told what is being done, in words.

    Raises:
        QualityError: the hub cannot be reached, answers something else, or its rows are not the locked ones.
    """
    hub = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    before, locks, payloads = _read_lock(folder).locked, {}, {}
    for data, source in sources.items():
        locks[data], payloads[data] = _fetch_one(hub, suite, data, source, before.get(data), on_step)
    try:
        for data, payload in payloads.items():
            write_atomically(folder / data, payload)
        write_atomically(folder / LOCK, Lock(locked=before | locks).model_dump_json(indent=1).encode() + b"\n")
    except OSError as problem:
        raise QualityError(f"{folder} cannot be written: {problem.strerror}") from None
    return locks


def _fetch_one(
    hub: str, suite: str, data: str, source: HubSource, locked: FileLock | None, on_step: Callable[[str], None]
) -> tuple[FileLock, bytes]:
    wanted = locked.revision if locked else "main"
    on_step(f"asking for {source.dataset} at {wanted}")
    about = _json(f"{hub}/api/datasets/{source.dataset}/revision/{wanted}")
    revision = str(about.get("sha"))
    if not REVISION.fullmatch(revision) or (locked and revision != locked.revision):
        raise QualityError(f"the hub names commit '{revision:.60}' of {source.dataset}, expected {wanted}")
    there = [str(entry.get("rfilename")) for entry in about.get("siblings", []) if isinstance(entry, dict)]
    names = sorted(name for name in there if fnmatch.fnmatchcase(name, source.files))
    if not names:
        raise QualityError(
            f"{source.dataset} at {revision[:12]} has no file {source.files}; it has: {', '.join(there[:12])}"
        )
    rows: list[dict[str, str]] = []
    for name in names:
        on_step(f"taking {name} at {revision[:12]}")
        rows += _rows(_get(f"{hub}/datasets/{source.dataset}/resolve/{revision}/{quote(name)}"), name, source)
    lines = (json.dumps(_item(number, row, source), ensure_ascii=False) + "\n" for number, row in enumerate(rows))
    payload = "".join(lines).encode()
    lock = FileLock(
        dataset=source.dataset,
        files=source.files,
        revision=revision,
        row_sha256=tuple(map(digest, rows)),
        data_sha256=hashlib.sha256(payload).hexdigest(),
    )
    if locked and lock.row_sha256 != locked.row_sha256:
        pairs = zip(lock.row_sha256, locked.row_sha256, strict=False)
        first = next((i for i, (got, want) in enumerate(pairs) if got != want), min(len(rows), len(locked.row_sha256)))
        raise QualityError(
            f"the rows of {source.dataset} are not those that were locked: {len(rows)} rows, expected "
            f"{len(locked.row_sha256)}; the first difference is row {first}. Nothing was written"
        )
    if locked and lock.data_sha256 != locked.data_sha256:
        raise QualityError(
            f"suite {suite} now makes other items of the locked rows of {data}; a change is a new suite",
            "undo the change in suite.yaml, or give the suite a new name",
        )
    return lock, payload


def _rows(payload: bytes, name: str, source: HubSource) -> list[dict[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [source.question, source.answer]
    try:
        table = pq.read_table(io.BytesIO(payload))
    except (pa.ArrowException, OSError) as problem:
        raise QualityError(f"{name} of {source.dataset} is no Parquet file: {problem!s:.120}") from None
    if lacking := [column for column in columns if column not in table.column_names]:
        raise QualityError(f"{name} has no column {lacking[0]}; it has: {', '.join(table.column_names)}")
    rows: list[dict[str, str]] = table.select(columns).to_pylist()
    for number, row in enumerate(rows):
        if not all(isinstance(value, str) and value for value in row.values()):
            raise QualityError(f"{name}: row {number} has an empty question or answer")
    return rows


def _item(number: int, row: dict[str, str], source: HubSource) -> dict[str, Any]:
    found = re.findall(source.accept, row[source.answer])
    if not found or not isinstance(found[-1], str) or not found[-1].strip():
        raise QualityError(f"row {number} of {source.dataset}: 'accept' finds nothing in its answer")
    return {"id": f"row-{number}", "question": row[source.question], "accept": [found[-1].strip()]}


def _read_lock(folder: Path) -> Lock:
    try:
        return Lock.model_validate_json((folder / LOCK).read_bytes())
    except FileNotFoundError:
        return Lock(locked={})
    except (OSError, ValidationError):
        raise QualityError(f"{folder / LOCK} is not a lock file", f"git checkout {folder / LOCK}") from None


def _json(url: str) -> dict[str, Any]:
    payload = _get(url)
    with contextlib.suppress(ValueError):
        document = json.loads(payload)
        if isinstance(document, dict):
            return document
    raise QualityError(f"{url} does not answer as a hub does: expected a JSON object")


def _get(url: str) -> bytes:
    if not url.startswith(("http://", "https://")):
        raise QualityError(f"HF_ENDPOINT has to be an http or https URL, got '{url:.60}'")
    try:
        with urllib.request.urlopen(url, timeout=LIMIT_S) as response:  # noqa: S310  checked above
            payload: bytes = response.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as problem:
        with problem:
            raise QualityError(f"{url}: HTTP {problem.code}") from None
    except OSError as problem:
        reason = getattr(problem, "reason", problem)
        raise QualityError(f"{url} cannot be reached: {reason}", "run it on a host with access to the hub") from None
    if len(payload) > MOST_BYTES:
        raise QualityError(f"{url} is longer than {MOST_BYTES} bytes")
    return payload
