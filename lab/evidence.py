"""The evidence store: one private bundle a run, written atomically, sealed with a manifest, verified on demand.

    runs/<run_id>/
        spec.json            what was meant
        status.json          where the run stands; written around the run by whoever supervises it
        environment.json     the machine
        limits.json          the model's shape and what the machine can do: what the ceilings follow from
        launch.json          the command, the engine's version, what preflight saw
        preparation.json     named events and the durations between them
        load.json            clock, cost of the client
        requests.parquet     one row a request, every chunk's arrival in it
        server_metrics.parquet   what the engine exposed while it was measured
        host.parquet         CPU and memory of the engine's processes, and what else ran
        gpu.parquet          what NVML saw; not there without NVML
        isolation.json       what else ran before the launch and after the stop
        emissions.jsonl      reference engine only: when it sent each chunk
        certificate.json     what the instrument was shown to hold on this machine; not there when it was not calibrated
        schemas.json         structured output only: the schema of each item
        quality.json         scores of the suite
        arms.json            what a constraint adds; only for a suite that asks free and under a schema
        samples.jsonl        one line an item of the suite
        engine.log           what the engine printed
        notebook.ipynb       the notebook as it was executed
        manifest.json        sha256 of every other file; its presence seals the bundle

    runs/.open/<run_id>      held by the process that measures, as long as it lives; gone when the bundle is sealed

A file that does not apply is not there. Nothing is changed after the seal. What others measured is kept beside these in
bundles of another kind, see `lab.imports`: they have no spec and no status, and no method here takes them for a run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from lab import clock
from lab.environment import Environment
from lab.errors import EvidenceDamaged, EvidenceError, RunNotFound, nearest, storage_step
from lab.limits import Limits, RunCeilings
from lab.metrics.catalog import measure_level
from lab.metrics.ceilings import ceiling_concern, run_ceilings
from lab.metrics.concerns import certificate_concern
from lab.metrics.counted import Counted, count_load
from lab.metrics.engine_series import engine_series
from lab.metrics.engine_use import engine_use
from lab.metrics.instrument import check_instrument
from lab.metrics.launches import tally
from lab.metrics.structured import classify
from lab.metrics.sums import run_sums, sums_concern
from lab.metrics.surroundings import energy_per_token, gpu_use, host_use, shared_machine, span_of
from lab.params import PARAMS_FOLDER
from lab.quality.arms import ArmComparison
from lab.quality.replies import QualityItem
from lab.records import (
    Capabilities,
    Certificate,
    Effective,
    Emission,
    EngineSeries,
    EngineUse,
    GpuSample,
    GpuUse,
    HostSample,
    HostUse,
    InstrumentLevel,
    LaunchSetting,
    LaunchTally,
    LevelCost,
    LevelResult,
    Preparation,
    QualityResult,
    RequestRecord,
    RunId,
    RunState,
    Sample,
)
from lab.scratch import hold, is_held, let_go, scratch, sync_folder, write_atomically
from lab.spec import Frozen, Name, Rung, RunSpec, Sha256, digest
from lab.support import Verdict
from lab.version import __version__
from lab.weights import sha256_of

SCHEMA_VERSION = 1
REST_S = 20.0
"""How long the processes of a lab that was killed are waited for; a leash kills what does not stop by itself."""
DONE = "done"
"""The step of a run that has been measured to its end."""
OPEN = ".open"
"""Folder of the files that living processes hold."""
IMPORTED = "imported.json"
SOURCE = "source.json"
"""The file an imported record was read from, as it was."""
"""The file that makes a bundle one of somebody else's measurement."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_RUN_ID = TypeAdapter(RunId)
_RUN_ID_PATTERN = re.compile(r"r-[a-z2-7]{10}")

M = TypeVar("M", bound=BaseModel)


class Status(Frozen):
    """Where a run stands. Private: it holds times and a process id."""

    run_id: RunId
    state: RunState
    step: str
    """The step it is in, or was in when it ended."""
    reason: str | None = None
    """Why it failed or was interrupted."""
    pid: int
    """Process that supervises the run."""
    pid_started: float
    """When that process was created, seconds since the epoch: a process id alone may be somebody else's."""
    started_at: datetime
    ended_at: datetime | None = None
    """None: it has not ended, or nobody saw it end."""
    started_s: float | None = None
    """Start on the clock nobody sets, seconds since the machine started; None: written by an earlier lab."""
    duration_s: float | None = None
    """From start to end on that clock."""
    clock_moved_s: float | None = None
    """How far the wall clock was set while it ran; negative: back. None: it was not."""
    clock_behind_s: float | None = None
    """How far the wall clock was, at the start, behind a moment this store already knew; None: it was not."""
    follows: RunId | None = None
    """Where the clock was behind: the run it came after."""
    plan: Name
    plan_digest: str
    match_id: str
    varied: tuple[str, ...]
    """What differs between the runs of this match."""
    repeat: int
    """0 for the first launch of this spec in its plan."""
    replaces: RunId | None = None
    """The interrupted or failed run this one repeats."""
    lab_version: str

    @property
    def unsure(self) -> timedelta:
        """How far its times may be off, because the clock was set."""
        moved, behind = abs(self.clock_moved_s or 0.0), self.clock_behind_s or 0.0
        if self.ended_at is not None and self.clock_moved_s is None:
            moved = max((self.started_at - self.ended_at).total_seconds(), 0.0)
        return timedelta(seconds=max(moved, behind))

    @property
    def clock_note(self) -> str | None:
        """What is to be said of its times; None when they are as they should be."""
        said = []
        if self.clock_behind_s is not None:
            said.append(f"the clock had gone back by {self.clock_behind_s:.0f} s before it started")
        if self.clock_moved_s is not None:
            where = "back" if self.clock_moved_s < 0 else "forward"
            said.append(f"the clock was set {where} by {abs(self.clock_moved_s):.0f} s while it ran")
        elif self.ended_at is not None and self.ended_at < self.started_at:
            said.append("it ended before it started: the clock was set back while it ran")
        return "; ".join(said) or None


