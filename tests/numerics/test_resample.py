"""Contexts stay whole: permutations, folds, groups and p-values."""

import math
from itertools import product

import numpy as np
import pytest

from coherence.statistics import resample
from coherence.statistics.resample import (
    as_generator,
    bootstrap_counts,
    bootstrap_ratio,
    context_folds,
    context_means,
    context_sums,
    jackknife_groups,
    percentile_interval,
    permutation_pvalue,
    sign_flip_pvalue,
)


def test_pvalue_counts_the_observed_arrangement_and_ties():
    assert permutation_pvalue(2.0, np.array([1.0, 2.0, 3.0])) == 0.75
    assert permutation_pvalue(9.0, np.zeros(999)) == 0.001


def test_the_pvalue_does_not_hang_on_the_last_bit():
    """A margin relative to large statistics, and absolute to small ones."""
    assert permutation_pvalue(1e6, np.array([1e6 * (1 - 1e-13), 0.0])) == 2 / 3
    assert permutation_pvalue(1e6, np.array([1e6 - 1e-3, 0.0])) == 1 / 3
    assert permutation_pvalue(0.0, np.array([-1e-13, -1e-9])) == 2 / 3


def test_folds_never_split_a_context_and_are_balanced():
    context = np.repeat(np.arange(23), 4)
    folds = context_folds(context, np.arange(23, dtype=np.uint64), 5, 1)
    assert (folds.reshape(23, 4) == folds.reshape(23, 4)[:, :1]).all()
    sizes = np.bincount(folds[::4])
    assert sizes.max() - sizes.min() <= 1


def test_one_context_less_leaves_the_folds_of_others():
    """Five folds of 30: at most four places at their ends move, where a new draw moves 120."""
    content = np.arange(150, dtype=np.uint64)
    whole = context_folds(np.arange(150), content, 5, 3)
    for left_out in (0, 77, 149):
        kept = content != left_out
        less = context_folds(np.arange(149), content[kept], 5, 3)
        assert np.count_nonzero(less != whole[kept]) <= 4
    others = context_folds(np.arange(150), content, 5, 4)
    assert 90 < np.count_nonzero(whole != others) < 145


def test_sign_flips_enumerate_all_signs_when_few():
    gaps = np.array([0.5, -0.1, 0.3, 0.2])
    sums = [abs(np.dot(signs, gaps)) for signs in product([1, -1], repeat=4)]
    expected = np.mean([value >= abs(gaps.sum()) - 1e-12 for value in sums])
    assert sign_flip_pvalue(gaps, n_flips=9999, rng=np.random.default_rng(0)) == expected


def test_sign_flips_agree_with_enumeration_when_drawn():
    gaps = np.random.default_rng(2).normal(0.2, 1, 12)
    exact = sign_flip_pvalue(gaps, n_flips=4096, rng=np.random.default_rng(0))
    drawn = sign_flip_pvalue(gaps, n_flips=4095, rng=np.random.default_rng(0))
    assert drawn == pytest.approx(exact, abs=0.03)


def test_sign_flips_have_nothing_to_say_about_zero_gaps():
    assert np.isnan(sign_flip_pvalue(np.zeros(30), n_flips=99, rng=np.random.default_rng(0)))


def test_groups_are_of_nearly_equal_size():
    groups = jackknife_groups(50, 40, np.random.default_rng(0))
    assert np.bincount(groups).tolist() == [2] * 10 + [1] * 30


def test_bootstrap_ratio_resamples_contexts():
    """Five copies of each row in one context must not shrink the spread of a mean over contexts."""
    rng = np.random.default_rng(4)
    per_context = rng.normal(size=100)
    draws = bootstrap_ratio(5 * per_context, np.full(100, 5.0), n_resamples=4000, rng=rng)
    assert draws.std() == pytest.approx(per_context.std() / 10, rel=0.06)


def test_context_means_of_unequal_repetitions():
    assert context_means(np.array([1.0, 3.0, 5.0]), np.array([1, 0, 1]), 2).tolist() == [3.0, 3.0]


def test_sign_flips_are_studentised_means():
    """The share of flips whose t statistic is as large in size, one gap being zero and left out."""
    gaps = np.array([0.4, 0.1, -0.2, 0.3, 0.25, 0.0])
    signs = np.array(list(product([1, -1], repeat=5)))
    flipped = signs * gaps[:5]
    t = np.abs(flipped.mean(axis=1) / flipped.std(axis=1))
    expected = np.mean(t >= abs(gaps[:5].mean() / gaps[:5].std()) - 1e-9)
    for n_flips in (32, 999):  # 32 arrangements: just few enough to be listed
        assert sign_flip_pvalue(gaps, n_flips=n_flips, rng=np.random.default_rng(0)) == expected
    drawn = {
        sign_flip_pvalue(gaps, n_flips=31, rng=np.random.default_rng(seed)) for seed in range(9)
    }
    assert len(drawn) > 1
    assert all(value * 32 == pytest.approx(round(value * 32)) for value in drawn)


def test_percentiles_leave_undefined_draws_out():
    draws = np.append(np.arange(101.0), [np.nan] * 50)
    assert percentile_interval(draws) == pytest.approx((2.5, 97.5))
    assert percentile_interval(draws, 0.8) == pytest.approx((10, 90))


def test_bootstrap_samples_are_as_large_as_the_data_and_even():
    counts = bootstrap_counts(20, 3000, np.random.default_rng(0))
    assert counts.shape == (3000, 20)
    assert (counts.sum(axis=1) == 20).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.1)
    assert counts.var() == pytest.approx(0.95, rel=0.05)


def test_sums_hold_contexts_without_rows():
    values, context = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2])
    assert context_sums(values, context, 4).tolist() == [2, 0, 5, 0]


def test_seeds_and_generators_are_taken_as_they_are():
    rng = np.random.default_rng(5)
    assert as_generator(rng) is rng
    assert as_generator(5).random() == np.random.default_rng(5).random()


def test_rounding_is_no_gap():
    """Beliefs that average out exactly leave gaps of the last bit, whose signs say nothing."""
    gaps = np.full(40, 2e-17)
    assert math.isnan(sign_flip_pvalue(gaps, n_flips=99, rng=np.random.default_rng(0)))


def test_portions_of_signs_and_of_resamples_change_no_number(monkeypatch):
    gaps = np.random.default_rng(0).normal(0.1, 1, 50)
    found = []
    for held in (10_000_000, 7 * 50, 1):
        monkeypatch.setattr(resample, "NUMBERS_HELD", held)
        pvalue = resample.sign_flip_pvalue(gaps, n_flips=99, rng=np.random.default_rng(1))
        rng = np.random.default_rng(2)
        ratios = resample.bootstrap_ratio(gaps, gaps**2, n_resamples=40, rng=rng)
        found.append([pvalue, *ratios])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0] == pytest.approx(found[2], rel=1e-12)
