"""Belief, action and truth together: aligned codes, and which state the belief is in."""

import numpy as np
import pytest

from coherence import InputError
from coherence.statistics.evaluation import as_choices


def test_choices_hold_codes_and_labels():
    data = as_choices([0.1, 0.2, 0.3], ["x", "y", "x"], [0, 1, 0], ["c", "d", "c"])
    assert (data.n_rows, data.n_contexts) == (3, 2)
    assert (data.actions, data.states, data.contexts) == (("x", "y"), (0, 1), ("c", "d"))
    assert (data.action.tolist(), data.context.tolist()) == ([0, 1, 0], [0, 1, 0])


@pytest.mark.parametrize(
    ("action", "truth", "reason"),
    [
        (["x"] * 10, [0, 1] * 5, "only one action was seen ('x')"),
        (["x", "y"] * 5, [1] * 10, "truth is constant (1)"),
        (["x", "y"] * 5, [0, 1] * 5, ""),
        (["x", "y"] * 4 + ["x"], [0, 1] * 4 + [0], "9 contexts are fewer than 10"),
    ],
)
def test_degenerate_data_say_why(action, truth, reason):
    assert as_choices(np.full(len(action), 0.5), action, truth, None).degenerate == reason


def test_one_action_with_all_probability_is_one_action():
    data = as_choices([0.5] * 12, [[1.0, 0.0]] * 12, [0, 1] * 6, None)
    assert data.degenerate == "only one action was seen (0)"


BELIEF = [0.1, 0.8, 0.3]
ACTION = ["x", "y", "x"]


@pytest.mark.parametrize("positive", ["ja", "nein"])
def test_the_named_state_is_the_last_one_whatever_the_alphabet(positive):
    data = as_choices(BELIEF, ACTION, ["ja", "nein", "ja"], None, positive=positive, oriented=True)
    assert data.states[1] == positive
    assert data.truth.tolist() == [int(label == positive) for label in ["ja", "nein", "ja"]]


@pytest.mark.parametrize(
    ("truth", "states"),
    [
        (["no", "Yes", "no"], ("no", "Yes")),  # capitals come first in the alphabet
        ([False, True, False], (False, True)),
        ([0.0, 1.0, 0.0], (0.0, 1.0)),
        (["0", "1", "0"], ("0", "1")),
        (["FALSE", "true", "FALSE"], ("FALSE", "true")),
    ],
)
def test_known_pairs_need_no_word(truth, states):
    data = as_choices(BELIEF, ACTION, truth, None, oriented=True)
    assert data.states == states
    assert data.truth.tolist() == [0, 1, 0]


def test_a_belief_in_one_of_several_states_is_held_against_the_rest():
    data = as_choices(BELIEF, ACTION, ["a", "b", "c"], None, positive="b")
    assert (data.states, data.truth.tolist()) == (("not b", "b"), [0, 1, 0])
    with pytest.raises(InputError, match="received 'b' with beliefs over 3 states"):
        as_choices([[0.2, 0.2, 0.6]] * 3, ACTION, ["a", "b", "c"], None, positive="b")
