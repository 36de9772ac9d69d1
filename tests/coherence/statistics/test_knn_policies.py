"""Nearest-neighbour information of policies: trees and table against counting by hand."""

import numpy as np
import pytest
from scipy.special import digamma

from coherence.statistics.knn import RESOLUTION, as_levels
from coherence.statistics.knn_policies import (
    policy_information,
    policy_neighbours,
    scaled_policies,
)


def by_hand(continuous, stratum, share, truth, k):
    """Algorithm 1 of Mesner and Shalizi as it is written, one row after the other."""
    levels, policy, n, total = as_levels(continuous), as_levels(share), len(truth), 0.0
    for row in range(n):
        given = np.abs(levels - levels[row]).max(axis=1)
        given = np.maximum(given, np.where(stratum == stratum[row], 0, RESOLUTION))
        acted = np.maximum(given, np.abs(policy - policy[row]).max(axis=1))
        judged = np.where(truth == truth[row], 0, RESOLUTION)
        radius = np.sort(np.delete(np.maximum(acted, judged), row))[k - 1]
        together, with_action, with_truth, alone = (
            np.count_nonzero(distance <= radius) - 1
            for distance in (
                np.maximum(acted, judged),
                acted,
                np.maximum(given, judged),
                given,
            )
        )
        total += digamma(together) - digamma(with_action) - digamma(with_truth) + digamma(alone)
    return total / n


@pytest.mark.parametrize("k", [1, 4, 15])
@pytest.mark.parametrize("n_strata", [1, 3])
def test_table_and_trees_count_as_one_does_by_hand(k, n_strata):
    rng = np.random.default_rng(k)
    belief = rng.integers(0, 6, (70, 1)) / 5  # ties in belief, and repeated policies
    share = rng.dirichlet([1, 1, 1], 70)[rng.integers(0, 50, 70)]
    truth, stratum = rng.integers(0, 3, 70), rng.integers(0, n_strata, 70)
    expected = by_hand(belief, stratum, share, truth, k)
    assert expected != 0 or (k, n_strata) == (15, 3)  # too few share a stratum and a truth
    assert policy_information(belief, stratum, share, truth, k) == pytest.approx(
        expected, abs=1e-12
    )
    table = policy_neighbours(belief, stratum, share)
    assert table.information(truth, (k,)) == pytest.approx([expected], abs=1e-12)


def test_neighbours_that_are_lacking_inform_of_nothing():
    """With as many neighbours as rows no row has enough that share its truth."""
    rng = np.random.default_rng(0)
    share, truth = rng.dirichlet([1, 1], 12), np.arange(12) % 2
    table = policy_neighbours(np.zeros((12, 1)), np.zeros(12, dtype=int), share)
    assert table.information(truth, (11,)) == [0.0]
    assert policy_information(np.zeros((12, 1)), np.zeros(12, dtype=int), share, truth, 11) == 0.0


def test_a_policy_that_tells_the_truth_gives_its_entropy():
    """Two policies, one per truth: I = log 2 in the limit, here within a hundredth of it."""
    truth = np.arange(2000) % 2
    share = np.where(truth[:, None] == 1, [0.4, 0.6], [0.6, 0.4])
    given = np.zeros((2000, 1)), np.zeros(2000, dtype=int)
    share = share + np.random.default_rng(0).uniform(-0.05, 0.05, 2000)[:, None] * [1, -1]
    assert policy_information(*given, share, truth, 3) == pytest.approx(np.log(2), abs=0.01)


def test_policies_are_compared_in_units_of_their_spread():
    """Four standard deviations become 1, however small; what never moves stays 0."""
    share = np.array([[0.5, 0.2, 0.3], [0.5, 0.4, 0.1], [0.5, 0.2, 0.3], [0.5, 0.4, 0.1]])
    scaled = scaled_policies(share)
    assert scaled[:, 0].tolist() == [0, 0, 0, 0]
    assert scaled[:, 1] == pytest.approx([-0.25, 0.25, -0.25, 0.25])
    assert scaled_policies(0.5 + (share - 0.5) * 1e-6)[:, 1] == pytest.approx(scaled[:, 1])
