"""Mixing: the conditions, the test of independence against permutations, intervals by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from coherence.batteries.mixing.design import (
    EXPERIMENTS,
    PARTS,
    check_answers,
    count_checked,
    equilibrium_shares,
    literal_shares,
    optimal_rates,
)
from coherence.batteries.mixing.losses import (
    DirectionLoss,
    DistanceLoss,
    corrected_distance,
    corrected_step_likeness,
    expected_distance,
    measures_of,
    shortfall,
    step_likeness,
    sum_distribution,
)
from coherence.batteries.mixing.scores import Estimate, estimate, flip_dependence, score_interval

GRID = np.arange(21) / 20
GAMES = np.arange(1, 10) / 10
PUBLISHED = {
    "flip": (1, 2, GRID),
    "two_flips": (2, 4, GRID),
    "three_outcomes": (3, 3, np.arange(6, -1, -1) / 10),
    "reads": (4, 2, GAMES),
    "pennies": (4, 2, GAMES),
    "positioning": (4, 2, GAMES),
    "words": (5, 2, [0.5]),
}


def test_conditions_are_the_98_published_ones_and_faultless_rates_are_probabilities():
    """The equilibrium is the best rate in games and p elsewhere."""
    assert sum(len(p) for name, (_, _, p) in PUBLISHED.items() if name != "words") + 22 == 98
    assert list(PARTS) == list(PUBLISHED)
    for name, part in PARTS.items():
        p, turned = np.array(part.probabilities), name in ("pennies", "positioning")
        assert (part.name, part.number, len(part.outcomes)) == (name, *PUBLISHED[name][:2])
        assert part.number in EXPERIMENTS
        np.testing.assert_allclose(p, PUBLISHED[name][2])
        shares = literal_shares(name, p)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert (shares >= -1e-12).all()
        np.testing.assert_allclose(optimal_rates(name, p), 1 - p if turned else p)
        best = shares[:, ::-1] if turned else shares
        np.testing.assert_allclose(equilibrium_shares(name, p), best, atol=1e-12)


def test_rates_of_the_outcomes_by_hand():
    p = np.array([0.2, 0.6])
    # 00, 01, 10 and 11, each flip by itself.
    flips = [[0.64, 0.16, 0.16, 0.04], [0.16, 0.24, 0.24, 0.36]]
    np.testing.assert_allclose(literal_shares("two_flips", p), flips)
    three = [[0.2, 0.4, 0.4], [0.6, 0.4, 0.0]]
    np.testing.assert_allclose(literal_shares("three_outcomes", p), three, atol=1e-12)
    np.testing.assert_allclose(literal_shares("flip", p), [[0.2, 0.8], [0.6, 0.4]])


def test_flips_given_the_first_agree_with_fisher_and_with_permutations():
    table = np.array([[12.0, 3.0, 5.0, 10.0]])
    observed, expected, pvalue = flip_dependence(table)
    assert observed == pytest.approx(22 / 30)
    assert expected == pytest.approx((17 * 15 + 13 * 15) / 900)
    # With equal margins on one side the hypergeometric is symmetric, where distance and probability
    # order tables alike.
    assert pvalue == pytest.approx(stats.fisher_exact(table.reshape(2, 2)).pvalue)
    strata = np.array([[4.0, 6.0, 7.0, 2.0], [10.0, 1.0, 3.0, 2.0], [1.0, 5.0, 4.0, 9.0]])
    rng, equal = np.random.default_rng(0), []
    pairs = [
        (np.repeat([0, 0, 1, 1], row.astype(int)), np.repeat([0, 1, 0, 1], row.astype(int)))
        for row in strata
    ]
    for _ in range(4000):
        equal.append(sum((first == rng.permutation(second)).sum() for first, second in pairs))
    observed, expected, pvalue = flip_dependence(strata)
    distance = abs(observed - expected) * strata.sum()
    permuted = np.mean(np.abs(np.array(equal) - expected * strata.sum()) >= distance - 1e-9)
    assert pvalue == pytest.approx(permuted, abs=0.03)
    assert np.mean(equal) == pytest.approx(expected * strata.sum(), abs=0.2)


def test_rates_that_differ_between_conditions_are_no_dependence():
    equal = np.array([[100.0, 0, 0, 0], [0, 0, 0, 100.0]])  # a condition's answers are equal here
    assert flip_dependence(equal)[:2] == (1.0, 1.0)
    assert math.isnan(flip_dependence(equal)[2])
    assert np.isnan(flip_dependence(np.zeros((1, 4)))).all()


def test_the_interval_of_a_sum_of_scores():
    """By hand, with resamples of a known spread: S beyond 1 is worth nothing however far; at 1 half
    of the estimates lie under the cap.
    """
    spread = np.array([-0.1, 0.1])  # standard deviation .1 sqrt(2), reach .277
    reach = 1.959963984540054 * 0.1 * math.sqrt(2)

    def one(loss, doubt=(0.0, 0.0), points=10.0):
        return Estimate(points, loss, loss + spread, doubt)

    assert score_interval([one(0.5)]) == pytest.approx((5 - 10 * reach, 5 + 10 * reach))
    assert score_interval([one(0.5, (0.1, 0.2))]) == pytest.approx(
        (5 - 10 * reach - 2, 5 + 10 * reach + 1)
    )
    assert score_interval([one(0.5), one(2.5)]) == pytest.approx((5 - 10 * reach, 5 + 10 * reach))
    # At and a little beyond the cap the upper end holds the whole reach; the lower one counts the
    # estimate as it is.
    assert score_interval([one(1.1)]) == pytest.approx((0, 10 * reach))
    assert score_interval([one(0.1), one(1.1)]) == pytest.approx((8 - 20 * reach, 9 + 20 * reach))
    # Chance above the points: the interval keeps its width below them.
    assert score_interval([one(-0.2)]) == pytest.approx((10 - 10 * reach, 10))
    # A loss that chance took below 0 is the lower end of its own interval.
    assert one(-0.2).interval == pytest.approx((-0.2, reach))
    assert one(0.1).interval == pytest.approx((0, 0.1 + reach))
    assert np.isnan(score_interval([one(0.5), one(math.nan)])).all()
    exact = Estimate(10.0, 0.3, np.array([0.3]), (0.0, 0.0))
    assert np.isnan(score_interval([exact])).all()


@pytest.mark.parametrize("n", [20, 40])
def test_resampled_rates_vary_as_the_unbiased_estimate_of_their_variance_says(n):
    """All answers are 1, far above p, where the loss is linear in the rates.

    The prior of one answer takes the mean to m = (n + 1/2) / (n + 1); the variance of a rate around
    it is m (1 - m) / (n - 1). Both rates have a weight of 2.5 in the loss.
    """
    rows = [("flip", p, label, n if label == "1" else 0) for p in (0.1, 0.3) for label in "10"]
    table = pd.DataFrame(rows, columns=["experiment", "p", "answer", "count"])
    counts = count_checked(check_answers(table))[""]["flip"]
    (rising,) = estimate(counts, measures_of(counts), 40_000, np.random.default_rng(0))
    mean = (n + 0.5) / (n + 1)
    spread = 2.5 * math.sqrt(2 * mean * (1 - mean) / (n - 1))
    assert rising.resampled.mean() == pytest.approx(2.5 * (2 * mean - 0.4), rel=2e-3)
    assert rising.resampled.std() == pytest.approx(spread, rel=0.02)
    assert rising.reach == pytest.approx(1.959964 * rising.resampled.std(), rel=1e-4)
    assert rising.loss == pytest.approx(2.5 * 1.6)


# Losses: golden numbers of the published scoring by hand, and bounds by enumeration.


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
