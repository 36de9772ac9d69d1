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
# Categories up to this size are spelled out; larger ones enter by what their members chose, which
# weights of merged rows would distort.
MAX_LEVELS = 255
_NAMES = np.array([str(code).encode() for code in range(MAX_LEVELS)], dtype=object)


@dataclass(frozen=True)
class Cells:
    """Rows that trees can tell apart.

    Parameters
    ----------
    numbers : ndarray, shape (n_cells, n_columns)
        Bins of numbers.
    categories : ndarray of bytes, shape (n_cells, n_categories)
        Codes of words, then indicators of states. CatBoost spells them out by itself, into the
        splits that an indicator of each level would offer, several times as fast. Where there are
        larger categories there are none, and the indicators are among the numbers: what is spelled
        out is combined with the others only if it is a category.
    words : ndarray of str, shape (n_cells, n_words)
        Categories too large to be spelled out.
    of_row : ndarray of int, shape (n,)
        Cell of each row.
    """

    numbers: NDArray[np.float32]
    categories: NDArray[np.object_]
    words: NDArray[np.object_]
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
        row stays a cell of its own.
    """
    n_rows = len(design.belief)
    numbers = [bins(column) for column in np.hstack([design.belief, design.numbers]).T]
    levels_of, large = [], []
    for column in design.words.T:
        levels, codes = np.unique(column.astype(str), return_inverse=True)
        if levels.size > MAX_LEVELS:
            large.append(column)
        else:
            levels_of.append((codes, levels.size))
    states = list(design.truth.T.astype(np.int64))
    spelled = [codes == level for codes, n_levels in levels_of for level in range(n_levels)]
    columns = [*numbers, *spelled, *states]
    if large:
        everything = np.column_stack(columns).astype(np.float32)
        none = np.empty((n_rows, 0), dtype=object)
        return Cells(everything, none, np.column_stack(large), np.arange(n_rows))
    of_row = np.zeros(n_rows, dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        of_row = np.unique(of_row * values.size + codes, return_inverse=True)[1]
    first = np.unique(of_row, return_index=True)[1]
    categories = np.empty((first.size, len(levels_of) + len(states)), dtype=object)
    for position, codes in enumerate([*(codes for codes, _ in levels_of), *states]):
        categories[:, position] = _NAMES[codes[first]]
    return Cells(
        np.column_stack(numbers).astype(np.float32)[first],
        categories,
        np.empty((first.size, 0), dtype=object),
        of_row,
    )
