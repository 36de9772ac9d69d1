"""choice: the multinomial logit of another program, exact derivatives, lapses, greedy choices."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse

from coherence.rational.choice import WEIGHTINGS, Logit, choices_of, powers


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


def test_pairs_of_choices_that_agree():
    labels = np.eye(2)[[0, 1, 1, 1, 0, 1]]
    choices = choices_of(labels, np.array([0, 0, 0, 0, 1, 1]), np.array([0.0, 1.0]))
    assert choices.sums.tolist() == [[1, 3], [1, 1]]
    assert choices.agreeing.tolist() == [3, 0]
    policies = np.array([[0.8, 0.2], [0.5, 0.5]])
    both = choices_of(policies, np.array([0, 0]), np.array([0.0]))
    assert both.agreeing == pytest.approx([0.5])
