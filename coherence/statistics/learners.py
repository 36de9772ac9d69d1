"""Learners of the action that the predictive gain compares, and the cross-fitting they share.

A learner is fitted on whole contexts and judged on others by log-loss. Random forest and
multinomial logistic regression are the robustness alternatives to the boosted trees; their one free
constant is chosen on held-out contexts of the training folds.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats, require, with_missing
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.resample import context_folds

N_INNER_FOLDS = 4  # one of them judges the free constants
LEAF_SIZES = (5, 20, 60)  # small leaves give probabilities near 0 and 1, which log-loss punishes
N_TREES = 50
INVERSE_PENALTIES = (0.01, 0.1, 1.0)
KNOTS = (0.25, 0.5, 0.75)  # quantiles at which the effect of belief may bend
_LARGEST = float(np.finfo(np.float32).max)  # trees take features in single precision

Words = NDArray[np.object_]


@dataclass(frozen=True)
class LearnerInputs:
    """What a model of the action may see, row by row."""

    belief: Floats  # shape (n, n_columns): stated beliefs
    numbers: Floats  # shape (n, n_numbers): numeric features; NaN where a value was not shown
    words: Words  # shape (n, n_words): categories
    # shape (n, n_states - 1): indicator of each state but the first; no columns for the model
    # without truth
    truth: Floats

    @property
    def numeric(self) -> Floats:
        """All columns that are numbers."""
        return np.hstack([self.belief, self.numbers, self.truth])

    @property
    def varies(self) -> bool:
        """Whether any column takes two values, a missing one included."""
        numeric = self.numeric
        first = numeric[0]
        # NaN differs from itself, yet two missing values are the same value.
        differs = (numeric != first) & ~(np.isnan(numeric) & np.isnan(first))
        return bool(differs.any() or (self.words != self.words[0]).any())

    def rows(self, chosen: NDArray[Any]) -> "LearnerInputs":
        """Return some of the rows."""
        return LearnerInputs(
            self.belief[chosen], self.numbers[chosen], self.words[chosen], self.truth[chosen]
        )


Predictor = Callable[[LearnerInputs], Floats]


class Learner(Protocol):
    """Anything that learns action codes from a design."""

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        """Fit codes 0..k-1, all of which occur; rows in `held` may judge free constants.

        Rows count with their weight, once each where there is none. The predictor returns shape
        (n, k).
        """


def expected_losses(predicted: Floats, policy: Floats, n_train: int) -> Floats:
    """Expected log-loss of each row in nats, shape (n,), of an action drawn from its policy.

    Predictions are mixed with the uniform distribution at weight n_actions / (n_train + n_actions),
    so that an action that training never saw costs a finite loss, the same for both models. A
    chosen action is a policy of probability 1, and a probability of 0 costs nothing.
    """
    # As one more training row of each action would do to its share.
    mixed = (n_train * predicted + 1.0) / (n_train + predicted.shape[1])
    return np.asarray(-(policy * np.log(mixed)).sum(axis=1))


def cross_fitted_losses(
    learner: Learner,
    design: LearnerInputs,
    data: EvaluationData,
    content: NDArray[np.uint64],
    n_folds: int,
    seed: int,
) -> Floats:
    """Out-of-fold log-loss of each row in nats, shape (n,); where actions are policies, expected.

    Folds and inner splits depend on `content` and `seed` alone, see `context_folds`, so that models
    compared under one seed differ by their design and nothing else. Every row is learnt once for
    each action, by its probability.
    """
    folds = context_folds(data.context, content, n_folds, seed)
    share, losses = data.share, np.empty(data.n_rows)
    for fold in range(int(folds.max()) + 1):
        train, test = folds != fold, folds == fold
        inner = context_folds(data.context, content, N_INNER_FOLDS, [seed, 1 + fold])[train]
        part = design.rows(train)
        # An action that training lacks is unknown to the learner: it fits the others, renumbered.
        seen = np.flatnonzero(share[train].any(axis=0))
        rows, codes = np.nonzero(share[train][:, seen])
        weight = share[train][rows, seen[codes]]
        predicted = np.zeros((int(test.sum()), len(data.actions)))
        if seen.size == 1 or not part.varies:  # nothing to learn from
            predicted[:, seen] = np.bincount(codes, weights=weight) / weight.sum()
        else:
            # Weights, of 1 too, change how a forest of scikit-learn draws its rows.
            of_rows = None if data.policy is None else weight
            predict = learner.fit(part.rows(rows), codes, inner[rows] == 0, seed, of_rows)
            predicted[:, seen] = predict(design.rows(test))
        losses[test] = expected_losses(predicted, share[test], int(train.sum()))
    return losses


class _Estimator(Protocol):
    classes_: Codes

    def fit(self, values: Floats, codes: Codes, sample_weight: Floats | None = None) -> Any: ...

    def predict_proba(self, values: Floats) -> Floats: ...


def _tuned(
    candidates: list[_Estimator],
    values: Floats,
    action: Codes,
    held: NDArray[np.bool_],
    weight: Floats | None = None,
) -> _Estimator:
    """Return the candidate that predicts the held-out contexts best, fitted to all rows."""
    n_actions = int(action.max()) + 1
    # Without a judge the middle strength stands.
    best = candidates[len(candidates) // 2]
    if held.any() and np.unique(action[~held]).size > 1:
        losses = []
        training, judging = (None, None) if weight is None else (weight[~held], weight[held])
        n_train = int((~held).sum()) if training is None else round(training.sum())
        for candidate in candidates:
            candidate.fit(values[~held], action[~held], sample_weight=training)
            predicted = np.zeros((int(held.sum()), n_actions))
            predicted[:, candidate.classes_] = candidate.predict_proba(values[held])
            judged = expected_losses(predicted, np.eye(n_actions)[action[held]], n_train)
            losses.append(float(np.average(judged, weights=judging)))
        best = candidates[int(np.argmin(losses))]
    best.fit(values, action, sample_weight=weight)
    return best


def _encoder(train: LearnerInputs) -> Callable[[LearnerInputs], Floats]:
    """Standardise numbers and spell categories out as indicators.

    A missing number gets the training mean, with an indicator that it was missing.
    """
    shown = ~np.isnan(train.numbers)
    counts = np.maximum(shown.sum(axis=0), 1)
    mean = np.where(shown, train.numbers, 0.0).sum(axis=0) / counts
    spread = np.sqrt((np.where(shown, train.numbers - mean, 0.0) ** 2).sum(axis=0) / counts)
    spread[spread == 0] = 1.0  # a constant column becomes zeros
    levels = [sorted(set(column)) for column in train.words.T]

    def encode(design: LearnerInputs) -> Floats:
        missing = np.isnan(design.numbers)
        filled = np.where(missing, 0.0, (design.numbers - mean) / spread)
        # A category that training never saw has all its indicators at 0.
        words = [
            (column == level)[:, None]
            for column, known in zip(design.words.T, levels, strict=True)
            for level in known
        ]
        return np.hstack([filled, missing, *words]).astype(np.float64)

    return encode


class RandomForest:
    """scikit-learn random forest; the leaf size is chosen on held-out contexts."""

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        """See `Learner`."""
        from sklearn.ensemble import RandomForestClassifier

        encode = _encoder(design)

        def columns(seen: LearnerInputs) -> Floats:
            return np.hstack([seen.belief, encode(seen), seen.truth])

        forests = [
            RandomForestClassifier(N_TREES, min_samples_leaf=size, random_state=seed, n_jobs=1)
            for size in LEAF_SIZES
        ]
        forest = _tuned(forests, columns(design), action, held, weight)
        return lambda seen: forest.predict_proba(columns(seen))


class Logistic:
    """Multinomial logit on a linear spline of belief, features, truth, and truth times belief."""

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        """See `Learner`."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        encode = _encoder(design)
        knots = np.quantile(design.belief, KNOTS, axis=0)
        centre = design.belief.mean(axis=0)

        def columns(seen: LearnerInputs) -> Floats:
            # Truncated lines: the effect of belief may bend at each knot.
            bends = [np.maximum(seen.belief - knot, 0.0) for knot in knots]
            # Centred, so that the effect of truth by itself is that at the mean belief.
            products = [
                seen.truth * (seen.belief[:, [column]] - centre[column])
                for column in range(seen.belief.shape[1])
            ]
            return np.hstack([seen.belief, *bends, encode(seen), seen.truth, *products])

        values = columns(design)
        spread = values.std(axis=0)
        scale = np.where(spread > 1e-12, spread, 1.0)  # the penalty must not depend on units
        regressions = [
            LogisticRegression(C=strength, max_iter=500) for strength in INVERSE_PENALTIES
        ]
        with warnings.catch_warnings():
            # A fit that stops short is a weaker model: out-of-sample losses judge it as it is.
            warnings.simplefilter("ignore", ConvergenceWarning)
            regression = _tuned(regressions, values / scale, action, held, weight)
        return lambda seen: regression.predict_proba(columns(seen) / scale)


