"""The engine lab: explains which LLM inference engine to run, with evidence.

This is the door: the names notebooks use. Each is loaded when it is first asked for, so that the load
process, which lives in this package too, imports nothing it does not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lab.version import __version__ as __version__

__all__ = [
    "Comparison",
    "Draft",
    "EvidenceStore",
    "LabError",
    "PublicRun",
    "RunPlan",
    "RunRecord",
    "RunSpec",
    "build_pages",
    "choices",
    "confine",
    "find_problems",
    "how_to_use",
    "load_plan",
    "measure_level",
    "open_run",
    "open_store",
    "page",
    "plot_quality",
    "plot_requests",
    "plot_values",
    "preflight_sheet",
    "project",
    "rules_sheet",
    "run_one",
    "runs_frame",
    "write_draft",
]

_HOMES = {
    "Comparison": "lab.desk.comparison",
    "Draft": "lab.desk.draft",
    "EvidenceStore": "lab.evidence",
    "LabError": "lab.errors",
    "PublicRun": "lab.publish.evidence",
    "RunPlan": "lab.plan",
    "RunRecord": "lab.evidence",
    "RunSpec": "lab.spec",
    "build_pages": "lab.report.build",
    "choices": "lab.desk.draft",
    "confine": "lab.desk.edition",
    "find_problems": "lab.plan",
    "how_to_use": "lab.desk.plots",
    "load_plan": "lab.plan",
    "measure_level": "lab.metrics.catalog",
    "open_run": "lab.run",
    "open_store": "lab.evidence",
    "page": "lab.desk.edition",
    "plot_quality": "lab.desk.plots",
    "plot_requests": "lab.desk.plots",
    "plot_values": "lab.desk.plots",
    "preflight_sheet": "lab.desk.draft",
    "project": "lab.publish.projection",
    "rules_sheet": "lab.desk.draft",
    "run_one": "lab.run",
    "runs_frame": "lab.desk.comparison",
    "write_draft": "lab.desk.draft",
}

if TYPE_CHECKING:
    from lab.desk.comparison import Comparison, runs_frame
    from lab.desk.draft import Draft, choices, preflight_sheet, rules_sheet, write_draft
    from lab.desk.edition import confine, page
    from lab.desk.plots import how_to_use, plot_quality, plot_requests, plot_values
    from lab.errors import LabError
    from lab.evidence import EvidenceStore, RunRecord, open_store
    from lab.metrics.catalog import measure_level
    from lab.plan import RunPlan, find_problems, load_plan
    from lab.publish.evidence import PublicRun
    from lab.publish.projection import project
    from lab.report.build import build_pages
    from lab.run import open_run, run_one
    from lab.spec import RunSpec


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lab' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
