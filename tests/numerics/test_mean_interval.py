"""Intervals of means: inverse of their transformation, weights, roots, coverage where t fails."""

import math
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import fdrcorrection

from coherence.checks.monotone import largest_drop, largest_interval, pair_shares
from coherence.statistics.mean_interval import (
    difference_interval,
    difference_pvalue,
    interval_or_reason,
    mean_interval,
    median_interval,
)
from coherence.statistics.pvalues import benjamini_hochberg, holm
from coherence.statistics.resample import Clusters
from coherence.statistics.shares import NORMAL_QUANTILE, context_shares, wilson_interval


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
    below, clusters = -1 - np.random.default_rng(0).random(40), Clusters("context", np.arange(40))
    for values, why in ((below, "below 0"), (np.ones(40), "all contexts have the same gap")):
        assert why in interval_or_reason(values, clusters, "gap", root=True)[1]


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


# Drops between bins: shares by context, and the interval for a largest one.


def shares(bins, first, context):
    return pair_shares(bins, first, context, np.ones(first.size), policies=False)


def test_shares_vary_as_contexts_do_and_by_half_a_context_at_least():
    chosen = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    context = np.repeat(np.arange(6), 10)
    share, rows, covariance = shares(np.zeros(60, dtype=int), np.repeat(chosen, 10), context)
    assert (share.tolist(), rows.tolist()) == ([0.5], [60])
    assert covariance[0, 0] == pytest.approx(chosen.var(ddof=1) / 6)
    bins, first = np.repeat([0, 1], 4), np.repeat([0.0, 1.0], 4)
    for copies in (1, 50):  # many answers of few contexts may be copies, and say no more
        arrays = bins.repeat(copies), first.repeat(copies), np.arange(8).repeat(copies)
        assert np.diag(shares(*arrays)[2]) == pytest.approx([0.5 / 4**2] * 2)


def test_shares_of_whole_choices_are_those_of_choices():
    first = np.random.default_rng(0).integers(0, 2, 60).astype(float)
    arrays = np.arange(60) % 3, first, np.arange(60) // 3
    of_policies = pair_shares(*arrays, np.ones(60), policies=True)
    for one, other in zip(shares(*arrays), of_policies, strict=True):
        assert other == pytest.approx(one, abs=1e-12)


def test_one_drop_is_tested_by_students_t():
    """Variances .01 and .03 make a standard error of .2: a drop of .3 is 1.5 of them, of t with 4
    degrees of freedom."""
    drop = partial(largest_drop, degrees=4, n_draws=40_000, rng=np.random.default_rng(1))
    drops, ends = drop(np.array([0.6, 0.3]), np.diag([0.01, 0.03]))
    assert drops["pvalue"].tolist() == [pytest.approx(stats.t.sf(1.5, 4), abs=0.006)]
    reach = 0.2 * stats.t.ppf(0.975, 4)
    assert ends == pytest.approx((0.3 - reach, 0.3 + reach), abs=0.03)


def test_one_parameter_has_the_interval_of_its_quantiles():
    """Two sided by quantiles of the errors, in units of a standard error of one half."""
    null = np.random.default_rng(3).normal(size=(5000, 1)) ** 3
    low, high = largest_interval(np.array([2.0]), np.array([0.5]), null)
    assert low == pytest.approx(2 - 0.5 * np.quantile(null, 0.975))
    assert high == pytest.approx(2 + 0.5 * np.quantile(np.abs(null), 0.95))


# Intervals of shares: Wilson's against scipy, over contexts by simulation and limiting cases.


@pytest.mark.parametrize("trials", [1, 7, 200, 5_000])
def test_wilsons_interval_is_that_of_scipy(trials):
    counts = np.unique(np.linspace(0, trials, 9).astype(int))
    low, high = wilson_interval(counts / trials, np.full(counts.size, trials))
    for count, ends in zip(counts, zip(low, high, strict=True), strict=True):
        interval = stats.binomtest(int(count), trials).proportion_ci(0.95, method="wilson")
        assert ends == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_certain_shares_have_one_exact_end():
    """Breaks where rounding leaves an end a bit below 0 or short of 1."""
    trials = np.arange(1, 300)
    assert (wilson_interval(np.zeros(299), trials)[0] == 0).all()
    assert (wilson_interval(np.ones(299), trials)[1] == 1).all()


