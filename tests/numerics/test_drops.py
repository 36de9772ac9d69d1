"""Drops between bins: shares by context, and the interval for a largest one."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from coherence.checks.monotone import largest_drop, largest_interval, pair_shares


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
    drops = drop(np.array([0.6, 0.3]), np.diag([0.01, 0.03]))
    assert drops.pvalue == drops.adjusted[0] == pytest.approx(stats.t.sf(1.5, 4), abs=0.006)
    reach = 0.2 * stats.t.ppf(0.975, 4)
    assert (drops.low, drops.high) == pytest.approx((0.3 - reach, 0.3 + reach), abs=0.03)


def test_one_parameter_has_the_interval_of_its_quantiles():
    """Two sided by quantiles of the errors, in units of a standard error of one half."""
    null = np.random.default_rng(3).normal(size=(5000, 1)) ** 3
    low, high = largest_interval(np.array([2.0]), np.array([0.5]), null)
    assert low == pytest.approx(2 - 0.5 * np.quantile(null, 0.975))
    assert high == pytest.approx(2 + 0.5 * np.quantile(np.abs(null), 0.95))
