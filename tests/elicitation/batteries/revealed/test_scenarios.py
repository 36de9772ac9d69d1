"""Settings: breaks if a truth is not what counting every case gives, or a text gives it away."""

import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy import stats

from coherence import InputError
from elicitation import standard_grid
from elicitation.batteries.revealed.scenarios import choice, coins, counts, dice, preference
from elicitation.batteries.revealed.scenarios.grid import (
    decompositions,
    extra_settings,
    in_between,
    select,
)

GRID = standard_grid()


def enumerate_dice(n, faces, keep=lambda total: True, shift=0):
    """Count every roll of distinguishable dice."""
    totals = [sum(roll) for roll in product(range(1, faces + 1), repeat=n)]
    kept = Counter(total for total in totals if keep(total))
    return {
        str(total + shift): Fraction(kept[total], kept.total()) for total in range(n, n * faces + 1)
    }


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
    return enumerate_dice(
        n,
        faces,
        lambda total: all(holds(total) for holds in observed),
        shift_of(parameters, variant),
    )


def of_coins(parameters, variant):
    n, bias = int(parameters["n"]), int(parameters["bias"])
    return enumerate_coins(n, bias, shift_of(parameters, variant))


def of_choice(parameters, variant):
    letters = "ABCDEF"[: int(parameters["n"])]
    return {letter: Fraction(1, len(letters)) for letter in letters}


def of_counts(parameters, variant):
    """Each Poisson weight from the one before."""
    weights = [Fraction(1)]
    for k in range(1, int(parameters["at_most"]) + 1):
        weights.append(weights[-1] * int(parameters["rate"]) / k)
    return {str(k): weight / sum(weights) for k, weight in enumerate(weights)}


def of_preference(parameters, variant):
    favoured, other = parameters["labels"].split("/")
    slips = Counter([favoured] * int(parameters["bias"]) + [other])
    order = (parameters["first"], other if parameters["first"] == favoured else favoured)
    return {label: Fraction(slips[label], slips.total()) for label in order}


COUNTED = {
    "dice": of_dice,
    "coins": of_coins,
    "choice": of_choice,
    "counts": of_counts,
    "preference": of_preference,
}


"""Scenario -> every case of it counted, apart from the formulas of the package."""


def brute_force(setting):
    return COUNTED[setting.scenario](setting.parameters, setting.variant)


def test_every_truth_equals_enumeration():
    many = [dice.observed(n, 6, ["larger", "odd", "not middle"]) for n in (1, 2, 3)]
    assert {setting.variant for setting in many} == {"more observations"}
    for setting in [
        *GRID,
        *extra_settings(),
        *many,
        *standard_grid(faces=[5, 7, 9, 11], n_coins=[4], n_options=[3], label_biases=[4]),
    ]:
        expected = brute_force(setting)
        assert setting.truth == expected, setting.name
        assert list(setting.truth) == list(expected), (
            setting.name
        )  # the order in which the text lists them


def test_events_have_the_probability_of_what_their_claim_says():
    for setting in [*GRID, *extra_settings()]:
        event = setting.event
        if event is None:
            continue
        expected = brute_force(setting)
        if setting.numeric:
            bound = int(re.fullmatch(r".* is more than (\d+)", event.claim)[1])
            assert setting.probability(event) == sum(
                share for total, share in expected.items() if int(total) > bound
            )
        else:
            assert setting.probability(event) == expected[event.claim.rpartition(" is ")[2]]


def test_texts_are_unfinished_and_complete():
    for setting in [*GRID, *extra_settings()]:
        for text in setting.texts.values():
            assert text[-1].isalpha() or text[-1] == ":"
            assert "{" not in text
            assert text == text.strip()


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


def test_a_total_goes_on_from_earlier_rolls():
    assert dice.repeated(1, 6, [2, 6], dependent=True).outcomes == (
        "9",
        "10",
        "11",
        "12",
        "13",
        "14",
    )


def test_histories_have_two_different_results_or_one_three_times():
    histories = [
        setting.parameters["previous"] for setting in dice.several_previous(1, 6, dependent=False)
    ]
    assert histories == ["1, 3", "1, 6", "3, 6", "1, 1, 1", "3, 3, 3", "6, 6, 6"]