class LaunchRecord(Frozen):
    """How the engine was launched and what it was seen to do."""

    engine_version: str | None
    command: tuple[str, ...]
    """Redacted: model path and port are placeholders."""
    argv: tuple[str, ...]
    """As it was run; of an attached engine its URL and the model name it knows. Private."""
    not_expressible: tuple[str, ...]
    """Request fields that were wanted and that this engine does not have."""
    capabilities: Capabilities
    settings: tuple[LaunchSetting, ...] = ()
    """Every condition as it was put to this engine."""
    effective: tuple[Effective, ...] = ()
    """Every condition as the running engine shows it."""
    attention_backend: str | None = None
    """As the running engine names it; None: it does not."""
    chat_template_sha256: Sha256 | None = None
    """Of the template given with the weights or beside them; None: there is none, or the lab did not see it."""
    surface: Literal["parser", "unverified"] = "unverified"
    """Whether the command was checked against the option list of the engine's own parser."""
    attached_to: Literal["this-machine", "elsewhere"] | None = None
    """Where an engine that ran already runs: behind the loopback interface, or on a host the lab cannot look into;
    None: the lab launched it."""
    gateway_version: str | None = None
    """As the gateway states it; None when there is none, or it does not say."""
    support: Verdict | None = None
    """What the support table said; None: it was not asked."""
    warnings: tuple[str, ...] = ()
    """What was noticed while launching, for instance a version outside the range the adapter was written for."""


class PromptFacts(Frozen):
    """How far the prompts of a level are what was asked."""

    inexact: int
    """Counted, and not of the asked length."""
    uncounted: int
    """Nobody could count them."""
    repeated: int
    """Sent again within this run: a prefix cache knows them."""


class LoadFacts(Frozen):
    """Facts of the load that belong to no single request."""

    zero_s: float
    """`perf_counter` second that is 0 in requests.parquet."""
    complete: bool
    costs: tuple[LevelCost, ...]
    prompts: tuple[PromptFacts, ...] = ()
    """One for each level."""
    metrics_reason: str | None
    """Why there is no server_metrics.parquet; None when there is one."""
    metric_names: dict[str, str] = Field(default_factory=dict)
    """The lab's names of the engine's metrics to the engine's own."""
    gpu_reason: str | None = None
    """Why there is no gpu.parquet; None when there is one."""
    not_supported: Name | None = None
    """The check that the workload needs and that this engine did not pass: no load was driven."""


class Isolation(Frozen):
    """What else ran on the machine around a run, CPU seconds a second."""

    other_cores_before: float
    other_cores_after: float


class Manifest(Frozen):
    """Digests of a sealed bundle."""

    schema_version: int = SCHEMA_VERSION
    run_id: RunId
    lab_version: str
    files: dict[str, Sha256]
    """File name to SHA-256; every file of the bundle besides the manifest."""
    sizes: dict[str, int] = Field(default_factory=dict)
    """File name to bytes; empty in a bundle of an earlier lab."""
    own_sha256: Sha256 | None = None
    """Of this file, with this value as `UNSIGNED`; None in a bundle of an earlier lab."""


UNSEALED = frozenset({RunState.RUNNING, RunState.INTERRUPTED})
"""States of a run whose bundle may lack its manifest."""
UNSIGNED = "0" * 64
"""Stands where a manifest's own digest goes while that is computed."""


class RunRecord(Frozen):
    """A bundle, read. Levels are computed from the raw records each time."""

    run_id: RunId
    spec: RunSpec
    status: Status
    environment: Environment | None
    launch: LaunchRecord | None
    preparation: Preparation | None
    levels: tuple[LevelResult, ...]
    prompts: tuple[PromptFacts, ...]
    host_use: HostUse | None
    gpu_use: GpuUse | None
    engine_use: EngineUse | None
    engine_series: EngineSeries | None
    """What its counters said over time; None: it exposes none of them."""
    ceilings: RunCeilings | None
    """The most it could reach beside what it reached; None: its limits were not recorded."""
    counted: Counted | None
    """What the load gives away beside its labels; None: there was none."""
    not_supported: Name | None
    """The check that the workload needs and that the engine did not pass: there is no level then."""
    instrument: tuple[InstrumentLevel, ...]
    certificate: Certificate | None
    """What the instrument had been shown to hold on this machine; None: it had not been calibrated."""
    quality: QualityResult | None
    arms: ArmComparison | None
    """What a constraint adds; None when the suite does not ask for it."""
    manifest_sha256: Sha256 | None
    """None for a bundle that is not sealed."""


class Around(Frozen):
    """What the machine did around the requests of a run."""

    zero_s: float
    """`perf_counter` second that is 0 in the records."""
    cores: int
    host: tuple[HostSample, ...]
    gpu: tuple[GpuSample, ...]


