"""Nearest-neighbour conditional mutual information for mixed data, by sorting.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm 1) for the case at hand: the
conditioning variable is one number, the other two are discrete with distance 0 or 1, distances combine by their maximum. All
neighbours of a row then lie in its own (action, truth) cell or at distance 1, and sorted arrays replace the distance matrix:
time n log n, memory proportional to n. No assumption is made here; rows are points.
"""

import numpy as np
from scipy.special import digamma

from coherence.inputs import Codes, Floats

RESOLUTION = 10**9  # beliefs closer than 1e-9 are the same belief: .15 and .05 + .1 must tie


def as_levels(belief: Floats) -> Codes:
    """Return beliefs as integers on a grid of 1e-9, on which equal distances are exactly equal."""
    return np.rint(belief * RESOLUTION).astype(np.int64)


def digamma_table(n_rows: int) -> Floats:
    """Return digamma(0), ..., digamma(n_rows), with 0 in the place of the undefined first value."""
    table = np.zeros(n_rows + 1)
    table[1:] = digamma(np.arange(1, n_rows + 1))
    return table


def _neighbour_distance(levels: Codes, starts: Codes, stops: Codes, k: int) -> Codes:
    """Distance to the k-th nearest neighbour within each cell of an array that is sorted within cells.

    A window of k + 1 neighbours that starts j places to the left reaches f(j) to the left, which grows with j, and g(j) to the
    right, which shrinks; the smallest max(f, g) lies where they cross, found by bisection for all rows at once.
    """
    position = np.arange(levels.size)
    low = np.maximum(0, position + k - (stops - 1))
    high = np.minimum(k, position - starts)
    enough = stops - starts > k
    low, high = np.where(enough, low, 0), np.where(enough, high, 0)
    last = levels.size - 1
    first = low.copy()
    while (low < high).any():
        middle = (low + high) // 2
        crossed = levels - levels[position - middle] >= levels[np.minimum(position + k - middle, last)] - levels
        high = np.where(crossed, middle, high)
        low = np.where(crossed, low, np.minimum(middle + 1, high))

    def reach(j: Codes) -> Codes:
        reached: Codes = np.maximum(levels - levels[position - j], levels[np.minimum(position + k - j, last)] - levels)
        return reached

    distance = np.minimum(reach(low), reach(np.maximum(low - 1, first)))
    return np.where(enough, distance, RESOLUTION)


def _running_counts(codes: Codes, n_codes: int) -> Codes:
    """Number of rows with each code among the first i rows, flattened from shape (n_codes, n + 1)."""
    counts = np.zeros((n_codes, codes.size + 1), dtype=np.int64)
    counts[codes, np.arange(1, codes.size + 1)] = 1
    return np.cumsum(counts, axis=1, out=counts).ravel()


def conditional_information(levels: Codes, action: Codes, truth: Codes, k: int, psi: Floats | None = None) -> float:
    """Estimate I(action; truth | belief) in nats.

    Parameters
    ----------
    levels : ndarray of int, shape (n,)
        Beliefs from `as_levels`, sorted in ascending order.
    action, truth : ndarray of int, shape (n,)
        Codes in the order of `levels`.
    k : int
        Neighbours, at least 1 and below n.
    psi : ndarray, optional
        `digamma_table(n)`, to be shared between calls.

    Returns
    -------
    float
        The estimate; unbiased only in the limit and possibly negative, never clipped.
    """
    n_rows = levels.size
    n_states = int(truth.max()) + 1
    psi = digamma_table(n_rows) if psi is None else psi
    cell = action * n_states + truth
    by_cell = np.argsort(cell, kind="stable")
    edges = np.concatenate(([0], np.cumsum(np.bincount(cell))))
    cell_sorted = cell[by_cell]
    distance = np.empty(n_rows, dtype=np.int64)
    distance[by_cell] = _neighbour_distance(levels[by_cell], edges[cell_sorted], edges[cell_sorted + 1], k)

    near = np.flatnonzero(distance < RESOLUTION)  # at distance 1 every row is a neighbour in every subspace and the term is 0
    reach = distance[near]
    start = np.searchsorted(levels, levels[near] - reach, side="left")
    stop = np.searchsorted(levels, levels[near] + reach, side="right")
    width = n_rows + 1

    def within(codes: Codes) -> Codes:
        counts = _running_counts(codes, int(codes.max()) + 1)
        offset = codes[near] * width
        others: Codes = counts[offset + stop] - counts[offset + start] - 1
        return others

    terms = psi[within(cell)] - psi[within(action)] - psi[within(truth)] + psi[stop - start - 1]
    return float(terms.sum() / n_rows)
