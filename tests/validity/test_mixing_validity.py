"""A reduced form of the mixing battery's simulations, and what the full tables promise."""

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel
from mixing import AGENTS, ALTERNATION, DRAWS, INTERVALS, TESTS, beta_answers, intervals, pvalues
from scipy import stats

from coherence import expected_answers
from coherence.batteries.mixing.answers import check_answers, count_checked

N = 40


@pytest.mark.lengthy
@pytest.mark.parametrize(("agent", "n_draws"), [("steep", 20), ("uniform", 20), ("beta", 100)])
def test_intervals_of_totals_and_experiments_cover(agent, n_draws):
    """Coverage that is too low by a tenth or more shows here; the full tables show less."""
    rows = intervals(agent, n_draws, N, 1, Parallel())
    scores = {row["quantity"]: row["covered"] for row in rows if ":" not in row["quantity"]}
    assert len(scores) == 6
    assert {
        name: count for name, count in scores.items() if count < stats.binom.ppf(0.0001, N, 0.95)
    } == {}
    # Only a score that is 0 beyond doubt has an interval without width.
    assert all(row["no_width"] == 0 for row in rows if ":" in row["quantity"] or row["truth"] > 0)


@pytest.mark.lengthy
def test_independent_flips_are_rejected_about_as_often_as_promised():
    """Bounds are passed once in ten thousand runs; alternation by .1 is nearly always rejected."""
    independent = np.array([pvalues(0.0, 20, [1, number]) for number in range(100)])
    assert ((independent <= 0.05).sum(axis=0) <= stats.binom.ppf(0.9999, 100, 0.05)).all()
    alternating = np.array([pvalues(-0.1, 100, [1, number]) for number in range(N)])
    assert ((alternating <= 0.05).sum(axis=0) >= stats.binom.ppf(0.0001, N, 0.95)).all()


def test_the_agent_in_between_is_in_between():
    """Rates of one flip lie between those of two agents, and every condition sums to 1."""
    table = beta_answers()
    assert table.groupby(["experiment", "p", "item", "order"])[
        "probability"
    ].sum().to_numpy() == pytest.approx(1.0)
    (beta,), (ideal,), (steep,) = (
        count_checked(check_answers(answers)).values()
        for answers in (table, expected_answers("ideal"), expected_answers("steep"))
    )
    rates, low, high = (parts["flip"].shares[11:20, 0] for parts in (beta, ideal, steep))
    assert (rates > low).all()
    assert (rates < high).all()
    assert beta["words"].shares[:, 0].std() > 0.05


def test_the_full_tables_hold_what_the_page_says():
    """Every total and experiment at least .93; sizes of the tests within exact bounds."""
    table = pd.read_csv(INTERVALS)
    assert set(zip(table["agent"], table["draws"], strict=True)) == {
        (agent, n_draws) for agent in AGENTS for n_draws in DRAWS
    }
    scores = table[~table["quantity"].str.contains(":")]
    assert (scores["covered"] >= 0.93 * scores["sessions"]).all()
    assert (table["sessions"] >= 1000).all()
    tests = pd.read_csv(TESTS)
    assert set(tests["correlation"]) == set(ALTERNATION)
    size = tests[tests["correlation"] == 0]
    assert (size["rejected"] <= stats.binom.ppf(0.999, size["sessions"], 0.05)).all()