class EvidenceStore:
    """Bundles below one folder.

    Args:
        root: the runs folder; it is made when the first run is.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._held: dict[str, int] = {}
        """Open bundles of this process, and the handle that holds each."""

    # writing

    def create(
        self,
        spec: RunSpec,
        *,
        plan: str,
        plan_digest: str,
        match_id: str,
        varied: tuple[str, ...],
        repeat: int = 0,
        replaces: str | None = None,
    ) -> str:
        """Make a new bundle with its spec and the state `running`; returns its run_id.

        Raises:
            EvidenceError: the folder cannot be written.
        """
        run_id, process, now = new_run_id(), psutil.Process(), clock.now()
        behind_s = self.clock_behind_s(now)
        follows = None if behind_s is None else self.run_ids()[-1]
        status = Status(
            run_id=run_id,
            state=RunState.RUNNING,
            step="open",
            pid=process.pid,
            pid_started=process.create_time(),
            started_at=now,
            started_s=clock.since_start_s(),
            clock_behind_s=behind_s,
            follows=follows,
            plan=plan,
            plan_digest=plan_digest,
            match_id=match_id,
            varied=varied,
            repeat=repeat,
            replaces=replaces,
            lab_version=__version__,
        )
        with self._new(run_id) as folder:
            write_atomically(folder / "spec.json", _payload(spec))
            write_atomically(folder / "status.json", _payload(status))
            self._hold(run_id)
        return run_id

    @contextlib.contextmanager
    def _new(self, run_id: str) -> Iterator[Path]:
        """A folder that becomes a bundle when the block ends: whatever is killed, there never is a half of one.

        Raises:
            EvidenceError: the disk refuses.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with scratch("bundle", self.root) as own:
                folder = own / run_id
                folder.mkdir()
                yield folder
                folder.rename(self.root / run_id)
            sync_folder(self.root)
        except OSError as problem:
            self._let_go(run_id)
            raise EvidenceError(
                f"no bundle can be made in {self.root}: {problem.strerror}", storage_step(problem, str(self.root))
            ) from None

    def _hold(self, run_id: str) -> None:
        """Hold a bundle as long as this process lives: that is what makes it `running`."""
        place = self.root / OPEN
        try:
            place.mkdir(exist_ok=True)
            self._held[run_id] = hold(place / run_id)
        except OSError:  # a disk that knows no locks: then the process id has to do
            (place / run_id).unlink(missing_ok=True)

    def _let_go(self, run_id: str) -> None:
        with contextlib.suppress(OSError):
            (self.root / OPEN / run_id).unlink(missing_ok=True)
        if (handle := self._held.pop(run_id, None)) is not None:
            let_go(handle)

    def clock_behind_s(self, now: datetime) -> float | None:
        """How far a clock is behind a moment that this store knows already; None: it is not."""
        known = [moment for folder in self._folders(imported=False) for moment in _moments(folder)]
        behind_s = (max(known, default=now) - now).total_seconds()
        return round(behind_s, 3) if behind_s > clock.MOVED_S else None

    def path(self, run_id: str) -> Path:
        """The folder of a bundle.

        Raises:
            RunNotFound: no bundle has this run_id, with the nearest one that exists.
        """
        try:
            _RUN_ID.validate_python(run_id)
        except ValidationError:
            raise RunNotFound(f"'{run_id[:40]}' is not a run_id; one looks like r-a2b3c4d5e6", "lab runs") from None
        folder = self.root / run_id
        if not folder.is_dir():
            near = nearest(run_id, (*self.run_ids(), *self.imported_ids()))
            hint = f"; did you mean {near}?" if near else ""
            raise RunNotFound(f"no run {run_id} in {self.root}{hint}", "lab runs")
        return folder

    def write(self, run_id: str, name: str, data: BaseModel | bytes) -> None:
        """Write one file of an open bundle atomically.

        Raises:
            EvidenceError: the bundle is sealed, or the disk refuses.
        """
        folder = self.root / run_id
        if (folder / "manifest.json").exists():
            raise EvidenceError(f"{run_id} is sealed; nothing in it can be changed")
        try:
            write_atomically(folder / name, data if isinstance(data, bytes) else _payload(data))
        except OSError as problem:
            raise EvidenceError(
                f"{name} of {run_id} could not be written: {problem.strerror}", storage_step(problem, str(self.root))
            ) from None

    def write_requests(self, run_id: str, records: Sequence[RequestRecord]) -> None:
        """Write requests.parquet: one row a request, arrivals and kinds as lists."""
        rows = [record.model_dump(mode="json") for record in records]
        self.write(run_id, "requests.parquet", _parquet(pa.Table.from_pylist(rows, schema=REQUESTS_SCHEMA)))

    def write_samples(self, run_id: str, items: Sequence[QualityItem]) -> None:
        """Write samples.jsonl: one line an item of the suite."""
        self.write(run_id, "samples.jsonl", "".join(item.model_dump_json() + "\n" for item in items).encode())

    def write_watch(
        self, run_id: str, samples: Sequence[Sample], host: Sequence[HostSample], gpu: Sequence[GpuSample]
    ) -> None:
        """Write server_metrics.parquet, host.parquet and gpu.parquet: one row a sample; what is empty is left out."""
        tables: dict[str, Sequence[Frozen]] = {"server_metrics": samples, "host": host, "gpu": gpu}
        for name, rows in tables.items():
            if rows:
                self.write(run_id, f"{name}.parquet", _parquet(pa.Table.from_pylist([dict(row) for row in rows])))

    def update(self, run_id: str, **changes: Any) -> Status:
        """Change fields of status.json and return it."""
        status = self.status(run_id).model_copy(update=changes)
        self.write(run_id, "status.json", status)
        return status

    def seal(self, run_id: str, state: RunState, reason: str | None = None) -> None:
        """End a run: write its final status, then the manifest. A sealed bundle never changes."""
        status, now = self.status(run_id), clock.now()
        moved_s = duration_s = None
        if status.started_s is not None:
            now_s = clock.since_start_s()
            duration_s = round(now_s - status.started_s, 3)
            moved_s = clock.moved_s(status.started_at, status.started_s, now, now_s)
        self.update(run_id, state=state, reason=reason, ended_at=now, duration_s=duration_s, clock_moved_s=moved_s)
        self._write_manifest(run_id)
        self._let_go(run_id)

    def settle(self) -> tuple[str, ...]:
        """Seal what dead processes left open, and remove what they had half written.

        A run that had been measured to its end is measured; any other is interrupted. Nothing that lives is touched:
        where a lab was killed a moment ago, its leash needs seconds to stop the rest, and is waited for.

        Returns:
            The runs that were sealed.
        """
        settled = []
        for run_id in self.run_ids():
            with contextlib.suppress(EvidenceError, OSError):
                held = self.root / OPEN / run_id
                if self.is_sealed(run_id) and not held.exists():
                    continue
                status = self._status_at_rest(run_id)
                if status.state is RunState.RUNNING or self.damage(run_id):
                    continue
                held.parent.mkdir(exist_ok=True)
                self._held[run_id] = hold(held)  # refused when another lab does the same
                try:
                    if not self.is_sealed(run_id):
                        done = status.step == DONE and status.ended_at is not None
                        changes = {"state": RunState.MEASURED, "reason": None} if done else {}
                        self.write(run_id, "status.json", status.model_copy(update=changes))
                        self._write_manifest(run_id)
                        settled.append(run_id)
                finally:
                    self._let_go(run_id)
        for held in (self.root / OPEN).glob("r-*"):
            if not (self.root / held.name).exists() and is_held(held) is False:  # killed before it had a bundle
                held.unlink(missing_ok=True)
        return tuple(settled)

    def _status_at_rest(self, run_id: str) -> Status:
        """Where a run stands, once what its dead process has left behind has ended too."""
        deadline = time.monotonic() + REST_S
        while (status := self.status(run_id)).state is RunState.RUNNING and not _lives(status.pid, status.pid_started):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        return status

    def keep_imported(self, run_id: str, record: BaseModel, sources: Sequence[tuple[Path, str]]) -> None:
        """Write and seal a bundle of somebody else's measurement: what its files say, and the files.

        Args:
            run_id: of the new bundle.
            record: what the files say.
            sources: each file and the digest it was read with, the run's own first.

        Raises:
            EvidenceError: the disk refuses, or a file is no longer what was read.
        """
        with self._new(run_id) as folder:
            write_atomically(folder / IMPORTED, _payload(record))
            for number, (path, expected) in enumerate(sources):
                self._copy(path, expected, folder / (f"source-{number}{path.suffix}" if number else SOURCE))
            write_atomically(folder / "manifest.json", _manifest(folder, run_id))

    def _copy(self, path: Path, expected: str, target: Path) -> None:
        """Copy a file of any size; refuse one that is no longer what was read. Raises EvidenceError."""
        try:
            shutil.copyfile(path, target)
            copied = sha256_of(target)
        except OSError as problem:
            raise EvidenceError(
                f"{path.name} could not be copied: {problem.strerror}", storage_step(problem, str(self.root))
            ) from None
        if copied != expected:
            raise EvidenceError(f"{path.name} changed while it was imported; nothing of it was kept")

    def _write_manifest(self, run_id: str) -> None:
        folder = self.path(run_id)
        for leftover in folder.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)
        self.write(run_id, "manifest.json", _manifest(folder, run_id))

    def keep_certificate(self, environment: Environment, certificate: Certificate) -> Path:
        """Keep a certificate for runs on this machine; it replaces an older one. Raises EvidenceError."""
        path = self._certificate_path(environment)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            payload = _payload(certificate)
            write_atomically(path, payload)
            write_atomically(_beside(path), hashlib.sha256(payload).hexdigest().encode() + b"\n")
        except OSError as problem:
            raise EvidenceError(
                f"{path} could not be written: {problem.strerror}", storage_step(problem, str(self.root))
            ) from None
        return path

    # reading

    def certificate(self, environment: Environment) -> Certificate | None:
        """The certificate made on this machine with this version of the lab, or None.

        Raises:
            EvidenceDamaged: there is one, and it is not as it was written.
        """
        path = self._certificate_path(environment)
        if path.exists() and not _is_certificate(path):
            raise EvidenceDamaged(f"{path} is not as it was written", "lab calibrate, which replaces it")
        return self._optional(path, Certificate)

    def damaged_certificates(self) -> tuple[Path, ...]:
        """Certificates that are not as they were written."""
        there = sorted((self.root / "certificates").glob("*.json"))
        return tuple(path for path in there if not _is_certificate(path))

    def run_ids(self) -> tuple[str, ...]:
        """Every run that was measured with the lab, oldest first."""
        return _in_order(self._folders(imported=False))

    def imported_ids(self) -> tuple[str, ...]:
        """Every imported record, in the order of their names."""
        return tuple(sorted(folder.name for folder in self._folders(imported=True)))

    def is_imported(self, run_id: str) -> bool:
        """Whether a bundle holds somebody else's measurement. Raises RunNotFound."""
        return (self.path(run_id) / IMPORTED).exists()

    def _refuse_imported(self, run_id: str) -> None:
        if self.is_imported(run_id):
            raise EvidenceError(
                f"{run_id} was imported: it was not measured here, so it stands in no report and carries no claim",
                f"lab remeasure {run_id}",
            )

    def _folders(self, *, imported: bool) -> tuple[Path, ...]:
        if self.root.exists() and not self.root.is_dir():
            raise EvidenceError(f"{self.root} is a file, not a folder of runs", "name another --runs-dir")
        if not self.root.is_dir():
            return ()
        found = [folder for folder in self.root.iterdir() if _RUN_ID_PATTERN.fullmatch(folder.name) and folder.is_dir()]
        return tuple(folder for folder in found if (folder / IMPORTED).exists() == imported)

    def status(self, run_id: str) -> Status:
        """Where a run stands, truthfully: `running` only while its process lives.

        Raises:
            EvidenceError: an imported record, which ran nowhere here.
        """
        self._refuse_imported(run_id)
        status = self._read(self.path(run_id) / "status.json", Status)
        if status.state is RunState.RUNNING and not self._is_running(status):
            words = f"its process ended during '{status.step}'"
            if status.step == DONE:
                words = (
                    "measured to its end, but its process ended before the bundle was sealed; the next lab run seals it"
                )
            return status.model_copy(update={"state": RunState.INTERRUPTED, "reason": words})
        return status

    def _is_running(self, status: Status) -> bool:
        """Whether a living process holds the bundle; without locks, whether the process that made it lives."""
        if status.run_id in self._held:
            return True
        held = is_held(self.root / OPEN / status.run_id)
        return _lives(status.pid, status.pid_started) if held is None else held

    def spec(self, run_id: str) -> RunSpec:
        """What a run was meant to be. Raises EvidenceError for an imported record: it has none."""
        self._refuse_imported(run_id)
        return self._read(self.path(run_id) / "spec.json", RunSpec)

    def environment(self, run_id: str) -> Environment | None:
        """The machine of a run; None when the run did not get that far."""
        return self._optional(self.path(run_id) / "environment.json", Environment)

    def launch(self, run_id: str) -> LaunchRecord | None:
        """How the engine of a run was launched; None when the run did not get that far."""
        return self._optional(self.path(run_id) / "launch.json", LaunchRecord)

    def requests(self, run_id: str) -> tuple[RequestRecord, ...]:
        """Raw records of a run, warm-up included; empty when there is no load in the bundle."""
        return self._rows(run_id, "requests.parquet", RequestRecord)

    def words(self, run_id: str) -> tuple[tuple[str, str | None, str | None], ...]:
        """Answer, error and item of every request of a run, and nothing else of it: what must not get out."""
        rows = self._table(run_id, "requests.parquet", ["text", "error", "item"])
        return () if rows is None else tuple((row["text"], row["error"], row["item"]) for row in rows.to_pylist())

    def samples(self, run_id: str) -> tuple[QualityItem, ...]:
        """Answers to the quality suite, item by item; empty when none was asked."""
        path = self.path(run_id) / "samples.jsonl"
        if not path.exists():
            return ()
        try:
            return tuple(QualityItem.model_validate_json(line) for line in path.read_bytes().splitlines())
        except (OSError, ValidationError) as problem:
            raise EvidenceDamaged(f"{run_id}/samples.jsonl cannot be read: {_first(problem)}") from None

    def read(self, run_id: str) -> RunRecord:
        """A whole bundle; every level computed from its raw records.

        Raises:
            RunNotFound, EvidenceDamaged: also where only one file has changed; nothing else in it is trusted then.
        """
        self.require_whole(run_id)
        folder, spec = self.path(run_id), self.spec(run_id)
        records, schemas = self.requests(run_id), self._schemas(run_id)
        certificate = self._optional(folder / "certificate.json", Certificate)
        load = self._optional(folder / "load.json", LoadFacts)
        environment = self.environment(run_id)
        isolation = self._optional(folder / "isolation.json", Isolation)
        around = Around(
            zero_s=load.zero_s if load else 0.0,
            cores=environment.cpu_cores if environment else 1,
            host=self._rows(run_id, "host.parquet", HostSample),
            gpu=self._rows(run_id, "gpu.parquet", GpuSample),
        )
        begin_s = min((record.send_s for record in records if not record.warmup), default=0.0)
        levels = tuple(
            _level(spec, rung, of_level, schemas, certificate, around, begin_s)
            for level, rung in enumerate(spec.workload.rungs)
            if (of_level := [record for record in records if record.level == level])
        )
        names = load.metric_names if load else {}
        scraped = self._scraped(run_id, names)
        uses = (
            gpu_use(around.gpu),
            engine_use(scraped, names),
        )
        hosts = host_use(
            around.host,
            isolation.other_cores_before if isolation else None,
            isolation.other_cores_after if isolation else None,
        )
        limits = self._optional(folder / "limits.json", Limits)
        ceilings = None
        if limits is not None:
            seen = uses[0] is not None and uses[0].engine_seen
            sums = run_sums(records, uses[1])
            ceilings = run_ceilings(limits, spec, levels, records, engine_seen=seen, host=hosts, sums=sums)
        return RunRecord(
            run_id=run_id,
            spec=spec,
            status=self.status(run_id),
            environment=environment,
            launch=self.launch(run_id),
            preparation=self._optional(folder / "preparation.json", Preparation),
            levels=_above(levels, ceilings),
            prompts=load.prompts if load else (),
            host_use=hosts,
            gpu_use=uses[0],
            engine_use=uses[1],
            engine_series=engine_series(scraped, names, _begins(levels, around.zero_s + begin_s)),
            ceilings=ceilings,
            counted=count_load(records, levels, spec.workload),
            not_supported=load.not_supported if load else None,
            instrument=self._instrument(run_id, spec, records, load),
            certificate=certificate,
            quality=self._optional(folder / "quality.json", QualityResult),
            arms=self._optional(folder / "arms.json", ArmComparison),
            manifest_sha256=_digest_of(folder / "manifest.json"),
        )

    def metrics_json(self, run_id: str) -> str:
        """Every metric of a run, computed from its raw records now, as a JSON document."""
        record = self.read(run_id)
        document = {
            "run_id": run_id,
            "spec_digest": record.spec.spec_digest,
            "levels": [level.model_dump(mode="json") for level in record.levels],
        }
        return json.dumps(document, indent=1)

    def launches(self, run_id: str, until: datetime | None = None) -> LaunchTally:
        """How the launches of a run's spec went, over all runs of its plan; attached engines are not launched.

        Args:
            run_id: one of them.
            until: launches that began later are not counted; None counts all.
        """
        spec_digest, plan_digest = self.spec(run_id).spec_digest, self.status(run_id).plan_digest
        attempts: list[float | None] = []
        for other in self.run_ids():
            with contextlib.suppress(EvidenceError):
                status = self.status(other)
                if status.plan_digest != plan_digest or self.spec(other).spec_digest != spec_digest:
                    continue
                if self.damage(other):
                    continue
                if until is not None and status.started_at > until:
                    continue
                preparation = self._optional(self.path(other) / "preparation.json", Preparation)
                if preparation is not None and preparation.startup_s is not None:
                    attempts.append(preparation.startup_s)
                elif preparation is None and status.state is RunState.FAILED and self.environment(other) is not None:
                    attempts.append(None)
        return tally(attempts)

    def verify(self, run_id: str) -> tuple[str, ...]:
        """Everything that is wrong with a bundle, in words; empty when it is whole.

        A bundle that is not sealed is not whole: it has nothing to be checked against.
        """
        problems = self.damage(run_id)
        if problems or self.is_sealed(run_id):
            return problems
        if self.is_imported(run_id):
            return ("not sealed: it was not imported to its end",)
        return (f"not sealed: the run is {self.status(run_id).state}",)

    def is_sealed(self, run_id: str) -> bool:
        """Whether a bundle has a manifest. Raises RunNotFound."""
        return (self.path(run_id) / "manifest.json").exists()

    def damage(self, run_id: str) -> tuple[str, ...]:
        """What has changed in a sealed bundle since it was sealed, file by file; empty when nothing has.

        Of a bundle that is not sealed only the files that say what it is are tried.
        """
        folder = self.path(run_id)
        if not self.is_sealed(run_id):
            try:
                ended = self.is_imported(run_id) or self.status(run_id).state not in UNSEALED
                if not self.is_imported(run_id):
                    self.spec(run_id)
            except EvidenceDamaged as problem:
                return (problem.what,)
            # whoever is killed while sealing leaves the file that it held; whoever has sealed does not
            return ("manifest.json: missing",) if ended and not (self.root / OPEN / run_id).exists() else ()
        try:
            payload = (folder / "manifest.json").read_bytes()
            manifest = Manifest.model_validate_json(payload)
        except (OSError, ValidationError) as problem:
            return (f"manifest.json: cannot be read: {_first(problem)}",)
        own = manifest.own_sha256
        if own is not None:
            got = hashlib.sha256(payload.replace(own.encode(), UNSIGNED.encode())).hexdigest()
            if got != own:
                return (f"manifest.json: changed: expected sha256 {own[:12]}…, got {got[:12]}…",)
        problems = [] if manifest.run_id == run_id else [f"manifest.json: it belongs to {manifest.run_id}"]
        there = {path.name for path in folder.iterdir()} - {"manifest.json"}
        problems += [
            words
            for name, expected in sorted(manifest.files.items())
            if (words := _difference(folder / name, expected, manifest.sizes.get(name))) is not None
        ]
        problems += [f"{name}: added: not in the manifest" for name in sorted(there - set(manifest.files))]
        return tuple(problems)

    def require_whole(self, run_id: str) -> None:
        """Refuse a bundle that has changed since it was sealed.

        Raises:
            EvidenceDamaged: it has; the sentence says where.
        """
        if problems := self.damage(run_id):
            raise EvidenceDamaged(
                f"{run_id} is damaged, so nothing in it is used:\n" + "\n".join(f"  {one}" for one in problems),
                f"lab verify {run_id}",
            )

    def find(self, spec_digest: str, *, plan_digest: str, repeat: int) -> tuple[str | None, str | None]:
        """For resuming: the measured and whole run of one launch of a plan, and the last one that did not get there.

        Returns:
            (run_id of a finished run or None, run_id of the newest unfinished one or None).
        """
        done = unfinished = None
        for run_id in self.run_ids():
            with contextlib.suppress(EvidenceError):
                status = self.status(run_id)
                if (status.plan_digest, status.repeat) != (plan_digest, repeat) or self.spec(
                    run_id
                ).spec_digest != spec_digest:
                    continue
                if status.state is RunState.MEASURED and not self.verify(run_id):
                    done = run_id
                elif status.state is not RunState.RUNNING:
                    unfinished = run_id
        return done, unfinished

    def _certificate_path(self, environment: Environment) -> Path:
        machine = [environment.hostname, environment.cpu_model, environment.cpu_cores, environment.python, __version__]
        return self.root / "certificates" / f"{digest(machine)[:16]}.json"

    def _schemas(self, run_id: str) -> dict[str, Any]:
        path = self.path(run_id) / "schemas.json"
        if not path.exists():
            return {}
        try:
            return TypeAdapter(dict[str, dict[str, Any]]).validate_json(path.read_bytes())
        except (OSError, ValidationError) as problem:
            raise EvidenceDamaged(f"{run_id}/schemas.json cannot be read: {_first(problem)}") from None

    def _instrument(
        self, run_id: str, spec: RunSpec, records: Sequence[RequestRecord], load: LoadFacts | None
    ) -> tuple[InstrumentLevel, ...]:
        path = self.path(run_id) / "emissions.jsonl"
        if load is None or not path.exists():
            return ()
        emissions = dict(_emissions(path))
        costs = {cost.level: cost for cost in load.costs}
        checks = (
            check_instrument(
                [record for record in records if record.level == level],
                emissions,
                rung=rung,
                zero_s=load.zero_s,
                cost=costs.get(level),
            )
            for level, rung in enumerate(spec.workload.rungs)
        )
        return tuple(check for check in checks if check is not None)

    def _scraped(self, run_id: str, names: Mapping[str, str]) -> tuple[Sample, ...]:
        """What the engine exposed under `names`; one sample of another name where there is none of these.

        A page of metrics holds hundreds of series, and an engine that was scraped is not one that was not.
        """
        table = self._table(run_id, "server_metrics.parquet")
        if table is None:
            return ()
        wanted = [name for name in table["name"].unique().to_pylist() if name.partition("{")[0] in names.values()]
        kept = table.filter(pc.is_in(table["name"], pa.array(wanted, pa.string())))
        return self._records(run_id, "server_metrics.parquet", kept if kept.num_rows else table.slice(0, 1), Sample)

    def _rows(self, run_id: str, name: str, cls: type[M]) -> tuple[M, ...]:
        """Rows of a table of a bundle; empty when it has none."""
        table = self._table(run_id, name)
        return () if table is None else self._records(run_id, name, table, cls)

    def _table(self, run_id: str, name: str, columns: list[str] | None = None) -> pa.Table | None:
        path = self.path(run_id) / name
        if not path.exists():
            return None
        try:
            return pq.read_table(path, columns=columns)
        except (pa.ArrowException, OSError) as problem:
            raise EvidenceDamaged(f"{name} of {run_id} cannot be read: {_first(problem)}") from None

    @staticmethod
    def _records(run_id: str, name: str, table: pa.Table, cls: type[M]) -> tuple[M, ...]:
        try:
            return _tuple_of(cls).validate_python(table.to_pylist())
        except (pa.ArrowException, ValidationError) as problem:
            raise EvidenceDamaged(f"{name} of {run_id} cannot be read: {_first(problem)}") from None

    def _optional(self, path: Path, cls: type[M]) -> M | None:
        return self._read(path, cls) if path.exists() else None

    @staticmethod
    def _read(path: Path, cls: type[M]) -> M:
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise EvidenceDamaged(f"{path.parent.name}/{path.name} is missing", "lab runs") from None
        except (OSError, ValidationError) as problem:
            raise EvidenceDamaged(
                f"{path.parent.name}/{path.name} cannot be read: {_first(problem)}", f"lab verify {path.parent.name}"
            ) from None


