"""taste: the share of lasting shocks is found, and nothing else of the agent depends on it."""

import math

import numpy as np
import pytest

from coherence import fit_rational_agent, sample_twin


def agent_of(data, **options):
    return fit_rational_agent(*data.arrays, context=data.context, **options)


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
    assert twin.groupby("context")["action"].nunique().mean() == pytest.approx(
        np.mean([np.unique(data.action[data.context == c]).size for c in range(1500)]), abs=0.1
    )
    again = fit_rational_agent(twin["p"], twin["action"], twin["theta"], context=twin["context"])
    assert again.taste[0] == pytest.approx(agent.taste[0], abs=0.08)
    # Marginal choice probabilities are those of the utilities.
    shares = [np.mean(action == "yes") for action in (twin["action"], data.action)]
    assert shares[0] == pytest.approx(shares[1], abs=0.04)


@pytest.mark.slow
def test_its_interval_covers(drawn):
    """More than 8 of 50 intervals of 95% fail in .1% of runs."""
    held = 0
    for seed in range(50):
        interval = agent_of(drawn(seed, n=100, lasting=0.5)).taste[1]
        held += interval.low <= 0.5 <= interval.high
    assert held >= 42
