"""Blocks, arrangements and p-values of permuted states, against enumeration and closed forms."""

from itertools import permutations
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.inputs import seen_policies
from coherence.statistics.evaluation import as_choices, evaluation_data
from coherence.statistics.knn import belief_bins
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
from coherence.statistics.resample import (
    bootstrap_counts,
    bootstrap_ratio,
    context_folds,
    percentile_interval,
)
from coherence.statistics.trees import in_canonical_order


def test_equal_beliefs_stay_together_and_far_ones_apart_and_neighbours_fill_blocks_of_four():
    belief = np.array([0.1 + 0.2, 0.3, 0.3, 0.35, 0.4, 0.41, 0.42, 0.43, 0.44])
    blocks, *_ = permutation_blocks(belief)
    assert blocks.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]  # the last joins what is before it
    blocks, *_ = permutation_blocks(np.array([0.1, 0.12, 0.5, 0.52, 0.54, 0.9, 0.9, 0.9, 0.9]))
    assert blocks.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_blocks_stay_within_groups():
    blocks, *_ = permutation_blocks(np.full(13, 0.5), np.repeat([0, 1, 2], [5, 5, 3]))
    assert blocks.tolist() == [0] * 5 + [1] * 5 + [2] * 3


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
    pvalues, *_, settings = permuted(lambda of: (of @ act)[:, None].astype(float), state, 999)
    assert settings["exact"] is True
    exact = sum(comb(6, k) * comb(6, 6 - k) for k in (5, 6)) / comb(12, 6)
    assert pvalues[0] == pytest.approx(exact)


def test_a_pvalue_near_the_level_is_drawn_longer():
    def tested(size):
        """A statistic of which a share of about .05 of the arrangements is as large."""
        edge = np.quantile(np.random.default_rng(0).normal(size=100_000), 1 - size)
        noise = np.random.default_rng(2)

        def statistic(states):
            return noise.normal(size=(len(states), 1)) if len(states) > 1 else np.array([[edge]])

        return permuted(statistic, np.tile([0, 1], 20), 499)[-1]

    assert tested(0.05)["n_permutations"] == 4_990
    assert tested(0.3)["n_permutations"] == 499


def test_several_columns_are_joined_with_their_nearest_neighbours():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    points = np.repeat(corners, 5, axis=0) + np.tile(np.arange(5)[:, None] / 100, (3, 2))
    blocks, *_ = permutation_blocks(points)
    assert [len(set(blocks[start : start + 5])) for start in (0, 5, 10)] == [1, 1, 1]
    assert len(set(blocks)) == 3


def test_cuts_differ_in_their_borders_and_equal_ones_count_once():
    cuts = permutation_blocks(np.arange(43) / 100)
    below, above = ([int((blocks == blocks[end]).sum()) for blocks in cuts] for end in (0, -1))
    assert below[0::2] == above[1::2] == [4, 5]  # where the first block ends, from either end
    assert all(np.bincount(blocks).min() >= 4 for blocks in cuts)
    cuts = permutation_blocks(np.repeat([0.2, 0.4, 0.6], 8))
    assert len(cuts) == 1


# Contexts stay whole: folds, bootstraps, and belief bins.


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


@pytest.mark.parametrize("n_states", [2, 3])
def test_the_same_data_told_in_another_way_have_one_order_and_one_number_a_context(n_states):
    """Breaks if folds hang on the order of rows, on names, or on which state is believed."""
    rng, context = np.random.default_rng(n_states), np.repeat(np.arange(40), 3)
    belief = rng.multinomial(512, rng.dirichlet([1, 2, 4][:n_states], 120)) / 512
    action, truth = rng.integers(0, 3, 120), rng.integers(0, n_states, 40)[context]
    features = rng.random((120, 2)), rng.choice(["a", "b"], (120, 1)).astype(object)

    def told(order, states, names, labels):
        said = belief[order][:, states] if n_states > 2 else belief[order, states[0]]
        data = as_choices(
            said,
            np.array(names)[action[order]],
            np.argsort(states)[truth[order]] if n_states > 2 else truth[order],
            labels[context[order]],
        )
        ordered, evidence, content = in_canonical_order(data, tuple(f[order] for f in features))
        arrays = ordered.belief, ordered.action, ordered.truth, ordered.context, content
        return [*arrays, *evidence]

    usual = np.arange(120), np.arange(n_states), list("xyz"), np.arange(40)
    expected = told(*usual)
    assert (expected[0].reshape(120, -1) != belief[:, : 1 + (n_states > 2) * 2]).any()
    others = rng.permutation(120), np.roll(usual[1], 1), list("zxy"), rng.permutation(40)
    for at, other in enumerate(others):
        found = told(*usual[:at], other, *usual[at + 1 :])
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, two)


# Belief, action and truth together: aligned codes, and which state the belief is in.


@pytest.mark.parametrize(
    ("action", "truth", "reason"),
    [
        (["x"] * 10, [0, 1] * 5, "only one action was seen ('x')"),
        (["x", "y"] * 5, [1] * 10, "truth is constant (1)"),
        (["x", "y"] * 5, [0, 1] * 5, ""),
        (["x", "y"] * 4 + ["x"], [0, 1] * 4 + [0], "9 contexts are fewer than 10"),
        ([[1.0, 0.0]] * 12, [0, 1] * 6, "only one action was seen (0)"),
    ],
)
def test_data_of_which_nothing_can_be_said_say_why(action, truth, reason):
    assert as_choices([0.5] * len(action), action, truth, None).degenerate == reason


@pytest.mark.parametrize("policies", [False, True])
def test_some_rows_are_what_they_would_be_if_they_were_all(policies):
    """Else a check would see contexts, labels or groups that none of its rows has."""
    rng = np.random.default_rng(1)
    context = np.repeat([f"c{n}" for n in range(12)], 3)
    rows = pd.DataFrame({"context": context, "belief": rng.random(36).round(2)})
    rows["group"] = np.repeat(list("abcd"), 9)
    rows["truth"] = np.repeat(rng.integers(0, 2, 12), 3)
    rows["posterior"] = np.repeat(rng.random(12), 3)
    action = pd.Series(rng.choice(["x", "y", "z"], 36))
    if policies:
        action = pd.DataFrame(rng.dirichlet([1, 1, 1], 36), columns=list("zxy"))
    known = (rng.random(36) < 0.6) & (context != "c3")
    action[~known] = np.nan

    def data(some, action, **options):
        named = {"posterior": some["posterior"], "group": some["group"]}
        arrays = some["belief"], action, some["truth"], some["context"]
        return evaluation_data(*arrays, **named, **options)

    part = data(rows, action, missing=True).subset(known)
    alone = data(rows[known], action[known])
    for name in ("belief", "action", "truth", "context", "share", "posterior", "group", "state"):
        np.testing.assert_array_equal(getattr(part, name), getattr(alone, name), err_msg=name)
    for name in ("actions", "states", "contexts", "groups", "positive_code"):
        assert getattr(part, name) == getattr(alone, name)
    np.testing.assert_array_equal(part.with_exact_state().exact, alone.with_exact_state().exact)
    assert seen_policies(np.zeros((0, 2)), ("x", "y")).labels == ("x", "y")