def open_store(folder: str | Path | None = None) -> EvidenceStore:
    """The store in `folder`, else in $LAB_RUNS, else in runs/ of this checkout."""
    return EvidenceStore(Path(folder or os.environ.get("LAB_RUNS") or PARAMS_FOLDER.parent / "runs").expanduser())


REQUESTS_SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("index", pa.int32()),
        ("request_id", pa.string()),
        ("item", pa.string()),
        ("warmup", pa.bool_()),
        ("intended_send_s", pa.float64()),
        ("send_s", pa.float64()),
        ("first_byte_s", pa.float64()),
        ("end_s", pa.float64()),
        ("status", pa.int32()),
        ("chunk_s", pa.list_(pa.float64())),
        ("chunk_kind", pa.list_(pa.string())),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("asked_tokens", pa.int64()),
        ("finish_reason", pa.string()),
        ("outcome", pa.string()),
        ("error", pa.string()),
        ("text", pa.string()),
    ]
)
"""Columns of requests.parquet: the fields of `RequestRecord`."""


def new_run_id() -> str:
    """`r-` and 10 random base32 characters: no time, no host, publishable."""
    return new_id("r")


def new_id(kind: str) -> str:
    """`kind`, a dash and 10 random base32 characters."""
    return f"{kind}-" + "".join(secrets.choice(_ALPHABET) for _ in range(10))


