"""Contexts stay whole: permutations, folds, groups and p-values."""

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
)


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


def test_portions_of_resamples_change_no_number(monkeypatch):
    gaps = np.random.default_rng(0).normal(0.1, 1, 50)
    found = []
    for held in (10_000_000, 7 * 50, 1):
        monkeypatch.setattr(resample, "NUMBERS_HELD", held)
        rng = np.random.default_rng(2)
        found.append(resample.bootstrap_ratio(gaps, gaps**2, n_resamples=40, rng=rng))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[0] == pytest.approx(found[2], rel=1e-12)
