"""What contexts add to an estimate, against the estimate without each of them.

Breaks if contributions are of another scale, order or estimate than the statistic.
"""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

from coherence import AGENTS, analyze, simulate
from coherence.statistics.hidden_share import share_of_covariance
from tests.api.tables import calibration

SMOOTH = {
    "sufficiency": ["sufficiency"],
    "calibration": [
        f"calibration:{name}"
        for name in ("rmse", "brier", "calibration_error", "calibration_error_exact")
    ],
    "prompt_consistency": ["prompt_consistency:bayes"],
    "iterated_expectation": ["iterated_expectation", "iterated_expectation:noise_removed"],
}
NOT_SMOOTH = {"cmi", "predictive_gain", "monotone_choice:yes/no"}
NOT_SMOOTH |= {"calibration:ece", "iterated_expectation:relative"}


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
    checks = ["cmi", "predictive_gain", "monotone_choice", "calibration", "iterated_expectation"]
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
    assert astuple(shifted) == pytest.approx(astuple(plain))
    assert plain.low < plain.value < plain.high
    assert np.isnan(share_of_covariance(*given, score, state, group % 9).value)
