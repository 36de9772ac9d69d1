"""Belief bins: in the order of belief, as full as ties allow, and never through equal beliefs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.statistics.bins import belief_bins


@pytest.mark.lengthy
@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(1, 9))
def test_bins_follow_the_order_and_hold_equal_beliefs_together(beliefs, n_bins):
    belief = np.array(beliefs)
    bins = belief_bins(belief, n_bins)
    assert set(bins) == set(range(bins.max() + 1))
    assert bins.max() < n_bins
    order = np.argsort(belief)
    assert (np.diff(bins[order]) >= 0).all()
    levels = np.rint(belief * 1e9)
    for level in np.unique(levels):
        assert np.unique(bins[levels == level]).size == 1


@pytest.mark.parametrize(
    ("n", "n_bins", "sizes"),
    [
        (100, 5, [20] * 5),  # .6 * 100 is 60.00000000000001 in floating point
        (10, 3, [4, 3, 3]),
        (11, 4, [3, 3, 3, 2]),
        (2, 5, [1, 1]),
        (7, 1, [7]),
    ],
)
def test_bins_are_equally_full_without_ties(n, n_bins, sizes):
    belief = np.random.default_rng(0).permutation(n) / n
    assert np.bincount(belief_bins(belief, n_bins)).tolist() == sizes


def test_ties_across_a_quantile_move_it_behind_them():
    belief = np.array([0.1, 0.2, 0.3, 0.3, 0.3, 0.4])
    assert belief_bins(belief, 2).tolist() == [0, 0, 0, 0, 0, 1]
    assert belief_bins(np.array([0.05 + 0.1, 0.15]), 2).tolist() == [0, 0]
