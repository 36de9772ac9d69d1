"""estimating: influences give the sandwich errors of another program."""

import numpy as np
import pytest
import statsmodels.api as sm

from coherence.rational.estimating import Equations, derivative, inverse_of, standard_error

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
    equations = Equations(scores, inverse_of(slope))
    robust = theirs.get_robustcov_results("cluster", groups=CONTEXT, use_correction=False)
    # Theirs has no small-sample factor then; this one has that of a mean of 80.
    wanted = robust.bse * np.sqrt(80 / 79)
    assert standard_error(equations.influence) == pytest.approx(wanted, rel=1e-6)
    both = equations.of(np.array([[1.0, 1.0]]))
    assert both[:, 0] == pytest.approx(equations.influence.sum(axis=1))


def test_directions_that_change_nothing_are_left_out():
    """Utilities count by their differences: the sum of all moves nothing."""
    singular = np.array([[2.0, -2.0], [-2.0, 2.0]])
    assert inverse_of(singular) @ singular @ inverse_of(singular) == pytest.approx(
        inverse_of(singular)
    )
    assert np.abs(inverse_of(singular)).max() < 1
