"""Mixing: the conditions, the tests of independence against all orders, intervals by hand."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence.batteries.mixing.answers import check_answers, count_checked
from coherence.batteries.mixing.design import (
    EXPERIMENTS,
    PARTS,
    equilibrium_shares,
    literal_shares,
    optimal_rates,
)
from coherence.batteries.mixing.losses import measures_of
from coherence.batteries.mixing.scores import (
    Estimate,
    draw_dependence,
    estimate,
    flip_dependence,
    score_interval,
)

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


@pytest.mark.parametrize(("ones", "zeros"), [(1, 1), (1, 4), (3, 3), (4, 3)])
def test_the_test_of_neighbours_is_that_of_all_orders(ones, zeros):
    orders = []
    for places in combinations(range(ones + zeros), ones):
        order = np.zeros(ones + zeros, dtype=int)
        order[list(places)] = 1
        orders.append(order)
    equal = np.array([np.count_nonzero(np.diff(order) == 0) for order in orders])
    for order, here in zip(orders, equal, strict=True):
        observed, expected, pvalue = draw_dependence([order.tolist()])
        assert observed == pytest.approx(here / (ones + zeros - 1))
        assert expected == pytest.approx(equal.mean() / (ones + zeros - 1))
        if equal.min() < equal.max():
            as_far = np.abs(equal - equal.mean()) >= abs(here - equal.mean()) - 1e-9
            assert pvalue == pytest.approx(as_far.mean())
        else:
            assert math.isnan(pvalue)  # one count of runs alone is possible


def test_sequences_are_taken_together_and_long_ones_have_a_test():
    # Runs of 1110010: 4 of 1 + 2 * 3 * 4 / 7 expected; two more pairs are equal for sure.
    observed, expected, pvalue = draw_dependence([[1, 1, 1, 0, 0, 1, 0], [1, 1, 1], [0]])
    assert (observed, expected) == pytest.approx((5 / 8, (7 - 1 - 24 / 7 + 2) / 8))
    assert pvalue == draw_dependence([[1, 1, 1, 0, 0, 1, 0]])[2]
    # Numbers of orders beyond a float: two thousand answers in as many runs as are expected.
    assert draw_dependence([[0, 0, 1, 1] * 500])[2] == pytest.approx(1.0, abs=0.1)
    # Rates that differ between conditions are no dependence: a condition's answers are equal here.
    equal = np.array([[100.0, 0, 0, 0], [0, 0, 0, 100.0]])
    assert flip_dependence(equal)[:2] == (1.0, 1.0)
    assert math.isnan(flip_dependence(equal)[2])
    assert np.isnan([draw_dependence([]), flip_dependence(np.zeros((1, 4)))]).all()


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
