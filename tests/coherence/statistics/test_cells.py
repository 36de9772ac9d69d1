"""Cells of rows: breaks if different beliefs merge without need, or if equal rows stay apart."""

import numpy as np
import pytest

from coherence.statistics.cells import MAX_LEVELS, bins, cells_of
from coherence.statistics.learners import LearnerInputs


def design(belief, numbers=None, words=None, truth=None):
    n = len(belief)
    return LearnerInputs(
        np.asarray(belief, dtype=float).reshape(n, -1),
        np.empty((n, 0)) if numbers is None else np.asarray(numbers, dtype=float).reshape(n, -1),
        np.empty((n, 0), dtype=object)
        if words is None
        else np.asarray(words, object).reshape(n, -1),
        np.empty((n, 0)) if truth is None else np.asarray(truth, dtype=float).reshape(n, -1),
    )


def test_few_values_have_a_bin_each_and_missing_ones_their_own():
    np.testing.assert_array_equal(bins(np.array([0.5, np.nan, 0.1, 0.5])), [1, -1, 0, 1])
    grid = np.random.default_rng(0).permutation(np.arange(33) / 32)
    np.testing.assert_array_equal(bins(grid), np.round(grid * 32))
    np.testing.assert_array_equal(bins(np.full(3, np.nan)), [-1, -1, -1])


def test_many_values_are_cut_into_similar_parts_in_their_order():
    values = np.random.default_rng(1).random(3200)
    codes = bins(values)
    # 32 halves of halves, and one more split.
    assert sorted(np.bincount(codes)) == [50, 50, *[100] * 31]
    assert (np.diff(codes[np.argsort(values)]) >= 0).all()


def test_a_heap_has_a_bin_of_its_own_and_leaves_the_others_to_the_rest():
    """Quantiles of all rows would all but two fall on the heap and tell the rest apart no more."""
    rest = np.random.default_rng(2).random(330)
    values = np.concatenate([np.full(9000, 0.5), rest])
    codes = bins(values)
    (heap,) = np.unique(codes[:9000])
    assert np.unique(codes).size == 33
    assert np.bincount(codes[9000:], minlength=33).max() < 25
    assert (codes[9000:] == heap).sum() < 25


@pytest.mark.parametrize("n_borders", [1, 2, 7])
def test_no_bin_is_empty_whatever_the_counts(n_borders):
    rng = np.random.default_rng(3)
    for _ in range(50):
        counts = rng.integers(1, 1 + rng.integers(1, 200), 12)
        codes = bins(np.repeat(rng.random(12), counts), n_borders)
        assert set(codes) == set(range(n_borders + 1))


def test_rows_that_trees_cannot_tell_apart_are_one_cell():
    seen = design(
        [0.5, 0.5, 0.5, 0.2, 0.5],
        numbers=[1.0, 1.0, np.nan, 1.0, np.nan],
        words=["a", "a", "a", "a", "a"],
        truth=[0, 0, 1, 0, 1],
    )
    cells = cells_of(seen)
    assert cells.of_row.tolist() == [2, 2, 1, 0, 1]
    # Bins of belief and number; the word and the truth.
    np.testing.assert_array_equal(cells.codes, [[0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0]])
    assert cells.spelled.tolist() == [False, False, True, True]
    assert cells.large.shape == (3, 0)


def test_categories_are_levels_up_to_a_size_and_kept_apart_beyond_it():
    small = cells_of(design(np.zeros(6), words=["a", "b", "c", "a", "b", "c"]))
    assert small.codes[small.of_row, 1].tolist() == [0, 1, 2] * 2
    names = [f"w{k:03}" for k in range(MAX_LEVELS + 1)]
    large = cells_of(design(np.zeros(MAX_LEVELS + 2), words=[*names, names[0]]))
    assert large.large[:, 0].tolist() == [*range(MAX_LEVELS + 1), 0]
    assert large.codes.shape == (MAX_LEVELS + 2, 1)
    # Beside it, smaller ones are what they always are.
    both = cells_of(design(np.zeros(MAX_LEVELS + 1), words=[[name, name[-1]] for name in names]))
    assert both.codes[:, 1].tolist() == [k % 10 for k in range(MAX_LEVELS + 1)]
    assert both.spelled.tolist() == [False, True]
    # What members of a large category chose is counted row by row.
    np.testing.assert_array_equal(large.of_row, np.arange(MAX_LEVELS + 2))
    most = cells_of(design(np.zeros(MAX_LEVELS), words=names[:-1]))
    assert (most.codes.shape, most.large.shape) == ((MAX_LEVELS, 2), (MAX_LEVELS, 0))
    assert len(set(most.codes[:, 1])) == MAX_LEVELS
