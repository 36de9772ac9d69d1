"""Noise of distances: binomial sums, normal limits, and corrections without bias."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence.batteries.mixing.losses import (
    corrected_distance,
    expected_distance,
    shortfall,
    sum_distribution,
)


def test_expected_distance_is_the_binomial_sum():
    p, n = 0.3, 17
    k = np.arange(n + 1)
    golden = stats.binom.pmf(k, n, p) @ np.abs(k / n - p)
    assert expected_distance([(1.0, np.array([1 - p, p]), n)], p) == pytest.approx(
        golden, abs=1e-14
    )
    # Half of two means with different numbers of draws, against all their pairs.
    j = np.arange(6)
    joint = np.outer(stats.binom.pmf(k, n, p), stats.binom.pmf(j, 5, 0.6))
    golden = (joint * np.maximum(np.abs((k[:, None] / n + j / 5) / 2 - 0.5) - 0.05, 0)).sum()
    assert expected_distance(
        [(0.5, np.array([1 - p, p]), n), (0.5, np.array([0.4, 0.6]), 5)], 0.5, 0.05
    ) == pytest.approx(golden, abs=1e-12)
    np.testing.assert_allclose(
        sum_distribution(np.array([0.25, 0.5, 0.25]), 7),
        stats.binom.pmf(np.arange(15), 14, 0.5),
        atol=1e-14,
    )


def test_the_corrected_distance_is_nearly_unbiased():
    """Quadrature over a standard normal error: no bias at 0 (the plain distance: .80), at most .33
    anywhere, little far out.
    """
    true, noise = np.linspace(0, 6, 25), np.linspace(-9, 9, 6001)
    chance = stats.norm.pdf(noise) * (noise[1] - noise[0])
    bias = np.array(
        [
            corrected_distance(position + noise, np.ones_like(noise)) @ chance - position
            for position in true
        ]
    )
    assert abs(bias[0]) < 1e-3
    assert np.abs(bias).max() < 0.33
    assert np.abs(bias[true >= 4]).max() < 0.07
    assert np.abs(noise) @ chance == pytest.approx(0.798, abs=0.001)


def test_the_shortfall_makes_up_for_the_bias_whatever_the_truth():
    """By quadrature over what may be observed; nothing where there is no noise, and nothing to
    speak of far out.
    """
    noise = np.linspace(-9, 9, 1801)
    chance = stats.norm.pdf(noise) * (noise[1] - noise[0])
    true = np.linspace(0, 8, 33)
    seen = true[:, None] + noise
    bias = corrected_distance(seen, np.ones_like(seen)) @ chance - true
    made_up = shortfall(seen, np.ones_like(seen)) @ chance
    assert (made_up + bias >= -0.01).all()
    assert (made_up[true >= 4] < 0.03).all()
    assert shortfall(np.array([-2.6]), np.array([2.0]))[0] == pytest.approx(
        2 * shortfall(np.array([1.3]), np.ones(1))[0]
    )
    assert shortfall(np.array([0.0, 0.3, 8.0]), np.array([0.0, 0.0, 1.0])) == pytest.approx(
        [0, 0, 0], abs=1e-3
    )


def test_the_expected_distance_of_many_draws_is_that_of_a_normal_variable():
    """Two means of 10,000 draws: sums that never come are left out, and the rest is exact; breaks
    if too much is.
    """
    half = np.array([0.5, 0.5])
    distance = expected_distance([(0.5, half, 10_000), (0.5, half, 10_000)], 0.5)
    # The mean of 20,000 fair coins; the binomial mean deviation has a series in 1/n whose first
    # term is 1 - 1 / (4 n).
    assert distance == pytest.approx(
        np.sqrt(2 / np.pi) * 0.5 / np.sqrt(20_000) * (1 - 1 / 80_000), rel=1e-8
    )


def test_corrected_distances_keep_their_two_rules():
    """Exact without noise, whatever the sign; with noise scale and sign do not matter."""
    rng = np.random.default_rng(0)
    difference, error = rng.normal(size=50), rng.random(50)
    np.testing.assert_array_equal(corrected_distance(difference, np.zeros(50)), abs(difference))
    once = corrected_distance(difference, error)
    np.testing.assert_allclose(corrected_distance(-difference, error), once)
    np.testing.assert_allclose(corrected_distance(7 * difference, 7 * error), 7 * once)
    # Far out the noise adds nothing to a distance, and nothing is taken off.
    far = corrected_distance(np.array([20.0, -30.0]), np.ones(2))
    np.testing.assert_allclose(far, [20, 30], atol=1e-6)


def test_known_rates_and_drawn_ones_may_stand_side_by_side():
    # Half of a rate known to be .6 and half of a coin that is flipped twice: .3, .55 or .8.
    spread = [(0.5, np.array([0.4, 0.6]), math.inf), (0.5, np.array([0.5, 0.5]), 2.0)]
    expected = 0.25 * 0.2 + 0.5 * 0.05 + 0.25 * 0.3
    assert expected_distance(spread, 0.5) == pytest.approx(expected)
    assert expected_distance(spread, 0.5, 0.1) == pytest.approx(0.25 * 0.1 + 0.25 * 0.2)
    assert expected_distance([], 0.5) == 0.5
