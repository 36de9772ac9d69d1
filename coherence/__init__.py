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
    from coherence.bet_ladder import fit_ladder
    from coherence.bet_scores import score_bets
    from coherence.bet_tests import crossed_interval, exact_test
    from coherence.bets import expected_gains
    from coherence.calibration import calibration_estimates, reliability_table
    from coherence.cmi import cmi_test
    from coherence.consistency import prompt_consistency
    from coherence.covariance import residual_covariance_test
    from coherence.direction import monotone_direction_test
    from coherence.errors import CoherenceError, InputError, SchemaError
    from coherence.iterated import iterated_expectation_test
    from coherence.mixing import MixingScores, expected_answers, mixed_equilibrium, read_mixing_answers, score_mixing, simulate_mixing
    from coherence.monotone import monotone_choice_test
    from coherence.multiplicity import benjamini_hochberg, holm
    from coherence.predictive import predictive_gain_test
    from coherence.report import Report
    from coherence.result import CheckResult, Interval
    from coherence.revealed import belief_distance
    from coherence.revealed_tables import score_beliefs, summarise_scores
    from coherence.schema import validate_runs
    from coherence.storage import read_runs, write_runs

_HOMES = {
    "AGENTS": "agents",
    "Agent": "agents",
    "CheckResult": "result",
    "CoherenceError": "errors",
    "InputError": "errors",
    "Interval": "result",
    "MixingScores": "mixing",
    "Report": "report",
    "SchemaError": "errors",
    "analyze": "analysis",
    "belief_distance": "revealed",
    "benjamini_hochberg": "multiplicity",
    "calibration_estimates": "calibration",
    "cmi_test": "cmi",
    "crossed_interval": "bet_tests",
    "exact_test": "bet_tests",
    "expected_answers": "mixing",
    "expected_gains": "bets",
    "fit_ladder": "bet_ladder",
    "holm": "multiplicity",
    "iterated_expectation_test": "iterated",
    "mixed_equilibrium": "mixing",
    "monotone_choice_test": "monotone",
    "monotone_direction_test": "direction",
    "predictive_gain_test": "predictive",
    "prompt_consistency": "consistency",
    "random_forest_baseline": "baseline",
    "read_mixing_answers": "mixing",
    "read_runs": "storage",
    "reliability_table": "calibration",
    "residual_covariance_test": "covariance",
    "score_beliefs": "revealed_tables",
    "score_bets": "bet_scores",
    "score_mixing": "mixing",
    "simulate": "agents",
    "simulate_mixing": "mixing",
    "summarise_scores": "revealed_tables",
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
    "MixingScores",
    "Report",
    "SchemaError",
    "analyze",
    "belief_distance",
    "benjamini_hochberg",
    "calibration_estimates",
    "cmi_test",
    "crossed_interval",
    "exact_test",
    "expected_answers",
    "expected_gains",
    "fit_ladder",
    "holm",
    "iterated_expectation_test",
    "mixed_equilibrium",
    "monotone_choice_test",
    "monotone_direction_test",
    "predictive_gain_test",
    "prompt_consistency",
    "random_forest_baseline",
    "read_mixing_answers",
    "read_runs",
    "reliability_table",
    "residual_covariance_test",
    "score_beliefs",
    "score_bets",
    "score_mixing",
    "simulate",
    "simulate_mixing",
    "summarise_scores",
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
