"""Published trees: break if they stop early, or if words and weights are not learnt."""

import catboost
import numpy as np

from coherence import predictive_gain_test, simulate


def columns(n_contexts=12, n_reps=1):
    runs = simulate(
        "leaky", n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=1
    )
    return runs["p"], runs["action"], runs["theta"]


def test_published_models_are_deep_and_never_stop_early(monkeypatch):
    """Depth 6 and 1000 iterations against depths and numbers chosen on other folds."""
    built = []

    class Short(catboost.CatBoostClassifier):
        def __init__(self, **options):
            built.append(options)
            super().__init__(**(options | {"iterations": min(options["iterations"], 256)}))

    monkeypatch.setattr(catboost, "CatBoostClassifier", Short)
    predictive_gain_test(*columns(), published=True, n_folds=2, n_seeds=1, n_bootstraps=2, rng=0)
    assert [(options["depth"], options["iterations"]) for options in built] == [(6, 1000)] * 4
    assert not any("early_stopping_rounds" in options for options in built)
    built.clear()
    predictive_gain_test(*columns(), n_folds=2, n_seeds=1)
    assert {options["depth"] for options in built} <= {1, 4}


def test_words_and_weights_are_learnt(monkeypatch):
    """Policies weigh their rows, and a category is one to CatBoost."""
    kinds = []

    class Short(catboost.CatBoostClassifier):
        def __init__(self, **options):
            super().__init__(**(options | {"iterations": 8}))

        def fit(self, pool, *rest, **options):
            kinds.append((pool.get_cat_feature_indices(), np.unique(pool.get_weight()).size))
            return super().fit(pool, *rest, **options)

    monkeypatch.setattr(catboost, "CatBoostClassifier", Short)
    belief, action, truth = columns(30)
    predictive_gain_test(
        belief,
        action,
        truth,
        features=np.array([["a"], ["b"]] * 15, dtype=object),
        published=True,
        n_folds=2,
        n_bootstraps=2,
    )
    assert [len(categories) for categories, _ in kinds] == [1] * 4
