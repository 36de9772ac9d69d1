"""Fully grown regression trees (CART: Breiman, Friedman, Olshen and Stone 1984), many at a time.

The trees of scikit-learn's DecisionTreeRegressor with its default options: squared error, every
feature tried at every node, grown until all targets in a leaf are equal or its rows cannot be told
apart. All nodes of a depth are split together, in all trees of a batch, so that each step is a few
operations on long arrays.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats

SAME_VALUE = np.float32(1e-7)  # neighbouring values of a feature that differ by less are not parted
NO_VARIANCE = float(np.finfo(np.float64).eps)  # nodes with no more of it are leaves
TIE = 1e-9  # gains that differ by less of themselves are drawn from
LEAST = 1e-20  # what a split without any gain counts as: two of those may make a third that helps
BATCH_ROWS = 20_000  # of training in all trees that are grown together

Rows = NDArray[np.intp]


def held_out_predictions(
    features: NDArray[np.float32], target: Floats, parts: Codes, rng: np.random.Generator
) -> Floats:
    """Predict each part of the rows by a tree that is grown on all other parts.

    Parameters
    ----------
    features : ndarray of float32, shape (n, n_features)
        NaN where missing.
    target : ndarray, shape (n,)
        Finite, of the order of 1.
    parts : ndarray of int, shape (n_rounds, n)
        Part of each row, in as many rounds; at least two parts occur in each.
    rng : Generator
        Breaks ties.

    Returns
    -------
    ndarray, shape (n_rounds, n)
        Mean target of the leaf that each row falls into.

    Notes
    -----
    A threshold lies half-way between neighbouring values of the rows of a node. Missing values go
    to the side where they gain more, to the right where both are equal; where none was missing in
    training, to the side with more rows.

    Of splits that gain equally (by any features, at any thresholds) each node takes one at random,
    so that trees grown on the same rows may differ and their mean favours none. Ties are no rarity:
    the last two rows of a node are parted equally well by all features in which they differ.

    Features are compared as 32-bit floats. Values that differ by no more than 1e-7 from the next
    are not parted, and nodes whose targets have a variance of at most 2.2e-16 are leaves.
    """
    columns = _columns(features)
    n_rounds, n = parts.shape
    n_parts = int(parts.max()) + 1
    predicted = np.empty((n_rounds, n))
    together = max(1, BATCH_ROWS // (n * max(n_parts - 1, 1)))
    for first in range(0, n_rounds, together):
        chosen = parts[first : first + together]
        predicted[first : first + together] = _Batch(columns, target, chosen, n_parts).grow(rng)
    return predicted


class _Columns(NamedTuple):
    """Features as trees see them; one with missing values stands there twice.

    First with the missing ones above all others, then with them below: to send them right or left
    is then a split like any other.
    """

    values: NDArray[np.float32]  # (n_columns, n)
    order: Rows  # (n_columns, n): rows by ascending value
    level: NDArray[np.int32]  # (n_columns, n): equal where values are not parted
    tied: NDArray[np.bool_]  # (n_columns,): whether any are
    missing: NDArray[np.int8]  # (n_columns,): 1 with missing values above, -1 below, 0 without


def _columns(features: NDArray[np.float32]) -> _Columns:
    by_column = np.ascontiguousarray(features.T)
    absent = np.isnan(by_column)
    some = np.asarray(absent.any(axis=1))
    repeated = np.repeat(np.arange(len(by_column)), 1 + some)
    missing = some[repeated].astype(np.int8)
    missing[1:][repeated[1:] == repeated[:-1]] = -1
    instead = np.where(missing < 0, -np.inf, np.inf).astype(np.float32)
    values = np.where(absent[repeated], instead[:, None], by_column[repeated])
    order = np.argsort(values, axis=1, kind="stable")
    ascending = np.take_along_axis(values, order, axis=1)
    steps = ascending[:, 1:] > ascending[:, :-1] + SAME_VALUE
    tied = np.asarray(~steps.all(axis=1))
    level = np.zeros(values.shape, dtype=np.int32)
    np.put_along_axis(level, order[:, 1:], steps.cumsum(axis=1, dtype=np.int32), axis=1)
    return _Columns(values, order, level, tied, missing)


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one depth, and the rows in them: one after the other, in the order of the nodes."""

    rows: Rows  # (n_columns, n_training): those of a node by ascending value of the column
    sizes: Codes
    mean: Floats
    waiting: Rows  # rows to be predicted
    at: Codes  # and their nodes


