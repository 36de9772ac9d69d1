"""Learners of the action: what they may see, how they are judged, what they can find."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence.statistics import learners
from coherence.statistics.evaluation import as_choices
from coherence.statistics.learners import (
    LearnerInputs,
    Logistic,
    RandomForest,
    as_features,
    cross_fitted_losses,
    designs,
    expected_losses,
)


def design(belief, numbers=None, words=None, truth=None):
    n = len(belief)
    return LearnerInputs(
        np.asarray(belief, dtype=float).reshape(n, -1),
        np.empty((n, 0)) if numbers is None else np.asarray(numbers, dtype=float).reshape(n, -1),
        np.empty((n, 0), dtype=object)
        if words is None
        else np.asarray(words, object).reshape(n, -1),
        np.empty((n, 0)) if truth is None else np.asarray(truth, dtype=float).reshape(n, -1),
    )


def test_losses_are_mixed_with_the_uniform_distribution():
    """Two actions after 8 training rows: 8 parts of the prediction, 2 of one half."""
    predicted = np.array([[1.0, 0.0], [1.0, 0.0], [0.25, 0.75]])
    losses = expected_losses(predicted, np.eye(2)[[0, 1, 1]], 8)
    np.testing.assert_allclose(losses, -np.log([9 / 10, 1 / 10, 7 / 10]))


class Recorder:
    """Predicts the training shares and notes what it was shown."""

    def __init__(self):
        self.calls = []

    def fit(self, design, action, held, seed, weight):
        assert weight is None  # choices count once each
        shares = np.bincount(action) / action.size
        self.calls.append((design.belief[:, 0], action, held, seed))
        return lambda seen: np.tile(shares, (len(seen.belief), 1))


def choices(n_contexts=12, n_reps=3, actions=3):
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(n_contexts), n_reps)
    truth = rng.integers(0, 2, n_contexts)[context]
    belief = (context + 1) / (n_contexts + 1)
    return as_choices(belief, rng.integers(0, actions, context.size), truth, context)


def numbers(data):
    return np.arange(data.n_contexts, dtype=np.uint64)


def test_every_row_is_judged_by_a_learner_that_saw_no_row_of_its_context():
    data, recorder = choices(40), Recorder()
    losses = cross_fitted_losses(recorder, designs(data, None)[0], data, numbers(data), 5, 7)
    assert len(recorder.calls) == 5
    left_out = []
    for belief, action, held, seed in recorder.calls:
        test = ~np.isin(data.belief, belief)
        left_out.append(set(data.context[test]))
        assert len(left_out[-1]) == 8
        shares = np.bincount(action, minlength=3) / action.size
        mixed = (action.size * shares + 1) / (action.size + 3)
        np.testing.assert_allclose(losses[test], -np.log(mixed[data.action[test]]))
        # Whole contexts judge the free constants: about one training context in four.
        assert {*held[belief == belief[0]]} in ({True}, {False})
        assert 0 < held.sum() < held.size / 2
        assert all(np.unique(held[belief == value]).size == 1 for value in belief)
        assert seed == 7
    assert set().union(*left_out) == set(range(40))
    again = cross_fitted_losses(Recorder(), designs(data, None)[0], data, numbers(data), 5, 7)
    np.testing.assert_array_equal(losses, again)
    assert (
        losses != cross_fitted_losses(Recorder(), designs(data, None)[0], data, numbers(data), 5, 8)
    ).any()


def test_inner_splits_differ_between_folds():
    """A quarter of the training contexts judges, another one in every fold."""
    data, recorder = choices(100, 1), Recorder()
    cross_fitted_losses(recorder, designs(data, None)[0], data, numbers(data), 5, 1)
    held = [set(belief[inner]) for belief, _, inner, _ in recorder.calls]
    assert all(10 <= len(inner) <= 25 for inner in held)
    assert len(set.union(*held)) > 50


def test_nothing_is_fitted_where_there_is_nothing_to_learn():
    data = choices(10, 2, actions=1)
    data = as_choices(data.belief, ["yes"] * 20, data.truth, data.context)
    recorder = Recorder()
    losses = cross_fitted_losses(recorder, designs(data, None)[0], data, numbers(data), 5, 0)
    np.testing.assert_allclose(losses, 0, atol=1e-12)
    constant = choices(10, 2)
    flat = design(np.full(20, 0.5))
    losses = cross_fitted_losses(recorder, flat, constant, numbers(constant), 5, 0)
    assert recorder.calls == []
    varying = cross_fitted_losses(
        recorder, designs(constant, None)[0], constant, numbers(constant), 5, 0
    )
    np.testing.assert_allclose(losses, varying)  # the shares of the training rows, in both


def test_an_action_that_training_lacks_costs_a_finite_loss():
    """Action "rare" occurs in one context alone: its fold has never seen it."""
    context = np.repeat(np.arange(10), 2)
    action = np.where(context == 3, "rare", np.where(np.arange(20) % 2, "no", "yes"))
    data = as_choices(context / 10, action, context % 2, context)
    losses = cross_fitted_losses(Recorder(), designs(data, None)[0], data, numbers(data), 10, 0)
    np.testing.assert_allclose(losses[context == 3], -math.log(1 / (18 + 3)))


def test_designs_differ_by_the_truth_alone():
    truth = np.array(["a", "b", "c"] * 4)
    data = as_choices(np.linspace(0, 1, 12), ["x", "y"] * 6, truth, None)
    without, with_truth = designs(data, None)
    assert without.truth.shape == (12, 0)
    assert with_truth.truth[:3].tolist() == [[0, 0], [1, 0], [0, 1]]
    assert without.belief.shape == with_truth.belief.shape == (12, 1)
    assert with_truth.numeric.shape == (12, 3)
    numbers, words = np.ones((12, 2)), np.full((12, 1), "w", dtype=object)
    assert designs(data, (numbers, words))[1].numeric.shape == (12, 5)
    rows = with_truth.rows(np.array([2, 0]))
    assert rows.belief[:, 0].tolist() == [2 / 11, 0]
    assert rows.truth.tolist() == [[0, 1], [0, 0]]


def test_features_are_numbers_or_words_in_the_order_of_their_names():
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3],
            "gap": [1.5, None, 2.5],
            "flag": [True, False, True],
            "w": ["a", None, "b"],
        }
    )
    numbers, words = as_features(frame, 3)
    np.testing.assert_array_equal(numbers, [[1.5, 1], [np.nan, 2], [2.5, 3]])
    assert words.tolist() == [["True", "a"], ["False", "(not shown)"], ["True", "b"]]
    numbers, words = as_features(np.array([[1, "a"], [2, "b"]], dtype=object), 2)
    assert (numbers.tolist(), words.tolist()) == ([[1], [2]], [["a"], ["b"]])
    assert as_features(frame[["w"]], 3)[0].shape == (3, 0)
    assert as_features(frame[["n"]], 3)[1].shape == (3, 0)


def drawn(n=600, seed=0):
    rng = np.random.default_rng(seed)
    belief, truth = rng.random(n), rng.integers(0, 2, n)
    return rng, belief, truth, rng.random(n) < 0.25


def test_logistic_regression_bends_and_lets_truth_matter_more_at_high_beliefs():
    rng, belief, truth, held = drawn(4000)
    chance = 1 / (1 + np.exp(-(8 * np.abs(belief - 0.5) - 2 + 4 * (belief - 0.5) * (truth - 0.5))))
    action = (rng.random(4000) < chance).astype(int)
    predict = Logistic().fit(design(belief, truth=truth), action, held, 0)
    grid = design(np.tile(np.linspace(0.05, 0.95, 19), 2), truth=np.repeat([0, 1], 19))
    b, t = grid.belief[:, 0], grid.truth[:, 0]
    exact = 1 / (1 + np.exp(-(8 * np.abs(b - 0.5) - 2 + 4 * (b - 0.5) * (t - 0.5))))
    predicted = predict(grid)
    np.testing.assert_allclose(predicted.sum(axis=1), 1)
    assert np.abs(predicted[:, 1] - exact).mean() < 0.04


def test_logistic_regression_does_not_depend_on_units():
    rng, belief, _, held = drawn()
    number = rng.normal(size=600)
    action = (rng.random(600) < 1 / (1 + np.exp(-2 * number))).astype(int)
    predicted = [
        Logistic().fit(design(belief, numbers=scale * number + 3), action, held, 0)(
            design(belief, numbers=scale * number + 3)
        )
        for scale in (1.0, 1e4)
    ]
    np.testing.assert_allclose(*predicted, atol=1e-4)
    assert np.corrcoef(predicted[0][:, 1], number)[0, 1] > 0.9


def test_a_column_that_never_varies_is_no_obstacle():
    rng, belief, _, held = drawn()
    action = (rng.random(600) < belief).astype(int)
    columns = {"numbers": np.full(600, 3.0), "words": np.full(600, "w"), "truth": np.zeros(600)}
    predicted = Logistic().fit(design(belief, **columns), action, held, 0)(
        design(belief, **columns)
    )
    assert np.abs(predicted[:, 1] - belief).mean() < 0.06


@pytest.mark.lengthy
def test_random_forest_finds_what_no_line_does():
    rng, belief, truth, held = drawn(1200)
    word = np.where(rng.random(1200) < 0.5, "red", "blue")
    action = ((belief > 0.5) ^ (word == "red") ^ (truth == 1)).astype(int)
    seen = design(belief, words=word, truth=truth)
    predicted = RandomForest().fit(seen, action, held, 3)(seen)
    assert (predicted.argmax(axis=1) == action).mean() > 0.95
    again = RandomForest().fit(seen, action, held, 3)(seen)
    np.testing.assert_array_equal(predicted, again)
    assert (RandomForest().fit(seen, action, held, 4)(seen) != predicted).any()
    blind = RandomForest().fit(design(belief), action, held, 3)(design(belief))
    assert (blind.argmax(axis=1) == action).mean() < 0.8


def test_columns_are_standardised_by_what_was_seen():
    """Missing numbers stand at the training mean, beside an indicator; a new word is no word."""
    train = design([0, 0, 0], numbers=[[1, 5], [3, 5], [np.nan, 5]], words=["b", "a", "b"])
    encode = learners._encoder(train)
    np.testing.assert_allclose(
        encode(train),
        [[-1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]],
    )
    np.testing.assert_allclose(
        encode(design([0], numbers=[[6, 7]], words=["c"])), [[4, 2, 0, 0, 0, 0]]
    )
    unseen = design([0, 0], numbers=[np.nan, np.nan])
    np.testing.assert_array_equal(learners._encoder(unseen)(unseen), [[0, 1], [0, 1]])
