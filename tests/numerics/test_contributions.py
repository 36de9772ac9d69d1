"""What contexts add to an estimate, against the estimate without each of them.

Breaks if contributions are of another scale, order or estimate than the statistic.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from coherence import AGENTS, analyze, simulate
from coherence.statistics.adjustment import differences, explained_by, left_over
from coherence.statistics.sequences import share_of_covariance
from tests.api.tables import calibration

SMOOTH = {
    "sufficiency": ["sufficiency"],
    "calibration": ["calibration:rmse", "calibration:brier"],
    "prompt_consistency": ["prompt_consistency:bayes"],
    "iterated_expectation": ["iterated_expectation", "iterated_expectation:noise_removed"],
}
NOT_SMOOTH = {"cmi", "predictive_gain", "monotone_choice:yes/no", "iterated_expectation:relative"}


def results_of(runs, checks):
    report = analyze(runs, checks=checks, rng=1)
    return {result.check: result for result in report.evaluations[0].results}


def compared(result):
    """The number whose contributions they are."""
    return result.statistic if result.mean_square is None else result.mean_square


@pytest.fixture(scope="module")
def runs():
    """Beliefs that scatter and hang on the prompt, and choices that know more than they say."""
    agent = AGENTS["wordbound"].with_parameters(report_noise=0.05, hidden_signal=0.2)
    return simulate(agent, n_contexts=80, n_reps=3, rng=2)


@pytest.mark.lengthy
@pytest.mark.parametrize("check", SMOOTH)
def test_contributions_are_the_changes_by_leaving_one_context_out(runs, check):
    if check in ("sufficiency", "calibration"):
        # Of five beliefs, so that knots and bins stay where they are when a context goes, and far
        # off, for what a square of nearly nothing changes by is not linear.
        runs = runs.assign(p=(5 * runs["p_true"]).clip(upper=4.9) // 1 / 10 + 0.4)
    whole = results_of(runs, [check])
    contexts = sorted(set(runs["context"]))
    left_out = contexts[::8]
    without = {one: results_of(runs[runs["context"] != one], [check]) for one in left_out}
    for name in SMOOTH[check]:
        result = whole[name]
        assert set(result.contributions.index) == set(contexts)
        assert result.contributions.sum() == pytest.approx(0, abs=1e-12)
        changes = [compared(result) - compared(without[one][name]) for one in left_out]
        expected = result.contributions.loc[left_out].to_numpy()
        assert np.corrcoef(changes, expected)[0, 1] > 0.98
        slope = expected @ changes / (expected @ expected)
        assert slope == pytest.approx(1, abs=0.1)
        if result.interval is not None and result.mean_square is None:
            value, interval = result.statistic, result.interval
            half = min(interval.high - value, value - interval.low)  # the other allows for rounding
            error = np.sqrt((result.contributions**2).sum())  # a standard error over contexts
            assert half == pytest.approx(1.99 * error, rel=0.1)


def test_a_mean_has_the_contributions_of_a_mean(runs):
    """The change of a mean by leaving one of n out is n / (n - 1) times the contribution."""
    rows = runs[runs["action"].notna()]
    lost = rows.sample(frac=0.7, random_state=1)  # contexts of unequal size count once each
    brier = calibration(lost["p"], lost["theta"], context=lost["context"])[0]
    of_context = ((lost["p"] - lost["theta"]) ** 2).groupby(lost["context"]).mean()
    assert brier.statistic == pytest.approx(of_context.mean())
    expected = (of_context - of_context.mean()) / len(of_context)
    pd.testing.assert_series_equal(
        brier.contributions.sort_index(), expected, check_names=False, check_dtype=False
    )


@pytest.mark.lengthy
def test_what_is_not_smooth_has_none(runs):
    checks = ["cmi", "predictive_gain", "monotone_choice", "iterated_expectation"]
    found = results_of(runs, checks)
    assert set(found) >= NOT_SMOOTH
    assert {name for name in NOT_SMOOTH if found[name].contributions is not None} == set()


def test_what_groups_share_is_no_part_of_a_share_of_covariance():
    rng = np.random.default_rng(2)
    group, state = np.arange(240) % 12, rng.normal(size=240)
    added = 0.2 * state * rng.random(240) / 240
    given = added.sum(), 0.01, added
    score, shift = state + rng.normal(size=240), 5 * rng.normal(size=12)[group]
    plain = share_of_covariance(*given, score, state, group)
    shifted = share_of_covariance(*given, score + shift, state - 2 * shift, group)
    assert shifted == pytest.approx(plain)
    value, low, high, _ = plain
    assert low < value < high
    assert np.isnan(share_of_covariance(*given, score, state, group % 9)[0])


# What a belief explains, and the adjusted difference with its error, against statsmodels.


def sample(seed=0, n=80):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    state = (rng.random(n) < belief).astype(float)
    return belief, state, belief + 0.2 * state + rng.normal(size=n) * (0.1 + belief)


def test_difference_and_error_are_those_of_least_squares_with_hc3():
    belief, state, value = sample()
    basis = explained_by(belief)
    found, contributions = differences(value[:, None], state, basis)
    fit = sm.OLS(value, np.column_stack([state, basis])).fit(cov_type="HC3")
    assert found.estimate[0] == pytest.approx(fit.params[0])
    assert found.standard_error[0] == pytest.approx(fit.bse[0])
    assert contributions.sum(axis=0) == pytest.approx(0, abs=0.02)
    reach = (found["high"] - found["estimate"]) / found["standard_error"]
    assert stats.t.isf(0.025, 80) < reach[0] < stats.t.isf(0.025, 2)


def test_degrees_of_freedom_of_a_difference_of_means_are_welch_like():
    """Without a belief, Satterthwaite's degrees of freedom have a closed form."""
    state = np.repeat([1.0, 0.0], [5, 45])
    noise = np.random.default_rng(1).normal(size=(50, 1))
    found, _ = differences(noise, state, explained_by(np.full(50, 0.5)))
    # HC3 of a group of size m has variance s^2 / (m - 1), and s^2 / m has m - 1 degrees of freedom.
    parts = np.array([1 / 4, 1 / 44])
    degrees = parts.sum() ** 2 / (parts**2 / [4, 44]).sum()
    reach = (found["estimate"] - found["low"]) / found["standard_error"]
    assert reach[0] == pytest.approx(stats.t.isf(0.025, degrees))


