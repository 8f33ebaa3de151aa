"""Quality of an engine path: suites asked over HTTP by lm-eval; what was not answered is not scored."""

from lab.quality.harness import run_suite
from lab.quality.replies import QualityItem
from lab.quality.suite import Suite, load_suite

__all__ = ["QualityItem", "Suite", "load_suite", "run_suite"]
