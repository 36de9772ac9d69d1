"""P-values of twins keep their level for coherent agents with noise, and see one that leaks."""

import numpy as np
import pytest
from designs import SCATTERED
from scipy import stats

from coherence import analyze, simulate

N_TWINS = 39  # the fewest with which p <= .05 on two sides is possible
CHECKS = ["residual_covariance", "cmi", "iterated_expectation"]


def _pvalues(table, seed, monkeypatch):
    monkeypatch.setattr("coherence.analysis.analyze.FEWEST_TWINS", N_TWINS)
    present = CHECKS if "z" in table else CHECKS[:2]
    results = analyze(table, checks=present, twins=N_TWINS, rng=seed).results
    return results.set_index("check")["twin_pvalue"]


def _simulated(agent, seed):
    return simulate(agent, n_contexts=200, n_reps=5, prompts=["standard"], rng=seed).drop(
        columns=[f"x_{number}" for number in range(1, 7)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["noisy", "rational"])
def test_coherent_agents_are_seldom_outside_their_twins(agent, monkeypatch):
    found = [_pvalues(_simulated(agent, seed), seed, monkeypatch) for seed in range(60)]
    most = stats.binom.ppf(0.999, 60, 0.05)
    for check in CHECKS:
        assert sum(pvalues[check] <= 0.05 for pvalues in found) <= most, check


@pytest.mark.slow
@pytest.mark.parametrize("design", SCATTERED[:3], ids=lambda design: design.name)
def test_scatter_of_any_size_is_what_twins_have_too(design, monkeypatch):
    rejected = 0
    for seed in range(60):
        table = design.draw(np.random.default_rng(seed)).drop(columns="exact")
        rejected += _pvalues(table, seed, monkeypatch)["residual_covariance"] <= 0.05
    assert rejected <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.slow
def test_a_clairvoyant_agent_is_outside_its_twins(monkeypatch):
    found = [_pvalues(_simulated("clairvoyant", seed), seed, monkeypatch) for seed in range(10)]
    assert all(pvalues["residual_covariance"] <= 0.05 for pvalues in found)
