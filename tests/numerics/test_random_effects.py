"""Effects over tasks: breaks if their mean, its interval or their spread is not the known one."""

import numpy as np
import pytest
from scipy import stats

from coherence.statistics.random_effects import random_effects


def by_hand(values, errors):
    """Paule and Mandel's spread by bisection; Hartung and Knapp's interval in full."""
    values, variances = np.asarray(values), np.asarray(errors) ** 2

    def q(spread):
        weights = 1 / (variances + spread)
        mean = (weights * values).sum() / weights.sum()
        return (weights * (values - mean) ** 2).sum(), mean, weights

    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if q(middle)[0] > len(values) - 1 else (low, middle)
    spread = low if q(0.0)[0] > len(values) - 1 else 0.0
    total, mean, weights = q(spread)
    error = np.sqrt(total / (len(values) - 1) / weights.sum())
    width = stats.t.ppf(0.975, len(values) - 1) * error
    return mean, mean - width, mean + width, np.sqrt(spread)


@pytest.mark.parametrize("n", [2, 4, 24])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_mean_interval_and_spread_are_those_of_the_formulas(n, spread):
    rng = np.random.default_rng([n, int(10 * spread)])
    errors = rng.uniform(0.05, 0.3, n)
    values = rng.normal(0.2, np.hypot(errors, spread))
    sizes = rng.integers(30, 100, n)
    found = random_effects(values, errors, sizes)
    common = np.sqrt(np.mean(errors**2 * sizes) / sizes)
    mean, low, high, sd = by_hand(values, common)
    # The library stops its search for the spread at a change of 1e-5.
    assert (found.mean, found.low, found.high) == pytest.approx((mean, low, high), abs=2e-3)
    assert found.sd == pytest.approx(sd, abs=2e-3)
    assert found.n == n
    assert (found.pvalue <= 0.05) == (found.low > 0 or found.high < 0)
    weights = 1 / errors**2
    q = (weights * (values - (weights * values).sum() / weights.sum()) ** 2).sum()
    assert found.pvalue_equal == pytest.approx(stats.chi2.sf(q, n - 1))


def test_what_may_be_unsaid_belief_does_not_count_in_a_mean():
    rng = np.random.default_rng(3)
    effects, errors, sizes = 0.1 + 0.02 * rng.normal(size=6), np.full(6, 0.02), np.full(6, 50)
    plain = random_effects(effects, errors, sizes)
    less = random_effects(effects, errors, sizes, np.full(6, 0.04))
    assert (less.mean, less.high) == (plain.mean, plain.high)
    assert less.low == pytest.approx(plain.low - 0.04)
    shifted = random_effects(effects - 0.04, errors, sizes)
    assert less.pvalue == pytest.approx(shifted.pvalue)
    assert random_effects(effects, errors, sizes, np.full(6, 0.2)).pvalue == 1.0
    # Of the other sign it is the other end.
    assert random_effects(effects, errors, sizes, np.full(6, -0.04)).low == plain.low
