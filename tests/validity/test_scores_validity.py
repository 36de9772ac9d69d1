"""Calibration by redrawn outcomes keeps its size, and intervals of scores their coverage."""

import pandas as pd
import pytest
from scipy import stats
from scores import LINES, REPORTS, RESULTS, table, truths

SURE = 0.999  # at a true rate of .05 a binomial count passes its bound once in a thousand lines


@pytest.fixture(scope="module")
def lines():
    table = pd.read_csv(RESULTS)
    assert len(table) == len(LINES)
    return table


def bound(n):
    return stats.binom.ppf(SURE, n, 0.05) / n


def test_calibrated_forecasts_are_rejected_as_often_as_stated(lines):
    null = lines[lines["power"] == 1]
    assert (null["rejected"] <= bound(null["tables"])).all()
    overstated = lines[(lines["power"] > 1) & (lines["cases"] > 100)]
    assert (overstated["rejected"] > 0.6).all()


def test_intervals_of_scores_hold_the_truth(lines):
    for name in ("brier_held", "log_held", "calibration_held"):
        held = lines.loc[lines["cases"] >= 60, name].dropna()
        assert (1 - held <= bound(lines["tables"].max())).all(), name


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("forecasts", "n"), [("three values", 12), (REPORTS, 60), ("four states", 30)]
)
def test_a_few_tables_do_as_the_lines_say(forecasts, n):
    """Breaks if ties, rows of a case or states were counted as independent."""
    true = truths(forecasts, 1.0)
    found = pd.DataFrame(table(forecasts, n, 1.0, true, [7, n, at]) for at in range(60))
    assert found["rejected"].sum() <= stats.binom.ppf(SURE, 60, 0.05)
    assert (60 - found.filter(like="_held").sum() <= stats.binom.ppf(SURE, 60, 0.05) + 3).all()
