"""p-values below the smallest that random draws can tell.

Of B draws the smallest p-value is 1 / (B + 1), which does not survive a correction over many tests.
Where no draw was as extreme as the data, a bound on the tail of what is drawn takes its place. The
level holds: from 1 / (B + 1) on nothing changes, and below it the bound is itself a p-value.
"""

import numpy as np
from scipy import stats

from coherence.inputs import Floats

# Largest ratio of the tail of a sum with random signs to that of a normal variable.
SIGNS_OVER_NORMAL = 0.25 / float(stats.norm.sf(np.sqrt(2)))
LEAST = 1e-300  # a p-value is never 0


def signs_bound(studentised: Floats | float) -> Floats:
    """Bound the two-sided p-value of sums with random signs.

    Parameters
    ----------
    studentised : ndarray or float
        Sums in units of the root of their sum of squares.

    Returns
    -------
    ndarray
        Upper bounds, which may be above 1; at most 3.18 times the normal p-value.

    References
    ----------
    Bentkus and Dzindzalieta (2015), Bernoulli 21(2), theorem 1: the constant cannot be smaller.
    """
    return np.asarray(2 * SIGNS_OVER_NORMAL * stats.norm.sf(np.abs(studentised)))


def drops_bound(largest: Floats | float, n_drops: int, degrees: int) -> Floats:
    """Bound the p-value of the largest of several studentised drops, each one distributed as t.

    Parameters
    ----------
    largest : ndarray or float
        Studentised drops.
    n_drops : int
        Number of drops of which each is the largest.
    degrees : int
        Degrees of freedom.

    Returns
    -------
    ndarray
        Bonferroni's bounds, which may be above 1.
    """
    return np.asarray(n_drops * stats.t.sf(largest, degrees))


def beyond_draws(pvalue: Floats | float, bound: Floats | float, n_draws: int) -> Floats:
    """Put the bound in place of p-values that no draw reached, where it is smaller.

    Parameters
    ----------
    pvalue : ndarray or float
        (1 + b) / (1 + n_draws), where b draws are at least as extreme as the data.
    bound : ndarray or float
        Upper bound of the p-value that infinitely many draws would give.
    n_draws : int
        Random draws.

    Returns
    -------
    ndarray
        p-values, never 0.

    Examples
    --------
    >>> beyond_draws([0.02, 0.01, 0.01], [0.001, 0.001, 0.5], 99).tolist()
    [0.02, 0.001, 0.01]
    """
    pvalue = np.asarray(pvalue, dtype=np.float64)
    reached_by_none = pvalue * (n_draws + 1) < 1.5
    return np.where(reached_by_none, np.minimum(pvalue, np.maximum(bound, LEAST)), pvalue)
