"""Settings: breaks if a truth is not what counting every case gives, or a text gives it away."""

import re
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from coherence import InputError
from elicitation import standard_grid
from elicitation.batteries.revealed.scenarios import dice
from elicitation.batteries.revealed.scenarios.grid import extra_settings
from elicitation.batteries.revealed.scenarios.setting import Setting, condition_truth

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


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: condition_truth({1: Fraction(1)}, {1: False}), "rules out all"),
        (
            lambda: Setting("dice", "single", "g", "n", {}, {"1": Fraction(1, 2)}, {}, "", "{}"),
            "must sum to 1",
        ),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
