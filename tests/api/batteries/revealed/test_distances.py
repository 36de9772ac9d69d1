"""Distances of beliefs: the published cells, by hand, and invariances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import InputError, belief_distance
from coherence.batteries.revealed.distances import (
    order_preference,
    previous_influence,
    stated_error,
    symmetric_kl,
)

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


# The same for four options: largest difference and divergence.
FOUR_CHOICES = (
    (0.45, 0.48, 0.61, 0.44, 0.54, 0.57, 0.32, 0.55, 0.35, 0.65, 0.34),
    (0.97, 1.20, 1.82, 0.94, 1.34, 1.50, 0.53, 1.46, 0.76, 2.28, 0.59),
)


HALF = 0.005 + 1e-9  # of the last digit of a published cell


distributions = st.lists(st.floats(0.001, 1), min_size=2, max_size=12).map(
    lambda weights: np.array(weights) / np.sum(weights)
)


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


def test_published_cells_of_four_choices_keep_the_lower_bound():
    # Merging the options that are not the favourite cannot raise a divergence, so the belief in two
    # parts bounds the published cell from below.
    for chebyshev, divergence in zip(*FOUR_CHOICES, strict=True):
        merged = symmetric_kl([0.25, 0.75], [0.25 + chebyshev - HALF, 0.75 - chebyshev + HALF])
        assert merged <= divergence + HALF < 2 * merged


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


@pytest.mark.parametrize("n", [2, 6, 12])
def test_a_point_mass_has_relative_distance_one(n):
    certain = np.eye(n)[0]
    distance = belief_distance(np.full(n, 1 / n), certain)
    assert distance.chebyshev == pytest.approx(
        1 - 1 / n
    )  # not comparable between numbers of outcomes
    assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((1, 1))
    assert distance.symmetric_kl == math.inf


def test_what_is_undefined_is_missing():
    one_outcome = belief_distance([1, 0], [0.7, 0.3])
    assert math.isnan(one_outcome.chebyshev_relative)
    assert math.isnan(one_outcome.l1_relative)
    assert (
        one_outcome.symmetric_kl == 0
    )  # nothing to divide on the only possible outcome; the rest leaked
    assert one_outcome.leaked_mass == pytest.approx(0.3)
    assert math.isnan(symmetric_kl([1, 0], [0, 1]))


@given(distributions, st.randoms(use_true_random=False))
def test_invariances(belief, random):
    truth = np.roll(belief, 1)
    distance = belief_distance(truth, belief)
    order = list(range(len(belief)))
    random.shuffle(order)
    shuffled = belief_distance(truth[order], belief[order])
    for name in ("chebyshev", "l1", "symmetric_kl", "leaked_mass"):
        assert getattr(shuffled, name) == pytest.approx(getattr(distance, name), abs=1e-12)
    assert belief_distance(belief, truth).symmetric_kl == pytest.approx(
        distance.symmetric_kl, abs=1e-12
    )
    assert distance.chebyshev <= distance.l1 / 2 + 1e-12
    assert belief_distance(truth, truth).l1 == 0


@pytest.mark.parametrize(
    ("truth", "belief", "match"),
    [
        ([0.5, 0.5], [0.5, 0.6], "belief must sum to 1; it sums to 1.1"),
        ([0.5, 0.5], [1.5, -0.5], "position 0 is 1.5"),
        ([0.5, 0.5], [math.nan, 1], "probabilities in"),
        ([0.5, 0.5], [1.0], "one value per outcome; received 1 for 2"),
        ([[0.5, 0.5]], [0.5, 0.5], "shape"),
        (["a", "b"], [0.5, 0.5], "no numbers"),
    ],
)
def test_wrong_input_is_refused(truth, belief, match):
    with pytest.raises(InputError, match=match):
        belief_distance(truth, belief)


def test_position_and_label_are_told_apart():
    # The first option gets .2 more for its place, the label .1 for itself.
    assert vars(order_preference(0.5, 0.8, 0.4)) == pytest.approx({"position": 0.2, "label": 0.1})
    assert vars(order_preference(0.75, 0.75, 0.75)) == {"position": 0, "label": 0}
    with pytest.raises(InputError, match="named_second"):
        order_preference(0.5, 0.5, 2)


def test_influence_of_an_earlier_result():
    influence = previous_influence([0.25] * 4, [0.55, 0.15, 0.15, 0.15], 0)
    assert (influence.distance, influence.pull) == pytest.approx((0.3, 0.3))
    assert math.isnan(previous_influence([0.5, 0.5], [0.5, 0.5], None).pull)
    with pytest.raises(InputError, match="below 2"):
        previous_influence([0.5, 0.5], [0.5, 0.5], 2)


def test_stated_error():
    # Three quarters for who knows nothing, as the published .75 of models that answer by chance or
    # by place.
    assert stated_error(np.full((4, 4), 0.2), range(4)) == pytest.approx(0.75)
    always_a = np.tile([1, 0, 0, 0], (4, 1))
    assert stated_error(always_a, range(4)) == pytest.approx(0.75)
    assert stated_error(np.eye(4), range(4)) == 0
    assert math.isnan(stated_error([[0, 0], [1, 0]], [0, 0]))
    with pytest.raises(InputError, match="from 0 to 1"):
        stated_error([[0.5, 0.5]], [2])


def test_a_place_is_counted_from_the_first_outcome():
    alone, after = [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]
    pulls = [previous_influence(alone, after, place).pull for place in range(3)]
    assert pulls == pytest.approx([0.2, 0.1, -0.3])
    with pytest.raises(InputError, match="below 3; received -1"):
        previous_influence(alone, after, -1)
    with pytest.raises(InputError, match="one value per outcome; received 2 for 3"):
        previous_influence(alone, [0.5, 0.5], 0)


def test_influences_do_not_depend_on_the_order_of_outcomes():
    rng = np.random.default_rng(0)
    alone, after = rng.dirichlet(np.ones(5), size=2)
    order = rng.permutation(5)
    influence = previous_influence(alone, after, int(order[2]))
    turned = previous_influence(alone[order], after[order], 2)
    assert vars(turned) == pytest.approx(vars(influence))
    back = previous_influence(after, alone, int(order[2]))
    assert (back.distance, back.pull) == pytest.approx((influence.distance, -influence.pull))


@pytest.mark.parametrize(
    ("options", "correct", "message"),
    [
        ([0.5, 0.5], [0], r"shape \(n_questions, n_options\); received \(2,\)"),
        (np.zeros((0, 2)), [], r"shape \(n_questions, n_options\)"),
        ([[0.5, -0.1]], [0], "at least 0 each"),
        ([[0.5, 0.5]], [0, 1], r"one place per question; received shape \(2,\) for 1"),
        ([[0.5, 0.5]], [-1], "places from 0 to 1"),
    ],
)
def test_stated_answers_that_are_none_are_refused(options, correct, message):
    with pytest.raises(InputError, match=message):
        stated_error(options, correct)


def test_errors_of_stated_answers_are_shares_of_what_falls_on_the_letters():
    masses = np.array([[0.2, 0.1, 0.1], [0.0, 0.5, 0.0]])
    assert stated_error(masses, [0, 1]) == pytest.approx((0.5 + 0) / 2)
    # A letter that is surely wrong, and the unit of the masses, change nothing.
    assert stated_error(masses / 4, [0, 1]) == pytest.approx(0.25)
    assert stated_error(np.array([[0.2, 0.6]]), [0]) == pytest.approx(0.75)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_a_probability_may_be_held(value):
    assert order_preference(value, value, value).label == 0
    with pytest.raises(InputError, match="truth must be a probability"):
        order_preference(value + (0.01 if value else -0.01), 0.5, 0.5)
    distance = belief_distance([value, 1 - value], [value, 1 - value])
    assert (distance.l1, distance.first_excess) == (0, 0)
    with pytest.raises(InputError, match="position 0"):
        belief_distance([0.5, 0.5], [-0.01, 1.01])
