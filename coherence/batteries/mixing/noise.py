"""What drawing does to the distance between a rate and its target, and how it is taken out again.

The distance of an observed rate from its target overstates that of the true rate, because chance
adds to it in whichever direction. Its expectation for a perfect sampler is a finite sum over
binomial outcomes. For any other rate the excess is removed by simulation extrapolation, whose
"simulations" have a closed form here: add noise, see how the distance grows, and go back along that
line to no noise.
"""

import math
from functools import cache

import numpy as np
from scipy import special, stats

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
