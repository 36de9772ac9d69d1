"""Boosted trees that predict the action: the learner of `predictive_gain_test`.

Depth and iterations are chosen on held-out contexts, or are the published ones.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.learners import LearnerInputs, Predictor

MAX_ITERATIONS = 1000
# Probabilities without noise can be followed ever more closely, and nothing would stop the trees.
POLICY_ITERATIONS = 200
DEPTHS = (1, 4)  # stumps for weak additive signals, deeper trees for interactions
PATIENCE = 5  # iterations without improvement on held-out contexts before a fit stops
PUBLISHED_DEPTH = 6
# Without row sampling and score noise the nested fits share their randomness, which is the larger
# part of the test's variance. 32 borders are finer than stated beliefs are.
FAST_OPTIONS = {
    "learning_rate": 0.3,
    "border_count": 32,
    "bootstrap_type": "No",
    "random_strength": 0,
}


@dataclass(frozen=True)
class BoostedTrees:
    """Boosted trees; depth and iterations are chosen on held-out contexts or as published."""

    published: bool = False

    def fit(
        self,
        design: LearnerInputs,
        action: Codes,
        held: NDArray[np.bool_],
        seed: int,
        weight: Floats | None = None,
    ) -> Predictor:
        """Fit to all rows, with what held-out contexts have chosen; see `Learner`."""
        options: dict[str, Any]
        if self.published:
            options = {"depth": PUBLISHED_DEPTH, "iterations": MAX_ITERATIONS}
        else:
            depth, iterations = depth_and_iterations(design, action, held, seed, weight)
            options = {"depth": depth, "iterations": iterations, **FAST_OPTIONS}
        model = _classifier(seed, int(action.max()) + 1, **options)
        model.fit(_pool(design, action, weight))
        return lambda seen: np.asarray(model.predict_proba(_pool(seen)), dtype=np.float64)


def _classifier(seed: int, n_actions: int, **options: Any) -> Any:
    from catboost import CatBoostClassifier

    # One thread: the caller decides what runs in parallel, and equal results must not depend on the
    # machine.
    return CatBoostClassifier(
        loss_function="MultiClass" if n_actions > 2 else "Logloss",
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        **options,
    )


def _pool(design: LearnerInputs, action: Codes | None = None, weight: Floats | None = None) -> Any:
    from catboost import Pool

    numeric = design.numeric
    if design.words.shape[1] == 0:
        return Pool(numeric, action, weight=weight)
    table = pd.concat(
        [pd.DataFrame(numeric), pd.DataFrame(design.words, dtype=object)], axis=1, ignore_index=True
    )
    words = list(range(numeric.shape[1], table.shape[1]))
    return Pool(table, action, cat_features=words, weight=weight)


def depth_and_iterations(
    design: LearnerInputs,
    action: Codes,
    held: NDArray[np.bool_],
    seed: int,
    weight: Floats | None = None,
) -> tuple[int, int]:
    """Choose by the log-loss on held-out contexts, stopping early."""
    fitted = design.rows(~held)
    seen, codes = np.unique(action[~held], return_inverse=True)
    judged = held & np.isin(action, seen)
    if seen.size < 2 or not judged.any() or not fitted.varies:
        return DEPTHS[0], 1
    of_train, of_test = (None, None) if weight is None else (weight[~held], weight[judged])
    train, test = (
        _pool(fitted, codes, of_train),
        _pool(design.rows(judged), np.searchsorted(seen, action[judged]), of_test),
    )
    best = (math.inf, DEPTHS[0], 1)
    for depth in DEPTHS:
        model = _classifier(
            seed,
            seen.size,
            depth=depth,
            iterations=MAX_ITERATIONS if weight is None else POLICY_ITERATIONS,
            early_stopping_rounds=PATIENCE,
            use_best_model=True,
            **FAST_OPTIONS,
        )
        model.fit(train, eval_set=test)
        loss = float(next(iter(model.get_best_score()["validation"].values())))
        best = min(best, (loss, depth, max(1, model.tree_count_)))
    return best[1:]
