"""What reports tell of beliefs: the noise that was planted, its law, and the grid of reports."""

import numpy as np
import pytest

from coherence.rational.belief import (
    Grid,
    counted_reports,
    grid_of,
    noisy_beliefs,
    report_chances,
)

POINTS = np.linspace(0, 1, 41)


def reports_of(data):
    return counted_reports(data.report, data.context, data.context.max() + 1)


def test_beliefs_and_noise_behind_reports_are_found(drawn):
    data = drawn(3, n=2000, sd=0.15)
    held = noisy_beliefs(reports_of(data), None)
    # .15 although reports near 0 and 1 vary by much less.
    assert held.sd == pytest.approx(0.15, rel=0.05)
    assert held.distribution @ held.points == pytest.approx(0.5, abs=0.02)
    assert held.distribution @ held.points**2 == pytest.approx(1 / 3, abs=0.02)
    # Five reports with SD .15 know the belief to about .067, the ends add a little.
    assert np.sqrt(((held.weight @ held.points - data.belief) ** 2).mean()) < 0.067


def test_masses_at_the_ends_are_found():
    rng = np.random.default_rng(4)
    belief = np.repeat(rng.choice([0.0, 1.0, 0.5], 1000, p=[0.3, 0.2, 0.5]), 5)
    report = np.clip(belief + 0.1 * rng.normal(size=belief.size), 0, 1).round(2)
    held = noisy_beliefs(counted_reports(report, np.arange(5000) // 5, 1000), None)
    near = held.points < 0.15
    assert held.distribution[near].sum() == pytest.approx(0.3, abs=0.045)
    assert held.distribution[held.points > 0.85].sum() == pytest.approx(0.2, abs=0.045)


def test_noise_that_is_shared_widens_what_is_left_open(drawn):
    reports = reports_of(drawn(5, n=100))

    def left_open(shared):
        held = noisy_beliefs(reports, 0.15, shared=shared)
        assert held.sd == 0.15
        return (held.weight @ held.points**2 - (held.weight @ held.points) ** 2).mean()

    assert left_open(0.1) > 1.4 * left_open(0.0)


@pytest.mark.parametrize("spacing", [0.01, 0.05, 0.1, 0.25])
@pytest.mark.parametrize("sd", [0.01, 0.1, 0.5])
def test_reports_of_every_belief_add_up_to_one(spacing, sd):
    chances = report_chances(Grid(spacing, rounded=True), sd, POINTS)
    assert chances.sum(axis=1) == pytest.approx(np.ones(POINTS.size), abs=1e-9)


def test_frequencies_of_drawn_reports_follow_their_chances():
    rng = np.random.default_rng(1)
    grid, n, belief = Grid(0.05, rounded=True), 200_000, 0.1
    report = grid.nearest(np.clip(belief + 0.12 * rng.normal(size=n), 0, 1))
    seen = counted_reports(report, np.zeros(n, dtype=int), 1).counts[0] / n
    expected = report_chances(grid, 0.12, np.array([belief]))[0]
    assert np.abs(seen - expected).max() < 5 * np.sqrt(0.25 / n)


def test_the_grid_of_reports_is_found():
    for reports, spacing in (([0, 0.25, 1], 0.25), ([0.2, 0.4], 0.2), ([0.1, 0.4], 0.1)):
        assert grid_of(np.array(reports)) == Grid(spacing, rounded=True)
    assert grid_of(np.array([0.3, 0.35])) == Grid(0.05, rounded=True)
    # Continuous beliefs are counted in hundredths.
    assert grid_of(np.array([0.123456, 0.9])) == Grid(0.01, rounded=False)


def test_what_rounds_to_a_report_lies_within_half_a_step_and_in_the_unit_interval():
    reports, grid = np.repeat([0.0, 0.4, 1.0], 4000), Grid(0.2, rounded=True)
    drawn = grid.within_step(reports, np.random.default_rng(1))
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert grid.nearest(drawn) == pytest.approx(reports)
    # Uniform: distances from a report average a quarter of a step, also where the range ends.
    distance = np.abs(drawn - reports).reshape(3, -1).mean(axis=1)
    assert distance == pytest.approx(0.05, abs=0.002)
