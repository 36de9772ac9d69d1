from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from coherence import simulate
from coherence.statistics.state_shares import CONTEXTS_PER_STATE, state_shares


def rows_of(agent, seed, *, n_contexts=100, n_reps=3):
    runs = simulate(agent, n_contexts=n_contexts, n_reps=n_reps, rng=seed)
    return runs[runs["z_state"].isna() & (runs["prompt"] == "standard")]


def found_in(agent, seed):
    rows = rows_of(agent, seed)
    return state_shares(rows["p"], rows["action"], rows["theta"], context=rows["context"])


def test_bins_have_enough_contexts_of_each_state_and_shares_are_those_of_the_rows():
    rows = rows_of("rational", 2, n_contexts=150, n_reps=4)
    shares = state_shares(rows["p"], rows["action"], rows["theta"], context=rows["context"])
    table = shares.table
    assert table["n_contexts"].min() >= CONTEXTS_PER_STATE
    assert table[table["action"] == "yes"]["n_rows"].sum() == len(rows)
    # Bins are intervals of the belief, which their rows fill in order.
    sizes = table[table["action"] == "yes"].groupby("bin")["n_rows"].sum()
    rows = rows.sort_values("p").assign(bin=np.repeat(sizes.index, sizes))
    for row in table.itertuples():
        inside = rows[(rows["bin"] == row.bin) & (rows["theta"] == row.state)]
        assert row.share == pytest.approx((inside["action"] == row.action).mean())
        assert row.belief == pytest.approx(inside["p"].mean())
        assert row.low <= row.share <= row.high
    bounds = [of_bin.agg(["min", "max"]) for _, of_bin in rows.groupby("bin")["p"]]
    assert all(a["max"] < b["min"] for a, b in pairwise(bounds))


@pytest.mark.lengthy
@pytest.mark.parametrize("agent", ["rational", "miscalibrated", "greedy"])
def test_a_coherent_agent_leaves_its_bands_in_one_table_of_twenty_at_most(agent):
    n = 60
    outside = sum(bool(found_in(agent, seed).table["outside"].any()) for seed in range(n))
    assert outside <= binom.ppf(0.999, n, 0.05)


def test_an_agent_that_knows_more_leaves_them():
    tables = [found_in("clairvoyant", seed).table for seed in range(10)]
    assert sum(bool(table["outside"].any()) for table in tables) >= 8
    for table in tables:  # both states leave their bands together
        assert (table.groupby(["action", "bin"])["outside"].nunique() == 1).all()


def test_rows_of_a_context_are_not_taken_as_independent():
    rng = np.random.default_rng(5)
    n, outside = 40, 0
    for _ in range(n):
        belief = rng.uniform(size=80)
        truth = (rng.uniform(size=80) < belief).astype(int)
        action = (rng.uniform(size=80) < belief).astype(int)  # all repetitions choose alike
        rows = np.repeat(np.arange(80), 10)
        found = state_shares(belief[rows], action[rows], truth[rows], context=rows)
        outside += bool(found.table["outside"].any())
    assert outside <= binom.ppf(0.999, n, 0.05)


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        ([0] * 40, "truth is constant"),
        ([0] * 37 + [1] * 3, "a threshold of the belief separates the states"),
        (([0] * 9 + [1]) * 4, f"fewer than {CONTEXTS_PER_STATE} contexts have one of the states"),
    ],
)
def test_what_cannot_be_compared_has_a_reason_and_no_table(truth, reason):
    belief = np.linspace(0.1, 0.9, 40)
    found = state_shares(belief, np.arange(40) % 2, truth)
    assert found.reason.startswith(reason)
    assert found.table.empty


def test_probabilities_of_actions_and_heaped_beliefs_are_taken():
    rng = np.random.default_rng(6)
    belief = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], size=200)
    truth = (rng.uniform(size=200) < belief).astype(int)
    coherent = pd.DataFrame({"no": 1 - belief, "yes": belief})
    table = state_shares(belief, coherent, truth).table
    assert not table["outside"].any()
    np.testing.assert_allclose(table["share"], table["expected"], atol=1e-9)
    moved = belief + 0.05 * (truth - belief)  # acts as if it knew a twentieth of the state
    leaky = pd.DataFrame({"no": 1 - moved, "yes": moved})
    assert state_shares(belief, leaky, truth).table["outside"].any()
