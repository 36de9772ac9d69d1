"""What the simulated groups promise: named, they are clusters; unnamed, tests reject too often."""

import numpy as np
import pandas as pd
import pytest
from groups import CHECKS, RESULTS, SIZES
from scipy import stats

SURE = 0.999  # at a true rate of .05 a binomial count passes its bound once in a thousand lines
ROOT_OF_TEN = ("prompt_consistency", 10)  # a root of skewed squares over ten units: see the page


def test_named_groups_keep_the_error_rate_and_the_coverage():
    table = pd.read_csv(RESULTS)
    assert len(table) == 2 * len(CHECKS) * len(SIZES)
    named = table[table["named"]]
    bound = stats.binom.ppf(SURE, named["n_tables"], 0.05) / named["n_tables"]
    assert (named["rejected"].fillna(0) <= bound).all()
    few = [cell == ROOT_OF_TEN for cell in zip(named["check"], named["n_groups"], strict=True)]
    missed = 1 - named["covered"].fillna(1)
    assert (missed <= bound)[~np.array(few)].all()
    assert missed[few].item() == pytest.approx(0.095)


def test_unnamed_groups_do_not():
    table = pd.read_csv(RESULTS)
    unnamed = table[~table["named"]].groupby("check")
    wrong = (unnamed["rejected"].max() > 0.15) | (unnamed["covered"].min() < 0.85)
    assert set(wrong[wrong].index) >= {"monotone_choice", "iterated_expectation"}
