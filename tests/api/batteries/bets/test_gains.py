"""Expected gains: those of the paper, means over the outcomes, and amounts as they are stated."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import expected_gains
from coherence.batteries.bets.truths import bet_gains, break_evens
from elicitation import bet_questions
from elicitation.batteries.bets.items import default_items

amount = st.floats(0.01, 1e4)


def test_gains_are_those_of_tables_7_and_8():
    assert expected_gains(100, 1, 20).tolist() == [[40, -10.5, 14.75, 0]]
    assert expected_gains(1, 100, 20).tolist() == [[-9.5, -60, -34.75, 0]]
    # Section 4.3.3 at one place: whatever comes up is carried out for whoever bets; both sides then
    # gain .5 (H - L - X).
    assert expected_gains(100, 1, 20, rule="outcome").tolist() == [[39.5, 39.5, 39.5, 0]]


@settings(deadline=None, max_examples=60)
@given(
    amount, amount, amount, st.floats(0, 1), st.floats(0, 3), st.sampled_from(["side", "outcome"])
)
def test_gains_are_means_over_the_two_outcomes(prize, loss, stake, chance, payout, rule):
    def purse(side_bet, side_up):
        money = stake * payout if side_bet == side_up else -stake
        thing = prize if side_up == "win" else -loss
        return money + (thing if rule == "outcome" or side_bet == side_up else 0)

    by_hand = {
        side: chance * purse(side, "win") + (1 - chance) * purse(side, "lose")
        for side in ("win", "lose")
    }
    gains = expected_gains(prize, loss, stake, chance=chance, payout=payout, rule=rule)[0]
    np.testing.assert_allclose(gains[:2], [by_hand["win"], by_hand["lose"]], rtol=1e-9, atol=1e-7)
    assert gains[2] == pytest.approx((by_hand["win"] + by_hand["lose"]) / 2, abs=1e-6)
    assert gains[3] == 0


ITEMS = default_items()


def test_a_payout_is_stated_in_the_money_that_it_is_computed_from():
    row = bet_questions(
        ITEMS, splits=["test"], modalities=["coin"], stake=7, payout=1 / 3, amounts=True
    ).iloc[0]
    assert (
        "A bet costs a stake of 7 dollars; it comes back, with 2.33 dollars on top, "
        "if I bet on the right side." in row["text"]
    )
    assert row["payout"] * 7 == pytest.approx(2.33)


def bets_on_both_things(**columns):
    table = {"wins": ["high", "low"], "high_value": 100, "low_value": 1, "stake": 20, "chance": 0.5}
    return pd.DataFrame(table | columns)


def test_gains_of_a_table_are_those_of_the_amounts_in_its_rows():
    bets = bets_on_both_things()
    paper = [[40, -10.5, 14.75, 0], [-9.5, -60, -34.75, 0]]
    assert bet_gains(bets).tolist() == paper
    # Who takes the pen for worth the car's price sees each bet as the other one.
    assert bet_gains(bets, swapped=True).tolist() == paper[::-1]
    outcome = expected_gains([100, 1], [1, 100], 20, rule="outcome")
    assert bet_gains(bets, rule="outcome").tolist() == outcome.tolist()
    odds = bets_on_both_things(stake=[10, 30], chance=[0.2, 0.9], payout=[np.nan, 2.0])
    rows = [
        expected_gains(100, 1, 10, chance=0.2)[0],
        expected_gains(1, 100, 30, chance=0.9, payout=2.0)[0],
    ]
    np.testing.assert_allclose(bet_gains(odds), rows)


def test_chances_at_which_the_bets_of_a_table_switch():
    # Without a payout X / (H + X); with one of 4 on 20 the sides are equal at 99 / 299.
    np.testing.assert_allclose(break_evens(bets_on_both_things()), [20 / 120, 20 / 21])
    switches = break_evens(bets_on_both_things(payout=[4.0, np.nan]))
    np.testing.assert_allclose(switches, [99 / 299, 20 / 21])
