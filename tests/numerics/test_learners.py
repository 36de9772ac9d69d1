"""Models of the action: what they may see, and how they are judged."""

import math
from dataclasses import replace

import catboost
import numpy as np
import pandas as pd
import pytest

from coherence import predictive_gain_test, simulate
from coherence.statistics import trees
from coherence.statistics.evaluation import as_choices
from coherence.statistics.resample import context_folds


def test_losses_are_mixed_with_the_uniform_distribution():
    """Two actions after 8 training rows: 8 parts of the prediction, 2 of one half."""
    predicted = np.array([[1.0, 0.0], [1.0, 0.0], [0.25, 0.75]])
    losses = trees.expected_losses(predicted, np.eye(2)[[0, 1, 1]], 8)
    np.testing.assert_allclose(losses, -np.log([9 / 10, 1 / 10, 7 / 10]))


def test_labels_stand_by_the_mean_belief_where_they_occur():
    rng = np.random.default_rng(1)
    share, belief = rng.dirichlet(np.ones(5), 40), rng.random(40)
    means = [np.average(belief, weights=column) for column in share.T]
    assert trees._by_belief(share, belief).tolist() == np.argsort(means).tolist()


def choices(n_contexts=12, n_reps=3, actions=3):
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(n_contexts), n_reps)
    truth = rng.integers(0, 2, n_contexts)[context]
    belief = (context + 1) / (n_contexts + 1)
    return as_choices(belief, rng.integers(0, actions, context.size), truth, context)


def published(data, n_folds, seed, inputs=None):
    content = np.arange(data.n_contexts, dtype=np.uint64)
    inputs = trees.designs(data, None)[0] if inputs is None else inputs
    return trees.published_losses(inputs, data, content, n_folds, seed)


def test_every_row_is_judged_by_trees_that_saw_no_row_of_its_context():
    data = choices(20)
    action = np.where(data.context == 3, (data.action + 1) % 3, data.action)
    before, after = (
        published(replace(data, action=codes), 4, 7) for codes in (data.action, action)
    )
    folds = context_folds(data.context, np.arange(20, dtype=np.uint64), 4, 7)
    beside = (folds == folds[data.context == 3][0]) & (data.context != 3)
    assert beside.any()
    np.testing.assert_array_equal(before[beside], after[beside])
    assert (before != after)[folds != folds[data.context == 3][0]].all()


def test_shares_are_predicted_where_there_is_nothing_to_learn():
    data = choices(10, 2)
    alone = as_choices(data.belief, ["yes"] * 20, data.truth, data.context)
    np.testing.assert_allclose(published(alone, 5, 0), 0, atol=1e-12)
    losses = published(data, 5, 0, pd.DataFrame({0: np.full(20, 0.5)}))
    folds = context_folds(data.context, np.arange(10, dtype=np.uint64), 5, 0)
    for fold in range(5):
        counts = np.bincount(data.action[folds != fold], minlength=3)
        mixed = (counts + 1) / (counts.sum() + 3)
        np.testing.assert_allclose(
            losses[folds == fold], -np.log(mixed[data.action[folds == fold]])
        )


def test_an_action_that_training_lacks_costs_a_finite_loss():
    """Action "rare" occurs in one context alone: its fold has never seen it."""
    context = np.repeat(np.arange(10), 2)
    action = np.where(context == 3, "rare", np.where(np.arange(20) % 2, "no", "yes"))
    data = as_choices(context / 10, action, context % 2, context)
    losses = published(data, 10, 0)
    np.testing.assert_allclose(losses[context == 3], -math.log(1 / (18 + 3)))


def test_features_are_numbers_or_words_in_the_order_of_their_names():
    columns = {"n": [1, 2, 3], "gap": [1.5, None, 2.5]}
    frame = pd.DataFrame(columns | {"flag": [True, False, True], "w": ["a", None, "b"]})
    numbers, words = trees.as_features(frame, 3)
    np.testing.assert_array_equal(numbers, [[1.5, 1], [np.nan, 2], [2.5, 3]])
    assert words.tolist() == [["True", "a"], ["False", "(not shown)"], ["True", "b"]]
    numbers, words = trees.as_features(np.array([[1, "a"], [2, "b"]], dtype=object), 2)
    assert (numbers.tolist(), words.tolist()) == ([[1], [2]], [["a"], ["b"]])


# Boosted trees: stages of growth are averaged over; published ones are deep and never stop.


def cross_fit(n_contexts=40, n_reps=3, slope=4.0):
    rng = np.random.default_rng(0)
    belief = np.repeat(rng.uniform(size=n_contexts), n_reps)
    action = rng.uniform(size=belief.size) < 1 / (1 + np.exp(-slope * (belief - 0.5)))
    truth = np.repeat(rng.integers(0, 2, n_contexts), n_reps)
    context = np.repeat(np.arange(n_contexts), n_reps)
    data = as_choices(belief, action.astype(int), truth, context)
    content = np.arange(n_contexts, dtype=np.uint64)
    return trees.TreeCrossFit(trees.designs(data, None)[0], data, content, n_contexts), data


def test_stages_weigh_by_the_losses_on_other_folds_per_context():
    fit, _ = cross_fit(n_reps=3)
    paths = {1: np.array([[6.0, 3.0], [900.0, 0.0]]), 4: np.array([[6.0, 6.0], [0.0, 500.0]])}
    weights = fit._weights(paths, 1)  # the losses on fold 1 itself have no say
    expected = np.exp([-2, -1, -2, -2])
    expected /= expected.sum()
    assert [*weights[1], *weights[4]] == pytest.approx(expected)


@pytest.mark.parametrize(("slope", "grows_on"), [(0.0, False), (400.0, True)])
def test_trees_grow_on_while_losses_fall_and_a_constant_is_predicted_otherwise(slope, grows_on):
    fit, data = cross_fit(100, slope=slope)
    losses = fit.losses(5, 0)
    grown = [trees.STAGES[fit._grown[depth] - 1] for depth in trees.DEPTHS]
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
