"""What rounding leaves of gaps: floors by hand, correlated rounding, inversion without a grid."""

import numpy as np
import pytest

from coherence.statistics.mean_interval import mean_interval
from coherence.statistics.rounding import (
    SHAPES,
    Parts,
    Reports,
    expected_squares,
    root_before_rounding,
    rounded,
)

STEP = 0.05
ALL = {"p": {STEP: 1.0}, "p given z": {STEP: 1.0}, "p_z": {STEP: 1.0}}


def parts(p, given, weight, complementary=True):
    """One report of each; `given` and `weight` have two columns."""
    n = len(p)
    gap, state = np.repeat(np.arange(n), 2), np.tile([0, 1], n)
    pieces = np.arange(2 * n)
    return Parts(
        belief=Reports(np.asarray(p), np.arange(n)),
        given=Reports(np.asarray(given).ravel(), pieces),
        weight=Reports(np.asarray(weight).ravel(), pieces),
        gap_of_piece=gap,
        state_of_piece=state,
        belief_of_gap=np.arange(n),
        sums_to_one=np.full(n, complementary),
    )


def spread_reports(n=400, seed=0):
    """Reports in steps of .05, of beliefs given z that lie far apart."""
    rng = np.random.default_rng(seed)
    given = np.stack([rng.integers(1, 9, n), rng.integers(11, 19, n)], axis=1) * STEP
    share = rng.integers(5, 16, n) * STEP
    weight = np.stack([1 - share, share], axis=1)
    return np.round((given * weight).sum(axis=1) / STEP) * STEP, given, weight


def test_floor_is_that_of_independent_roundings_where_these_are_spread():
    """Variance step^2 / 12 of p, of both p(z) by their weights, of P(z) by their difference."""
    p, given, weight = spread_reports()
    floor = expected_squares(parts(p, given, weight), ALL, repeated=False)(0.0, "normal")
    factor = 1 + (weight**2).sum(axis=1) + (given[:, 1] - given[:, 0]) ** 2
    assert floor.mean() == pytest.approx(STEP**2 / 12 * factor.mean(), rel=0.08)


def test_weights_that_complement_each_other_are_rounded_once():
    """Rounded apart, each would add its own error, and one that both share would cancel."""
    p, given, weight = spread_reports()
    together, apart = (
        expected_squares(parts(p, given, weight, complementary), ALL, repeated=False)(0.0, "normal")
        for complementary in (True, False)
    )
    square = STEP**2 / 12 * (given[:, 1] - given[:, 0]) ** 2
    # Of two errors the mean of the difference to 1 is taken out: shares^2 of the same square stay.
    expected = (square * (1 - (weight**2).sum(axis=1))).mean()
    assert together.mean() - apart.mean() == pytest.approx(expected, rel=0.15)


def test_beliefs_that_do_not_depend_on_z_round_alike():
    """All of p and p(z) the same report in every context: the three errors are one, and cancel."""
    p = np.random.default_rng(1).integers(1, 20, 400) * STEP
    given, weight = np.stack([p, p], axis=1), np.full((400, 2), 0.5)
    grids = ALL | {"p_z": {0.0: 1.0}}
    floor = expected_squares(parts(p, given, weight), grids, repeated=False)(0.0, "normal")
    assert floor.mean() < 0.1 * STEP**2 / 12 * 1.5


def test_without_a_grid_the_gap_is_the_root():
    rng = np.random.default_rng(2)
    grids = {kind: {0.0: 1.0} for kind in ALL}
    assert not rounded(grids)
    assert rounded(grids | {"p": {0.0: 0.9, STEP: 0.1}})
    p, given, weight = spread_reports(50)
    expected = expected_squares(parts(p, given, weight), grids, repeated=False)
    coherent = (given * weight).sum(axis=1)
    assert expected(0.0, "equal").max() < 1e-20
    assert coherent.shape == (50,)
    square = rng.exponential(size=50) ** 2 * 0.01
    root, interval, reason = root_before_rounding(square, expected)
    plain = mean_interval(square, root=True)
    assert reason == ""
    assert root == pytest.approx(np.sqrt(square.mean()), rel=0.01)
    assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high), rel=0.02)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gap", [0.02, 0.05, 0.2])
def test_expected_squares_grow_from_the_floor_to_the_gap(shape, gap):
    """The floor moves with the gap by less than its own size."""
    p, given, weight = spread_reports()
    expected = expected_squares(parts(p, given, weight), ALL, repeated=False)
    floor = expected(0.0, shape).mean()
    assert expected(gap, shape).mean() - gap**2 == pytest.approx(floor, abs=0.5 * floor)
    assert expected(gap, shape).mean() < expected(gap + 0.01, shape).mean()


def test_squares_below_the_floor_have_no_gap():
    p, given, weight = spread_reports(60)
    expected = expected_squares(parts(p, given, weight), ALL, repeated=False)
    floor = expected(0.0, "normal")
    noise = np.random.default_rng(3).normal(size=60)
    root, interval, _ = root_before_rounding(floor * (1 + 0.1 * (noise - noise.mean())), expected)
    assert (root, interval.low) == (pytest.approx(0, abs=1e-6), 0)
    # Squares that fall short of the floor show as much as those that reach it, and no more.
    short = floor * (0.2 + 0.1 * (noise - noise.mean()))
    root, lower, reason = root_before_rounding(short, expected)
    assert (root, lower.low, reason) == (0, 0, "")
    assert lower.high > 0.5 * interval.high
    assert "all contexts have the same" in root_before_rounding(floor, expected)[2]
