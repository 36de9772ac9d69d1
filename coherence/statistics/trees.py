"""CatBoost's trees that predict the action out of fold: the models of `predictive_gain_test`.

What they may see, one order of the same data in which no name, seed or order of rows enters the
folds, and how they are judged: by log-loss on other contexts. A fold is predicted by an average
over depths and numbers of iterations, weighted by the losses on the other folds. Rows that are
equal are learnt once, with the weight of all.
"""

import math
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from coherence.inputs import Codes, Floats, require, with_missing
from coherence.statistics.evaluation import EvaluationData
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
# One thread: the caller decides what runs in parallel, and results must not depend on the machine.
QUIET = {"thread_count": 1, "allow_writing_files": False, "verbose": False}
# Without these the order of rows moves predictions.
SETTLED = {"boosting_type": "Plain", "bootstrap_type": "No", "random_strength": 0, "random_seed": 0}
CELLS = 1000 * math.pi  # of the probabilities by which contexts are assigned to folds
_LARGEST = float(np.finfo(np.float32).max)  # trees take features in single precision

Evidence = tuple[Floats, NDArray[np.object_]]
"""Features as numbers and words, see `as_features`."""


def iterations_of(data: EvaluationData) -> int:
    """Return how many iterations there may be."""
    return MAX_ITERATIONS if data.policy is None else POLICY_ITERATIONS


def as_features(features: Any, n_rows: int) -> Evidence:
    """Split features, whatever a user has of them, into numbers and categories."""
    if isinstance(features, pd.Series | pd.DataFrame):
        frame = pd.DataFrame(features).reset_index(drop=True)
    else:
        # A list of mixed types is one of objects: numbers among them become numbers again.
        given = with_missing(features)
        cells = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
        require(
            cells.ndim in (1, 2),
            f"features must have one row per belief; received an array of shape {cells.shape}.",
        )
        frame = pd.DataFrame(cells if len(cells) else None).infer_objects()
    require(
        frame.shape[1] > 0,
        "features must have at least one column; received none. Leave it out instead.",
    )
    require(
        len(frame) == n_rows,
        f"features must have one row per belief; received {len(frame)} rows for {n_rows}.",
    )
    numbers, words = [], []
    names = [str(name) for name in frame.columns]
    # By name, ties broken by position: the order of columns is no evidence.
    for position in sorted(range(len(names)), key=names.__getitem__):
        name, column = names[position], frame.iloc[:, position]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            beyond = np.abs(values) > _LARGEST
            first = int(np.argmax(beyond))
            require(
                not beyond.any(),
                f"features must be finite or missing, and at most {_LARGEST:.2g} in size; "
                f"{int(beyond.sum())} of {n_rows} values of column {name!r} are not, the first is "
                f"{values[first]:g} at position {first}. Mark them as missing, or cap them.",
            )
            numbers.append(values)
        else:
            # A missing category is evidence that was not shown: a category of its own.
            shown = column.astype(object).where(column.notna(), "(not shown)")
            # Half of a surrogate pair, which JSON allows, is no text for CatBoost.
            whole = [str(word).encode("utf-8", "backslashreplace").decode() for word in shown]
            words.append(np.array(whole, dtype=object))
    stacked = np.column_stack(words) if words else np.empty((n_rows, 0), dtype=object)
    return np.column_stack(numbers) if numbers else np.empty((n_rows, 0)), stacked


