"""Skewness under the null by enumeration, and exchanges against their definition."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from coherence.statistics import exchange
from coherence.statistics.exchange import asymmetry, exchanged_sums, policy_asymmetry
from coherence.statistics.resample import permute_contexts


def skewness_by_enumeration(weights, share, odds, size):
    """Moments of size * (w - mean) * (theta - q), summed over every action with every state."""
    second = third = 0.0
    for w, s, q, n in zip(weights, share, odds, size, strict=True):
        for action, theta in product(range(len(s)), (0, 1)):
            chance = s[action] * (q if theta else 1 - q)
            value = n * (w[action] - w @ s) * (theta - q)
            second += chance * value**2
            third += chance * value**3
    return abs(third) / second**1.5


def test_asymmetry_is_the_skewness_of_the_sum():
    rng = np.random.default_rng(0)
    weights, share = rng.normal(size=(6, 3)), rng.dirichlet([1, 2, 3], 6)
    odds, size = rng.random(6), np.array([1, 2, 3, 1, 2, 4])
    context = np.repeat(np.arange(6), size)
    value = asymmetry(weights[context], share[context], odds[context], context, 6)
    assert value == pytest.approx(skewness_by_enumeration(weights, share, odds, size))
    assert asymmetry(-weights[context], share[context], odds[context], context, 6) == value


def test_rows_of_a_context_are_averaged():
    """Two rows with different shares: the mean of their moments, not their sum or the last one."""
    weights, share = np.eye(2)[[1, 1]] * 1.0, np.array([[0.9, 0.1], [0.5, 0.5]])
    second = np.mean([0.09, 0.25]) * 0.16
    third = np.mean([0.09 * 0.8, 0.0]) * 0.16 * 0.6
    weights = np.array([[0.0, 1.0], [0.0, 1.0]])
    value = asymmetry(weights, share, np.full(2, 0.2), np.zeros(2, dtype=int), 1)
    assert value == pytest.approx(third / second**1.5)


def test_fitted_shares_beyond_their_range_are_brought_back():
    weights, context = np.array([[0.0, 1.0]] * 2), np.arange(2)
    beyond = asymmetry(
        weights, np.array([[1.1, -0.1], [0.8, 0.4]]), np.array([0.3, 1.2]), context, 2
    )
    within = asymmetry(
        weights, np.array([[1.0, 0.0], [2 / 3, 1 / 3]]), np.array([0.3, 1]), context, 2
    )
    assert beyond == within == 0.0
    low = asymmetry(weights, np.array([[0.8, 0.4], [0.8, 0.4]]), np.array([0.3, 0.2]), context, 2)
    third = asymmetry(weights, np.array([[2, 1], [2, 1]]) / 3, np.array([0.3, 0.2]), context, 2)
    assert low == pytest.approx(third)


def test_a_state_beyond_certainty_is_certain():
    """Fitted odds of 1.2 vary as little as odds of 1: only the other context counts."""
    weights, share = np.array([[0.0, 1.0]] * 2), np.array([[0.8, 0.2]] * 2)
    both = asymmetry(weights, share, np.array([0.3, 1.2]), np.arange(2), 2)
    single = asymmetry(weights[:1], share[:1], np.array([0.3]), np.array([0]), 1)
    assert both == pytest.approx(single)
    below = asymmetry(weights, share, np.array([0.3, -0.2]), np.arange(2), 2)
    assert below == pytest.approx(single)


@pytest.fixture
def residuals():
    rng = np.random.default_rng(1)
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), np.repeat([0, 1, 2], 4)


def test_sums_are_standardised_by_their_exchanges(residuals):
    action, truth, blocks = residuals
    observed, null, _ = exchanged_sums(action, truth, blocks, 300, np.random.default_rng(2))
    sources = permute_contexts(blocks, 300, np.random.default_rng(2))
    sums = np.array([(action * truth[source]).sum(axis=0) for source in sources])
    np.testing.assert_allclose(null, (sums - sums.mean(axis=0)) / sums.std(axis=0))
    expected = ((action * truth).sum(axis=0) - sums.mean(axis=0)) / sums.std(axis=0)
    np.testing.assert_allclose(observed, expected)


@pytest.mark.parametrize(("most", "n_draws"), [(12 * 250, 250), (12, 199), (12 * 1000, 300)])
def test_many_contexts_are_exchanged_less_often_and_in_portions(
    residuals, most, n_draws, monkeypatch
):
    action, truth, blocks = residuals
    portions = []
    monkeypatch.setattr(exchange, "EXCHANGES", most)
    monkeypatch.setattr(
        exchange,
        "permute_contexts",
        lambda blocks, n, rng: portions.append(n) or permute_contexts(blocks, n, rng),
    )
    _, null, _ = exchanged_sums(action, truth, blocks, 300, np.random.default_rng(3))
    assert null.shape == (n_draws, 2)
    assert sum(portions) == n_draws
    assert max(portions) == min(n_draws, max(1, most // 10 // 12))


def test_what_exchanges_cannot_move_counts_nothing(residuals):
    action, truth, blocks = residuals
    truth[:, 1] = blocks  # constant within blocks
    observed, null, _ = exchanged_sums(action, truth, blocks, 99, np.random.default_rng(4))
    assert observed[1] == 0
    assert (null[:, 1] == 0).all()
    assert math.isfinite(observed[0])
    assert null[:, 0].std() == pytest.approx(1)


def test_skewness_given_the_actions_is_that_of_weighed_coins():
    """Exact for independent Bernoulli variables, against 400,000 draws of their sum."""
    rng = np.random.default_rng(0)
    odds, residual = np.full(8, 0.05), np.array([3.0, 1, 1, 1, 1, 1, -1, 0.5])
    context = np.arange(8)
    expected = policy_asymmetry(residual, odds, context, 8)
    sums = (rng.random((400_000, 8)) < odds) @ residual
    assert expected == pytest.approx(abs(stats.skew(sums)), rel=0.02)
    # Rows of a context share a state: halves of a residual are one coin.
    halves = policy_asymmetry(
        np.repeat(residual / 2, 2), np.repeat(odds, 2), np.repeat(context, 2), 8
    )
    assert halves == pytest.approx(expected)
    assert policy_asymmetry(residual * 0, odds, context, 8) == 0.0
    assert policy_asymmetry(residual, odds * 0 + 0.5, context, 8) == pytest.approx(0.0)
