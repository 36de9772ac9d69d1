"""Beliefs on a grid, and nearest-neighbour information between action and truth given them.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm
1): distances combine by their maximum, actions and states are at distance 0 or 1, and every point
within the distance of the k-th neighbour counts. A row whose k-th neighbour lies at distance 1 sees
the same neighbours in every subspace and contributes 0. No assumption is made here; rows are
points.
"""

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.spatial import cKDTree
from scipy.special import digamma

from coherence.inputs import Codes, Floats

RESOLUTION = 10**9  # beliefs closer than 1e-9 are the same belief: .15 and .05 + .1 must tie


def as_levels(belief: Floats) -> Codes:
    """Return beliefs as integers on a grid of 1e-9, on which equal distances are exactly equal."""
    return np.rint(belief * RESOLUTION).astype(np.int64)


def belief_bins(belief: Floats, n_bins: int) -> Codes:
    """Cut beliefs into quantile bins, fewer where ties make quantiles coincide."""
    levels = as_levels(belief)
    ranked, n_bins = np.sort(levels), min(n_bins, levels.size)  # no more bins than rows
    # Inner quantiles, rounded up in whole numbers: .6 * 100 would land a row too far.
    last_in_bin = -(-levels.size * np.arange(1, n_bins) // n_bins) - 1
    edges = np.unique(ranked[last_in_bin])
    return np.unique(np.searchsorted(edges, levels, side="left"), return_inverse=True)[1]


def nearest_information(belief: Floats, action: Codes, truth: Codes, k: int) -> float:
    """Estimate I(action; truth | belief) in nats; beliefs have shape (n,) or (n, n_states)."""
    points, n = as_levels(belief.reshape(len(belief), -1)), len(belief)
    cell, radius = action * (int(truth.max()) + 1) + truth, np.full(n, RESOLUTION)
    for code in np.unique(cell):
        # Neighbours in the joint space share action and truth; others are at distance 1 or more.
        rows = np.flatnonzero(cell == code)
        if rows.size > k:
            radius[rows] = np.minimum(_neighbour_distance(points[rows], k), RESOLUTION)
    near, psi = radius < RESOLUTION, digamma(np.arange(n + 1.0))

    def counted(codes: Codes) -> float:
        """Sum digamma over how many others of each row's code lie within its radius."""
        total = 0.0
        for code in np.unique(codes[near]):
            alike = codes == code
            rows = near & alike
            total += float(psi[_within(points[alike], points[rows], radius[rows])].sum())
        return total

    # Mesner and Shalizi (2021), algorithm 1: psi(k) - psi(n_az) - psi(n_tz) + psi(n_z), where ties
    # may make the first count larger than k.
    alone = counted(np.zeros(n, dtype=np.int64))
    return (counted(cell) - counted(action) - counted(truth) + alone) / n


def _neighbour_distance(points: Codes, k: int) -> Codes:
    """Return the distance of each of more than k points to its k-th nearest neighbour."""
    if points.shape[1] > 1:
        # The point itself is its nearest neighbour, at distance 0.
        distance = np.asarray(cKDTree(points).query(points, k=[k + 1], p=np.inf)[0])
        return np.asarray(np.rint(distance[:, 0]), dtype=np.int64)
    order = np.argsort(points[:, 0], kind="stable")
    line, place = points[order, 0], np.arange(len(points))
    nearest = np.full(len(points), np.iinfo(np.int64).max)
    for left in range(k + 1):  # of the k + 1 neighbours in a row that hold the point
        held = slice(left, len(points) - k + left)
        reach = np.maximum(
            line[held] - line[place[held] - left], line[place[held] + k - left] - line[held]
        )
        nearest[held] = np.minimum(nearest[held], reach)
    distance = np.empty_like(nearest)
    distance[order] = nearest
    return distance


def _within(among: Codes, points: Codes, radius: Codes) -> Codes:
    """Count for each of some points how many others lie within its radius."""
    if among.shape[1] > 1:
        # Coordinates are whole numbers: half a step more holds exactly those that tie.
        tree = cKDTree(among)
        held = tree.query_ball_point(points, radius + 0.5, p=np.inf, return_length=True)
        return np.asarray(held, dtype=np.int64) - 1
    line, points = np.sort(among[:, 0]), points[:, 0]
    above = np.searchsorted(line, points + radius, side="right")
    return np.asarray(above - np.searchsorted(line, points - radius) - 1)


def calibrated(belief: Floats, truth: Codes) -> Floats:
    """Replace beliefs by the isotonic regression of the second state on them, shape (n,)."""
    # Equal beliefs are pooled first; scipy's regression would order them as they happen to come.
    _, level, counts = np.unique(as_levels(belief), return_inverse=True, return_counts=True)
    share = np.bincount(level, weights=(truth == 1).astype(np.float64)) / counts
    return np.asarray(isotonic_regression(share, weights=counts).x, dtype=np.float64)[level]
