"""What is damaged in a store, told to a person: which run, which file, in what way, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape

from lab.errors import EvidenceDamaged, EvidenceError
from lab.evidence import EvidenceStore


def damaged(store: EvidenceStore) -> dict[str, tuple[str, ...]]:
    """Every damaged bundle of a store, with what is wrong with it."""
    found = {run_id: store.damage(run_id) for run_id in (*store.run_ids(), *store.imported_ids())}
    return {run_id: problems for run_id, problems in found.items() if problems}


def describe_all(store: EvidenceStore, out: Console) -> None:
    """Check every bundle and say what was found.

    Raises:
        EvidenceDamaged: at least one is damaged; what to do is the next step.
    """
    found = damaged(store)
    for run_id, problems in found.items():
        out.print(f"{run_id} is damaged", soft_wrap=True)
        for problem in problems:
            out.print(f"  {escape(problem)}", soft_wrap=True)
    runs, records = store.run_ids(), store.imported_ids()
    open_ = [run_id for run_id in (*runs, *records) if run_id not in found and not store.is_sealed(run_id)]
    for run_id in open_:
        state = "not imported to its end" if run_id in records else store.status(run_id).state
        out.print(f"{run_id} is not sealed: {state}; there is nothing to check it against", soft_wrap=True)
    whole = len(runs) + len(records) - len(found) - len(open_)
    imported = f" and {len(records)} imported" if records else ""
    out.print(
        f"{len(runs)} runs{imported} in {store.root}: {whole} whole, {len(found)} damaged, {len(open_)} not sealed",
        soft_wrap=True,
    )
    certificates = store.damaged_certificates()
    for path in certificates:
        out.print(f"{path} is damaged: the next run on its machine would refuse it", soft_wrap=True)
    if found:
        raise EvidenceDamaged(f"{len(found)} damaged: {', '.join(found)}", _next(store, found))
    if certificates:
        raise EvidenceDamaged(
            f"{len(certificates)} damaged: {', '.join(path.name for path in certificates)}",
            "lab calibrate on that machine, or remove the file",
        )


def describe_rest(store: EvidenceStore, run_id: str, out: Console) -> None:
    """What a damaged bundle still says of itself, from files that are whole."""
    touched = {problem.partition(":")[0] for problem in store.damage(run_id)}
    if "manifest.json" in touched:
        return  # nothing vouches for the other files
    if "status.json" not in touched:
        status = store.status(run_id)
        out.print(f"{run_id}: plan {status.plan}, started {status.started_at:%Y-%m-%d %H:%M:%S} UTC, {status.state}")
    if "spec.json" not in touched:
        spec = store.spec(run_id)
        out.print(escape(f"{run_id}: {spec.engine} / {spec.profile.name}, {spec.model.series}, {spec.spec_digest}"))


def note_damaged(store: EvidenceStore, err: Console, what: str) -> None:
    """Say that damaged bundles were left out of something; nothing when there are none."""
    if found := damaged(store):
        err.print(f"note: {what}: {', '.join(found)}: damaged. Next: lab verify --all", soft_wrap=True)


def _next(store: EvidenceStore, found: Mapping[str, tuple[str, ...]]) -> str:
    plans = []
    for run_id in found:
        try:
            plans += [store.status(run_id).plan]
        except EvidenceError:
            continue
    again = "".join(f" or lab run params/{plan}.yaml --resume" for plan in sorted(set(plans)))
    return (
        f"bring the files back from a copy{again}, which measures anew what is damaged, under a new run_id; "
        "nothing damaged is used"
    )
