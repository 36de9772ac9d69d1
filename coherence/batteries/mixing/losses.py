"""What points are lost for: distances of rates from targets, and steps in the wrong direction.

Every score is points times (1 - loss), at least 0. A loss is made of quantities that are linear in
the rates; therefore its value, the noise in it, its range over unparsed answers and its
expectation for a perfect sampler follow from one description. Each measure has two losses. The
published one takes rates as they come. The corrected one takes the effect of noise out of every
distance and direction, holds games against their solved equilibrium and not against their
parameter, and averages the orders of a pair of words before the position is judged, so that a word
that is always preferred is no preference for a position.

The distance of an observed rate from its target overstates that of the true rate, because chance
adds to it in whichever direction. Its expectation for a perfect sampler is a finite sum over
binomial outcomes. For any other rate the excess is removed by simulation extrapolation, whose
"simulations" have a closed form here: add noise, see how the distance grows, and go back along that
line to no noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special, stats

from coherence.batteries.mixing.design import MIDDLE, ORDERS, PARTS, Counts, optimal_rates
from coherence.errors import InputError
from coherence.inputs import Floats

# Added noise, as multiples of the standard error: none, as much again, and twice as much.
_ADDED = (0.0, 1.0, 2.0)
_NEVER = 1e-20


def corrected_distance(difference: Floats, error: Floats) -> Floats:
    """Return nearly unbiased estimates of absolute differences that were observed with noise.

    Assumes a normal difference with known standard error s. Then the bias is 0 for true differences
    of 0, at most 0.33 s in size (the plain absolute value: 0.80 s), and less than 0.07 s from 4 s
    on. No unbiased estimate exists, because the absolute value has a kink at 0.

    Cook and Stefanski (1994), Simulation-extrapolation estimation in parametric measurement error
    models, JASA 89(428). Cai and Low (2011), Testing composite hypotheses, Hermite polynomials and
    optimal estimation of a nonsmooth functional, Ann. Statist. 39(2).
    """
    size, scale = np.abs(difference), np.where(error > 0, error, 1.0)
    position = size / scale
    estimate = sum(
        weight * _blurred(position, added) for weight, added in zip(_weights(), _ADDED, strict=True)
    )
    return np.where(error > 0, scale * np.asarray(estimate), size)


def shortfall(difference: Floats, error: Floats) -> Floats:
    """Return by how much corrected distances may be too small, as far as differences tell."""
    scale = np.where(error > 0, error, 1.0)
    return np.where(error > 0, error * np.interp(np.abs(difference) / scale, *_shortfalls()), 0.0)


@cache
def _shortfalls() -> tuple[Floats, Floats]:
    """Return observed differences of 0 to 8 standard errors, and their shortfalls."""
    step = 0.05  # of the sums that stand for integrals over the noise
    noise = np.arange(-8, 8 + step / 2, step)
    chance = np.exp(-(noise**2) / 2) * step / math.sqrt(2 * math.pi)
    true = np.arange(0, 16 + step / 2, step)
    bias = (
        corrected_distance(true[:, None] + noise, np.ones((true.size, noise.size))) @ chance - true
    )
    observed = np.arange(0, 8 + step / 2, step)
    return observed, 2 * np.asarray(
        np.interp(np.abs(observed[:, None] + noise), true, np.maximum(-bias, 0)) @ chance
    )


def _blurred(position: Floats, noise: float) -> Floats:
    """Return the expected absolute value of `position` plus normal noise."""
    if noise == 0:
        return np.abs(position)
    # The mean of a folded normal variable.
    ratio = position / noise
    return np.asarray(
        noise * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2)
        + position * special.erf(ratio / math.sqrt(2))
    )


@cache
def _weights() -> tuple[float, ...]:
    """Return weights of blurred distances, exact without noise and at 0, else least squares."""
    position = np.linspace(0, 6, 121)
    # An observation brings noise of its own, to which the added noise comes.
    expected = np.stack([_blurred(position, math.hypot(1, added)) for added in _ADDED], axis=1)
    # Two rules hold exactly: weights sum to 1, and a true difference of 0 gives 0 on average.
    rules = np.array([np.ones(len(_ADDED)), [math.hypot(1, added) for added in _ADDED]])
    start = np.linalg.pinv(rules) @ [1.0, 0.0]
    free = np.linalg.svd(rules)[2][2:].T
    weights = (
        start + free @ np.linalg.lstsq(expected @ free, position - expected @ start, rcond=None)[0]
    )
    return tuple(map(float, weights))


def expected_distance(
    spread: list[tuple[float, Floats, float]], target: float, tolerance: float = 0.0
) -> float:
    """Return the exact expectation of the distance of a sum of sample means from a target."""
    values, chances = np.zeros(1), np.ones(1)
    for step, single, n in spread:
        if math.isinf(n):
            values = values + step * float(single @ np.arange(single.size))
            continue
        total = sum_distribution(single, int(n))
        # Sums so far out that all of them together weigh less than rounding errors would make two
        # conditions of many draws slow.
        likely = np.flatnonzero(total > _NEVER)
        first, last = int(likely[0]), int(likely[-1]) + 1
        # Sums that differ by rounding alone are one value, which keeps two hundred draws in two
        # conditions small.
        values, number = np.unique(
            np.add.outer(values, step / n * np.arange(first, last)).round(12), return_inverse=True
        )
        joint = np.multiply.outer(chances, total[first:last])
        chances = np.bincount(number.ravel(), weights=joint.ravel()).astype(np.float64)
    return float(chances @ np.maximum(np.abs(values - target) - tolerance, 0))


def sum_distribution(single: Floats, n: int) -> Floats:
    """Return the distribution of the sum of `n` independent whole numbers."""
    if single.size == 2:
        return np.asarray(stats.binom.pmf(np.arange(n + 1), n, single[1]))
    # By squaring: as many convolutions as n has binary digits.
    total, power = np.ones(1), single
    while n:
        total = np.convolve(total, power) if n & 1 else total
        power, n = np.convolve(power, power), n >> 1
    return total


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
        """Return how far the true loss may lie below and above the corrected one besides noise."""
        # Corrected distances fall short a little.
        difference = np.einsum("mk,qmk->q", shares, self.contrasts) - self.target
        return 0.0, float(shortfall(difference, self._error(shares, draws)) @ self.weights)

    def bounds(self, shares: Floats, unparsed: Floats) -> tuple[float, float]:
        """Return the least and the largest loss over all that unparsed answers might have been."""
        low, high = _quantity_range(self.contrasts, shares, unparsed)
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

    def bounds(self, shares: Floats, unparsed: Floats) -> tuple[float, float]:
        """Return the least and the largest loss; see `DistanceLoss.bounds`."""
        low, high = _quantity_range(_diagonal(self.target.size, self.contrast), shares, unparsed)
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


def _quantity_range(contrasts: Floats, shares: Floats, unparsed: Floats) -> tuple[Floats, Floats]:
    """Return the range of linear quantities over all that unparsed answers might have been."""
    # Where nothing was read there are no shares, and every answer is free.
    known = np.where(unparsed[:, None] < 1, shares, 0.0)
    read = np.einsum("mk,qmk->qm", known, contrasts) * (1 - unparsed)
    low, high = (read + unparsed * end for end in (contrasts.min(axis=2), contrasts.max(axis=2)))
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


def _diagonal(size: int, contrast: Floats) -> Floats:
    """One quantity per condition, made of its own rates."""
    contrasts = np.zeros((size, size, contrast.size))
    contrasts[np.arange(size), np.arange(size)] = contrast
    return contrasts


def _trapezoid(p: Floats) -> Floats:
    """Weights that integrate a function of `p` by the trapezoidal rule."""
    gaps = np.diff(p)
    return np.asarray((np.concatenate([[0.0], gaps]) + np.concatenate([gaps, [0.0]])) / 2)


SEMANTIC_SLOPE, SEMANTIC_TOLERANCE = 2.22, 0.05  # published; 2.22 stands for 1 / 0.45
_SUM = 1 - MIDDLE  # of the probabilities of outcomes 0 and 2 among three
_DIAGONAL_AREA, _FLAT_AREA = 0.42, 0.36  # largest areas at the published range of 0 to 0.6


@dataclass(frozen=True, eq=False)
class Measure:
    """A loss with its points."""

    name: str  # what is measured
    points: float  # points at a loss of 0; 0 for what is reported only
    # published, corrected: the loss in both scorings
    published: Loss
    corrected: Loss


def measures_of(counts: Counts) -> list[Measure]:
    """Return the measures of a part for the conditions that were asked."""
    if counts.part != "words" and counts.p.size < 2:
        raise InputError(
            f"{PARTS[counts.part].title} need answers at two values of p at least; "
            f"received {counts.p.size}. Ask at more values."
        )
    return _MEASURES[counts.part](counts)


def _calibration(
    name: str, points: float, p: Floats, contrast: list[float], optimum: Floats | None = None
) -> Measure:
    outcomes = np.array(contrast)
    # The published scoring holds games against their parameter too.
    published = step_likeness(p, outcomes, p)
    corrected = corrected_step_likeness(p, outcomes, p if optimum is None else optimum)
    return Measure(name, points, published, corrected)


def _three_outcomes(counts: Counts) -> list[Measure]:
    p = counts.p
    target = {"S 0": p, "S 1": np.full_like(p, MIDDLE), "S 2": _SUM - p}
    measures = []
    for outcome, (name, rates) in zip(np.eye(3), target.items(), strict=True):
        # The published areas are for the whole range of p; parts of it have as large a share.
        largest = (_FLAT_AREA if name == "S 1" else _DIAGONAL_AREA) * (p[-1] - p[0]) / _SUM
        # The area between rate and target over the range of p, as a share of the largest.
        area = _diagonal(p.size, outcome), rates, _trapezoid(p) / largest
        corrected = DistanceLoss(*area, corrected=True)
        measures.append(Measure(name, 20 / 3, DistanceLoss(*area), corrected))
    return measures


def _direction(counts: Counts) -> Measure:
    first = np.array([1.0, 0.0])
    optimum = optimal_rates(counts.part, counts.p)
    corrected = DirectionLoss(first, optimum, corrected=True)
    return Measure("direction", 4, DirectionLoss(first, counts.p), corrected)


def _words(counts: Counts) -> list[Measure]:
    size = len(counts.conditions)
    asked = counts.conditions[["item", "order"]].itertuples(index=False, name=None)
    rows = {condition: row for row, condition in enumerate(asked)}
    pairs = list(counts.conditions["item"].unique())
    lacking = [pair for pair in pairs if any((pair, order) not in rows for order in ORDERS)]
    if lacking:
        raise InputError(
            f"pairs of words must be asked in both orders; {len(lacking)} are not, "
            f"the first is {lacking[0]!r}. Ask the other order."
        )
    listed = np.zeros((size, size, 2))
    word, position = np.zeros((2, len(pairs), size, 2))
    for number, pair in enumerate(pairs):
        forward, reverse = (rows[pair, order] for order in ORDERS)
        # Outcome 0 is the first word of the pair, which the reverse order lists second.
        word[number, [forward, reverse], 0] = 0.5
        position[number, forward, 0] = position[number, reverse, 1] = 0.5
        listed[forward, forward, 0] = listed[reverse, reverse, 1] = 1.0

    def loss(
        contrasts: Floats, slope: float, tolerance: float = 0.0, *, corrected: bool = False
    ) -> DistanceLoss:
        n = len(contrasts)
        halves, weights = np.full(n, 0.5), np.full(n, slope / n)
        return DistanceLoss(contrasts, halves, weights, tolerance, corrected)

    # As published a preference for a word counts as one for a position, with opposite signs in the
    # two orders; corrected, the orders are averaged first, which cancels it.
    preference = loss(word, SEMANTIC_SLOPE, SEMANTIC_TOLERANCE)
    return [
        Measure("position", 10, loss(listed, 2), loss(position, 2, corrected=True)),
        Measure("preference", 10, preference, loss(word, 2, corrected=True)),
    ]


_MEASURES: dict[str, Callable[[Counts], list[Measure]]] = {
    "flip": lambda counts: [_calibration("S", 20, counts.p, [1, 0])],
    "two_flips": lambda counts: [
        _calibration("S first", 0, counts.p, [0, 0, 1, 1]),
        _calibration("S second", 10, counts.p, [0, 1, 0, 1]),
        _calibration("S mean", 10, counts.p, [0, 0.5, 0.5, 1]),
    ],
    "three_outcomes": _three_outcomes,
    "reads": lambda counts: [_calibration("S", 8, counts.p, [1, 0])],
    "pennies": lambda counts: [
        _calibration("S", 4, counts.p, [1, 0], optimal_rates("pennies", counts.p)),
        _direction(counts),
    ],
    "positioning": lambda counts: [_direction(counts)],
    "words": _words,
}
