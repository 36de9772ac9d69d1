"""Models of the action: what they may see, and how they are judged."""

import math

import numpy as np
import pandas as pd

from coherence.statistics.evaluation import as_choices
from coherence.statistics.learners import (
    LearnerInputs,
    as_features,
    cross_fitted_losses,
    designs,
    expected_losses,
)


def design(belief, numbers=None, words=None, truth=None):
    n = len(belief)

    def columns(values, dtype=float):
        return (
            np.empty((n, 0), dtype) if values is None else np.asarray(values, dtype).reshape(n, -1)
        )

    return LearnerInputs(columns(belief), columns(numbers), columns(words, object), columns(truth))


def test_losses_are_mixed_with_the_uniform_distribution():
    """Two actions after 8 training rows: 8 parts of the prediction, 2 of one half."""
    predicted = np.array([[1.0, 0.0], [1.0, 0.0], [0.25, 0.75]])
    losses = expected_losses(predicted, np.eye(2)[[0, 1, 1]], 8)
    np.testing.assert_allclose(losses, -np.log([9 / 10, 1 / 10, 7 / 10]))


class Recorder:
    """Predicts the training shares and notes what it was shown."""

    def __init__(self):
        self.calls = []

    def __call__(self, design, action, seed, weight):
        assert weight is None  # choices count once each
        shares = np.bincount(action) / action.size
        self.calls.append((design.belief[:, 0], action, seed))
        return lambda seen: np.tile(shares, (len(seen.belief), 1))


def choices(n_contexts=12, n_reps=3, actions=3):
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(n_contexts), n_reps)
    truth = rng.integers(0, 2, n_contexts)[context]
    belief = (context + 1) / (n_contexts + 1)
    return as_choices(belief, rng.integers(0, actions, context.size), truth, context)


def fitted(learner, data, n_folds, seed, inputs=None):
    content = np.arange(data.n_contexts, dtype=np.uint64)
    inputs = designs(data, None)[0] if inputs is None else inputs
    return cross_fitted_losses(learner, inputs, data, content, n_folds, seed)


def test_every_row_is_judged_by_a_learner_that_saw_no_row_of_its_context():
    data, recorder = choices(40), Recorder()
    losses = fitted(recorder, data, 5, 7)
    assert len(recorder.calls) == 5
    left_out = []
    for belief, action, seed in recorder.calls:
        test = ~np.isin(data.belief, belief)
        left_out.append(set(data.context[test]))
        assert len(left_out[-1]) == 8
        shares = np.bincount(action, minlength=3) / action.size
        mixed = (action.size * shares + 1) / (action.size + 3)
        np.testing.assert_allclose(losses[test], -np.log(mixed[data.action[test]]))
        assert seed == 7
    assert set().union(*left_out) == set(range(40))
    np.testing.assert_array_equal(losses, fitted(Recorder(), data, 5, 7))
    assert (losses != fitted(Recorder(), data, 5, 8)).any()


def test_nothing_is_fitted_where_there_is_nothing_to_learn():
    data = choices(10, 2, actions=1)
    data = as_choices(data.belief, ["yes"] * 20, data.truth, data.context)
    recorder = Recorder()
    np.testing.assert_allclose(fitted(recorder, data, 5, 0), 0, atol=1e-12)
    varying = choices(10, 2)
    losses = fitted(recorder, varying, 5, 0, design(np.full(20, 0.5)))
    assert recorder.calls == []
    # The shares of the training rows, in both.
    np.testing.assert_allclose(losses, fitted(recorder, varying, 5, 0))


def test_an_action_that_training_lacks_costs_a_finite_loss():
    """Action "rare" occurs in one context alone: its fold has never seen it."""
    context = np.repeat(np.arange(10), 2)
    action = np.where(context == 3, "rare", np.where(np.arange(20) % 2, "no", "yes"))
    data = as_choices(context / 10, action, context % 2, context)
    losses = fitted(Recorder(), data, 10, 0)
    np.testing.assert_allclose(losses[context == 3], -math.log(1 / (18 + 3)))


def test_features_are_numbers_or_words_in_the_order_of_their_names():
    columns = {"n": [1, 2, 3], "gap": [1.5, None, 2.5]}
    frame = pd.DataFrame(columns | {"flag": [True, False, True], "w": ["a", None, "b"]})
    numbers, words = as_features(frame, 3)
    np.testing.assert_array_equal(numbers, [[1.5, 1], [np.nan, 2], [2.5, 3]])
    assert words.tolist() == [["True", "a"], ["False", "(not shown)"], ["True", "b"]]
    numbers, words = as_features(np.array([[1, "a"], [2, "b"]], dtype=object), 2)
    assert (numbers.tolist(), words.tolist()) == ([[1], [2]], [["a"], ["b"]])
