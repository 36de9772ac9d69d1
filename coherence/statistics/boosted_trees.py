"""Boosted trees that predict the action: the learner of `predictive_gain_test`.

Both kinds are CatBoost: `TreeCrossFit` chooses depth and iterations by the losses on other folds,
`PublishedTrees` are fixed.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.cells import MAX_LEVELS, Cells, cells_of
from coherence.statistics.choices import ChoiceData
from coherence.statistics.learners import (
    LearnerInputs,
    Predictor,
    expected_losses,
    mixed_losses,
)
from coherence.statistics.resample import context_folds

MAX_ITERATIONS = 1000
# Probabilities without noise can be followed ever more closely, and nothing would stop the trees.
POLICY_ITERATIONS = 200
FIRST_ITERATIONS = 32  # grown at first, and on to this factor while the losses still fall
LONGER = 2
PATIENCE = 10  # iterations without improvement on other folds that end the search
# What counts as an improvement: a share of the first loss, and in large tables nats over all rows.
# Without it trees follow choices that beliefs settle ever more closely, and two models that say the
# same stop at different iterations.
FALL_SHARE = 1e-4
FALL_NATS = 0.1
DEPTHS = (1, 4)  # stumps for weak additive signals, deeper trees for interactions
PUBLISHED_DEPTH = 6
PENALTY = 3.0  # CatBoost's own, for rows that count once each
# Without row sampling and score noise the nested fits share their randomness, which is the larger
# part of the test's variance.
FAST_OPTIONS = {
    "learning_rate": 0.3,
    "bootstrap_type": "No",
    "random_strength": 0,
    # Left to CatBoost it is 1, or 10 for two actions where 200 iterations and more are asked for.
    "leaf_estimation_iterations": 1,
}


class PublishedTrees:
    """CatBoost at depth 6 and 1000 iterations, without stopping."""

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        """Fit to all rows; see `Learner`."""
        options = {"depth": PUBLISHED_DEPTH, "iterations": MAX_ITERATIONS}
        model = _classifier(seed, int(action.max()) + 1, **options)
        model.fit(_pool(design.numeric, design.words, action, weight))
        return lambda seen: np.asarray(
            model.predict_proba(_pool(seen.numeric, seen.words)), dtype=np.float64
        )


@cache
def _class() -> Any:
    from catboost import CatBoostClassifier  # imported here: it costs most of a second

    class Trees(CatBoostClassifier):  # type: ignore[misc]
        """The classifier without the importances that every fit computes and nothing reads."""

        def get_feature_importance(self, *_: Any, **__: Any) -> None:
            """Compute nothing."""

    return Trees


def _classifier(seed: int, n_actions: int, **options: Any) -> Any:
    # One thread: the caller decides what runs in parallel, and equal results must not depend on the
    # machine.
    return _class()(
        loss_function="MultiClass" if n_actions > 2 else "Logloss",
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        **options,
    )


def _pool(
    numbers: NDArray[Any],
    words: NDArray[np.object_],
    action: Codes | None = None,
    weight: Floats | None = None,
) -> Any:
    from catboost import Pool

    if words.shape[1] == 0:
        return Pool(numbers, action, weight=weight)
    table = pd.concat(
        [pd.DataFrame(numbers), pd.DataFrame(words, dtype=object)], axis=1, ignore_index=True
    )
    categories = list(range(numbers.shape[1], table.shape[1]))
    return Pool(table, action, cat_features=categories, weight=weight)


def _cell_pool(
    cells: Cells, chosen: Codes, action: Codes | None = None, weight: Floats | None = None
) -> Any:
    """Return a pool of some cells, whose categories are to be spelled out."""
    if cells.words.shape[1]:
        return _pool(cells.numbers[chosen], cells.words[chosen], action, weight)
    from catboost import FeaturesData, Pool

    # Bytes and no table: pandas would take longer than a fit.
    seen = FeaturesData(cells.numbers[chosen], cells.categories[chosen])
    return Pool(seen, action, weight=weight)


class _Fold:
    """Trees fitted to all folds but one, and what they lose on that one as they grow."""

    def __init__(
        self, cells: Cells, entry: tuple[Codes, Codes], train: Floats, test: Floats, n_actions: int
    ) -> None:
        cell, action = entry
        rows = np.flatnonzero(train)
        self.n_actions = n_actions
        self.seen, codes = np.unique(action[rows], return_inverse=True)
        self.shares = np.bincount(codes, weights=train[rows]) / train.sum()
        self.learns = self.seen.size > 1 and _varies(cells, cell[rows])
        if not self.learns:
            return
        # CatBoost scales the penalty by the mean weight, which merging rows has made larger.
        self.penalty = PENALTY * rows.size / float(train.sum())
        self.train = _cell_pool(cells, cell[rows], codes, train[rows])
        # An action that training lacks costs all models the same.
        judged = np.flatnonzero((test > 0) & np.isin(action, self.seen))
        self.judged_weight = float(test[judged].sum())
        self.test = None
        if judged.size:
            known = np.searchsorted(self.seen, action[judged])
            self.test = _cell_pool(cells, cell[judged], known, test[judged])
        self.continues = cells.words.shape[1] == 0
        self.models: dict[int, Any] = {}
        self._paths: dict[int, Floats] = {}

    def path(self, depth: int, iterations: int) -> Floats:
        """Total loss on the fold left out after each iteration, shape (iterations,)."""
        if not self.learns:
            return np.zeros(iterations)
        path = self._paths.get(depth, np.zeros(0))
        if path.size < iterations:
            path = self._paths[depth] = self._grown(depth, iterations, path)
        return path[:iterations]

    def _grown(self, depth: int, iterations: int, path: Floats) -> Floats:
        """Grow trees on from the end of a path, and return the longer path."""
        # CatBoost encodes large categories anew in every fit: those trees grow from the first on.
        if not self.continues:
            path = path[:0]
        model = _classifier(
            0,
            self.seen.size,
            depth=depth,
            iterations=iterations - path.size,
            l2_leaf_reg=self.penalty,
            one_hot_max_size=MAX_LEVELS,
            use_best_model=False,
            **FAST_OPTIONS,
        )
        # Without random parts a tree depends on those before it alone: to the last bit these are
        # the trees of one long fit.
        before = self.models[depth] if path.size else None
        model.fit(self.train, eval_set=self.test, init_model=before)
        self.models[depth] = model
        if self.test is None:
            return np.zeros(iterations)
        (losses,) = model.get_evals_result()["validation"].values()
        return np.append(path, self.judged_weight * np.asarray(losses, dtype=np.float64))

    def predicted(self, cells: Cells, chosen: Codes, depth: int, iterations: int) -> Floats:
        """Predict the actions in some cells, shape (n_cells, n_actions)."""
        predicted = np.zeros((chosen.size, self.n_actions))
        if not self.learns:
            predicted[:, self.seen] = self.shares
            return predicted
        pool = _cell_pool(cells, chosen)
        predicted[:, self.seen] = self.models[depth].predict_proba(pool, ntree_end=iterations)
        return predicted


def _varies(cells: Cells, chosen: Codes) -> bool:
    columns = (cells.numbers[chosen], cells.categories[chosen], cells.words[chosen])
    return any(bool((column != column[0]).any()) for column in columns)


class TreeCrossFit:
    """Boosted trees of one design, judged out of fold.

    For every fold trees are fitted to the others, and their loss on it is followed as they grow.
    The depth and the number of iterations with which a fold is predicted are those that have lost
    least on all other folds, so that no context has a say in the constants of the model that it
    judges; but for the depth of later repetitions, which is that of the first.

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
        if data.policy is None:
            self._row, of_row = np.arange(data.n_rows), data.action
            self._weight = np.ones(data.n_rows)
        else:
            self._row, of_row = np.nonzero(data.policy)
            self._weight = data.policy[self._row, of_row]
        key = self.cells.of_row[self._row] * n_actions + of_row
        keys, self._entry = np.unique(key, return_inverse=True)
        self._entries = keys // n_actions, keys % n_actions
        self._depths: tuple[int, ...] = DEPTHS
        self._grown: dict[int, int] = {}

    def losses(self, n_folds: int, repetition: int) -> Floats:
        """Out-of-fold log-loss of each row in nats, shape (n,); of policies, expected.

        Folds depend on the order of contexts and on the number of the repetition alone. The first
        call chooses a depth for each fold; later ones keep the depth that most folds had.
        """
        data = self.data
        rng = np.random.default_rng(repetition)
        folds = context_folds(data.context, data.n_contexts, n_folds, rng)
        n_folds = int(folds.max()) + 1
        size = self._entries[0].size
        weights = np.bincount(
            folds[self._row] * size + self._entry, weights=self._weight, minlength=n_folds * size
        ).reshape(n_folds, size)
        fits = []
        for fold in range(n_folds):
            # Summed and not subtracted, so that nothing is left where no other fold has anything.
            train = np.delete(weights, fold, axis=0).sum(axis=0)
            fits.append(_Fold(self.cells, self._entries, train, weights[fold], len(data.actions)))
        losses = np.empty(data.n_rows)
        limit = MAX_ITERATIONS if data.policy is None else POLICY_ITERATIONS
        constants = chosen_constants(fits, limit, self._depths, self._grown)
        found = [depth for depth, _ in constants]
        self._depths = (min(found, key=lambda depth: (-found.count(depth), depth)),)
        for fold, (depth, iterations) in enumerate(constants):
            test = folds == fold
            chosen, position = np.unique(self.cells.of_row[test], return_inverse=True)
            predicted = fits[fold].predicted(self.cells, chosen, depth, iterations)[position]
            n_train = int((~test).sum())
            if data.policy is None:
                losses[test] = mixed_losses(predicted, data.action[test], n_train)
            else:
                losses[test] = expected_losses(predicted, data.policy[test], n_train)
        return losses


