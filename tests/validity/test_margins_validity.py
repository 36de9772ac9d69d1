"""What simulated margins promise: one that the true difference reaches is hardly ever claimed."""

import pandas as pd
from margins import DESIGNS, MARGIN, RESULTS, SIZES
from scipy import stats

SURE = 0.999  # at a true rate of .025 a binomial count passes its bound once in a thousand lines


def test_a_margin_that_the_difference_reaches_is_claimed_in_a_fortieth_of_tables_at_most():
    table = pd.read_csv(RESULTS)
    assert len(table) == 2 * len(DESIGNS) * len(SIZES)
    reached = table[table["difference"] == MARGIN]
    bound = stats.binom.ppf(SURE, reached["n_tables"], 0.025) / reached["n_tables"]
    assert (reached["claimed"] <= bound).all()


def test_without_a_difference_more_contexts_support_smaller_margins():
    table = pd.read_csv(RESULTS)
    for _, design in table[table["difference"] == 0].groupby("design"):
        by_size = design.sort_values("n_contexts")
        assert by_size["median_margin"].is_monotonic_decreasing
        assert by_size["claimed"].iloc[-1] > 0.3