def _named_columns(features: Any, n_rows: int) -> Iterator[tuple[str, pd.Series]]:
    if isinstance(features, pd.Series | pd.DataFrame):
        frame = pd.DataFrame(features).reset_index(drop=True)
    else:
        cells = np.asarray(with_missing(features), dtype=object)
        require(
            cells.ndim in (1, 2),
            f"features must have one row per belief; received an array of shape {cells.shape}.",
        )
        frame = pd.DataFrame(cells).infer_objects()
    require(
        len(frame) == n_rows,
        f"features must have one row per belief; received {len(frame)} rows for {n_rows}.",
    )
    require(
        frame.shape[1] > 0,
        "features must have at least one column; received none. Leave the argument out instead.",
    )
    # Learners break ties by position: columns in another order are the same evidence.
    names = [str(name) for name in frame.columns]
    for position in sorted(range(len(names)), key=names.__getitem__):
        yield names[position], frame.iloc[:, position]


def as_features(features: Any, n_rows: int) -> tuple[Floats, Words]:
    """Split features into numbers and categories."""
    numbers, words = [], []
    for name, column in _named_columns(features, n_rows):
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
            plain = column.astype(object)
            shown = plain.where(column.notna(), "(not shown)").to_numpy(dtype=object)
            # Half of a surrogate pair, which JSON allows, is no text for CatBoost.
            whole = [str(word).encode("utf-8", "backslashreplace").decode() for word in shown]
            words.append(np.array(whole, dtype=object))
    stacked = np.column_stack(words) if words else np.empty((n_rows, 0), dtype=object)
    return np.column_stack(numbers) if numbers else np.empty((n_rows, 0)), stacked


def designs(
    data: EvaluationData, features: tuple[Floats, Words] | None
) -> tuple[LearnerInputs, LearnerInputs]:
    """Return what the model without truth sees, and what the model with truth sees."""
    belief = data.belief if data.belief.ndim == 2 else data.belief[:, None]
    numbers, words = (
        features
        if features is not None
        else (np.empty((data.n_rows, 0)), np.empty((data.n_rows, 0), dtype=object))
    )
    # The first state is where all indicators are 0.
    states = (data.truth[:, None] == np.arange(1, len(data.states))).astype(np.float64)
    return LearnerInputs(belief, numbers, words, states[:, :0]), LearnerInputs(
        belief, numbers, words, states
    )
