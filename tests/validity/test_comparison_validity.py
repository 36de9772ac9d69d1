"""A reduced form of the simulated comparisons, and what the full table promises."""

import pandas as pd
import pytest
from comparison import DESIGNS, RESULTS, study
from scipy import stats

N = 25
# At a true rate of .05 a binomial count passes its bound once in a thousand lines.
SURE = 0.999


@pytest.mark.lengthy
def test_ranks_with_ties_are_held_and_ties_not_told_apart():
    rows = pd.DataFrame([row for number in range(N) for row in study(DESIGNS[1], [2, 1, number])])
    effects = rows[~rows["effect"].str.startswith("all")]
    missed = effects.groupby("effect")["held"].agg(lambda held: (held == False).sum())  # noqa: E712
    assert (missed <= stats.binom.ppf(0.9999, N, 0.05)).all()
    together = rows[rows["effect"] == "all, BH"]
    assert together["false_share"].mean() < 0.05
    assert together["seen"].mean() > 0.4


def test_the_full_table_holds_what_the_page_says():
    """Ranks held in 95%, false discoveries at most 5%, each within its binomial bound."""
    table = pd.read_csv(RESULTS)
    assert list(dict.fromkeys(table["design"])) == [design.name for design in DESIGNS]
    effects = table[table["held"].notna()]
    missed = ((1 - effects["held"]) * effects["n_studies"]).round()
    assert (missed <= stats.binom.ppf(SURE, effects["n_studies"], 0.05)).all()
    together = table[table["effect"] == "all, BH"]
    bound = stats.binom.ppf(SURE, together["n_studies"], 0.05) / together["n_studies"]
    assert (together["false_share"] <= bound).all()
    ties = effects[effects["design"].isin(["all alike", "three pairs", "four alike"])]
    assert (ties["n_studies"] >= 500).all()
