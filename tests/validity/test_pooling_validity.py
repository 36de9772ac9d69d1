"""What the simulated means over tasks promise, and a reduced form of them."""

import pandas as pd
import pytest
from pooling import DESIGNS, RESULTS, study
from scipy import stats

# At a true rate of .05 a binomial count passes its bound once in a thousand lines.
SURE = 0.999


def test_intervals_cover_and_nothing_is_taken_for_an_effect():
    table = pd.read_csv(RESULTS)
    assert len(table) == len(DESIGNS)
    assert (table["n_studies"] >= 400).all()
    bound = stats.binom.ppf(SURE, table["n_studies"], 0.05) / table["n_studies"]
    assert (1 - table["covered"] <= bound).all()
    assert (table.loc[table["mean"] == 0, "rejected"] <= bound[table["mean"] == 0]).all()


@pytest.mark.slow
def test_skewed_gaps_of_many_tasks_are_covered():
    n = 150
    found = [study(("iterated_expectation", 24, 0.0, 0.0), [7, s])[0] for s in range(n)]
    assert n - sum(found) <= stats.binom.ppf(0.9999, n, 0.05)
