"""Units of answers: pairs where each thing has one partner, else crossed things."""

import math

import pytest
from scipy import stats

from coherence import InputError
from coherence.batteries.bets.ladder import (
    CROSSED,
    INDEPENDENT,
    PAIRS,
    Units,
    units_of,
)


def test_units_are_pairs_only_where_each_thing_has_one_partner():
    assert units_of(None, None, 4).name == INDEPENDENT
    assert units_of(list("aabb"), list("xxyy"), 4).name == PAIRS
    assert units_of(list("aabb"), list("xyxy"), 4).name == CROSSED
    assert units_of(list("aabb"), list("xyzz"), 4).name == CROSSED
    with pytest.raises(InputError, match="first and second must both be given, or neither"):
        units_of(list("ab"), None, 2)
    with pytest.raises(InputError, match="two or more different things each; they hold 1 and 2"):
        units_of(list("aa"), list("xy"), 2)


@pytest.mark.parametrize(("n_parameters", "level"), [(1, 0.95), (2, 0.95), (1, 0.5)])
def test_independent_answers_reach_as_far_as_chi_squared(n_parameters, level):
    units = units_of(None, None, 4)
    assert units.freedom == math.inf
    expected = stats.chi2.ppf(level, n_parameters) / 2
    assert units.reach(n_parameters, level) == pytest.approx(expected)


def test_things_reach_as_far_as_the_f_distribution_of_the_scarcer_kind():
    units = units_of(list("aabbcc"), list("xyzwxy"), 6)
    assert units.freedom == 2  # three high things, four low ones
    assert units.reach(1, 0.95) == pytest.approx(stats.t.ppf(0.975, 2) ** 2 / 2)
    # F with 2 and 2 degrees of freedom has the quantile q / (1 - q).
    assert units.reach(2, 0.9) == pytest.approx(9)
    assert Units(PAIRS, units_of(list("abab"), list("xyxy"), 4).sides).freedom == 1


def test_sides_tell_which_answers_are_about_the_same_thing():
    (pairs,) = units_of(list("baab"), list("xyyx"), 4).sides
    assert (pairs == pairs[0]).tolist() == [True, False, False, True]
    high, low = units_of(list("aabb"), list("xyxy"), 4).sides
    assert (high == high[0]).tolist() == [True, True, False, False]
    assert (low == low[0]).tolist() == [True, False, True, False]
    # Two things of each kind are enough.
    assert units_of(list("ab"), list("xy"), 2).name == PAIRS
