"""How a belief enters the utilities: as it is, in powers, weighted, or shifted with the state.

Prelec (1998): w(b) = exp(-(-ln b)^alpha). Gonzalez and Wu (1999): w(b) = delta b^gamma /
(delta b^gamma + (1 - b)^gamma). The free curve of `powers` is for tests, which must not depend on
a form of the utilities.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coherence.inputs import Floats

INSIDE = 1e-4  # weights have infinite slopes at 0 and 1
STEP = 1e-5

Columns = Callable[[Floats, Floats, float], Floats]
"""Beliefs (n,), parameters, state less one half -> columns of the utilities, (n, n_columns)."""


@dataclass(frozen=True)
class Weighting:
    """Columns of the utilities and the parameters that shape them."""

    columns: Columns  # see `Columns`
    start: tuple[float, ...] = ()  # parameters to begin with; those of no weighting at all
    names: tuple[str, ...] = ()  # what the parameters are called
    logarithms: bool = True  # whether the parameters are logarithms of what is called so

    def of_states(self, points: Floats, parameters: Floats) -> Floats:
        """Return the columns given each of two states, shape (2, n_points, n_columns)."""
        return np.stack([self.columns(points, parameters, side) for side in (-0.5, 0.5)])

    def slopes(self, points: Floats, parameters: Floats) -> Floats:
        """Return their derivatives, shape (n_parameters, 2, n_points, n_columns)."""
        steps = np.eye(parameters.size) * STEP
        both = [
            self.of_states(points, parameters + step) - self.of_states(points, parameters - step)
            for step in steps
        ]
        shape = (0, *self.of_states(points, parameters).shape)
        return np.stack(both) / (2 * STEP) if both else np.empty(shape)


def powers(degree: int, *, shifted: bool = False) -> Weighting:
    """Utilities in powers of 2 * belief - 1, shifted with the state by a parameter or not."""

    def columns(points: Floats, parameters: Floats, side: float) -> Floats:
        acted_on = points + parameters[0] * side if shifted else points
        return np.vander(2 * acted_on - 1, degree + 1, increasing=True)

    if not shifted:
        return Weighting(columns)
    return Weighting(columns, (0.0,), ("hidden shift",), logarithms=False)


def prelec_weight(belief: Floats, alpha: float) -> Floats:
    """Return exp(-(-ln b)^alpha); 0 and 1 keep their place."""
    inside = np.clip(belief, INSIDE, 1 - INSIDE)
    return np.asarray(np.exp(-((-np.log(inside)) ** alpha)))


def gonzalez_wu_weight(belief: Floats, gamma: float, delta: float) -> Floats:
    """Return the weight that is linear in log-odds, with slope gamma and elevation delta."""
    inside = np.clip(belief, INSIDE, 1 - INSIDE)
    log_odds = gamma * np.log(inside / (1 - inside)) + np.log(delta)
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def _weighted(weight: Callable[..., Floats]) -> Columns:
    def columns(points: Floats, parameters: Floats, side: float) -> Floats:
        weighted = weight(points, *np.exp(np.clip(parameters, -3, 3)))
        return np.stack([np.ones_like(points), 2 * weighted - 1], axis=1)

    return columns


WEIGHTINGS: dict[str, Weighting] = {
    "identity": powers(1),
    "prelec": Weighting(_weighted(prelec_weight), (0.0,), ("alpha",)),
    "gonzalez-wu": Weighting(_weighted(gonzalez_wu_weight), (0.0, 0.0), ("gamma", "delta")),
}
