"""Nearest-neighbour conditional mutual information for mixed data, by sorting.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm
1) for the case at hand: the conditioning variable is one number, the other two are discrete with
distance 0 or 1, distances combine by their maximum. All neighbours of a row then lie in its own
(action, truth) cell or at distance 1, and sorted arrays replace the distance matrix: time n log n,
memory proportional to n. No assumption is made here; rows are points.
"""

from collections.abc import Sequence

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


def _neighbour_distance(
    levels: Codes, position: Codes, starts: Codes, stops: Codes, k: int
) -> Codes:
    """Distance of the rows at `position` to their k-th nearest neighbour in their sorted cell.

    A window of k + 1 neighbours that starts j places to the left reaches f(j) to the left, which
    grows with j, and g(j) to the right, which shrinks; the smallest max(f, g) lies where they
    cross, found by bisection for all rows at once.
    """
    # Windows that would leave the cell on either side are no candidates.
    centre = levels[position]
    low = np.maximum(0, position + k - (stops - 1))
    high = np.minimum(k, position - starts)
    enough = stops - starts > k
    low, high = np.where(enough, low, 0), np.where(enough, high, 0)
    last = levels.size - 1
    first = low.copy()
    while (low < high).any():
        middle = (low + high) // 2
        crossed = (
            centre - levels[position - middle]
            >= levels[np.minimum(position + k - middle, last)] - centre
        )
        high = np.where(crossed, middle, high)
        low = np.where(crossed, low, np.minimum(middle + 1, high))

    def reach(j: Codes) -> Codes:
        reached: Codes = np.maximum(
            centre - levels[position - j], levels[np.minimum(position + k - j, last)] - centre
        )
        return reached

    # The crossing lies between two windows; either may be the narrower.
    distance = np.minimum(reach(low), reach(np.maximum(low - 1, first)))
    return np.where(enough, distance, RESOLUTION)


def _running_counts(codes: Codes, n_codes: int) -> Codes:
    """Rows with each code among the first i rows, flattened from shape (n_codes, n + 1)."""
    counts = np.zeros((n_codes, codes.size + 1), dtype=np.int64)
    counts[codes, np.arange(1, codes.size + 1)] = 1
    return np.cumsum(counts, axis=1, out=counts).ravel()


class SortedNeighbours:
    """Estimates of I(action; truth | belief) for many arrangements of the truth.

    What does not depend on the truth is computed once: a permutation test calls `information` a
    thousand times.

    Parameters
    ----------
    levels : ndarray of int, shape (n,)
        Beliefs from `as_levels`, sorted in ascending order.
    action : ndarray of int, shape (n,)
        Codes in the order of `levels`.
    """

    def __init__(self, levels: Codes, action: Codes) -> None:
        self._levels, self._action = levels, action
        self._psi = digamma_table(levels.size)
        self._action_counts = _running_counts(action, int(action.max()) + 1)
        self._distinct, first = np.unique(levels, return_index=True)
        self._first_row = np.append(first, levels.size)  # of each distinct belief, and the end

    def information(self, truth: Codes, neighbours: Sequence[int]) -> list[float]:
        """Estimate the information with several numbers of neighbours.

        Parameters
        ----------
        truth : ndarray of int, shape (n,)
            Codes in the order of the levels.
        neighbours : sequence of int
            Each at least 1 and below n.

        Returns
        -------
        list of float
            Nats, one per number; unbiased only in the limit and possibly negative, never clipped.
        """
        levels, width = self._levels, self._levels.size + 1
        n_states = int(truth.max()) + 1
        cell = self._action * n_states + truth
        # Few cells: one byte each, which numpy sorts by counting.
        by_cell = np.argsort(cell.astype(np.uint8) if cell.max() < 256 else cell, kind="stable")
        edges = np.concatenate(([0], np.cumsum(np.bincount(cell))))
        grouped, in_order = levels[by_cell], cell[by_cell]
        # Rows that agree in belief, action and truth have equal terms: one of each run of them is
        # computed and counted as often.
        first = np.flatnonzero(
            np.concatenate(
                ([True], (grouped[1:] != grouped[:-1]) | (in_order[1:] != in_order[:-1]))
            )
        )
        copies = np.diff(first, append=levels.size)
        cell_of_run = in_order[first]
        counted = [
            (counts, codes * width)
            for counts, codes in (
                (_running_counts(cell, edges.size - 1), cell_of_run),
                (self._action_counts, cell_of_run // n_states),
                (_running_counts(truth, n_states), cell_of_run % n_states),
            )
        ]
        estimates = []
        for k in neighbours:
            distance = _neighbour_distance(
                grouped, first, edges[cell_of_run], edges[cell_of_run + 1], k
            )
            centre = grouped[first]
            start = self._first_row[np.searchsorted(self._distinct, centre - distance, side="left")]
            stop = self._first_row[np.searchsorted(self._distinct, centre + distance, side="right")]
            in_cell, in_action, in_truth = (
                counts[offset + stop] - counts[offset + start] - 1 for counts, offset in counted
            )
            # Mesner and Shalizi (2021), algorithm 1: psi(k) - psi(n_az) - psi(n_tz) + psi(n_z),
            # where ties may make the first count larger than k.
            terms = (
                self._psi[in_cell]
                - self._psi[in_action]
                - self._psi[in_truth]
                + self._psi[stop - start - 1]
            )
            # At distance 1 every row is a neighbour in every subspace and the term is 0.
            estimates.append(
                float((copies * np.where(distance < RESOLUTION, terms, 0.0)).sum() / levels.size)
            )
        return estimates


def conditional_information(levels: Codes, action: Codes, truth: Codes, k: int) -> float:
    """Estimate I(action; truth | belief) in nats.

    Parameters
    ----------
    levels : ndarray of int, shape (n,)
        Beliefs from `as_levels`, sorted in ascending order.
    action, truth : ndarray of int, shape (n,)
        Codes in the order of `levels`.
    k : int
        Neighbours, at least 1 and below n.

    Returns
    -------
    float
        See `SortedNeighbours.information`.
    """
    return SortedNeighbours(levels, action).information(truth, (k,))[0]
