"""ascent: the maximum that another program finds, and an honest word where there is none."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from coherence.rational.ascent import Penalty, Slope, ascend

RNG = np.random.default_rng(2)
X = np.column_stack([np.ones(400), RNG.normal(size=(400, 2))])
Y = (RNG.random(400) < expit(X @ [0.3, 1.0, -2.0])).astype(float)
FREE = Penalty(np.zeros(3), np.zeros(3))


def value(b):
    return float((Y * (X @ b) - np.logaddexp(0, X @ b)).sum())


def slope(b):
    scores = X * (Y - expit(X @ b))[:, None]
    return Slope(value(b), scores.sum(axis=0), scores.T @ scores)


def test_a_logit_ends_where_statsmodels_does():
    end = ascend(slope, np.zeros(3), FREE, 400)
    assert end.converged
    assert end.parameters == pytest.approx(sm.Logit(Y, X).fit(disp=0).params, abs=1e-4)


def test_a_penalty_holds_what_it_weighs():
    held = Penalty(np.array([0.0, 1e6, 0.0]), np.array([0.0, 0.5, 0.0]))
    end = ascend(slope, np.zeros(3), held, 400)
    assert end.parameters[1] == pytest.approx(0.5, abs=1e-3)
    assert held.value(np.array([9.0, 1.5, 9.0])) == pytest.approx(0.5e6)
    assert held.slope(np.array([9.0, 1.5, 9.0])).tolist() == [0.0, 1e6, 0.0]


def test_an_ascent_without_an_end_says_so():
    """The slope promises what the value does not keep."""

    def wrong(b):
        right = slope(b)
        return Slope(right.value, -right.gradient, right.curvature)

    assert not ascend(wrong, np.zeros(3), FREE, 400).converged
