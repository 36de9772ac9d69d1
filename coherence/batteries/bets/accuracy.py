"""Tests and intervals for the share of right answers to crossed questions.

Every high thing meets every low one, so two questions that share a thing depend on each other, and
the binomial distribution is too narrow. The paper's z test, which takes answers as independent and
estimates the variance from the sample, stands beside an exact test and an interval that allows for
both crossings.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import (
    Floats,
    as_codes,
    as_numbers,
    check_level,
    require,
    require_yes_no,
    whole_number,
)
from coherence.result import Interval
from coherence.statistics.shares import exact_interval

_METHOD = "exact binomial at the effective sample size, high and low things as crossed clusters"


def z_test(n_right: int, n: int, chance: float) -> tuple[float, float]:
    """Test as the paper does whether a share of right answers exceeds a chance rate.

    Null: answers are independent and right with probability `chance`; the variance is estimated at
    the observed share. Returns z, infinite at a share of 0 or 1, where that variance is 0, and the
    probability of a standard normal above it.

    Tang and Kejriwal, tables 5 and 9 to 19; the formula is the one that gives their p-values.
    """
    share = n_right / n
    spread = math.sqrt(share * (1 - share) / (n - 1))
    gap = share - chance
    # At a share of 0 or 1 the limit: what the paper prints as "1.00" and "<.001".
    at_the_end = math.copysign(math.inf, gap) if gap != 0 else math.nan
    z = gap / spread if spread > 0 else at_the_end
    return z, float(stats.norm.sf(z))


def exact_test(n_right: int, chances: ArrayLike) -> float:
    """Test exactly whether there are more right answers than random guesses would give.

    Null: every answer is an independent guess that is right with its own known probability.

    Parameters
    ----------
    n_right : int
        Right answers.
    chances : array-like, shape (n,)
        For each question the probability that a guess is right, in [0, 1]; where they differ, the
        number of right guesses is no binomial, and its distribution is computed by convolution.

    Returns
    -------
    float
        Probability of at least `n_right` right guesses.

    Raises
    ------
    InputError
        No questions, more right answers than questions, or a probability outside [0, 1].

    Examples
    --------
    >>> round(exact_test(13, [1 / 3] * 25), 4)
    0.0415
    """
    p = as_numbers(chances, "chances")
    require(
        p.ndim == 1 and p.size > 0,
        f"chances must hold one probability per question; received shape {p.shape}.",
    )
    whole_number(n_right, "n_right", 0)
    require(n_right <= p.size, f"n_right must be at most {p.size}; received {n_right}.")
    require(bool(((p >= 0) & (p <= 1)).all()), "chances must be in [0, 1]; some are not.")
    # Equal chances: the binomial is faster than a convolution, and exact far out.
    if np.ptp(p) < 1e-12:
        return float(stats.binom.sf(n_right - 1, p.size, p[0]))
    distribution = np.ones(1)
    for value in p:
        distribution = np.convolve(distribution, [1 - value, value])
    return float(min(distribution[n_right:].sum(), 1.0))


def crossed_interval(
    right: ArrayLike, first: ArrayLike, second: ArrayLike, *, level: float = 0.95
) -> Interval:
    """Return an interval for the share of right answers when questions share things of two kinds.

    Parameters
    ----------
    right : array-like of bool, shape (n,)
        Right answers.
    first, second : array-like, shape (n,)
        The high and the low thing of each question; at least two of each.
    level : float
        Nominal coverage.

    Returns
    -------
    Interval
        For the share that things and questions like these would have. NaN at both ends where there
        are fewer than two things of a kind.

    Notes
    -----
    The variance is the sum of those of the sums over high and over low things, with nothing taken
    off for pairs that are in both (Davezies, D'Haultfoeuille and Guyonvarch 2021; this errs on the
    side of too large), no less than that of independent answers. It gives an effective number of
    answers, at which an exact binomial interval is taken with a t correction for the few things
    (Korn and Graubard 1998). The degrees of freedom of the t are those of Satterthwaite (1946) for
    a sum of two variances, each with what the kurtosis of its own sums leaves: one thing in fifteen
    that is always wrong tells little about the variance. Where all answers are right, or all wrong,
    they show no variance; then the number of free means of an additive layout, the things of both
    kinds less one, is the effective number.

    Examples
    --------
    >>> high, low = np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5)
    >>> interval = crossed_interval(high < 3, high, low)  # right for three of five high things
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.04, 0.99)
    """
    check_level(level)
    values = as_numbers(right, "right")
    require(
        values.ndim == 1 and values.size > 0,
        f"right must hold one answer per question; received shape {values.shape}.",
    )
    require_yes_no(values, "right")
    n, share = values.size, float(values.mean())
    sides = [as_codes(side, name, n)[0] for name, side in (("first", first), ("second", second))]
    n_things = min(int(side.max()) + 1 for side in sides)
    if n_things < 2:
        return Interval(math.nan, math.nan, level, _METHOD)
    # Davezies, D'Haultfoeuille and Guyonvarch: a variance over each kind of things, added up.
    residual = values - share
    parts = [_clustered_variance(residual, side) for side in sides]
    variance = max(sum(part for part, _ in parts), float(residual @ residual) / n / (n - 1))
    if variance < 1e-15:
        free_means = sum(int(side.max()) + 1 for side in sides) - 1
        return Interval(*exact_interval(share, float(min(free_means, n)), level), level, _METHOD)
    # Korn and Graubard: the number of independent answers that would have this variance.
    effective = min(share * (1 - share) / variance, n)
    # Answers that differ within every thing and not between things leave both parts at 0, and no t
    # correction to make.
    spread = sum(part**2 / freedom for part, freedom in parts)
    freedom = sum(part for part, _ in parts) ** 2 / spread if spread > 1e-30 else n - 1
    tail = (1 + level) / 2
    effective *= float(stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, freedom)) ** 2
    return Interval(*exact_interval(share, effective, level), level, _METHOD)


def _clustered_variance(residual: Floats, cluster: np.ndarray) -> tuple[float, float]:
    """Return the variance of the mean from sums over clusters, and its degrees of freedom."""
    totals = np.bincount(cluster, weights=residual)
    squares = totals**2
    count, second = totals.size, float(squares.mean())
    excess = max(float((squares**2).mean()) / second**2 - 3, 0.0) if second > 0 else 0.0
    # The variance of an estimated variance grows with the excess kurtosis: (excess + 2 n / (n - 1))
    # / n, and degrees of freedom are 2 divided by it.
    return float(count / (count - 1) * squares.sum() / residual.size**2), 2 / (
        excess / count + 2 / (count - 1)
    )
