"""Nearest-neighbour conditional mutual information for mixed data.

The estimator of Mesner and Shalizi (2021, IEEE Transactions on Information Theory 67(1), algorithm
1): distances combine by their maximum, discrete columns are at distance 0 or 1, and every point
within the distance of the k-th neighbour counts. A row whose k-th neighbour lies at distance 1 sees
the same neighbours in every subspace and contributes 0. Given one belief, rows are sorted; given
several columns, or policies in the place of actions, k-d trees find neighbours. For permutations of
states, what does not depend on them is computed once: windows of belief in `LevelCounts`, orders of
neighbours in `PairTable`. No assumption is made here; rows are points.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.special import digamma

from coherence.inputs import Codes, Floats

Flags = NDArray[np.bool_]

RESOLUTION = 10**9  # beliefs closer than 1e-9 are the same belief: .15 and .05 + .1 must tie
# Coordinates are whole numbers: a radius half a step larger holds exactly the points that tie or
# are nearer.
HALF_STEP = 0.5
SPREAD = 4.0  # standard deviations of a number that weigh as much as the whole range of a belief
MOST_LEVELS = 1_000  # distinct beliefs that permutations tell apart
COUNTS_HELD = 2_000_000  # numbers of a batch of arrangements


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
        """Estimate the information with several numbers of neighbours."""
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


def sorted_information(belief: Floats, action: Codes, truth: Codes, k: int) -> float:
    """Estimate I(action; truth | belief) in nats, for beliefs in any order, shape (n,)."""
    levels = as_levels(belief)
    order = np.argsort(levels, kind="stable")
    return SortedNeighbours(levels[order], action[order]).information(truth[order], (k,))[0]


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


class LevelCounts:
    """Estimates of I(action; truth | belief) for many arrangements of the states at once.

    Rows that agree in belief, action and state have equal terms, so that counts are all that a
    permutation changes: those of each action and state within windows about each belief.

    Parameters
    ----------
    belief : ndarray, shape (n,)
        One belief per row; more than a thousand distinct ones are taken to steps of .001.
    action, context : ndarray of int, shape (n,)
        Codes; states are those of contexts.
    copies : ndarray of int, shape (n,)
        Rows that each row stands for.
    n_states : int
        Number of states.
    """

    def __init__(
        self, belief: Floats, action: Codes, context: Codes, copies: Codes, n_states: int
    ) -> None:
        levels = as_levels(belief)
        if np.unique(levels).size > MOST_LEVELS:
            step = RESOLUTION // MOST_LEVELS
            levels = np.rint(levels / step).astype(np.int64) * step
        values, level_of = np.unique(levels, return_inverse=True)
        n_levels, self._n_actions = values.size, int(action.max()) + 1
        self._n_states, self._n_rows = n_states, int(copies.sum())
        cells = action * n_levels + level_of
        shape = self._n_actions * n_levels, int(context.max()) + 1
        self._rows_of = csr_array((copies.astype(np.float64), (cells, context)), shape=shape)
        # Window j about a level reaches as far as its j-th nearest level.
        radius = np.sort(np.abs(values[:, None] - values), axis=1)
        self._n_windows = (radius < RESOLUTION).sum(axis=1)
        self._first = np.searchsorted(values, values[:, None] - radius, side="left")
        self._stop = np.searchsorted(values, values[:, None] + radius, side="right")
        self._psi = digamma_table(self._n_rows)
        counts = np.bincount(cells, weights=copies, minlength=shape[0]).reshape(
            self._n_actions, n_levels
        )
        sums = np.concatenate([np.zeros((self._n_actions, 1)), counts.cumsum(axis=1)], axis=1)
        # What all rows, and all rows of an action, add to the term of each window.
        within = sums[:, self._stop] - sums[:, self._first]
        psi = self._psi[np.maximum(within - 1, 0).astype(np.int64)]
        every = self._psi[np.maximum(within.sum(axis=0) - 1, 0).astype(np.int64)]
        self._fixed = every - psi

    def information(self, states: Codes, neighbours: Sequence[int]) -> Floats:
        """Estimate with several numbers of neighbours, shape (n_arrangements, n_neighbours).

        `states` has a row for each arrangement and a column for each context.
        """
        n_levels = len(self._first)
        batch = max(1, COUNTS_HELD // (n_levels * self._n_actions * self._n_states))
        return np.concatenate(
            [
                self._of_batch(states[start : start + batch], neighbours)
                for start in range(0, len(states), batch)
            ]
        )

    def _of_batch(self, states: Codes, neighbours: Sequence[int]) -> Floats:
        n, n_levels = len(states), len(self._first)
        estimates = np.zeros((n, len(neighbours)))
        for state in range(self._n_states):
            held = self._rows_of @ (states == state).T.astype(np.float64)
            counts = held.astype(np.int32).reshape(self._n_actions, n_levels, n)
            sums = np.zeros((self._n_actions, n_levels + 1, n), dtype=np.int32)
            np.cumsum(counts, axis=1, out=sums[:, 1:])
            of_state = sums.sum(axis=0, dtype=np.int32)
            flat_state = of_state.ravel()
            for action in range(self._n_actions):
                flat = sums[action].ravel()
                level, number = np.nonzero(counts[action])
                rows = counts[action][level, number]
                for at, k in enumerate(neighbours):
                    window = self._window(flat, n, level, number, k)
                    near = window < self._n_windows[level]
                    j, level_near, of = window[near], level[near], number[near]
                    first = self._first[level_near, j] * n + of
                    stop = self._stop[level_near, j] * n + of
                    joint = flat.take(stop) - flat.take(first)
                    truth = flat_state.take(stop) - flat_state.take(first)
                    terms = self._psi.take(joint - 1) - self._psi.take(truth - 1)
                    terms += self._fixed[action, level_near, j]
                    estimates[:, at] += np.bincount(of, weights=rows[near] * terms, minlength=n)
        return estimates / self._n_rows

    def _window(
        self, flat: NDArray[np.int32], n: int, level: Codes, number: Codes, k: int
    ) -> Codes:
        """Find the first window that holds k other rows of the cell; as many as levels if none."""
        n_levels = len(self._first)
        begins, ends = self._first.ravel(), self._stop.ravel()
        row = level * n_levels
        low = np.zeros(level.size, dtype=np.int64)
        high = np.full(level.size, n_levels)
        for _ in range(n_levels.bit_length()):
            middle = (low + high) >> 1
            at = row + np.minimum(middle, n_levels - 1)
            inside = flat.take(ends.take(at) * n + number) - flat.take(begins.take(at) * n + number)
            # Where the search has ended, low and high agree and stay.
            enough = inside > k
            high = np.where(enough, middle, high)
            low = np.where(enough | (middle >= n_levels), low, middle + 1)
        return np.minimum(low, n_levels)


class PairTable:
    """Estimates given several columns, or of policies, for many arrangements of the states.

    Time and memory grow with the square of the number of items.

    Parameters
    ----------
    continuous : ndarray, shape (n_items, n_columns)
        Conditioning columns.
    stratum : ndarray of int, shape (n_items,)
        Combination of discrete conditioning values.
    chosen : ndarray of int, shape (n_items,), or ndarray, shape (n_items, n_actions)
        Codes of actions, or scaled policies.
    context, rows : ndarray of int, shape (n_items,)
        Context of each item, and rows that it stands for.
    """

    def __init__(
        self,
        continuous: Floats,
        stratum: Codes,
        chosen: Codes | Floats,
        context: Codes,
        rows: Codes,
    ) -> None:
        given = np.where(stratum[:, None] == stratum, 0, RESOLUTION)
        for column in as_levels(continuous).T:
            np.maximum(given, np.abs(column[:, None] - column), out=given)
        if chosen.ndim == 1:
            joint = np.where(chosen[:, None] == chosen, given, RESOLUTION)
        else:
            joint = given.copy()
            for column in as_levels(np.asarray(chosen, dtype=np.float64)).T:
                np.maximum(joint, np.abs(column[:, None] - column), out=joint)
        self._context, self._rows, n = context, rows, len(rows)
        # What lies at distance 1 is never counted.
        orders = [
            np.argsort(each, axis=1, kind="stable")[:, : int((each < RESOLUTION).sum(axis=1).max())]
            for each in (joint, given)
        ]
        self._order, self._order_given = (order.astype(np.int32) for order in orders)
        ranked, ranked_given = np.sort(joint, axis=1), np.sort(given, axis=1)
        # Items, the item itself included, that lie no further away than the one at each position.
        self._within, self._within_given = np.zeros((2, n, n), dtype=np.int32)
        for item in range(n):
            near = ranked[item] < RESOLUTION
            for counts, distances in (
                (self._within, ranked[item]),
                (self._within_given, ranked_given[item]),
            ):
                counts[item, near] = np.searchsorted(distances, ranked[item, near], side="right")
        self._psi = digamma_table(int(rows.sum()))
        self._all = rows[self._order].cumsum(axis=1)
        self._all_given = rows[self._order_given].cumsum(axis=1)

    def information(self, states: Codes, neighbours: Sequence[int]) -> Floats:
        """Estimate with several numbers of neighbours, shape (n_arrangements, n_neighbours)."""
        return np.array([self._of_one(each[self._context], neighbours) for each in states])

    def _of_one(self, state: Codes, neighbours: Sequence[int]) -> list[float]:
        small, rows = state.astype(np.int16), self._rows.astype(np.int32)
        agreeing, agreeing_given = (
            np.cumsum((small[order] == small[:, None]) * rows[order], axis=1, dtype=np.int32)
            for order in (self._order, self._order_given)
        )
        estimates = []
        for k in neighbours:
            # Where the running count reaches k + 1, the row itself included.
            position = np.count_nonzero(agreeing < k + 1, axis=1)
            items = np.flatnonzero(position < agreeing.shape[1])
            together = self._within[items, position[items]]
            items, together = items[together > 0], together[together > 0]
            given = self._within_given[items, position[items]]
            terms = (
                self._psi[agreeing[items, together - 1] - 1]
                - self._psi[self._all[items, together - 1] - 1]
                - self._psi[agreeing_given[items, given - 1] - 1]
                + self._psi[self._all_given[items, given - 1] - 1]
            )
            estimates.append(float((terms * self._rows[items]).sum() / self._rows.sum()))
        return estimates
