"""Nearest-neighbour conditional mutual information given several continuous and discrete columns.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm
1): distances combine by their maximum, discrete columns are at distance 0 or 1, and every point
within the distance of the k-th neighbour counts. A row whose k-th neighbour lies at distance 1 or
more sees the same neighbours in every subspace and contributes 0, so that only neighbours in the
row's own cell of discrete values need a search: k-d trees for one estimate, a sorted table of
neighbours where many states are tried on the same points.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import RESOLUTION, as_levels, digamma_table

# coordinates are whole numbers: a radius half a step larger holds exactly the points that tie or
# are nearer
HALF_STEP = 0.5


def _count_within(tree: cKDTree, points: Floats, radius: Floats) -> Codes:
    """Points of the tree within each radius, the point itself left out."""
    within: Codes = np.asarray(
        tree.query_ball_point(points, radius + HALF_STEP, p=np.inf, return_length=True),
        dtype=np.int64,
    )
    return within - 1


def _stratum_sum(points: Floats, action: Codes, truth: Codes, k: int, psi: Floats) -> float:
    """Sum of the terms of rows that share all discrete conditioning values."""
    cell = action * (int(truth.max()) + 1) + truth
    radius = np.full(len(points), np.inf)
    joint = np.zeros(len(points), dtype=np.int64)
    for code in np.unique(cell):
        # Neighbours in the joint space share action and truth; others are at distance 1 or more.
        rows = np.flatnonzero(cell == code)
        if rows.size <= k:
            continue
        tree = cKDTree(points[rows])
        # The row itself is its nearest neighbour, at distance 0: the k-th other is number k + 1.
        distance = np.asarray(tree.query(points[rows], k=[k + 1], p=np.inf)[0])
        radius[rows] = np.rint(distance[:, 0])
        close = radius[rows] < RESOLUTION
        joint[rows[close]] = _count_within(tree, points[rows[close]], radius[rows[close]])
    near = radius < RESOLUTION
    if not near.any():
        return 0.0
    total = float(
        (psi[joint[near]] + psi[_count_within(cKDTree(points), points[near], radius[near])]).sum()
    )
    for codes in (action, truth):
        for code in np.unique(codes[near]):
            alike = codes == code
            rows = near & alike
            total -= float(
                psi[_count_within(cKDTree(points[alike]), points[rows], radius[rows])].sum()
            )
    return total


def general_information(
    continuous: Floats, stratum: Codes, action: Codes, truth: Codes, k: int
) -> float:
    """Estimate I(action; truth | continuous, stratum) in nats.

    Parameters
    ----------
    continuous : ndarray, shape (n, n_columns)
        Continuous conditioning columns, one or more, in units in which a difference of 1 weighs as
        much as two different labels. Values closer than 1e-9 tie.
    stratum : ndarray of int, shape (n,)
        Code of the combination of discrete conditioning values; zeros if there are none.
    action, truth : ndarray of int, shape (n,)
        Codes.
    k : int
        Neighbours, at least 1 and below n.

    Returns
    -------
    float
        The estimate; unbiased only in the limit and possibly negative, never clipped.
    """
    points = as_levels(continuous).astype(np.float64)
    psi = digamma_table(len(points))
    total = 0.0
    for code in np.unique(stratum):
        rows = stratum == code
        total += _stratum_sum(points[rows], action[rows], truth[rows], k, psi)
    return total / len(points)


@dataclass(frozen=True)
class NeighbourTable:
    """Rows ordered by distance from each row, to be used again for every arrangement of the truth.

    Time and memory grow with the square of the number of rows.

    Parameters
    ----------
    order : ndarray of int, shape (n, n)
        Rows by distance, the row itself among those at distance 0.
    last_tie : ndarray of int, shape (n * n,)
        Flattened position of the last row at the same distance; -1 where the distance is 1 or more.
    same_action : ndarray of bool, shape (n, n)
        Whether the row in `order` has the same action.
    action_count : ndarray of int, shape (n * n,)
        Rows with the same action up to each position, the row itself left out.
    psi : ndarray, shape (n + 1,)
        Digamma of whole numbers.
    """

    order: Codes
    last_tie: Codes
    same_action: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    action_count: Codes
    psi: Floats

    def information(self, truth: Codes, neighbours: Sequence[int]) -> list[float]:
        """Estimate I(action; truth | columns of the table) in nats.

        Parameters
        ----------
        truth : ndarray of int, shape (n,)
            Codes, in the order of rows.
        neighbours : tuple of int
            Numbers of neighbours, each at least 1 and below n.

        Returns
        -------
        list of float
            One estimate per number, as `general_information` gives.
        """
        n = len(truth)
        small = truth.astype(np.int16)
        same_truth = small[self.order] == small[:, None]
        # Passes over n * n counters take most of the time: keep them as narrow as n * n allows.
        counter = np.int32 if n < 2**15 else np.int64
        joint = np.cumsum(same_truth & self.same_action, dtype=counter)
        agreeing = np.cumsum(same_truth, dtype=counter)
        begin = np.arange(n) * n
        joint_before, agreeing_before = (
            np.concatenate((np.zeros(1, counter), total[begin[1:] - 1]))
            for total in (joint, agreeing)
        )
        estimates = []
        for k in neighbours:
            # The running count over all rows is sorted: the k-th neighbour is where it has grown by
            # k + 1, the row itself included.
            position = np.searchsorted(joint, (joint_before + k + 1).astype(counter), side="left")
            inside = position < begin + n
            last = np.where(inside, self.last_tie[np.minimum(position, n * n - 1)], -1)
            near = last >= 0
            at = last[near]
            terms = (
                self.psi[joint[at] - joint_before[near] - 1]
                - self.psi[self.action_count[at]]
                - self.psi[agreeing[at] - agreeing_before[near] - 1]
                + self.psi[at - begin[near]]
            )
            estimates.append(float(terms.sum() / n))
        return estimates


def neighbour_table(continuous: Floats, stratum: Codes, action: Codes) -> NeighbourTable:
    """Sort the neighbours of every row.

    Parameters
    ----------
    continuous, stratum, action : ndarray
        See `general_information`.

    Returns
    -------
    NeighbourTable
        Rows by distance.
    """
    # Whole numbers, so that equal distances are exactly equal and ties are seen.
    levels = as_levels(continuous)
    n = len(levels)
    distance = np.where(stratum[:, None] == stratum[None, :], 0, RESOLUTION)
    for column in levels.T:
        np.maximum(distance, np.abs(column[:, None] - column[None, :]), out=distance)
    order = np.argsort(distance, axis=1, kind="stable")
    ranked = np.take_along_axis(distance, order, axis=1)
    ends = np.empty((n, n), dtype=bool)
    ends[:, -1] = True
    ends[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    # The next end of a run of ties at or after each position: a running minimum from behind.
    end_here = np.where(ends.ravel(), np.arange(n * n), n * n)
    last_tie = np.minimum.accumulate(end_here[::-1])[::-1]
    same_action = action[order] == action[:, None]
    action_count = np.cumsum(same_action, axis=1).ravel() - 1
    return NeighbourTable(
        order,
        np.where(ranked.ravel() < RESOLUTION, last_tie, -1),
        same_action,
        action_count,
        digamma_table(n),
    )
