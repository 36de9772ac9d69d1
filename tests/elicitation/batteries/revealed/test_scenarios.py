"""Settings: breaks if a truth is not what counting every case gives, or a text gives it away."""

import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import pytest

from coherence import InputError
from elicitation.batteries.revealed.questions import even_bet_questions
from elicitation.batteries.revealed.scenarios import choice, coins, dice
from elicitation.batteries.revealed.scenarios.grid import (
    decompositions,
    in_between,
    select,
    standard_grid,
)

GRID = standard_grid()


def enumerate_dice(n, faces, keep=lambda total: True, shift=0):
    """Count every roll of distinguishable dice."""
    totals = [sum(roll) for roll in product(range(1, faces + 1), repeat=n)]
    kept = Counter(total for total in totals if keep(total))
    possible = range(n, n * faces + 1)
    return {str(total + shift): Fraction(kept[total], kept.total()) for total in possible}


def enumerate_coins(n, bias, shift=0):
    """Count every flip, each coin as `bias` faces that count and one that does not."""
    totals = Counter(sum(flip) for flip in product([1] * bias + [0], repeat=n))
    return {str(k + shift): Fraction(totals[k], totals.total()) for k in range(n + 1)}


def says(observation, n, faces):
    middle = (n + n * faces) // 2
    return {
        "smaller": lambda total: total <= middle,
        "larger": lambda total: total > middle,
        "even": lambda total: total % 2 == 0,
        "odd": lambda total: total % 2 == 1,
        "not first": lambda total: total != n,
        "not middle": lambda total: total != middle,
    }[observation]


def shift_of(parameters, variant):
    earlier = parameters["previous"].split(", ") if variant == "dependent" else ()
    return sum(map(int, earlier))


def of_dice(parameters, variant):
    n, faces = int(parameters["n"]), int(parameters["faces"])
    observed = [says(fact, n, faces) for fact in parameters["observation"].split(", ") if fact]
    keep, shift = lambda total: all(of(total) for of in observed), shift_of(parameters, variant)
    return enumerate_dice(n, faces, keep, shift)


def of_coins(parameters, variant):
    n, bias = int(parameters["n"]), int(parameters["bias"])
    return enumerate_coins(n, bias, shift_of(parameters, variant))


def of_choice(parameters, variant):
    letters = "ABCDEF"[: int(parameters["n"])]
    return {letter: Fraction(1, len(letters)) for letter in letters}


def of_preference(parameters, variant):
    favoured, other = parameters["labels"].split("/")
    slips = Counter([favoured] * int(parameters["bias"]) + [other])
    order = (parameters["first"], other if parameters["first"] == favoured else favoured)
    return {label: Fraction(slips[label], slips.total()) for label in order}


def brute_force(setting):
    """Every case counted, apart from the formulas of the package."""
    return globals()[f"of_{setting.scenario}"](setting.parameters, setting.variant)


def test_every_truth_equals_enumeration():
    own = standard_grid(faces=[5, 7, 9, 11], n_coins=[4], n_options=[3], label_biases=[4])
    for setting in [*GRID, *own]:
        expected = brute_force(setting)
        assert setting.truth == expected, setting.name
        # The order in which the text lists them.
        assert list(setting.truth) == list(expected), setting.name


def test_events_are_uncertain_and_have_the_probability_of_what_their_claim_says():
    for setting in GRID:
        event, expected = setting.event, brute_force(setting)
        if event is None:
            assert len(setting.support) == 1
            assert even_bet_questions(setting) == []
            continue
        if setting.numeric:
            bound = int(re.fullmatch(r".* is more than (\d+)", event.claim)[1])
            chance = sum(share for total, share in expected.items() if int(total) > bound)
        else:
            chance = expected[event.claim.rpartition(" is ")[2]]
        assert 0 < setting.probability(event) == chance < 1
        first, second = even_bet_questions(setting)
        assert first.options == ("Yes", "No") == second.options[::-1]
        assert event.claim in first.text
        assert first.text.endswith("\nA. Yes\nB. No\nAnswer with one letter.\nAnswer:")


