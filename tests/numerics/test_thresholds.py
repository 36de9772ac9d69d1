"""Thresholds by hand, actions that are never best, costs at a threshold."""

import numpy as np
import pytest

from coherence.rational.choice import (
    WEIGHTINGS,
    Logit,
    best_in_turn,
    crossing,
    powers,
    prelec_weight,
    threshold_table,
)


def lines(constants, slopes):
    """Utilities as constant + slope * belief, in terms of 2 * belief - 1."""
    slopes = np.array(slopes, dtype=float)
    return np.stack([np.array(constants) + slopes / 2, slopes / 2])


def parameters_of(model, utilities):
    return np.r_[utilities.ravel(), np.zeros(model.n_parameters - utilities.size)]


def test_thresholds_by_hand():
    """No 6(.4 - b), defer .5, yes 6(b - .6): defer from .4 - .5/6, yes from .6 + .5/6."""
    model = Logit(np.linspace(0, 1, 11), 3, powers(1))
    parameters = parameters_of(model, lines([-3.6, 2.4, 0.5], [6, -6, 0]))
    table, pairs = threshold_table(model, parameters, ("yes", "no", "defer"))
    assert pairs == [(1, 2), (2, 0)]
    assert table["belief"].tolist() == pytest.approx([0.4 - 0.5 / 6, 0.6 + 0.5 / 6])
    assert table["cost_ratio"].tolist() == pytest.approx([0.4634146, 2.1578947])


def test_an_action_that_is_never_best_has_no_threshold():
    assert best_in_turn(lines([2.4, -1.0, -3.6], [-6, 0, 6])) == [0, 2]
    assert best_in_turn(lines([5.0, 0.0], [0, 1])) == [0]
    # Three lines through one point: the middle one is best nowhere alone.
    assert best_in_turn(lines([1.0, 0.5, 0.0], [-2, -1, 0])) == [0, 2]


def test_a_weighted_threshold_is_the_belief_of_that_weight():
    model = Logit(np.linspace(0, 1, 11), 2, WEIGHTINGS["prelec"])
    parameters = parameters_of(model, lines([0.3, 0.0], [0, 1]))
    parameters[-1] = np.log(0.6)
    belief, weight = crossing(model, parameters, 0, 1)
    assert weight == pytest.approx(0.3)
    assert prelec_weight(np.array([belief]), 0.6)[0] == pytest.approx(0.3)


def test_actions_that_never_meet_have_no_crossing():
    model = Logit(np.linspace(0, 1, 11), 2, powers(1))
    assert np.isnan(crossing(model, parameters_of(model, lines([5.0, 0.0], [0, 1])), 0, 1)).all()
    assert np.isnan(crossing(model, parameters_of(model, lines([5.0, 0.0], [1, 1])), 0, 1)).all()
