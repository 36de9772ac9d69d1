"""Maximum likelihood where every unit's score is at hand, by scipy's trust region.

The curvature is the outer product of scores (Berndt, Hall, Hall and Hausman 1974). The penalty
keeps what the data do not tell near a centre.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from coherence.inputs import Floats

MOST_STEPS = 400
CLOSE = 1e-6  # gradient, in log-likelihood per unit, below which no step is made


@dataclass(frozen=True)
class Penalty:
    """Half a weighted sum of squares about a centre."""

    weight: Floats
    centre: Floats

    def value(self, parameters: Floats) -> float:
        """Return what is taken off the log-likelihood."""
        return float(0.5 * (self.weight * (parameters - self.centre) ** 2).sum())

    def slope(self, parameters: Floats) -> Floats:
        """Return the derivative of the value."""
        return self.weight * (parameters - self.centre)


@dataclass(frozen=True)
class Slope:
    """Log-likelihood, its gradient, and its curvature by the outer product of scores."""

    value: float
    gradient: Floats
    curvature: Floats


@dataclass(frozen=True)
class Summit:
    """Where an ascent ended."""

    parameters: Floats
    value: float
    converged: bool


def ascend(
    slope: Callable[[Floats], Slope], start: Floats, penalty: Penalty, n_units: int
) -> Summit:
    """Climb until the gradient is next to nothing."""
    latest: dict[bytes, Slope] = {}

    def at(parameters: Floats) -> Slope:
        # Value, gradient and curvature are asked for in turn at one place.
        place = parameters.tobytes()
        if place not in latest:
            latest.clear()
            latest[place] = slope(parameters)
        return latest[place]

    # Logits and log-deviations: a first step of more than 2 leaves what the curvature knows.
    options = {"gtol": CLOSE, "maxiter": MOST_STEPS, "initial_trust_radius": 2.0}
    found = minimize(  # type: ignore[call-overload]
        lambda x: (penalty.value(x) - at(x).value) / n_units,
        start,
        jac=lambda x: (penalty.slope(x) - at(x).gradient) / n_units,
        hess=lambda x: (at(x).curvature + np.diag(penalty.weight)) / n_units,
        method="trust-exact",
        options=options,
    )
    return Summit(np.asarray(found.x), -float(found.fun) * n_units, bool(found.success))
