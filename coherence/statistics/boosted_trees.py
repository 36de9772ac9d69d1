"""CatBoost's trees that predict the action out of fold: the models of `predictive_gain_test`.

A fold is predicted by an average over depths and numbers of iterations, weighted by the losses on
the other folds. Rows that are equal are learnt once, with the weight of all.
"""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from coherence.inputs import Codes, Floats
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.learners import expected_losses
from coherence.statistics.resample import context_folds

# Iterations after which trees are judged, each about 1.4 times the one before; the shares of the
# actions come first.
STAGES = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1000)
MAX_ITERATIONS = STAGES[-1]
# Probabilities without noise can be followed ever more closely, and nothing would stop the trees.
POLICY_ITERATIONS = 181
FIRST_STAGES = 12  # grown at first, and this many more while the losses still fall
MORE_STAGES = 4
# What the last stage must lose less than the best before, for growing on: nats over all rows, and
# in large tables, where trees follow ever more closely, a part of the loss without trees.
FALL_NATS = 0.1
FALL_SHARE = 1e-4
NEGLIGIBLE = 1e-6  # weight of a stage that need not predict
DEPTHS = (1, 4)  # stumps for weak additive signals, deeper trees for interactions
N_BORDERS = 32  # finer than stated beliefs are
MAX_LEVELS = 255  # of a category that is asked about level by level
PENALTY = 3.0
PUBLISHED_DEPTH, PUBLISHED_ITERATIONS = 6, 1000
# Rows times iterations of a fit of about a second, at whose end Ctrl-C is answered. To look for it
# after every iteration doubles the time of short fits, and most of a report is short fits.
LONG_FIT = 2_000_000
# One thread: the caller decides what runs in parallel, and results must not depend on the machine.
QUIET = {"thread_count": 1, "allow_writing_files": False, "verbose": False}
# Without these the order of rows moves predictions.
SETTLED = {"boosting_type": "Plain", "bootstrap_type": "No", "random_strength": 0, "random_seed": 0}


def varies(table: pd.DataFrame) -> bool:
    """Tell whether any column takes two values, a missing one included: CatBoost refuses others."""
    return any(table[name].nunique(dropna=False) > 1 for name in table.columns)


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Hold Ctrl-C back, and answer it at the end; yields the signals that have come.

    A KeyboardInterrupt that is raised inside CatBoost is lost there, or ends the process with a
    segmentation fault. Every call of it stands within this.
    """
    came: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Python raises it in the main thread alone, and nowhere in workers that ignore the signal.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(signal.SIGINT, None)


@dataclass(frozen=True)
class _UntilInterrupted:
    """Ends a fit after the iteration in which Ctrl-C came, as long fits take minutes."""

    came: list[int]

    def after_iteration(self, _: object) -> bool:
        """Tell whether to go on."""
        return not self.came


@interrupts_held()
def pool(table: pd.DataFrame, action: Codes | None = None, **weights: Floats | None) -> Any:
    """Return rows as CatBoost takes them."""
    import catboost

    categories = [name for name in table.columns if table[name].dtype == object]
    if not categories:
        return catboost.Pool(table.to_numpy(), action, **weights)
    return catboost.Pool(table, action, cat_features=categories, **weights)


def _classifier() -> Any:
    """Return CatBoost's class without the importances that end every fit, on all threads."""
    import catboost

    unread = {"get_feature_importance": lambda *_, **__: None}
    return type("Trees", (catboost.CatBoostClassifier,), unread)


def _grow(learnt: Any, **settings: Any) -> Any:
    """Return trees that have learnt from a pool."""
    with interrupts_held() as came:
        # The losses on what was learnt are not read: they are computed once, at the end.
        model = _classifier()(metric_period=settings["iterations"], **settings)
        is_long = learnt.num_row() * settings["iterations"] >= LONG_FIT
        model.fit(learnt, callbacks=[_UntilInterrupted(came)] if is_long else None)
        return model


@interrupts_held()
def _probabilities(model: Any, rows: Any) -> Floats:
    """Return the probabilities of actions that trees give the rows of a pool."""
    return np.asarray(model.predict(rows, prediction_type="Probability"), dtype=np.float64)


@interrupts_held()
def _added(model: Any, rows: Any, done: int, stage: int) -> Floats:
    """Return what the trees from one stage to the next add to the scores of rows."""
    between = {"ntree_start": done, "ntree_end": stage}
    return np.asarray(model.predict(rows, prediction_type="RawFormulaVal", **between))


