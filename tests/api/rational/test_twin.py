"""Twins: they have what was fitted, and what noise alone makes of a check."""

import numpy as np
import pytest

from coherence import (
    fit_rational_agent,
    residual_covariance_test,
    sample_twin,
    simulate,
    twin_results,
)


def agent_of(data, **options):
    return fit_rational_agent(*data.arrays, context=data.context, **options)


@pytest.mark.lengthy
def test_a_twin_of_a_twin_is_fitted_alike(drawn):
    agent = agent_of(drawn(1, n=1500))
    twin = sample_twin(agent, rng=2)
    again = fit_rational_agent(twin["p"], twin["action"], twin["theta"], context=twin["context"])
    assert again.noise["sd"][0] == pytest.approx(agent.noise["sd"][0], rel=0.05)
    assert again.thresholds["belief"].to_numpy() == pytest.approx(
        agent.thresholds["belief"].to_numpy(), abs=0.03
    )
    assert twin["p"].mean() == pytest.approx(drawn(1, n=1500).report.mean(), abs=0.02)
    assert twin.groupby("context", sort=False)["rep"].max().eq(4).all()
    assert twin.groupby("context")["theta"].nunique().eq(1).all()


@pytest.mark.lengthy
def test_a_leaky_agent_has_rational_twins(drawn):
    data = drawn(2, n=200, signal=0.4)
    agent = agent_of(data)
    seen = residual_covariance_test(*data.arrays, context=data.context, n_draws=199, rng=1)
    twins = twin_results(agent, residual_covariance_test, n_twins=20, rng=np.random.default_rng(3))
    # Noise alone moves the raw shift of twins above 0, and not as far as the signal does.
    assert 0 < twins["estimate"].median() < seen.statistic
    assert (twins["estimate"] >= seen.statistic).mean() <= 0.1
    calm = [
        fit_rational_agent(twin["p"], twin["action"], twin["theta"], context=twin["context"]).test()
        for twin in (sample_twin(agent, rng=seed) for seed in range(5))
    ]
    assert sum(verdict.pvalue <= 0.05 for verdict in calm) <= 2  # P(more of 5) = .001


@pytest.mark.lengthy
def test_results_do_not_depend_on_the_number_of_processes(drawn):
    agent = agent_of(drawn(3, n=40))
    one, two = (
        twin_results(agent, residual_covariance_test, n_twins=3, n_jobs=n_jobs, rng=5)
        for n_jobs in (1, 2)
    )
    assert one.equals(two)


def test_exact_beliefs_are_reported_exactly(drawn):
    data = drawn(4, n=60, sd=0.0, grid=0)
    twin = sample_twin(agent_of(data), rng=1)
    assert twin["p"].to_numpy() == pytest.approx(data.report)


@pytest.mark.lengthy
def test_shared_noise_joins_the_reports_of_a_context(drawn):
    agent = agent_of(drawn(5, n=800, sd=0.05), shared_noise=0.15)
    twin = sample_twin(agent, rng=1)
    centre = twin.groupby("context")["p"].transform("mean")
    # Reports of a context still lie as close together as they did.
    assert (twin["p"] - centre).std() == pytest.approx(0.045, abs=0.01)


def test_exact_reports_beside_exact_posteriors_have_twins():
    runs = simulate("shaded", n_contexts=40, n_reps=2, rng=1)
    rows = runs[runs["action"].notna()]
    arrays = rows["p"], rows["action"], rows["theta"]
    agent = fit_rational_agent(*arrays, exact=rows["p_true"], context=rows["context"], noise=0)
    assert sample_twin(agent, rng=1)["p_true"].between(0, 1).all()
