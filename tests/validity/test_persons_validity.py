"""What simulated panels promise: said to be persons, they keep the error rate and the coverage."""

import pandas as pd
import pytest
from persons import PANELS, POPULATIONS, READINGS, RESULTS
from scipy import stats

SURE = 0.99  # of the exact binomial bound of a line


@pytest.fixture(scope="module")
def lines():
    table = pd.read_csv(RESULTS)
    assert len(table) == len(PANELS) * len(POPULATIONS) * 2 * len(READINGS)
    return table


def bound(n):
    return stats.binom.ppf(SURE, n, 0.05) / n


def test_persons_keep_the_level(lines):
    told = lines[(lines["reading"] == "person") & (lines["n_tested"] > 0)]
    null = told[told["population"] != "knows"]
    assert (null["rejected"] <= bound(null["n_tested"])).all()
    assert (1 - told["covered"] <= bound(told["n_tested"])).all()


def test_few_cases_are_not_tested(lines):
    few = lines[(lines["reading"] == "person") & (lines["n_cases"] < 20)]
    assert (few["n_tested"] == 0).all()
    enough = lines[(lines["reading"] == "person") & (lines["n_cases"] >= 20)]
    assert (enough["n_tested"] == enough["n_tables"]).all()


def test_persons_as_groups_of_cells_do_not(lines):
    cells = lines[lines["reading"] == "cells, group=person"]
    assert cells.loc[cells["population"] == "tastes", "rejected"].max() > 0.1
    assert cells.loc[cells["population"] == "knows", "covered"].min() < 0.85
