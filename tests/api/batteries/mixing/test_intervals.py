"""Intervals: they cover, hold what they are about, and a sum by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import expected_answers, score_mixing, simulate_mixing


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ideal", "steep", "argmax"])
def test_intervals_of_the_total_cover(agent):
    """Twelve sessions; fewer hits than the lowest one in a thousand of a binomial with .9 would
    show an interval that does not cover.
    """
    truth = (
        score_mixing(expected_answers(agent), n_resamples=100, rng=0)
        .experiments["corrected"]
        .to_numpy()
    )
    hits = np.zeros(6)
    for seed in range(12):
        rows = score_mixing(
            simulate_mixing(agent, n_draws=50, rng=seed), n_resamples=200, rng=seed
        ).experiments
        hits += (rows["low"].to_numpy() <= truth + 1e-9) & (rows["high"].to_numpy() >= truth - 1e-9)
    assert (hits >= stats.binom.ppf(0.001, 12, 0.9)).all()


@pytest.mark.lengthy
def test_corrected_losses_lie_in_their_intervals():
    tables = [
        simulate_mixing(name, n_draws=n, rng=n).assign(model=f"{name} {n}")
        for name in ("ideal", "steep", "first")
        for n in (2, 5, 100)
    ]
    measures = score_mixing(pd.concat(tables), n_resamples=100, rng=0).measures
    assert (measures["corrected_loss"] < 0).any()
    # The order of rates has no interval where an answer is drawn fewer than twenty times.
    known = measures["loss_low"].notna()
    few = measures["model"].str.contains(r" [25]$") & (measures["measure"] == "direction")
    assert (known == ~few).all()
    assert (measures["loss_low"] <= measures["corrected_loss"])[known].all()
    assert (measures["corrected_loss"] <= measures["loss_high"])[known].all()
