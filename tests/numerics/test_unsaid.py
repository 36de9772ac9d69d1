"""What coarse scales, and round numbers missed by a hair, may leave unsaid of a belief."""

import numpy as np
import pytest
from scipy.special import expit

from coherence.checks.unsaid import rises_within_values
from coherence.statistics.heaps import round_numbers

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
