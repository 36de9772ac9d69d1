"""Twins and tastes: they have what was fitted, and what noise alone makes of a check."""

import math

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


def refitted(twin):
    return fit_rational_agent(twin["p"], twin["action"], twin["theta"], context=twin["context"])


@pytest.mark.lengthy
def test_a_twin_of_a_twin_is_fitted_alike(drawn):
    agent = agent_of(drawn(1, n=1500))
    twin = sample_twin(agent, rng=2)
    again = refitted(twin)
    assert again.noise["sd"][0] == pytest.approx(agent.noise["sd"][0], rel=0.05)
    beliefs = agent.thresholds["belief"].tolist()
    assert again.thresholds["belief"].tolist() == pytest.approx(beliefs, abs=0.03)
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
    calm = [refitted(sample_twin(agent, rng=seed)).test().pvalue for seed in range(5)]
    assert sum(pvalue <= 0.05 for pvalue in calm) <= 2  # P(more of 5) = .001


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


@pytest.mark.lengthy
@pytest.mark.parametrize("lasting", [0.0, 0.4, 0.8, 1.0])
def test_the_share_of_lasting_shocks_is_found(drawn, lasting):
    share, interval = agent_of(drawn(1, n=1000, lasting=lasting)).taste
    assert share == pytest.approx(lasting, abs=0.12)
    assert interval.low <= lasting <= interval.high
    assert interval.high - interval.low < 0.35


def test_tastes_of_normal_utilities_are_seen(drawn):
    """Another law of tastes than the model's own: some of the choices go together."""
    assert agent_of(drawn(2, n=600, taste=1.5)).taste[1].low > 0.3


def test_one_choice_per_context_tells_nothing(drawn):
    share, interval = agent_of(drawn(3, n=100, reps=1), noise=0.1).taste
    assert math.isnan(share)
    assert interval is None


@pytest.mark.lengthy
def test_a_context_that_is_asked_often_does_not_outweigh_all_others():
    """Over pairs of choices one context of 50 would count as much as 1225 of two."""
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        reps = np.r_[np.full(199, 2), 50]
        belief, context = rng.random(200), np.repeat(np.arange(200), reps)
        truth = (rng.random(200) < belief).astype(int)
        utility = np.stack([np.zeros(200), 6 * (belief - 0.5)], axis=1)[context]
        own, lasting = rng.gumbel(size=utility.shape), rng.gumbel(size=(200, 2))[context]
        shocks = np.where(rng.random((context.size, 1)) < 0.6, lasting, own)
        action = np.argmax(utility + shocks, axis=1)
        agent = fit_rational_agent(belief[context], action, truth[context], context=context)
        interval = agent.taste[1]
        held += interval.low <= 0.6 <= interval.high
    assert held >= 16  # fewer of 20 in .3% of runs where .95 hold


@pytest.mark.lengthy
def test_twins_go_together_as_much(drawn):
    data = drawn(4, n=1500, lasting=0.7)
    agent = agent_of(data)
    twin = sample_twin(agent, rng=1)
    drawn_from = np.mean([np.unique(row).size for row in data.action.reshape(1500, 5)])
    seen = twin.groupby("context")["action"].nunique().mean()
    assert seen == pytest.approx(drawn_from, abs=0.1)
    again = refitted(twin)
    assert again.taste[0] == pytest.approx(agent.taste[0], abs=0.08)
    # Marginal choice probabilities are those of the utilities.
    shares = [np.mean(action == "yes") for action in (twin["action"], data.action)]
    assert shares[0] == pytest.approx(shares[1], abs=0.04)


@pytest.mark.slow
def test_the_interval_of_a_taste_covers(drawn):
    """More than 8 of 50 intervals of 95% fail in .1% of runs."""
    held = 0
    for seed in range(50):
        interval = agent_of(drawn(seed, n=100, lasting=0.5)).taste[1]
        held += interval.low <= 0.5 <= interval.high
    assert held >= 42
