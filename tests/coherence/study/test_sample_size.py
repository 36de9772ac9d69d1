"""The search against power curves that are known."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence.study.sample_size import contexts_for


def normal_test(effect):
    """Power of a two-sided z-test of one effect, its smaller tail left out."""
    return lambda n: stats.norm.cdf(effect * math.sqrt(n) - 1.96)


def exact_size(power, target):
    return next(n for n in range(10, 100_000) if power(n) >= target)


def simulated(power, seed):
    """Rejections of the first so many of a fixed sequence of studies of every size."""

    def count(n_contexts, n):
        rng = np.random.default_rng((seed, n_contexts))
        return int((rng.random(100_000)[:n] < power(n_contexts)).sum())

    return count


@pytest.mark.parametrize("effect", [0.4, 0.15, 0.06])
@pytest.mark.parametrize("target", [0.8, 0.9])
def test_the_size_is_found_and_its_interval_is_narrow(effect, target):
    power = normal_test(effect)
    needed = contexts_for(simulated(power, 1), target, limit=20_000, n_simulations=500)
    truth = exact_size(power, target)
    assert needed.reached
    assert needed.n_contexts == pytest.approx(truth, rel=0.15)
    assert needed.low <= needed.n_contexts <= needed.high
    assert needed.high - needed.low <= 0.25 * needed.n_contexts
    assert needed.sentence == (
        f"{target:.0%} power takes about {needed.n_contexts:,.0f} contexts (95% interval "
        f"{needed.low:,.0f} to {needed.high:,.0f})."
    )


def bent(n):
    """A curve that is no probit in the root of n: a logit in its logarithm, with a floor."""
    return 0.04 + 0.96 / (1 + math.exp(-2.5 * (math.log(n) - math.log(90))))


@pytest.mark.parametrize("power", [normal_test(0.2), bent])
def test_intervals_hold_the_true_size(power):
    """Of 100 searches at least 88 of intervals that cover in .95 do, but for one in 1,000."""
    truth = exact_size(power, 0.8)
    held = 0
    for seed in range(100):
        needed = contexts_for(simulated(power, seed), 0.8, limit=5_000, n_simulations=200)
        held += needed.low <= truth <= needed.high
    assert held >= stats.binom.ppf(0.001, 100, 0.95)


def test_a_power_beyond_the_limit_is_said_to_be():
    needed = contexts_for(simulated(normal_test(0.01), 1), 0.8, limit=500, n_simulations=200)
    assert not needed.reached
    assert math.isnan(needed.n_contexts)
    assert needed.high == math.inf
    rejected, n = needed.tried[500]
    assert f"80% power is not reached with 500 contexts: the power there is {rejected / n:.2f}" in (
        needed.sentence
    )


def test_a_test_that_never_rejects_ends_the_search():
    asked = []

    def count(n_contexts, n):
        asked.append(n_contexts)
        return 0

    needed = contexts_for(count, 0.8, limit=1_000, n_simulations=100)
    assert not needed.reached
    assert set(asked) == {20, 40, 80, 160, 320, 640, 1_000}


def test_a_size_near_the_limit_is_no_crash():
    """The truth is 495; the answer is near it or that the limit does not suffice."""
    power = normal_test(0.126)
    assert exact_size(power, 0.8) == 495
    for seed in range(10):
        needed = contexts_for(simulated(power, seed), 0.8, limit=500, n_simulations=200)
        assert needed.high >= 450
        assert needed.n_contexts <= 500 or not needed.reached


def test_the_fewest_contexts_may_be_enough():
    needed = contexts_for(lambda n_contexts, n: n, 0.8, limit=500, n_simulations=200)
    assert needed.reached
    assert (needed.low, needed.n_contexts, needed.high) == (10, 10, 10)
