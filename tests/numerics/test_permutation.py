"""Blocks, arrangements and p-values of permuted states, against enumeration and closed forms."""

from itertools import permutations
from math import comb

import numpy as np
import pytest

from coherence.statistics.permutation import (
    all_arrangements,
    count_arrangements,
    exchangeable,
    permutation_blocks,
    permutation_test,
    permuted_states,
    pvalues_of,
    share_reached,
)


def test_equal_beliefs_stay_together_and_far_ones_apart_and_neighbours_fill_blocks_of_four():
    belief = np.array([0.1 + 0.2, 0.3, 0.3, 0.35, 0.4, 0.41, 0.42, 0.43, 0.44])
    (blocks, *_), note = permutation_blocks(belief)
    assert blocks.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]  # the last joins what is before it
    assert note == ""
    (blocks, *_), _ = permutation_blocks(np.array([0.1, 0.12, 0.5, 0.52, 0.54, 0.9, 0.9, 0.9, 0.9]))
    assert blocks.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_blocks_stay_within_groups_and_small_groups_are_pooled_by_mean_belief():
    belief = np.array([0.5] * 10 + [0.1] * 3 + [0.9] * 3 + [0.12] * 3 + [0.88] * 3)
    group = np.repeat([0, 1, 2, 3, 4, 5], [5, 5, 3, 3, 3, 3])
    (blocks, *_), note = permutation_blocks(belief, group)
    assert len(set(blocks[:5])) == len(set(blocks[5:10])) == 1
    assert blocks[0] != blocks[5]
    assert blocks[10] == blocks[16]  # beliefs .1 and .12 of two groups
    assert blocks[13] == blocks[19]
    assert blocks[10] != blocks[13]
    assert note.startswith("12 contexts of 4 groups")


def test_arrangements_are_listed_once_each():
    blocks, state = np.array([0, 1, 0, 1, 0, 2]), np.array([0, 2, 1, 1, 0, 1])

    def kept(arranged):
        return all(sorted(arranged[blocks == b]) == sorted(state[blocks == b]) for b in range(3))

    beside = exchangeable(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1, 0]))
    assert beside.tolist() == [0, 1, 2]  # who has another state in the block
    wanted = {each for each in permutations(state.tolist()) if kept(np.array(each))}
    listed = all_arrangements(blocks, state)
    assert {tuple(row) for row in listed} == wanted
    assert len(listed) == count_arrangements(blocks, state, 100) == comb(3, 1) * 2


def test_drawn_arrangements_keep_blocks_and_are_uniform():
    blocks, state = np.array([0, 1, 0, 1, 0]), np.array([0, 2, 1, 1, 0])
    drawn = np.concatenate(list(permuted_states(blocks, state, 6000, np.random.default_rng(1))))
    assert (np.sort(drawn[:, blocks == 0]) == [0, 0, 1]).all()
    assert (np.sort(drawn[:, blocks == 1]) == [1, 2]).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert counts.size == 6
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000 * 5 / 6)


def test_pvalues_count_ties_and_the_data_themselves():
    permuted = np.array([[1.0], [2.0], [3.0 - 1e-12], [4.0]])
    share = share_reached(np.array([3.0]), permuted)
    assert share == pytest.approx(2 / 4)
    assert pvalues_of(share, 4) == pytest.approx(3 / 5)


def permuted(statistic, state, n_draws):
    """In one block of all contexts."""
    blocks, both = [np.zeros(len(state), dtype=np.int64)], lambda observed, drawn: (observed, drawn)
    rng = np.random.default_rng(1)
    return permutation_test(lambda _: statistic, both, blocks, state, n_draws, rng)


def test_a_small_problem_is_fisher_s_exact_test():
    """One block: 5 of 6 with the state act, 1 of 6 without."""
    state, act = np.repeat([1, 0], 6), np.array([1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0])
    tested = permuted(lambda states: (states @ act)[:, None].astype(float), state, 999)
    assert tested.settings["exact"] is True
    exact = sum(comb(6, k) * comb(6, 6 - k) for k in (5, 6)) / comb(12, 6)
    assert tested.pvalues[0] == pytest.approx(exact)


def test_a_pvalue_near_the_level_is_drawn_longer():
    def tested(size):
        """A statistic of which a share of about .05 of the arrangements is as large."""
        edge = np.quantile(np.random.default_rng(0).normal(size=100_000), 1 - size)
        noise = np.random.default_rng(2)

        def statistic(states):
            return noise.normal(size=(len(states), 1)) if len(states) > 1 else np.array([[edge]])

        return permuted(statistic, np.tile([0, 1], 20), 499).settings

    assert tested(0.05)["n_permutations"] == 4_990
    assert tested(0.3)["n_permutations"] == 499


def test_several_columns_are_joined_with_their_nearest_neighbours():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    points = np.repeat(corners, 5, axis=0) + np.tile(np.arange(5)[:, None] / 100, (3, 2))
    (blocks, *_), _ = permutation_blocks(points)
    assert [len(set(blocks[start : start + 5])) for start in (0, 5, 10)] == [1, 1, 1]
    assert len(set(blocks)) == 3


def test_cuts_differ_in_their_borders_and_equal_ones_count_once():
    cuts, _ = permutation_blocks(np.arange(43) / 100)
    below, above = ([int((blocks == blocks[end]).sum()) for blocks in cuts] for end in (0, -1))
    assert below[0::2] == above[1::2] == [4, 5]  # where the first block ends, from either end
    assert all(np.bincount(blocks).min() >= 4 for blocks in cuts)
    cuts, _ = permutation_blocks(np.repeat([0.2, 0.4, 0.6], 8))
    assert len(cuts) == 1
