"""Maximum likelihood where every unit's score is at hand: steps by the outer product of scores.

Berndt, Hall, Hall and Hausman (1974). The penalty keeps what the data do not tell near a centre.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coherence.inputs import Floats

MOST_STEPS = 200
CLOSE = 1e-10  # expected gain of a step, in log-likelihood per unit, below which none is made


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
    n_steps: int


def ascend(
    slope: Callable[[Floats], Slope],
    start: Floats,
    penalty: Penalty,
    n_units: int,
    close: float = CLOSE,
) -> Summit:
    """Climb until a step would gain next to nothing."""
    parameters, damping = start.copy(), 1e-6
    here = slope(parameters)
    height = here.value - penalty.value(parameters)
    for step in range(MOST_STEPS):
        gradient = here.gradient - penalty.slope(parameters)
        curvature = here.curvature + np.diag(penalty.weight)
        while True:
            scaled = curvature + damping * np.diag(np.diag(curvature) + 1e-9)
            move = np.linalg.solve(scaled, gradient)
            # Logits and log-deviations: a step of more than 2 leaves what the curvature knows.
            move *= min(1.0, 2.0 / max(float(np.abs(move).max()), 1e-300))
            promised = float(gradient @ move) / 2
            if promised < close * n_units:
                return Summit(parameters, height, True, step)
            # Most steps are made, so that the slope at their end is wanted in any case.
            there = slope(parameters + move)
            reached = there.value - penalty.value(parameters + move)
            if reached - height > 0.1 * promised:
                break
            damping = max(damping, 1e-4) * 8
            if damping > 1e8:
                return Summit(parameters, height, False, step)
        # Levenberg's rule, with a longer step where the outer product overstates the curvature.
        damping = max(damping / 16, 1e-9)
        parameters, here, height = parameters + move, there, reached
    return Summit(parameters, height, False, MOST_STEPS)
