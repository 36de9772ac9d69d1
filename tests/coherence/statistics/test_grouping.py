"""Groups of contexts in several columns: narrow, together where they tie, in any row order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coherence.statistics.grouping as grouping
from coherence.statistics.grouping import vector_bins, vector_blocks


def same_partition(first, second):
    return len({*zip(first, second, strict=True)}) == len(set(first)) == len(set(second))


@given(
    n=st.integers(1, 80),
    n_columns=st.integers(1, 4),
    grid=st.sampled_from([3, 20, 10**6]),
    seed=st.integers(0, 10**6),
)
def test_blocks_are_narrow_and_hold_equal_rows_together(n, n_columns, grid, seed):
    rows = np.round(np.random.default_rng(seed).random((n, n_columns)) * grid) / grid
    blocks = vector_blocks(rows, size=4, span=0.1)
    assert set(blocks) == set(range(blocks.max() + 1))
    assert all(
        np.ptp(rows[blocks == block], axis=0).max() <= 0.1 + 2e-9 for block in np.unique(blocks)
    )
    for row in np.unique(rows, axis=0):
        assert np.unique(blocks[(rows == row).all(axis=1)]).size == 1


def test_close_rows_share_a_block_and_distant_ones_do_not():
    rows = np.array([[0.1, 0.1], [0.12, 0.15], [0.9, 0.1], [0.9, 0.12], [0.5, 0.9]])
    assert same_partition(vector_blocks(rows, size=4, span=0.1), [0, 0, 1, 1, 2])


def test_crowded_places_are_cut_into_blocks_of_bounded_size():
    rows = np.random.default_rng(0).random((400, 2)) * 0.08
    sizes = np.bincount(vector_blocks(rows, size=4, span=0.1))
    assert sizes.min() >= 1
    assert np.median(sizes) <= 8


@pytest.mark.parametrize(
    ("points", "blocks"),
    [
        ([0, 0.001, 0.002, 0.003], [0, 0, 0, 0]),  # twice the size wanted is no crowd
        ([0, 0.001, 0.002, 0.003, 0.05], [0] * 5),  # a cut would leave a context alone
        ([0, 0.001, 0.002, 0.003, 0.05, 0.051], [0, 0, 0, 0, 1, 1]),
        ([0, 0.001, 0.002, 0.003, 0.05, 0.05], [0, 0, 0, 0, 1, 1]),  # two contexts, one point
        ([0, 0.1, 0.25], [0, 0, 1]),  # as wide as the span, and wider
    ],
)
def test_crowds_are_cut_unless_one_would_be_alone(points, blocks):
    """Two contexts are wanted in a block: five and more are cut where that is possible."""
    rows = np.stack([points, np.zeros(len(points))], axis=1)
    assert same_partition(vector_blocks(rows, size=2, span=0.1), blocks)


def test_bins_are_cut_at_the_median_of_the_widest_column():
    """The first cut by the wide column, the next in the fuller half; equal rows stay together."""
    wide = np.array([0.0, 0.1, 0.2, 0.7, 0.8, 0.9, 1.0])
    rows = np.stack([np.full(7, 0.5), wide], axis=1)
    assert same_partition(vector_bins(rows, 2), [0, 0, 0, 1, 1, 1, 1])
    assert same_partition(vector_bins(rows, 3), [0, 0, 0, 1, 1, 2, 2])
    weighted = np.repeat(rows, [10, 1, 1, 1, 1, 1, 1], axis=0)
    assert np.bincount(vector_bins(weighted, 2)).tolist() in ([10, 6], [6, 10])


def test_many_rows_are_split_before_they_are_clustered(monkeypatch):
    """The split may separate near rows, never join distant ones."""
    monkeypatch.setattr(grouping, "CLUSTERED", 20)
    rows = np.random.default_rng(1).random((300, 2))
    blocks = vector_blocks(rows, size=4, span=0.1)
    assert all(
        np.ptp(rows[blocks == block], axis=0).max() <= 0.1 + 2e-9 for block in np.unique(blocks)
    )
    assert (np.bincount(blocks)[blocks] > 1).mean() > 0.7


@pytest.mark.parametrize(
    "group", [lambda rows: vector_blocks(rows, size=4, span=0.1), lambda rows: vector_bins(rows, 7)]
)
def test_groups_do_not_depend_on_row_order(group):
    rng = np.random.default_rng(2)
    rows, shuffled = rng.random((90, 3)), rng.permutation(90)
    assert same_partition(group(rows)[shuffled], group(rows[shuffled]))


def test_bins_are_as_many_as_wanted_and_well_filled():
    rows = np.random.default_rng(3).dirichlet([1, 1, 1], 160)
    sizes = np.bincount(vector_bins(rows, 16))
    assert sizes.tolist() == [10] * 16


def test_bins_are_fewer_where_rows_tie():
    rows = np.repeat([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], 20, axis=0)
    assert same_partition(vector_bins(rows, 10), np.repeat([0, 1, 2], 20))