class _Splits(NamedTuple):
    """The best split of each node."""

    divides: NDArray[np.bool_]  # False where the rows of a node cannot be told apart
    column: Codes
    threshold: Floats
    rows: Rows  # of all nodes, in the order of the column that splits theirs
    child: Codes  # of these rows: nodes on the left first, then those on the right


class _Batch:
    """All trees of a few rounds; their rows are numbered by tree, then by row."""

    def __init__(self, columns: _Columns, target: Floats, parts: Codes, n_parts: int) -> None:
        self.columns, self.n, self.n_parts = columns, len(target), n_parts
        self.held = (parts[:, None, :] == np.arange(n_parts)[:, None]).reshape(-1, self.n)
        n_trees = len(self.held)
        self.target = np.tile(target, n_trees)
        self.level = [
            np.tile(level, n_trees) if tied else None
            for level, tied in zip(columns.level, columns.tied, strict=True)
        ]
        # Scratch, written anew for the rows that are still in nodes.
        self.residual, self.side = np.empty(self.held.size), np.empty(self.held.size, np.int8)

    def grow(self, rng: np.random.Generator) -> Floats:
        """Grow all trees and predict the rows that each has not seen, shape (n_rounds, n)."""
        predicted = np.empty(self.held.size)
        nodes = self._roots()
        while nodes.sizes.size:
            nodes = self._children(nodes, self._split(nodes, rng), predicted)
        # One tree of a round holds a row out.
        by_tree = np.where(self.held, predicted.reshape(self.held.shape), 0.0)
        by_round: Floats = by_tree.reshape(-1, self.n_parts, self.n).sum(axis=1)
        return by_round

    def _roots(self) -> _Nodes:
        tree, row = np.nonzero(self.held)
        offset = np.arange(len(self.held))[:, None] * self.n
        rows = np.stack([(order + offset)[~self.held[:, order]] for order in self.columns.order])
        sizes = self.n - self.held.sum(axis=1)
        node = np.repeat(np.arange(len(sizes)), sizes)
        mean = np.bincount(node, weights=self.target[rows[0]]) / sizes
        return _Nodes(rows, sizes, mean, tree * self.n + row, tree)

    def _split(self, nodes: _Nodes, rng: np.random.Generator) -> _Splits:
        sizes, n_nodes, (n_columns, n_rows) = nodes.sizes, len(nodes.sizes), nodes.rows.shape
        position, node = np.arange(n_rows), np.repeat(np.arange(n_nodes), sizes)
        starts, ends = sizes.cumsum() - sizes, sizes.cumsum() - 1
        self.residual[nodes.rows[0]] = self.target[nodes.rows[0]] - nodes.mean[node]
        # A cut of n rows behind the first m lowers the sum of squares by the square of the sum of
        # their residuals, times n / m (n - m). Residuals of a node sum to 0, so that sums may run
        # on from node to node.
        behind = position - starts[node] + 1
        ahead = sizes[node] - behind
        ahead[ends] = 1
        weight = sizes[node] / (behind * ahead) * (1 + TIE * rng.random(n_rows))
        weight[ends] = 0.0  # no cut behind the last row
        gains, best = np.empty((n_columns, n_rows)), np.empty((n_columns, n_nodes))
        for rows, level, gain, most in zip(nodes.rows, self.level, gains, best, strict=True):
            self.residual.take(rows, out=gain, mode="clip").cumsum(out=gain)
            gain *= gain
            gain += LEAST
            gain *= weight
            if level is not None:
                levels = level.take(rows, mode="clip")
                np.copyto(gain[:-1], 0.0, where=levels[1:] == levels[:-1])
            np.maximum.reduceat(gain, starts, out=most)
        # A feature stands for itself once: missing values go right unless left gains more.
        below = np.flatnonzero(self.columns.missing < 0)
        gains_more = best[below] > (1 + 3 * TIE) * best[below - 1]
        best[below] *= gains_more
        best[below - 1] *= ~gains_more
        column = (best * (1 + TIE * rng.random(best.shape))).argmax(axis=0)
        gain = best[column, np.arange(n_nodes)]
        hits = np.flatnonzero(gains[column[node], position] == gain[node])
        cut = hits[np.searchsorted(hits, starts)]
        child = node + n_nodes * (position > cut[node])
        rows = nodes.rows[column[node], position]
        return _Splits(gain > 0, *self._thresholds(nodes, column, (starts, cut, ends)), rows, child)

    def _thresholds(
        self, nodes: _Nodes, column: Codes, positions: tuple[Codes, Codes, Codes]
    ) -> tuple[Codes, Floats]:
        """Return columns that send missing values where each node has them go, and thresholds."""
        starts, cut, ends = positions
        first, low, high, last = (
            self.columns.values[column, nodes.rows[column, at] % self.n].astype(np.float64)
            for at in (starts, cut, np.minimum(cut + 1, ends), ends)
        )
        missing = self.columns.missing[column]
        # Missing values alone on the right: whatever is not missing goes to the left.
        outer = np.where((missing > 0) & (high == np.inf), np.finfo(np.float32).max, low)
        between = np.isfinite(low) & np.isfinite(high)
        threshold = np.where(between, low / 2 + np.where(between, high, 0.0) / 2, outer)
        complete = (missing != 0) & np.isfinite(first) & np.isfinite(last)
        more_left = cut - starts + 1 > ends - cut
        # The column with missing values below all others comes after that with them above.
        return np.where(complete, column - (missing < 0) + more_left, column), threshold

    def _children(self, nodes: _Nodes, splits: _Splits, predicted: Floats) -> _Nodes:
        """Predict what waits in leaves, and return the nodes that are to be split further."""
        rows, child, n_nodes = splits.rows, splits.child, len(nodes.sizes)
        target, n_children = self.target[rows], 2 * n_nodes
        sizes = np.bincount(child, minlength=n_children)
        mean = np.bincount(child, target, n_children) / sizes.clip(1)
        variance = np.bincount(child, (target - mean[child]) ** 2, n_children) / sizes.clip(1)
        grows = np.tile(splits.divides, 2) & (variance > NO_VARIANCE)
        self.side[rows] = np.where(grows[child], 1 + (child >= n_nodes), 0)
        n_left = int(sizes[:n_nodes][grows[:n_nodes]].sum())
        kept = np.empty((len(nodes.rows), int(sizes[grows].sum())), dtype=np.intp)
        for column, into in zip(nodes.rows, kept, strict=True):
            side = self.side.take(column, mode="clip")
            column.take(np.flatnonzero(side == 1), out=into[:n_left], mode="clip")
            column.take(np.flatnonzero(side == 2), out=into[n_left:], mode="clip")

        waiting, at = nodes.waiting, nodes.at
        values = self.columns.values[splits.column[at], waiting % self.n]
        to = at + n_nodes * (values > splits.threshold[at])
        predicted[waiting] = np.where(splits.divides[at], mean[to], nodes.mean[at])
        waits = grows[to]
        number = grows.cumsum() - 1
        return _Nodes(kept, sizes[grows], mean[grows], waiting[waits], number[to[waits]])
