"""Functions of fitted parameters with intervals that take contexts as units."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from coherence.inputs import Floats
from coherence.rational.estimating import derivative, standard_error

METHOD = "t over contexts, all fitted parameters included"


def with_errors(
    function: Callable[[Floats], Floats], parameters: Floats, influence: Floats
) -> tuple[Floats, Floats]:
    """Return a vector of quantities and their standard errors."""
    slopes = derivative(function, parameters)
    return function(parameters), standard_error(influence @ slopes.T)


def reach(n_contexts: int, n_parameters: int = 0) -> float:
    """Return how many standard errors a 95% interval reaches to each side."""
    return float(stats.t.ppf(0.975, max(n_contexts - 1 - n_parameters, 1)))


def ends(
    values: Floats, errors: Floats, times: float, *, least: float = -np.inf, most: float = np.inf
) -> tuple[Floats, Floats]:
    """Return the ends of intervals, which stay within the range of the quantity."""
    low, high = values - times * errors, values + times * errors
    return np.clip(low, least, most), np.clip(high, least, most)
