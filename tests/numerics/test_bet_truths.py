"""Right sets of choices: those of the paper at any stake, and of the enumerated gamble."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import expected_gains
from coherence.batteries.bets.scores import right_roles
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    MEMBERS,
    NO_CHOICE,
    VALUE_CHOICES,
    asked,
    believed_best,
    best_choices,
    bet_gains,
    bet_truths,
    random_rate,
    value_truths,
)
from elicitation import bet_questions
from elicitation.batteries.bets.items import default_items

amount = st.floats(0.01, 1e4)


def names_of(right, choices):
    return {
        frozenset(name for name, inside in zip(choices, MEMBERS[code], strict=True) if inside)
        for code in range(8)
        if right[code]
    }


def test_right_sets_of_both_types_of_bets():
    truths = bet_truths(expected_gains([100, 1], [1, 100], 20))
    win, lose, none = (frozenset([name]) for name in BET_CHOICES)
    assert [names_of(row, BET_CHOICES) for row in truths["strict"]] == [{win}, {none}]
    assert [names_of(row, BET_CHOICES) for row in truths["positive gain"]] == [
        {win, win | lose},
        set(),
    ]
    assert [names_of(row, BET_CHOICES) for row in truths["non-negative gain"]] == [
        {win, win | lose, none},
        {none},
    ]
    assert asked(truths["positive gain"]).tolist() == [True, False]


@settings(deadline=None, max_examples=60)
@given(amount, amount, amount, st.floats(0, 1), st.sampled_from(["side", "outcome"]))
def test_nothing_empty_or_contradictory_is_ever_right(prize, loss, stake, chance, rule):
    truths = bet_truths(expected_gains(prize, loss, stake, chance=chance, rule=rule))
    for right in truths.values():
        assert not right[0, [0, 5, 6, 7]].any()
    assert truths["strict"][0].any()  # something is always best
    assert (
        truths["strict"] <= truths["non-negative gain"]
    ).all()  # not to bet gains 0, so the best gains no less
    assert (truths["positive gain"] <= truths["non-negative gain"]).all()


def test_random_rates_by_enumeration_are_those_of_the_paper():
    gains = expected_gains([100, 1], [1, 100], 20)
    half = bet_truths(gains)
    assert {name: random_rate(right) for name, right in half.items()} == {
        "strict": 0.125,
        "positive gain": 0.25,
        "non-negative gain": 0.25,
    }
    assert {name: random_rate(right) for name, right in value_truths(3).items()} == {
        "normal": 0.125,
        "weak normal": 0.25,
        "weak": 0.625,
    }
    assert random_rate(best_choices(gains)) == pytest.approx(1 / 3)


def test_rational_given_the_own_belief():
    gains = expected_gains([100] * 4, [1] * 4, 20)
    swapped = expected_gains([1] * 4, [100] * 4, 20)
    rational = believed_best(np.array([0, 1, 2, NO_CHOICE]), gains, swapped)
    # High: bet to win. Low: the prize is held for the lesser thing, so no bet. Same: no bet. No
    # answer: nothing is right.
    assert rational.tolist() == [
        [True, False, False],
        [False, False, True],
        [False, False, True],
        [False, False, False],
    ]


ITEMS = default_items()


def purse(bet_on, comes_up, prize, loss, stake, payout):
    """What one play of the gamble leaves in the purse under the rule "side", with half the stake
    and half the thing on each side for "both".
    """
    if bet_on == "none":
        return 0.0
    if bet_on == "both":
        return (
            purse("win", comes_up, prize, loss, stake, payout)
            + purse("lose", comes_up, prize, loss, stake, payout)
        ) / 2
    if bet_on != comes_up:
        return -stake
    return stake * payout + (prize if bet_on == "win" else -loss)


@pytest.mark.parametrize("chance", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("payout", [0.0, 0.4, 1.0, 3.5])
@pytest.mark.parametrize("stake", [4, 20, 70])
def test_truths_of_bets_at_any_odds_are_those_of_the_enumerated_gamble(chance, payout, stake):
    bets = bet_questions(
        ITEMS,
        splits=["test"],
        modalities=["coin"],
        chances=(chance,),
        stake=stake,
        payout=payout,
        amounts=True,
    )
    gains = bet_gains(bets)
    truths, best = bet_truths(gains), best_choices(gains)
    sets = {1: "win", 2: "lose", 3: "both", 4: "none"}  # the consistent ones, by code
    for row, (wins, paid) in enumerate(zip(bets["wins"], bets["payout"], strict=True)):
        prize, loss = (100, 1) if wins == "high" else (1, 100)
        by_hand = {
            name: chance * purse(name, "win", prize, loss, stake, paid)
            + (1 - chance) * purse(name, "lose", prize, loss, stake, paid)
            for name in sets.values()
        }
        np.testing.assert_allclose(gains[row], list(by_hand.values()), atol=1e-9)
        largest = max(by_hand[name] for name in ("win", "lose", "none"))
        assert best[row].tolist() == [
            by_hand[name] > largest - 1e-7 for name in ("win", "lose", "none")
        ]
        for code in range(8):
            gain = by_hand[sets[code]] if code in sets else -np.inf
            assert truths["positive gain"][row, code] == (gain > 1e-7)
            assert truths["non-negative gain"][row, code] == (gain > -1e-7)
    best_role = np.array(["win", "lose", "none"])[best.argmax(axis=1)]
    assert right_roles(bets) == best_role.tolist()


def test_sets_of_answers_on_values_that_are_right():
    high, low, same = (frozenset([name]) for name in VALUE_CHOICES)
    right = {name: names_of(rows[0], VALUE_CHOICES) for name, rows in value_truths(2).items()}
    assert right == {
        "normal": {high},
        "weak normal": {high, high | same},
        "weak": {high, low, same, high | same, low | same},
    }
    assert all((rows[0] == rows[1]).all() for rows in value_truths(2).values())
