"""Wilson's interval against scipy, and its ends at shares of 0 and 1."""

import numpy as np
import pytest
from scipy import stats

from coherence.statistics.shares import wilson_interval


@pytest.mark.parametrize("trials", [1, 7, 200, 5_000])
def test_equal_to_scipy(trials):
    counts = np.unique(np.linspace(0, trials, 9).astype(int))
    low, high = wilson_interval(counts / trials, np.full(counts.size, trials))
    for count, ends in zip(counts, zip(low, high, strict=True), strict=True):
        interval = stats.binomtest(int(count), trials).proportion_ci(0.95, method="wilson")
        assert ends == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_certain_shares_have_one_exact_end():
    """Breaks where rounding leaves an end a bit below 0 or short of 1."""
    trials = np.arange(1, 300)
    assert (wilson_interval(np.zeros(299), trials)[0] == 0).all()
    assert (wilson_interval(np.ones(299), trials)[1] == 1).all()
