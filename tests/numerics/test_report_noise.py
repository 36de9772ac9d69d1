"""Noise of reports: its standard deviation against pandas, and what it does to tests."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from coherence.checks.unsaid import rises_within_values, rounding_bound
from coherence.statistics.report_noise import (
    MISLEADING,
    ReportNoise,
    Reports,
    copied,
    kind_of_reports,
    noise_bias,
    report_noise,
    round_numbers,
)


def test_equals_the_mean_variance_of_groups_of_unequal_size():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    belief = rng.random(len(group))
    variances = pd.Series(belief).groupby(group).var().dropna()
    noise = report_noise(belief, group)
    assert noise.sd == pytest.approx(math.sqrt(variances.mean()), rel=1e-12)
    assert noise.n_groups == len(variances)
    mixed = rng.permutation(len(group))
    assert report_noise(belief[mixed], group[mixed]).sd == pytest.approx(noise.sd, rel=1e-12)
    # Of several states it is the mean of their variances.
    belief, group = np.array([0.2, 0.4, 0.5, 0.5]), np.array([0, 0, 1, 1])
    several = np.column_stack([belief, 0.5 * (1 - belief), 0.5 * (1 - belief)])
    one = report_noise(belief, group).sd
    assert report_noise(several, group).sd == pytest.approx(one / math.sqrt(2))


def test_the_limit_itself_does_not_mislead():
    assert not ReportNoise(0.1, 10, bias=MISLEADING).exceeds
    assert ReportNoise(0.01, 10, bias=np.nextafter(MISLEADING, 1)).exceeds
    assert not ReportNoise(0.3, 10).exceeds  # without choices nothing can be misled
    noise = report_noise(np.array([0.1, 0.9]), np.array([0, 1]))
    assert math.isnan(noise.sd)  # without repetitions nothing is known
    assert (noise.n_groups, noise.exceeds) == (0, False)


def test_the_bias_of_noise_is_what_noise_adds_to_a_sum():
    """A coherent agent: what the noise of means leaves of choice and state covaries."""
    rng = np.random.default_rng(1)
    found, seen = [], []
    for _ in range(300):
        belief = rng.random(80)
        report = belief[:, None] + rng.uniform(-0.2, 0.2, (80, 3))
        state = np.clip(belief + 0.1 * rng.normal(size=80), 0, 1)
        share = 0.1 + 0.8 * belief + 0.1 * rng.normal(size=80)
        mean = report.mean(axis=1) - report.mean()
        left = [x - x.mean() - mean * (mean @ x) / (mean @ mean) for x in (share, state)]
        seen.append(left[0] @ left[1] / (left[0].std() * left[1].std() * math.sqrt(80)))
        context = np.repeat(np.arange(80), 3)
        of_rows = np.stack([share, 1 - share], axis=1)[context], state[context]
        found.append(noise_bias(report.ravel(), context, *of_rows))
    assert np.mean(found) == pytest.approx(np.mean(seen), rel=0.1)


def test_reports_without_noise_or_without_repetitions():
    context = np.repeat(np.arange(20), 2)
    belief = np.linspace(0, 1, 20)[context]
    share, state = np.ones((40, 2)) / 2, belief
    assert noise_bias(belief, context, share, state) == 0
    assert math.isnan(noise_bias(belief[::2], np.arange(20), share[::2], state[::2]))
    # One value in every case may be one report, copied to the rows of its choices.
    assert kind_of_reports(belief, context) == (Reports.ALIKE, 0.0)
    assert kind_of_reports(belief[:-1], context[:-1]) == (Reports.ALIKE, 0.0)
    assert kind_of_reports(belief[::2], np.arange(20))[0] is Reports.SINGLE
    belief[::2] += 0.1
    assert kind_of_reports(belief, context)[0] is Reports.DIFFER


@pytest.mark.parametrize(("repeated", "kind"), [(1, "single"), (9, "single"), (10, "alike")])
def test_agreement_of_a_few_cases_says_nothing_of_the_others(repeated, kind):
    context = np.r_[np.arange(20), np.arange(repeated)]
    belief = np.linspace(0, 1, 20)[context]
    assert kind_of_reports(belief, context)[0] == kind
    belief[20:] += 1e-4
    assert kind_of_reports(belief, context)[0] == ("exact" if kind == "alike" else "single")
    belief[20:] += 0.2
    assert kind_of_reports(belief, context)[0] is Reports.DIFFER


@pytest.mark.parametrize(
    ("rows", "lost", "expected"), [(1, 0.0, 0.0), (3, 0.0, 0.4), (10, 0.1, 9 / 19)]
)
def test_copies_of_reports_are_told_from_reports_that_agree(rows, lost, expected):
    """Of two reports on k rows each, (k - 1) / (2k - 1) of pairs are one report twice."""
    rng = np.random.default_rng(2)
    context = np.repeat(np.arange(300), 2)
    said = np.linspace(0.2, 0.8, 300)[context] + 0.1 * rng.normal(size=600)
    for grid in (1e-9, 0.01, 0.05):
        belief, case = (np.repeat(x, rows) for x in (np.round(said / grid) * grid, context))
        kept = rng.random(belief.size) >= lost
        found = copied(belief[kept], case[kept])
        assert found == pytest.approx(expected, abs=0.02 if grid < 0.05 else 0.06)


@pytest.mark.parametrize(("n", "kind"), [(60, "exact"), (1_000, "differ")])
def test_the_more_cases_the_less_noise_is_too_small_to_move_a_test(n, kind):
    context = np.repeat(np.arange(n), 5)
    noise = np.tile([-0.01, 0.005, 0.0, 0.005, 0.0], n)
    belief = np.linspace(0.1, 0.9, n)[context] + noise
    assert kind_of_reports(belief, context)[0] == kind


@pytest.mark.parametrize(
    "shares",
    [{0.1: 1.0}, {0.05: 1.0}, {0.01: 1.0}, {0.1: 0.5, 0.05: 0.5}, {0.1: 0.5, 0.01: 0.5},
     {0.05: 0.3, 0.01: 0.7}, {0.25: 1.0}, {0.5: 1.0}],
)  # fmt: skip
def test_rounding_is_told_from_how_often_round_numbers_occur(shares):
    mean_square = sum(share * step**2 for step, share in shares.items())
    rng = np.random.default_rng(1)
    steps = rng.choice(list(shares), 40_000, p=list(shares.values()))
    rounded = np.round(np.round(rng.uniform(0.05, 0.95, 40_000) / steps) * steps, 10)
    expected = 1.5 * mean_square / 12
    # Of a mixture more: a value is as wide as those lie apart that are half as frequent.
    most = 1.15 if len(shares) == 1 else 1.4
    assert 0.85 * expected <= rounding_bound(rounded, 40_000) <= most * expected


@pytest.mark.parametrize(
    ("points", "mean_square"),
    [
        (np.linspace(0, 1, 7), 1 / 36),  # answers from 1 to 7
        ([0.2, 0.8], 0.36),  # likely, unlikely
        # words of uneven distance
        ([0.05, 0.25, 0.5, 0.75, 0.95], (2 * 0.04 + 2 * 0.225**2 + 0.0625) / 5),
    ],
)
def test_values_that_occur_often_are_as_wide_as_they_lie_apart(points, mean_square):
    said = np.random.default_rng(1).choice(points, 200)
    assert rounding_bound(said, 200) == pytest.approx(1.5 * mean_square / 12, rel=0.1)


def test_few_cases_a_value_are_no_words_of_a_scale():
    said = np.random.default_rng(1).permutation(np.tile(np.linspace(0.013, 0.913, 10), 3))
    assert rounding_bound(said, 30) > 0
    assert rounding_bound(said[:29], 29) == 0


# What coarse scales, and round numbers missed by a hair, may leave unsaid of a belief.


BELIEF = (np.arange(20_000) + 0.5) / 20_000


@pytest.mark.parametrize("step", [0.25, 0.1, 0.05])
@pytest.mark.parametrize(
    ("curve", "least", "most"),
    [
        (lambda b: b > 0.5, 1.0, 1.3),
        (lambda b: b > 0.51, 1.0, 1.6),
        (lambda b: expit(6 * (b - 0.5)), 0.9, 2.5),
        (lambda b: 0.2 + 0.5 * b, 0.9, 4.0),
        (lambda b: 1.0 - (b > 0.5), 1.0, 1.3),
    ],
)
def test_what_a_rise_within_values_leaves_is_bounded_and_hardly_more(step, curve, least, most):
    """The product of a curve with itself within the values of a scale, which is known."""
    values = curve(BELIEF).astype(float)
    said = np.round(step * np.round(BELIEF / step), 9)
    of, times = np.unique(said, return_inverse=True, return_counts=True)[1:]
    left = values - (np.bincount(of, values) / times)[of]
    allowed = rises_within_values(said, np.column_stack([values, values, 1 - values]))
    assert least * (left**2).mean() <= allowed[0] <= most * (left**2).mean()
    assert allowed[1] == pytest.approx(-allowed[0])


def test_nothing_rises_within_values_that_hardly_come_again():
    assert not rises_within_values(BELIEF, np.column_stack([BELIEF, BELIEF])).any()
    assert not rises_within_values(0 * BELIEF + 0.5, np.column_stack([BELIEF, BELIEF])).any()


def reports(kind, rng):
    """Draw reports of 200 cases, and the numbers that they mean."""
    belief = expit(1.5 * rng.normal(size=200))
    meant = np.round(belief, 1) if kind in ("tens", "percents") else belief
    if kind == "heap":
        meant = np.where(np.abs(belief - 0.5) < 0.12, 0.5, belief)
    if kind == "mixed":
        meant = np.where(rng.random(200) < 0.4, np.round(4 * belief) / 4, belief)
    if kind == "narrow":
        meant = 0.455 + 0.006 * rng.normal(size=200)
    off = 0.007 * rng.normal(size=200) * (meant == np.round(meant, 2))
    said = np.clip(meant + off, 0, 1)
    return np.round(said, 2) if kind == "percents" else said, meant


@pytest.mark.parametrize(
    ("kind", "times"),
    [("tens", 20), ("percents", 20), ("heap", 20), ("mixed", 20), ("smooth", 0), ("narrow", 0)],
)
def test_reports_that_miss_round_numbers_by_a_hair_are_these(kind, times):
    found = 0
    for seed in range(20):
        said, meant = reports(kind, np.random.default_rng(seed))
        taken, any_taken = round_numbers(said, np.arange(200))
        found += any_taken
        inner = (meant == np.round(meant, 2)) & (np.abs(meant - 0.5) < 0.5)
        if any_taken and times:
            assert (np.abs(taken - meant)[inner] < 1e-9).mean() > 0.9
        if not any_taken:
            np.testing.assert_array_equal(taken, said)
        pair = np.arange(200) % 100  # two reports a case; a belief in the other state is the same
        other = 1 - round_numbers(1 - said, pair)[0]
        np.testing.assert_allclose(round_numbers(said, pair)[0], other, atol=1e-9)
        smooth = np.round(expit(1.5 * np.random.default_rng(seed).normal(size=200)), 2)
        assert not round_numbers(smooth, np.arange(200))[1]
        dense_at_ends = np.round(expit(2.5 * np.random.default_rng(seed).normal(size=400)), 2)
        assert not round_numbers(dense_at_ends, np.arange(400))[1]
    assert abs(found - times) <= 1
