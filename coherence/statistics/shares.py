"""Intervals for shares: Wilson's, and the exact one; neither is empty at 0 and 1 nor beyond."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import Floats

NORMAL_QUANTILE = 1.959963984540054  # of 0.975


def wilson_interval(share: ArrayLike, count: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's 95% score interval for shares.

    Parameters
    ----------
    share : array-like, shape (n_shares,)
        Observed shares, in [0, 1].
    count : array-like, shape (n_shares,)
        Independent trials behind each, positive.

    Returns
    -------
    low, high : ndarray, shape (n_shares,)
        In [0, 1].

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    >>> low, high = wilson_interval([0.0, 0.5], [10, 10])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.2366], [0.2775, 0.7634])
    """
    observed, trials = np.asarray(share, dtype=np.float64), np.asarray(count, dtype=np.float64)
    # Not by statsmodels: it multiplies in another order, so that the last digit of every third
    # end, and with it tables that were written before, would change.
    pull = NORMAL_QUANTILE**2 / trials
    middle = (observed + pull / 2) / (1 + pull)
    spread = np.sqrt(observed * (1 - observed) / trials + pull / (4 * trials))
    half = NORMAL_QUANTILE * spread / (1 + pull)
    # At shares of 0 and 1 one end is exact; rounding would leave it an ulp off.
    low = np.where(observed == 0, 0.0, middle - half)
    return low, np.where(observed == 1, 1.0, middle + half)


def exact_interval(successes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson (1934) for a probability.

    Parameters
    ----------
    successes, n : int
        Successes among independent trials; `n` is positive.
    level : float
        Least coverage.

    Returns
    -------
    tuple of float
        Ends, in [0, 1].

    Examples
    --------
    >>> [round(end, 3) for end in exact_interval(0, 10)]
    [0.0, 0.308]
    """
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, successes, n - successes + 1)) if successes else 0.0
    high = float(stats.beta.ppf(1 - tail, successes + 1, n - successes)) if successes < n else 1.0
    return low, high
