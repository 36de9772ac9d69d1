"""Where an observed statistic lies among those of twins: a parametric bootstrap.

The p-value counts the observed data as one more twin (Davison and Hinkley 1997, section 4.2.3), so
that it is never 0 and valid for any number of twins.
"""

import math

import numpy as np

from coherence.inputs import Floats
from coherence.result import Twins

TIES = 1e-9  # relative: a statistic that differs by rounding alone is as extreme
MOST_UNDEFINED = 0.5


def compare(
    observed: float,
    drawn: Floats,
    *,
    upper: bool,
    discrepancy: bool,
) -> Twins | None:
    """Set a statistic beside its distribution over twins."""
    known = drawn[~np.isnan(drawn)]
    n, n_undefined = drawn.size, drawn.size - known.size
    if math.isnan(observed) or n_undefined >= MOST_UNDEFINED * n:
        return None
    slack = TIES * max(abs(observed), float(np.abs(known).max()))
    above = 1 + n_undefined + int((known >= observed - slack).sum())
    below = 1 + n_undefined + int((known <= observed + slack).sum())
    # Of both sides: twice the smaller one.
    extreme = above if upper else 2 * min(above, below)
    low, median, high = map(float, np.quantile(known, [0.025, 0.5, 0.975]))
    meaningful = discrepancy and observed > 0
    return Twins(
        n_twins=n,
        observed=observed,
        median=median,
        low=low,
        high=high,
        pvalue=min(extreme / (n + 1), 1.0),
        noise_share=max(median, 0.0) / observed if meaningful else math.nan,
        n_undefined=n_undefined,
    )
