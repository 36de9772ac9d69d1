"""The parts of `sufficiency` by themselves, whatever reports tell of their noise."""

import math
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from coherence import CheckResult
from coherence.checks.covariance import N_DRAWS, arrangement_test
from coherence.checks.moments import beyond_belief
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
    return arrangement_test(choices, n_draws, as_generator(rng))[0]


def moments(
    belief: ArrayLike, action: ArrayLike, truth: ArrayLike, *, rng: Seed = None, **columns: Any
) -> CheckResult:
    """Test by moments, which reports that vary go to."""
    found = beyond_belief(choices := _choices(belief, action, truth, **columns))
    differences = found.differences
    return CheckResult(
        check="moments",
        null="given the belief behind the reports, action and state are uncorrelated",
        statistic=math.nan if found.reason else float(differences["estimate"][found.shown]),
        unit="probability",
        interval=found.interval,
        pvalue=found.pvalue,
        n_rows=choices.n_rows,
        n_contexts=choices.n_contexts,
        details=pd.DataFrame(differences),
        reason=found.reason,
    )
