"""Confidence interval for the root of a sum of squared means, from the means and their covariance.

The sum of squares of a few estimated means, as of the gaps of bins of belief, is a multiple of a
noncentral chi-square, exactly so for a single mean. Its interval is inverted; what varies as a
square has no symmetric error, least of all near 0.
"""

import math

import numpy as np
from scipy import optimize, stats

from coherence.inputs import Floats
from coherence.result import Interval

SQUARES_METHOD = "inverted noncentral chi-square of the gaps, contexts as units"
_PLAIN = 1e4  # squares over chance from which the root is as good as normal


def squares_interval(
    means: Floats, covariance: Floats, degrees: float, *, level: float = 0.95
) -> Interval | None:
    """Return an interval for the root of the sum of squares of true means.

    With several means the spread of the sum is matched by one scale and a fractional number of
    means (Box 1954), for the part of chance and the direction of the observed means alike. Sums
    below what chance gives are taken as that: they may not show that the true means are 0, and the
    interval then starts at 0 and covers more often than stated.

    Box (1954), Annals of Mathematical Statistics 25(2), theorem 3.1, for the scale.
    """
    chance = float(np.trace(covariance))
    if chance <= 1e-20:
        return None
    square = float(means @ means)
    twice = float((covariance**2).sum())
    scale = (float(means @ covariance @ means) + twice) / (square + chance)
    if square > _PLAIN * chance:
        reach = float(stats.t.ppf((1 + level) / 2, degrees)) * math.sqrt(scale)
        return Interval(math.sqrt(square) - reach, math.sqrt(square) + reach, level, SQUARES_METHOD)
    number = chance / scale
    # An estimated error widens the interval of a single mean by as much as t quantiles do.
    quantiles = (dist.ppf((1 + level) / 2) for dist in (stats.t(degrees), stats.norm))
    widened = scale * (next(quantiles) / next(quantiles)) ** 2

    def true_square(observed: float, tail: float) -> float:
        """Sum of squares that leaves `tail` below the observed one; 0 where none does."""

        def below(centre: float) -> float:
            if centre <= 0:
                return float(stats.chi2.cdf(observed / widened, number))
            return float(stats.ncx2.cdf(observed / widened, number, centre))

        if below(0.0) <= tail:
            return 0.0
        high = 1.0
        while below(high) > tail:
            high *= 2
        centre = optimize.brentq(lambda at: below(at) - tail, 0.0, high, xtol=1e-6)
        return float(centre) * widened

    low = true_square(square, (1 + level) / 2)
    high = true_square(max(square, chance), (1 - level) / 2)
    return Interval(math.sqrt(low), math.sqrt(high), level, SQUARES_METHOD)