@pytest.mark.parametrize("faces", [2, 3, 4])
def test_few_faces_leave_out_observations_that_cannot_be_or_say_the_same(faces):
    settings = dice.grid([1, 2, 3], [faces])
    assert all(sum(setting.truth.values()) == 1 for setting in settings)
    # A word-for-word repetition would count one answer twice.
    texts = [setting.texts["standard"] for setting in settings]
    assert len(set(texts)) == len(texts)
    facts = {
        setting.parameters["observation"]
        for setting in settings
        if setting.parameters["n"] == "1" and "observation" in setting.parameters
    }
    assert ("larger, even" in facts) == (faces != 3)  # of three, only 3 is above the middle
    assert ("not middle" in facts) == (faces > 2)
    assert {"smaller", "larger", "even", "odd", "not first"} <= facts


def test_texts_say_what_the_truth_supposes():
    text = dice.observed(2, 6, ["larger", "not middle"]).texts
    assert all("more than 7 and not 7" in story for story in text.values())
    assert all("not 1" in story for story in dice.observed(1, 4, ["not first"]).texts.values())
    assert "2 and 6" in dice.repeated(1, 6, [2, 6], dependent=False).texts["record"]


def test_texts_say_which_face_a_bias_favours():
    assert "heads as on tails" in coins.single(2, "heads", 3).texts["standard"]
    assert "tails as on heads" in coins.single(2, "tails", 3).texts["story"]


def test_an_earlier_draw_changes_the_text_and_not_the_truth():
    alone, after = choice.single(3), choice.repeated(3, "B")
    assert alone.truth == after.truth
    assert after.baseline == alone.name
    assert all("B" in text for text in after.texts.values())
    assert not set(alone.texts.values()) & set(after.texts.values())


def test_texts_name_the_first_label_first_and_the_favoured_one_as_favoured():
    swapped = preference.single("Left", "Right", bias=2, favoured_first=False)
    assert all(
        text.index("Right") < text.index("Left") and "Left is 2 times as likely" in text
        for text in swapped.texts.values()
    )


def test_poisson_counts_are_those_of_scipy_below_the_bound():
    for rate, at_most in ((1, 9), (6, 20)):
        exact = np.array(
            [float(probability) for probability in counts.poisson_counts(rate, at_most).values()]
        )
        assert exact == pytest.approx(
            stats.poisson.pmf(np.arange(at_most + 1), rate) / stats.poisson.cdf(at_most, rate),
            rel=1e-12,
        )
    assert (
        stats.poisson.sf(int(counts.single(6).parameters["at_most"]), 6) < 1e-4
    )  # the default bound hardly matters


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: select(GRID, {"face": ["6"]}), "Closest name found: 'faces'"),
        (lambda: select(GRID, {"faces": ["7"]}), "no setting has faces '7'"),
        (lambda: select(GRID, {"faces": ["6"], "scenario": ["coins"]}), "at once"),
        (lambda: standard_grid(label_biases=[0]), "each of label_biases .* at least 1; received 0"),
        (lambda: standard_grid(n_options=[1]), "each of n_options .* at least 2; received 1"),
        (lambda: dice.single(0, 6), "dice must be from 1 to 20"),
        (lambda: dice.single(21, 6), "dice must be from 1 to 20"),
        (lambda: dice.observed(1, 6, ["prime"]), "observation must be one of"),
        (lambda: dice.observed(1, 6, []), "at least one"),
        (lambda: dice.observed(1, 6, ["even", "odd"]), "rules out all"),
        (lambda: dice.repeated(1, 6, [7], dependent=False), "sums from 1 to 6"),
        (lambda: dice.decompose(1, 6), "at least 2"),
        (lambda: coins.single(1, "heads", 1), "coins must be at least 2"),
        (lambda: coins.single(2, "edge", 1), "heads or tails"),
        (lambda: coins.repeated(2, "heads", 1, [3], dependent=True), "counts from 0 to 2"),
        (lambda: choice.single(1), "from 2 to 26"),
        (lambda: choice.repeated(2, "C"), "one of A, B"),
        (lambda: preference.single("Left", "left side"), "none begins with the other"),
        (lambda: preference.single("Left", "Right", bias=0), "bias must be at least 1"),
        (lambda: preference.repeated("Left", "Right", "Up"), "must be 'Left' or 'Right'"),
        (lambda: counts.poisson_counts(0, 3), "at least 1"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
