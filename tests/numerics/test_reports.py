"""Reports and what they tell of beliefs: the noise that was planted, its law, the grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from coherence.rational.belief import (
    Grid,
    counted_reports,
    grid_of,
    noisy_beliefs,
    report_chances,
)
from coherence.rational.questions import StatedShares, average_out, fit_question

POINTS = np.linspace(0, 1, 41)
unit = st.floats(0, 1)


def test_masses_at_the_ends_are_found():
    rng = np.random.default_rng(4)
    belief = np.repeat(rng.choice([0.0, 1.0, 0.5], 1000, p=[0.3, 0.2, 0.5]), 5)
    report = np.clip(belief + 0.1 * rng.normal(size=belief.size), 0, 1).round(2)
    held = noisy_beliefs(counted_reports(report, np.arange(5000) // 5, 1000), None)
    near = held.points < 0.15
    assert held.distribution[near].sum() == pytest.approx(0.3, abs=0.045)
    assert held.distribution[held.points > 0.85].sum() == pytest.approx(0.2, abs=0.045)


def test_noise_that_is_shared_widens_what_is_left_open():
    reported, context, _ = asked(5, 0.15, n=100)
    reports = counted_reports(reported, context, 100)

    def left_open(shared):
        held = noisy_beliefs(reports, 0.15, shared=shared)
        return (held.weight @ held.points**2 - (held.weight @ held.points) ** 2).mean()

    assert left_open(0.1) > 1.4 * left_open(0.0)


def test_reports_of_every_belief_add_up_to_one_and_are_as_frequent_as_they_are_likely():
    for spacing, sd in ((0.01, 0.5), (0.05, 0.01), (0.1, 0.1), (0.25, 0.5)):
        chances = report_chances(Grid(spacing, rounded=True), sd, POINTS)
        assert chances.sum(axis=1) == pytest.approx(np.ones(POINTS.size), abs=1e-9)
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


def asked(seed, sd, *, n=300, reps=5, grid=0.05):
    rng = np.random.default_rng(seed)
    belief = rng.random(n)
    group = np.arange(n).repeat(reps)
    reports = np.clip(belief[group] + sd * rng.normal(size=group.size), 0, 1)
    if sd == 0:
        reports = belief[group]
    return np.round(np.round(reports / grid) * grid, 10), group, belief


def test_reports_of_the_same_beliefs_scatter_alike_and_stay_on_the_grid():
    reports, group, belief = asked(1, 0.15)
    question = fit_question(reports, group, 300)
    drawn = question.reports(belief[group], np.random.default_rng(2))
    assert grid_of(drawn) == Grid(0.05, rounded=True)
    spread, wanted = (
        np.sqrt(np.mean([values[group == g].var(ddof=1) for g in range(300)]))
        for values in (drawn, reports)
    )
    assert spread == pytest.approx(wanted, rel=0.06)
    assert drawn.mean() == pytest.approx(reports.mean(), abs=0.02)
    held = question.beliefs(np.random.default_rng(3))
    # Drawn from what five reports tell: near the belief, and as wide as the beliefs themselves.
    assert np.sqrt(np.mean((held - belief) ** 2)) == pytest.approx(
        np.sqrt(2 * np.mean(question.spread**2)), rel=0.15
    )
    assert held.std() == pytest.approx(belief.std(), rel=0.06)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(unit, unit, st.floats(0.01, 1)), min_size=2, max_size=4), unit)
def test_averages_are_the_beliefs_and_stay_inside(pieces, belief):
    held, spread, weight = map(np.array, zip(*pieces, strict=True))
    weight = weight / weight.sum()
    gap = np.zeros(len(pieces), dtype=np.int64)
    moved = average_out(held, spread, weight, gap, np.array([belief]))
    assert weight @ moved == pytest.approx(belief, abs=1e-6)
    assert ((moved >= 0) & (moved <= 1)).all()


def test_the_nearest_beliefs_are_taken_in_units_of_their_spread():
    rng = np.random.default_rng(1)
    held, spread = rng.uniform(0.2, 0.8, 3), rng.uniform(0.05, 0.3, 3)
    weight, target = np.array([0.2, 0.3, 0.5]), 0.55
    moved = average_out(held, spread, weight, np.zeros(3, dtype=np.int64), np.array([target]))
    best = minimize(
        lambda q: (((q - held) / spread) ** 2).sum(),
        held,
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda q: weight @ q - target},
        tol=1e-12,
    )
    assert moved == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("sd", [0.05, 0.0])
def test_answers_scatter_as_they_did_and_still_add_up_to_one(sd):
    rng = np.random.default_rng(1)
    share, group = rng.uniform(0.3, 0.7, 400), np.arange(400).repeat(5)
    said = np.round(share[group] + sd * rng.normal(size=group.size), 2)
    shares, rng = StatedShares(np.column_stack([said, 1 - said]), group, 400), rng.spawn(1)[0]
    held = shares.shares(rng)
    drawn = shares.state(held, rng)
    assert held.sum(axis=1) == pytest.approx(np.ones(400))
    assert drawn.sum(axis=1) == pytest.approx(np.ones(2000), abs=1e-9)
    assert np.round(drawn, 2) == pytest.approx(drawn, abs=1e-9)
    if sd:
        assert (drawn[:, 0] - held[group, 0]).std() == pytest.approx(sd, rel=0.05)
    else:  # what never differs may stand for all that rounds to it, and never differs again
        assert 0.001 < np.abs(held[:, 0] - said[::5]).mean() < 0.005
        assert (np.ptp(drawn[:, 0].reshape(400, 5), axis=1) == 0).all()


def test_reports_that_never_differ_have_no_noise_but_rounding():
    reports, group, _ = asked(2, 0.0)
    question = fit_question(reports, group, 300)
    assert not question.held.noisy
    rng = np.random.default_rng(1)
    held = question.beliefs(rng)
    assert question.reports(held, rng) == pytest.approx(reports[::5])
    assert (held - reports[::5]).std() == pytest.approx(0.05 / np.sqrt(12), rel=0.1)
    assert ((held >= 0) & (held <= 1)).all()
