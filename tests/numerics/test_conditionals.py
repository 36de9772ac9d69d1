"""Conditional beliefs: they average out, lie nearest, and their shares scatter as stated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from coherence.rational.questions import StatedShares, average_out

unit = st.floats(0, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(unit, unit, st.floats(0.01, 1)), min_size=2, max_size=4),
    unit,
)
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


def stated(seed, n=400, reps=5, sd=0.05):
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.3, 0.7, n)
    group = np.arange(n).repeat(reps)
    said = np.round(share[group] + sd * rng.normal(size=group.size), 2)
    return np.column_stack([said, 1 - said]), group


def test_answers_scatter_as_they_did_and_still_add_up_to_one():
    table, group = stated(1)
    shares = StatedShares(table, group, 400)
    rng = np.random.default_rng(2)
    held = shares.shares(rng)
    drawn = shares.state(held, rng)
    assert held.sum(axis=1) == pytest.approx(np.ones(400))
    assert drawn.sum(axis=1) == pytest.approx(np.ones(2000), abs=1e-9)
    assert np.round(drawn, 2) == pytest.approx(drawn, abs=1e-9)
    assert (drawn[:, 0] - held[group, 0]).std() == pytest.approx(0.05, rel=0.05)


def test_answers_that_never_differ_may_stand_for_all_that_rounds_to_them():
    table, group = stated(3, sd=0.0)
    table = np.round(np.round(table / 0.05) * 0.05, 10)
    shares = StatedShares(table, group, 400)
    rng = np.random.default_rng(4)
    held = shares.shares(rng)
    assert 0.005 < np.abs(held[:, 0] - table[::5, 0]).mean() < 0.025
    drawn = shares.state(held, rng)
    for number in range(400):  # and all answers of a context are alike again
        assert len(np.unique(drawn[group == number], axis=0)) == 1
