"""Calibration by redrawn outcomes keeps its size, and intervals of scores their coverage."""

import numpy as np
import pytest
from scipy import stats

from coherence import calibration_test
from coherence.result import rejects

N = 120
FORECASTS = {
    "continuous": lambda rng, n: rng.random(n),
    "grid of .05": lambda rng, n: np.round(20 * rng.random(n)) / 20,
    "three values": lambda rng, n: rng.choice([0.3, 0.5, 0.9], n),
    "extreme": lambda rng, n: np.clip(rng.beta(0.15, 0.15, n), 0.001, 0.999),
    "rare outcomes": lambda rng, n: np.round(rng.beta(0.5, 20, n), 3),
    "one value": lambda rng, n: np.full(n, 0.7),
}


def happened(rng, chance):
    return (rng.random(chance.size) < chance).astype(int)


@pytest.mark.lengthy
@pytest.mark.parametrize("n_cases", [12, 60])
@pytest.mark.parametrize("forecasts", FORECASTS)
def test_calibrated_forecasts_are_rejected_as_often_as_stated(forecasts, n_cases):
    """Breaks if ties of the statistic, few cases or grids were counted wrongly."""
    rng = np.random.default_rng([7, n_cases])
    n_rejected = 0
    for _ in range(N):
        stated = FORECASTS[forecasts](rng, n_cases)
        result = calibration_test(stated, happened(rng, stated), n_draws=99, rng=rng)
        n_rejected += rejects(result.pvalue)
    assert n_rejected <= stats.binom.ppf(0.999, N, 0.05)


@pytest.mark.lengthy
def test_reports_of_one_case_are_not_independent():
    """Breaks if an outcome were drawn for each row of a case."""
    rng = np.random.default_rng(9)
    n_rejected, case = 0, np.repeat(np.arange(60), 4)
    for _ in range(N):
        stated = np.clip(rng.random(60)[case] + rng.normal(0, 0.1, case.size), 0, 1)
        truth = happened(rng, np.bincount(case, weights=stated) / 4)[case]
        n_rejected += rejects(
            calibration_test(stated, truth, context=case, n_draws=99, rng=rng).pvalue
        )
    assert n_rejected <= stats.binom.ppf(0.999, N, 0.05)


@pytest.mark.lengthy
def test_overconfidence_is_seen_and_the_intervals_of_scores_hold():
    rng = np.random.default_rng(4)
    n_rejected = n_brier = n_log = 0
    for _ in range(N):
        chance = rng.random(300)
        odds = (chance / (1 - chance)) ** 2
        stated, truth = odds / (1 + odds), happened(rng, chance)
        n_rejected += rejects(calibration_test(stated, truth, n_draws=99, rng=rng).pvalue)
        scores = calibration_test(chance, truth, n_draws=19, rng=rng).fitted
        # Of chances that are uniform: E p(1 - p) = 1/6, and E of the entropy = 1/2.
        n_brier += scores.brier_interval.low <= 1 / 6 <= scores.brier_interval.high
        n_log += scores.log_interval.low <= 1 / 2 <= scores.log_interval.high
    assert n_rejected >= 0.8 * N
    assert min(n_brier, n_log) >= stats.binom.ppf(0.001, N, 0.95)


def several(rng, n, n_states, power):
    """Forecasts over several states, calibrated or sharpened by a power, and what happened."""
    chance = rng.dirichlet(np.full(n_states, 1.5), n)
    stated = chance**power / (chance**power).sum(axis=1, keepdims=True)
    outcome = (rng.random((n, 1)) >= np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
    return stated, chance, outcome


def true_classwise_error(rng, n_states, power):
    """Root mean square gap of ten bins of each state, in a population."""
    stated, chance, _ = several(rng, 400_000, n_states, power)
    squares = []
    for state in range(n_states):
        values = stated[:, state]
        bins = np.searchsorted(np.quantile(values, np.linspace(0.1, 0.9, 9)), values)
        gaps = np.bincount(bins, weights=values - chance[:, state]) / np.bincount(bins)
        squares.append(np.mean(gaps**2))
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("n_states", "n_cases", "power"), [(3, 60, 1.0), (3, 200, 1.8), (5, 200, 1.8), (4, 30, 1.0)]
)
def test_forecasts_over_several_states_keep_size_and_coverage(n_states, n_cases, power):
    """Breaks if states were taken as independent, in the redrawing or in the interval."""
    rng = np.random.default_rng([11, n_states, n_cases])
    true, options = true_classwise_error(rng, n_states, power), {"states": range(n_states)}
    n_rejected = n_missed = 0
    for _ in range(N):
        stated, _, outcome = several(rng, n_cases, n_states, power)
        result = calibration_test(stated, outcome, n_draws=99, rng=rng, **options)
        n_rejected += rejects(result.pvalue)
        interval = result.fitted.calibration_interval
        n_missed += not interval.low <= true <= interval.high
    assert n_missed <= stats.binom.ppf(0.999, N, 0.05)
    if power == 1:
        assert n_rejected <= stats.binom.ppf(0.999, N, 0.05)
    else:
        assert n_rejected > N / 2
