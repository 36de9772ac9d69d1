"""Boosted trees that predict the action out of fold: the learner of `predictive_gain_test`.

Depth and iterations with which a fold is predicted are chosen by the losses on the other folds.
"""

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.cells import bins, cells_of
from coherence.statistics.choices import ChoiceData
from coherence.statistics.learners import LearnerInputs, expected_losses, mixed_losses
from coherence.statistics.level_shares import N_PARTS, level_shares
from coherence.statistics.oblivious_trees import Columns, ObliviousTrees
from coherence.statistics.resample import context_folds

MAX_ITERATIONS = 1000
# Probabilities without noise can be followed ever more closely, and nothing would stop the trees.
POLICY_ITERATIONS = 200
FIRST_ITERATIONS = 32  # grown at first, and on to this factor while the losses still fall
LONGER = 1.5
PATIENCE = 10  # iterations without improvement on other folds that end the search
# What counts as an improvement: a share of the first loss, and in large tables nats over all rows.
# Without it trees follow choices that beliefs settle ever more closely, and two models that say the
# same stop at different iterations.
FALL_SHARE = 1e-4
FALL_NATS = 0.1
DEPTHS = (1, 4)  # stumps for weak additive signals, deeper trees for interactions
SIDE_BY_SIDE = 1 << 21  # weights of fits that are grown together; more gain nothing


@dataclass(frozen=True)
class _Group:
    """Folds whose training rows hold the same actions, and the trees fitted to all but each."""

    folds: Codes
    actions: Codes
    columns: Columns
    train: Floats
    judged: Floats
    trees: dict[int, ObliviousTrees] = field(default_factory=dict)
    paths: dict[int, list[Floats]] = field(default_factory=dict)

    def path(self, depth: int, iterations: int) -> Floats:
        """Total loss on the folds left out after each iteration, shape (n_folds, iterations)."""
        if depth not in self.trees:
            self.trees[depth] = ObliviousTrees(self.columns, self.train, depth)
        trees, path = self.trees[depth], self.paths.setdefault(depth, [])
        while len(path) < iterations:
            trees.grow()
            path.append(-(self.judged * trees.log_chances).sum(axis=(0, 2)))
        return np.stack(path[:iterations], axis=1)

    def predicted(self, constants: list[tuple[int, int]]) -> Floats:
        """Probabilities of the group's actions, shape (n_actions, n_folds, n_cells)."""
        own = [constants[fold] for fold in self.folds]
        found = np.empty(self.train.shape)
        for depth in {depth for depth, _ in own}:
            chosen = np.array([taken == depth for taken, _ in own])
            iterations = np.array([n if taken == depth else 0 for taken, n in own])
            found[:, chosen] = self.trees[depth].predicted(iterations)[:, chosen]
        return found


