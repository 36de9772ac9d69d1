"""Nearest-neighbour conditional mutual information for mixed data.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm
1): distances combine by their maximum, discrete columns are at distance 0 or 1, and every point
within the distance of the k-th neighbour counts. A row whose k-th neighbour lies at distance 1 sees
the same neighbours in every subspace and contributes 0. Given one belief, rows are sorted; given
several columns, or policies in the place of actions, k-d trees find neighbours. No assumption is
made here; rows are points.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.spatial import cKDTree
from scipy.special import digamma

from coherence.inputs import Codes, Floats

Flags = NDArray[np.bool_]

RESOLUTION = 10**9  # beliefs closer than 1e-9 are the same belief: .15 and .05 + .1 must tie
# Coordinates are whole numbers: a radius half a step larger holds exactly the points that tie or
# are nearer.
HALF_STEP = 0.5
SPREAD = 4.0  # standard deviations of a number that weigh as much as the whole range of a belief


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


def sorted_information(belief: Floats, action: Codes, truth: Codes, k: int) -> float:
    """Estimate I(action; truth | belief) in nats, for beliefs in any order, shape (n,)."""
    levels = as_levels(belief)
    order = np.argsort(levels, kind="stable")
    levels, action, truth = levels[order], action[order], truth[order]
    n_states, width = int(truth.max()) + 1, levels.size + 1
    cell = action * n_states + truth
    # Few cells: one byte each, which numpy sorts by counting.
    by_cell = np.argsort(cell.astype(np.uint8) if cell.max() < 256 else cell, kind="stable")
    edges = np.concatenate(([0], np.cumsum(np.bincount(cell))))
    grouped, in_order = levels[by_cell], cell[by_cell]
    # Rows that agree in belief, action and truth have equal terms: one of each run of them is
    # computed and counted as often.
    changed = (grouped[1:] != grouped[:-1]) | (in_order[1:] != in_order[:-1])
    first = np.flatnonzero(np.concatenate(([True], changed)))
    copies, of_run = np.diff(first, append=levels.size), in_order[first]
    distance = _neighbour_distance(grouped, first, edges[of_run], edges[of_run + 1], k)
    start = np.searchsorted(levels, grouped[first] - distance, side="left")
    stop = np.searchsorted(levels, grouped[first] + distance, side="right")

    def within(codes: Codes, of_each: Codes) -> Codes:
        counts = _running_counts(codes, int(codes.max()) + 1)
        held: Codes = counts[of_each * width + stop] - counts[of_each * width + start]
        return held - 1

    psi = digamma_table(levels.size)
    # Mesner and Shalizi (2021), algorithm 1: psi(k) - psi(n_az) - psi(n_tz) + psi(n_z), where ties
    # may make the first count larger than k.
    terms = (
        psi[within(cell, of_run)]
        - psi[within(action, of_run // n_states)]
        - psi[within(truth, of_run % n_states)]
        + psi[stop - start - 1]
    )
    # At distance 1 every row is a neighbour in every subspace and the term is 0.
    return float((copies * np.where(distance < RESOLUTION, terms, 0.0)).sum() / levels.size)


def calibrated(belief: Floats, truth: Codes) -> Floats:
    """Replace beliefs by the isotonic regression of the second state on them, shape (n,)."""
    # Equal beliefs are pooled first; scipy's regression would order them as they happen to come.
    _, level, counts = np.unique(as_levels(belief), return_inverse=True, return_counts=True)
    share = np.bincount(level, weights=(truth == 1).astype(np.float64)) / counts
    return np.asarray(isotonic_regression(share, weights=counts).x, dtype=np.float64)[level]


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
    """Estimate I(action; truth | continuous, stratum) in nats."""
    points = as_levels(continuous).astype(np.float64)
    psi = digamma_table(len(points))
    total = 0.0
    for code in np.unique(stratum):
        rows = stratum == code
        total += _stratum_sum(points[rows], action[rows], truth[rows], k, psi)
    return total / len(points)


def scaled_policies(share: Floats) -> Floats:
    """Give every action's probability the spread of a belief, shape (n, n_actions).

    Four standard deviations become 1, as those of numeric features do. A model that hardly leaves
    one half would otherwise show nothing: every difference in its policy would be smaller than
    those in belief, of which the larger counts.
    """
    spread = share.std(axis=0)
    moving = spread > 1e-12
    scaled = (share - share.mean(axis=0)) / (SPREAD * np.where(moving, spread, 1.0))
    return np.where(moving, scaled, 0.0)


def policy_information(
    continuous: Floats, stratum: Codes, share: Floats, truth: Codes, k: int
) -> float:
    """Estimate I(policy; truth | continuous, stratum) in nats, by k-d trees."""
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

    def counted(points: Floats, among: Flags, rows: Flags) -> float:
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