def _scores(model: Any, rows: Any, stages: Sequence[int]) -> Floats:
    """Return the scores of rows at each stage but the first, shape (n_stages - 1, n_rows, ...)."""
    added = [_added(model, rows, done, stage) for done, stage in pairwise(stages)]
    return np.cumsum(added, axis=0, dtype=np.float64)


class _Fold:
    """One fold: what trees learn from the others, and what they say of it as they grow.

    `train` and `judged`, shape (n_rows, n_actions), weigh the actions of every distinct row of
    `table` in the other folds and in this one.
    """

    def __init__(self, table: pd.DataFrame, train: Floats, judged: Floats) -> None:
        self.table = table
        self.shares = train.sum(axis=0) / train.sum()
        self.seen = np.flatnonzero(self.shares)
        self._train = train[:, self.seen]
        self._held = np.flatnonzero(judged[:, self.seen].any(axis=1))
        self._judged = judged[np.ix_(self._held, self.seen)]
        self.learns = self.seen.size > 1 and varies(
            table.iloc[np.flatnonzero(self._train.any(axis=1))]
        )
        # depth -> logarithms of probabilities, shape (n_stages, n_held, n_seen)
        self._grown: dict[int, Floats] = {}

    @cached_property
    def _pools(self) -> tuple[Any, Any]:
        """What trees learn, and the rows of this fold."""
        rows, actions = np.nonzero(self._train)
        learnt = pool(
            self.table.iloc[rows],
            actions,
            weight=self._train[rows, actions],
            baseline=np.tile(self._start, (rows.size, 1)),
        )
        return learnt, pool(self.table.iloc[self._held])

    @property
    def _start(self) -> Floats:
        """Log-shares of the actions: from 0, trees would spend their first dozens on rare ones."""
        start: Floats = np.log(self.shares[self.seen])
        return start[1:] - start[:1] if self.seen.size == 2 else start

    def path(self, depth: int, n_stages: int) -> Floats:
        """Total loss on this fold at each of the first stages, shape (n_stages,)."""
        if not self.learns or not self._held.size:
            return np.zeros(n_stages)
        if depth not in self._grown or len(self._grown[depth]) < n_stages:
            self._grown[depth] = self._fitted(depth, STAGES[:n_stages])
        losses: Floats = -(self._judged * self._grown[depth][:n_stages]).sum(axis=(1, 2))
        return losses

    def _fitted(self, depth: int, stages: Sequence[int]) -> Floats:
        learnt, rows = self._pools
        model = _grow(
            learnt,
            loss_function="MultiClass" if self.seen.size > 2 else "Logloss",
            depth=depth,
            iterations=stages[-1],
            learning_rate=0.3,
            leaf_estimation_method="Newton",
            leaf_estimation_iterations=1,
            # CatBoost multiplies the penalty by the mean weight.
            l2_leaf_reg=PENALTY / float(self._train[self._train > 0].mean()),
            border_count=N_BORDERS,
            one_hot_max_size=MAX_LEVELS,
            **SETTLED,
            **QUIET,
        )
        raw = np.tile(self._start, (len(stages), self._held.size, 1))
        raw[1:] += _scores(model, rows, stages).reshape(raw[1:].shape)
        both = np.concatenate([np.zeros_like(raw), raw], axis=2) if self.seen.size == 2 else raw
        return np.asarray(special.log_softmax(both, axis=2))

    def predicted(self, weights: dict[int, Floats]) -> Floats:
        """Probabilities of actions, shape (n_rows, n_actions), from depths and stages by weight.

        Of rows that this fold does not hold they are the shares.
        """
        predicted = np.tile(self.shares, (len(self.table), 1))
        if not self._grown:
            return predicted
        mixed = np.zeros_like(self._judged)
        for depth, of_stages in weights.items():
            heavy = np.flatnonzero(of_stages >= NEGLIGIBLE)
            mixed += np.tensordot(of_stages[heavy], np.exp(self._grown[depth][heavy]), axes=1)
        predicted[np.ix_(self._held, self.seen)] = mixed / mixed.sum(axis=1, keepdims=True)
        return predicted