def _payload(data: BaseModel) -> bytes:
    return data.model_dump_json(indent=1).encode() + b"\n"


def _manifest(folder: Path, run_id: str) -> bytes:
    """The manifest of a folder as it is now, signed with its own digest."""
    there = [path for path in sorted(folder.iterdir()) if path.is_file()]
    manifest = Manifest(
        run_id=run_id,
        lab_version=__version__,
        files={path.name: sha256_of(path) for path in there},
        sizes={path.name: path.stat().st_size for path in there},
        own_sha256=UNSIGNED,
    )
    unsigned = _payload(manifest)
    return unsigned.replace(UNSIGNED.encode(), hashlib.sha256(unsigned).hexdigest().encode())


@cache
def _tuple_of(cls: type[M]) -> TypeAdapter[tuple[M, ...]]:
    """Checks all rows of a table at once, which takes a third of the time."""
    return TypeAdapter(tuple[cls, ...])  # type: ignore[valid-type]  # a class, not its name


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


def _level(
    spec: RunSpec,
    rung: Rung,
    records: Sequence[RequestRecord],
    schemas: Mapping[str, dict[str, Any]],
    certificate: Certificate | None,
    around: Around,
    begin_s: float,
) -> LevelResult:
    """A level with what its records alone do not say: its schemas, the instrument it stands on, the machine, when."""
    measured = [record for record in records if not record.warmup]
    level = measure_level(measured, rung, spec.workload.slo)
    span = span_of(measured, around.zero_s)
    about = (
        certificate_concern(measured, rung, certificate),
        shared_machine(span, around.host, around.cores),
        sums_concern(level, measured, spec.workload),
    )
    return level.model_copy(
        update={
            "concerns": level.concerns + tuple(concern for concern in about if concern is not None),
            "energy_j_per_output_token": energy_per_token(measured, span, around.gpu),
            "structured": classify(measured, schemas),
            "began_s": min((record.send_s for record in measured), default=begin_s) - begin_s,
        }
    )