def designs(data: EvaluationData, features: Evidence | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what the model without truth sees, and what the model with truth sees.

    Stated beliefs, numeric features, and indicators of each state but the first, in the single
    precision that CatBoost takes; then categories.
    """
    words = np.empty((data.n_rows, 0), dtype=object)
    known = [data.belief.reshape(data.n_rows, -1)]
    if features is not None:
        known, words = [*known, features[0]], features[1]
    # The first state is where all indicators are 0.
    states = (data.truth[:, None] == np.arange(1, len(data.states))).astype(np.float64)
    without, with_truth = (
        pd.concat(
            [pd.DataFrame(np.hstack(numbers), dtype=np.float32), pd.DataFrame(words, dtype=object)],
            axis=1,
            ignore_index=True,
        )
        for numbers in (known, [*known, states])
    )
    return without, with_truth


def in_canonical_order(
    data: EvaluationData, evidence: Evidence | None
) -> tuple[EvaluationData, Evidence | None, NDArray[np.uint64]]:
    """Tell the same data in the same way, and number contexts by what they hold.

    Rows that arrive in another order, contexts with other ids, actions or states with other labels,
    a belief in the other of two states and states in another order are the same data, and must fall
    into the same folds, and do unless mean beliefs tie. The numbers, shape (n_contexts,), are for
    `context_folds`.
    """
    belief = data.belief.reshape(data.n_rows, -1)
    if belief.shape[1] > 1:
        belief = belief[:, np.argsort([math.fsum(column) for column in belief.T], kind="stable")]
    elif math.fsum(data.belief) < data.n_rows / 2:
        belief = np.round(1 - belief, 9)
    by_action = _by_belief(data.share, belief[:, 0])
    by_state = _by_belief(data.truth[:, None] == np.arange(len(data.states)), belief[:, 0])
    truth = np.argsort(by_state)[data.truth]
    share = data.share[:, by_action]
    columns = [*belief.T, truth, *share.T]
    if evidence is not None:
        columns += [*evidence[0].T, *(column.astype(str) for column in evidence[1].T)]
    rows = _ranks(columns)
    contexts = _context_order(rows, data.context, data.n_contexts)
    context = np.argsort(contexts)[data.context]
    content = _content(np.column_stack([belief, share]), truth, context)
    order = np.lexsort((rows, context))
    chosen = data.policy is None
    ordered = replace(
        data,
        belief=belief[order].reshape(data.belief.shape),
        action=np.argsort(by_action)[data.action[order]] if chosen else data.action,
        truth=truth[order],
        context=context[order],
        actions=_reordered(data.actions, by_action),
        states=_reordered(data.states, by_state),
        contexts=_reordered(data.contexts, contexts),
        policy=None if chosen else share[order],
    )
    if evidence is not None:
        evidence = evidence[0][order], evidence[1][order]
    return ordered, evidence, content


def _reordered(labels: tuple[Any, ...], order: Codes) -> tuple[Any, ...]:
    return tuple(labels[position] for position in order)


def _by_belief(share: NDArray[Any], belief: Floats) -> Codes:
    """Order labels, of shares of rows of shape (n, n_labels), by the mean belief where they occur.

    It hardly ever changes with a context more or less; frequency would, where labels are balanced.
    """
    keys = []
    for position, column in enumerate(share.T):
        # Exact sums: those of another order of the rows must not differ in the last bit.
        total = math.fsum(column)
        mean = round(math.fsum(column * belief) / total, 9) if total else 0.0
        keys.append((mean, total, position))
    return np.array([key[-1] for key in sorted(keys)], dtype=np.int64)


def _content(probabilities: Floats, truth: Codes, context: Codes) -> NDArray[np.uint64]:
    """Number contexts by what they hold, shape (n_contexts,); those that are alike are counted."""
    # No decimal fraction lies on a line of this grid: a last bit hardly ever moves one.
    cells = pd.DataFrame(np.floor(probabilities * CELLS).astype(np.int64)).assign(truth=truth)
    rows = pd.util.hash_pandas_object(cells, index=False)
    held = rows.groupby(context).sum()  # modulo 2**64, in any order of the rows
    apart = pd.DataFrame({"held": held, "number": held.groupby(held).cumcount()})
    return np.asarray(pd.util.hash_pandas_object(apart, index=False), dtype=np.uint64)


def _ranks(columns: list[NDArray[Any]]) -> Codes:
    """Rank of every row in the lexicographic order of the columns; equal rows share one."""
    ranks = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)  # missing numbers are one value
        ranks = np.unique(ranks * values.size + codes, return_inverse=True)[1]
    return ranks


def _context_order(rows: Codes, context: Codes, n_contexts: int) -> Codes:
    """Positions of contexts, ordered by the sorted ranks of their rows."""
    ends = np.cumsum(np.bincount(context, minlength=n_contexts))
    held = np.split(rows[np.lexsort((rows, context))], ends[:-1])
    content = [ranks.tolist() for ranks in held]
    return np.array(sorted(range(n_contexts), key=content.__getitem__), dtype=np.int64)


def expected_losses(predicted: Floats, policy: Floats, n_train: int) -> Floats:
    """Expected log-loss of each row in nats, shape (n,), of an action drawn from its policy.

    Predictions are mixed with the uniform distribution at weight n_actions / (n_train + n_actions),
    so that an action that training never saw costs a finite loss, the same for both models. A
    chosen action is a policy of probability 1, and a probability of 0 costs nothing.
    """
    # As one more training row of each action would do to its share.
    mixed = (n_train * predicted + 1.0) / (n_train + predicted.shape[1])
    return np.asarray(-(policy * np.log(mixed)).sum(axis=1))


def varies(table: pd.DataFrame) -> bool:
    """Tell whether any column takes two values, a missing one included: CatBoost refuses others."""
    return any(table[name].nunique(dropna=False) > 1 for name in table.columns)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back, and answer it at the end.

    A KeyboardInterrupt that is raised inside CatBoost is lost there, or ends the process with a
    segmentation fault. Every call of it stands within this.
    """
    came: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Python raises it in the main thread alone, and nowhere in workers that ignore the signal.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(signal.SIGINT, None)


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


@interrupts_held()
def _grow(learnt: Any, **settings: Any) -> Any:
    """Return trees that have learnt from a pool."""
    # The losses on what was learnt are not read: they are computed once, at the end.
    model = _classifier()(metric_period=settings["iterations"], **settings)
    model.fit(learnt)
    return model


@interrupts_held()
def _predicted(model: Any, rows: Any, **how: Any) -> Floats:
    """Return what trees say of the rows of a pool."""
    return np.asarray(model.predict(rows, **how), dtype=np.float64)


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
        of_scores = {"prediction_type": "RawFormulaVal"}
        added = [
            _predicted(model, rows, ntree_start=done, ntree_end=stage, **of_scores)
            for done, stage in pairwise(stages)
        ]
        raw[1:] += np.cumsum(added, axis=0).reshape(raw[1:].shape)
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
    """Boosted trees of one table of `designs`, judged out of fold.

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
        limit = iterations_of(data)
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
                **QUIET,
            )
            predicted[:, seen] = _predicted(model, pool(judged), prediction_type="Probability")
        losses[test] = expected_losses(predicted, data.share[test], len(learnt))
    return losses
