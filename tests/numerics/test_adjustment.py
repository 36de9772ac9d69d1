"""What a belief explains, and the adjusted difference with its error, against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm

from coherence.statistics.adjustment import differences, explained_by, left_over


def sample(seed=0, n=80):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    state = (rng.random(n) < belief).astype(float)
    return belief, state, belief + 0.2 * state + rng.normal(size=n) * (0.1 + belief)


def test_difference_and_error_are_those_of_least_squares_with_hc3():
    belief, state, value = sample()
    basis = explained_by(belief)
    found = differences(value[:, None], state, basis)
    fit = sm.OLS(value, np.column_stack([state, basis])).fit(cov_type="HC3")
    assert found.estimate[0] == pytest.approx(fit.params[0])
    assert found.standard_error[0] == pytest.approx(fit.bse[0])
    assert found.contributions.sum(axis=0) == pytest.approx(0, abs=0.02)
    assert 2 < found.degrees < 80


def test_degrees_of_freedom_of_a_difference_of_means_are_welch_like():
    """Without a belief, Satterthwaite's degrees of freedom have a closed form."""
    state = np.repeat([1.0, 0.0], [5, 45])
    noise = np.random.default_rng(1).normal(size=(50, 1))
    found = differences(noise, state, explained_by(np.full(50, 0.5)))
    # HC3 of a group of size m has variance s^2 / (m - 1), and s^2 / m has m - 1 degrees of freedom.
    parts = np.array([1 / 4, 1 / 44])
    assert found.degrees == pytest.approx(parts.sum() ** 2 / (parts**2 / [4, 44]).sum())


def test_error_over_groups_is_that_of_leaving_each_out():
    belief, state, value = sample(n=90)
    group = np.repeat(np.arange(15), 6)
    basis = explained_by(belief)
    found = differences(value[:, None], state, basis, group)
    columns = np.column_stack([state, basis])
    jackknifed = []
    for number in range(15):
        kept = group != number
        jackknifed.append(np.linalg.lstsq(columns[kept], value[kept])[0][0])
    gaps = np.array(jackknifed) - found.estimate[0]
    assert found.standard_error[0] == pytest.approx(np.sqrt((gaps**2).sum()))


def test_a_smooth_curve_is_explained_and_so_is_a_jump_at_common_beliefs():
    belief = np.linspace(0, 1, 200)
    left = left_over(np.stack([belief**3, np.ones(200)], axis=1), explained_by(belief))
    assert np.abs(left).max() < 1e-9
    heaped = np.repeat(np.arange(11) / 10, 8)
    assert not left_over((heaped * 7919 % 1)[:, None], explained_by(heaped)).any()
