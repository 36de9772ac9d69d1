"""Contexts stay whole: permutations, folds, groups and p-values."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.statistics import resample
from coherence.statistics.resample import (
    BLOCK_SPAN,
    as_generator,
    bootstrap_counts,
    bootstrap_ratio,
    combined_pvalue,
    context_blocks,
    context_folds,
    context_means,
    context_sums,
    count_arrangements,
    exchanged_states,
    jackknife_groups,
    jackknife_variance,
    percentile_interval,
    permutation_pvalue,
    permute_contexts,
    sign_flip_pvalue,
)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_blocks_hold_equal_beliefs_together_and_stay_narrow(beliefs):
    summary = np.array(beliefs)
    blocks = context_blocks(summary)
    for block in np.unique(blocks):
        members = summary[blocks == block]
        assert np.ptp(members) <= BLOCK_SPAN + 2e-9
    levels = np.rint(summary * 1e9)
    for level in np.unique(levels):
        assert np.unique(blocks[levels == level]).size == 1


def test_large_groups_of_equal_beliefs_are_not_diluted():
    """Twenty contexts at each of five coarse beliefs: exchanging across them breaks the level.

    Nor do three contexts close by join them: a block that is large enough by itself stays alone.
    """
    blocks = context_blocks(np.repeat([0, 0.25, 0.5, 0.75, 1], 20))
    assert np.bincount(blocks).tolist() == [20] * 5
    beside = context_blocks(np.repeat([0.5, 0.52, 0.54], [3, 20, 3]))
    assert np.bincount(beside).tolist() == [3, 20, 3]


@pytest.mark.parametrize(
    ("levels", "sizes"),
    [
        ([3, 8], [3, 8]),  # near enough to be joined, but the second fills a block by itself
        ([3, 7], [10]),
        ([8, 3], [8, 3]),  # the first block is full
        ([3, 4, 1, 2], [8, 2]),
        ([1, 9, 1], [1, 9, 1]),
    ],
)
def test_levels_join_until_a_block_is_full_and_full_ones_stay_apart(levels, sizes):
    """Beliefs a hundredth apart, some held by several contexts; eight are wanted in a block."""
    summary = np.repeat(0.5 + np.arange(len(levels)) / 100, levels)
    assert np.bincount(context_blocks(summary)).tolist() == sizes
    assert np.bincount(context_blocks(summary, size=100)).tolist() == [sum(levels)]


def test_blocks_reach_as_far_as_their_span_and_no_further():
    beliefs = np.array([0.1, 0.15, 0.2, 0.21, 0.31, 0.42])
    assert context_blocks(beliefs).tolist() == [0, 0, 0, 1, 1, 2]
    assert context_blocks(beliefs, span=0.05).tolist() == [0, 0, 1, 1, 2, 3]
    together = context_blocks(np.full(20, 0.15) + 1e-12 * np.arange(20))
    assert together.tolist() == [0] * 20


def test_permutations_move_contexts_only_within_their_block():
    rng = np.random.default_rng(0)
    blocks = np.array([0, 1, 0, 2, 1, 0, 1])
    moved = permute_contexts(blocks, 200, rng)
    assert (np.sort(moved, axis=1) == np.arange(7)).all()
    assert (blocks[moved] == blocks).all()
    assert (moved[:, 3] == 3).all()
    assert (
        len({tuple(row) for row in moved[:, [0, 2, 5]]}) == 6
    )  # all orders of a block of three occur


def test_pvalue_counts_the_observed_arrangement_and_ties():
    assert permutation_pvalue(2.0, np.array([1.0, 2.0, 3.0])) == 0.75
    assert permutation_pvalue(9.0, np.zeros(999)) == 0.001


@pytest.mark.parametrize(
    "labels", [(0, 1, 0, 1, 1, 0, 0, 1), (0, 1, 2, 1, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0)]
)
def test_few_arrangements_are_listed_exactly_once(labels):
    """Against every permutation of eight contexts, kept if it stays within the blocks."""
    state, blocks = np.array(labels), np.array([0, 1, 0, 1, 2, 0, 1, 0])
    reached = {
        tuple(state[list(order)])
        for order in permutations(range(8))
        if (blocks[list(order)] == blocks).all()
    }
    sources = permute_contexts(blocks, 999, np.random.default_rng(0), state=state)
    assert len(sources) == len(reached) == count_arrangements(blocks, state, 999)
    assert {tuple(row) for row in state[sources]} == reached
    assert (np.sort(sources, axis=1) == np.arange(8)).all()
    assert (blocks[sources] == blocks).all()


def test_the_pvalue_does_not_hang_on_the_last_bit():
    """A margin relative to large statistics, and absolute to small ones."""
    assert permutation_pvalue(1e6, np.array([1e6 * (1 - 1e-13), 0.0])) == 2 / 3
    assert permutation_pvalue(1e6, np.array([1e6 - 1e-3, 0.0])) == 1 / 3
    assert permutation_pvalue(0.0, np.array([-1e-13, -1e-9])) == 2 / 3
    assert permutation_pvalue(3.0, np.array([1.0, 3.0, 4.0, 2.0]), exact=True) == 0.5


def test_exact_pvalue_is_the_share_of_arrangements():
    """Sum over six contexts in one block of 20 arrangements, against plain counting."""
    state, outcome = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.5, 0.9, 0.2, 0.7, 0.4])
    sources = permute_contexts(np.zeros(6, dtype=int), 20, np.random.default_rng(0), state=state)
    pvalue = permutation_pvalue(float(outcome @ state), state[sources] @ outcome, exact=True)
    sums = [outcome @ np.array(labels) for labels in set(permutations(state.tolist()))]
    assert len(sums) == 20
    assert pvalue == np.mean([value >= outcome @ state - 1e-12 for value in sums]) == 2 / 20


def test_many_arrangements_are_drawn_as_before():
    """One arrangement more than draws: the same draws as without a state."""
    state, blocks = np.array([0, 0, 1, 0, 1, 1]), np.zeros(6, dtype=int)
    drawn = permute_contexts(blocks, 19, np.random.default_rng(0), state=state)
    assert (drawn == permute_contexts(blocks, 19, np.random.default_rng(0))).all()


def test_counting_stops_above_the_limit():
    blocks, state = np.repeat(np.arange(5_000), 4), np.tile([0, 1], 10_000)
    assert 999 < count_arrangements(blocks, state, 999) < 10_000


def test_vectors_are_grouped_in_all_columns():
    """Equal in the first column, far apart in the second: one belief alone would exchange them."""
    blocks = context_blocks(np.array([[0.5, 0.1], [0.5, 0.1], [0.5, 0.9], [0.5, 0.85]]))
    assert blocks[0] == blocks[1] != blocks[2] == blocks[3]


def test_folds_never_split_a_context_and_are_balanced():
    rng = np.random.default_rng(1)
    context = np.repeat(np.arange(23), 4)
    folds = context_folds(context, 23, 5, rng)
    assert (folds.reshape(23, 4) == folds.reshape(23, 4)[:, :1]).all()
    sizes = np.bincount(folds[::4])
    assert sizes.max() - sizes.min() <= 1


def test_sign_flips_enumerate_all_signs_when_few():
    gaps = np.array([0.5, -0.1, 0.3, 0.2])
    sums = [abs(np.dot(signs, gaps)) for signs in product([1, -1], repeat=4)]
    expected = np.mean([value >= abs(gaps.sum()) - 1e-12 for value in sums])
    assert sign_flip_pvalue(gaps, n_flips=9999, rng=np.random.default_rng(0)) == expected


def test_sign_flips_agree_with_enumeration_when_drawn():
    gaps = np.random.default_rng(2).normal(0.2, 1, 12)
    exact = sign_flip_pvalue(gaps, n_flips=4096, rng=np.random.default_rng(0))
    drawn = sign_flip_pvalue(gaps, n_flips=4095, rng=np.random.default_rng(0))
    assert drawn == pytest.approx(exact, abs=0.03)


def test_sign_flips_have_nothing_to_say_about_zero_gaps():
    assert np.isnan(sign_flip_pvalue(np.zeros(30), n_flips=99, rng=np.random.default_rng(0)))


def test_jackknife_of_a_mean_is_the_variance_of_the_mean():
    values = np.random.default_rng(3).normal(size=50)
    left_out = np.array([np.delete(values, i).mean() for i in range(50)])
    assert jackknife_variance(left_out) == pytest.approx(values.var(ddof=1) / 50)
    assert (
        np.bincount(jackknife_groups(50, 40, np.random.default_rng(0))).tolist()
        == [2] * 10 + [1] * 30
    )


def test_bootstrap_ratio_resamples_contexts():
    """Five copies of each row in one context must not shrink the spread of a mean over contexts."""
    rng = np.random.default_rng(4)
    per_context = rng.normal(size=100)
    draws = bootstrap_ratio(5 * per_context, np.full(100, 5.0), n_resamples=4000, rng=rng)
    assert draws.std() == pytest.approx(per_context.std() / 10, rel=0.06)


def test_context_means_of_unequal_repetitions():
    assert context_means(np.array([1.0, 3.0, 5.0]), np.array([1, 0, 1]), 2).tolist() == [3.0, 3.0]


def test_sign_flips_are_studentised_means():
    """The share of flips whose t statistic is as large in size, one gap being zero and left out."""
    gaps = np.array([0.4, 0.1, -0.2, 0.3, 0.25, 0.0])
    signs = np.array(list(product([1, -1], repeat=5)))
    flipped = signs * gaps[:5]
    t = np.abs(flipped.mean(axis=1) / flipped.std(axis=1))
    expected = np.mean(t >= abs(gaps[:5].mean() / gaps[:5].std()) - 1e-9)
    for n_flips in (32, 999):  # 32 arrangements: just few enough to be listed
        assert sign_flip_pvalue(gaps, n_flips=n_flips, rng=np.random.default_rng(0)) == expected
    drawn = {
        sign_flip_pvalue(gaps, n_flips=31, rng=np.random.default_rng(seed)) for seed in range(9)
    }
    assert len(drawn) > 1
    assert all(value * 32 == pytest.approx(round(value * 32)) for value in drawn)


def test_percentiles_leave_undefined_draws_out():
    draws = np.append(np.arange(101.0), [np.nan] * 50)
    assert percentile_interval(draws) == pytest.approx((2.5, 97.5))
    assert percentile_interval(draws, 0.8) == pytest.approx((10, 90))


def test_bootstrap_samples_are_as_large_as_the_data_and_even():
    counts = bootstrap_counts(20, 3000, np.random.default_rng(0))
    assert counts.shape == (3000, 20)
    assert (counts.sum(axis=1) == 20).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.1)
    assert counts.var() == pytest.approx(0.95, rel=0.05)


def test_sums_hold_contexts_without_rows():
    values, context = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2])
    assert context_sums(values, context, 4).tolist() == [2, 0, 5, 0]


def test_seeds_and_generators_are_taken_as_they_are():
    rng = np.random.default_rng(5)
    assert as_generator(rng) is rng
    assert as_generator(5).random() == np.random.default_rng(5).random()


def test_rounding_is_no_gap():
    """Beliefs that average out exactly leave gaps of the last bit, whose signs say nothing."""
    gaps = np.full(40, 2e-17)
    assert math.isnan(sign_flip_pvalue(gaps, n_flips=99, rng=np.random.default_rng(0)))


def by_loops(every, weights):
    """Score of each arrangement: weighted sum of 1 / sqrt(share of arrangements as large)."""
    return [
        sum(w / math.sqrt(np.mean(every[:, j] >= one[j])) for j, w in enumerate(weights))
        for one in every
    ]


def test_combined_pvalue_ranks_the_scores_of_all_arrangements():
    rng = np.random.default_rng(0)
    every, weights = rng.integers(0, 12, (40, 3)).astype(float), np.array([2.0, 1.0, 1.0])
    scores = by_loops(every, weights)
    for seen in (0, 7, 23):
        expected = np.mean([score >= scores[seen] - 1e-12 for score in scores])
        drawn = np.delete(every, seen, axis=0)
        assert combined_pvalue(every[seen], drawn, weights) == expected
        assert combined_pvalue(every[seen], every, weights, exact=True) == expected


def test_one_statistic_combined_is_that_statistic():
    rng = np.random.default_rng(1)
    permuted = rng.normal(size=(99, 1))
    for observed in (np.array([-0.5]), permuted[3], np.array([9.0])):
        alone = permutation_pvalue(float(observed[0]), permuted[:, 0])
        assert combined_pvalue(observed, permuted, np.array([3.0])) == alone


def test_combined_level_is_exact_for_dependent_statistics():
    """Any of 20 exchangeable arrangements may be the observed one: p <= .05 for one of them."""
    rng = np.random.default_rng(2)
    first = rng.normal(size=20)
    every = np.stack([first, first**2, rng.normal(size=20) + first], axis=1)
    pvalues = [combined_pvalue(one, every, np.ones(3), exact=True) for one in every]
    assert sum(p <= 0.05 for p in pvalues) <= 1
    assert sorted(pvalues) == pytest.approx(np.arange(1, 21) / 20, abs=0.051)


def test_combined_pvalue_does_not_hang_on_the_last_bit():
    observed = np.array([0.1 + 0.2, 1.0])
    permuted = np.tile([0.3, 1.0], (9, 1))
    assert combined_pvalue(observed, permuted, np.ones(2)) == 1.0


@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 10**6))
def test_exchanged_states_keep_the_states_of_every_block(n_blocks, n_states, seed):
    rng = np.random.default_rng(seed)
    blocks, state = rng.integers(0, n_blocks, 40), rng.integers(0, n_states, 40)
    blocks = np.unique(blocks, return_inverse=True)[1]
    (drawn,) = exchanged_states(blocks, state, 20, rng)
    assert drawn.shape == (20, 40)
    for block in range(blocks.max() + 1):
        inside = blocks == block
        assert (np.sort(drawn[:, inside], axis=1) == np.sort(state[inside])).all()


def test_exchanged_states_are_uniform_over_arrangements():
    """Three ones among six in one block, all twenty arrangements; two of four in another.

    The chi square of 6,000 draws over the 20 has 19 degrees of freedom; .999 of it is 43.8.
    """
    blocks, state = np.repeat([0, 1], [6, 4]), np.array([1, 1, 1, 0, 0, 0, 1, 1, 0, 0])
    drawn = np.concatenate(list(exchanged_states(blocks, state, 100, np.random.default_rng(2))))
    assert len(drawn) == 100
    rng = np.random.default_rng(3)
    many = np.concatenate([next(exchanged_states(blocks, state, 100, rng)) for _ in range(60)])
    codes = many[:, :6] @ 2 ** np.arange(6)
    counts = np.unique(codes, return_counts=True)[1]
    assert counts.size == 20
    assert ((counts - 300) ** 2 / 300).sum() < 43.8
    # Blocks are shuffled apart: what one holds tells nothing of the other.
    assert abs(np.corrcoef(many[:, 0], many[:, 6])[0, 1]) < 0.05


def test_exchanged_states_are_listed_where_they_are_few():
    blocks, state = np.zeros(6, dtype=int), np.array([0, 0, 1, 0, 1, 1])
    (listed,) = exchanged_states(blocks, state, 20, np.random.default_rng(0))
    assert len({tuple(row) for row in listed.tolist()}) == len(listed) == 20
    (drawn,) = exchanged_states(blocks, state, 19, np.random.default_rng(0))
    assert len(drawn) == 19


def test_portions_of_signs_and_of_resamples_change_no_number(monkeypatch):
    gaps = np.random.default_rng(0).normal(0.1, 1, 50)
    found = []
    for held in (10_000_000, 7 * 50, 1):
        monkeypatch.setattr(resample, "NUMBERS_HELD", held)
        pvalue = resample.sign_flip_pvalue(gaps, n_flips=99, rng=np.random.default_rng(1))
        rng = np.random.default_rng(2)
        ratios = resample.bootstrap_ratio(gaps, gaps**2, n_resamples=40, rng=rng)
        found.append([pvalue, *ratios])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0] == pytest.approx(found[2], rel=1e-12)
