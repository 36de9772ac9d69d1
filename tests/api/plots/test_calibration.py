import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError
from coherence.plots import plot_calibration
from coherence.statistics.figure_tables import calibration_bins, outcome_of


def asked(n_reps, p_true=False):
    rng = np.random.default_rng(2)
    belief = np.repeat([0.2, 0.8], 20)
    truth = (rng.uniform(size=40) < belief).astype(int)
    rows = np.repeat(np.arange(40), n_reps)
    table = pd.DataFrame(
        {"belief": belief[rows], "truth": truth[rows].astype(str), "context": rows}
    )
    return table.assign(p_true=(belief + rng.normal(0, 0.05, 40))[rows]) if p_true else table


@pytest.mark.parametrize("p_true", [False, True])
def test_asking_again_does_not_narrow_the_intervals_over_contexts(p_true):
    once, often = (calibration_bins(asked(n, p_true), n_bins=2) for n in (1, 10))
    assert often["n_contexts"].tolist() == once["n_contexts"].tolist() == [20, 20]
    assert often["n_rows"].tolist() == [200, 200]
    for name in ("outcome", "low", "high"):  # rounding of the variance within a context
        np.testing.assert_allclose(often[name], once[name], rtol=1e-9)
    assert (once["low"] < once["outcome"]).all()
    assert (once["outcome"] < once["high"]).all()


def test_calibration_prefers_the_exact_posterior_and_shows_one_mark_per_context(
    choices, ax, drawn, ends
):
    plot_calibration(choices(), ax=ax)
    (contexts,) = drawn(ax, "contexts")
    assert len(contexts.get_offsets()) == 60
    assert ax.get_ylabel() == "exact posterior"
    assert ax.get_title(loc="left") == "Belief and exact posterior"
    assert [ends(line) for line in drawn(ax, "diagonal")] == [[(0, 0), (1, 1)]]


def test_calibration_without_a_binary_truth_is_refused(choices, ax):
    table = choices(p_true=False).assign(truth="sunny")
    assert outcome_of(table) is None
    with pytest.raises(InputError, match="truth must be 0 or 1"):
        plot_calibration(table, ax=ax)


def test_arrays_are_the_rows_of_the_table(ax, drawn):
    runs = coherence.simulate("miscalibrated", n_contexts=60, n_reps=2, rng=1)
    plot_calibration(runs, ax=ax)
    rows = runs[(runs["prompt"] == "standard") & runs["z_state"].isna() & runs["p"].notna()]
    beliefs, exact = rows["p"].to_numpy(), rows["p_true"].to_numpy()
    again = plot_calibration(beliefs, exact=exact, context=rows["context"].to_numpy())
    of_runs, of_arrays = (drawn(each, "calibration")[0] for each in (ax, again))
    np.testing.assert_allclose(of_runs.get_offsets(), of_arrays.get_offsets())


def test_rare_states_fill_the_square_and_the_diagonal_crosses_it(ax):
    rng = np.random.default_rng(3)
    exact = rng.uniform(0.01, 0.04, 200)
    plot_calibration(exact + rng.normal(0, 0.002, 200), exact=exact, ax=ax)
    assert ax.get_xlim() == ax.get_ylim()
    first, last = ax.get_xlim()
    assert first < 0.01
    assert 0.04 < last < 0.07
