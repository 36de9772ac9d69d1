"""Intervals of means: inverse of their transformation, weights, roots, coverage where t fails."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence.checks.calibration import squares_interval
from coherence.statistics.mean_interval import (
    difference_interval,
    difference_pvalue,
    mean_interval,
    median_interval,
    why_none,
)


def degrees(values):
    """Satterthwaite's: n - 1 at the kurtosis of the normal and below, fewer in heavy tails."""
    return min(len(values) - 1, max(4, 2 * len(values) / (stats.kurtosis(values) + 2)))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_ends_are_where_halls_transformation_meets_the_t_quantile(level):
    """Weights change the mean, its spread and its skewness; breaks if one of them is left out."""
    rng = np.random.default_rng(4)
    values = rng.exponential(size=60)
    for weights in (np.ones(60), rng.integers(1, 6, 60).astype(float)):
        interval = mean_interval(values, weights=weights, level=level)
        mean = np.average(values, weights=weights)
        influence = weights / weights.mean() * (values - mean)
        skewness = stats.skew(influence)
        assert degrees(influence) < 40
        reach = stats.t.ppf((1 + level) / 2, degrees(influence)) / math.sqrt(60)
        for end, sign in ((interval.low, 1), (interval.high, -1)):
            t = (mean - end) / influence.std(ddof=1)
            hall = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * 60)
            assert hall == pytest.approx(sign * reach)
    assert mean_interval(values, weights=np.full(60, 3.0)) == mean_interval(values)
    root = mean_interval(values, root=True)
    plain = mean_interval(values)
    assert (root.low**2, root.high**2) == pytest.approx((plain.low, plain.high))
    # Without skewness it is the t interval.
    values = np.arange(11.0)
    interval = mean_interval(values)
    low, high = stats.t.interval(0.95, 10, values.mean(), stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_median_interval_follows_the_share_below():
    """Woodruff's quantiles, the share's variance from totals of contexts of unequal size."""
    rng = np.random.default_rng(7)
    context = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    values = rng.normal(size=30)[context] + rng.normal(size=context.size) / 3
    below = (values <= np.median(values)).astype(float)
    totals = np.array([(below[context == c] - below.mean()).sum() for c in range(30)])
    error = math.sqrt(30 / 29 * (totals**2).sum()) / values.size
    for level in (0.8, 0.95):
        reach = stats.t.ppf((1 + level) / 2, 29) * error
        interval = median_interval(values, context, level=level)
        ends = np.quantile(values, [0.5 - reach, 0.5 + reach])
        assert (interval.low, interval.high) == pytest.approx(tuple(ends))
        assert interval.level == level
    anywhere = median_interval(np.arange(8.0), np.repeat([0, 1], 4))  # of two contexts
    assert (anywhere.low, anywhere.high) == (0.0, 7.0)


def test_without_repetitions_a_median_has_the_sign_test_and_copies_make_it_no_surer():
    values = np.random.default_rng(0).exponential(size=400)
    interval, ranked = median_interval(values, np.arange(400)), np.sort(values)
    low, high = stats.binom.ppf([0.025, 0.975], 400, 0.5).astype(int)
    assert ranked[low - 2] <= interval.low <= ranked[low + 2]
    assert ranked[high - 3] <= interval.high <= ranked[high + 2]
    copied = median_interval(np.repeat(values, 10), np.repeat(np.arange(400), 10))
    assert copied.high - copied.low == pytest.approx(interval.high - interval.low, rel=0.1)


def test_no_interval_is_without_width_or_wholly_below_zero():
    assert mean_interval(np.full(20, 0.1 + 0.2)) is None
    assert mean_interval(np.full(20, 0.3) + 1e-16 * np.arange(20)) is None
    assert mean_interval(np.append(np.zeros(19), 1e-6)).high > 0
    assert mean_interval(np.tile([-1.0, 1.1], 10), root=True).low == 0
    assert median_interval(np.full(40, 0.2), np.arange(40)) is None
    below = -1 - np.random.default_rng(0).random(40)
    assert mean_interval(below, root=True) is None
    assert "below 0" in why_none(below, "gap")
    assert why_none(np.ones(40), "gap") == "no interval, because all contexts have the same gap"


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_p_of_a_difference_is_the_level_at_which_its_interval_ends_at_zero(power):
    values = np.random.default_rng(3).normal(0.4, 1, size=60) ** power - (power == 2)
    p = difference_pvalue(values)
    assert 0.0001 < p < 0.9
    interval = difference_interval(values, level=1 - p)
    assert min(abs(interval.low), abs(interval.high)) == pytest.approx(0, abs=1e-9)
    assert difference_pvalue(-values) == pytest.approx(p)
    assert difference_pvalue(1000 * values) == pytest.approx(p)


def test_the_interval_of_a_difference_is_the_wider_of_two():
    values = np.random.default_rng(5).exponential(size=40)
    wide, skewed = difference_interval(values), mean_interval(values)
    reach = stats.t.ppf(0.975, degrees(values)) * values.std(ddof=1) / math.sqrt(40)
    assert wide.low == pytest.approx(values.mean() - reach)
    assert wide.high == skewed.high
    assert wide.low < skewed.low
    assert difference_interval(np.ones(9)) is None


def test_a_few_values_are_no_more_evidence_than_their_signs():
    few = np.zeros(1000)
    few[:3] = 1.0
    assert difference_pvalue(few) == 0.25
    few[3:6] = -1.0
    assert difference_pvalue(few) == pytest.approx(1)
    assert difference_pvalue(np.ones(8)) == 2.0**-7
    assert math.isnan(difference_pvalue(np.zeros(8)))


@pytest.mark.parametrize("shape", ["skewed", "heavy"])
def test_the_p_of_a_difference_of_zero_is_seldom_small(shape):
    """Also at a level of .005, which pairs of several models need: Student's rejects .0195 there
    where values are skewed, the skewness-adjusted t .0095 where tails are heavy. The bounds are
    passed once in ten thousand runs."""
    rng = np.random.default_rng(0)

    def draw():
        return rng.exponential(size=50) - 1 if shape == "skewed" else rng.standard_t(4, size=50)

    pvalues = np.array([difference_pvalue(draw()) for _ in range(2000)])
    assert (pvalues <= 0.05).sum() <= stats.binom.ppf(0.9999, 2000, 0.05)
    assert (pvalues <= 0.005).sum() <= stats.binom.ppf(0.9999, 2000, 0.005)


# Roots of sums of squares


def test_the_size_of_one_mean_has_the_test_of_its_size():
    """P(|Z + d| > 3) is .025 at the low end, P(|Z + d| < 3) is .025 at the high one."""
    interval = squares_interval(np.array([0.3]), np.array([[0.01]]), 1e6)

    def below(end):
        return np.diff(stats.norm.cdf([-3, 3], end / 0.1))[0]

    assert below(interval.low) == pytest.approx(0.975, abs=1e-3)
    assert below(interval.high) == pytest.approx(0.025, abs=1e-3)


@pytest.mark.parametrize("mean", [5.0, 99.9, 100.1])
def test_the_size_of_a_mean_far_from_zero_has_the_t_interval(mean):
    """Breaks if the switch to the plain root jumps, or if the estimated error counts as known."""
    interval = squares_interval(np.array([mean]), np.array([[1.0]]), 12)
    reach = stats.t.ppf(0.975, 12)
    ends = (interval.low, interval.high)
    assert ends == pytest.approx((mean - reach, mean + reach), abs=0.02)


def test_what_is_smaller_than_chance_proves_nothing():
    small, none, usual = (
        squares_interval(np.array(means), np.eye(2) * 0.01, 100)
        for means in ([0.01, 0.0], [0.0, 0.0], [0.1, 0.1])
    )
    assert small.low == none.low == 0
    assert small.high == pytest.approx(none.high, rel=0.01)
    assert none.high == pytest.approx(usual.high, rel=0.01)
    assert squares_interval(np.array([0.1]), np.zeros((1, 1)), 10) is None
