from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from coherence import InputError
from elicitation import standard_grid
from elicitation.batteries.revealed.scenarios import choice, coins, dice
from elicitation.batteries.revealed.scenarios.grid import (
    decompositions,
    extra_settings,
    in_between,
    select,
)

GRID = standard_grid()


def test_the_grid_is_that_of_the_paper():
    # The paper speaks of more than 500 settings; all parameters of its tables with every earlier
    # result make 852.
    assert Counter(setting.scenario for setting in GRID) == {
        "dice": 705,
        "coins": 96,
        "choice": 15,
        "preference": 36,
    }
    assert len({setting.name for setting in GRID + extra_settings()}) == 852 + len(extra_settings())
    assert len(dice.PAIRS) == 10
    assert all(
        len(setting.texts) == 3 and len(set(setting.texts.values())) == 3 for setting in GRID
    )
    # No two settings share a text.
    assert len(
        {text for setting in GRID + extra_settings() for text in setting.texts.values()}
    ) == 3 * len(GRID + extra_settings())


def test_any_part_of_the_grid_can_be_had():
    assert (
        len(
            standard_grid(
                n_dice=[1], faces=[5, 7], n_coins=[], n_options=[], labels=[("Yes", "No")]
            )
        )
        == 2 * 17 + 2 * (5 + 7) + 18
    )
    assert {setting.scenario for setting in select(GRID, {"n": ["3"]})} == {"dice", "coins"}
    assert len(select(GRID, {"variant": ["single"], "scenario": ["dice", "choice"]})) == 18


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: select(GRID, {"face": ["6"]}), "Closest name found: 'faces'"),
        (lambda: select(GRID, {"faces": ["7"]}), "no setting has faces '7'"),
        (lambda: select(GRID, {"faces": ["6"], "scenario": ["coins"]}), "at once"),
        (lambda: standard_grid(label_biases=[0]), "each of label_biases .* at least 1; received 0"),
        (lambda: standard_grid(n_options=[1]), "each of n_options .* at least 2; received 1"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()


def test_truths_given_the_first_die_or_coin_equal_enumeration():
    parts = decompositions([*GRID, *in_between(GRID), coins.single(3, "tails", 7)])
    for part in parts:
        parameters = part.whole.parameters
        n = int(parameters["n"])
        side, bias = parameters.get("side", ""), int(parameters.get("bias", "1"))
        faces = (
            [str(face) for face in range(1, int(parameters["faces"]) + 1)]
            if not side
            else ["heads", "tails"]
        )
        joint = Counter()
        for roll in product(faces, repeat=n):
            total = roll.count(side) if side else sum(map(int, roll))
            joint[roll[0], str(total)] += prod(bias if face == side else 1 for face in roll)
        for state, inner in part.given.items():
            alone = sum(count for (face, _), count in joint.items() if face == state)
            assert part.part.truth[state] == Fraction(alone, joint.total())
            assert inner.truth == {
                outcome: Fraction(joint[state, outcome], alone) for outcome in part.whole.outcomes
            }
    assert len(parts) == 2 * 9 + 2 * 5 + 1


def test_the_iterated_expectation_has_contexts_enough_and_counts_none_twice():
    # Heads and tails of the same coins are one experiment: with both, the test would reject true
    # nulls three times as often as it says.
    coin_parts = [
        part.whole.parameters
        for part in decompositions([*GRID, *in_between(GRID)])
        if part.whole.scenario == "coins"
    ]
    assert {parameters["side"] for parameters in coin_parts} == {"heads"}
    assert (
        len({(parameters["n"], parameters["bias"]) for parameters in coin_parts})
        == len(coin_parts)
        == 10
    )
    assert [
        part.whole.parameters["side"] for part in decompositions([coins.single(2, "tails", 1)])
    ] == ["tails"]
    assert (
        in_between([dice.single(2, 6), dice.single(1, 4), dice.single(1, 6), choice.single(2)])
        == []
    )
    wide = in_between([dice.single(2, 4), dice.single(2, 84)])
    assert [setting.parameters["faces"] for setting in wide] == [
        "14",
        "24",
        "34",
        "44",
        "54",
        "64",
        "74",
    ]
    assert in_between([*GRID, *in_between(GRID)]) == []


def test_numbers_of_a_short_kind_do_not_overflow():
    short = np.array([127], dtype=np.int8)
    few = {"n_dice": [1], "faces": [4], "n_coins": [2], "n_options": [2]}
    assert standard_grid(**few, coin_biases=short) == standard_grid(**few, coin_biases=[127])
