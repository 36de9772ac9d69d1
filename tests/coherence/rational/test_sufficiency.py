"""sufficiency: scatter alone is not caught, a hidden signal is, and no noise is the old test."""

import numpy as np
import pytest

from coherence import residual_covariance_test
from coherence.rational.fit import fit_rational_agent
from coherence.rational.sufficiency import excess_covariance


def agent_of(data):
    return fit_rational_agent(*data.arrays, context=data.context)


@pytest.mark.lengthy
def test_scatter_that_misleads_others_does_not_mislead_this_one(drawn):
    """Of 10 coherent agents with noise .3 the residual covariance accuses nearly all."""
    fooled, accused = 0, 0
    for seed in range(10):
        data = drawn(seed, n=400, sd=0.3)
        raw = residual_covariance_test(*data.arrays, context=data.context, n_draws=199, rng=seed)
        fooled += raw.pvalue <= 0.05
        accused += agent_of(data).test(n_draws=199, rng=seed).pvalue <= 0.05
    assert fooled >= 7
    assert accused <= 3  # P(more than 3 of 10 at .05) = .001


@pytest.mark.lengthy
def test_a_hidden_signal_is_seen_through_the_noise(drawn):
    seen = [
        agent_of(drawn(seed, signal=0.25)).test(n_draws=199, rng=seed).pvalue <= 0.05
        for seed in range(4)
    ]
    assert sum(seen) >= 3


@pytest.mark.lengthy
def test_what_the_reports_leave_open_is_taken_off(drawn):
    data = drawn(1, n=1000, sd=0.2)
    agent = agent_of(data)
    excess = excess_covariance(agent.latent, agent.chosen.choices)
    error = excess.influence.std(axis=0) / np.sqrt(1000)
    assert (np.abs(excess.mean) < 3.5 * error).all()
    assert excess.mean.sum() == pytest.approx(0, abs=1e-9)
    # What is left open of the belief is variance that state and action share.
    weight, points = agent.latent.posterior.given_reports, agent.latent.model.points
    left = weight @ points**2 - (weight @ points) ** 2
    assert left.mean() > 1.5 * error.max()


def test_without_noise_residual_covariance_is_the_test(drawn):
    verdict = agent_of(drawn(2, sd=0.0)).test(n_draws=99, rng=5)
    assert np.isnan(verdict.pvalue)
    assert "residual_covariance_test" in verdict.reason


def test_names_say_which_state(drawn):
    verdict = agent_of(drawn(3, n=60)).test(n_draws=99, rng=1)
    assert verdict.components["component"].tolist() == [
        "P(defer | 1) - P(defer | 0)",
        "P(no | 1) - P(no | 0)",
        "P(yes | 1) - P(yes | 0)",
        "hidden shift of belief",
    ]