def test_error_over_groups_is_that_of_leaving_each_out():
    belief, state, value = sample(n=90)
    group = np.repeat(np.arange(15), 6)
    basis = explained_by(belief)
    found, _ = differences(value[:, None], state, basis, group)
    columns = np.column_stack([state, basis])
    jackknifed = []
    for number in range(15):
        kept = group != number
        jackknifed.append(np.linalg.lstsq(columns[kept], value[kept])[0][0])
    gaps = np.array(jackknifed) - found.estimate[0]
    assert found.standard_error[0] == pytest.approx(np.sqrt((gaps**2).sum()))


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_what_a_basis_leaves_is_that_of_least_squares_at_any_size(size):
    belief, _, value = sample()
    basis = explained_by(belief)
    expected = value - basis @ np.linalg.lstsq(basis, value)[0]
    np.testing.assert_allclose(left_over(size * value[:, None], basis)[:, 0], size * expected)
    assert not left_over(size * basis @ np.ones((basis.shape[1], 1)), basis).any()


def test_a_smooth_curve_is_explained_and_so_is_a_jump_at_common_beliefs():
    belief = np.linspace(0, 1, 200)
    left = left_over(np.stack([belief**3, np.ones(200)], axis=1), explained_by(belief))
    assert np.abs(left).max() < 1e-9
    heaped = np.repeat(np.arange(11) / 10, 8)
    assert not left_over((heaped * 7919 % 1)[:, None], explained_by(heaped)).any()
