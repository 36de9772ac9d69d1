"""Units of answers: pairs where each thing has one partner, else crossed things."""

import pytest

from coherence.batteries.bets.independence import CROSSED, INDEPENDENT, PAIRS, units_of
from coherence.errors import InputError


def test_units_are_pairs_only_where_each_thing_has_one_partner():
    assert units_of(None, None, 4).name == INDEPENDENT
    assert units_of(list("aabb"), list("xxyy"), 4).name == PAIRS
    assert units_of(list("aabb"), list("xyxy"), 4).name == CROSSED
    assert units_of(list("aabb"), list("xyzz"), 4).name == CROSSED
    with pytest.raises(InputError, match="first and second must both be given, or neither"):
        units_of(list("ab"), None, 2)
    with pytest.raises(InputError, match="two or more different things each; they hold 1 and 2"):
        units_of(list("aa"), list("xy"), 2)
