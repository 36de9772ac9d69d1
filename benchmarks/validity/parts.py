"""The parts of `sufficiency` by themselves, whatever reports tell of their noise."""

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from coherence import CheckResult
from coherence.checks.covariance import N_DRAWS, arrangement_test
from coherence.statistics.evaluation import EvaluationData, as_choices
from coherence.statistics.resample import Seed, as_generator


def _choices(belief: ArrayLike, action: ArrayLike, truth: Any, **columns: Any) -> EvaluationData:
    context = columns.pop("context", None)
    return as_choices(belief, action, truth, context, oriented=True, **columns)


def residual_covariance(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    n_draws: int = N_DRAWS,
    rng: Seed = None,
    **columns: Any,
) -> CheckResult:
    """Test the direction alone, in two states; in more it is all of the test."""
    choices = _choices(belief, action, truth, **columns)
    result = arrangement_test(choices, n_draws, as_generator(rng))[0]
    return replace(result, pvalue=result.settings.get("p_direction", result.pvalue))
