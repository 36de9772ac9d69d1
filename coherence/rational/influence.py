"""What every context contributes to an estimate that rests on fitted parameters.

The latent belief and the choices are fitted by stacked estimating equations; a quantity computed
from their solution has, to first order, an influence of each context, whose spread gives standard
errors with contexts as units and whatever dependence within them (Huber's sandwich; Godambe 1960).
"""

from collections.abc import Callable

import numpy as np
from scipy import stats

from coherence.inputs import Floats

METHOD = "t over contexts, all fitted parameters included"
STEP = 1e-4
CUTOFF = 1e-9  # directions that no equation moves with: of some coefficients only differences count


def derivative(function: Callable[[Floats], Floats], parameters: Floats) -> Floats:
    """Differentiate numerically; the last axis is the parameter."""
    steps = STEP * np.eye(parameters.size)
    columns = [(function(parameters + s) - function(parameters - s)) / (2 * STEP) for s in steps]
    return np.stack(columns, axis=-1)


def influence_of(scores: Floats, jacobian: Floats) -> Floats:
    """Return the influence of each context on the solution of equations, shape (n, n_parameters).

    `scores` has each context's part of the equations, `jacobian` the derivative of their mean by
    the parameters.
    """
    return np.asarray(-scores @ np.linalg.pinv(jacobian, rcond=CUTOFF).T)


def standard_error(influence: Floats) -> Floats:
    """Return the standard error of a mean of influences over contexts."""
    n = len(influence)
    return np.asarray(np.sqrt((influence**2).sum(axis=0) / (n * (n - 1))))


def reach(n_units: int) -> float:
    """Return how many standard errors a 95% interval reaches to each side."""
    return float(stats.t.ppf(0.975, max(n_units - 1, 1)))


def with_ends(
    function: Callable[[Floats], Floats],
    parameters: Floats,
    influence: Floats,
    back: Callable[[Floats], Floats] = np.asarray,
    *,
    least: float = -np.inf,
    most: float = np.inf,
) -> dict[str, Floats]:
    """Return a function of parameters and its 95% intervals: value, low, high.

    `back` turns the scale on which the intervals are symmetric into that of the quantity; they stay
    between `least` and `most`.
    """
    error = standard_error(influence @ derivative(function, parameters).T)
    value, half = function(parameters), reach(len(influence)) * error
    ends = {"low": np.clip(value - half, least, most), "high": np.clip(value + half, least, most)}
    return {name: back(scale) for name, scale in {"value": value, **ends}.items()}
