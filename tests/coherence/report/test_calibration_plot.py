import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from coherence.errors import InputError
from coherence.report.calibration_plot import (
    calibration_outcome,
    calibration_table,
    plot_calibration,
)


def test_calibration_against_truth_counts_contexts_as_trials():
    table = pd.DataFrame(
        {
            "belief": [0.2] * 6 + [0.8] * 6,
            "truth": ["0", "0", "0", "0", "1", "1"] + ["1"] * 6,
            "context": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
        }
    )
    bins = calibration_table(table, n_bins=2)
    assert bins["outcome"].round(6).tolist() == [0.333333, 1.0]
    assert bins["n_contexts"].tolist() == [3, 3]
    np.testing.assert_allclose(
        bins["low"], proportion_confint([1, 3], 3, method="wilson")[0], atol=1e-9
    )


def test_equal_beliefs_share_a_bin_whatever_the_row_order(choices):
    table = choices(p_true=False)
    shuffled = table.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(calibration_table(table), calibration_table(shuffled))
    assert calibration_table(table)["n_rows"].sum() == len(table)


def test_calibration_prefers_the_exact_posterior_and_shows_one_mark_per_context(
    choices, ax, drawn, ends
):
    plot_calibration(choices(), ax)
    (contexts,) = drawn(ax, "contexts")
    assert len(contexts.get_offsets()) == 60
    assert ax.get_ylabel() == "exact posterior"
    assert [ends(line) for line in drawn(ax, "diagonal")] == [[(0, 0), (1, 1)]]


def test_many_contexts_are_thinned(choices, ax, drawn):
    plot_calibration(choices(n_contexts=2000, n_reps=1), ax)
    (contexts,) = drawn(ax, "contexts")
    assert 200 <= len(contexts.get_offsets()) <= 400


def test_calibration_without_a_binary_truth_is_refused(choices, ax):
    table = choices(p_true=False).assign(truth="sunny")
    assert calibration_outcome(table) is None
    with pytest.raises(InputError, match="truth must be 0 or 1"):
        plot_calibration(table, ax)
