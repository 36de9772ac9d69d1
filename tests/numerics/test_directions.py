"""Directions: the covariance of choice vectors, every order of actions, and the best candidate."""

import numpy as np
import pytest
from scipy import stats

from coherence.checks.direction import (
    best_fit,
    choice_vectors,
)


def indicators(codes):
    return np.eye(codes.max() + 1)[codes]


def test_covariance_of_choice_vectors_is_multinomial_for_single_rows():
    rng = np.random.default_rng(2)
    bins, action = np.repeat([0, 1], 5000), rng.choice(3, p=[0.2, 0.3, 0.5], size=10_000)
    scan, rows = choice_vectors(bins, indicators(action), np.arange(10_000), 99, rng)
    share = scan.share[0]
    assert scan.covariance[0, :, 0, :] == pytest.approx(
        (np.diag(share) - np.outer(share, share)) / rows[0], rel=1e-3, abs=1e-12
    )
    assert np.abs(scan.covariance[0, :, 1, :]).max() < 1e-12


def test_the_direction_in_which_shares_rise_is_found():
    """From a to b to c as the bin rises: b lies between them, and no share falls along a, b, c."""
    bins = np.repeat([0, 1, 2], 60)
    action = np.concatenate(
        [np.repeat([0, 1], [50, 10]), np.repeat([0, 1, 2], 20), np.repeat([1, 2], [10, 50])]
    )
    scan, _ = choice_vectors(
        bins, indicators(action), np.arange(180), 199, np.random.default_rng(0)
    )
    best, direction, n_candidates = best_fit(scan)
    assert direction[0] < direction[1] < direction[2]
    assert np.ptp(direction) == pytest.approx(1)
    assert best.largest < 0
    assert best.low <= best.largest <= best.high
    assert n_candidates == 6


def test_errors_have_the_tails_of_students_t():
    """Five contexts a bin leave four degrees of freedom: 5% lie beyond 2.13, not beyond 1.64."""
    bins, action = np.repeat([0, 1], 5), np.array([0, 1, 0, 1, 1, 1, 0, 0, 1, 0])
    scan, _ = choice_vectors(
        bins, indicators(action), np.arange(10), 20_000, np.random.default_rng(1)
    )
    null = scan.null(np.array([1.0, 0.0]))[:, 0]
    for tail in (0.05, 0.2):
        assert np.mean(null > stats.t.isf(tail, 4)) == pytest.approx(tail, abs=0.01)
        assert np.mean(null < -stats.t.isf(tail, 4)) == pytest.approx(tail, abs=0.01)


def test_two_bins_and_two_actions_are_a_t_test():
    """20 and 10 of 40: the better of both directions rises, so that the drop is of -.25."""
    bins = np.repeat([0, 1], 40)
    action = np.concatenate([np.repeat([0, 1], [20, 20]), np.repeat([0, 1], [10, 30])])
    scan, _ = choice_vectors(
        bins, indicators(action), np.arange(80), 40_000, np.random.default_rng(2)
    )
    variance = (0.25 / 40 + 0.1875 / 40) * 80 / 79
    best, direction, n_candidates = best_fit(scan)
    assert n_candidates == 2
    assert best.largest == pytest.approx(-0.25)
    assert direction[1] > direction[0]
    assert best.pvalue == pytest.approx(stats.t.cdf(0.25 / np.sqrt(variance), 39), abs=0.005)
    assert best.low == pytest.approx(-0.25 - stats.t.ppf(0.975, 39) * np.sqrt(variance), abs=0.02)
