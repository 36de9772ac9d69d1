"""mean_interval: inverse of its transformation, weights, roots, coverage where a t interval fails."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence.statistics.mean_interval import mean_interval, median_interval, why_none


def test_ends_are_where_halls_transformation_meets_the_t_quantile():
    values = np.random.default_rng(1).exponential(size=80)
    interval = mean_interval(values)
    skewness = stats.skew(values)
    for end, sign in ((interval.low, 1), (interval.high, -1)):
        t = (values.mean() - end) / values.std(ddof=1)
        transformed = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * 80)
        assert transformed == pytest.approx(sign * stats.t.ppf(0.975, 79) / math.sqrt(80))


def test_without_skewness_it_is_the_t_interval():
    values = np.arange(11.0)
    low, high = stats.t.interval(0.95, 10, values.mean(), stats.sem(values))
    interval = mean_interval(values)
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_weights_make_contexts_count_by_rows():
    values, weights = np.random.default_rng(2).exponential(size=50), np.full(50, 3.0)
    assert mean_interval(values, weights=weights) == mean_interval(values)
    one = np.append(np.zeros(30), 1.0)
    assert mean_interval(one, weights=np.append(np.ones(30), 30.0)).high > mean_interval(one).high


def test_equal_values_have_no_interval_and_negative_ends_no_root():
    assert mean_interval(np.full(20, 0.1 + 0.2)) is None
    assert mean_interval(np.full(20, 0.3) + 1e-16 * np.arange(20)) is None
    assert mean_interval(np.append(np.zeros(19), 1e-6)).high > 0
    assert mean_interval(np.tile([-1.0, 1.1], 10), root=True).low == 0


def test_squared_errors_are_covered_from_both_sides():
    """Heavy errors in one context of five: of 400 t intervals about 30 end below the truth, of these about 10 on either side."""
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


def test_error_is_not_taken_below_the_least():
    values = np.random.default_rng(0).exponential(size=40)
    assert mean_interval(values, least_error=0.01) == mean_interval(values)
    equal = mean_interval(np.ones(40), least_error=0.1)
    assert (
        equal.high - 1
        == pytest.approx(1 - equal.low)
        == pytest.approx(0.1 * stats.t.ppf(0.975, 39))
    )
