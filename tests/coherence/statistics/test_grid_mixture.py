"""Grids read off reports."""

import numpy as np
import pytest

from coherence.statistics.grid_mixture import grid_weights


@pytest.mark.parametrize("step", [0.25, 0.1, 0.05, 0.02, 0.01, 0.005])
def test_the_widest_grid_that_holds_all_reports_is_found(step):
    for seed in range(5):
        values = np.random.default_rng(seed).random(30)
        assert grid_weights(np.round(values / step) * step) == {step: 1.0}


def test_a_few_other_reports_do_not_hide_the_grid():
    rng = np.random.default_rng(0)
    values = np.round(rng.random(200) * 20) / 20
    values[:10] = rng.random(10)
    weights = grid_weights(values)
    assert set(weights) == {0.05, 0.0}
    assert weights[0.0] == pytest.approx(0.05, abs=0.01)


def test_rough_and_fine_answers_are_a_mixture():
    """Half of the answers in steps of .1: three quarters of .05-steps are multiples of .1 then."""
    rng = np.random.default_rng(1)
    step = np.where(rng.random(400) < 0.5, 0.1, 0.05)
    weights = grid_weights(np.round(rng.random(400) / step) * step)
    assert set(weights) == {0.1, 0.05}
    assert weights[0.1] == pytest.approx(0.5, abs=0.12)


def test_continuous_and_constant_reports_have_no_grid():
    assert grid_weights(np.random.default_rng(2).random(50)) == {0.0: 1.0}
    assert grid_weights(np.tile([0.2, 0.6], 30)) == {0.0: 1.0}
    ends = np.random.default_rng(3).normal(0.5, 0.4, 80).clip(0, 1)
    assert ends.min() == 0
    assert grid_weights(ends) == {0.0: 1.0}  # 0 and 1 lie on every grid


@pytest.mark.parametrize("seed", range(3))
def test_shares_of_a_mixture_are_found_wherever_reports_lie(seed):
    """Values in the middle are on .25 more often than values of (0, 1) are; no grid follows."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(0.2, 0.8, 600)
    assert grid_weights(np.round(middle / 0.05) * 0.05) == {0.05: 1.0}
    steps = np.where(rng.random(600) < 0.5, 0.05, 0.1)
    mixed = grid_weights(np.round(middle / steps) * steps)
    assert mixed == {0.05: pytest.approx(0.5, abs=0.1), 0.1: pytest.approx(0.5, abs=0.1)}
