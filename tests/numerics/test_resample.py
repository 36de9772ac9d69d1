"""Contexts stay whole: folds, bootstraps, and belief bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.statistics.knn import belief_bins
from coherence.statistics.resample import (
    bootstrap_counts,
    bootstrap_ratio,
    context_folds,
    percentile_interval,
)


def test_one_context_less_leaves_the_folds_of_others():
    """Five folds of 30: at most four places at their ends move, where a new draw moves 120."""
    content = np.arange(150, dtype=np.uint64)
    whole = context_folds(np.arange(150), content, 5, 3)
    for left_out in (0, 77, 149):
        kept = content != left_out
        less = context_folds(np.arange(149), content[kept], 5, 3)
        assert np.count_nonzero(less != whole[kept]) <= 4
    others = context_folds(np.arange(150), content, 5, 4)
    assert 90 < np.count_nonzero(whole != others) < 145


def test_bootstrap_ratio_resamples_contexts():
    """Five copies of each row in one context must not shrink the spread of a mean over contexts."""
    rng = np.random.default_rng(4)
    per_context = rng.normal(size=100)
    draws = bootstrap_ratio(5 * per_context, np.full(100, 5.0), n_resamples=4000, rng=rng)
    assert draws.std() == pytest.approx(per_context.std() / 10, rel=0.06)
    counts = bootstrap_counts(20, 3000, np.random.default_rng(0))
    assert (counts.sum(axis=1) == 20).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.1)
    assert counts.var() == pytest.approx(0.95, rel=0.05)


def test_percentiles_leave_undefined_draws_out():
    draws = np.append(np.arange(101.0), [np.nan] * 50)
    interval = percentile_interval(draws, "rows")
    assert (interval.low, interval.high) == pytest.approx((2.5, 97.5))


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


def test_bins_are_equally_full_and_ties_across_a_quantile_move_it_behind_them():
    # .6 * 100 is 60.00000000000001 in floating point
    for n, sizes in ((100, [20] * 5), (10, [4, 3, 3]), (11, [3, 3, 3, 2]), (7, [7])):
        belief = np.random.default_rng(0).permutation(n) / n
        assert np.bincount(belief_bins(belief, len(sizes))).tolist() == sizes
    assert belief_bins(np.array([0.2, 0.1]), 5).tolist() == [1, 0]
    belief = np.array([0.1, 0.2, 0.3, 0.3, 0.3, 0.4])
    assert belief_bins(belief, 2).tolist() == [0, 0, 0, 0, 0, 1]
    assert belief_bins(np.array([0.05 + 0.1, 0.15]), 2).tolist() == [0, 0]
