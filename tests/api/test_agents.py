"""Simulated agents: what they believe, say and do is what their parameters say."""

import numpy as np
import pytest
from scipy import stats

from coherence import AGENTS, InputError, simulate


def test_choices_follow_the_softmax_of_the_documented_utilities():
    agent = AGENTS["rational"].with_parameters(taste=0.0, grid=0.0)
    rng = np.random.default_rng(2)
    chosen = agent.choose(np.full(40000, 0.7), np.zeros(40000), np.zeros((40000, 3)), rng)
    weights = np.exp([6 * 0.1, 6 * -0.3, 0.5])
    for action, share in zip(("yes", "no", "defer"), weights / weights.sum(), strict=True):
        assert abs((chosen == action).mean() - share) < 4 * np.sqrt(share * (1 - share) / 40000)
    runs = simulate("rational", n_contexts=200, n_reps=1, iterated=False, rng=0)
    assert set(runs["p"]) <= {round(step / 20, 2) for step in range(21)}  # the grid of reports


def test_weights_lapses_heaps_and_drift_are_those_of_the_parameters():
    rng = np.random.default_rng(1)
    belief, none = np.full(20_000, 0.1), np.zeros((20_000, 3))
    rational, theta = AGENTS["rational"].with_parameters(taste=0.0), np.zeros(20_000)
    # Prelec's weight of .1 at .6 is exp(-(2.302585^.6)).
    weighted = rational.with_parameters(prelec=0.6).policies(belief, theta, none)
    plain = rational.policies(np.full(20_000, np.exp(-(2.302585**0.6))), theta, none)
    assert weighted["yes"][0] == pytest.approx(plain["yes"][0], abs=1e-5)
    greedy = AGENTS["greedy"]
    assert greedy.policies(belief, theta, none)["no"][0] == pytest.approx(0.95 + 0.05 / 3)
    chosen = greedy.choose(belief, theta, none, rng)
    assert np.mean(chosen == "no") == pytest.approx(0.95 + 0.05 / 3, abs=0.005)
    heaped = AGENTS["heaping"].report(rng.uniform(0.4, 0.6, 20_000), "standard", rng)
    tenths = np.isclose(heaped * 10, np.round(heaped * 10))
    assert np.mean(tenths) == pytest.approx(0.75, abs=0.02)  # half, and half of the others
    runs = simulate(rational.with_parameters(drift=0.2), n_contexts=400, n_reps=5, rng=1)
    means = runs[runs["z_state"].isna()].groupby("rep")["p"].mean()
    # What ends at 0 and 1 drifts less.
    assert means[4] - means[0] == pytest.approx(0.2, abs=0.02)
    with pytest.raises(InputError, match="prelec must be above 0; received 0"):
        rational.with_parameters(prelec=0)


def test_world_is_exact():
    """Features sum to the log-odds, the state follows, beliefs given z average to the posterior."""
    runs = simulate("rational", n_contexts=4000, n_reps=1, prompts=["standard"], rng=1)
    plain = runs[runs["z_state"].isna()].set_index("context")
    log_odds = plain[[f"x_{j}" for j in range(1, 7)]].sum(axis=1)
    exact = plain["p_true"]
    np.testing.assert_allclose(log_odds, np.log(exact / (1 - exact)), atol=0.004)
    assert stats.kstest(exact, "uniform").pvalue > 0.01
    z = (plain["theta"] - exact).sum() / np.sqrt((exact * (1 - exact)).sum())
    assert abs(z) < 3.3
    with_z = runs[runs["z_state"].notna()]
    averaged = (with_z["p_true"] * with_z["p_z"]).groupby(with_z["context"]).sum()
    np.testing.assert_allclose(averaged, plain["p_true"].loc[averaged.index], atol=1e-9)


def test_what_is_stated_is_an_average_of_what_is_acted_on():
    for name, weight in (("leaky", 1.0), ("shaded", 0.4)):
        agent = AGENTS[name].with_parameters(grid=0.0, taste=0.0)
        assert agent.weight == weight
        runs = simulate(agent, n_contexts=30_000, n_reps=1, prompts=["standard"], rng=2)
        plain = runs[runs["z_state"].isna()].set_index("context")
        gap = (plain["p_true"] - plain["p"]).groupby((10 * plain["p"]).astype(int))
        assert (gap.mean().abs() / gap.sem()).max() < 4
        assert plain["p"].std() < 0.8 * plain["p_true"].std()
        given = runs[runs["z_state"].notna()]
        averaged = (given["p"] * given["p_z"]).groupby(given["context"]).sum()
        np.testing.assert_allclose(averaged, plain["p"].loc[averaged.index], atol=1e-9)
        assert given["p"].between(0, 1).all()
        # At what is acted on, neither the statement nor the state tells anything more.
        acted = plain["p"] + weight * (plain["p_true"] - plain["p"])
        at = acted.between(0.48, 0.52)
        yes = plain["action"][at] == "yes"
        for known in (plain["theta"] == 1, plain["p"] > 0.5):
            shares = yes.groupby(known[at]).mean()
            assert abs(shares[True] - shares[False]) < 0.1
    with pytest.raises(InputError, match="weight must be at most 1; received 2"):
        agent.with_parameters(weight=2)
