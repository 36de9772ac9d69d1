"""Bets: right sets of choices as in the paper and in the enumerated gamble, p-values as printed."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence.batteries import expected_gains
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
    break_evens,
    is_right,
    random_rate,
    right_roles,
    switching_chance,
    threshold_sets,
    tune_threshold,
    value_truths,
    z_test,
)
from elicitation.batteries.bets.questions import (
    BREAK_EVENS,
    bet_questions,
    default_items,
    ladder_questions,
)

ITEMS = default_items()
PUBLISHED = """.52 25 3 .0336  .56 25 3 .0126  .48 25 3 .0752  .44 25 3 .1462  .36 25 3 .3927
.24 25 3 .8578  .43 100 3 .0260  .47 100 3 .0032  .44 100 3 .0163  .35 100 3 .3640
.25 100 3 .9722  .26 50 4 .4366  .22 100 4 .7644  .12 100 8 .5608"""
"""Share, n, one over the chance, and the p-value that the paper prints."""


def test_z_test_gives_the_published_pvalues():
    for share, n, one_over, published in np.reshape(PUBLISHED.split(), (-1, 4)).astype(float):
        pvalue = z_test(round(share * n), int(n), 1 / one_over)[1]
        assert pvalue == pytest.approx(published, abs=6e-5), (share, n)
    assert z_test(0, 25, 1 / 3) == (-math.inf, 1.0)  # "1.00" in table 9
    assert z_test(25, 25, 1 / 3) == (math.inf, 0.0)  # "<.001"
    assert math.isnan(z_test(25, 25, 1.0)[0])


def names_of(right, choices):
    return {
        frozenset(name for name, inside in zip(choices, MEMBERS[code], strict=True) if inside)
        for code in range(8)
        if right[code]
    }


def test_right_sets_and_random_rates_are_those_of_the_paper():
    gains = expected_gains([100, 1], [1, 100], 20)
    truths = bet_truths(gains)
    win, lose, none = (frozenset([name]) for name in BET_CHOICES)
    assert {
        name: [names_of(row, BET_CHOICES) for row in rows] for name, rows in truths.items()
    } == {
        "strict": [{win}, {none}],
        "positive gain": [{win, win | lose}, set()],
        "non-negative gain": [{win, win | lose, none}, {none}],
    }
    assert asked(truths["positive gain"]).tolist() == [True, False]
    assert [random_rate(right) for right in truths.values()] == [0.125, 0.25, 0.25]
    high, low, same = (frozenset([name]) for name in VALUE_CHOICES)
    values = value_truths(2)
    assert {name: names_of(rows[0], VALUE_CHOICES) for name, rows in values.items()} == {
        "normal": {high},
        "weak normal": {high, high | same},
        "weak": {high, low, same, high | same, low | same},
    }
    assert all((rows[0] == rows[1]).all() for rows in values.values())
    assert [random_rate(right) for right in value_truths(3).values()] == [0.125, 0.25, 0.625]
    assert random_rate(best_choices(gains)) == pytest.approx(1 / 3)


def test_rational_given_the_own_belief():
    """High: bet to win. Low or same: no bet. No answer: nothing is right."""
    gains, swapped = expected_gains([100] * 4, [1] * 4, 20), expected_gains([1] * 4, [100] * 4, 20)
    rational = believed_best(np.array([0, 1, 2, NO_CHOICE]), gains, swapped)
    assert rational.astype(int).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def purse(bet_on, comes_up, prize, loss, stake, payout):
    """What one play of the gamble leaves in the purse; "both" is half of each side."""
    if bet_on == "none":
        return 0.0
    if bet_on == "both":
        return sum(purse(one, comes_up, prize, loss, stake, payout) for one in ("win", "lose")) / 2
    if bet_on != comes_up:
        return -stake
    return stake * payout + (prize if bet_on == "win" else -loss)


@pytest.mark.parametrize("chance", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("payout", [0.0, 0.4, 1.0, 3.5])
@pytest.mark.parametrize("stake", [4, 20, 70])
def test_truths_of_bets_at_any_odds_are_those_of_the_enumerated_gamble(chance, payout, stake):
    terms = {"chance": chance, "stake": stake, "payout": payout}
    bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"]).assign(**terms)
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


def bets_on_both_things(**columns):
    table = {"wins": ["high", "low"], "high_value": 100, "low_value": 1, "stake": 20, "chance": 0.5}
    return pd.DataFrame(table | columns)


def test_gains_of_a_table_are_those_of_the_amounts_in_its_rows():
    bets = bets_on_both_things()
    paper = [[40, -10.5, 14.75, 0], [-9.5, -60, -34.75, 0]]
    assert bet_gains(bets).tolist() == paper
    # Who takes the pen for worth the car's price sees each bet as the other one.
    assert bet_gains(bets, swapped=True).tolist() == paper[::-1]
    odds = bets_on_both_things(stake=[10, 30], chance=[0.2, 0.9], payout=[np.nan, 2.0])
    rows = [
        expected_gains(100, 1, 10, chance=0.2)[0],
        expected_gains(1, 100, 30, chance=0.9, payout=2.0)[0],
    ]
    np.testing.assert_allclose(bet_gains(odds), rows)


def test_switching_chances_of_any_bets_are_those_of_brute_force():
    """Prizes, losses, stakes and payouts at random, those where the thing that may be lost is worth
    more than all that comes back among them.
    """
    rng, chances, ahead = np.random.default_rng(0), np.linspace(0, 1, 4001), 0
    for _ in range(300):
        prize, loss, stake = rng.uniform(1, 100), rng.uniform(0, 100), rng.uniform(0.1, 100)
        payout = rng.choice([0.0, rng.uniform(0, 5)])
        prizes = np.full(chances.size, prize)
        gains = expected_gains(prizes, loss, stake, chance=chances, payout=payout)
        best = (gains[:, 0] > gains[:, 1]) & (gains[:, 0] > 0)
        first = chances[best.argmax()] if best.any() else 1.0
        switch = float(switching_chance(prize, loss, stake, payout=payout))
        assert switch == pytest.approx(first, abs=3e-4)
        other = switching_chance(1e3 * prize, 1e3 * loss, 1e3 * stake, payout=payout)
        assert float(other) == pytest.approx(switch)  # whatever the unit of money
        ahead += loss > (1 + payout) * stake
    assert ahead > 30
    assert float(switching_chance(1, 100, 20)) == pytest.approx(20 / 21)
    assert float(switching_chance(0, 40, 20)) == 1.0  # nothing to be won


def test_ladders_switch_where_they_say():
    steps, rungs = ladder_questions(ITEMS), BREAK_EVENS
    np.testing.assert_allclose(steps["break_even"], break_evens(steps), rtol=1e-12)
    np.testing.assert_allclose(sorted(steps["break_even"].round(3).unique()), rungs, atol=1e-3)
    assert (np.array(right_roles(steps)) == "win").tolist() == (
        steps["chance"] > steps["break_even"]
    ).tolist()


def test_the_threshold_of_scores_is_the_median_of_the_best():
    right = value_truths(2)["normal"]
    scores = np.array([[0.9, 0.2, 0.1], [0.8, 0.4, 0.3]])
    # Right for .40 <= t < .80: forty thresholds, whose median lies between .59 and .60.
    assert tune_threshold(scores, right) == (pytest.approx(0.595), 1.0)
    by_hand = [is_right(threshold_sets(scores, t / 100), right).mean() for t in range(101)]
    assert sum(share == 1 for share in by_hand) == 40
    assert threshold_sets([[0.5, 0.4, 0.6]], 0.5).tolist() == [4]  # above it, not at it
