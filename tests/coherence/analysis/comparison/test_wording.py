import math

import pandas as pd

from coherence.analysis.comparison.wording import (
    DIFFERENCES,
    ESTIMATES,
    difference_cells,
    ordered,
    rank_text,
)


def test_columns_are_declared_once(compared):
    assert list(compared.estimates.columns) == list(ESTIMATES)
    assert list(compared.differences.columns) == list(DIFFERENCES)


def test_a_rank_that_is_known_is_one_number():
    assert rank_text({"rank_low": 2, "rank_high": 2}) == "2"
    assert rank_text({"rank_low": 2, "rank_high": 4}) == "2–4"


def test_models_are_ordered_by_their_estimate_and_those_without_left_out():
    rows = pd.DataFrame(
        {"model": list("abc"), "estimate": [0.3, math.nan, 0.1], "rank_low": [2, None, 1]}
    )
    assert ordered(rows)["model"].tolist() == ["c", "a"]


def test_a_difference_without_an_interval_says_why():
    row = {"difference": 0.0, "low": math.nan, "high": math.nan, "reason": "no case differs"}
    row |= dict.fromkeys(("pvalue", "pvalue_ranks", "pvalue_bh"), math.nan)
    assert difference_cells(row) == ["0.00", "no case differs", "–", "–", "–"]
    row |= {"difference": 0.12, "low": 0.04, "high": 0.2, "pvalue": 0.01, "pvalue_bh": 0.0001}
    assert difference_cells(row) == ["0.120", "[0.040, 0.200]", "0.010", "–", "<0.001"]