def dealt(values, n_rows):
    """One group; every context gives the same answer `n_rows` times."""
    answers = np.repeat(np.asarray(values, dtype=float), n_rows)[:, None]
    context = np.repeat(np.arange(len(values)), n_rows)
    return answers, np.zeros(len(answers), dtype=int), context, 1


def test_independent_rows_have_the_interval_of_that_many_trials():
    answers = (np.random.default_rng(3).uniform(size=(40_000, 1)) < 0.3).astype(float)
    context = np.repeat(np.arange(8_000), 5)
    share, *ends, _ = context_shares(answers, np.zeros(40_000, int), context, 1)
    length = np.diff(wilson_interval(share[0], 40_000), axis=0).item()
    assert np.diff(ends, axis=0).item() == pytest.approx(length, rel=0.03)


def test_where_all_contexts_agree_each_counts_as_one_trial():
    _, low, high, _ = context_shares(*dealt([1] * 30, 5))
    # t with 29 degrees of freedom in place of the normal quantile.
    trials = 30 * (NORMAL_QUANTILE / 2.045229642) ** 2
    assert low[0, 0] == pytest.approx(float(wilson_interval(1.0, trials)[0]))
    assert high[0, 0] == 1.0


def test_a_row_of_weight_two_is_two_rows_and_groups_of_one_context_have_no_interval():
    values = np.random.default_rng(5).uniform(size=(30, 1))
    context, twice = np.repeat(np.arange(10), 3), np.repeat(np.arange(30), 2)
    weighed = context_shares(values, np.zeros(30, int), context, 1, weights=np.full(30, 2.0))
    arrays = values[twice], np.zeros(60, int), context[twice]
    written = context_shares(*arrays, 1, weights=np.ones(60))
    for one, other in zip(weighed, written, strict=True):
        np.testing.assert_allclose(one, other)
    arrays = np.array([[1.0], [0.0], [1.0]]), np.array([0, 0, 2]), np.arange(3)
    share, low, *_ = context_shares(*arrays, 3)
    np.testing.assert_array_equal(share[:, 0], [0.5, np.nan, 1.0])
    assert np.isnan(low[:, 0]).tolist() == [False, True, True]


@pytest.mark.parametrize("dependence", [0.3, 3.0, 100.0])  # small: contexts nearly always agree
@pytest.mark.parametrize(
    ("n_contexts", "n_rows", "mean"), [(10, 5, 0.1), (40, 5, 0.03), (20, 1, 0.3)]
)
def test_coverage_is_at_least_as_stated(dependence, n_contexts, n_rows, mean):
    rng = np.random.default_rng(6)
    means = np.linspace(0.3, 1.7, 8) * mean  # of eight groups
    covered = []
    for _ in range(150):
        ends = means[:, None] * dependence, (1 - means[:, None]) * dependence
        chances = rng.beta(*ends, size=(8, n_contexts))
        answers = (rng.uniform(size=(8, n_contexts, n_rows)) < chances[..., None]).astype(float)
        group = np.repeat(np.arange(8), n_contexts * n_rows)
        context = np.repeat(np.arange(8 * n_contexts), n_rows)
        _, low, high, _ = context_shares(answers.reshape(-1, 1), group, context, 8)
        covered.append((low[:, 0] <= means) & (means <= high[:, 0]))
    # Of 1,200 intervals with coverage .95, fewer than .93 are covered once in a thousand times.
    assert np.mean(covered) > 0.93


# Adjusted p-values against statsmodels and against their definitions.


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_benjamini_hochberg_is_that_of_statsmodels(pvalues):
    expected = fdrcorrection(pvalues)[1]
    np.testing.assert_allclose(benjamini_hochberg(pvalues), expected, atol=1e-12)


def test_tests_that_were_not_run_leave_the_family():
    assert holm([0.02, np.nan, 0.03]).tolist()[::2] == [0.04, 0.04]
    assert np.isnan(benjamini_hochberg([0.02, np.nan])[1])
    assert np.isnan(holm([np.nan, np.nan])).all()
    assert benjamini_hochberg([]).shape == holm([]).shape == (0,)


@given(st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(pvalues):
    """The largest of min(1, size * smallest) over all sets of tests that hold this one."""
    sets = [
        members
        for size in range(1, len(pvalues) + 1)
        for members in combinations(range(len(pvalues)), size)
    ]
    for test, adjusted in enumerate(holm(pvalues)):
        bounds = [len(m) * min(pvalues[i] for i in m) for m in sets if test in m]
        assert adjusted == pytest.approx(min(1, max(bounds)))