def _begins(levels: Sequence[LevelResult], begin_s: float) -> list[float]:
    """`perf_counter` second of the first send of each level."""
    return [begin_s + level.began_s for level in levels if level.began_s is not None]


def _above(levels: tuple[LevelResult, ...], ceilings: RunCeilings | None) -> tuple[LevelResult, ...]:
    """The levels, and a concern with each that holds a value no machine could have reached."""
    if ceilings is None or ceilings.reason is not None:
        return levels
    concerns = map(ceiling_concern, ceilings.levels)
    return tuple(
        level if one is None else level.model_copy(update={"concerns": (*level.concerns, one)})
        for level, one in zip(levels, concerns, strict=True)
    )


def _digest_of(path: Path) -> str | None:
    """Digest of a file; None when there is none that can be read."""
    try:
        return sha256_of(path)
    except OSError:
        return None


def _emissions(path: Path) -> Iterator[tuple[str, Emission]]:
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            fields = json.loads(line)
            yield fields.pop("request_id"), Emission.model_validate(fields)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise EvidenceDamaged(
            f"{path.parent.name}/{path.name} cannot be read: {_first(problem)}", f"lab verify {path.parent.name}"
        ) from None


def _difference(path: Path, expected: str, size: int | None) -> str | None:
    """How a file differs from what was sealed, in words; None when it does not."""
    if not path.exists():
        return f"{path.name}: missing"
    got = _digest_of(path)
    if got == expected:
        return None
    if got is None:
        return f"{path.name}: cannot be read"
    digests = f"expected sha256 {expected[:12]}…, got {got[:12]}…"
    has = path.stat().st_size
    if size is None or has == size:
        return f"{path.name}: changed: {digests}"
    return f"{path.name}: {'truncated' if has < size else 'longer'}: {has:,} bytes, {size:,} when sealed; {digests}"


