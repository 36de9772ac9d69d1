"""Tests and intervals of a share: the paper's p-values, other programs', and coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from coherence.batteries import crossed_interval, exact_test


def test_exact_test_convolves_where_chances_differ():
    pvalue = stats.binomtest(13, 25, 1 / 3, alternative="greater").pvalue
    assert exact_test(13, [1 / 3] * 25) == pytest.approx(pvalue)
    assert pvalue == pytest.approx(0.0415, abs=5e-5)  # the paper's
    chances = [3 / 8, 1 / 8, 3 / 8, 1 / 8]
    for k in range(5):
        by_hand = sum(
            math.prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
            for hits in itertools.product((0, 1), repeat=4)
            if sum(hits) >= k
        )
        assert exact_test(k, chances) == pytest.approx(by_hand)


def crossed(n_high=5, n_low=5, repeats=4):
    return np.repeat(np.arange(n_high), n_low * repeats), np.tile(
        np.repeat(np.arange(n_low), repeats), n_high
    )


def test_interval_of_perfect_answers_counts_things_and_not_questions():
    for repeats in (1, 4):
        high, low = crossed(repeats=repeats)
        interval = crossed_interval(np.ones(25 * repeats), high, low)
        # An additive layout of five by five things has nine free means.
        assert (interval.low, interval.high) == (pytest.approx(0.025 ** (1 / 9)), 1.0)
        wrong = crossed_interval(np.zeros(25 * repeats), high, low)
        assert (wrong.low, wrong.high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 9)))


def test_degrees_of_freedom_are_those_of_satterthwaite_less_what_kurtosis_takes():
    high, low = crossed(14, 15, 1)
    # One high thing of fourteen is always wrong: totals of low things are equal, and those of high
    # things are a spike.
    interval = crossed_interval(high > 0, high, low)
    share, n = 13 / 14, 14 * 15
    totals = np.where(np.arange(14) > 0, 15 * (1 - share), -15 * share)
    variance = 14 / 13 * (totals**2).sum() / n**2
    excess = (totals**4).mean() / (totals**2).mean() ** 2 - 3
    freedom = 2 / (excess / 14 + 2 / 13)
    assert freedom < 4 < 13
    shrink = (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, freedom)) ** 2
    effective = share * (1 - share) / variance * shrink
    end = stats.beta.ppf(0.025, effective * share, effective * (1 - share) + 1)
    assert interval.low == pytest.approx(end)
    # Where no thing differs from another the variance is that of independent answers.
    even = crossed_interval((high + low) % 2 == 0, high, low)
    independent = stats.binomtest(n // 2, n).proportion_ci()
    assert 1 <= (even.high - even.low) / (independent.high - independent.low) < 1.15


def coverage(share, thing_sd, *, draws, seed, shape=(5, 5, 4)):
    """Share of intervals that hold the expected share of right answers, and the same of intervals
    for independent answers.
    """
    rng = np.random.default_rng(seed)
    high, low = crossed(*shape)
    normal = stats.norm.ppf((np.arange(4000) + 0.5) / 4000) * thing_sd * math.sqrt(2)
    ends = np.array([-20.0, 20.0])
    for _ in range(60):  # the intercept at which the mean over things is the share
        middle = ends.mean()
        ends[int((1 / (1 + np.exp(-middle - normal))).mean() > share)] = middle
    held = np.zeros(2)
    for _ in range(draws):
        logit = ends.mean() + thing_sd * (
            rng.standard_normal(shape[0])[high] + rng.standard_normal(shape[1])[low]
        )
        right = rng.random(high.size) < 1 / (1 + np.exp(-logit))
        ours = crossed_interval(right, high, low)
        binomial = stats.binomtest(int(right.sum()), right.size).proportion_ci()
        held += [ours.low <= share <= ours.high, binomial.low <= share <= binomial.high]
    return held / draws


def test_interval_covers_where_the_binomial_one_does_not():
    assert math.isnan(crossed_interval([True, False], ["car", "car"], ["pen", "sock"]).low)
    ours, binomial = coverage(0.8, 1.0, draws=100, seed=0)
    assert ours >= 0.9
    assert binomial < 0.85


def test_answers_that_differ_within_every_thing_alone_have_the_interval_of_independent_ones():
    """Totals of all things are equal: the variance is p (1 - p) / (n - 1), and no t is needed."""
    high, low = crossed(4, 4, 1)
    interval = crossed_interval((high + low) % 2 == 0, high, low)
    assert (interval.low, interval.high) == pytest.approx(
        (stats.beta.ppf(0.025, 7.5, 8.5), stats.beta.ppf(0.975, 8.5, 7.5))
    )
    assert interval.level == 0.95
    wider = crossed_interval((high + low) % 2 == 0, high, low, level=0.99)
    assert wider.low == pytest.approx(stats.beta.ppf(0.005, 7.5, 8.5))
