"""What noise allows by state. Breaks if noise alone leaves the band, or a fault stays in it."""

import numpy as np
import pytest
from scipy import stats

from coherence import fit_rational_agent
from coherence.rational.noisy_shares import _ends, _of_agent, noisy_shares, with_noise
from coherence.statistics.state_shares import state_shares


def allowed(rows, noise=None):
    """Return what exact reports allow, what noise allows, and the agent's shares."""
    found = state_shares(*rows.arrays, context=rows.context)
    agent = fit_rational_agent(*rows.arrays, context=rows.context, noise=noise)
    shares = noisy_shares(agent)
    return found, with_noise(found, shares, *rows.arrays, rows.context), shares


def test_in_the_two_states_an_agent_without_fault_chooses_differently_at_equal_report(drawn):
    exact, noisy, _ = allowed(drawn(1))
    found, table = exact.table, noisy.table
    wide = table.pivot_table(index=["action", "bin"], columns="state", values="expected")
    # Beliefs are higher where the state is true: more yes, less no, but at the ends.
    apart = (wide[1] - wide[0]).unstack("action")
    assert (apart["yes"] > 0).all()
    assert (apart["no"] < 0).all()
    assert apart["yes"].max() > 0.03
    same = ["action", "bin", "state", "belief", "share", "low", "high", "n_rows", "n_contexts"]
    assert table[same].equals(found[same])
    sums = table.groupby(["bin", "state"])["expected"].sum()
    np.testing.assert_allclose(sums, 1.0, atol=1e-6)


def test_share_and_variance_are_those_of_the_agent(drawn):
    shares = allowed(drawn(1))[2]
    rng, n, rows, of_state = np.random.default_rng(1), 60_000, 3, 1
    point = rng.choice(len(shares.held[of_state]), n, p=shares.held[of_state])
    in_bin = shares.reported[:, (shares.levels > 0.2) & (shares.levels < 0.5)].sum(axis=1)
    chance = shares.chosen[:, shares.actions.index("yes")]
    there = rng.random((n, rows)) < in_bin[point][:, None]
    chosen = there & (rng.random((n, rows)) < chance[point][:, None])
    mean, variance = _of_agent(shares.held[of_state], in_bin, chance, np.full(n, rows))
    assert chosen.sum() / there.sum() == pytest.approx(mean, abs=4 * 0.5 / np.sqrt(there.sum()))
    excess = chosen.sum(axis=1) - mean * there.sum(axis=1)
    assert excess.var() * n == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize(("trials", "mean", "tail"), [(40, 0.03, 0.001), (12, 0.5, 0.01)])
def test_shares_beyond_the_ends_are_as_rare_as_binomial_numbers(trials, mean, tail):
    low, high = _ends(np.array([mean]), np.array([mean * (1 - mean) / trials]), tail)
    counts = np.arange(trials + 1)
    below = stats.binom.cdf(counts, trials, mean) <= tail
    above = stats.binom.sf(counts - 1, trials, mean) <= tail
    np.testing.assert_array_equal(counts / trials < low - 1e-6, below)
    np.testing.assert_array_equal(counts / trials > high + 1e-6, above)


def test_what_noise_explains_is_inside_and_a_fault_is_not(drawn):
    found, noisy, _ = allowed(drawn(1, n=500, reps=3, sd=0.3))
    assert found.table["outside"].sum() > 10
    assert not noisy.table["outside"].any()
    assert allowed(drawn(4, signal=0.5))[1].table["outside"].sum() > 4


def test_exact_reports_and_probabilities_of_actions_have_no_such_band(drawn):
    rows = drawn(1, n=60)
    agent = fit_rational_agent(*rows.arrays, context=rows.context, noise=0.0)
    assert noisy_shares(agent) is None
    policies = np.stack([rows.report, 1 - rows.report], axis=1) * 0.8 + 0.1
    agent = fit_rational_agent(rows.report, policies, rows.truth, context=rows.context)
    assert agent.noisy
    assert noisy_shares(agent) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "design", [{}, {"n": 60, "reps": 3}, {"sd": 0.3}, {"lasting": 0.8}, {"taste": 1.0}], ids=str
)
def test_noise_alone_seldom_leaves_the_band(drawn, design):
    n_tables = 200
    outside = sum(
        bool(allowed(drawn(seed, **design))[1].table["outside"].any()) for seed in range(n_tables)
    )
    assert outside <= stats.binom.ppf(0.999, n_tables, 0.05)