def test_the_grid_is_that_of_the_paper_and_texts_are_unfinished_and_complete():
    # The paper speaks of more than 500 settings; all parameters of its tables with every earlier
    # result make 852.
    counts = Counter(setting.scenario for setting in GRID)
    assert counts == {"dice": 705, "coins": 96, "choice": 15, "preference": 36}
    assert len({setting.name for setting in GRID}) == 852
    assert len(dice.PAIRS) == 10
    texts = [text for setting in GRID for text in setting.texts.values()]
    assert len(texts) == len(set(texts)) == 3 * len(GRID)  # no two settings share a text
    for text in texts:
        assert text[-1].isalpha() or text[-1] == ":"
        assert "{" not in text
        assert text == text.strip()


def test_truths_given_the_first_die_or_coin_equal_enumeration():
    parts = decompositions([*GRID, *in_between(GRID), coins.setting(3, "tails", 7)])
    for part in parts:
        parameters, whole = part.whole.parameters, part.whole
        side, bias = parameters.get("side", ""), int(parameters.get("bias", "1"))
        faces = ["heads", "tails"] if side else map(str, range(1, int(parameters["faces"]) + 1))
        joint = Counter()
        for roll in product(faces, repeat=int(parameters["n"])):
            total = roll.count(side) if side else sum(map(int, roll))
            joint[roll[0], str(total)] += prod(bias if face == side else 1 for face in roll)
        for state, inner in part.given.items():
            alone = sum(count for (face, _), count in joint.items() if face == state)
            assert part.part.truth[state] == Fraction(alone, joint.total())
            expected = {o: Fraction(joint[state, o], alone) for o in whole.outcomes}
            assert inner.truth == expected
    assert len(parts) == 2 * 9 + 2 * 5 + 1


def test_the_iterated_expectation_has_contexts_enough_and_counts_none_twice():
    # Heads and tails of the same coins are one experiment: with both, the test would reject true
    # nulls three times as often as it says.
    wholes = [part.whole for part in decompositions([*GRID, *in_between(GRID)])]
    of_coins = [whole.parameters for whole in wholes if whole.scenario == "coins"]
    assert {parameters["side"] for parameters in of_coins} == {"heads"}
    assert len({(parameters["n"], parameters["bias"]) for parameters in of_coins}) == 10
    assert len(of_coins) == 10
    (tails,) = decompositions([coins.setting(2, "tails", 1)])
    assert tails.whole.parameters["side"] == "tails"
    alone = [dice.setting(2, 6), dice.setting(1, 4), dice.setting(1, 6), choice.setting(2)]
    assert in_between(alone) == []
    wide = in_between([dice.setting(2, 4), dice.setting(2, 84)])
    assert [int(setting.parameters["faces"]) for setting in wide] == list(range(14, 84, 10))
    assert in_between([*GRID, *in_between(GRID)]) == []


@pytest.mark.parametrize("faces", [2, 3, 4])
def test_few_faces_leave_out_observations_that_cannot_be_or_say_the_same(faces):
    settings = dice.grid([1, 2, 3], [faces])
    assert all(sum(setting.truth.values()) == 1 for setting in settings)
    # A word-for-word repetition would count one answer twice.
    texts = [setting.texts["standard"] for setting in settings]
    assert len(set(texts)) == len(texts)
    one = [setting.parameters for setting in settings if setting.parameters["n"] == "1"]
    facts = {parameters["observation"] for parameters in one if "observation" in parameters}
    assert ("larger, even" in facts) == (faces != 3)  # of three, only 3 is above the middle
    assert ("not middle" in facts) == (faces > 2)
    assert {"smaller", "larger", "even", "odd", "not first"} <= facts


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: select(GRID, {"face": ["6"]}), "Closest name found: 'faces'"),
        (lambda: select(GRID, {"faces": ["7"]}), "no setting has faces '7'"),
        (lambda: select(GRID, {"faces": ["6"], "scenario": ["coins"]}), "at once"),
    ],
)
def test_settings_that_are_not_in_the_grid_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()


def test_an_earlier_choice_changes_the_text_and_not_the_truth():
    alone, after = choice.setting(3), choice.setting(3, "B")
    assert (alone.truth, alone.name) == (after.truth, after.baseline)
    assert all("B" in text for text in after.texts.values())
    assert not set(alone.texts.values()) & set(after.texts.values())
