"""Intervals of shares: Wilson's against scipy, over contexts by simulation and limiting cases."""

import numpy as np
import pytest
from scipy import stats

from coherence.statistics.shares import NORMAL_QUANTILE, context_shares, wilson_interval


@pytest.mark.parametrize("trials", [1, 7, 200, 5_000])
def test_wilsons_interval_is_that_of_scipy(trials):
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


def dealt(values, n_rows):
    """One group; every context gives the same answer `n_rows` times."""
    answers = np.repeat(np.asarray(values, dtype=float), n_rows)[:, None]
    context = np.repeat(np.arange(len(values)), n_rows)
    return answers, np.zeros(len(answers), dtype=int), context, 1


def test_independent_rows_have_the_interval_of_that_many_trials():
    rng = np.random.default_rng(3)
    answers = (rng.uniform(size=(40_000, 1)) < 0.3).astype(float)
    found = context_shares(answers, np.zeros(40_000, int), np.repeat(np.arange(8_000), 5), 1)
    low, high = wilson_interval(found.share[0], 40_000)
    assert found.high[0, 0] - found.low[0, 0] == pytest.approx(float(high[0] - low[0]), rel=0.03)


def test_where_all_contexts_agree_each_counts_as_one_trial():
    found = context_shares(*dealt([1] * 30, 5))
    # t with 29 degrees of freedom in place of the normal quantile.
    trials = 30 * (NORMAL_QUANTILE / 2.045229642) ** 2
    assert found.low[0, 0] == pytest.approx(float(wilson_interval(1.0, trials)[0]))
    assert found.high[0, 0] == 1.0


def test_a_row_of_weight_two_is_two_rows_and_groups_of_one_context_have_no_interval():
    values = np.random.default_rng(5).uniform(size=(30, 1))
    context, twice = np.repeat(np.arange(10), 3), np.repeat(np.arange(30), 2)
    weighed = context_shares(values, np.zeros(30, int), context, 1, weights=np.full(30, 2.0))
    arrays = values[twice], np.zeros(60, int), context[twice]
    written = context_shares(*arrays, 1, weights=np.ones(60))
    np.testing.assert_allclose(weighed.low, written.low)
    assert weighed.n_rows == written.n_rows == 60
    found = context_shares(np.array([[1.0], [0.0], [1.0]]), np.array([0, 0, 2]), np.arange(3), 3)
    np.testing.assert_array_equal(found.share[:, 0], [0.5, np.nan, 1.0])
    assert np.isnan(found.low[:, 0]).tolist() == [False, True, True]


@pytest.mark.parametrize("dependence", [0.3, 3.0, 100.0])  # small: contexts nearly always agree
@pytest.mark.parametrize(
    ("n_contexts", "n_rows", "mean"), [(10, 5, 0.1), (40, 5, 0.03), (20, 1, 0.3)]
)
def test_coverage_is_at_least_as_stated(dependence, n_contexts, n_rows, mean):
    rng = np.random.default_rng(6)
    means = np.linspace(0.3, 1.7, 8) * mean  # of eight groups
    covered = []
    for _ in range(150):
        ends = means[:, None] * dependence, (1 - means[:, None]) * dependence
        chances = rng.beta(*ends, size=(8, n_contexts))
        answers = (rng.uniform(size=(8, n_contexts, n_rows)) < chances[..., None]).astype(float)
        group = np.repeat(np.arange(8), n_contexts * n_rows)
        context = np.repeat(np.arange(8 * n_contexts), n_rows)
        found = context_shares(answers.reshape(-1, 1), group, context, 8)
        covered.append((found.low[:, 0] <= means) & (means <= found.high[:, 0]))
    # Of 1,200 intervals with coverage .95, fewer than .93 are covered once in a thousand times.
    assert np.mean(covered) > 0.93
