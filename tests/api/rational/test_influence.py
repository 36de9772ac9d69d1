"""influence: the sandwich errors of another program, and ends within the range of a quantity."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from coherence.rational.influence import derivative, influence_of, standard_error, with_ends

RNG = np.random.default_rng(3)
CONTEXT = np.repeat(np.arange(80), 3)
X = np.column_stack([np.ones(240), RNG.normal(size=80)[CONTEXT]])
Y = X @ [1.0, 2.0] + RNG.normal(size=80)[CONTEXT] + RNG.normal(size=240)


def summed(rows):
    return np.stack([np.bincount(CONTEXT, weights=column) for column in rows.T], axis=1)


def test_errors_are_clustered_least_squares():
    theirs = sm.OLS(Y, X).fit()
    scores = summed(X * theirs.resid[:, None])
    slope = derivative(lambda b: summed(X * (Y - X @ b)[:, None]).mean(axis=0), theirs.params)
    influence = influence_of(scores, slope)
    robust = theirs.get_robustcov_results("cluster", groups=CONTEXT, use_correction=False)
    # Theirs has no small-sample factor then; this one has that of a mean of 80.
    wanted = robust.bse * np.sqrt(80 / 79)
    assert standard_error(influence) == pytest.approx(wanted, rel=1e-6)


def test_directions_that_change_nothing_are_left_out():
    """Utilities count by their differences: the sum of all moves nothing."""
    singular = np.array([[2.0, -2.0], [-2.0, 2.0]])
    influence = influence_of(np.array([[1.0, -1.0], [-1.0, 1.0]]), singular)
    assert influence == pytest.approx(np.array([[-0.25, 0.25], [0.25, -0.25]]))


def test_the_delta_method_and_its_ends():
    values = np.random.default_rng(1).normal(2.0, 0.5, 101)
    influence = (values - values.mean())[:, None]
    mean = values.mean(keepdims=True)
    found = with_ends(lambda x: 2 * x, mean, influence, np.exp, most=4.5)
    half = 1.98397 * 2 * stats.sem(values)
    assert found["value"] == pytest.approx(np.exp(2 * mean))
    assert found["low"] == pytest.approx(np.exp(2 * mean - half), rel=1e-5)
    assert with_ends(np.exp, mean, influence, most=7.0)["high"] == [7.0]
