import numpy as np
import pytest

from coherence.statistics.shares import NORMAL_QUANTILE, context_shares, wilson_interval


def dealt(values, n_rows):
    """One group; every context gives the same answer `n_rows` times."""
    answers = np.repeat(np.asarray(values, dtype=float), n_rows)[:, None]
    context = np.repeat(np.arange(len(values)), n_rows)
    return answers, np.zeros(len(answers), dtype=int), context, 1


def test_asking_a_context_again_makes_nothing_surer_where_contexts_always_agree():
    values = [1, 0, 1, 0, 1, 1]
    once, often = (context_shares(*dealt(values, n)) for n in (1, 20))
    np.testing.assert_allclose([often.low, often.high], [once.low, once.high], rtol=1e-9)
    assert (once.n_rows, often.n_rows) == (6, 120)
    assert once.n_contexts == often.n_contexts == 6


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


def test_groups_without_rows_are_undefined_and_of_one_context_have_no_interval():
    found = context_shares(np.array([[1.0], [0.0], [1.0]]), np.array([0, 0, 2]), np.arange(3), 3)
    assert found.share[:, 0].tolist()[0] == 0.5
    assert np.isnan(found.share[1, 0])
    assert found.share[2, 0] == 1.0
    assert np.isnan(found.low[:, 0]).tolist() == [False, True, True]


def test_probabilities_that_hardly_vary_are_known_better_than_tosses():
    rng = np.random.default_rng(4)
    policies = 0.5 + 0.01 * rng.normal(size=(50, 1))
    found = context_shares(policies, np.zeros(50, int), np.arange(50), 1, weights=np.ones(50))
    assert found.high[0, 0] - found.low[0, 0] < 0.05
    tossed = context_shares(np.round(policies), np.zeros(50, int), np.arange(50), 1)
    assert tossed.high[0, 0] - tossed.low[0, 0] > 0.2


def test_a_row_of_weight_two_is_two_rows():
    rng = np.random.default_rng(5)
    values, context = rng.uniform(size=(30, 1)), np.repeat(np.arange(10), 3)
    doubled = np.repeat(np.arange(30), 2)
    weighed = context_shares(values, np.zeros(30, int), context, 1, weights=np.full(30, 2.0))
    written = context_shares(
        values[doubled], np.zeros(60, int), context[doubled], 1, weights=np.ones(60)
    )
    np.testing.assert_allclose(weighed.low, written.low)
    assert weighed.n_rows == written.n_rows == 60


@pytest.mark.parametrize("dependence", [0.3, 3.0, 100.0])  # small: contexts nearly always agree
@pytest.mark.parametrize(
    ("n_contexts", "n_rows", "mean"), [(10, 5, 0.1), (40, 5, 0.03), (20, 1, 0.3)]
)
def test_coverage_is_at_least_as_stated(dependence, n_contexts, n_rows, mean):
    rng = np.random.default_rng(6)
    means = np.linspace(0.3, 1.7, 8) * mean  # of eight groups
    covered = []
    for _ in range(150):
        chances = rng.beta(
            means[:, None] * dependence, (1 - means[:, None]) * dependence, size=(8, n_contexts)
        )
        answers = (rng.uniform(size=(8, n_contexts, n_rows)) < chances[..., None]).astype(float)
        group = np.repeat(np.arange(8), n_contexts * n_rows)
        context = np.repeat(np.arange(8 * n_contexts), n_rows)
        found = context_shares(answers.reshape(-1, 1), group, context, 8)
        covered.append((found.low[:, 0] <= means) & (means <= found.high[:, 0]))
    # Of 1,200 intervals with coverage .95, fewer than .93 are covered once in a thousand times.
    assert np.mean(covered) > 0.93
