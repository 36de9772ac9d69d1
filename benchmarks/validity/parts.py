"""The parts of `sufficiency` by themselves, whatever reports tell of their noise."""

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from coherence import CheckResult
from coherence.checks.sufficiency import N_DRAWS, sufficiency
from coherence.statistics.evaluation import as_choices
from coherence.statistics.resample import Seed


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
    choices = as_choices(belief, action, truth, **{"context": None, **columns}, oriented=True)
    result = sufficiency(choices, n_draws=n_draws, rng=rng)
    return replace(result, pvalue=result.settings.get("p_direction", result.pvalue))
