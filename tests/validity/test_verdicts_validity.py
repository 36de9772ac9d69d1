"""Verdicts seldom accuse a coherent agent, and what their sentences claim is true."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from verdicts import KNOWN, RESULTS, SENTENCES, SIZES, STATES, table


def test_coherent_agents_are_accused_in_five_percent_of_tables():
    shares = pd.read_csv(RESULTS)
    assert len(shares) == len(KNOWN) * len(SIZES) * len(STATES)
    coherent = shares[shares["coherent"]]
    accused = (coherent["accused"] * coherent["tables"]).round()
    assert (accused <= stats.binom.ppf(0.999, coherent["tables"], 0.05)).all()
    assert accused.sum() / coherent["tables"].sum() < 0.05


def test_what_sentences_claim_is_true_of_agents_that_act_on_more():
    claims = pd.read_csv(SENTENCES)
    found = claims[~claims["coherent"]].groupby("claim")[["printed", "true"]].sum()
    assert (found["true"] >= stats.binom.ppf(0.001, found["printed"], 0.95)).all()
    of_all = claims.groupby("claim")[["printed", "true"]].sum()
    assert (of_all["true"] / of_all["printed"]).min() > 0.9


@pytest.mark.lengthy
@pytest.mark.parametrize("name", ["noisy, one report", "turning", "clairvoyant"])
def test_a_table_has_a_verdict_and_claims(name):
    """Breaks if the simulation no longer fits the words that it reads."""
    found = [table(name, 60, "exact", [5, 0, at]) for at in range(6)]
    assert all(claims for _, claims in found)
    assert np.mean([all(claims.values()) for _, claims in found]) > 0.6
