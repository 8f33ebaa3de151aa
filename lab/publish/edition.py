"""One report folder out of private runs: project, build, gate, write. No page is written around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from lab.errors import EvidenceError
from lab.evidence import EvidenceStore
from lab.publish.contrasts import contrasts
from lab.publish.evidence import PublicContrast, PublicRun
from lab.publish.gate import private_facts, release
from lab.publish.identity import open_namer, recognised_by
from lab.publish.projection import project
from lab.records import MachineClass, RunState
from lab.rules import subject

BuildPages = Callable[[tuple[PublicRun, ...], tuple[PublicContrast, ...]], Mapping[str, bytes]]

_CONTRASTS = TypeAdapter(tuple[PublicContrast, ...])


def newest_runs(store: EvidenceStore) -> tuple[str, ...]:
    """The measured, whole runs of the plan that was run last: the newest for each launch it plans.

    A run whose bundle is damaged is passed over in favour of an older one that is whole.
    """
    newest: dict[tuple[str, int], str] = {}
    plan = None
    for run_id in reversed(store.run_ids()):
        try:
            status, spec = store.status(run_id), store.spec(run_id)
        except EvidenceError:
            continue
        if status.state is not RunState.MEASURED or plan not in (None, status.plan_digest) or store.verify(run_id):
            continue
        plan = status.plan_digest
        newest.setdefault((spec.spec_digest, status.repeat), run_id)
    return tuple(run_id for run_id in store.run_ids() if run_id in newest.values())


def keep_apart(store: EvidenceStore, public: Iterable[PublicRun]) -> None:
    """Refuse evidence in which two different machines would look like one: a report would call them equal.

    Raises:
        EvidenceError: the classes of params/publish.yaml are too wide for these runs.
    """
    exact: dict[tuple[str, MachineClass], MachineClass] = {}
    for run in public:
        environment = store.environment(run.run_id)
        if environment is None:
            continue
        seen = exact.setdefault((run.match_id, run.machine), environment.machine_class)
        if recognised_by(seen) != recognised_by(environment.machine_class):
            raise EvidenceError(
                f"{run.run_id} ran on another machine than a run beside it, and both would be published as the same",
                "identity.machine: exact in params/publish.yaml, or reports of one machine each",
            )


def publish_report(store: EvidenceStore, run_ids: tuple[str, ...], folder: Path, build: BuildPages) -> tuple[Path, ...]:
    """Write pages and their public evidence into `folder`.

    Args:
        store: where the private bundles are.
        run_ids: which runs the report is about.
        folder: replaced as a whole.
        build: public runs, and what their answers give side by side, to pages; it sees nothing private.

    Returns:
        The pages written.

    Raises:
        TooManyVaried: runs of one table are not one match.
        EvidenceError: a run cannot carry a report.
        LeakFound: a page would identify this site.
    """
    specs = {run_id: store.spec(run_id) for run_id in run_ids}
    for table in sorted({spec.table for spec in specs.values()}):
        subject([spec for spec in specs.values() if spec.table == table])  # refuses unlike runs and names why
    namer = open_namer()
    public = tuple(project(store, run_id, namer=namer) for run_id in run_ids)
    keep_apart(store, public)
    compared = contrasts(store, public)
    pages = build(public, compared)
    evidence = {f"evidence/{run.run_id}.json": run.model_dump_json(indent=1).encode() + b"\n" for run in public}
    if compared:
        evidence["evidence/contrasts.json"] = _CONTRASTS.dump_json(compared, indent=1) + b"\n"
    release({**pages, **evidence}, folder, private_facts(store, run_ids))
    return tuple(folder / name for name in pages)
