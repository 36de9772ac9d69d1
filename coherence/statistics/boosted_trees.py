"""CatBoost's trees that predict the action out of fold: the learner of `predictive_gain_test`.

Depth and iterations with which a fold is predicted are chosen by the losses on the other folds.
Rows that are equal are learnt once, with the weight of all.
"""

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from coherence.inputs import Codes, Floats
from coherence.statistics.choices import ChoiceData
from coherence.statistics.learners import LearnerInputs, Predictor, expected_losses
from coherence.statistics.resample import context_folds

MAX_ITERATIONS = 1000
# Probabilities without noise can be followed ever more closely, and nothing would stop the trees.
POLICY_ITERATIONS = 200
FIRST_ITERATIONS = 40  # grown at first, and this factor more while the losses still fall
LONGER = 4
PATIENCE = 10  # iterations without improvement on other folds that end the search
# What counts as an improvement: a share of the first loss, and in large tables nats over all rows.
# Without it trees follow choices that beliefs settle ever more closely, and two models that say the
# same stop at different iterations.
FALL_SHARE = 1e-4
FALL_NATS = 0.1
DEPTHS = (1, 4)  # stumps for weak additive signals, deeper trees for interactions
N_BORDERS = 32  # finer than stated beliefs are
MAX_LEVELS = 255  # of a category that is asked about level by level
PENALTY = 3.0
PUBLISHED_DEPTH, PUBLISHED_ITERATIONS = 6, 1000
# One thread: the caller decides what runs in parallel, and results must not depend on the machine.
QUIET = {"thread_count": 1, "allow_writing_files": False, "verbose": False}
# Without these the order of rows moves predictions.
SETTLED = {"boosting_type": "Plain", "bootstrap_type": "No", "random_strength": 0, "random_seed": 0}


def as_table(design: LearnerInputs) -> pd.DataFrame:
    """Return what trees see: numbers, then categories as text."""
    words = pd.DataFrame(design.words, dtype=object)
    return pd.concat([pd.DataFrame(design.numeric), words], axis=1, ignore_index=True)


def pool(table: pd.DataFrame, action: Codes | None = None, **weights: Floats | None) -> Any:
    """Return rows as CatBoost takes them."""
    import catboost

    categories = [name for name in table.columns if table[name].dtype == object]
    if not categories:
        return catboost.Pool(table.to_numpy(), action, **weights)
    return catboost.Pool(table, action, cat_features=categories, **weights)


@dataclass(frozen=True)
class _Fit:
    """Trees fitted to all folds but one, and what they lose on that one as they grow."""

    model: Any
    path: Floats


class _Fold:
    """One fold: what trees learn from the others, and what judges them.

    `train` and `judged`, shape (n_rows, n_actions), weigh the actions of every distinct row of
    `table` in the other folds and in this one.
    """

    def __init__(self, table: pd.DataFrame, train: Floats, judged: Floats) -> None:
        self.table, self.n_actions = table, train.shape[1]
        self.shares = train.sum(axis=0) / train.sum()
        self.seen = np.flatnonzero(self.shares)
        self._train, self._judged = train[:, self.seen], judged[:, self.seen]
        there = table[self._train.any(axis=1)]
        varies = any(there[name].nunique(dropna=False) > 1 for name in there.columns)
        self.learns = self.seen.size > 1 and varies
        self._fits: dict[int, _Fit] = {}

    @cached_property
    def _start(self) -> Floats:
        """Log-shares of the actions: from 0, trees would spend their first dozens on rare ones."""
        start: Floats = np.log(self.shares[self.seen])
        return start[1:] - start[:1] if self.seen.size == 2 else start

    @cached_property
    def _pools(self) -> tuple[Any, Any, float]:
        pools = []
        for weights in (self._train, self._judged):
            rows, actions = np.nonzero(weights)
            start = np.tile(self._start, (rows.size, 1))
            weight = weights[rows, actions]
            pools.append(pool(self.table.iloc[rows], actions, weight=weight, baseline=start))
        return pools[0], pools[1], float(self._train[self._train > 0].mean())

    def path(self, depth: int, iterations: int) -> Floats:
        """Total loss on this fold after each iteration, shape (iterations,)."""
        if not self.learns or not self._judged.any():
            return np.zeros(iterations)
        if depth not in self._fits or self._fits[depth].path.size < iterations:
            self._fits[depth] = self._fitted(depth, iterations)
        return self._fits[depth].path[:iterations]

    def _fitted(self, depth: int, iterations: int) -> _Fit:
        import catboost

        learnt, judges, mean_weight = self._pools
        loss = "MultiClass" if self.seen.size > 2 else "Logloss"
        model = catboost.CatBoostClassifier(
            loss_function=loss,
            depth=depth,
            iterations=iterations,
            learning_rate=0.3,
            leaf_estimation_method="Newton",
            leaf_estimation_iterations=1,
            # CatBoost multiplies the penalty by the mean weight.
            l2_leaf_reg=PENALTY / mean_weight,
            border_count=N_BORDERS,
            one_hot_max_size=MAX_LEVELS,
            use_best_model=False,
            **SETTLED,
            **QUIET,
        )
        model.fit(learnt, eval_set=judges)
        path = np.array(model.get_evals_result()["validation"][loss])
        return _Fit(model, path * float(self._judged.sum()))

    def predicted(self, depth: int, iterations: int) -> Floats:
        """Probabilities of actions, shape (n_rows, n_actions)."""
        predicted = np.tile(self.shares, (len(self.table), 1))
        if depth in self._fits:
            rows, model = pool(self.table), self._fits[depth].model
            raw = model.predict(rows, prediction_type="RawFormulaVal", ntree_end=iterations)
            raw = raw.reshape(len(self.table), -1) + self._start
            if self.seen.size == 2:
                raw = np.hstack([np.zeros_like(raw), raw])
            predicted[:, self.seen] = special.softmax(raw, axis=1)
        return predicted