def chosen_constants(
    fits: list[_Fold], limit: int, depths: tuple[int, ...], grown: dict[int, int]
) -> list[tuple[int, int]]:
    """One of the depths, and iterations, for each fold: those that lose least on all the others.

    `grown` holds the iterations to grow at first for each depth, and is set to what was needed.
    """
    best = [(math.inf, depths[0], 1)] * len(fits)
    for depth in depths:
        stops = _stops(fits, depth, limit, grown.get(depth, FIRST_ITERATIONS))
        # Trees do not depend on those that follow, so that this saves time and changes nothing.
        grown[depth] = max(iterations for _, iterations in stops) + 2 * PATIENCE
        for fold, (loss, iterations) in enumerate(stops):
            best[fold] = min(best[fold], (loss, depth, iterations))
    return [(depth, iterations) for _, depth, iterations in best]


def _stops(fits: list[_Fold], depth: int, limit: int, grown: int) -> list[tuple[float, int]]:
    """Loss on all other folds, and the iterations after which it stops falling, for each fold."""
    grown = min(grown, limit)
    while True:
        paths = np.array([fit.path(depth, grown) for fit in fits])
        stops = [stop(np.delete(paths, fold, axis=0).sum(axis=0)) for fold in range(len(fits))]
        if grown == limit or max(iterations for _, iterations in stops) + PATIENCE <= grown:
            return stops
        grown = min(LONGER * grown, limit)


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
