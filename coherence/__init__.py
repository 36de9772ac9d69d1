"""Statistical tests of belief-action coherence.

A model states a probability and, asked in a separate context, acts. Could that probability be the belief it acts on? Every check takes
arrays (or a runs table) and returns a `CheckResult`; `analyze` runs all of them. Names are loaded on first use, so that importing the
package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coherence.agents import AGENTS, Agent, simulate
    from coherence.analysis import analyze
    from coherence.baseline import random_forest_baseline
    from coherence.calibration import calibration_estimates, reliability_table
    from coherence.cmi import cmi_test
    from coherence.consistency import prompt_consistency
    from coherence.covariance import residual_covariance_test
    from coherence.direction import monotone_direction_test
    from coherence.errors import CoherenceError, InputError, SchemaError
    from coherence.iterated import iterated_expectation_test
    from coherence.monotone import monotone_choice_test
    from coherence.multiplicity import benjamini_hochberg, holm
    from coherence.predictive import predictive_gain_test
    from coherence.report import Report
    from coherence.result import CheckResult, Interval
    from coherence.schema import validate_runs
    from coherence.storage import read_runs, write_runs

_HOMES = {
    "AGENTS": "agents",
    "Agent": "agents",
    "CheckResult": "result",
    "CoherenceError": "errors",
    "InputError": "errors",
    "Interval": "result",
    "Report": "report",
    "SchemaError": "errors",
    "analyze": "analysis",
    "benjamini_hochberg": "multiplicity",
    "calibration_estimates": "calibration",
    "cmi_test": "cmi",
    "holm": "multiplicity",
    "iterated_expectation_test": "iterated",
    "monotone_choice_test": "monotone",
    "monotone_direction_test": "direction",
    "predictive_gain_test": "predictive",
    "prompt_consistency": "consistency",
    "random_forest_baseline": "baseline",
    "read_runs": "storage",
    "reliability_table": "calibration",
    "residual_covariance_test": "covariance",
    "simulate": "agents",
    "validate_runs": "schema",
    "write_runs": "storage",
}

__all__ = [
    "AGENTS",
    "Agent",
    "CheckResult",
    "CoherenceError",
    "InputError",
    "Interval",
    "Report",
    "SchemaError",
    "analyze",
    "benjamini_hochberg",
    "calibration_estimates",
    "cmi_test",
    "holm",
    "iterated_expectation_test",
    "monotone_choice_test",
    "monotone_direction_test",
    "predictive_gain_test",
    "prompt_consistency",
    "random_forest_baseline",
    "read_runs",
    "reliability_table",
    "residual_covariance_test",
    "simulate",
    "validate_runs",
    "write_runs",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coherence' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"coherence.{_HOMES[name]}"), name)
    globals()[name] = value  # later look-ups no longer come here
    return value


def __dir__() -> list[str]:
    return __all__
