"""weighting: published forms of the weight, and slopes that are derivatives."""

import numpy as np
import pytest

from coherence.rational.choice import (
    WEIGHTINGS,
    gonzalez_wu_weight,
    powers,
    prelec_weight,
)

POINTS = np.linspace(0.02, 0.98, 25)


def test_prelec_has_its_fixed_point():
    """At exp(-1), whatever alpha is (Prelec 1998), and the belief itself at alpha 1."""
    at = np.array([np.exp(-1)])
    assert prelec_weight(at, 0.4) == pytest.approx(at)
    assert prelec_weight(POINTS, 1.0) == pytest.approx(POINTS)
    low, high = prelec_weight(np.array([0.05, 0.9]), 0.65)
    assert low > 0.05
    assert high < 0.9


def test_gonzalez_and_wu_is_linear_in_log_odds():
    weight = gonzalez_wu_weight(POINTS, 0.5, 0.8)
    log_odds = np.log(weight / (1 - weight))
    assert log_odds == pytest.approx(0.5 * np.log(POINTS / (1 - POINTS)) + np.log(0.8))
    assert gonzalez_wu_weight(POINTS, 1.0, 1.0) == pytest.approx(POINTS)


@pytest.mark.parametrize("weighting", [*WEIGHTINGS.values(), powers(3), powers(2, shifted=True)])
def test_slopes_are_derivatives(weighting):
    at = np.array(weighting.start) + 0.1
    slopes = weighting.slopes(POINTS, at)
    assert len(slopes) == len(weighting.names)
    for position, slope in enumerate(slopes):
        step = np.eye(at.size)[position] * 1e-4
        upper, lower = (weighting.of_states(POINTS, at + s * step) for s in (1, -1))
        assert (upper - lower) / 2e-4 == pytest.approx(slope, abs=1e-5)


def test_a_shift_moves_the_belief_by_half_of_it_to_each_side():
    low, high = powers(1, shifted=True).of_states(np.array([0.5]), np.array([0.2]))
    assert low[0].tolist() == pytest.approx([1.0, -0.2])
    assert high[0].tolist() == pytest.approx([1.0, 0.2])
