"""Distances of beliefs: the published cells, by hand, and invariances."""

import math

import numpy as np
import pytest

from coherence import InputError
from coherence.batteries import belief_distance

# "Do large language models exhibit cognitive dissonance?", appendix C: choice between two options,
# single. Eleven models each, in its order.
TWO_CHOICES = {
    "base": (
        (0.42, 0.41, 0.46, 0.41, 0.42, 0.43, 0.39, 0.41, 0.32, 0.46, 0.38),
        (0.85, 0.82, 0.92, 0.83, 0.85, 0.86, 0.79, 0.83, 0.64, 0.93, 0.76),
        (1.06, 0.95, 1.43, 0.99, 1.06, 1.14, 0.84, 0.99, 0.48, 1.50, 0.76),
    ),
    "instruct": (
        (0.21, 0.41, 0.49, 0.46, 0.50, 0.47, 0.34, 0.44, 0.32, 0.49, 0.35),
        (0.41, 0.82, 0.97, 0.92, 1.00, 0.95, 0.67, 0.88, 0.64, 0.99, 0.70),
        (0.18, 0.95, 2.07, 1.43, 4.00, 1.72, 0.55, 1.21, 0.48, 2.60, 0.62),
    ),
}


HALF = 0.005 + 1e-9  # of the last digit of a published cell


@pytest.mark.parametrize("kind", TWO_CHOICES)
def test_published_cells_of_two_choices(kind):
    for chebyshev, l1, divergence in zip(*TWO_CHOICES[kind], strict=True):
        # Two options: the L1 distance, known to half a digit, fixes the belief up to the label.
        low, high = (
            belief_distance([0.5, 0.5], [0.5 + x, 0.5 - x])
            for x in ((l1 - HALF) / 2, min((l1 + HALF) / 2, 0.5))
        )
        assert low.chebyshev - HALF <= chebyshev <= high.chebyshev + HALF
        assert low.symmetric_kl - HALF <= divergence <= high.symmetric_kl + HALF
        # The half-sum, which some call by the same name, does not fit; a belief that may be a point
        # mass says nothing about it.
        assert (
            l1 == 1.00
            or not low.symmetric_kl / 2 - HALF <= divergence <= high.symmetric_kl / 2 + HALF
        )


def test_distances_by_hand():
    distance = belief_distance([0.5, 0.5, 0, 0], [0.4, 0.2, 0.3, 0.1])
    assert distance.chebyshev == pytest.approx(0.3)
    assert distance.l1 == pytest.approx(0.1 + 0.3 + 0.3 + 0.1)
    assert distance.leaked_mass == pytest.approx(0.4)
    # On the possible outcomes the belief is (2/3, 1/3).
    assert distance.symmetric_kl == pytest.approx(
        (2 / 3 - 1 / 2) * math.log(4 / 3) + (1 / 3 - 1 / 2) * math.log(2 / 3)
    )
    # A point mass on the first outcome is .5 and 1 away.
    assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((0.6, 0.8))
    assert distance.first_excess == pytest.approx(-0.1)


def test_a_point_mass_has_relative_distance_one():
    for n in (2, 12):
        distance = belief_distance(np.full(n, 1 / n), np.eye(n)[0])
        # The distance itself is not comparable between numbers of outcomes.
        assert distance.chebyshev == pytest.approx(1 - 1 / n)
        assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((1, 1))
        assert distance.symmetric_kl == math.inf


def test_what_is_undefined_is_missing():
    one_outcome = belief_distance([1, 0], [0.7, 0.3])
    assert math.isnan(one_outcome.chebyshev_relative)
    assert math.isnan(one_outcome.l1_relative)
    assert one_outcome.symmetric_kl == 0  # on the only possible outcome; the rest leaked
    assert one_outcome.leaked_mass == pytest.approx(0.3)
    assert math.isnan(belief_distance([1, 0], [0, 1]).symmetric_kl)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_a_probability_may_be_held(value):
    distance = belief_distance([value, 1 - value], [value, 1 - value])
    assert (distance.l1, distance.first_excess) == (0, 0)
    with pytest.raises(InputError, match="position 0"):
        belief_distance([0.5, 0.5], [-0.01, 1.01])
