"""Nearest-neighbour information between policies and truths, given continuous and discrete columns.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm
1) where the action of a row is a vector of probabilities: policies are as far apart as their most
different probability, truths are at distance 0 or 1, and distances combine by their maximum. What
is estimated is I(policy; truth | columns), the information of all probabilities together; an action
drawn from them carries less (data processing inequality).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from coherence.inputs import Codes, Floats
from coherence.statistics.conditioning import SPREAD
from coherence.statistics.knn import RESOLUTION, as_levels, digamma_table
from coherence.statistics.knn_general import HALF_STEP

Counts = NDArray[np.signedinteger[Any]]


def scaled_policies(share: Floats) -> Floats:
    """Give every action's probability the spread of a belief, shape (n, n_actions).

    Four standard deviations become 1, as those of numeric features do. A model that hardly leaves
    one half would otherwise show nothing: every difference in its policy would be smaller than
    those in belief, of which the larger counts.

    Parameters
    ----------
    share : ndarray, shape (n, n_actions)
        Probability of each action.

    Returns
    -------
    ndarray, shape (n, n_actions)
        Scaled; zeros for an action whose probability never changes.
    """
    spread = share.std(axis=0)
    moving = spread > 1e-12
    scaled = (share - share.mean(axis=0)) / (SPREAD * np.where(moving, spread, 1.0))
    return np.where(moving, scaled, 0.0)


def policy_information(
    continuous: Floats, stratum: Codes, share: Floats, truth: Codes, k: int
) -> float:
    """Estimate I(policy; truth | continuous, stratum) in nats, by k-d trees.

    Parameters
    ----------
    continuous : ndarray, shape (n, n_columns)
        Continuous conditioning columns in units in which a difference of 1 weighs as much as two
        different labels. Values closer than 1e-9 tie.
    stratum : ndarray of int, shape (n,)
        Code of the combination of discrete conditioning values; zeros if there are none.
    share : ndarray, shape (n, n_actions)
        Probability of each action, or what `scaled_policies` makes of it.
    truth : ndarray of int, shape (n,)
        Codes.
    k : int
        Neighbours, at least 1 and below n.

    Returns
    -------
    float
        The estimate; unbiased only in the limit and possibly negative, never clipped.
    """
    # Two strata lie further apart than any distance at which neighbours count.
    given = np.column_stack([as_levels(continuous), 2 * RESOLUTION * stratum]).astype(np.float64)
    joint = np.column_stack([given, as_levels(share)])
    n = len(joint)
    radius = np.full(n, np.inf)
    for code in np.unique(truth):
        rows = np.flatnonzero(truth == code)
        if rows.size > k:
            # The row itself is its nearest neighbour: the k-th other is number k + 1.
            distance = cKDTree(joint[rows]).query(joint[rows], k=[k + 1], p=np.inf)[0]
            radius[rows] = np.rint(np.asarray(distance)[:, 0])
    # A row whose k-th neighbour lies at distance 1 sees the same neighbours in every subspace.
    near = radius < RESOLUTION
    psi, total = digamma_table(n), 0.0

    def counted(points: Floats, among: NDArray[np.bool_], rows: NDArray[np.bool_]) -> float:
        within = cKDTree(points[among]).query_ball_point(
            points[rows], radius[rows] + HALF_STEP, p=np.inf, return_length=True
        )
        return float(psi[np.asarray(within, dtype=np.int64) - 1].sum())

    everywhere = np.ones(n, dtype=bool)
    if near.any():
        total += counted(given, everywhere, near) - counted(joint, everywhere, near)
    for code in np.unique(truth[near]):
        alike = truth == code
        total += counted(joint, alike, near & alike) - counted(given, alike, near & alike)
    return total / n


@dataclass(frozen=True)
class PolicyNeighbours:
    """Rows ordered by distance from each row, to be used again for every arrangement of the truth.

    Time and memory grow with the square of the number of rows.

    Parameters
    ----------
    order, order_given : ndarray of int, shape (n, n)
        Rows by distance in policy and columns together, and in the columns alone; each row itself
        among those at distance 0.
    within, within_given : ndarray of int, shape (n, n)
        Rows, the row itself included, that are together, or in the columns alone, no further away
        than the row in `order`; 0 where that is at distance 1 or more.
    psi : ndarray, shape (n + 1,)
        Digamma of whole numbers.
    """

    order: Counts
    order_given: Counts
    within: Counts
    within_given: Counts
    psi: Floats

    def information(self, truth: Codes, neighbours: Sequence[int]) -> list[float]:
        """Estimate I(policy; truth | columns) in nats.

        Parameters
        ----------
        truth : ndarray of int, shape (n,)
            Codes, in the order of rows.
        neighbours : tuple of int
            Numbers of neighbours, each at least 1 and below n.

        Returns
        -------
        list of float
            One estimate per number, as `policy_information` gives.
        """
        n = len(truth)
        # Passes over n * n counters take most of the time: keep them narrow.
        small, counter = truth.astype(np.int16), np.int16 if n < 2**15 else np.int64
        agreeing, agreeing_given = (
            np.asarray(np.cumsum(small[order] == small[:, None], axis=1, dtype=counter))
            for order in (self.order, self.order_given)
        )
        estimates = []
        for k in neighbours:
            # Where the running count reaches k + 1, the row itself included.
            position = np.count_nonzero(agreeing < k + 1, axis=1)
            rows = np.flatnonzero(position < n)
            together = self.within[rows, position[rows]]
            rows, together = rows[together > 0], together[together > 0]
            given = self.within_given[rows, position[rows]]
            terms = (
                self.psi[agreeing[rows, together - 1] - 1]
                - self.psi[together - 1]
                - self.psi[agreeing_given[rows, given - 1] - 1]
                + self.psi[given - 1]
            )
            estimates.append(float(terms.sum() / n))
        return estimates


def policy_neighbours(continuous: Floats, stratum: Codes, share: Floats) -> PolicyNeighbours:
    """Sort the neighbours of every row.

    Parameters
    ----------
    continuous, stratum, share : ndarray
        See `policy_information`.

    Returns
    -------
    PolicyNeighbours
        Rows by distance.
    """
    n = len(share)
    given = np.where(stratum[:, None] == stratum[None, :], 0, RESOLUTION)
    for column in as_levels(continuous).T:
        np.maximum(given, np.abs(column[:, None] - column[None, :]), out=given)
    joint = given.copy()
    for column in as_levels(share).T:
        np.maximum(joint, np.abs(column[:, None] - column[None, :]), out=joint)
    order, order_given = (np.argsort(each, axis=1, kind="stable") for each in (joint, given))
    ranked, ranked_given = np.sort(joint, axis=1), np.sort(given, axis=1)
    within, within_given = np.zeros((2, n, n), dtype=np.int32)
    for row in range(n):
        near = ranked[row] < RESOLUTION
        for counts, distances in ((within, ranked[row]), (within_given, ranked_given[row])):
            counts[row, near] = np.searchsorted(distances, ranked[row, near], side="right")
    return PolicyNeighbours(
        order.astype(np.int32),
        order_given.astype(np.int32),
        within,
        within_given,
        digamma_table(n),
    )
