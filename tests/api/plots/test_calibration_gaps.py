"""The figure of misses. Breaks if a gap has another sign, bin or interval than calibration has."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError
from coherence.plots import plot_calibration_gaps
from coherence.statistics.figure_tables import calibration_bins
from coherence.statistics.mean_interval import mean_interval


@pytest.mark.parametrize("p_true", [False, True])
def test_gaps_are_the_distances_of_the_bins_from_the_diagonal(p_true, choices):
    table = choices(p_true=p_true)
    bins = calibration_bins(table)
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
    often = pd.concat([table] * 4)
    for rows in (table, often):  # asking again adds nothing where the answer is the same
        found = calibration_bins(rows, n_bins=2)
        for at, of_bin in enumerate((gap[:30], gap[30:])):
            interval = mean_interval(of_bin)
            np.testing.assert_allclose(
                found.loc[at, ["gap_low", "gap_high"]].to_list(), [interval.low, interval.high]
            )


def test_beliefs_too_low_are_above_the_line_and_the_axis_is_no_wider_than_needed(ax, drawn):
    belief = np.linspace(0.1, 0.8, 80)
    exact = belief + np.random.default_rng(1).normal(0.01, 0.001, 80)
    plot_calibration_gaps(belief, exact=exact, ax=ax)
    (points,) = drawn(ax, "gaps")
    assert (points.get_offsets()[:, 1] > 0.008).all()
    assert ax.get_ylim()[0] < 0
    assert ax.get_ylim()[1] < 0.02
    assert ax.get_ylabel() == "exact posterior less belief"
    assert len(drawn(ax, "null")) == 1


def test_without_an_outcome_there_is_nothing_to_compare():
    with pytest.raises(InputError, match="truth must be 0 or 1, or p_true be known"):
        plot_calibration_gaps([0.1, 0.4])
    runs = coherence.simulate("rational", n_contexts=20, n_reps=1, rng=1)
    with pytest.raises(InputError, match="n_bins must be a whole number"):
        plot_calibration_gaps(runs, n_bins=0)
