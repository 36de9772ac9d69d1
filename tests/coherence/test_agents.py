"""Simulated agents do what they say."""

import numpy as np
import pytest
from scipy import stats

from coherence import AGENTS, InputError, simulate, validate_runs


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_gives_a_valid_table(name):
    runs = simulate(name, n_contexts=12, n_reps=3, rng=0)
    validate_runs(runs)
    assert len(runs) == 12 * 3 * (4 + 2)
    assert runs["action"].notna().sum() == 36
    assert AGENTS[name].description.endswith(".")


def test_world_is_exact():
    """Features sum to the log-odds, the state follows, beliefs given z average to the posterior."""
    runs = simulate("rational", n_contexts=4000, n_reps=1, prompts=["standard"], rng=1)
    plain = runs[runs["z_state"].isna()].set_index("context")
    log_odds = plain[[f"x_{j}" for j in range(1, 7)]].sum(axis=1)
    np.testing.assert_allclose(
        log_odds, np.log(plain["p_true"] / (1 - plain["p_true"])), atol=0.004
    )
    assert stats.kstest(plain["p_true"], "uniform").pvalue > 0.01
    z = (plain["theta"] - plain["p_true"]).sum() / np.sqrt(
        (plain["p_true"] * (1 - plain["p_true"])).sum()
    )
    assert abs(z) < 3.3
    with_z = runs[runs["z_state"].notna()]
    averaged = (with_z["p_true"] * with_z["p_z"]).groupby(with_z["context"]).sum()
    np.testing.assert_allclose(averaged, plain["p_true"].loc[averaged.index], atol=1e-9)


def test_choices_follow_the_softmax_of_the_documented_utilities():
    agent = AGENTS["rational"].with_parameters(taste=0.0, grid=0.0)
    rng = np.random.default_rng(2)
    chosen = agent.choose(np.full(40000, 0.7), np.zeros(40000), np.zeros((40000, 3)), rng)
    weights = np.exp([6 * 0.1, 6 * -0.3, 0.5])
    for action, share in zip(("yes", "no", "defer"), weights / weights.sum(), strict=True):
        assert abs((chosen == action).mean() - share) < 4 * np.sqrt(share * (1 - share) / 40000)


def test_leak_moves_choices_with_the_state():
    runs = simulate("leaky", n_contexts=2000, n_reps=1, prompts=["standard"], iterated=False, rng=3)
    middle = runs[runs["p"].between(0.4, 0.6)]
    yes = (middle["action"] == "yes").groupby(middle["theta"]).mean()
    assert yes[1] - yes[0] > 0.25


def test_reported_beliefs_are_clean_multiples_of_the_grid():
    runs = simulate(
        "rational", n_contexts=200, n_reps=1, prompts=["standard"], iterated=False, rng=0
    )
    assert set(runs["p"]) <= {round(step / 20, 2) for step in range(21)}


def test_parameters_can_be_changed_and_are_checked():
    assert AGENTS["leaky"].with_parameters(hidden_signal=0.1).hidden_signal == 0.1
    with pytest.raises(
        InputError, match="agents have no parameter 'hidden'. Closest name found: 'hidden_signal'"
    ):
        AGENTS["leaky"].with_parameters(hidden=0.1)
    with pytest.raises(InputError, match="taste must be at least 0; received -1"):
        AGENTS["leaky"].with_parameters(taste=-1)
    with pytest.raises(
        InputError, match="agent must be one of .* received 'leeky'. Closest name found: 'leaky'"
    ):
        simulate("leeky", n_contexts=1, n_reps=1)
    with pytest.raises(
        InputError, match="n_contexts must be a whole number of at least 1; received 0"
    ):
        simulate("leaky", n_contexts=0, n_reps=1)
