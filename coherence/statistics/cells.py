"""Distinct rows of what a model of the action sees, as far as boosted trees can tell them apart.

Trees split numbers at a few borders only, so that rows between the same borders are one row to
them. Learnt once with the weight of all, they give the model that all would give.
"""

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.learners import LearnerInputs

N_BORDERS = 32  # finer than stated beliefs are
# Categories up to this size are asked about level by level; of larger ones trees see what other
# contexts with the level chose.
MAX_LEVELS = 255


@dataclass(frozen=True)
class Cells:
    """Rows that trees can tell apart.

    Parameters
    ----------
    codes : ndarray of int, shape (n_cells, n_columns)
        Bins of numbers, then levels of categories, then indicators of states, from 0.
    spelled : ndarray of bool, shape (n_columns,)
        Whether a column is a category.
    large : ndarray of int, shape (n_cells, n_large)
        Levels of categories with more than 255.
    of_row : ndarray of int, shape (n,)
        Cell of each row.
    """

    codes: Codes
    spelled: NDArray[np.bool_]
    large: Codes
    of_row: Codes


def bins(values: Floats, n_borders: int = N_BORDERS) -> Codes:
    """Cut a column into bins of similar size, shape (n,).

    Parameters
    ----------
    values : ndarray, shape (n,)
        NaN where missing, which is a bin of its own: -1.
    n_borders : int
        Borders at most.

    Returns
    -------
    ndarray of int
        Bins from 0 upwards, in the order of the values; equal values share a bin, and where there
        are no more than ``n_borders + 1`` of them each has its own.
    """
    codes = np.full(values.size, -1, dtype=np.int64)
    shown = ~np.isnan(values)
    levels, level, counts = np.unique(values[shown], return_inverse=True, return_counts=True)
    if levels.size <= n_borders + 1:
        codes[shown] = level
        return codes
    codes[shown] = np.searchsorted(_cuts(counts, n_borders), level, side="right")
    return codes


def _cuts(counts: NDArray[np.int64], n_borders: int) -> list[int]:
    """Levels at which a new bin begins, sorted.

    The bins are split one after the other, always where the sum of the logarithms of their sizes
    grows most: a heap of equal values gets a bin of its own, and the rest shares the others.
    """
    reached = np.concatenate([[0], np.cumsum(counts)])

    def split(start: int, end: int) -> tuple[float, int, int, int]:
        """Negative growth of the best split, the level where it cuts, and what it cuts."""
        if end - start < 2:
            return math.inf, start, start, end
        middle = (reached[start] + reached[end]) / 2
        after = int(np.searchsorted(reached[start + 1 : end], middle)) + start + 1
        options = []
        for at in {max(after - 1, start + 1), min(after, end - 1)}:
            below, above = reached[at] - reached[start], reached[end] - reached[at]
            options.append((-math.log(below * above / (below + above)), at, start, end))
        return min(options)

    cuts: list[int] = []
    waiting = [split(0, counts.size)]
    while len(cuts) < n_borders:
        _, at, start, end = heapq.heappop(waiting)
        cuts.append(at)
        heapq.heappush(waiting, split(start, at))
        heapq.heappush(waiting, split(at, end))
    return sorted(cuts)


def cells_of(design: LearnerInputs) -> Cells:
    """Merge the rows of a design that trees cannot tell apart.

    Parameters
    ----------
    design : LearnerInputs
        What the model sees, row by row.

    Returns
    -------
    Cells
        In the lexicographic order of their columns. Where a category has more than 255 levels every
        row stays a cell of its own, because what other contexts chose differs between contexts.
    """
    n_rows = len(design.belief)
    numbers = [bins(column) for column in np.hstack([design.belief, design.numbers]).T]
    # A missing number is a bin below all others.
    columns = [codes - min(int(codes.min()), 0) for codes in numbers]
    large: list[Codes] = []
    for column in design.words.T:
        levels, codes = np.unique(column.astype(str), return_inverse=True)
        (large if levels.size > MAX_LEVELS else columns).append(codes.astype(np.int64))
    columns += list(design.truth.T.astype(np.int64))
    codes = np.column_stack(columns)
    spelled = np.arange(len(columns)) >= len(numbers)
    if large:
        return Cells(codes, spelled, np.column_stack(large), np.arange(n_rows))
    of_row = np.zeros(n_rows, dtype=np.int64)
    for column in columns:
        values, level = np.unique(column, return_inverse=True)
        of_row = np.unique(of_row * values.size + level, return_inverse=True)[1]
    first = np.unique(of_row, return_index=True)[1]
    return Cells(codes[first], spelled, np.empty((first.size, 0), dtype=np.int64), of_row)
