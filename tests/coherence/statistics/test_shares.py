"""Both intervals against scipy and statsmodels, and their ends at shares of 0 and 1."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from coherence.statistics.shares import exact_interval, wilson_interval


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


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (3, 5), (5, 5), (25, 500), (499, 500)])
@pytest.mark.parametrize("level", [0.95, 0.999])
def test_the_exact_interval_is_clopper_and_pearsons(successes, n, level):
    ends = exact_interval(successes, n, level=level)
    expected = stats.binomtest(successes, n).proportion_ci(level, method="exact")
    assert ends == pytest.approx((expected.low, expected.high), abs=1e-9)
