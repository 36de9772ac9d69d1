"""Wilson's interval for shares, which is neither empty at 0 and 1 nor goes beyond."""

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import Floats

NORMAL_QUANTILE = 1.959963984540054  # of 0.975


def wilson_interval(share: ArrayLike, count: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's 95% score interval for shares.

    Wilson (1927), Journal of the American Statistical Association 22, 209-212.
    """
    from statsmodels.stats.proportion import proportion_confint

    observed, trials = np.asarray(share, dtype=np.float64), np.asarray(count, dtype=np.float64)
    low, high = proportion_confint(observed * trials, trials, method="wilson")
    # At shares of 0 and 1 one end is exact; rounding would leave it an ulp off.
    return np.where(observed == 0, 0.0, low), np.where(observed == 1, 1.0, high)
