"""Independence of flips: against other tests, permutations and all orders."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence import score_mixing, simulate_mixing
from coherence.batteries.mixing.design import (
    literal_shares,
)
from coherence.batteries.mixing.scores import draw_dependence, flip_dependence

GRID = np.arange(21) / 20


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


def test_neighbouring_draws_agree_with_all_orders():
    from itertools import permutations

    sequence = [1, 1, 1, 0, 0, 1, 0]
    runs = np.array([1 + np.count_nonzero(np.diff(order)) for order in permutations(sequence)])
    distance = np.abs(runs - runs.mean())
    golden = np.mean(distance >= distance[0] - 1e-9)
    observed, expected, pvalue = draw_dependence([sequence, [1, 1, 1], [0]])
    assert pvalue == pytest.approx(golden)
    # Numbers of orders beyond the range of a float: two thousand answers in as many runs as are
    # expected.
    long = [0, 0, 1, 1] * 500
    assert draw_dependence([long])[2] == pytest.approx(1.0, abs=0.1)
    assert observed == pytest.approx((7 - 4 + 2) / 8)
    assert expected == pytest.approx((7 - runs.mean() + 2) / 8)


@pytest.mark.lengthy
def test_tests_of_independence_find_an_alternating_model_and_keep_their_level():
    """Flips that are independent reject at .05 no more often than chance allows, in two hundred
    sessions.
    """
    rng = np.random.default_rng(5)
    shares = literal_shares("two_flips", GRID)
    seconds = [flip_dependence(rng.multinomial(20, shares).astype(float))[2] for _ in range(200)]
    neighbours = [
        draw_dependence([rng.binomial(1, p, 20).tolist() for p in GRID])[2] for _ in range(200)
    ]
    for pvalues in (seconds, neighbours):
        assert np.mean(np.array(pvalues) <= 0.05) <= stats.binom.ppf(0.999, 200, 0.05) / 200
    flips = simulate_mixing("ideal", n_draws=20, rng=1)
    opposite = flips["experiment"] == "two_flips"
    flips.loc[opposite, "answer"] = (
        flips.loc[opposite, "answer"].str[0].map({"0": "0 1", "1": "1 0"})
    )
    table = score_mixing(flips, n_resamples=100, rng=0).dependence.set_index("test")
    assert table.loc["second flip given the first", "observed"] == 0
    assert table.loc["second flip given the first", "pvalue"] < 1e-6
    # Rates that differ between conditions are no dependence: all answers of a condition are equal
    # here.
    equal = np.array([[100.0, 0, 0, 0], [0, 0, 0, 100.0]])
    assert flip_dependence(equal)[:2] == (1.0, 1.0)
    assert math.isnan(flip_dependence(equal)[2])
    assert all(math.isnan(value) for value in draw_dependence([]))
    assert all(math.isnan(value) for value in flip_dependence(np.zeros((1, 4))))


@pytest.mark.parametrize(("ones", "zeros"), [(1, 1), (1, 4), (3, 3), (4, 3)])
def test_the_test_of_neighbours_is_that_of_all_orders(ones, zeros):
    from itertools import combinations

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
