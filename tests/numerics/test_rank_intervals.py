"""Pairs of models and their ranks: against Tukey's range, single tests, and ties by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from coherence.statistics.mean_interval import difference_pvalue
from coherence.statistics.rank_intervals import compare_pairs, letters, rank_intervals, sizes_apart


def drawn(n_contexts, means, seed, *, shared=1.0, power=1):
    """Values with a part that columns share, skewed where the power is 2."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(n_contexts, len(means))) ** power
    return shared * rng.normal(size=(n_contexts, 1)) + own + np.array(means)


def test_of_two_columns_the_adjusted_p_is_the_single_one():
    values = drawn(60, [0.0, 0.3], 1)
    pairs = compare_pairs(values, np.random.default_rng(1), n_draws=99_999)
    assert pairs.difference[0] == pytest.approx(values[:, 0].mean() - values[:, 1].mean())
    assert pairs.pvalue[0] == difference_pvalue(values[:, 0] - values[:, 1])
    assert pairs.pvalue_ranks[0] == pytest.approx(pairs.pvalue[0], abs=0.005)
    assert (pairs.low[0] > 0 or pairs.high[0] < 0) == (pairs.pvalue[0] < 0.05)


def test_independent_columns_are_adjusted_as_the_studentised_range_does():
    """Tukey's range: the largest of all differences of five normal means, in closed form."""
    values = drawn(4_000, [0.0, 0.0, 0.0, 0.0, 0.07], 3, shared=0.0)
    pairs = compare_pairs(values, np.random.default_rng(1), n_draws=99_999)
    largest = int(np.nanargmin(pairs.pvalue))
    distance = stats.norm.isf(pairs.pvalue[largest] / 2) * np.sqrt(2)
    expected = stats.studentized_range.sf(distance, 5, np.inf)
    assert pairs.pvalue_ranks[largest] == pytest.approx(expected, abs=0.01)


def test_equal_columns_have_no_test_and_constant_differences_that_of_their_signs():
    values = drawn(50, [0.0, 0.0, 5.0], 2)
    values[:, 1] = values[:, 0]
    pairs = compare_pairs(values, np.random.default_rng(1))
    assert np.isnan([pairs.pvalue[0], pairs.pvalue_ranks[0]]).all()
    assert pairs.difference[0] == 0
    assert pairs.apart() == {(0, 2), (1, 2)}
    low, high = rank_intervals(3, pairs.apart())
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])
    assert compare_pairs(np.ones((20, 4)), np.random.default_rng(1)).apart() == set()
    steady = compare_pairs(np.tile([0.0, 1.0], (12, 1)), np.random.default_rng(1))
    assert steady.pvalue[0] == 2.0**-11
    assert np.isnan(steady.low[0])
    assert steady.apart() == {(0, 1)}


def test_a_sure_pair_makes_the_others_surer():
    """Stepdown: with one column far off, two pairs fewer are in the way of the third."""
    values = drawn(200, [0.0, 0.2, 50.0], 12)
    pairs = compare_pairs(values, np.random.default_rng(1), n_draws=99_999)
    at_once = compare_pairs(values - [0, 0, 50.0], np.random.default_rng(1), n_draws=99_999)
    assert pairs.pvalue[0] == at_once.pvalue[0]
    assert pairs.pvalue[0] <= pairs.pvalue_ranks[0] + 0.005
    assert pairs.pvalue_ranks[0] < 0.9 * at_once.pvalue_ranks[0]


def test_sizes_are_told_apart_by_their_distance_from_zero():
    """Breaks if opposite means count as apart, or the sign decides who is closer to 0."""
    values = drawn(400, [0.0, -1.0, 1.0, 3.0], 6, shared=0.2)
    rng = np.random.default_rng(1)
    assert sizes_apart(values, rng) == {(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)}
    # What they share may shift both across 0: the difference is sure, the order of sizes is not.
    shared = drawn(100, [-0.2, 0.4], 5, shared=10.0)
    assert compare_pairs(shared, rng).apart() == {(0, 1)}
    assert sizes_apart(shared, rng) == set()
    assert sizes_apart(np.column_stack([values[:, 3], -values[:, 3]]), rng) == set()


@pytest.mark.lengthy
@pytest.mark.parametrize("gap", [0.0, 0.15, 0.5])
def test_opposite_means_are_seldom_told_apart(gap):
    """At a true rate of .05 the bound is passed once in ten thousand runs."""
    false = sum(
        bool(sizes_apart(drawn(40, [-gap, gap], seed), np.random.default_rng(seed), n_draws=499))
        for seed in range(200)
    )
    assert false <= stats.binom.ppf(0.9999, 200, 0.05)


@pytest.mark.lengthy
@pytest.mark.parametrize("power", [1, 2])
def test_ties_are_seldom_told_apart(power):
    """At a true rate of .05 the bound is passed once in ten thousand runs; unadjusted: .25."""
    false = 0
    for seed in range(200):
        values = drawn(40, [0.0] * 5, seed, power=power)
        pairs = compare_pairs(values, np.random.default_rng(seed), n_draws=499)
        false += bool(pairs.apart())
    assert false <= stats.binom.ppf(0.9999, 200, 0.05)


@st.composite
def told_apart(draw):
    n_models = draw(st.integers(1, 7))
    order = draw(st.permutations(range(n_models)))
    pairs = [(a, b) for at, a in enumerate(order) for b in order[at + 1 :]]
    return n_models, order, set(draw(st.lists(st.sampled_from(pairs)))) if pairs else set()


@given(told_apart())
@settings(max_examples=200, deadline=None)
def test_models_share_a_letter_unless_they_are_told_apart(case):
    n_models, order, apart = case
    names = letters(order, apart)
    low, high = rank_intervals(n_models, apart)
    assert all(names)
    assert "a" in names[order[0]]
    for a in range(n_models):
        assert 1 <= low[a] <= high[a] <= n_models
        for b in range(a):
            differ = (a, b) in apart or (b, a) in apart
            assert bool(set(names[a]) & set(names[b])) == (not differ)
