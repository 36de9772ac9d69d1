"""What points are lost for: distances of rates from targets, and steps in the wrong direction.

Every score of the battery is points times (1 - loss), at least 0. A loss is made of quantities that
are linear in the rates; therefore its value, the noise in it, its range over unreadable answers and
its expectation for a perfect sampler follow from one description.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from coherence.batteries.mixing.noise import (
    corrected_distance,
    expected_distance,
    shortfall,
    sum_distribution,
)
from coherence.inputs import Floats

DEAD_ZONE = 0.01  # rates that differ by less count as equal (published scoring)


@dataclass(frozen=True, eq=False)
class DistanceLoss:
    """A weighted sum of distances of quantities from targets."""

    # shape (n_quantities, n_conditions, n_outcomes): a quantity is the sum of contrasts times rates
    contrasts: Floats
    target: Floats  # shape (n_quantities,): where each should lie
    weights: Floats  # shape (n_quantities,): at least 0
    tolerance: float = 0.0  # taken from every distance
    corrected: bool = False  # whether noise is taken out of the distances

    def value(self, shares: Floats, draws: Floats) -> Floats:
        """Return the loss, shape (...), for rates of shape (..., n_conditions, n_outcomes)."""
        difference = np.einsum("...mk,qmk->...q", shares, self.contrasts) - self.target
        if not self.corrected:
            return np.asarray(np.maximum(np.abs(difference) - self.tolerance, 0) @ self.weights)
        return np.asarray(corrected_distance(difference, self._error(shares, draws)) @ self.weights)

    def _error(self, shares: Floats, draws: Floats) -> Floats:
        """Return the standard errors of the quantities, shape (..., n_quantities)."""
        square = np.einsum("...mk,qmk->...qm", shares, self.contrasts**2)
        spread = square - np.einsum("...mk,qmk->...qm", shares, self.contrasts) ** 2
        return np.asarray(np.sqrt(np.maximum(spread, 0) @ (1 / np.maximum(draws - 1, 1))))

    def doubt(self, shares: Floats, draws: Floats) -> tuple[float, float]:
        """Return by how much the true loss may lie below and above the corrected one besides noise.

        Corrected distances fall short a little.
        """
        difference = np.einsum("mk,qmk->q", shares, self.contrasts) - self.target
        return 0.0, float(shortfall(difference, self._error(shares, draws)) @ self.weights)

    def bounds(self, shares: Floats, unread: Floats) -> tuple[float, float]:
        """Return the least and the largest loss over all that unreadable answers might have been.

        `shares` has 2 dimensions.
        """
        low, high = _quantity_range(self.contrasts, shares, unread)
        nearest = np.maximum(np.maximum(low - self.target, self.target - high), 0)
        furthest = np.maximum(np.abs(low - self.target), np.abs(high - self.target))
        least, most = (
            float(np.maximum(distance - self.tolerance, 0) @ self.weights)
            for distance in (nearest, furthest)
        )
        return least, most

    def expected(self, shares: Floats, draws: Floats) -> float:
        """Return the exact expectation of the uncorrected loss of answers drawn at these rates."""
        total = 0.0
        for contrast, target, weight in zip(self.contrasts, self.target, self.weights, strict=True):
            spread, base = [], 0.0
            for values, chances, n in zip(contrast, shares, draws, strict=True):
                if values.any():
                    # The value of one answer is a whole multiple of the step above the least one.
                    step = float(np.min(np.abs(values[values != 0])))
                    levels = np.rint((values - values.min()) / step).astype(int)
                    single = np.bincount(levels, weights=chances).astype(np.float64)
                    spread.append((step, single, float(n)))
                    base += float(values.min())
            total += float(weight) * expected_distance(spread, float(target) - base, self.tolerance)
        return total


@dataclass(frozen=True, eq=False)
class DirectionLoss:
    """One minus the direction score: whether rates move as their targets do."""

    # shape (n_outcomes,): the rate is contrast times rates of the outcomes, one of which has 1 and
    # the others 0
    contrast: Floats
    target: Floats  # shape (n_conditions,): what the rates should follow
    corrected: bool = False  # whether the reversals that chance brings about are taken out

    def value(self, shares: Floats, draws: Floats) -> Floats:
        """Return the loss; see `DistanceLoss.value`."""
        ways, blurred = self._ways(shares, draws)
        if self.corrected:
            # Noise took the true ways to the observed ones about as far as it takes the observed
            # ones to the blurred: so as far back.
            ways = 2 * ways - blurred
        return np.asarray((1 - ways.mean(axis=-1)) / 2)

    def doubt(self, shares: Floats, draws: Floats) -> tuple[float, float]:
        """Return the doubt; see `DistanceLoss.doubt`. Chance may take as much from all steps."""
        ways, blurred = self._ways(shares, draws)
        either = float(np.abs(ways - blurred).mean() / 2)
        return either, either

    def _ways(self, shares: Floats, draws: Floats) -> tuple[Floats, Floats]:
        """Return the ways of the steps, and their means if the observed rates were the true ones.

        Ways are 1, -1 or, within the dead zone, 0, from each condition to the next.
        """
        rate = shares @ self.contrast
        step = np.diff(rate, axis=-1) * np.sign(np.diff(self.target))
        ways = np.where(np.isnan(step), np.nan, _sign(step))
        variance = rate * (1 - rate) / np.maximum(draws - 1, 1)
        error = np.sqrt(variance[..., 1:] + variance[..., :-1])
        scale = np.where(error > 0, error, 1.0)
        blurred = special.ndtr((step - DEAD_ZONE) / scale) - special.ndtr(
            (-step - DEAD_ZONE) / scale
        )
        return ways, np.where(error > 0, blurred, ways)

    def bounds(self, shares: Floats, unread: Floats) -> tuple[float, float]:
        """Return the least and the largest loss; see `DistanceLoss.bounds`."""
        low, high = _quantity_range(_diagonal(self.target.size, self.contrast), shares, unread)
        way = np.sign(np.diff(self.target))
        # The largest step up is from the least rate before it to the largest after it.
        upward, downward = high[1:] - low[:-1], low[1:] - high[:-1]
        best, worst = np.where(way > 0, upward, -downward), np.where(way > 0, downward, -upward)
        return float((1 - _sign(best).mean()) / 2), float((1 - _sign(worst).mean()) / 2)

    def expected(self, shares: Floats, draws: Floats) -> float:
        """Return the exact expectation of the loss when answers are drawn at these rates."""
        rates, way = shares @ self.contrast, np.sign(np.diff(self.target))
        steps = []
        for i in range(len(rates) - 1):
            (before, chance_before), (after, chance_after) = (
                _rate_distribution(rates[j], draws[j]) for j in (i, i + 1)
            )
            ways = _sign((after[None, :] - before[:, None]) * way[i])
            steps.append(float(chance_before @ ways @ chance_after))
        return (1 - float(np.mean(steps))) / 2


Loss = DistanceLoss | DirectionLoss


def _sign(step: Floats) -> Floats:
    # A difference of exactly the dead zone must not hang on its last bit.
    return np.sign(step) * (np.abs(step) > DEAD_ZONE + 1e-9)


def _rate_distribution(rate: float, n: float) -> tuple[Floats, Floats]:
    if np.isinf(n):
        return np.array([rate]), np.ones(1)
    return np.arange(int(n) + 1) / n, sum_distribution(np.array([1 - rate, rate]), int(n))


def _quantity_range(contrasts: Floats, shares: Floats, unread: Floats) -> tuple[Floats, Floats]:
    """Return the range of linear quantities over all that unreadable answers might have been."""
    # Where nothing was read there are no shares, and every answer is free.
    known = np.where(unread[:, None] < 1, shares, 0.0)
    read = np.einsum("mk,qmk->qm", known, contrasts) * (1 - unread)
    low, high = (read + unread * end for end in (contrasts.min(axis=2), contrasts.max(axis=2)))
    return low.sum(axis=1), high.sum(axis=1)


def step_likeness(p: Floats, contrast: Floats, target: Floats) -> DistanceLoss:
    """Return the published step-likeness: four times the area between rate and target."""
    inner = _diagonal(p.size, contrast)
    contrasts = np.concatenate([inner[:1], inner, inner[-1:]])
    return DistanceLoss(
        contrasts,
        np.concatenate([[0.0], target, [1.0]]),
        4 * _trapezoid(np.concatenate([[0.0], p, [1.0]])),
    )


def corrected_step_likeness(p: Floats, contrast: Floats, target: Floats) -> DistanceLoss:
    """Return the corrected step-likeness: an area as a share of that of a step, without noise."""

    def under(x: float) -> float:
        # The area between a step at one half and the diagonal, from 0 to x.
        return x**2 / 2 if x <= 0.5 else 0.25 - (1 - x) ** 2 / 2

    area = under(float(p[-1])) - under(float(p[0]))
    return DistanceLoss(_diagonal(p.size, contrast), target, _trapezoid(p) / area, corrected=True)


def area_loss(
    p: Floats, contrast: Floats, target: Floats, largest: float, *, corrected: bool
) -> DistanceLoss:
    """Return the area between rate and target over the range of `p`, as a share of the largest."""
    return DistanceLoss(
        _diagonal(p.size, contrast), target, _trapezoid(p) / largest, corrected=corrected
    )


def _diagonal(size: int, contrast: Floats) -> Floats:
    """One quantity per condition, made of its own rates."""
    contrasts = np.zeros((size, size, contrast.size))
    contrasts[np.arange(size), np.arange(size)] = contrast
    return contrasts


def _trapezoid(p: Floats) -> Floats:
    """Weights that integrate a function of `p` by the trapezoidal rule."""
    gaps = np.diff(p)
    return np.asarray((np.concatenate([[0.0], gaps]) + np.concatenate([gaps, [0.0]])) / 2)
