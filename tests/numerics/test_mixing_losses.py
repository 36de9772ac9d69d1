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
    shortfall,
    step_likeness,
)


def step(p, at_half):
    return np.where(np.isclose(p, 0.5), at_half, p > 0.5).astype(float)


RATES = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
MEAN = np.array([0.0, 0.5, 0.5, 1.0])  # of two flips; its values are not just zeros and ones
EXACT = np.full(2, np.inf)


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


def sessions(n_draws, n_outcomes):
    """All counts of outcomes in a condition."""
    return [
        counts
        for counts in itertools.product(range(n_draws + 1), repeat=n_outcomes)
        if sum(counts) == n_draws
    ]


def test_expected_distance_losses_are_means_over_all_sessions():
    draws = np.array([3, 2])
    loss = mean_of_flips(tolerance=0.1)
    total = 0.0
    for first, second in itertools.product(sessions(3, 4), sessions(2, 4)):
        chance = math.prod(
            math.factorial(n)
            * math.prod(rate**k / math.factorial(k) for rate, k in zip(rates, counts, strict=True))
            for counts, n, rates in zip((first, second), (3, 2), RATES, strict=True)
        )
        shares = np.array([first, second]) / draws[:, None]
        total += chance * float(loss.value(shares, draws))
    assert loss.expected(RATES, draws.astype(float)) == pytest.approx(total)
    assert loss.expected(RATES, EXACT) == pytest.approx(float(loss.value(RATES, EXACT)))


def binary_rates(*rates):
    return np.array([[rate, 1 - rate] for rate in rates])


ONE = np.array([1.0, 0.0])


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


@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.1, 0.9), (0.2, 0.4), (0.5, 0.8)])
def test_a_step_has_a_corrected_likeness_of_one_over_any_range(ends):
    # So fine a grid that the trapezoidal rule misses the jump at one half by little.
    p = np.linspace(*ends, 401)
    loss = corrected_step_likeness(p, ONE, p)
    exact = np.full(p.size, np.inf)
    assert loss.value(binary_rates(*step(p, 0.5)), exact) == pytest.approx(1, abs=6e-3)
    assert loss.value(binary_rates(*p), exact) == pytest.approx(0, abs=1e-12)