class TreeCrossFit:
    """Boosted trees of one table of `coherence.statistics.learners.designs`, judged out of fold.

    For every fold trees are fitted to the others, and their loss on it is followed as they grow. A
    fold is predicted by the average over depths and stages of growth, exponentially weighted by
    their losses on all other folds: no loss of a context has a say in the weights of what judges
    it, and one context more or less moves weights a little, where it could move a choice far.

    `content` numbers the contexts for `context_folds`. `n_contexts` says how many losses the rows
    are worth: total losses are divided by the mean number of rows of a context.

    References
    ----------
    Leung and Barron (2006), Information theory and mixing least-squares regressions.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        data: EvaluationData,
        content: NDArray[np.uint64],
        n_contexts: int,
    ) -> None:
        self.data, self._content = data, content
        self._item = table.groupby(list(table.columns), dropna=False, sort=False).ngroup()
        self._table = table[~self._item.duplicated()].reset_index(drop=True)
        self._per_context = data.n_rows / n_contexts
        self._grown = dict.fromkeys(DEPTHS, FIRST_STAGES)

    def losses(self, n_folds: int, repetition: int) -> Floats:
        """Out-of-fold log-loss of each row in nats, shape (n,); of policies, expected.

        Folds depend on the content of contexts and on the number of the repetition alone.
        """
        data, item = self.data, self._item.to_numpy()
        folds = context_folds(data.context, self._content, n_folds, repetition)
        weights = np.zeros((int(folds.max()) + 1, len(self._table), len(data.actions)))
        np.add.at(weights, (folds, item), data.share)
        # Summed and not subtracted, so that nothing is left where no other fold has anything.
        fits = [
            _Fold(self._table, np.delete(weights, fold, axis=0).sum(axis=0), judged)
            for fold, judged in enumerate(weights)
        ]
        limit = MAX_ITERATIONS if data.policy is None else POLICY_ITERATIONS
        paths = {depth: self._paths(fits, depth, limit) for depth in DEPTHS}
        losses = np.empty(data.n_rows)
        for fold, fit in enumerate(fits):
            test = folds == fold
            predicted, n_train = fit.predicted(self._weights(paths, fold)), int((~test).sum())
            losses[test] = expected_losses(predicted[item[test]], data.share[test], n_train)
        return losses

    def _paths(self, fits: list[_Fold], depth: int, limit: int) -> Floats:
        """Loss on each fold at each stage, shape (n_folds, n_stages), grown while it falls."""
        most = STAGES.index(limit) + 1
        while True:
            n_stages = min(self._grown[depth], most)
            paths = np.stack([fit.path(depth, n_stages) for fit in fits])
            total = paths.sum(axis=0)
            margin = max(FALL_NATS, FALL_SHARE * total[0])
            if n_stages == most or total[-1] > total[:-1].min() - margin:
                return paths
            self._grown[depth] += MORE_STAGES

    def _weights(self, paths: dict[int, Floats], fold: int) -> dict[int, Floats]:
        """Weights of the stages of each depth in what predicts a fold, by the losses on others."""
        totals = [np.delete(path, fold, axis=0).sum(axis=0) for path in paths.values()]
        weights = special.softmax(-np.concatenate(totals) / self._per_context)
        ends = np.cumsum([total.size for total in totals])[:-1]
        return dict(zip(paths, np.split(weights, ends), strict=True))


def free_threads() -> int:
    """Count the threads that a fit may use: joblib leaves each of its workers a share of the cores.

    Fits are equal for any number of threads.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return int(limit) if limit.isdecimal() and int(limit) > 0 else joblib.cpu_count()


def published_losses(
    table: pd.DataFrame,
    data: EvaluationData,
    content: NDArray[np.uint64],
    n_folds: int,
    seed: int,
) -> Floats:
    """Return the out-of-fold log-loss of each chosen action in nats, shape (n,), as published.

    Trees of depth 6, 1000 iterations without stopping. Folds depend on `content` and `seed` alone,
    so that models compared under one seed differ by their design and nothing else.
    """
    folds = context_folds(data.context, content, n_folds, seed)
    losses = np.empty(data.n_rows)
    for fold in range(int(folds.max()) + 1):
        train, test = folds != fold, folds == fold
        # An action that training lacks is unknown to the trees: they fit the others, renumbered.
        seen, codes = np.unique(data.action[train], return_inverse=True)
        learnt, judged = (table[rows].reset_index(drop=True) for rows in (train, test))
        predicted = np.zeros((len(judged), len(data.actions)))
        if seen.size == 1 or not varies(learnt):  # nothing to learn from
            predicted[:, seen] = np.bincount(codes) / codes.size
        else:
            model = _grow(
                pool(learnt, codes),
                loss_function="MultiClass" if seen.size > 2 else "Logloss",
                depth=PUBLISHED_DEPTH,
                iterations=PUBLISHED_ITERATIONS,
                random_seed=seed,
                **QUIET | {"thread_count": free_threads()},
            )
            predicted[:, seen] = _probabilities(model, pool(judged))
        losses[test] = expected_losses(predicted, data.share[test], len(learnt))
    return losses
