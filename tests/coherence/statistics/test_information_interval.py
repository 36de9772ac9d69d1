"""The interval of an information: what it inverts, where it ends, how often it holds the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from coherence.statistics.information import BinnedCounts
from coherence.statistics.information_interval import centred_information, information_interval


def test_the_lower_end_is_the_information_at_which_the_estimate_is_just_not_unusual():
    """Twenty degrees of freedom, scaled by .001: the noncentral chi square itself, many contexts.

    Its variance gains 4 times the scale per unit of mean.
    """
    scale, freedom, shift = 0.001, 20, 30
    spread, estimate = scale * math.sqrt(2 * freedom), scale * shift
    low, high = information_interval(estimate, spread, 4 * scale, freedom, 10**9, most=math.log(2))
    observed = shift + freedom
    assert stats.ncx2.sf(observed, freedom, low / scale) == pytest.approx(0.025, abs=1e-6)
    # The upper end is that of a normal estimate whose variance is the one at the end.
    deviation = math.sqrt(spread**2 + 4 * scale * high)
    assert (high - estimate) / deviation == pytest.approx(stats.norm.ppf(0.975), abs=1e-6)


def test_ends_stay_where_information_can_be():
    assert information_interval(-0.5, 0.01, 0.0, 10, 50, most=0.6)[0] == 0
    assert information_interval(0.001, 0.01, 0.01, 10, 50, most=0.6)[0] == 0
    assert information_interval(0.55, 0.1, 0.01, 10, 50, most=0.6)[1] == 0.6
    assert information_interval(5.0, 0.1, 0.01, 10, 50, most=0.6) == (0.6, 0.6)


def test_an_estimate_below_zero_says_no_more_than_one_of_zero():
    below, zero = (
        information_interval(estimate, 0.01, 0.01, 10, 50, most=0.6) for estimate in (-0.3, 0.0)
    )
    assert below == zero
    assert zero[1] > stats.t.ppf(0.975, 49) * 0.01


def test_few_contexts_widen_as_t_does():
    few, many = (information_interval(0.0, 0.01, 0.0, 10, n, most=0.6)[1] for n in (10, 10**9))
    assert few / many == pytest.approx(stats.t.ppf(0.975, 9) / stats.norm.ppf(0.975))


def test_it_holds_the_noncentral_chi_square_that_it_is_made_for():
    """At each of four noncentralities; 4,000 draws, of which 95% have an error of .35%."""
    rng = np.random.default_rng(0)
    scale, freedom = 0.002, 8
    spread = scale * math.sqrt(2 * freedom)
    for shift in (0, 4, 20, 100):
        drawn = scale * (rng.noncentral_chisquare(freedom, shift, 300) - freedom)
        held = [
            low <= scale * shift <= high
            for low, high in (
                information_interval(one, spread, 4 * scale, freedom, 10**6, most=1.0)
                for one in drawn
            )
        ]
        assert np.mean(held) >= 0.92


def coins(seed, n=80, signal=0.0):
    """Two bins of contexts with one coin each for action and state, and their exchanges."""
    rng = np.random.default_rng(seed)
    bins, state = np.repeat([0, 1], n // 2), rng.integers(0, 2, n)
    action = np.where(rng.random(n) < signal, state, rng.integers(0, 2, n))
    counts = BinnedCounts(bins, bins, np.arange(n), np.eye(2)[action], 2)
    exchanged = np.stack(
        [np.concatenate([rng.permutation(part) for part in np.split(state, 2)]) for _ in range(60)]
    )
    return counts, state, exchanged


def test_the_effect_is_centred_and_the_interval_made_of_spreads_of_exchanges_and_jackknife():
    counts, state, exchanged = coins(1, signal=0.5)
    plug_ins = counts.divergences(exchanged).in_bins
    result = centred_information(counts, state, exchanged, plug_ins, most=math.log(2))
    corrected = np.array([counts.estimate(states).corrected for states in exchanged])
    observed = counts.estimate(state)
    assert result.centre == pytest.approx(corrected.mean())
    assert result.effect == pytest.approx(observed.corrected - corrected.mean())
    spread = corrected.std()
    near = 2 * plug_ins.var() / plug_ins.mean()
    slope = (observed.standard_error**2 - spread**2 + near * spread) / (result.effect + spread)
    freedom = 2 * plug_ins.mean() ** 2 / plug_ins.var()
    by_hand = information_interval(result.effect, spread, slope, freedom, 80, most=math.log(2))
    assert (result.interval.low, result.interval.high) == pytest.approx(by_hand, abs=1e-12)
    assert 0 < result.interval.low < result.effect < result.interval.high


def test_exchanges_that_change_nothing_leave_no_interval():
    """Everybody chooses alike within a bin."""
    bins, state = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    counts = BinnedCounts(bins, bins, np.arange(40), np.eye(2)[bins], 2)
    exchanged = np.stack([state, 1 - state])
    plug_ins = counts.divergences(exchanged).in_bins
    result = centred_information(counts, state, exchanged, plug_ins, most=math.log(2))
    assert result.effect == 0
    assert result.interval is None


def test_one_exchange_that_tells_no_spread_leaves_that_of_the_jackknife():
    counts, state, _ = coins(2, signal=0.5)
    plug_ins = counts.divergences(state[None]).in_bins
    result = centred_information(counts, state, state[None], plug_ins, most=math.log(2))
    assert result.effect == 0
    assert 0 == result.interval.low < result.interval.high < math.log(2)
    assert result.interval.high >= 1.9 * counts.estimate(state).standard_error
