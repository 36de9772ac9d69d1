"""Choice: statsmodels' multinomial logit, exact derivatives, weights as published, thresholds."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse

from coherence.rational.choice import (
    WEIGHTINGS,
    Logit,
    best_in_turn,
    choices_of,
    crossing,
    gonzalez_wu_weight,
    powers,
    prelec_weight,
    threshold_table,
)

POINTS = np.linspace(0.02, 0.98, 25)


def exact(data):
    points, codes = np.unique(data.report, return_inverse=True)
    chosen = pd.Categorical(data.action).codes
    weight = sparse.csr_array((np.ones(codes.size), (np.arange(codes.size), codes)))
    choices = choices_of(np.eye(3)[chosen], np.arange(codes.size), data.truth.astype(float))
    return points, weight, choices, chosen


def test_without_noise_and_lapses_it_is_the_logit_of_statsmodels(drawn):
    data = drawn(5, n=4000, reps=1, sd=0.0, grid=0)
    points, weight, choices, chosen = exact(data)
    model = Logit(points, 3, powers(1), lapses=False)
    end = model.fit(weight, choices)
    found = model.utilities(end.parameters)
    theirs = sm.MNLogit(chosen, sm.add_constant(2 * data.report - 1)).fit(disp=0)
    assert found[:, 1:] - found[:, :1] == pytest.approx(np.asarray(theirs.params), abs=1e-4)
    assert 4000 * end.value == pytest.approx(theirs.llf, abs=0.1)


@pytest.mark.parametrize("weighting", [powers(3), powers(1, shifted=True), *WEIGHTINGS.values()])
def test_scores_add_up_to_the_gradient(drawn, weighting):
    data = drawn(2, n=50, reps=3)
    rng = np.random.default_rng(1)
    weight = rng.dirichlet(np.ones(21), 50)
    share = np.eye(3)[pd.Categorical(data.action).codes]
    choices = choices_of(share, data.context, data.truth[::3].astype(float))
    model = Logit(np.linspace(0, 1, 21), 3, weighting)
    at = rng.normal(0, 0.3, model.n_parameters)

    def value(parameters):
        likelihood = (choices.sums * np.log(model.averaged(parameters, weight, choices))).sum()
        return likelihood - (model.ridge * (parameters - model.centre) ** 2).sum() / 2

    numeric = [(value(at + h) - value(at - h)) / 2e-5 for h in np.eye(at.size) * 1e-5]
    assert model.scores(at, weight, choices).sum(axis=0) == pytest.approx(numeric, abs=1e-4)
    assert model.probabilities(at).sum(axis=2) == pytest.approx(np.ones((2, 21)))


def test_lapses_of_greedy_choices_are_found(drawn):
    """Two thirds of 6% random choices are no best choice."""
    data = drawn(3, n=4000, reps=1, sd=0.0, grid=0, slips=0.06)
    points, weight, choices, _ = exact(data)
    model = Logit(points, 3, powers(1))
    steep = model.fit(weight, choices)
    assert model.lapses(steep.parameters) == pytest.approx(0.06, abs=0.015)
    lower, _ = model.probabilities(steep.parameters)[0][np.searchsorted(points, [0.25, 0.38])]
    assert lower[1] > 0.9


def test_weights_are_those_published():
    """Prelec (1998): exp(-1) is weighed as it is; Gonzalez and Wu (1999): linear in log odds."""
    at = np.array([np.exp(-1)])
    assert prelec_weight(at, 0.4) == pytest.approx(at)
    low, high = prelec_weight(np.array([0.05, 0.9]), 0.65)
    assert low > 0.05
    assert high < 0.9
    weight = gonzalez_wu_weight(POINTS, 0.5, 0.8)
    odds = 0.5 * np.log(POINTS / (1 - POINTS)) + np.log(0.8)
    assert np.log(weight / (1 - weight)) == pytest.approx(odds)
    for same in (prelec_weight(POINTS, 1.0), gonzalez_wu_weight(POINTS, 1.0, 1.0)):
        assert same == pytest.approx(POINTS)
    low, high = powers(1, shifted=True).of_states(np.array([0.5]), np.array([0.2]))
    assert [*low[0], *high[0]] == pytest.approx([1.0, -0.2, 1.0, 0.2])  # half to each side


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


def test_pairs_of_choices_that_agree():
    labels = np.eye(2)[[0, 1, 1, 1, 0, 1]]
    choices = choices_of(labels, np.array([0, 0, 0, 0, 1, 1]), np.array([0.0, 1.0]))
    assert choices.sums.tolist() == [[1, 3], [1, 1]]
    assert choices.agreeing.tolist() == [3, 0]
    policies = np.array([[0.8, 0.2], [0.5, 0.5]])
    both = choices_of(policies, np.array([0, 0]), np.array([0.0]))
    assert both.agreeing == pytest.approx([0.5])
