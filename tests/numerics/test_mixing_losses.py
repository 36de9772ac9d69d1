"""Losses: golden numbers of the published scoring by hand, and bounds by enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from coherence.batteries.mixing.losses import (
    DirectionLoss,
    DistanceLoss,
    corrected_distance,
    corrected_step_likeness,
    expected_distance,
    shortfall,
    step_likeness,
    sum_distribution,
)

RATES = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
MEAN = np.array([0.0, 0.5, 0.5, 1.0])  # of two flips; its values are not just zeros and ones
ONE, EXACT = np.array([1.0, 0.0]), np.full(2, np.inf)


def mean_of_flips(**options):
    """The mean rate of two flips in two conditions, against .5 and .1, with weights 2 and 3."""
    contrasts = np.zeros((2, 2, 4))
    contrasts[[0, 1], [0, 1]] = MEAN
    return DistanceLoss(contrasts, np.array([0.5, 0.1]), np.array([2.0, 3.0]), **options)


def test_a_distance_loss_is_a_weighted_sum_of_distances():
    # Means are .65 and .35, so that distances are .15 and .25.
    assert mean_of_flips().value(RATES, EXACT) == pytest.approx(2 * 0.15 + 3 * 0.25)
    assert mean_of_flips(tolerance=0.2).value(RATES, EXACT) == pytest.approx(3 * 0.05)
    assert mean_of_flips(corrected=True).value(RATES, EXACT) == pytest.approx(1.05)
    several = mean_of_flips().value(np.stack([RATES, RATES[::-1]]), EXACT)
    assert several.tolist() == pytest.approx([1.05, 2 * 0.15 + 3 * 0.55])


def test_corrected_distances_take_the_standard_error_of_a_mean_of_several_values():
    draws = np.array([11, 5])
    # Values 0, .5 and 1 with these chances have a mean square of .525 and .225.
    variance = np.array([0.525 - 0.65**2, 0.225 - 0.35**2]) / (draws - 1)
    difference, error = np.array([0.15, 0.25]), np.sqrt(variance)
    loss = mean_of_flips(corrected=True)
    weights = [2.0, 3.0]
    golden = corrected_distance(difference, error) @ weights
    assert loss.value(RATES, draws) == pytest.approx(golden)
    below, above = loss.doubt(RATES, draws)
    assert (below, above) == (0, pytest.approx(shortfall(difference, error) @ weights))
    assert loss.doubt(RATES, EXACT) == (0, 0)
    # One answer has no variance of its own; it counts as if it were two.
    alone = loss.value(RATES, np.ones(2))
    assert alone == pytest.approx(loss.value(RATES, np.full(2, 2)))


def test_expected_distance_losses_are_means_over_all_sessions():
    draws, total = np.array([3, 2]), 0.0
    loss = mean_of_flips(tolerance=0.1)
    first, second = (list(itertools.product(range(n + 1), repeat=4)) for n in draws)
    for counts in itertools.product(first, second):
        if [sum(each) for each in counts] == [3, 2]:
            chances = [
                stats.multinomial.pmf(each, sum(each), rates)
                for each, rates in zip(counts, RATES, strict=True)
            ]
            total += np.prod(chances) * float(loss.value(np.array(counts) / draws[:, None], draws))
    assert loss.expected(RATES, draws.astype(float)) == pytest.approx(total)
    assert loss.expected(RATES, EXACT) == pytest.approx(float(loss.value(RATES, EXACT)))


def binary_rates(*rates):
    return np.array([[rate, 1 - rate] for rate in rates])


def test_a_direction_loss_counts_steps_that_go_the_way_of_their_target():
    rising = DirectionLoss(ONE, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    rates = binary_rates(0.2, 0.4, 0.405, 0.3, 0.9)  # up, too little, down, up
    assert rising.value(rates, np.full(5, 10)) == pytest.approx((1 - 1 / 4) / 2)
    falling = DirectionLoss(ONE, rising.target[::-1])
    assert falling.value(rates, np.full(5, 10)) == pytest.approx((1 + 1 / 4) / 2)


def test_expected_direction_losses_are_means_over_all_sessions():
    rates, draws = (0.2, 0.6, 0.3), np.array([2, 3, 1])
    loss = DirectionLoss(ONE, np.array([0.1, 0.5, 0.9]))
    total = 0.0
    for ones in itertools.product(*(range(n + 1) for n in draws)):
        chance = math.prod(stats.binom.pmf(ones, draws, rates))
        total += chance * float(loss.value(binary_rates(*(np.array(ones) / draws)), draws))
    assert loss.expected(binary_rates(*rates), draws.astype(float)) == pytest.approx(total)
    exact = loss.expected(binary_rates(*rates), np.full(3, np.inf))
    assert exact == pytest.approx(0.5)  # up, then down


def test_corrected_directions_go_back_as_far_as_noise_would_go_on():
    draws = np.array([21, 6])
    rates, target = binary_rates(0.3, 0.5), np.array([0.2, 0.8])
    error = math.sqrt(0.3 * 0.7 / 20 + 0.5 * 0.5 / 5)
    # The mean way of a normal step of .2 with this error: up less down, beyond a dead zone of .01.
    blurred = special.ndtr((0.2 - 0.01) / error) - special.ndtr((-0.2 - 0.01) / error)
    loss = DirectionLoss(ONE, target, corrected=True)
    assert loss.value(rates, draws) == pytest.approx((1 - (2 - blurred)) / 2)
    assert loss.doubt(rates, draws) == pytest.approx([(1 - blurred) / 2] * 2)
    assert loss.value(rates, EXACT) == 0
    assert loss.doubt(rates, EXACT) == (0, 0)
    # All answers equal in both conditions: no noise either.
    assert loss.value(binary_rates(0.0, 1.0), draws) == 0


@pytest.mark.parametrize("target", [(0.1, 0.5, 0.9), (0.9, 0.5, 0.1), (0.1, 0.9, 0.5)])
def test_bounds_are_reached_by_some_way_to_fill_in_unreadable_answers(target):
    """Of four answers in a condition one or two could not be read."""
    lost, ones = np.array([1, 2, 1]), np.array([1, 1, 3])
    unread, shares = lost / 4, binary_rates(*(ones / (4 - lost)))
    filled = [
        binary_rates(*((ones + more) / 4))
        for more in itertools.product(*(range(n + 1) for n in lost))
    ]
    p, draws = np.array([0.0, 0.5, 1.0]), np.full(3, 4)
    for loss in (step_likeness(p, ONE, np.array(target)), DirectionLoss(ONE, np.array(target))):
        values = [float(loss.value(rates, draws)) for rates in filled]
        low, high = loss.bounds(shares, unread)
        assert low <= min(values) + 1e-12
        assert high >= max(values) - 1e-12
        nothing_lost = loss.bounds(shares, np.zeros(3))
        assert nothing_lost == pytest.approx([float(loss.value(shares, draws))] * 2)
    distance = step_likeness(p, ONE, np.zeros(3))
    values = [float(distance.value(rates, draws)) for rates in filled]
    # The rate goes on to 1 with its last value: all distances grow, but that one.
    inner = 4 * np.array([0.25, 0.5, 0.25]) @ np.array([0.5, 0.75, 1.0])
    assert distance.bounds(shares, unread)[1] == pytest.approx(inner)
    assert max(values) == pytest.approx(inner)
    step = DirectionLoss(ONE, np.array(target)[:2])
    values = [float(step.value(rates[:2], draws[:2])) for rates in filled]
    assert step.bounds(shares[:2], unread[:2]) == pytest.approx((min(values), max(values)))
    # Where nothing was read, anything may have been said.
    assert step.bounds(np.full((2, 2), np.nan), np.ones(2)) == (0, 1)


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


def test_the_shortfall_makes_up_for_the_bias_of_a_corrected_distance():
    """Quadrature over a standard normal error: no bias at 0 (the plain distance: .80), at most .33
    anywhere, little far out, and nothing to make up for where there is no noise.
    """
    noise, true = np.linspace(-9, 9, 1801), np.linspace(0, 8, 33)
    chance = stats.norm.pdf(noise) * (noise[1] - noise[0])
    seen = true[:, None] + noise
    bias = corrected_distance(seen, np.ones_like(seen)) @ chance - true
    assert abs(bias[0]) < 1e-3
    assert np.abs(bias).max() < 0.33
    assert np.abs(bias[true >= 4]).max() < 0.07
    turned = corrected_distance(-7 * seen, 7 * np.ones_like(seen)) / 7  # nor scale nor sign matter
    np.testing.assert_allclose(turned, corrected_distance(seen, np.ones_like(seen)), atol=1e-12)
    np.testing.assert_array_equal(corrected_distance(noise, np.zeros_like(noise)), np.abs(noise))
    made_up = shortfall(seen, np.ones_like(seen)) @ chance
    assert (made_up + bias >= -0.01).all()
    assert (made_up[true >= 4] < 0.03).all()
    one = shortfall(np.array([1.3]), np.ones(1))[0]
    assert shortfall(np.array([-2.6]), np.array([2.0]))[0] == pytest.approx(2 * one)
    none = shortfall(np.array([0.0, 0.3, 8.0]), np.array([0.0, 0.0, 1.0]))
    assert none == pytest.approx([0, 0, 0], abs=1e-3)


def test_the_expected_distance_of_many_draws_is_that_of_a_normal_variable():
    """Two means of 10,000 draws: sums that never come are left out; breaks if too much is."""
    half = np.array([0.5, 0.5])
    distance = expected_distance([(0.5, half, 10_000), (0.5, half, 10_000)], 0.5)
    # 20,000 fair coins; the mean deviation has a series in 1/n whose first term is 1 - 1 / (4 n).
    normal = np.sqrt(2 / np.pi) * 0.5 / np.sqrt(20_000)
    assert distance == pytest.approx(normal * (1 - 1 / 80_000), rel=1e-8)


def test_known_rates_and_drawn_ones_may_stand_side_by_side():
    # Half of a rate known to be .6 and half of a coin that is flipped twice: .3, .55 or .8.
    spread = [(0.5, np.array([0.4, 0.6]), math.inf), (0.5, np.array([0.5, 0.5]), 2.0)]
    expected = 0.25 * 0.2 + 0.5 * 0.05 + 0.25 * 0.3
    assert expected_distance(spread, 0.5) == pytest.approx(expected)
    assert expected_distance(spread, 0.5, 0.1) == pytest.approx(0.25 * 0.1 + 0.25 * 0.2)
    assert expected_distance([], 0.5) == 0.5


@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.1, 0.9), (0.2, 0.4), (0.5, 0.8)])
def test_a_step_has_a_corrected_likeness_of_one_over_any_range(ends):
    # So fine a grid that the trapezoidal rule misses the jump at one half by little.
    p = np.linspace(*ends, 401)
    loss = corrected_step_likeness(p, ONE, p)
    exact = np.full(p.size, np.inf)
    step = binary_rates(*np.where(np.isclose(p, 0.5), 0.5, p > 0.5))
    assert loss.value(step, exact) == pytest.approx(1, abs=6e-3)
    assert loss.value(binary_rates(*p), exact) == pytest.approx(0, abs=1e-12)
