"""Boosted trees: stages of growth are averaged over; published ones are deep and never stop."""

import catboost
import numpy as np
import pytest

from coherence import predictive_gain_test, simulate
from coherence.statistics.boosted_trees import DEPTHS, STAGES, TreeCrossFit
from coherence.statistics.evaluation import as_choices
from coherence.statistics.learners import designs


def cross_fit(n_contexts=40, n_reps=3, slope=4.0):
    rng = np.random.default_rng(0)
    belief = np.repeat(rng.uniform(size=n_contexts), n_reps)
    action = rng.uniform(size=belief.size) < 1 / (1 + np.exp(-slope * (belief - 0.5)))
    truth = np.repeat(rng.integers(0, 2, n_contexts), n_reps)
    context = np.repeat(np.arange(n_contexts), n_reps)
    data = as_choices(belief, action.astype(int), truth, context)
    content = np.arange(n_contexts, dtype=np.uint64)
    return TreeCrossFit(designs(data, None)[0], data, content, n_contexts), data


def test_stages_weigh_by_the_losses_on_other_folds_per_context():
    trees, _ = cross_fit(n_reps=3)
    paths = {1: np.array([[6.0, 3.0], [900.0, 0.0]]), 4: np.array([[6.0, 6.0], [0.0, 500.0]])}
    weights = trees._weights(paths, 1)  # the losses on fold 1 itself have no say
    expected = np.exp([-2, -1, -2, -2])
    expected /= expected.sum()
    assert [*weights[1], *weights[4]] == pytest.approx(expected)


@pytest.mark.parametrize(("slope", "grows_on"), [(0.0, False), (400.0, True)])
def test_trees_grow_on_while_losses_fall_and_a_constant_is_predicted_otherwise(slope, grows_on):
    trees, data = cross_fit(100, slope=slope)
    losses = trees.losses(5, 0)
    grown = [STAGES[trees._grown[depth] - 1] for depth in DEPTHS]
    assert min(grown) >= 45
    assert (max(grown) > 45) is grows_on
    if not grows_on:
        constant = -np.log(np.where(data.action == 1, data.action.mean(), 1 - data.action.mean()))
        assert losses.mean() == pytest.approx(constant.mean(), rel=0.05)


def test_published_models_are_deep_never_stop_early_and_take_words(monkeypatch):
    """Depth 6 and 1000 iterations against depths and numbers chosen on other folds."""
    built, kinds = [], []

    class Short(catboost.CatBoostClassifier):
        def __init__(self, **options):
            built.append(options)
            super().__init__(**(options | {"iterations": min(options["iterations"], 8)}))

        def fit(self, pool, *rest, **options):
            kinds.append(len(pool.get_cat_feature_indices()))
            return super().fit(pool, *rest, **options)

    monkeypatch.setattr(catboost, "CatBoostClassifier", Short)
    runs = simulate("leaky", n_contexts=12, n_reps=1, prompts=["standard"], iterated=False, rng=1)
    arrays, words = (runs["p"], runs["action"], runs["theta"]), np.array([["a"], ["b"]] * 6, object)
    few = {"n_folds": 2, "n_seeds": 1, "n_bootstraps": 2, "rng": 0}
    predictive_gain_test(*arrays, features=words, published=True, **few)
    assert [(options["depth"], options["iterations"]) for options in built] == [(6, 1000)] * 4
    assert not any("early_stopping_rounds" in options for options in built)
    assert kinds == [1] * 4  # a category is one to CatBoost
