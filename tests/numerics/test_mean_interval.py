"""Intervals of means: inverse of their transformation, weights, roots, coverage where t fails."""

import math

import numpy as np
import pytest
from scipy import stats

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


def test_ends_are_where_halls_transformation_meets_the_t_quantile():
    values = np.random.default_rng(1).exponential(size=80)
    interval = mean_interval(values)
    skewness = stats.skew(values)
    assert degrees(values) < 50
    reach = stats.t.ppf(0.975, degrees(values)) / math.sqrt(80)
    for end, sign in ((interval.low, 1), (interval.high, -1)):
        t = (values.mean() - end) / values.std(ddof=1)
        transformed = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * 80)
        assert transformed == pytest.approx(sign * reach)


def transformed(end, mean, spread, skewness, n):
    """Hall's monotone cubic of the studentised distance between the mean and an end."""
    t = (mean - end) / spread
    return t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * n)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_ends_of_a_weighted_mean_follow_its_influence(level):
    """Weights change the mean, its spread and its skewness; breaks if one of them is left out."""
    rng = np.random.default_rng(4)
    values, weights = rng.exponential(size=60), rng.integers(1, 6, 60).astype(float)
    interval = mean_interval(values, weights=weights, level=level)
    mean = np.average(values, weights=weights)
    influence = weights / weights.mean() * (values - mean)
    spread, skewness = influence.std(ddof=1), stats.skew(influence)
    reach = stats.t.ppf((1 + level) / 2, degrees(influence)) / math.sqrt(60)
    for end, sign in ((interval.low, 1), (interval.high, -1)):
        assert transformed(end, mean, spread, skewness, 60) == pytest.approx(sign * reach)
    assert (interval.level, mean_interval(values).level) == (level, 0.95)


def test_ends_of_a_root_are_roots():
    values = np.random.default_rng(6).exponential(size=40)
    interval, root = mean_interval(values), mean_interval(values, root=True)
    assert (root.low**2, root.high**2) == pytest.approx((interval.low, interval.high))


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


def test_median_of_very_few_contexts_may_be_anywhere():
    values = np.arange(8.0)
    interval = median_interval(values, np.repeat([0, 1], 4))
    assert (interval.low, interval.high) == (0.0, 7.0)


def test_without_skewness_it_is_the_t_interval():
    values = np.arange(11.0)
    low, high = stats.t.interval(0.95, 10, values.mean(), stats.sem(values))
    interval = mean_interval(values)
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_weights_make_contexts_count_by_rows():
    values, weights = np.random.default_rng(2).exponential(size=50), np.full(50, 3.0)
    assert mean_interval(values, weights=weights) == mean_interval(values)
    single = np.append(np.zeros(30), 1.0)
    heavy = np.append(np.ones(30), 30.0)
    assert mean_interval(single, weights=heavy).high > mean_interval(single).high


def test_equal_values_have_no_interval_and_negative_ends_no_root():
    assert mean_interval(np.full(20, 0.1 + 0.2)) is None
    assert mean_interval(np.full(20, 0.3) + 1e-16 * np.arange(20)) is None
    assert mean_interval(np.append(np.zeros(19), 1e-6)).high > 0
    assert mean_interval(np.tile([-1.0, 1.1], 10), root=True).low == 0


def test_squared_errors_are_covered_from_both_sides():
    """Heavy errors in one context of five: of 400 t intervals about 30 end below the truth."""
    missed = np.zeros(2)
    t_missed_below = 0
    for seed in range(400):
        rng = np.random.default_rng([seed, 3])
        values = (rng.normal(size=200) * math.sqrt(5) * (rng.random(200) < 0.2)) ** 2
        interval = mean_interval(values)
        missed += (interval.low > 1, interval.high < 1)
        t_missed_below += stats.t.interval(0.95, 199, values.mean(), stats.sem(values))[1] < 1
    assert missed.max() <= stats.binom.ppf(0.999, 400, 0.025)
    assert missed.sum() <= stats.binom.ppf(0.999, 400, 0.05)
    assert t_missed_below > missed[1]


def test_median_interval_is_the_sign_test_without_repetitions():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=400)
    interval = median_interval(values, np.arange(400))
    ranked = np.sort(values)
    low, high = stats.binom.ppf([0.025, 0.975], 400, 0.5).astype(int)
    assert ranked[low - 2] <= interval.low <= ranked[low + 2]
    assert ranked[high - 3] <= interval.high <= ranked[high + 2]


def test_median_interval_is_as_wide_as_its_contexts_are_few():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=100)
    once = median_interval(values, np.arange(100))
    copied = median_interval(np.repeat(values, 10), np.repeat(np.arange(100), 10))
    assert copied.high - copied.low == pytest.approx(once.high - once.low, rel=0.1)


def test_no_interval_is_without_width_or_wholly_below_zero():
    assert median_interval(np.full(40, 0.2), np.arange(40)) is None
    below = -1 - np.random.default_rng(0).random(40)
    assert mean_interval(below, root=True) is None
    assert "below 0" in why_none(below, "gap")
    assert why_none(np.ones(40), "gap") == "no interval, because all contexts have the same gap"


@pytest.mark.parametrize("n", [30, 50])
def test_squares_of_exponential_gaps_are_covered(n):
    """Skewness 6.6. Without fewer degrees of freedom .92 at 30 contexts; with them .945."""
    held = 0
    for seed in range(600):
        values = np.random.default_rng([seed, n]).exponential(size=n) ** 2
        interval = mean_interval(values)
        held += interval.low <= 2 <= interval.high
    assert held >= stats.binom.ppf(0.01, 600, 0.945)


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
