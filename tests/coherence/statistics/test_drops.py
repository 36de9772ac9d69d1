"""Drops between bins: shares by context, the isotonic fit, and the interval for a largest one."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from coherence.statistics.drops import (
    contexts_per_bin,
    isotonic_fit,
    largest_drop,
    largest_interval,
    shares,
)


def test_contexts_of_a_bin_are_counted_once():
    bins, context = np.array([0, 0, 0, 2, 2]), np.array([5, 5, 1, 5, 5])
    assert contexts_per_bin(bins, context, 4).tolist() == [2, 0, 1, 0]


def test_shares_of_contexts_that_agree_vary_as_contexts_do():
    """Rows of a context are one choice: the variance is that of a share of contexts."""
    chosen = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    context = np.repeat(np.arange(6), 10)
    share, rows, covariance = shares(np.zeros(60, dtype=int), np.repeat(chosen, 10), context)
    assert (share.tolist(), rows.tolist()) == ([0.5], [60])
    assert covariance[0, 0] == pytest.approx(chosen.var(ddof=1) / 6)


def test_a_bin_that_agrees_has_the_least_variance_of_half_a_context():
    bins, first = np.repeat([0, 1], 4), np.repeat([0.0, 1.0], 4)
    covariance = shares(bins, first, np.arange(8))[2]
    assert np.diag(covariance) == pytest.approx([0.1 * 0.9 / 4] * 2)


def test_every_drop_is_named_and_the_largest_decides():
    covariance = np.eye(3) * 0.01
    drops = largest_drop(
        np.array([0.2, 0.7, 0.1]),
        covariance,
        degrees=50,
        isotonic=False,
        n_draws=999,
        rng=np.random.default_rng(0),
    )
    assert list(zip(drops.j, drops.k, strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert drops.drop == pytest.approx([-0.5, 0.1, 0.6])
    assert drops.pvalue == drops.adjusted.min() == drops.adjusted[2] <= 0.002
    assert drops.low < 0.6 < drops.high


def test_isotonic_fit_is_scikit_learns():
    rng = np.random.default_rng(4)
    values, weights = rng.normal(size=(30, 7)), rng.uniform(0.1, 5, 7)
    expected = [isotonic_regression(row, sample_weight=weights) for row in values]
    assert isotonic_fit(values, weights) == pytest.approx(np.array(expected), abs=1e-12)


def test_interval_for_the_largest_of_several_parameters_covers():
    """One clear largest: both ends miss 2.5%; all equal: the interval is conservative, never too
    short."""
    rng = np.random.default_rng(0)
    null = rng.normal(size=(4000, 4))
    for truth, lowest, highest in (
        (np.array([3.0, -4.0, -5.0, -6.0]), 0.93, 0.97),
        (np.zeros(4), 0.95, 1.0),
    ):
        covered = 0
        for _ in range(800):
            low, high = largest_interval(truth + rng.normal(size=4), np.ones(4), null)
            covered += low <= truth.max() <= high
        assert lowest <= covered / 800 <= highest
