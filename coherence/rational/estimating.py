"""What every context contributes to an estimate that rests on fitted parameters.

The latent belief and the choices are fitted by stacked estimating equations; a quantity computed
from their solution has, to first order, an influence of each context, whose spread gives standard
errors with contexts as units and whatever dependence within them (Huber's sandwich; Godambe 1960).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coherence.inputs import Floats

STEP = 1e-4
CUTOFF = (
    1e-9  # directions that no equation moves with: coefficients of which only differences count
)


@dataclass(frozen=True)
class Equations:
    """Estimating equations at their solution."""

    scores: Floats  # shape (n_contexts, n_parameters): each context's part of the equations
    # shape (n_parameters, n_parameters): inverse of the derivative of their mean by the parameters
    inverse: Floats

    @property
    def influence(self) -> Floats:
        """Influence of each context on the parameters, shape (n_contexts, n_parameters)."""
        return np.asarray(-self.scores @ self.inverse.T)

    def of(self, slope: Floats) -> Floats:
        """Return the influence on a quantity with this derivative by the parameters."""
        return np.asarray(self.influence @ slope.T)


def derivative(function: Callable[[Floats], Floats], parameters: Floats) -> Floats:
    """Differentiate numerically; the last axis is the parameter."""
    columns = []
    for position in range(parameters.size):
        step = np.zeros(parameters.size)
        step[position] = STEP
        columns.append((function(parameters + step) - function(parameters - step)) / (2 * STEP))
    return np.stack(columns, axis=-1)


def inverse_of(jacobian: Floats) -> Floats:
    """Invert, leaving out directions that change nothing."""
    return np.asarray(np.linalg.pinv(jacobian, rcond=CUTOFF), dtype=np.float64)


def standard_error(influence: Floats) -> Floats:
    """Return the standard error of a mean of influences over contexts."""
    n = len(influence)
    return np.asarray(np.sqrt((influence**2).sum(axis=0) / (n * (n - 1))))
