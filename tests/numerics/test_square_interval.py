"""Intervals for roots of sums of squares: one mean by hand, several by simulation, and near 0."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence.checks.calibration import squares_interval


def test_one_mean_is_the_test_of_its_size():
    """P(|Z + d| > 3) is .025 at the low end, P(|Z + d| < 3) is .025 at the high one."""
    interval = squares_interval(np.array([0.3]), np.array([[0.01]]), 1e6)

    def below(end):
        return np.diff(stats.norm.cdf([-3, 3], end / 0.1))[0]

    assert below(interval.low) == pytest.approx(0.975, abs=1e-3)
    assert below(interval.high) == pytest.approx(0.025, abs=1e-3)


@pytest.mark.parametrize("mean", [5.0, 99.9, 100.1])
def test_far_from_zero_it_is_the_t_interval(mean):
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


@pytest.mark.lengthy
@pytest.mark.parametrize("size", [0.0, 1.5, 6.0])
@pytest.mark.parametrize("uneven", [False, True])
def test_several_means_are_covered(size, uneven):
    """Four means of equal or very unequal error, the true ones in a direction of their own."""
    rng = np.random.default_rng(3)
    covariance = np.diag([4.0, 1, 0.25, 0.25] if uneven else [1.0] * 4)
    truth = size * np.array([0.5, 0.5, 0.5, 0.5])
    held = 0
    for _ in range(400):
        interval = squares_interval(rng.multivariate_normal(truth, covariance), covariance, 500)
        held += interval.low <= math.sqrt(truth @ truth) <= interval.high
    assert held >= stats.binom.ppf(0.005, 400, 0.94)
