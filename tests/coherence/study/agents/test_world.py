"""The world of simulated agents is the one that is documented."""

import numpy as np
from scipy import stats

from coherence import simulate


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


def test_leak_moves_choices_with_the_state():
    runs = simulate("leaky", n_contexts=2000, n_reps=1, prompts=["standard"], iterated=False, rng=3)
    middle = runs[runs["p"].between(0.4, 0.6)]
    yes = (middle["action"] == "yes").groupby(middle["theta"]).mean()
    assert yes[1] - yes[0] > 0.25
