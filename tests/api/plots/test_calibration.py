"""Calibration and its gaps. Breaks if a bin, a gap or an interval is not what calibration has."""

import numpy as np
import pandas as pd
import pytest

from coherence.plots import plot_calibration
from coherence.statistics.figure_tables import calibration_bins
from coherence.statistics.mean_interval import mean_interval


@pytest.mark.parametrize("p_true", [False, True])
def test_asking_again_does_not_narrow_the_intervals_over_contexts(p_true):
    rng = np.random.default_rng(2)
    belief = np.repeat([0.2, 0.8], 20)
    truth = (rng.uniform(size=40) < belief).astype(int).astype(str)
    table = pd.DataFrame({"belief": belief, "truth": truth, "context": range(40)})
    if p_true:
        table["p_true"] = belief + rng.normal(0, 0.05, 40)
    once, often = (calibration_bins(pd.concat([table] * n), n_bins=2) for n in (1, 10))
    assert often["n_contexts"].tolist() == once["n_contexts"].tolist() == [20, 20]
    assert often["n_rows"].tolist() == [200, 200]
    for name in ("outcome", "low", "high"):  # rounding of the variance within a context
        np.testing.assert_allclose(often[name], once[name], rtol=1e-9)
    assert (once["low"] < once["outcome"]).all()
    assert (once["outcome"] < once["high"]).all()


@pytest.mark.parametrize("p_true", [False, True])
def test_gaps_are_the_distances_of_the_bins_from_the_diagonal(p_true, choices):
    bins = calibration_bins(choices(p_true=p_true))
    np.testing.assert_allclose(bins["gap"], bins["outcome"] - bins["belief"])
    # Of exact posteriors too: an interval of a share of tosses would be several times as wide.
    for end in ("low", "high"):
        of_gap = (bins[f"gap_{end}"] + bins["belief"]).clip(0, 1)
        np.testing.assert_allclose(of_gap, bins[end])


def test_of_exact_posteriors_the_interval_is_that_of_the_gap_over_contexts():
    rng = np.random.default_rng(1)
    belief = np.repeat([0.2, 0.8], 30)
    gap = rng.normal(0.01, 0.005, 60)
    table = pd.DataFrame({"belief": belief, "p_true": belief + gap, "context": range(60)})
    for rows in (table, pd.concat([table] * 4)):  # asking again adds nothing
        found = calibration_bins(rows, n_bins=2)
        for at, of_bin in enumerate((gap[:30], gap[30:])):
            wanted = mean_interval(of_bin)
            ends = found.loc[at, ["gap_low", "gap_high"]].to_list()
            np.testing.assert_allclose(ends, [wanted.low, wanted.high])


def test_beliefs_too_low_are_above_the_line_and_the_axis_is_no_wider_than_needed(ax, drawn):
    belief = np.linspace(0.1, 0.8, 80)
    exact = belief + np.random.default_rng(1).normal(0.01, 0.001, 80)
    plot_calibration(belief, exact=exact, gaps=True, ax=ax)
    (points,) = drawn(ax, "gaps")
    assert (points.get_offsets()[:, 1] > 0.008).all()
    assert ax.get_ylim()[0] < 0
    assert ax.get_ylim()[1] < 0.02
    assert ax.get_ylabel() == "exact posterior less belief"
    assert len(drawn(ax, "null")) == 1