class FoldTrees:
    """Trees fitted to all folds but each one, and what they lose on that one as they grow.

    Parameters
    ----------
    columns : Columns
        What the trees see of each cell, in each fold.
    weights : ndarray, shape (n_actions, n_folds, n_cells)
        Weight of each action in each cell, by the fold that its context is in.
    """

    def __init__(self, columns: Columns, weights: Floats) -> None:
        self.n_actions, self.n_folds, self.n_cells = weights.shape
        # Summed and not subtracted, so that nothing is left where no other fold has anything.
        train = np.stack(
            [np.delete(weights, fold, axis=1).sum(axis=1) for fold in range(self.n_folds)], axis=1
        )
        self._shares: Floats = train.sum(axis=2) / train.sum(axis=(0, 2))
        seen = (self._shares > 0).T
        learns = [
            bool(seen[fold].sum() > 1) and _varies(columns, fold, train[:, fold])
            for fold in range(self.n_folds)
        ]
        together = max(1, SIDE_BY_SIDE // (self.n_cells * self.n_actions))
        self._groups = []
        for kind in np.unique(seen[learns], axis=0):
            alike = np.flatnonzero((seen == kind).all(axis=1) & learns)
            for start in range(0, alike.size, together):
                folds, actions = alike[start : start + together], np.flatnonzero(kind)
                own = columns.codes[folds] if columns.codes.shape[0] > 1 else columns.codes
                # An action that training lacks costs all models the same: it judges none.
                cut = np.ix_(actions, folds)
                group = _Group(
                    folds, actions, Columns(own, columns.spelled), train[cut], weights[cut]
                )
                self._groups.append(group)

    def path(self, depth: int, iterations: int) -> Floats:
        """Total loss on each fold left out after each iteration, shape (n_folds, iterations)."""
        path = np.zeros((self.n_folds, iterations))
        for group in self._groups:
            path[group.folds] = group.path(depth, iterations)
        return path

    def predicted(self, constants: list[tuple[int, int]]) -> Floats:
        """Probabilities of actions, shape (n_actions, n_folds, n_cells).

        `constants` holds each fold's depth and iterations, which a path has reached before.
        """
        predicted = np.repeat(self._shares[..., None], self.n_cells, axis=2)
        for group in self._groups:
            predicted[:, group.folds] = 0.0
            predicted[np.ix_(group.actions, group.folds)] = group.predicted(constants)
        return predicted


def _varies(columns: Columns, fold: int, weights: Floats) -> bool:
    codes = columns.codes[fold if columns.codes.shape[0] > 1 else 0]
    seen = codes[weights.any(axis=0)]
    return bool((seen != seen[0]).any())


class TreeCrossFit:
    """Boosted trees of one design, judged out of fold.

    For every fold trees are fitted to the others, and their loss on it is followed as they grow.
    The depth and the number of iterations with which a fold is predicted are those that have lost
    least on all other folds, so that no loss of a context has a say in the constants of the model
    that it judges; but for the depth of later repetitions, which is that of the first.

    Parameters
    ----------
    design : LearnerInputs
        What the model sees, row by row.
    data : ChoiceData
        Actions or policies, and contexts.
    """

    def __init__(self, design: LearnerInputs, data: ChoiceData) -> None:
        self.data, self.cells = data, cells_of(design)
        n_actions = len(data.actions)
        self._chosen = np.eye(n_actions)[data.action] if data.policy is None else data.policy
        self._depths: tuple[int, ...] = DEPTHS
        self._grown: dict[int, int] = {}

    def losses(self, n_folds: int, repetition: int) -> Floats:
        """Out-of-fold log-loss of each row in nats, shape (n,); of policies, expected.

        Folds depend on the order of contexts and on the number of the repetition alone. The first
        call chooses a depth for each fold; later ones keep the depth that most folds had.
        """
        data, cell = self.data, self.cells.of_row
        rng = np.random.default_rng(repetition)
        folds = context_folds(data.context, data.n_contexts, n_folds, rng)
        n_folds, n_cells = int(folds.max()) + 1, len(self.cells.codes)
        place, n_places = folds * n_cells + cell, n_folds * n_cells
        weights: Floats = np.array(
            [np.bincount(place, weights=chosen, minlength=n_places) for chosen in self._chosen.T],
            dtype=np.float64,
        ).reshape(len(data.actions), n_folds, n_cells)
        fits = FoldTrees(self._columns(folds, repetition), weights)
        limit = MAX_ITERATIONS if data.policy is None else POLICY_ITERATIONS
        constants = chosen_constants(fits, limit, self._depths, self._grown)
        found = [depth for depth, _ in constants]
        self._depths = (min(found, key=lambda depth: (-found.count(depth), depth)),)
        predicted = fits.predicted(constants)[:, folds, cell].T
        losses = np.empty(data.n_rows)
        for fold in range(n_folds):
            test = folds == fold
            n_train = int((~test).sum())
            if data.policy is None:
                losses[test] = mixed_losses(predicted[test], data.action[test], n_train)
            else:
                losses[test] = expected_losses(predicted[test], data.policy[test], n_train)
        return losses

    def _columns(self, folds: Codes, repetition: int) -> Columns:
        """What trees see of each cell: of large categories, in each fold what others chose."""
        cells = self.cells
        if not cells.large.shape[1]:
            return Columns(cells.codes[None], cells.spelled)
        data, of_folds = self.data, []
        for fold in range(int(folds.max()) + 1):
            rng = np.random.default_rng([repetition, fold])
            part = context_folds(data.context, data.n_contexts, N_PARTS, rng)
            training = folds != fold
            weights = self._chosen * training[:, None]
            shares = np.hstack(
                [level_shares(levels, weights, part, training) for levels in cells.large.T]
            )
            of_folds.append(np.column_stack([cells.codes, *(bins(share) for share in shares.T)]))
        codes = np.stack(of_folds)
        numbers = np.zeros(codes.shape[-1] - cells.spelled.size, dtype=bool)
        return Columns(codes, np.append(cells.spelled, numbers))


class _Grows(Protocol):
    n_folds: int

    def path(self, depth: int, iterations: int) -> Floats: ...


def chosen_constants(
    fits: _Grows, limit: int, depths: tuple[int, ...], grown: dict[int, int]
) -> list[tuple[int, int]]:
    """One of the depths, and iterations, for each fold: those that lose least on all the others.

    `grown` holds the iterations to grow at first for each depth, and is set to what was needed.
    """
    best = [(math.inf, depths[0], 1)] * fits.n_folds
    for depth in depths:
        stops = _stops(fits, depth, limit, grown.get(depth, FIRST_ITERATIONS))
        # Trees do not depend on those that follow, so that this saves time and changes nothing.
        grown[depth] = max(iterations for _, iterations in stops) + 2 * PATIENCE
        for fold, (loss, iterations) in enumerate(stops):
            best[fold] = min(best[fold], (loss, depth, iterations))
    return [(depth, iterations) for _, depth, iterations in best]


def _stops(fits: _Grows, depth: int, limit: int, grown: int) -> list[tuple[float, int]]:
    """Loss on all other folds, and the iterations after which it stops falling, for each fold."""
    grown = min(grown, limit)
    while True:
        paths = fits.path(depth, grown)
        stops = [stop(np.delete(paths, fold, axis=0).sum(axis=0)) for fold in range(fits.n_folds)]
        if grown == limit or max(iterations for _, iterations in stops) + PATIENCE <= grown:
            return stops
        grown = min(int(LONGER * grown), limit)


def stop(path: Floats) -> tuple[float, int]:
    """Find where a path of losses, shape (iterations,), first fails to fall for a while.

    Parameters
    ----------
    path : ndarray, shape (iterations,)
        Total loss in nats after each iteration.

    Returns
    -------
    loss : float
        Loss where the search ends: for ten iterations it does not fall by a ten thousandth of
        the first, or by a tenth of a nat.
    iterations : int
        The iteration that reaches it, from 1.
    """
    smallest, end = float(path[0]), 0
    margin = min(FALL_SHARE * smallest, FALL_NATS)
    for position, loss in enumerate(path.tolist()):
        if loss < smallest - margin:
            smallest, end = loss, position
        elif position - end >= PATIENCE:
            break
    return smallest, end + 1
