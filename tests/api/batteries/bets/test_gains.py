"""Expected gains: those of the paper, means over the outcomes, and amounts as they are stated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coherence import expected_gains
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