def _beside(certificate: Path) -> Path:
    """Where the digest of a certificate lies."""
    return certificate.with_suffix(".sha256")


def _is_certificate(path: Path) -> bool:
    """Whether a certificate is as it was written; one of an earlier lab has no digest beside it."""
    try:
        payload = path.read_bytes()
        Certificate.model_validate_json(payload)
        known = _beside(path).read_text(encoding="ascii", errors="replace").strip() if _beside(path).exists() else None
    except (OSError, ValidationError):
        return False
    return known in (None, hashlib.sha256(payload).hexdigest())


def _moments(folder: Path) -> Iterator[datetime]:
    """When a run started and ended, as far as its status says."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        said = json.loads((folder / "status.json").read_bytes())
        for name in ("started_at", "ended_at"):
            if said.get(name):
                yield datetime.fromisoformat(said[name]).astimezone(UTC)


def _in_order(folders: Iterable[Path]) -> tuple[str, ...]:
    """Runs in the order in which they started: as their statuses say, so that copying a store keeps it.

    A run that started while the clock was behind comes after the one it followed, whatever the clock said.
    """
    started: dict[str, datetime] = {}
    follows: dict[str, str] = {}
    for folder in folders:
        started[folder.name] = next(_moments(folder), datetime.min.replace(tzinfo=UTC))
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            if isinstance(before := json.loads((folder / "status.json").read_bytes()).get("follows"), str):
                follows[folder.name] = before
    ordered = sorted(started, key=lambda name: (started[name], name))
    place: dict[str, tuple[datetime, int, str]] = {}
    for name in ordered:
        chain = [name]
        while (before := follows.get(chain[-1])) in started and before not in place and before not in chain:
            chain.append(str(before))
        for one in reversed(chain):
            known = place.get(follows.get(one, ""))
            late = known is not None and started[one] <= known[0]
            place.setdefault(one, (known[0], known[1] + 1, one) if known and late else (started[one], 0, one))
    return tuple(sorted(ordered, key=lambda name: place[name]))


def _lives(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) < 1.0
    except psutil.Error:
        return False


def _first(problem: Exception) -> str:
    lines: Iterable[str] = str(problem).splitlines()
    return next(iter(lines), type(problem).__name__)