class TreeCrossFit:
    """Boosted trees of one design, judged out of fold.

    For every fold trees are fitted to the others, and their loss on it is followed as they grow.
    The depth and the number of iterations with which a fold is predicted are those that have lost
    least on all other folds, so that no loss of a context has a say in the constants of the model
    that it judges; but for the depth of later repetitions, which is that of the first.
    """

    def __init__(self, design: LearnerInputs, data: ChoiceData) -> None:
        table = as_table(design)
        self.data = data
        self._item = table.groupby(list(table.columns), dropna=False, sort=False).ngroup()
        self._table = table[~self._item.duplicated()].reset_index(drop=True)
        self._share = data.share
        self._depths: tuple[int, ...] = DEPTHS
        self._grown: dict[int, int] = {}

    def losses(self, n_folds: int, repetition: int) -> Floats:
        """Out-of-fold log-loss of each row in nats, shape (n,); of policies, expected.

        Folds depend on the order of contexts and on the number of the repetition alone. The first
        call chooses a depth for each fold; later ones keep the depth that most folds had.
        """
        data, item = self.data, self._item.to_numpy()
        rng = np.random.default_rng(repetition)
        folds = context_folds(data.context, data.n_contexts, n_folds, rng)
        weights = np.zeros((int(folds.max()) + 1, len(self._table), len(data.actions)))
        np.add.at(weights, (folds, item), self._share)
        # Summed and not subtracted, so that nothing is left where no other fold has anything.
        fits = [
            _Fold(self._table, np.delete(weights, fold, axis=0).sum(axis=0), judged)
            for fold, judged in enumerate(weights)
        ]
        limit = MAX_ITERATIONS if data.policy is None else POLICY_ITERATIONS
        constants = _chosen_constants(fits, limit, self._depths, self._grown)
        found = [depth for depth, _ in constants]
        self._depths = (min(found, key=lambda depth: (-found.count(depth), depth)),)
        losses = np.empty(data.n_rows)
        for fold, (fit, chosen) in enumerate(zip(fits, constants, strict=True)):
            test = folds == fold
            predicted, n_train = fit.predicted(*chosen)[item[test]], int((~test).sum())
            losses[test] = expected_losses(predicted, self._share[test], n_train)
        return losses


def _chosen_constants(
    fits: list[_Fold], limit: int, depths: tuple[int, ...], grown: dict[int, int]
) -> list[tuple[int, int]]:
    """One of the depths, and iterations, for each fold: those that lose least on all the others.

    `grown` holds the iterations to grow at first for each depth, and is set to what was needed.
    """
    best = [(math.inf, depths[0], 1)] * len(fits)
    for depth in depths:
        stops, grown[depth] = _stops(fits, depth, limit, grown.get(depth, FIRST_ITERATIONS))
        for fold, (loss, iterations) in enumerate(stops):
            best[fold] = min(best[fold], (loss, depth, iterations))
    return [(depth, iterations) for _, depth, iterations in best]


def _stops(
    fits: list[_Fold], depth: int, limit: int, grown: int
) -> tuple[list[tuple[float, int]], int]:
    """Loss on all other folds, and the iterations after which it stops falling, for each fold."""
    grown = min(grown, limit)
    while True:
        paths = np.stack([fit.path(depth, grown) for fit in fits])
        stops = [stop(np.delete(paths, fold, axis=0).sum(axis=0)) for fold in range(len(fits))]
        if grown == limit or max(iterations for _, iterations in stops) + PATIENCE <= grown:
            return stops, grown
        grown = min(LONGER * grown, limit)


def stop(path: Floats) -> tuple[float, int]:
    """Find where a path of losses, shape (iterations,), first fails to fall for a while."""
    smallest, end = float(path[0]), 0
    margin = min(FALL_SHARE * smallest, FALL_NATS)
    for position, loss in enumerate(path.tolist()):
        if loss < smallest - margin:
            smallest, end = loss, position
        elif position - end >= PATIENCE:
            break
    return smallest, end + 1


def free_threads() -> int:
    """Count the threads that a fit may use: joblib leaves each of its workers a share of the cores.

    Fits are equal for any number of threads.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return int(limit) if limit.isdecimal() and int(limit) > 0 else joblib.cpu_count()


class PublishedTrees:
    """CatBoost as published: depth 6 and 1000 iterations, without stopping."""

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        """Fit to all rows; see `Learner`."""
        import catboost

        model = catboost.CatBoostClassifier(
            loss_function="MultiClass" if action.max() > 1 else "Logloss",
            depth=PUBLISHED_DEPTH,
            iterations=PUBLISHED_ITERATIONS,
            random_seed=seed,
            **QUIET | {"thread_count": free_threads()},
        )
        model.fit(pool(as_table(design), action, weight=weight))
        return lambda seen: np.asarray(model.predict_proba(pool(as_table(seen))), dtype=np.float64)
