"""Wilson's interval against scipy and statsmodels, and its ends at shares of 0 and 1."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from coherence.statistics.shares import wilson_interval


@pytest.mark.parametrize("trials", [1, 7, 200, 5_000])
def test_equal_to_scipy_and_statsmodels(trials):
    counts = np.unique(np.linspace(0, trials, 9).astype(int))
    low, high = wilson_interval(counts / trials, np.full(counts.size, trials))
    expected = proportion_confint(counts, trials, method="wilson")
    np.testing.assert_allclose((low, high), np.clip(expected, 0, 1), atol=1e-12)
    for count, ends in zip(counts, zip(low, high, strict=True), strict=True):
        interval = stats.binomtest(int(count), trials).proportion_ci(0.95, method="wilson")
        assert ends == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_certain_shares_have_one_exact_end():
    """Breaks where rounding leaves an end a bit below 0 or short of 1."""
    trials = np.arange(1, 300)
    assert (wilson_interval(np.zeros(299), trials)[0] == 0).all()
    assert (wilson_interval(np.ones(299), trials)[1] == 1).all()
