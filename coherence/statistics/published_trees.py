"""The boosted trees of the papers: CatBoost, as published."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.learners import LearnerInputs, Predictor

DEPTH = 6
ITERATIONS = 1000


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
        import catboost

        # One thread: the caller decides what runs in parallel, and equal results must not depend on
        # the machine.
        model = catboost.CatBoostClassifier(
            loss_function="MultiClass" if action.max() > 1 else "Logloss",
            depth=DEPTH,
            iterations=ITERATIONS,
            random_seed=seed,
            thread_count=1,
            allow_writing_files=False,
            verbose=False,
        )
        model.fit(_pool(catboost, design, action, weight))
        return lambda seen: np.asarray(model.predict_proba(_pool(catboost, seen)), dtype=np.float64)


def _pool(
    catboost: Any,
    design: LearnerInputs,
    action: Codes | None = None,
    weight: Floats | None = None,
) -> Any:
    numbers, words = design.numeric, design.words
    if words.shape[1] == 0:
        return catboost.Pool(numbers, action, weight=weight)
    table = pd.concat(
        [pd.DataFrame(numbers), pd.DataFrame(words, dtype=object)], axis=1, ignore_index=True
    )
    categories = list(range(numbers.shape[1], table.shape[1]))
    return catboost.Pool(table, action, cat_features=categories, weight=weight)
